"""The Python way: studies and data frames in, a network out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import panbayes
from panbayes.cli.demo.population import clinic_network, clinic_schema
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.schema.schema import dump_schema
from panbayes.tables.sources.dispatch import FrameKind


def study(strategy: str = "privbayes", *, name: str = "t") -> panbayes.Study:
    return panbayes.Study(name, clinic_schema(), strategy, Fraction(1))


def test_frames_of_every_kind_in_and_out(tmp_path: Path) -> None:
    table = clinic_network().sample_table(500, 1)
    kinds: dict[FrameKind, type] = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "arrow": pa.Table}
    networks = []
    for kind, expected in kinds.items():
        frame = table.frame(kind)
        assert isinstance(frame, expected)
        read = panbayes.Table.read(frame, clinic_schema())
        assert np.array_equal(read.codes, table.codes)
        assert isinstance(read.frame(), expected)
        networks.append(panbayes.learn(study(), frame, state=tmp_path))
    # The same records, whatever the frame: the same ledger, the same releases, the same network.
    assert networks[0] == networks[1] == networks[2]
    network = networks[0]
    frame = table.frame("pandas")
    assert network.log_prob(frame) == pytest.approx(network.log_prob(table))
    assert network.classify_table(frame, "insulin").labels() == network.classify_table(table, "insulin").labels()
    assert isinstance(network.sample_table(10, 3).frame("pandas"), pd.DataFrame)


def test_another_study_adds_up_and_the_same_is_free(tmp_path: Path) -> None:
    data = {"north": clinic_network().sample_table(400, 1)}
    first = panbayes.learn(study(), data, state=tmp_path)
    assert panbayes.learn(study(), data, state=tmp_path) == first
    assert panbayes.learn(study(name="other"), data, state=tmp_path) != first


def test_a_draft_schema_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    draft = panbayes.Schema("d", clinic_schema().attributes, status="draft", source="d.toml")
    drafted = panbayes.Study("t", draft, "privbayes", Fraction(1))
    with pytest.raises(panbayes.InputError, match=r"d\.toml: is a draft"):
        panbayes.learn(drafted, "absent.csv", state=tmp_path)
    assert not list(tmp_path.iterdir())


def test_non_private_says_so(tmp_path: Path) -> None:
    tables = {"a": clinic_network().sample_table(3000, 1), "b": clinic_network().sample_table(3000, 2)}
    network = panbayes.learn(study("non-private"), tables, state=tmp_path)
    assert network.privacy is None
    assert "NOT PRIVATE" in network.about["warning"]
    for name in tables:
        with Ledger.read(Cabinet.in_state(tmp_path).path(name)) as ledger:
            summary = ledger.summary()
            assert (summary.looked, summary.entries) == ((study("non-private").name,), 0), "it leaves a line"
            assert verify(ledger) == []
    test = clinic_network().sample_table(5000, 9)
    assert clinic_network().log_prob(test).mean() - network.log_prob(test).mean() < 0.15


def test_tables_of_another_schema_are_refused(tmp_path: Path) -> None:
    other = panbayes.Schema("other", clinic_schema().attributes)
    table = panbayes.Table(other, clinic_network().sample_table(10, 1).codes)
    with pytest.raises(panbayes.InputError, match=r"^holder north: is encoded by another schema"):
        panbayes.learn(study(), {"north": table}, state=tmp_path)


def test_no_holders(tmp_path: Path) -> None:
    with pytest.raises(panbayes.InputError, match=r"^holders: found none"):
        panbayes.learn(study(), {}, state=tmp_path)


def test_a_person_with_several_records(tmp_path: Path) -> None:
    """The noise of tables with up to 5 records a person is 5 times as wide; the statement speaks of persons."""
    schema = panbayes.Schema("u", clinic_schema().attributes, unit=panbayes.Unit("who", 5))
    frame = clinic_network().sample_table(2000, 1).decoded().with_columns(pl.Series("who", np.arange(2000) // 4))
    network = panbayes.learn(panbayes.Study("t", schema, "privbayes", Fraction(1)), frame, state=tmp_path)
    assert network.privacy is not None
    assert network.privacy.unit == "person"
    assert any("At most 5 records" in line for line in network.privacy.lines())


def test_a_table_that_does_not_know_its_persons_is_refused_under_a_unit(tmp_path: Path) -> None:
    """Otherwise one person's thousand records would be protected as if they were one."""
    attribute = panbayes.Attribute("a", categories=("x", "y"))
    schema = panbayes.Schema("u", (attribute,), unit=panbayes.Unit("who", 1))
    frame = pl.DataFrame({"a": ["x"] * 1000 + ["y"], "who": ["me"] * 1000 + ["you"]})
    study = panbayes.Study("s", schema, "independent", Fraction(1))
    with pytest.raises(panbayes.InputError, match="does not know whose its records are"):
        panbayes.learn(study, panbayes.Table.read(frame, schema, every_record=True), state=tmp_path)
    panbayes.learn(study, panbayes.Table.read(frame, schema), state=tmp_path)


