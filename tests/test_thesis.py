"""Every algorithm and theorem of the thesis is found in the code and in a test (docs/thesis.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "thesis.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+?) \| `([^`]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)


def test_the_page_has_its_rows() -> None:
    assert len(ROWS) >= 30
    assert len({label for label, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("label", "code", "test"), ROWS, ids=[label for label, _, _ in ROWS])
def test_a_search_for_the_label_finds_the_code(label: str, code: str, test: str) -> None:
    assert label in (ROOT / code).read_text(encoding="utf-8")
    module = code.removeprefix("src/").removesuffix(".py").replace("/", ".")
    package = module.rpartition(".")[0]
    # What a folder holds one file each of is tested through whoever finds them there.
    package = re.sub(r"\.(handlers|strategies)$", "", package)
    assert package in (ROOT / test).read_text(encoding="utf-8")


def test_no_label_of_the_thesis_is_forgotten() -> None:
    source = ROOT.parent / "shared" / "thesis.tex"
    if not source.is_file():
        pytest.skip("the thesis's source is not here")
    text = source.read_text(encoding="utf-8")
    labels = set(re.findall(r"\\caption\{[^}]*\\label\{([^}]+)\}", text)) - set(re.findall(r"FIG\w*", text))
    labels |= set(re.findall(r"\\begin\{thm\}(?:\[[^\]]*\])?\s*\\label\{([^}]+)\}", text))
    assert len(labels) > 25
    assert not [label for label in labels if label not in PAGE]
