"""Only what the officers have signed is answered, and only as long as nobody has stopped it."""

from __future__ import annotations

import datetime as dt
import itertools
import multiprocessing
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.synchronize import Event as Signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.consent import NoConsentError, OfficersConsent
from panbayes.consortium.holder.ledger.attempts import PAUSING, Attempt
from panbayes.consortium.holder.ledger.decisions import Standing, standing
from panbayes.consortium.holder.ledger.events import Event, Happening, detail_text
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.signatures import sign
from panbayes.consortium.post.signatures import verify as verify_signature
from panbayes.errors import LedgerError
from tests.consortium.holder.examples import asked, refused, released, script, singles, study
from tests.consortium.holder.ledgers import edit, gate
from tests.effort import soak

if TYPE_CHECKING:
    from panbayes.consortium.protocol.envelope import RefusalCode

STATEMENT = "panbayes approval\nstudy: small\n"
DAY = dt.date(2026, 11, 16)


def key(name: str, comment: str = "") -> str:
    """A line that looks like a key's."""
    return f"ssh-ed25519 {b64encode(name.encode()).decode()} {comment}".strip()


ANNA, BERT, EVE = key("anna"), key("bert"), key("eve")


def signature(line: str, statement: str) -> str:
    """What stands for a signature here: nobody else would write it."""
    return f"{line.split()[1]} signs {statement}"


def verifies(line: str, statement: bytes, signed: str) -> bool:
    return signed == signature(line, statement.decode())


def consent(agreed: str = "study", *, required: int = 2, officers: tuple[str, ...] = (ANNA, BERT)) -> OfficersConsent:
    return OfficersConsent(agreed, officers, required, STATEMENT, verifies, today=lambda: DAY)


def approval(line: str, statement: str = STATEMENT, signed: str | None = None) -> dict[str, str | int]:
    return {"key": line, "statement": statement, "signature": signed or signature(line, statement)}


STEPS: dict[str, tuple[Happening, dict[str, str | int]]] = {
    "anna": ("approved", approval(ANNA)),
    "anna again": ("approved", approval(key("anna", "at home"))),
    "bert": ("approved", approval(BERT)),
    "bert before": ("approved", approval(BERT)),
    "eve": ("approved", approval(EVE)),
    "another statement": ("approved", approval(BERT, STATEMENT + " ")),
    "a forged signature": ("approved", approval(BERT, signed=signature(EVE, STATEMENT))),
    "decline": ("declined", {"by": ANNA, "reason": ""}),
    "stop": ("stopped", {"by": "agent", "reason": ""}),
    "resume": ("resumed", {"by": ANNA, "reason": ""}),
    "overrun": ("overrun", {"promised": 1, "needed": 2}),
}
OFFICER = {"anna": "anna", "anna again": "anna", "bert": "bert"}


def history(steps: Sequence[str]) -> list[Event]:
    """Officers sign what they are shown: after a decline another statement; "bert before" shows an old signature."""
    found = []
    for position, step in enumerate(steps, start=1):
        what, said = STEPS[step]
        said = signed_after(steps[: position - 1].count("decline"), step, said)
        found.append(Event(position, "", what, "study", "", "", detail_text(what, said)))
    return found


def signed_after(declines: int, step: str, said: dict[str, str | int]) -> dict[str, str | int]:
    if step not in OFFICER or not declines:
        return said
    return approval(str(said["key"]), f"{STATEMENT}declined before: {declines}\n")


def should_be_given(steps: Sequence[str], required: int) -> bool:
    """The rules as the manual's table has them: look for the last of each, and count."""

    def last(step: str) -> int:
        return max((position for position, found in enumerate(steps) if found == step), default=-1)

    if last("stop") > last("resume"):
        return False
    standing = {OFFICER[step] for step in steps[last("decline") + 1 :] if step in OFFICER}
    if "decline" not in steps and "bert before" in steps:
        standing.add("bert")
    return len(standing) >= required


