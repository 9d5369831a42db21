"""The manual's list of public names is generated from them; running this module writes it again."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import inspect
import re
from pathlib import Path

import pytest

import panbayes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"
NAMES = sorted(name for name in panbayes.__all__ if not name.startswith("__"))
HEAD = """# The names of panbayes

Only what stands here is stable: `panbayes.*`, the command line, and the files that people keep. Everything below
`panbayes.*` (`panbayes.bayesnet` and the like) may change without notice. The docstrings (`help(panbayes.learn)`) say
more and have examples that run.
"""


def first_line(value: object) -> str:
    """The first line of a docstring, as Markdown."""
    line = inspect.cleandoc(getattr(value, "__doc__", None) or "").partition("\n")[0].replace("|", "\\|")
    return re.sub(r":\w+:(?=`)", "", line.replace("``", "`"))


def members(kind: type) -> list[tuple[str, object]]:
    """The public methods and properties of a class, its own and those it inherits from panbayes."""
    found: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("panbayes"):
            found.update(
                (name, value)
                for name, value in vars(base).items()
                if not name.startswith("_") and first_line(_plain(value)) and _is_offered(value)
            )
    return sorted(found.items())


def _plain(value: object) -> object:
    return getattr(value, "__func__", value)


def _is_offered(value: object) -> bool:
    return inspect.isfunction(_plain(value)) or isinstance(value, property) or hasattr(value, "attrname")


def described(name: str) -> str:
    value = getattr(panbayes, name)
    lines = [f"## `panbayes.{name}`", "", first_line(value), ""]
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        lines += [f"Fields: {', '.join(f'`{field.name}`' for field in dataclasses.fields(value))}.", ""]
    rows = members(value) if inspect.isclass(value) and not issubclass(value, Exception) else []
    if rows:
        lines += ["| name | what it does |", "|---|---|"]
        lines += [f"| `{member}` | {first_line(_plain(found))} |" for member, found in rows]
        lines.append("")
    return "\n".join(lines)


def page() -> str:
    return "\n".join([HEAD, *(described(name) for name in NAMES)])


def test_the_page_lists_every_public_name() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.test_reference"


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring_with_an_example_that_runs(name: str) -> None:
    value = getattr(panbayes, name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for test in finder.find(value, name) if test.examples]
    assert examples, "no example"


def test_the_names_are_said_once_each_way() -> None:
    tree = ast.parse(Path(panbayes.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert typed == set(NAMES)
    assert {getattr(panbayes, name).__module__.split(".")[0] for name in NAMES} == {"panbayes"}


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
