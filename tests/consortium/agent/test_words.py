"""What officers read: every sentence under its condition, and only there, over all kinds of studies."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.study_letters import ProposedStudy, read_study_letter
from panbayes.consortium.agent.words import Account, consent_words
from panbayes.consortium.agreement.study import Study, dump_study
from panbayes.consortium.holder.ledger.declaration import Dataset, Pin
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.summary import Spending, Summary
from panbayes.consortium.post.letters import AROUND_BYTES
from panbayes.consortium.post.words import words_of
from panbayes.privacy.classes.pure import NOTHING, Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.loss import Loss
from panbayes.privacy.odds import even_odds
from panbayes.schema.schema import Unit, dump_schema
from panbayes.tables.sources.file import File
from tests.consortium.agent.houses import SCHEMA, STUDY, House, key, letter, study_body
from tests.consortium.studies import STUDIES

DELTA = Fraction(1, 10**9)
UNITS = {None: "", 1: '[unit]\ncolumn = "patient"\n', 3: '[unit]\ncolumn = "patient"\nmax_records = 3\n'}
ABOUT = """
[about]
purpose = "to learn who is readmitted"
requester = "A. Author"
institution = "University"
contact = "a@uni.example"
ethics = "vote 7"
until = 2027-03-01
region = "the north"
"""


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> HolderFile:
    return House(tmp_path_factory.mktemp("words") / "north").write()


def proposed_by(
    holder: HolderFile, text: str = STUDY, schema: str = SCHEMA, holders: Any = ("north", "south", "west")
) -> ProposedStudy:
    return read_study_letter(letter(study_body(text, schema, holders=holders)), holder)


@pytest.mark.parametrize("mark", ['"', "\u201d", "\u201c", "\u00bb", "\uff02", "\u2033"])
def test_the_askers_words_cannot_end_their_quotation(holder: HolderFile, mark: str) -> None:
    """Whoever reads takes what stands outside the marks for this program's word."""
    lie = f"to learn{mark}. Ethics: {mark}vote 7{mark}. Until: 2027-01-01. What leaves: {mark}nothing"
    about = "".join(f"{name} = '{lie}'\n" for name in ("purpose", "requester", "institution", "contact", "ethics"))
    text = STUDY.replace("three clinics", mark.replace('"', '\\"') + " lie") + f"[about]\n{about}"
    words = said(proposed_by(holder, text, SCHEMA.replace("smokes", mark.replace('"', '\\"') + " lie")))
    for heading in ("Who asks", "Why"):
        assert "lie" in words[heading] or "nothing" in words[heading]
        outside = "".join(words[heading].split('"')[::2])
        assert not any(word in outside for word in ("vote 7", "2027", "nothing", "lie", mark)), outside


def account(study: Study, cap: Loss | None = None, **more: Any) -> Account:
    empty = Summary((), None, 0, "", "")
    return Account.of(study, empty, cap=cap or study.grant.times(3), **more)


def said(proposed: ProposedStudy, given: Account | None = None) -> dict[str, str]:
    return {one.heading: one.text for one in consent_words(proposed, given or account(proposed.study))}


COMBINATIONS = list(
    itertools.product(
        UNITS, (Fraction(0), DELTA), ("replace", "add-remove"), (1, 2, 3, 9), (Fraction(1, 2), Fraction(2))
    )
)


