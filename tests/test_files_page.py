"""The manual's page on files is generated; running this module writes it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from panbayes.consortium.agent.configuration import HOLDER_FILE
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import STUDY_FILE
from panbayes.schema.declaration import Declaration
from panbayes.schema.omop.features import FEATURE_FILE
from panbayes.schema.reference import key_table, reference
from panbayes.schema.schema import SCHEMA_FILE
from panbayes.service.configuration import SERVICE_FILE
from panbayes.service.source import source_kinds

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "files.md"
README = ROOT / "README.md"
GLOSSARY = ROOT / "docs" / "glossary.md"

DECLARATIONS: Final[dict[str, Declaration[Any]]] = {
    "schema": SCHEMA_FILE,
    "features": FEATURE_FILE,
    "study": STUDY_FILE,
    "holder": HOLDER_FILE,
    "service": SERVICE_FILE,
}


def strategy_table() -> str:
    """What each strategy asks for, and which keys of a study it reads."""
    rows = [
        f"| `{strategy.name}` | {'any' if strategy.several else 'one'} | {strategy.asks} | "
        f"{', '.join(f'`{key}`' for key in strategy.reads) or 'none'} |"
        for strategy in strategies().values()
    ]
    return "\n".join(["| strategy | holders | asks for | reads |", "|---|---|---|---|", *rows, ""])


def source_tables() -> str:
    """What each kind of source of a service takes."""
    parts = [
        f'### `[[sources]]` with `kind = "{kind.name}"`\n\nTakes {kind.summary}.\n\n{key_table(kind.declared)}'
        for kind in source_kinds().values()
    ]
    return "\n\n".join(parts) + "\n"


def regenerated(page: str) -> str:
    """Put the reference of each kind of file, and the table of strategies, between their marks."""
    generated = {name: reference(declaration) for name, declaration in DECLARATIONS.items()}
    for name, text in {**generated, "strategies": strategy_table(), "sources": source_tables()}.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        assert found, name
        page = f"{before}{begin}{text}{end}{after}"
    return page


def test_the_page_is_what_the_declarations_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert regenerated(page) == page, "run: python -m tests.test_files_page"


def test_the_readme_has_a_row_for_every_strategy() -> None:
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    begun = {name: f"| `{name}` | {'any' if how.several else 'one'} | {how.asks}" for name, how in strategies().items()}
    assert {name: [row for row in rows if row.startswith(begin)] for name, begin in begun.items()} == {
        row.split("`")[1]: [row] for row in rows
    }


@pytest.mark.parametrize(
    "word", ["holder", "adjacency", "universe", "density", "bits per record", "privacy spent", "quorum"]
)
def test_the_glossary_says_what_the_words_mean_that_stay(word: str) -> None:
    rows = [row.split("|")[1:3] for row in GLOSSARY.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
    meanings = [meaning for words, meaning in rows if word in words.strip().split(", ")]
    assert len(meanings) == 1
    assert len(meanings[0].split()) > 4


@pytest.mark.parametrize("name", DECLARATIONS)
def test_the_examples_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "clinic.toml").write_text(SCHEMA_FILE.example)
    DECLARATIONS[name].parse(DECLARATIONS[name].example, source=str(tmp_path / f"{name}.toml"))


if __name__ == "__main__":
    PAGE.write_text(regenerated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
