"""What ``-o`` may replace: a regular file that nobody depends on, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from panbayes.cli.demo.population import clinic_network
from panbayes.errors import InputError
from panbayes.files import output_file
from panbayes.schema.schema import dump_schema
from tests.conftest import Panbayes

STUDY = 'version = 1\nname = "s"\nschema = "clinic.toml"\nstrategy = "{}"\nepsilon = 1.0\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A holder's folder: a table, a schema, studies and a model."""
    network = clinic_network()
    network.sample_table(500, 1).decoded().write_csv(tmp_path / "north.csv")
    (tmp_path / "clinic.toml").write_text(dump_schema(network.schema))
    (tmp_path / "study.toml").write_text(STUDY.format("independent"))
    (tmp_path / "open.toml").write_text(STUDY.format("non-private"))
    network.save(tmp_path / "model.json")
    return tmp_path


LEARN = ("learn", "study.toml", "--holder", "north=north.csv", "--state", ".", "-o")
SAMPLE = ("sample", "model.json", "-n", "5", "-o")
CLASSIFY = ("classify", "model.json", "north.csv", "--target", "insulin", "-o")
DRAFT = ("schema", "draft", "north.csv", "-o")
WRITERS = (LEARN, SAMPLE, CLASSIFY, DRAFT)


def refused(done: object, message: str) -> None:
    code, errors = getattr(done, "returncode", None), str(getattr(done, "stderr", ""))
    assert code == 2, errors
    assert message in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "inputs"),
    [
        (LEARN, ("study.toml", "clinic.toml", "north.csv")),
        (SAMPLE, ("model.json",)),
        (CLASSIFY, ("model.json", "north.csv")),
        (DRAFT, ("north.csv",)),
    ],
)
def test_no_command_replaces_what_it_reads(
    command: tuple[str, ...], inputs: tuple[str, ...], folder: Path, panbayes: Panbayes
) -> None:
    for name in inputs:
        before = (folder / name).read_bytes()
        suffix = Path(name).suffix
        os.link(folder / name, folder / f"other{suffix}")
        for output in (name, f"./{name}", f"other{suffix}"):
            refused(panbayes(*command, output), "is also read by this command; give another file")
        assert (folder / name).read_bytes() == before
        (folder / f"other{suffix}").unlink()


def test_a_model_is_not_exported_over_itself(folder: Path, panbayes: Panbayes) -> None:
    (folder / "model.json").rename(folder / "model.bif.json")
    os.link(folder / "model.bif.json", folder / "model.bif")
    refused(panbayes("export", "model.bif.json", "model.bif"), "OUT: model.bif is also read by this command")


def test_a_table_that_is_read_through_a_link_is_not_replaced(folder: Path, panbayes: Panbayes) -> None:
    (folder / "link.csv").symlink_to("north.csv")
    command = ("classify", "model.json", "link.csv", "--target", "insulin", "-o", "north.csv")
    refused(panbayes(*command), "north.csv is also read by this command")


@pytest.mark.parametrize("command", WRITERS)
def test_ledgers_and_states_are_never_replaced(command: tuple[str, ...], folder: Path, panbayes: Panbayes) -> None:
    assert panbayes(*LEARN, "made.json").returncode == 0
    assert panbayes("stream", "open", "visits.csv", "--universe", "10", "--epsilon", "1").returncode == 0
    ledger = next((folder / "ledgers").glob("*.ledger"))
    os.link(ledger, folder / "renamed.csv")
    journal = folder / "ledgers" / f"{ledger.name}-journal"
    journal.touch()
    for kept, what in (
        (ledger, "the name of a ledger"),
        (journal, f"the name of what is kept beside {ledger.name}"),
        (folder / "ledgers" / f"{ledger.name}-attempt", f"the name of what is kept beside {ledger.name}"),
        (folder / "ledgers" / "lock", "the name of the lock of the ledgers beside it"),
        (folder / "renamed.csv", "a ledger or another database"),
        (folder / "visits.csv", "the state of a stream"),
    ):
        before = kept.read_bytes()
        refused(panbayes(*command, str(kept.relative_to(folder))), f"is {what}; give another file")
        assert kept.read_bytes() == before


@pytest.mark.parametrize("command", WRITERS)
def test_only_regular_files_are_replaced(command: tuple[str, ...], folder: Path, panbayes: Panbayes) -> None:
    (folder / "aim.csv").write_text("aim")
    (folder / "link.csv").symlink_to("aim.csv")
    (folder / "nowhere.csv").symlink_to("absent.csv")
    os.mkfifo(folder / "pipe.csv")
    for name, what in (
        ("link.csv", "is a link"),
        ("nowhere.csv", "is a link"),
        ("pipe.csv", "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        (".", "is a directory"),
    ):
        refused(panbayes(*command, name), what)
    assert (folder / "link.csv").is_symlink()
    assert stat.S_ISFIFO((folder / "pipe.csv").stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert (folder / "aim.csv").read_text() == "aim"


def test_what_becomes_a_link_while_a_command_runs_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "aim").write_text("aim")
    with pytest.raises(InputError, match="is a link"), output_file(tmp_path / "out"):
        (tmp_path / "out").symlink_to("aim")
    assert (tmp_path / "aim").read_text() == "aim"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aim", "out"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_with_records_are_for_their_owner_alone(folder: Path, panbayes: Panbayes) -> None:
    before = os.umask(0o022)
    try:
        for command, output in (
            (CLASSIFY, "classes.csv"),
            (DRAFT, "draft.toml"),
            (("learn", "open.toml", *LEARN[2:]), "open.json"),
            (("sample", "open.json", *SAMPLE[2:]), "open.csv"),
        ):
            done = panbayes(*command, output)
            assert done.returncode == 0, done.stderr
            assert mode(folder / output) == 0o600
        assert panbayes(*LEARN, "private.json").returncode == 0
        assert panbayes("sample", "private.json", *SAMPLE[2:], "synthetic.csv").returncode == 0
        assert mode(folder / "private.json") == mode(folder / "synthetic.csv") == 0o644
    finally:
        os.umask(before)


def test_the_demo_replaces_nobody_elses_files(folder: Path, panbayes: Panbayes) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    (folder / "clinic.toml").write_text(before[folder / "clinic.toml"].decode() + "\n")
    refused(panbayes("demo", "-o", "."), "north.csv is not the demo's, which would replace it; give a new folder")
    assert (folder / "north.csv").read_bytes() == before[folder / "north.csv"]
