"""The catalogue of mutants on an ordinary day: each still applies, and has tests that can notice it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from tests.soak.mutants import catalogue as reader
from tests.soak.mutants.catalogue import CATALOGUE, SemanticMutant, catalogue
from tests.soak.mutants.generator import mutants_of
from tests.soak.mutants.trees import ROOT, likely_tests, modules_of, source

MUTANT = SemanticMutant(
    "m", "p", "privacy/loss.py", "part", "self.amount * fraction", "self.amount", ("tests/privacy",)
)


def test_every_mutant_applies() -> None:
    for mutant in catalogue():
        applied = mutant.applied()
        compile(applied.text, applied.file, "exec")


def test_every_mutant_has_a_name_and_tests() -> None:
    names = Counter(mutant.name for mutant in catalogue())
    assert names.most_common(1)[0][1] == 1, names.most_common(1)
    for mutant in catalogue():
        missing = [test for test in mutant.tests if not (ROOT / test.partition("::")[0]).exists()]
        assert mutant.tests, mutant.name
        assert not missing, (mutant.name, missing)


def test_every_row_has_a_mutant_and_those_on_privacy_die_on_an_ordinary_day() -> None:
    for row in reader.rows():
        assert row["mutant"], row["promise"]
        assert not (row.get("privacy", True) and any(one.get("soak") for one in row["mutant"])), row["promise"]
    left = [mutant.name for mutant in catalogue() if mutant.soak]
    assert 10 * len(left) <= len(catalogue()), left


def test_every_row_of_the_page_is_in_the_catalogue() -> None:
    """As many rows as each table has; what a stream may lose in total stands above its table, and is a row more."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    starts = [found.end() for found in re.finditer(r"\| premise \| where \|\n.*\n|\| who \| tries to \|.*\n.*\n", page)]
    tables = [page[start:].partition("\n\n")[0].count("\n") + 1 for start in starts]
    parts = re.split(r"^# -+\n", CATALOGUE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [part.count("[[row]]") for part in parts] == [tables[0], tables[1] + 1, tables[2]]


def test_code_that_was_moved_or_written_otherwise_is_found() -> None:
    moved = replace(MUTANT, file="privacy/gone.py")
    assert moved.applied() == MUTANT.applied()
    written = "(\n            self.amount  # so much\n            * fraction\n        )"
    text = source("privacy/loss.py").replace("self.amount * fraction", written)
    found = MUTANT.applied(lambda file: text if file == "privacy/loss.py" else source(file))
    assert "(\n            self.amount\n        )" in found.text


@pytest.mark.parametrize("find", ["self.amount * nothing", "return"])
def test_code_that_is_found_nowhere_or_twice_names_the_mutant(find: str) -> None:
    wrong = replace(MUTANT, name="a wrong one", function="express", find=find)
    with pytest.raises(LookupError, match="a wrong one"):
        wrong.applied()


def test_a_change_that_changes_nothing_is_refused() -> None:
    with pytest.raises(LookupError, match="changes nothing"):
        replace(MUTANT, replace="self.amount*  fraction").applied()


def test_generated_mutants_are_what_they_say() -> None:
    text = '''
from __future__ import annotations
__all__ = ["f"]
LIMIT: int = 3
def f(a: int = 1, *, up: bool = True) -> int | None:
    """Return 7 + 7."""
    if a < LIMIT and not up:
        raise ValueError(f"{a + 1} is too little")
    self.x = g(a, "é", key=2)
    h()
    return a - 1 if up else None
'''
    found = mutants_of("m.py", text)
    said = {(one.kind, one.before, one.after) for one in found}
    assert {
        ("constant", "3", "(4)"),
        ("constant", "1", "(2)"),
        ("constant", "True", "(False)"),
        ("compare", "a < LIMIT", "(a <= LIMIT)"),
        ("boolean", "a < LIMIT and not up", "(a < LIMIT or not up)"),
        ("boolean", "a < LIMIT and not up", "(not up)"),
        ("negate", "up", "(not up)"),
        ("unary", "not up", "(up)"),
        ("swap", 'g(a, "é", key=2)', "(g('é', a, key=2))"),
        ("argument", 'g(a, "é", key=2)', "(g(a, 'é'))"),
        ("drop", "h()", "pass"),
        ("drop", 'self.x = g(a, "é", key=2)', "pass"),
        ("drop", 'raise ValueError(f"{a + 1} is too little")', "pass"),
        ("return", "return a - 1 if up else None", "return None"),
        ("arithmetic", "a - 1", "(a + 1)"),
    } <= said
    assert not any(re.search(r"7|int|__all__|too little\"$", one.before) for one in found if one.kind != "drop")
    for one in found:
        mutated = one.applied(text)
        assert mutated is not None
        assert mutated != text


def test_those_of_its_name_come_first_of_a_modules_tests() -> None:
    found = likely_tests("consortium/holder/gate.py")
    assert found[:2] == ["tests/consortium/holder/test_gate.py", "tests/consortium/holder/test_gate_cost.py"]
    assert "tests/consortium/holder/test_kill.py" in found, "it is of the same folder"
    assert "tests/consortium/agent/test_officers.py" in found, "it imports the module"
    assert "tests/consortium/desk/test_asking.py" not in found
    above = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").glob("test_*.py")}
    assert set(likely_tests("errors.py")) == above
    assert "errors.py" in modules_of()