@pytest.mark.parametrize("required", [1, 2])
def test_the_rules_hold_for_every_short_history(required: int) -> None:
    """Sixteen thousand histories of up to four events."""
    found = consent(required=required)
    given = 0
    for length in range(5):
        for steps in itertools.product(STEPS, repeat=length):
            assert found.follows_from(history(steps)) == should_be_given(steps, required), steps
            given += should_be_given(steps, required)
    assert given > 300


def test_consent_ends_after_its_last_day() -> None:
    both = history(["anna", "bert"])
    for until, given in ((DAY, True), (DAY + dt.timedelta(1), True), (DAY - dt.timedelta(1), False), (None, True)):
        assert replace(consent(), until=until).follows_from(both) == given


def test_one_key_is_one_officer_under_whatever_comment_or_spelling() -> None:
    """Two entries of one key in a configuration are one officer, and cannot be required to be two."""
    with pytest.raises(ValueError, match="no more than have keys"):
        consent(officers=(ANNA, key("anna", "at work")))
    padded = "ssh-ed25519 YW5uYR=="  # the same bytes: the last bits are not looked at
    assert not consent(officers=(ANNA, BERT)).follows_from(
        [*history(["anna"]), replace(history(["anna"])[0], detail=detail_text("approved", approval(padded)))]
    )


@pytest.mark.parametrize(
    ("officers", "required"), [((), 1), ((ANNA,), 2), ((ANNA,), 0), (("ssh-ed25519",), 1), (("ssh-ed25519 *",), 1)]
)
def test_a_consent_that_needs_nobody_or_cannot_be_given_is_none(officers: tuple[str, ...], required: int) -> None:
    with pytest.raises(ValueError, match="at least one officer"):
        consent(officers=officers, required=required)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def decide(ledger: Ledger, agreed: Study, *steps: str) -> None:
    for step in steps:
        what, said = STEPS[step]
        declines = sum(event.what == "declined" for event in ledger.events() if event.study == agreed.hash)
        ledger.write_event(what, signed_after(declines, step, said), study=agreed.hash)


SILENCE = ("unavailable", "this holder cannot answer now; ask again later")


def test_nothing_leaves_without_consent_and_nothing_of_why(path: Path) -> None:
    """Not a release, not a repeat, not a refusal: the same bytes as if the disk were full."""
    agreed = study()
    first, *_ = questions = [asked(query, agreed, number) for number, query in enumerate(script(agreed))]
    told: list[BaseException] = []
    with Ledger.open(path, create=True) as ledger:
        door = gate(ledger, agreed, consent=consent(agreed.hash), report=told.append)
        for steps in ([], ["anna"], ["bert", "stop"], ["resume", "decline"], ["anna"]):
            decide(ledger, agreed, *steps)
            for data in (*questions, asked(singles(agreed), agreed), asked(singles(study("independent")), study())):
                outcome = door.settle(data)
                assert refused(outcome.reply) == SILENCE
                assert outcome.withheld
            for data in (b"", b"nonsense", first.replace(b"vote", b"vole")):
                assert refused(door.ask(data)) == SILENCE
        assert {type(error) for error in told} == {NoConsentError}
        assert ledger.entries() == ()
        assert not path.with_name(f"{path.name}-attempt").exists(), "nothing was begun"
        decide(ledger, agreed, "bert")
        reply = door.ask(first)
        released(reply)
        codes: dict[bytes, RefusalCode] = {
            asked(singles(agreed), agreed): "not-in-study",
            asked(singles(study("independent")), study("independent")): "unknown-study",
            b"nonsense": "malformed",
        }
        for data, code in codes.items():
            assert door.settle(data).code == code
        for steps, silent in ((["stop"], True), (["anna"], True), (["resume"], False), (["decline"], True)):
            decide(ledger, agreed, *steps)
            for data in (first, *codes):
                assert door.settle(data).withheld == silent
        decide(ledger, agreed, "bert", "anna")
        assert door.ask(first) == reply, "what was answered stays answered"
        assert verify(ledger) == []


