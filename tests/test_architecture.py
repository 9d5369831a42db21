"""The rooms and who may import whom (ARCHITECTURE.md), and the habits that hold everywhere."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import panbayes

SOURCE = Path(__file__).resolve().parents[1] / "src" / "panbayes"
MODULES = sorted(SOURCE.rglob("*.py"))
EVERYTHING = frozenset(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")

# A room may import itself, `public`, and what stands here.
ALLOWED: dict[str, frozenset[str]] = {
    "public": frozenset(),
    "tables": frozenset(),
    "accuracy": frozenset(),
    "dp": frozenset(),
    "protocol": frozenset(),
    "bayesnet": frozenset({"tables"}),
    "panprivate": frozenset({"dp", "accuracy"}),
    "holder": frozenset({"tables", "dp", "bayesnet", "protocol"}),
    "analyst": frozenset({"tables", "bayesnet", "protocol", "accuracy"}),
    "embedded": EVERYTHING - {"cli"},
    "audit": EVERYTHING - {"cli"},
    "reproduce": EVERYTHING - {"cli"},
    "cli": EVERYTHING,
}


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


def rooms_imported(source: str, package: str) -> set[str]:
    parts = (name.split(".") for name in imported(ast.parse(source), package))
    return {part[1] for part in parts if part[0] == "panbayes" and len(part) > 1 and part[1] in EVERYTHING}


def test_the_checker_sees_imports_of_every_form() -> None:
    assert rooms_imported("from panbayes.holder import x", "panbayes.analyst") == {"holder"}
    assert rooms_imported("def f():\n import panbayes.dp.noise", "panbayes.analyst") == {"dp"}
    assert rooms_imported("from panbayes import dp", "panbayes.analyst") == {"dp"}
    assert rooms_imported("from ..holder import gate", "panbayes.analyst") == {"holder"}
    assert rooms_imported("import numpy", "panbayes.analyst") == set()


def test_every_room_has_a_rule() -> None:
    assert frozenset(ALLOWED) == EVERYTHING


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_stay_within_the_rules(path: Path) -> None:
    relative = path.relative_to(SOURCE)
    if len(relative.parts) == 1:
        return
    room = relative.parts[0]
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    found = rooms_imported(path.read_text(encoding="utf-8"), package)
    assert found <= ALLOWED[room] | {room, "public"}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_all_lists_what_the_module_defines(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name in ("__init__.py", "__main__.py"):
        return
    module = importlib.import_module(module_name(path))
    exported = module.__all__
    assert set(exported) <= set(vars(module)), "a name in __all__ does not exist"
    assert len(set(exported)) == len(exported)
    imported_names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert not set(exported) & imported_names, "__all__ names something defined elsewhere"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_modules_are_small_and_say_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert ast.get_docstring(ast.parse(text))


def test_no_room_without_a_name_of_its_own() -> None:
    nameless = {"util", "utils", "common", "helper", "helpers", "misc"}
    assert not [path for path in SOURCE.rglob("*") if path.stem in nameless]


# The one place that may name NumPy's generators where noise is drawn: simulated noise, which stamps what it touches.
SIMULATIONS = {"dp/noise.py"}


def test_no_seedable_randomness_or_pickle_where_noise_is_drawn() -> None:
    for path in MODULES:
        place = path.relative_to(SOURCE).as_posix()
        text = path.read_text(encoding="utf-8")
        names = imported(ast.parse(text), module_name(path))
        assert not {name for name in names if name.split(".")[0] in ("pickle", "random", "joblib", "dill")}
        if place.split("/")[0] in ("dp", "holder", "panprivate") and place not in SIMULATIONS:
            assert "np.random" not in text, place
            assert "default_rng" not in text, place


def test_the_package_offers_exactly_what_it_lists() -> None:
    for name in panbayes.__all__:
        assert getattr(panbayes, name) is not None
    assert dir(panbayes) == sorted(panbayes.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        assert panbayes.nothing