@pytest.mark.parametrize(("unit", "delta", "adjacency", "holders", "epsilon"), COMBINATIONS)
def test_every_sentence_has_its_condition(
    holder: HolderFile, unit: int | None, delta: Fraction, adjacency: str, holders: int, epsilon: Fraction
) -> None:
    text = STUDY.replace("epsilon = 1", f"epsilon = {float(epsilon)}")
    text += f'adjacency = "{adjacency}"\n' + (f"delta = {float(delta)}\n" if delta else "")
    names = ("north", *(f"h{number}" for number in range(holders - 1)))
    proposed = proposed_by(holder, text, SCHEMA + UNITS[unit], names)
    grant, words = proposed.study.grant, said(proposed)
    whole = " ".join((*words, *words.values()))
    who = "person" if unit else "record"

    (reveals,) = (text for heading, text in words.items() if heading.startswith("What it can reveal"))
    assert f"What it can reveal about any one {who}" in words
    assert f"a guess that was 50 : 50 becomes {even_odds(grant, delta=delta)} at most" in reveals
    named = f"(ε, δ) = ({float(epsilon):g}, 1e-9): " if delta else f"ε = {float(epsilon):g}: "
    assert reveals.startswith(named)
    rarely = "except with a probability of one in 1,000,000,000 (δ)"
    assert (rarely in reveals) == bool(delta)
    assert whole.count("except with") == bool(delta) * (1 + (holders > 1))

    two_records = f"with two of them the guess becomes {even_odds(grant.for_group(2), delta=delta)} at most"
    assert (two_records in reveals) == (unit is None)
    assert ("All records of a person are protected together" in reveals) == (unit is not None)
    assert ("at most one record of each" in reveals) == (unit == 1)
    assert ("at most 3 records of each" in reveals) == (unit == 3)

    public = f"Every answer says how many {who}s you have: this number counts as public."
    assert (public in words["What leaves"]) == (adjacency == "replace")
    assert (f"Whether a {who} is among yours at all is protected too" in reveals) == (adjacency == "add-remove")
    assert (f"any other {who} could be in its place" in reveals) == (adjacency == "replace")

    several = words.get("Somebody whom several holders know")
    assert (several is not None) == (holders > 1)
    if several is not None:
        assert f"two of them know the guess becomes {even_odds(grant.times(2), delta=delta)} at most" in several
        all_know = f"whom all {holders} know {even_odds(grant.times(holders), delta=delta)}"
        assert (all_know in several) == (holders > 2)
        assert (rarely in several) == bool(delta)
    assert ("from you alone" in words["Who asks"]) == (holders == 1)

    assert "budget" not in whole.lower()
    assert "DOES NOT FIT" not in whole
    assert whole.isprintable()


def test_features_are_named_by_their_hash(holder: HolderFile) -> None:
    text = f'{STUDY}adjacency = "add-remove"\n'
    features = SCHEMA.replace("version = 1", f'version = 1\nfeatures = "{"0a" * 32}"')
    assert "0a0a0a0a0a0a." in said(proposed_by(holder, text, features))["What leaves"]
    assert "omop" not in said(proposed_by(holder, text))["What leaves"]


def test_who_asks_and_why(holder: HolderFile) -> None:
    words = said(proposed_by(holder, STUDY + ABOUT))
    assert words["Who asks"] == (
        'uni (so your file names the key) asks in study "three clinics" to learn one statistical model of 2 attributes '
        'from your records, together with south and west. Attributes: "smokes, age".'
    )
    assert words["Why"] == (
        'By their own account: "A. Author", "University", "a@uni.example". Purpose: "to learn who is readmitted". '
        'Ethics: "vote 7". About people in: "the north". Until: 2027-03-01.'
    )
    analyst = key("uni").public
    assert words["Compare by phone"] == (
        f"on a number that you knew before: {words_of(analyst)}. The key's fingerprint is {analyst.fingerprint}."
    )
    assert "stop at any time" in words["Stopping"]
    assert "stays spent" in words["Stopping"]


@pytest.mark.parametrize("missing", ["purpose", "requester", "institution", "contact", "ethics", "until", "region"])
def test_what_a_study_does_not_say_is_told(holder: HolderFile, missing: str) -> None:
    about = re.sub(rf"^{missing} = .*\n", "", ABOUT, flags=re.MULTILINE)
    why, whole = (said(proposed_by(holder, STUDY + text))["Why"] for text in (about, ABOUT))
    told = {"purpose": "Purpose: not given.", "ethics": "Ethics: not given.", "until": "Until: it has no end."}
    assert why != whole
    assert (told.get(missing, "not given") in why) == (missing in told)


def test_a_study_that_says_nothing(holder: HolderFile) -> None:
    assert said(proposed_by(holder))["Why"] == (
        "The study does not say who the person is. Purpose: not given. Ethics: not given. Until: it has no end."
    )


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (1, "together with h0."),
        (2, "together with h0 and h1."),
        (3, "together with h0, h1 and h2."),
        (6, "together with h0, h1, h2, h3, h4 and h5."),
        (7, "together with h0, h1, h2, h3, h4, h5 and 1 other holder."),
        (40, "together with h0, h1, h10, h11, h12, h13 and 34 other holders."),
    ],
)
def test_other_holders_are_named(holder: HolderFile, others: int, words: str) -> None:
    proposed = proposed_by(holder, holders=("north", *(f"h{number}" for number in range(others))))
    assert words in said(proposed)["Who asks"]