def test_silence_has_the_bytes_of_any_trouble(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agreed = study("independent")
    question = asked(singles(agreed), agreed)
    with Ledger.open(path, create=True) as ledger:
        silent = gate(ledger, agreed, consent=consent(agreed.hash)).ask(question)
        door = gate(ledger, agreed)
        monkeypatch.setattr(Transaction, "stored", lambda *_: 1 / 0)
        assert door.ask(question) == silent


def test_a_ledger_in_trouble_is_silent_about_refusals_too(path: Path) -> None:
    """Whoever cannot read what was decided does not tell that a question is not in the study."""
    agreed = study("independent")
    told: list[BaseException] = []
    with Ledger.open(path, create=True) as ledger:
        door = gate(ledger, agreed, consent=consent(agreed.hash), report=told.append)
        decide(ledger, agreed, "anna", "bert", "stop")
        edit(path, "DELETE FROM events WHERE position = 3")
        for data in (b"nonsense", asked(singles(agreed), agreed)):
            assert refused(door.ask(data)) == SILENCE
    assert [type(error) for error in told] == [LedgerError] * 2


def test_a_paused_study_is_told_nothing_elsewhere(path: Path) -> None:
    """In one process `paused` is a refusal like any other; whoever carries replies to others keeps it."""
    agreed = study("independent")
    with Ledger.open(path, create=True) as ledger:
        decide(ledger, agreed, "anna", "bert")
        for _ in range(PAUSING):
            attempt = Attempt.now(study=agreed.hash, name=agreed.name, question="q", kind="counts")
            with ledger.transaction() as transaction:
                transaction.note("failed", attempt.text())
        outcome = gate(ledger, agreed, consent=consent(agreed.hash)).settle(asked(singles(agreed), agreed))
        assert (outcome.what, outcome.code, outcome.withheld) == ("refused", "paused", True)


def test_consent_to_one_study_is_none_to_another(path: Path) -> None:
    agreed, other = study("independent"), study("independent", name="other")
    with Ledger.open(path, create=True) as ledger:
        decide(ledger, agreed, "anna", "bert")
        decide(ledger, other, "stop", "decline")
        released(gate(ledger, agreed, consent=consent(agreed.hash)).ask(asked(singles(agreed), agreed)))
        decide(ledger, other, "anna", "bert", "resume")
        assert [event.what for event in ledger.decisions(agreed.hash)] == ["approved"] * 2
        assert standing(ledger.decisions(other.hash)) == Standing(ledger.decisions(other.hash)[2:4], declines=1)
        door = gate(ledger, other, consent=consent(agreed.hash))
        assert refused(door.ask(asked(singles(other), other))) == SILENCE
        door = gate(ledger, other, consent=consent(other.hash))
        released(door.ask(asked(singles(other), other)))


def really_verifies(line: str, statement: bytes, signed: str) -> bool:
    return verify_signature(PublicKey.parse(line, argument="officers"), "panbayes-approval", statement, signed)


def test_officers_sign_as_openssh_does(path: Path) -> None:
    """With real keys: what one signed for another purpose, or the other's name, is no approval."""
    agreed = study("independent")
    anna, bert = PrivateKey.generate(), PrivateKey.generate()
    lines = (anna.public.line, f"{bert.public.line} bert@clinic")
    ours = OfficersConsent(agreed.hash, lines, 2, STATEMENT, really_verifies)
    with Ledger.open(path, create=True) as ledger:
        door = gate(ledger, agreed, consent=ours)

        def answered_after(line: str, signed: str) -> bool:
            said = {"key": line, "statement": STATEMENT, "signature": signed}
            ledger.write_event("approved", said, study=agreed.hash)
            return not door.settle(asked(singles(agreed), agreed)).withheld

        assert not answered_after(anna.public.line, sign(anna, "panbayes-approval", STATEMENT.encode()))
        assert not answered_after(bert.public.line, sign(bert, "panbayes-study", STATEMENT.encode()))
        assert not answered_after(bert.public.line, sign(bert, "panbayes-approval", b"another"))
        assert not answered_after(bert.public.line, sign(anna, "panbayes-approval", STATEMENT.encode()))
        assert answered_after(bert.public.line, sign(bert, "panbayes-approval", STATEMENT.encode()))


def test_in_one_process_nobody_is_asked(path: Path) -> None:
    agreed = study("independent")
    with Ledger.open(path, create=True) as ledger:
        decide(ledger, agreed, "stop", "decline")
        released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))


