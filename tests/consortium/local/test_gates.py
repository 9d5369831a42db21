"""Holders in one process: ledgers are found by records, spending adds up, simulation leaves nothing behind."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection

import numpy as np
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger import file as ledger_file
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.officers import Change, Officers
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.envelope import Release
from panbayes.dp.secure import SecureNoise
from panbayes.errors import HolderRefusedError, InputError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, pure, singles, study, table


def run(agreed: Study, tables: dict[str, Table], state: Path | None, simulate: int | None = None) -> dict[str, Release]:
    with open_gates(agreed, tables, state=state, simulate=simulate) as gates:
        federation = Federation(agreed, gates, simulated=simulate is not None)
        return federation.ask(singles(agreed), round_number=0)


def spending(state: Path) -> dict[str, Fraction]:
    found = {}
    for path in Cabinet.in_state(state).files():
        with Ledger.open(path) as ledger:
            found[path.name.rpartition("-")[0]] = pure(ledger.summary().spent)
    return found


def north(state: Path, seed: int) -> Ledger:
    return Cabinet.in_state(state).open({"north": (SCHEMA.hash, fingerprint(table(seed)))})["north"]


ONE = study("independent")
TWO = study("independent", "1/2", name="two")


def test_the_same_study_again_is_free_and_another_adds_up(tmp_path: Path) -> None:
    tables = {"north": table(1), "south": table(2)}
    first = run(ONE, tables, tmp_path)
    assert run(ONE, tables, tmp_path) == first
    assert spending(tmp_path) == {"north": 1, "south": 1}
    run(TWO, tables, tmp_path)
    assert spending(tmp_path) == {"north": Fraction(3, 2), "south": Fraction(3, 2)}
    assert stat.S_IMODE(Cabinet.in_state(tmp_path).folder.stat().st_mode) == 0o700


def test_the_same_records_under_another_name_find_their_ledger(tmp_path: Path) -> None:
    first = run(ONE, {"north": table(1)}, tmp_path)["north"]
    turned = table(1).select(slice(None, None, -1))
    assert run(ONE, {"Dr. North": turned}, tmp_path)["Dr. North"] == first
    run(TWO, {"other": table(1)}, tmp_path)
    assert spending(tmp_path) == {"north": Fraction(3, 2)}


def test_changed_records_under_a_used_name_are_refused(tmp_path: Path) -> None:
    run(ONE, {"north": table(1)}, tmp_path)
    with pytest.raises(LedgerError, match="belongs to other records"):
        run(ONE, {"north": table(3)}, tmp_path)
    run(ONE, {"north 2027": table(3)}, tmp_path)
    assert spending(tmp_path) == {"north": 1, "north-2027": 1}


def test_another_schema_adds_up_by_name(tmp_path: Path) -> None:
    run(ONE, {"north": table(1)}, tmp_path)
    shorter = Schema("shorter", SCHEMA.attributes[:3])
    agreed = study("independent", schema=shorter)
    run(agreed, {"north": Table(shorter, table(1).codes[:3])}, tmp_path)
    assert spending(tmp_path) == {"north": 2}


def test_a_refused_study_leaves_the_ledger_free_for_other_records(tmp_path: Path) -> None:
    with north(tmp_path, 1) as ledger:
        ledger.set_cap(Pure(Fraction(1, 10)))
    with pytest.raises(HolderRefusedError, match="cap leaves no room") as caught:
        run(ONE, {"north": table(1)}, tmp_path)
    assert caught.value.exit_code == 3
    with north(tmp_path, 2) as ledger:
        assert pure(ledger.summary().spent) == 0


def test_that_two_holders_have_the_same_records_is_told_as_a_matter_of_their_ledger_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    """Nobody's account answers for two: neither with the same bytes, nor charged twice."""
    told = r"a-.*\.ledger: is the ledger of holder a and of holder b; give every holder its own records"
    with pytest.raises(LedgerError, match=told) as caught:
        run(ONE, {"a": table(1), "b": table(1).select(slice(None, None, -1)), "c": table(2)}, tmp_path)
    assert caught.value.exit_code == 5
    assert set(spending(tmp_path).values()) == {Fraction(0)}


def test_a_copied_ledger_beside_the_first_is_refused(tmp_path: Path) -> None:
    run(ONE, {"north": table(1)}, tmp_path)
    path = Cabinet.in_state(tmp_path).path("north")
    shutil.copy2(path, path.with_name("copy.ledger"))
    with pytest.raises(LedgerError, match="belongs to the same records as"):
        run(TWO, {"north": table(1)}, tmp_path)


def test_a_damaged_ledger_in_the_folder_is_not_passed_over(tmp_path: Path) -> None:
    """It may be the one of these records."""
    run(ONE, {"north": table(1)}, tmp_path)
    Cabinet.in_state(tmp_path).path("north").write_bytes(b"")
    with pytest.raises(LedgerError, match=r"north-.*not a ledger, or a damaged one"):
        run(ONE, {"south": table(1)}, tmp_path)


