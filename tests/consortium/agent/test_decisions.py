"""What officers decide: signatures that ssh-keygen checks, counted once each, and what takes them away."""

from __future__ import annotations

import datetime as dt
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from panbayes.consortium.agent import decisions
from panbayes.consortium.agent.arriving import import_studies
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import consent_to, statement_of
from panbayes.consortium.agent.decisions import approval_letter, approve, check_reason, position_of
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.holder.ledger.attempts import Attempt
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.post.bodies import decode_approval
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Letter
from panbayes.consortium.post.signatures import sign, verify
from panbayes.errors import InputError, LedgerError
from tests.consortium.agent.houses import STUDY, House, begin, key, letter, study_body

TWO = {"mary": key("mary").public.line, "tom": key("tom").public.line}
ENDED = STUDY + "[about]\nuntil = 2020-01-01\n"
LASTS = STUDY + f"[about]\nuntil = {dt.date.today() + dt.timedelta(days=1)}\n"  # midnight may come before the tests do


class Desk:
    """A holder with its ledger and one study that has arrived."""

    def __init__(self, holder: HolderFile, ledger: Ledger, *, study: str = STUDY) -> None:
        self.holder, self.ledger = holder, ledger
        self.proposed = Studies(holder).keep(letter(study_body(study)))

    @property
    def word(self) -> str:
        return position_of(self.proposed, self.holder, self.ledger).word

    @property
    def answered(self) -> bool:
        """What the gate would say of consent."""
        with self.ledger.transaction(write=False) as transaction:
            return consent_to(self.holder, self.proposed).given(transaction, self.proposed.study.hash)

    def signed_by(self, name: str) -> str:
        statement = decisions.statement_now(self.proposed, self.holder, self.ledger)
        return sign(key(name), "panbayes-approval", statement.encode())

    def approve(self, name: str) -> bool:
        found = approve(self.proposed, self.holder, self.ledger, self.signed_by(name), argument="--key")
        return found is not None

    def decline(self) -> None:
        decisions.decline(self.proposed, self.ledger, by="mary", reason="no vote")

    def stop(self) -> None:
        decisions.stop(self.proposed, self.ledger, by="mary", reason="")

    def resume(self) -> tuple[Attempt, ...]:
        return decisions.resume(self.proposed, self.holder, self.ledger, by="mary", reason="")


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "north")


@pytest.fixture
def desk(house: House) -> Iterator[Desk]:
    holder = house.write()
    with holder.ledger() as ledger:
        yield Desk(holder, ledger)


@pytest.fixture
def two(house: House) -> Iterator[Desk]:
    holder = house.write(top="approvals = 2", officers=TWO)
    with holder.ledger() as ledger:
        yield Desk(holder, ledger)


def test_one_officer_approves(desk: Desk) -> None:
    assert (desk.word, desk.answered) == ("waiting", False)
    assert approval_letter(desk.proposed, desk.holder, desk.ledger) is None
    assert desk.approve("mary")
    assert (desk.word, desk.answered) == ("approved", True)
    (event,) = desk.ledger.events()
    assert (event.what, event.study) == ("approved", desk.proposed.study.hash)
    assert event.asker == key("uni").public.fingerprint


def test_an_officer_counts_once(two: Desk) -> None:
    assert two.approve("mary")
    assert not two.approve("mary")
    position = position_of(two.proposed, two.holder, two.ledger)
    assert ([officer.name for officer in position.signed], position.required, position.word) == (["mary"], 2, "waiting")
    assert len(two.ledger.events()) == 1
    assert not two.answered
    assert two.approve("tom")
    assert (two.word, two.answered) == ("approved", True)


def test_the_letter_that_tells_the_analyst(two: Desk) -> None:
    outgoing = two.holder.post("outgoing")
    two.approve("tom")
    assert outgoing.names("from") == []
    two.approve("mary")
    (stem,) = outgoing.stems("from", "north", "approval")
    sent = outgoing.get("from", "north", stem, "approval")
    assert sent is not None
    opened = sent.open(key("north").public, "approval")
    assert opened is not None
    assert opened.header.replies_to == two.proposed.letter.digest
    assert (opened.header.analyst, opened.header.study) == (key("uni").public.fingerprint, two.proposed.study.hash)
    approval = decode_approval(opened.body)
    assert approval.statement == statement_of(two.holder, two.proposed)
    assert [one.key for one in approval.officers] == [key("tom").public.line, key("mary").public.line]
    for one, name in zip(approval.officers, ("tom", "mary"), strict=True):
        assert verify(key(name).public, "panbayes-approval", approval.statement.encode(), one.signature)
    again = approval_letter(two.proposed, two.holder, two.ledger)
    assert again is not None
    assert again[1] == sent


