"""Desks and clocks for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from panbayes.consortium.agreement.study import Study
from tests.consortium.desk.desks import ANALYST, Clock, Desk, DeskOf
from tests.consortium.desk.holders import letter_holders
from tests.consortium.studies import tables_for


@pytest.fixture
def desk_of(tmp_path: Path) -> Iterator[DeskOf]:
    with ExitStack() as stack:

        def make(study: Study, *, sealed: bool = False, secure: bool = False) -> Desk:
            state = tmp_path / "ledgers" if secure else None
            tables = tables_for(study)
            opened = letter_holders(study, tables, tmp_path / "letters", ANALYST.public, state=state, sealed=sealed)
            return Desk(study, tmp_path, stack.enter_context(opened), simulated=not secure)

        yield make


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("panbayes.consortium.desk.journal.time", made)
    return made