def test_a_frame_and_its_schema_are_enough_and_the_name_is_whose_account_is_charged(tmp_path: Path) -> None:
    frame = clinic_network().sample(400, 1)
    network = panbayes.learn(frame, clinic_schema(), epsilon="1/2", holder="north", state=tmp_path)
    assert str(network.privacy.loss if network.privacy else "") == "ε = 0.5"
    assert network.about["strategy"] == "adaptive"
    assert panbayes.learn(frame, clinic_schema(), epsilon=0.5, holder="north", state=tmp_path) == network
    with pytest.raises(panbayes.LedgerError, match=r"north-.*: belongs to other records.* a name of their own"):
        panbayes.learn(frame.head(10), clinic_schema(), epsilon=0.5, holder="north", state=tmp_path)
    panbayes.learn(frame.head(10), clinic_schema(), epsilon=0.5, holder="south", state=tmp_path)


def test_files_in_the_place_of_values(tmp_path: Path) -> None:
    (tmp_path / "clinic.toml").write_text(dump_schema(clinic_schema()))
    (tmp_path / "study.toml").write_text('version = 1\nname = "t"\nschema = "clinic.toml"\nepsilon = 1\n')
    clinic_network().sample(300, 1).write_csv(tmp_path / "north.csv")
    data = tmp_path / "north.csv"
    by_study = panbayes.learn(tmp_path / "study.toml", {"north": data}, simulate=3)
    assert by_study == panbayes.learn(str(tmp_path / "study.toml"), data, holder="north", simulate=3)
    quick = panbayes.learn(str(data), tmp_path / "clinic.toml", epsilon=1, holder="north", simulate=3)
    assert quick.schema == by_study.schema


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "independent"}, r"^strategy: found beside a study, which says it already"),
        ({"epsilon": 1, "delta": 1e-9}, r"^epsilon, delta: found beside a study"),
        ({"simulate": -1}, r"^simulate: found -1; give a seed of 0 or more"),
        ({"simulate": "seven"}, r"^simulate: found 'seven'"),
    ],
)
def test_what_is_given_is_never_left_aside(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    frame = clinic_network().sample(30, 1)
    with pytest.raises(panbayes.InputError, match=message):
        panbayes.learn(study(), frame, state=tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_options_of_a_study_file_are_its_own(tmp_path: Path) -> None:
    options: dict[str, Any] = {"adjacency": "add-remove"}
    with pytest.raises(panbayes.InputError, match=r"^adjacency: found without epsilon; give a schema and epsilon"):
        panbayes.learn("study.toml", tmp_path / "north.csv", **options)


def test_what_cannot_be_learned_from_is_said_by_name() -> None:
    frame = clinic_network().sample(30, 1)
    with pytest.raises(panbayes.InputError, match="study: found a DataFrame and no epsilon"):
        panbayes.learn(frame, frame)
    with pytest.raises(panbayes.InputError, match="schema: found a DataFrame"):
        panbayes.learn(frame, frame, epsilon=1)
    with pytest.raises(panbayes.InputError, match="study, epsilon: is missing"):
        panbayes.learn(frame, clinic_schema())


@pytest.mark.parametrize("term", [{"delta": 1e-9}, {"adjacency": "add-remove"}, {"strategy": "privbayes"}])
def test_terms_beside_a_study_are_refused_and_never_passed_over(term: dict[str, Any]) -> None:
    """Who asks for add-remove must not publish the number of people because the study says otherwise."""
    frame = clinic_network().sample(30, 1)
    with pytest.raises(panbayes.InputError, match="found beside a study"):
        panbayes.learn(study(), frame, simulate=1, **term)


def test_a_file_given_to_two_holders_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """What was given is public; that two files hold the same is not, and no error about the input says so."""
    agreed = study("independent")
    path = tmp_path / "north.csv"
    path.write_text("this is no table")
    (tmp_path / "link.csv").symlink_to(path)
    for second in (path, str(path), tmp_path / "link.csv", panbayes.File(path, encoding="latin-1")):
        with pytest.raises(panbayes.InputError, match=r"^holder b: is given the same file as holder a; give every"):
            panbayes.learn(agreed, {"a": path, "b": second}, state=tmp_path / "state")
    frame = clinic_network().sample_table(100, 1).frame()
    with pytest.raises(panbayes.InputError, match=r"^holder b: is given the same table as holder a; give every"):
        panbayes.learn(agreed, {"a": frame, "b": frame}, state=tmp_path / "state")
    assert not (tmp_path / "state").exists()
    panbayes.learn(agreed, {"a": frame, "b": frame}, simulate=1)


@pytest.mark.parametrize("name", [1, None, "", " ", "\udc80"])
def test_a_holder_has_a_name_that_can_be_written(name: object, tmp_path: Path) -> None:
    with pytest.raises(panbayes.InputError, match="holders: found the name"):
        panbayes.learn(study(), {name: clinic_network().sample(30, 1)}, state=tmp_path)
    assert not list(tmp_path.iterdir())


def test_samples_are_frames_of_the_kind_that_was_learned_from() -> None:
    table = clinic_network().sample_table(200, 1)
    for kind, expected in (("pandas", pd.DataFrame), ("arrow", pa.Table), ("polars", pl.DataFrame)):
        network = panbayes.learn(table.frame(kind), clinic_schema(), epsilon=1, simulate=1)
        assert isinstance(network.sample(5, 1), expected)