def test_a_further_signature_does_not_change_the_letter(house: House) -> None:
    holder = house.write(officers=TWO)
    with holder.ledger() as ledger:
        desk = Desk(holder, ledger)
        desk.approve("tom")
        first = approval_letter(desk.proposed, holder, ledger)
        desk.approve("mary")
        assert approval_letter(desk.proposed, holder, ledger) == first


def refused(desk: Desk, signature: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        approve(desk.proposed, desk.holder, desk.ledger, signature, argument="--signature")
    assert desk.ledger.events() == ()
    assert not (desk.holder.state_folder / "consents").exists()


def test_only_officers_approve(desk: Desk) -> None:
    for name in ("uni", "north", "mallory"):
        refused(desk, desk.signed_by(name), "is no officer's here")
    refused(desk, "", "is no signature")


def test_only_this_statement_is_approved(desk: Desk) -> None:
    statement = statement_of(desk.holder, desk.proposed)
    for other in (statement + " ", statement.replace("three", "four"), ""):
        refused(desk, sign(key("mary"), "panbayes-approval", other.encode()), "is not mary's signature")
    for namespace in ("panbayes-study", "panbayes-answer", "panbayes-question", "panbayes-request"):
        refused(desk, sign(key("mary"), namespace, statement.encode()), "is not mary's signature")


def test_the_statement_says_what_is_approved(desk: Desk) -> None:
    assert statement_of(desk.holder, desk.proposed).splitlines() == [
        "panbayes approval 1",
        f"study: {desk.proposed.study.hash}",
        "name: three clinics",
        "may spend: ε = 1",
        "until: no end",
        f"analyst: {key('uni').public.fingerprint}",
        f"holder: {key('north').public.fingerprint}",
        f"letter: {desk.proposed.letter.digest}",
    ]


def test_a_decline_voids_what_was_signed(two: Desk) -> None:
    two.approve("mary")
    two.approve("tom")
    two.decline()
    assert (two.word, two.answered) == ("declined", False)
    two.approve("mary")
    assert (two.word, two.answered) == ("waiting", False)
    two.approve("tom")
    assert (two.word, two.answered) == ("approved", True)


def test_a_signature_from_before_a_decline_does_not_come_back(two: Desk) -> None:
    """It lies in the state and in the letter to the analyst: whoever has it is no officer by that."""
    old = {name: two.signed_by(name) for name in TWO}
    for name in TWO:
        two.approve(name)
    for number in (1, 2):
        two.decline()
        for signature in old.values():
            with pytest.raises(InputError, match="signature under this approval"):
                approve(two.proposed, two.holder, two.ledger, signature, argument="--signature")
        for event in two.ledger.events():
            if event.what == "approved":
                two.ledger.write_event("approved", event.said or {}, study=event.study)
        assert (two.word, two.answered) == ("waiting", False)
        assert decisions.statement_now(two.proposed, two.holder, two.ledger).endswith(f"declined before: {number}\n")
    for name in TWO:
        two.approve(name)
    assert (two.word, two.answered) == ("approved", True)


def test_a_stop_holds_until_it_is_resumed(desk: Desk) -> None:
    desk.approve("mary")
    desk.stop()
    assert (desk.word, desk.answered) == ("stopped", False)
    desk.approve("mary")
    assert (desk.word, desk.answered) == ("stopped", False)
    assert desk.resume() == ()
    assert (desk.word, desk.answered) == ("approved", True)
    assert [event.what for event in desk.ledger.events()] == ["approved", "stopped", "resumed"]


def test_what_is_not_approved_cannot_be_resumed(two: Desk) -> None:
    two.approve("mary")
    two.stop()
    with pytest.raises(InputError, match="is approved by 1 of 2 officers"):
        two.resume()
    two.approve("tom")
    two.resume()
    two.stop()
    two.decline()
    assert two.word == "stopped"
    with pytest.raises(InputError, match="is approved by 0 of 2 officers"):
        two.resume()
    assert not two.answered


def test_a_declined_study_that_was_stopped_and_resumed_stays_declined(desk: Desk) -> None:
    desk.decline()
    desk.ledger.write_event("stopped", {"by": "", "reason": ""}, study=desk.proposed.study.hash)
    desk.ledger.write_event("resumed", {"by": "", "reason": ""}, study=desk.proposed.study.hash)
    assert desk.word == "declined"


def test_a_study_that_goes_on_is_not_resumed_again(desk: Desk) -> None:
    desk.approve("mary")
    assert desk.resume() == ()
    assert [event.what for event in desk.ledger.events()] == ["approved"]


def failed(desk: Desk, times: int) -> None:
    for number in range(times):
        study = desk.proposed.study
        attempt = Attempt.now(study=study.hash, name=study.name, question=f"{number:064d}", kind="counts")
        with desk.ledger.transaction() as transaction:
            transaction.begin(attempt)
        desk.ledger.write_failure(attempt, OSError())


def test_a_pause_after_failures_is_lifted_too(desk: Desk) -> None:
    desk.approve("mary")
    failed(desk, 3)
    assert desk.word == "paused"
    assert [one.error for one in desk.resume()] == ["OSError"] * 3
    assert desk.word == "approved"
    assert [event.what for event in desk.ledger.events()] == ["approved"]


@pytest.mark.parametrize(("study", "over"), [(ENDED, True), (LASTS, False)])
def test_a_study_ends_after_its_last_day(house: House, study: str, over: bool) -> None:
    holder = house.write()
    with holder.ledger() as ledger:
        desk = Desk(holder, ledger, study=study)
        desk.approve("mary")
        assert (desk.word, desk.answered) == (("expired", False) if over else ("approved", True))
        desk.stop()
        if over:
            with pytest.raises(InputError, match="is expired"):
                desk.resume()
            assert approval_letter(desk.proposed, holder, ledger) is None


def test_a_study_that_was_closed_stays_so(house: House) -> None:
    holder = house.write()
    with holder.ledger() as ledger:
        desk = Desk(holder, ledger, study=STUDY + 'strategy = "independent"\n')
        desk.approve("mary")
        begin(holder, ledger, desk.proposed.study)
        ledger.close_study(desk.proposed.study.hash)
        assert desk.word == "closed"
        with pytest.raises(InputError, match="is closed"):
            desk.resume()


def test_a_newer_letter_needs_its_own_approval(desk: Desk) -> None:
    desk.approve("mary")
    newer = Studies(desk.holder).keep(letter(study_body(holders=("north", "south"))))
    assert newer.study.hash == desk.proposed.study.hash
    assert position_of(newer, desk.holder, desk.ledger).word == "waiting"
    assert desk.word == "approved"


def test_an_officer_who_leaves_the_file_approves_no_longer(house: House) -> None:
    holder = house.write(officers=TWO)
    with holder.ledger() as ledger:
        desk = Desk(holder, ledger)
        desk.approve("mary")
    holder = house.write(officers={"tom": TWO["tom"]})
    with holder.ledger() as ledger:
        assert position_of(desk.proposed, holder, ledger).signed == ()
        assert position_of(desk.proposed, holder, ledger).word == "waiting"


@pytest.mark.parametrize("text", ["two\nlines", "\x1b[2J", "x" * 301])
def test_reasons_are_one_line(desk: Desk, text: str) -> None:
    with pytest.raises(InputError, match="more than a line"):
        check_reason(text, argument="--reason")
    for by, reason in ((text, ""), ("", text)):
        with pytest.raises(InputError, match="more than a line"):
            decisions.stop(desk.proposed, desk.ledger, by=by, reason=reason)
    assert desk.ledger.events() == ()


needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here to check with")


def ssh(*arguments: str, data: bytes = b"") -> int:
    return subprocess.run(["ssh-keygen", *arguments], input=data, capture_output=True, check=False).returncode


@needs_ssh_keygen
def test_ssh_keygen_accepts_what_was_signed(two: Desk, tmp_path: Path) -> None:
    two.approve("mary")
    two.approve("tom")
    roster = tmp_path / "officers"
    roster.write_text("".join(f"{name} {line}\n" for name, line in TWO.items()))
    folder = two.holder.state_folder / "consents"
    (statement,) = folder.glob("*.statement")
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    for name in TWO:
        (signature,) = folder.glob(f"*.{name}.sig")
        check = ("-Y", "verify", "-f", str(roster), "-I", name, "-s", str(signature))
        assert ssh(*check, "-n", "panbayes-approval", data=statement.read_bytes()) == 0
        assert ssh(*check, "-n", "panbayes-answer", data=statement.read_bytes()) != 0
        assert ssh(*check, "-n", "panbayes-approval", data=statement.read_bytes() + b" ") != 0


@needs_ssh_keygen
def test_what_ssh_keygen_signed_is_accepted(house: House, tmp_path: Path) -> None:
    secret = tmp_path / "own"
    assert ssh("-q", "-t", "ed25519", "-N", "", "-f", str(secret)) == 0
    line = secret.with_suffix(".pub").read_text().strip()
    holder = house.write(officers={"mary": line})
    with holder.ledger() as ledger:
        desk = Desk(holder, ledger)
        statement = tmp_path / "statement"
        statement.write_text(statement_of(holder, desk.proposed))
        assert ssh("-Y", "sign", "-n", "panbayes-approval", "-f", str(secret), str(statement)) == 0
        signature = statement.with_name("statement.sig").read_text()
        officer = approve(desk.proposed, holder, ledger, signature, argument="--signature")
        assert officer is not None
        assert (officer.name, desk.word, desk.answered) == ("mary", "approved", True)


@needs_ssh_keygen
def test_ssh_keygen_checks_the_letter_that_tells_the_analyst(desk: Desk, tmp_path: Path) -> None:
    desk.approve("mary")
    (file,) = (desk.holder.post("outgoing").path / "from-north").glob("*.approval")
    roster = tmp_path / "roster"
    roster.write_text(f"north {key('north').public.line}\n")
    check = ("-Y", "verify", "-f", str(roster), "-I", "north", "-n", "panbayes-approval", "-s", f"{file}.sig")
    assert ssh(*check, data=file.read_bytes()) == 0
    assert Letter.decode(file.read_bytes()).header.kind == "approval"


def test_a_folder_of_letters_is_looked_through(house: House, tmp_path: Path) -> None:
    holder = house.write()
    folder = Folder.at(tmp_path / "post", make=True)
    for given, name in (
        (letter(), "north"),
        (letter(study_body(STUDY.replace("three", "two"))), "nord"),
        (letter(to="south"), "south"),
        (letter(study_body(STUDY.replace("three", "four")), by="mallory"), "north"),
    ):
        folder.put("to", name, Letter.decode(given.data).header, given)
    (tmp_path / "post" / "to-north" / "0123456789ab-000000.study").write_text("no letter")
    (tmp_path / "post" / "to-north" / "0123456789ab-000000.study.sig").write_text("no signature")
    found = import_studies(folder, holder)
    assert {one.study.name for one in found.arrived} == {"three clinics", "two clinics"}
    assert len(found.passed) == 2
    assert any("begin as a letter" in line for line in found.passed)
    assert any("not in your file" in line for line in found.passed)
    assert len(Studies(holder).all()) == 2


def test_nobody_else_reads_an_officers_key(tmp_path: Path) -> None:
    secret, _ = key("mary").save(tmp_path / "mary", comment="mary", argument="mary")
    secret.chmod(0o644)
    with pytest.raises(InputError, match="may be read by others"):
        PrivateKey.load(secret, argument="--key")


def test_the_proposed_study_is_the_one_that_was_signed(desk: Desk) -> None:
    assert isinstance(desk.proposed, ProposedStudy)
    with desk.ledger.transaction(write=False) as transaction:
        desk_consent = consent_to(desk.holder, desk.proposed)
        assert not desk_consent.given(transaction, "ab" * 32)


def test_a_ledger_that_was_lost_is_not_begun_anew(house: House) -> None:
    """Who has approved something has had a ledger: an empty one would spend the cap twice."""
    holder = house.write()
    with holder.ledger() as ledger:
        assert Desk(holder, ledger).approve("mary")
    path = holder.cabinet.path(holder.name)
    path.rename(house.folder / "moved")
    with pytest.raises(LedgerError, match="is gone, and officers have approved studies here"):
        holder.ledger()
    assert not path.exists()
    (house.folder / "moved").rename(path)
    holder.ledger().close()
    path.unlink()
    holder.consents.rename(house.folder / "away")
    holder.ledger().close()
