"""Every ``--help``: whole, in words, on file, and with examples that work."""

from __future__ import annotations

import importlib
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.cli.demo.population import clinic_network
from panbayes.consortium.agreement.study import Study, dump_study
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.post.bodies import StudyBody, encode
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.letters import Header, Letter
from panbayes.schema.omop.features import FEATURE_FILE
from panbayes.schema.schema import dump_schema
from panbayes.tables.sources.file import File
from tests.cli.help_pages import GOLDEN, examples, golden_file, page, pages, verbs
from tests.conftest import Panbayes
from tests.effort import soak
from tests.running import run_line

PAGES = pages()
every_page = pytest.mark.parametrize("words", PAGES, ids=" ".join)


@every_page
def test_pages_are_as_on_file(words: tuple[str, ...]) -> None:
    """If a change is meant, ``python -m tests.cli.help_pages`` writes the files anew."""
    assert page(words) == golden_file(words).read_text(encoding="utf-8")


def test_no_page_on_file_is_left_over() -> None:
    assert sorted(GOLDEN.iterdir()) == sorted(map(golden_file, PAGES))


@every_page
def test_pages_are_whole_and_in_words(words: tuple[str, ...]) -> None:
    shown = page(words)
    assert max(map(len, shown.splitlines())) <= 80
    assert "..." not in shown
    assert not re.search(r"<\w+>|\b(TEXT|PATH|INTEGER|FLOAT|None)\b", shown)
    assert examples(shown)
    assert all(re.search(r"\bpanbayes\b", line) for line in examples(shown))
    # What serves has no result, and says what it does.
    assert "\nCommands:" in shown or "--json" in shown or words[-1:] in ((), ("serve",))


@pytest.mark.parametrize("verb", verbs())
def test_the_summary_is_the_verbs_own(verb: str) -> None:
    assert page((verb,)).split("\n\n")[1].replace("\n", " ") == verbs()[verb]


def test_every_verb_on_file_is_listed() -> None:
    folder = Path(str(importlib.import_module("panbayes.cli.verbs").__file__)).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(verbs())


def test_no_summary_is_cut_however_narrow_the_terminal(panbayes: Panbayes) -> None:
    shown = " ".join(panbayes("--help", COLUMNS="50").stdout.split())
    assert all(summary in shown for summary in verbs().values())


def test_wide_terminals_get_lines_that_can_be_read(panbayes: Panbayes) -> None:
    lines = panbayes("learn", "--help", COLUMNS="300").stdout.splitlines()
    assert 80 < max(map(len, lines)) <= 100


def in_order() -> list[str]:
    """Every example once, in the order of the job."""
    return list(dict.fromkeys(line for words in PAGES for line in examples(page(words))))


def propose(folder: Path) -> None:
    """What the analyst uni puts into the folder post: a letter that proposes a study to the holder north."""
    study = Study("clinics", folder / "clinic.toml", epsilon=1)
    analyst = PrivateKey.load(folder / "uni.key", argument="uni")
    holder = PublicKey.load(folder / "north.pub", argument="north")
    body = StudyBody(dump_study(study), dump_schema(study.schema), {"north": holder.line}, analyst.public.line)
    header = Header("study", study.hash, analyst.public.fingerprint, holder.fingerprint)
    Folder.at(folder / "post", make=True).put("to", "north", header, Letter(header, encode(body)).signed_by(analyst))


def declare(folder: Path) -> None:
    """A dataset clinic in the user's own folder of ledgers, with a δ of its own."""
    cabinet = Cabinet(Path(f"{folder}-user") / "panbayes" / "ledgers")
    cabinet.make_folder()
    people = clinic_network().sample_table(2000, 9).decoded()
    people.write_csv(folder / "people.csv")
    with Ledger.open(cabinet.path("clinic"), create=True) as ledger, ledger.transaction() as transaction:
        source = File(str(folder / "people.csv"))
        transaction.dataset.declare(Dataset(source, None, changing=False, delta=Fraction(1, 10**6)))


@soak
def test_the_examples_are_one_working_session(tmp_path: Path) -> None:
    """Someone with a few files types every example, from top to bottom, and approves what was drafted."""
    population = clinic_network()
    for seed, name in enumerate(("north", "south", "test")):
        population.sample_table(2000, seed).decoded().write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "features.toml").write_text(FEATURE_FILE.example, encoding="utf-8")
    (tmp_path / "CONCEPT_ANCESTOR.csv").write_text("ancestor_concept_id\tdescendant_concept_id\n", encoding="utf-8")
    (tmp_path / "visits.txt").write_text("".join(f"{i}\n" for i in range(500)), encoding="utf-8")
    rows = "".join(f"1,{i},DE\n" for i in range(500))
    (tmp_path / "visits.csv").write_text("day,user,country\n" + rows, encoding="utf-8")
    declare(tmp_path)
    for line in in_order():
        if line.startswith(("panbayes dataset", "panbayes analyst")) or " serve" in line:
            continue  # These have sessions of their own, with public data and with holders elsewhere, or do not end.
        if line.startswith("panbayes holder pending"):
            propose(tmp_path)
        done = run_line(line, folder=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stderr == ""
        schema = tmp_path / "clinic.toml"
        if schema.exists():
            approved = schema.read_text().replace('status = "draft"', 'status = "approved"')
            schema.write_text(approved.replace("drafted = true\n", ""))


def test_the_examples_with_the_public_data(
    tmp_path: Path, diabetes_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANBAYES_DIABETES", str(diabetes_path))
    shutil.copy(diabetes_path, tmp_path / "dataset_diabetes.zip")
    for line in in_order():
        if line.startswith("panbayes dataset"):
            done = run_line(line, folder=tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
