"""How large answers can be: never less than what holders give, and what is larger does not come in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.desk.bounds import LARGEST_READ, AnswerBounds, answer_bound
from panbayes.consortium.desk.letterbox import HEAD, Letterbox
from panbayes.consortium.post.letters import LIMITS, Letter, stem_of
from panbayes.consortium.protocol.codec import decode_question
from panbayes.consortium.protocol.queries import Count, Grouping, TableCandidate, TableChoiceQuery, TablesQuery
from tests.consortium.desk.desks import INDEPENDENT, VOTING, DeskOf
from tests.consortium.desk.holders import LetterHolder
from tests.consortium.studies import KILLED


def questions(holder: LetterHolder) -> list[Path]:
    stems = holder.folder.stems("to", holder.name, "question")
    return [holder.folder.path / f"to-{holder.name}" / f"{stem}.question" for stem in stems]


@pytest.mark.parametrize("study", KILLED, ids=lambda study: study.name)
def test_every_answer_of_every_strategy_is_within_its_bound(study: Study, desk_of: DeskOf) -> None:
    """And the bound is what the mailbox reads off the folder, not far above what is sent."""
    desk = desk_of(study, sealed=True)
    desk.finish()
    bounds = AnswerBounds()
    for holder in desk.holders.values():
        for path in questions(holder):
            asked = decode_question(Letter.decode(path.read_bytes()).body)
            found = holder.folder.get("from", holder.name, path.stem, "answer")
            assert found is not None
            most = bounds.of(path)
            assert most == answer_bound(asked.query, study.schema.sizes)
            assert len(found.data) <= most <= 8192 + 8 * len(found.data)


def test_bounds_by_hand() -> None:
    sizes = (2, 3, 10)
    assert answer_bound(TablesQuery(((0, 1), (2,)), "1", False), sizes) == 8192 + 8 * 16
    assert answer_bound(TablesQuery(((7,),), "1", False), sizes) == 8192
    grouping = (Grouping(0, ()), Grouping(1, ()))
    choice = TableChoiceQuery(
        "pure", "replace", grouping, (TableCandidate((0, 1), 0, 0),), None, "any", (), (Count(3, 0), Count(5, 0)), 0,
        None, "1",
    )  # fmt: skip
    assert answer_bound(choice, sizes) == 8192 + 8 * 6
    assert answer_bound(TablesQuery(((0, 1),), "1", False), (2**16, 2**16)) == LIMITS["answer"] - 2**20 - 2048 + 8192


def test_what_is_larger_than_its_answer_can_be_is_not_let_in(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    desk.waiting()
    large = desk.holders["large"]
    (path,) = questions(large)
    header, body = large.reply(path.stem)
    letter = Letter(header, body).signed_by(large.key)
    box, key = Letterbox(large.folder), large.key.public
    most = AnswerBounds().of(path)
    assert most < 9000
    assert box.admits("large", key, "answer", letter.data[:HEAD], most) == "admitted"
    assert box.admits("large", key, "answer", letter.data[:HEAD], most + 1) == "too large"
    assert box.admits("small", key, "answer", letter.data[:HEAD], 100) == "refused"
    assert box.admits("large", key, "approval", letter.data[:HEAD], 100) == "refused"
    assert box.admits("large", key, "answer", b"rubbish", 7) == "refused"
    # A folder without the study's letter, or with a question that nobody here reads, stops no answer.
    (path.parent / f"{stem_of(header)[:12]}-000000.study").unlink()
    assert Letterbox(large.folder).admits("large", key, "answer", letter.data[:HEAD], LIMITS["answer"]) == "admitted"


def test_large_letters_are_not_read_to_know_how_large_their_answers_can_be(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    (path,) = questions(desk.holders["large"])
    bounds = AnswerBounds()
    assert bounds.of(path) < 9000
    os.truncate(path, LARGEST_READ + 1)
    assert bounds.of(path) == LIMITS["answer"], "it has changed, and is too large"