def test_a_target_is_named(holder: HolderFile) -> None:
    text = said(proposed_by(holder, STUDY + 'target = "age"\n'))["Who asks"]
    assert 'from your records, to predict "age", together' in text


def test_names_of_attributes_write_no_lines(holder: HolderFile) -> None:
    evil = SCHEMA.replace('name = "smokes"', r'name = "a\u001b[2J\u202e\n"')
    whole = "".join(said(proposed_by(holder, schema=evil)).values())
    assert whole.isprintable()
    assert r"a\x1b[2J\u202e\n" in whole


def test_much_is_called_so(holder: HolderFile) -> None:
    for epsilon, much in ((10, False), (11, True)):
        words = said(proposed_by(holder, STUDY.replace("epsilon = 1", f"epsilon = {epsilon}")))
        reveals = words["What it can reveal about any one record"]
        assert ("little is promised" in reveals) == much
        assert "becomes as good as certain, whatever" in reveals


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_strategy_has_its_words(holder: HolderFile, study: Study) -> None:
    """What leaves and how far counts are off, for whatever strategies there are."""
    named = replace(study, name="study")
    proposed = proposed_by(holder, dump_study(named), dump_schema(study.schema), ("north",))
    words, plan = said(proposed), study.plan
    leaves = words["What leaves"]
    assert f"At most {plan.answers:,} answer" in leaves
    assert all(stage.words in leaves for stage in plan.stages)
    shown = re.search(r"together at most ([0-9.,]+) (bytes|kB|MB|GB)\.", leaves)
    assert shown is not None
    size = float(shown[1]) * {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[shown[2]]
    most = plan.answer_bytes + plan.answers * AROUND_BYTES
    assert most <= size <= most * 1.12
    assert ("1 answer with noise in it:" in leaves) == (plan.answers == 1) == ("noise in them" not in leaves)
    assert "the approval leaves, with the keys and signatures of those who sign it." in leaves
    assert "No record leaves, no free text and no id; no program of theirs runs here." in leaves
    off = [
        float(text.replace(",", ""))
        for text in re.findall(r"off by about ([0-9.,]+?)(?: each|, some by [a-z ,]+)?\.(?: |$)", words["Noise"])
    ]
    singles = study.score == "linear"
    assert len(off) == 1 + singles
    assert off[-1] == pytest.approx(expected_noise(study), rel=0.06, abs=0.06)
    # The single attributes have a tenth of ε, the tables that won a half.
    assert not singles or off[0] == pytest.approx(5 * expected_noise(study), rel=0.06, abs=0.5)
    # Only the adaptive strategy lets tables share a radius of noise, under pure privacy.
    assert ("share noise." in words["Noise"]) == (study.strategy == "adaptive" and not study.delta)
    cannot = "cannot be told beforehand" in words["Noise"]
    assert cannot == (study.strategy == "adaptive")


def expected_noise(study: Study) -> float:
    """The mean of the absolute noise, summed over its law: of all tables' counts, or of the example."""
    cells = 2 if study.adjacency == "replace" else 1
    attributes, epsilon = len(study.schema), float(study.epsilon or 0)
    if study.strategy == "adaptive":
        if study.delta:
            sigma2 = cells * attributes / (2 * float(study.grant.amount) / 2)
            values = np.arange(-40_000, 40_001)
            weights = np.exp(-(values**2) / (2 * sigma2))
            return float(np.abs(values) @ weights / weights.sum())
        scale = cells * attributes / (epsilon / 2)
    else:
        tables = {
            "independent": attributes,
            "noisy-sufficient-statistics": math.comb(attributes, int(study.degree) + 1)
            if study.degree != "auto"
            else 0,
        }.get(study.strategy, attributes)
        share = epsilon if study.strategy in ("independent", "noisy-sufficient-statistics") else epsilon / 2
        scale = cells * tables / share
    values = np.arange(-40_000, 40_001)
    weights = np.exp(-np.abs(values) / scale)
    return float(np.abs(values) @ weights / weights.sum())


def test_noise_grows_with_records_of_a_person(holder: HolderFile) -> None:
    """Three records of a person move counts three times as far."""
    one, three = (said(proposed_by(holder, STUDY, SCHEMA + UNITS[most]))["Noise"] for most in (1, 3))
    assert "off by about 8, some by less" in one
    assert "off by about 24, some by less" in three


def test_one_attribute_shares_noise_with_none(holder: HolderFile) -> None:
    first = SCHEMA[: SCHEMA.index("[[attributes]]", SCHEMA.index("[[attributes]]") + 1)]
    noise = said(proposed_by(holder, STUDY, first))["Noise"]
    assert "the one attribute, it would be off by about 4." in noise
    assert "share noise" not in noise


def spending(study: str, *, spent: Loss, reserved: Loss) -> Spending:
    return Spending(study, "name", reserved, spent, reserved, 1)


def test_what_is_left_under_the_limit(holder: HolderFile) -> None:
    proposed = proposed_by(holder)
    other = spending("ab" * 32, spent=Pure(Fraction(1, 2)), reserved=Pure(Fraction(3, 2)))
    summary = Summary((other,), None, 1, "", "")
    text = said(proposed, Account.of(proposed.study, summary, cap=Pure(Fraction(3))))["Your limit"]
    assert text == (
        "All studies together may spend ε = 3. Privacy spent so far: ε = 0.5. Kept for other studies that have begun, "
        "with what they have spent: ε = 1.5. This study may spend ε = 1; privacy left after it: ε = 0.5."
    )


def test_a_study_that_has_begun_is_counted_once(holder: HolderFile) -> None:
    proposed = proposed_by(holder)
    own = spending(proposed.study.hash, spent=Pure(Fraction(1, 4)), reserved=Pure(Fraction(1)))
    given = Account.of(proposed.study, Summary((own,), None, 1, "", ""), cap=Pure(Fraction(1)))
    text = said(proposed, given)["Your limit"]
    assert given.fits
    assert "This study has begun, and has spent ε = 0.25 of its ε = 1." in text
    assert "Kept for other studies" not in text
    assert text.endswith("privacy left after it: ε = 0.")


def test_what_others_were_promised_is_told(holder: HolderFile) -> None:
    proposed = proposed_by(holder)
    text = said(proposed, account(proposed.study, promised=(Pure(Fraction(1)), Pure(Fraction(1, 2)))))["Your limit"]
    assert "Others are approved and have not begun: ε = 1.5; who begins first has it." in text
    assert "have not begun" not in said(proposed)["Your limit"]


@pytest.mark.parametrize(
    ("delta", "cap", "fits", "words"),
    [
        (False, Pure(Fraction(1)), True, "privacy left after it: ε = 0."),
        (False, Pure(Fraction(999, 1000)), False, "DOES NOT FIT: it may spend ε = 1. None"),
        (False, ZeroConcentrated(Fraction(1, 2)), True, "privacy left after it: ρ = 0."),
        (False, ZeroConcentrated(Fraction(1, 3)), False, "DOES NOT FIT: it may spend ε = 1. None"),
        (True, ZeroConcentrated(Fraction(1)), True, "privacy left after it: ρ = 0.985."),
        (True, ZeroConcentrated(Fraction(1, 100)), False, "DOES NOT FIT: it may spend ρ = 0.01498. None"),
        (True, Pure(Fraction(100)), False, 'your limit is not in ρ: give a cap such as "rho=…". None'),
    ],
)
def test_whether_it_fits_is_told(holder: HolderFile, delta: bool, cap: Loss, fits: bool, words: str) -> None:
    proposed = proposed_by(holder, STUDY + ("delta = 1e-9\n" if delta else ""))
    given = account(proposed.study, cap)
    assert given.fits == fits
    text = said(proposed, given)["Your limit"]
    assert words in text
    assert ("None of its questions would be answered." in text) == (not fits)


def test_studies_that_count_otherwise_do_not_add_up(holder: HolderFile) -> None:
    proposed = proposed_by(holder)
    given = account(proposed.study, mixed=True)
    assert not given.fits
    assert "DOES NOT FIT: you have answered studies that count" in said(proposed, given)["Your limit"]


def test_an_empty_ledger_gives_these_words(holder: HolderFile, tmp_path: Path) -> None:
    proposed = proposed_by(holder)
    with Ledger.open(tmp_path / "a.ledger", create=True) as ledger:
        given = Account.of(proposed.study, ledger.summary(), cap=holder.cap)
    assert (given.spent, given.elsewhere, given.promised, given.own) == (NOTHING, NOTHING, NOTHING, None)
    assert len(consent_words(proposed, given)) == 9


GROWING = Dataset(File("north.csv"), Unit("patient"), changing=True)
IN_BLOCKS = replace(GROWING, blocks="monthly")
PRIVATE_SIZE = 'adjacency = "add-remove"\n'


@pytest.mark.parametrize(
    ("more", "dataset", "renumbered", "words"),
    [
        ("", None, False, None),
        ('edition = "2026 \\"ed\\""\n', None, False, "The study calls its edition \"2026 'ed'\"."),
        (
            PRIVATE_SIZE,
            GROWING,
            False,
            "Your table changes: this study sees one state of it, that at its first question, and never another.",
        ),
        (
            PRIVATE_SIZE,
            IN_BLOCKS,
            False,
            "Your table changes: this study sees one state of it, that at its first question, and never another. It is "
            "about everybody first seen until then; people who are first seen in a later block spend nothing.",
        ),
        (
            f'{PRIVATE_SIZE}blocks = ["2026-10", "2026-11"]\n',
            IN_BLOCKS,
            False,
            "Your table changes: this study sees one state of it, that at its first question, and never another. It is "
            "about people whose id was first seen in 2026-10, 2026-11, and costs nobody else anything.",
        ),
        (
            f'{PRIVATE_SIZE}blocks = ["2026-11"]\n',
            IN_BLOCKS,
            True,
            "Your table changes: this study sees one state of it, that at its first question, and never another. It is "
            "about people whose id was first seen in 2026-11, and costs nobody else anything. THIS STUDY DOES NOT FIT: "
            "your dataset has no such blocks. None of its questions would be answered.",
        ),
    ],
)
def test_which_records_it_is_about(
    holder: HolderFile, more: str, dataset: Dataset | None, renumbered: bool, words: str | None
) -> None:
    proposed = proposed_by(holder, STUDY + more, SCHEMA + UNITS[1])
    summary = Summary((), None, 0, "", "", dataset=dataset, renumbered=renumbered)
    assert said(proposed, Account.of(proposed.study, summary, cap=holder.cap)).get("Which records") == words


def test_what_a_block_has_left_is_what_the_study_may_spend(holder: HolderFile) -> None:
    proposed = proposed_by(holder, f'{STUDY}{PRIVATE_SIZE}blocks = ["2026-11"]\n', SCHEMA + UNITS[1])
    others = tuple(
        replace(spending(f"{place}" * 64, spent=Pure(loss), reserved=Pure(loss)), pin=Pin("", frozenset({block})))
        for place, (block, loss) in enumerate({"2026-10": Fraction(3), "2026-11": Fraction(1)}.items())
    )
    given = Account.of(proposed.study, Summary(others, None, 2, "", ""), cap=Pure(Fraction(3)))
    assert (given.spent, given.elsewhere, given.fits) == (Pure(Fraction(1)), Pure(Fraction(1)), True)
    every = proposed_by(holder, STUDY + PRIVATE_SIZE, SCHEMA + UNITS[1])
    assert not Account.of(every.study, Summary(others, None, 2, "", ""), cap=Pure(Fraction(3))).fits


def test_a_promise_that_the_dataset_does_not_make_is_told(holder: HolderFile) -> None:
    proposed = proposed_by(holder)
    summary = Summary((), None, 0, "", "", dataset=GROWING)
    given = Account.of(proposed.study, summary, cap=holder.cap)
    assert not given.fits
    assert (
        'DOES NOT FIT: the table of this holder changes: a study of it must say adjacency = "add-remove"'
        in said(proposed, given)["Your limit"]
    )
