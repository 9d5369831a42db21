"""Folders are registries, and a name in one belongs to one value."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import panbayes.stream.laws as laws
from panbayes.discovery import discover, registry
from panbayes.errors import InternalError
from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.registry import law_kinds

SECOND = """
from panbayes.stream.laws.dwork import DWORK
from panbayes.stream.laws.kind import LawKind

OTHER = LawKind({name!r}, "another", DWORK.build)
"""


def named(kind: LawKind) -> str:
    return kind.name


def test_a_value_that_two_modules_know_is_one() -> None:
    assert registry("panbayes.stream.laws", LawKind, named) == law_kinds()
    assert len(discover("panbayes.stream.laws", LawKind)) == len(law_kinds())


def test_a_second_value_of_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "__path__", [*laws.__path__, str(tmp_path)])
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    (tmp_path / "zz_new.py").write_text(SECOND.format(name="new"))
    assert set(registry("panbayes.stream.laws", LawKind, named)) == {*law_kinds(), "new"}
    (tmp_path / "zz_same.py").write_text(SECOND.format(name="dwork"))
    importlib.invalidate_caches()
    with pytest.raises(InternalError, match=r'panbayes\.stream\.laws defines two of the name "dwork"'):
        registry("panbayes.stream.laws", LawKind, named)