class Watched:
    """Consent that stands still in the transaction of an answer until it is told to go on."""

    def __init__(self, inner: OfficersConsent, reached: Signal, go_on: Signal) -> None:
        self.inner, self.reached, self.go_on = inner, reached, go_on

    def given(self, transaction: Transaction, agreed: str) -> bool:
        given = self.inner.given(transaction, agreed)
        self.reached.set()
        assert self.go_on.wait(300)
        return given


def answer_in_flight(
    path: Path, reached: Signal, go_on: Signal, stopped: Signal, replies: Callable[[bytes], None]
) -> None:
    """A holder's process: two questions of one study; the first takes its time, the next comes after a stop."""
    agreed = study()
    with Ledger.open(path) as ledger:
        door = gate(ledger, agreed, consent=Watched(consent(agreed.hash), reached, go_on))
        for number, query in enumerate(script(agreed)[:2]):
            replies(door.ask(asked(query, agreed, number), asker="SHA256:analyst"))
            assert stopped.wait(300)


def stop(path: Path, begun: Signal, done: Signal) -> None:
    """An officer's process."""
    with Ledger.open(path) as ledger:
        begun.set()
        decide(ledger, study(), "stop")
        done.set()


def test_a_stop_waits_for_the_answer_in_flight_and_holds_from_the_next(path: Path) -> None:
    """Two real processes: the stop is written after the answer was committed, and before the next is begun."""
    agreed = study()
    with Ledger.open(path, create=True) as ledger:
        decide(ledger, agreed, "anna", "bert")
    context = multiprocessing.get_context("spawn")
    reached, go_on, begun, done = (context.Event() for _ in range(4))
    pipe, end = context.Pipe(duplex=False)
    holder = context.Process(target=answer_in_flight, args=(path, reached, go_on, done, end.send))
    officer = context.Process(target=stop, args=(path, begun, done))
    holder.start()
    assert reached.wait(300)
    officer.start()
    assert begun.wait(300)
    assert not done.wait(0.5), "the answer's transaction is not over"
    go_on.set()
    first = pipe.recv()
    officer.join(300)
    second = pipe.recv()
    holder.join(300)
    assert (holder.exitcode, officer.exitcode) == (0, 0)
    released(first)
    assert refused(second) == SILENCE
    with Ledger.open(path) as ledger:
        assert [event.what for event in ledger.events()] == ["approved", "approved", "answered", "stopped"]
        assert verify(ledger) == []


@soak
def test_a_stop_that_was_committed_before_is_honoured_by_a_process_that_runs_since(path: Path) -> None:
    """The holder's process has checked the question and waits for the ledger when another process stops the study."""
    agreed = study()
    with Ledger.open(path, create=True) as ledger:
        decide(ledger, agreed, "anna", "bert")
        door = gate(ledger, agreed, consent=consent(agreed.hash))
        first = door.ask(asked(script(agreed)[0], agreed), asker="SHA256:analyst")
        released(first)
        context = multiprocessing.get_context("spawn")
        begun, done = context.Event(), context.Event()
        real = ledger.transaction

        def after_a_stop(*, write: bool = True) -> object:
            officer = context.Process(target=stop, args=(path, begun, done))
            officer.start()
            officer.join(300)
            assert done.is_set()
            return real(write=write)

        vars(ledger)["transaction"] = after_a_stop
        assert refused(door.ask(asked(script(agreed)[1], agreed, 1), asker="SHA256:analyst")) == SILENCE
        del vars(ledger)["transaction"]
        assert refused(door.ask(asked(script(agreed)[0], agreed))) == SILENCE, "a repeat neither"
        assert [event.what for event in ledger.events()] == ["approved", "approved", "answered", "stopped"]
        decide(ledger, agreed, "resume")
        assert door.ask(asked(script(agreed)[0], agreed)) == first
