"""What users get is a data frame of the kind they work with; typed tables are there beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from panbayes.bayesnet.formats.files import formats
from panbayes.bayesnet.network import Network
from panbayes.errors import InputError
from panbayes.tables.sources.dispatch import FrameKind, convert_frame, frame_sources
from panbayes.tables.table import Table

TYPES: dict[str, type] = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "arrow": pa.Table}
KINDS = tuple(frame_sources())


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_frames_of_the_networks_kind(kind: FrameKind) -> None:
    network = replace(Network.example(), frame_kind=kind)
    drawn: Any = network.sample(20, seed=3, given={"grass": "wet"})
    assert type(drawn) is TYPES[kind]
    table = network.sample_table(20, 3, {"grass": "wet"})
    assert table.decoded().equals(pl.DataFrame(cast(Any, drawn)))
    assert np.array_equal(Table.read(drawn, network.schema).codes, table.codes)
    assert isinstance(network.sample(0, seed=3), TYPES[kind])
    assert isinstance(network.with_privacy(None).sample(2), TYPES[kind]), "a change of the network keeps the kind"


def test_the_kind_is_no_part_of_the_network(tmp_path: Path) -> None:
    network = Network.example()
    other = replace(network, frame_kind="pandas")
    assert other == network
    assert hash(other) == hash(network)
    for suffix, chosen in formats().items():
        assert chosen.encode(other) == chosen.encode(network)
        other.save(tmp_path / f"model{suffix}")
        assert Network.load(tmp_path / f"model{suffix}").frame_kind == "polars"
    with pytest.raises(InputError, match=r'frame_kind: found "Pandas"; did you mean "pandas"\?'):
        replace(network, frame_kind="Pandas")


@pytest.mark.parametrize("kind", KINDS)
def test_classifications_are_frames_of_the_kind_that_came_in(kind: FrameKind) -> None:
    network = Network.example()
    table = network.sample_table(50, seed=1)
    expected = network.classify_table(table, "rain")
    whole = convert_frame(table.decoded(), kind)
    without = convert_frame(table.decoded().drop("rain"), kind)
    for data in (whole, without, replace(table, kind=kind)):
        found = network.classify(data, "rain")
        assert type(found) is TYPES[kind]
        plain = pl.DataFrame(cast(Any, found))
        assert plain["predicted"].to_list() == expected.labels()
        assert plain["probability"].to_list() == expected.probabilities.max(axis=1).tolist()


def test_a_pandas_index_is_kept() -> None:
    network = Network.example()
    frame = cast(Any, network.sample_table(4, seed=1).frame("pandas")).set_index(pd.Index([7, 5, 5, 1]))
    found = network.classify(frame, "rain")
    assert found.index.tolist() == [7, 5, 5, 1]
    assert found["predicted"].tolist() == network.classify_table(frame, "rain").labels()


def test_files_are_classified_without_the_target_and_named_in_errors(tmp_path: Path) -> None:
    network = Network.example()
    path = tmp_path / "records.csv"
    network.sample_table(9, seed=1).decoded().drop("rain").write_csv(path)
    assert network.classify(path, "rain").shape == (9, 2)
    assert network.classify(str(path), "rain").shape == (9, 2)
    with pytest.raises(InputError, match=r'records\.csv: has no column "rain"'):
        network.classify(path, "grass")
