"""Records for a study: where a table has no order of its own, somebody must say which records come first."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.records import read_for
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.tables.databases import in_duckdb
from tests.tables.lakes import as_delta

ATTRIBUTES = (Attribute("a", categories=(0, 1)),)
BY_PERSON = Study("s", Schema("s", ATTRIBUTES, unit=Unit("who")), epsilon=1)
BY_RECORD = Study("s", Schema("s", ATTRIBUTES), epsilon=1)
VISITS = pl.DataFrame({"who": ["p", "p", "q"], "visit": [2, 1, 1], "a": [0, 1, 0]})


def read(study: Study, data: object) -> Table:
    with ExitStack() as stack:
        found = read_for(study, data, argument="holder north", stack=stack)
        assert isinstance(found, Table)
        return found


@pytest.mark.parametrize("put", [in_duckdb, as_delta])
def test_an_order_is_asked_for_under_a_unit_alone(put: object, tmp_path: Path) -> None:
    assert callable(put)
    address = put(VISITS, tmp_path / "t")
    with pytest.raises(InputError, match=r"no order of its own.*add order_by=.* to the address.*who$"):
        read(BY_PERSON, address)
    assert read(BY_RECORD, address).records == 3
    ordered = f"{address}{'&' if '?' in address else '?'}order_by=visit"
    assert sorted(read(BY_PERSON, ordered).codes[0].tolist()) == [0, 1]


def test_what_nobody_reads_is_not_asked_for_an_order() -> None:
    with pytest.raises(InputError, match="found an address that begins with mysql://"):
        read(BY_PERSON, "mysql://host/clinic?table=visits")


def test_a_file_or_frame_has_an_order_of_its_own(tmp_path: Path) -> None:
    VISITS.write_csv(tmp_path / "visits.csv")
    for data in (VISITS, tmp_path / "visits.csv"):
        assert read(BY_PERSON, data).codes[0].tolist() == [0, 0]
