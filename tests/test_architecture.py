"""The rooms and who may import whom (ARCHITECTURE.md), and the habits that hold everywhere.

Who may import whom is said in ``pyproject.toml`` to the import linter; here is what it cannot say.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import panbayes

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "panbayes"
MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Read a module once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, package: str) -> set[str]:
    """Every module named by an import statement, wherever it stands, as an absolute name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            names.update({base, *(f"{base}.{alias.name}" for alias in node.names)})
    return names


def test_the_contracts_of_the_import_linter_hold_without_ignores() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert not [contract for contract in settings["contracts"] if any("ignore" in key for key in contract)]


def names_in(path: Path) -> set[str]:
    """Every module that a module imports."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    return imported(tree_of(path), package)


def test_rooms_never_import_the_package_root() -> None:
    root = {"panbayes", *(f"panbayes.{name}" for name in panbayes.__all__)}
    inside = [path for path in MODULES if path.parent != SOURCE]
    assert not [path for path in inside if names_in(path) & root]


def test_the_checker_sees_imports_of_every_form() -> None:
    for source, name in (
        ("from panbayes import learn", "panbayes.learn"),
        ("import panbayes", "panbayes"),
        ("def f():\n from ... import learn", "panbayes"),
        ("from panbayes.dp import noise", "panbayes.dp.noise"),
    ):
        assert name in imported(ast.parse(source), "panbayes.consortium.analyst")


def test_all_lists_what_each_module_defines() -> None:
    for path in MODULES:
        if path.name in ("__init__.py", "__main__.py"):
            continue
        module = importlib.import_module(module_name(path))
        exported = module.__all__
        assert set(exported) <= set(vars(module)), f"a name in __all__ of {path} does not exist"
        assert len(set(exported)) == len(exported), path
        elsewhere = {
            alias.asname or alias.name
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert not set(exported) & elsewhere, f"__all__ of {path} names something defined elsewhere"


def test_modules_say_what_they_are() -> None:
    assert not [path for path in MODULES if not ast.get_docstring(tree_of(path))]


def test_no_room_without_a_name_of_its_own() -> None:
    nameless = {"util", "utils", "common", "helper", "helpers", "misc"}
    assert not [path for path in SOURCE.rglob("*") if path.stem in nameless]


# The one place that may name NumPy's generators where noise is drawn: simulated noise, which stamps what it touches.
SIMULATIONS = {"dp/simulated.py"}


def test_a_proposal_is_what_a_holder_asks_its_own_records_for_and_nothing_else() -> None:
    rooms = ("consortium/holder/", "cli/schema/")
    named = [
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if not path.relative_to(SOURCE).as_posix().startswith(rooms)
        and ("proposal" in path.stem or re.search(r"(?i)(class|def) +\w*proposal", path.read_text(encoding="utf-8")))
    ]
    assert not named, "a study is proposed by a letter with a body, a draft is suggested"


def test_no_seedable_randomness_or_pickle_where_noise_is_drawn() -> None:
    for path in MODULES:
        place = path.relative_to(SOURCE).as_posix()
        text = path.read_text(encoding="utf-8")
        assert not {name for name in names_in(path) if name.split(".")[0] in ("pickle", "random", "joblib", "dill")}
        if place.startswith(("dp/", "consortium/holder/", "stream/")) and place not in SIMULATIONS:
            assert "np.random" not in text, place
            assert "default_rng" not in text, place


def test_only_the_gate_builds_a_release() -> None:
    builders = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Release"
    }
    assert builders == {"consortium/holder/gate.py"}


FILES = {path.relative_to(ROOT).as_posix() for folder in (SOURCE, ROOT / "tests") for path in folder.rglob("*")}


def test_pages_name_files_that_exist() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        named = re.findall(r"`([\w/.]+(?:\.py|/))`", page.read_text(encoding="utf-8"))
        inside = [name for name in named if not (ROOT / name).exists()]
        lost = [name for name in inside if not any(f"/{file}".endswith(f"/{name.rstrip('/')}") for file in FILES)]
        assert not lost, f"{page} names {lost}"


def test_the_package_offers_exactly_what_it_lists() -> None:
    for name in panbayes.__all__:
        assert getattr(panbayes, name) is not None
    assert dir(panbayes) == sorted(panbayes.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        assert panbayes.nothing