def test_many_holders_find_their_own_ledgers_under_other_names_and_each_file_is_opened_twice_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once to look whose it is and once to use it, however many holders there are."""
    tables = {f"holder {seed}": table(seed) for seed in range(1, 9)}
    first = run(ONE, tables, tmp_path)
    opened: list[Path] = []

    def counted(connect: Callable[..., Connection]) -> Callable[..., Connection]:
        def opening(path: Path, *, busy_seconds: float) -> Connection:
            opened.append(path)
            return connect(path, busy_seconds=busy_seconds)

        return opening

    for way in ("connect", "connect_reading"):
        monkeypatch.setattr(ledger_file, way, counted(getattr(ledger_file, way)))
    renamed = {f"clinic {9 - seed}": records for seed, records in enumerate(tables.values(), start=1)}
    second = run(ONE, renamed, tmp_path)
    assert list(second.values()) == list(first.values())
    assert sorted(opened) == sorted(2 * Cabinet.in_state(tmp_path).files())
    assert len(opened) == 2 * len(tables)


def test_a_ledger_made_for_one_holder_is_not_taken_for_the_next_of_the_same_run(tmp_path: Path) -> None:
    """The unused ledger of one name is bound to other records first; then its former records come along."""
    north(tmp_path, 1).close()
    run(ONE, {"north": table(2), "south": table(1)}, tmp_path)
    assert spending(tmp_path) == {"north": 1, "south": 1}


def test_names_stay_apart(tmp_path: Path) -> None:
    names = ["a", "A", "ä", "a/b", "../a", "", "a" * 300, "a b", "a-b"]
    paths = [Cabinet.in_state(tmp_path).path(name) for name in names]
    assert len({path.name.lower() for path in paths}) == len(names)
    assert {path.parent for path in paths} == {Cabinet.in_state(tmp_path).folder}
    assert all(len(path.name) < 100 for path in paths)


def test_the_users_own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run(ONE, {"north": table(1)}, None)
    assert spending(tmp_path / "panbayes") == {"north": 1}


def test_a_state_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^state: .* cannot be used"):
        run(ONE, {"north": table(1)}, tmp_path / "file")
    with pytest.raises(InputError, match=r"^state: holds a NUL, which no path can"):
        run(ONE, {"north": table(1)}, tmp_path / "a\0b")


def test_gates_of_an_account_that_officers_decide_about_are_opened_by_its_agent_alone(tmp_path: Path) -> None:
    """Also where its ledgers are reached by a link, and for records of another account beside it."""
    ledgers = tmp_path / "state" / "ledgers"
    ledgers.mkdir(parents=True)
    with Ledger.open(ledgers / "own.ledger", create=True) as ledger, ledger.transaction() as transaction:
        transaction.note("officers", Change(Officers.of(["ssh-ed25519 AAAA"], 1)).content)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "ledgers").symlink_to(ledgers)
    for state in ("state", "linked"):
        with pytest.raises(InputError, match=r"^state: .* its officers decide what is answered"):
            run(ONE, {"north": table(1)}, tmp_path / state)
    assert [path.name for path in ledgers.glob("*.ledger")] == ["own.ledger"]


def test_simulation_depends_on_seed_holder_and_question_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    tables = {"a": table(1), "b": table(1), "c": table(2)}
    first = run(ONE, tables, tmp_path, simulate=5)
    alone = run(ONE, {"b": table(1)}, tmp_path, simulate=5)
    assert alone["b"] == first["b"]
    assert run(ONE, tables, tmp_path, simulate=5) == first
    assert first["a"].answer != first["b"].answer
    assert run(ONE, tables, tmp_path, simulate=6)["a"].answer != first["a"].answer
    assert not any(release.private for release in first.values())
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_behind_a_gate_is_told_to_the_person_at_the_keyboard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_gates(ONE, {"north": table(1)}, state=tmp_path) as gates:
        path = Cabinet.in_state(tmp_path).path("north")
        with Ledger.open(path) as other:
            stranger = Gate(table(2), ONE, other, SecureNoise())
            Federation(ONE, {"x": stranger.ask}).ask(singles(ONE), round_number=1)
        with pytest.raises(HolderRefusedError, match="unavailable"):
            Federation(ONE, gates).ask(singles(ONE), round_number=0)
    assert "belongs to other records" in capsys.readouterr().err


def test_numbers_of_records_differ(tmp_path: Path) -> None:
    releases = run(ONE, {"a": table(1, 10), "b": table(1, 20)}, tmp_path)
    assert np.unique([release.size for release in releases.values()]).tolist() == [10, 20]
