"""What every private strategy keeps, through real gates with ledgers on disk; strategies are found by discovery."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pytest

from panbayes.bayesnet.formats.model_json import decode_factors, encode_factors
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.plan import Fixed
from panbayes.consortium.agreement.strategy import Strategy, strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import LINEAR
from panbayes.consortium.analyst.method import Method, methods
from panbayes.consortium.holder import gate as gate_module
from panbayes.consortium.holder import private_counts
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.envelope import Question, Refusal, question
from panbayes.consortium.protocol.queries import Query, kind_of
from panbayes.discovery import discover
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import HolderFailedError, InputError
from panbayes.privacy.composition import Composition, Parallel, PostProcessed, Sequential, loss_of
from panbayes.privacy.loss import largest, total
from panbayes.privacy.written import parse_epsilon
from panbayes.tables.table import Table
from tests.consortium.holder import examples
from tests.consortium.studies import (
    KILLED,
    LITTLE,
    MUCH,
    PRIVATE,
    SCHEMA,
    STUDIES,
    TABLES,
    Books,
    Wire,
    fixed,
    learn_over,
    tables_for,
    variants,
)
from tests.effort import soak

ROOT = Path(__file__).resolve().parents[2]
GENEROUS = [study for study in STUDIES if study.epsilon == MUCH]


@cache
def asked_in_a_run(study: Study) -> list[Question]:
    """What a study asks in one run with simulated noise."""
    wire = Wire()
    learn_over(wire, study, tables_for(study), simulate=5)
    return [asked for _, asked in wire.asked]


def named(study: Study) -> str:
    return study.name


@dataclass(frozen=True)
class Run:
    """A study that was learned, what was asked for it, and the ledgers that it left."""

    study: Study
    network: Network
    wire: Wire
    books: Books

    def one_of_a_kind(self) -> list[Question]:
        """One question of every kind that was asked."""
        return list({kind_of(asked.query): asked for _, asked in self.wire.asked}.values())


@pytest.fixture(scope="module", params=STUDIES, ids=named)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    study: Study = request.param
    state, wire = tmp_path_factory.mktemp("state"), Wire()
    return Run(study, learn_over(wire, study, tables_for(study), state=state), wire, Books(state))


def parts(network: Network) -> tuple[Composition, ...]:
    """What each holder spent by the statement, in the order of their names."""
    assert network.privacy is not None
    whole = network.privacy.composition
    assert isinstance(whole, PostProcessed)
    return whole.part.parts if isinstance(whole.part, Parallel) else (whole.part,)


def test_every_private_strategy_has_one_method_and_no_method_is_without() -> None:
    found = discover("panbayes.consortium.analyst.strategies", Method)
    assert sorted(method.strategy for method in found) == sorted(strategy.name for strategy in PRIVATE)
    assert set(methods()) == {strategy.name for strategy in PRIVATE}


def test_every_strategy_has_its_own_name_and_every_private_one_is_tried_here() -> None:
    found = discover("panbayes.consortium.agreement.strategies", Strategy)
    assert len(found) == len(strategies())
    assert {study.strategy for study in STUDIES} == {strategy.name for strategy in PRIVATE}
    assert {(study.adjacency, bool(study.delta)) for study in STUDIES if study.strategy == "adaptive"} == {
        (adjacency, concentrated) for adjacency in ("replace", "add-remove") for concentrated in (False, True)
    }


def test_the_statement_says_what_the_ledgers_charged(run: Run) -> None:
    statement = run.network.privacy
    assert statement is not None
    assert statement.private
    assert statement.adjacency == run.study.adjacency
    spent = [run.books.spent(name) for name in sorted(tables_for(run.study))]
    assert [loss_of(part) for part in parts(run.network)] == spent
    assert statement.loss == largest(spent)
    assert statement.loss.implies(run.study.grant)
    if fixed(run.study):
        assert set(spent) == {run.study.grant}
        assert set(parts(run.network)) == {Sequential(run.study.plan.steps)}


def test_every_question_is_in_the_plan_asked_once_and_charged_for(run: Run) -> None:
    plan = run.study.plan
    for name in tables_for(run.study):
        questions = [asked for holder, asked in run.wire.asked if holder == name]
        assert [plan.complaint(asked.query) for asked in questions] == [None] * len(questions)
        for kind, times in Counter(kind_of(asked.query) for asked in questions).items():
            assert times <= plan.times(kind)
        if fixed(run.study):
            assert len(questions) == sum(stage.times for stage in plan.stages)
        entries = run.books.entries(name)
        assert [entry.question for entry in entries] == [asked.id for asked in questions]
        assert [entry.loss for entry in entries] == [examples.loss_of(asked.query) for asked in questions]
        assert run.books.faults(name, run.wire.heads[name]) == []


def test_it_learns(run: Run) -> None:
    """A network of the study's schema, positive everywhere and, with much ε, better than knowing nothing."""
    assert run.network.schema == SCHEMA
    assert all(np.all(table > 0) for table in run.network.tables)
    assert run.network.about["strategy"] == run.study.strategy
    if run.study.epsilon == MUCH:
        test = TABLES["large"]
        assert run.network.log_prob(test).mean() > -np.log(SCHEMA.sizes).sum() + 0.5


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_a_run_that_fails_at_any_message_is_resumed_at_no_further_cost(study: Study, tmp_path: Path) -> None:
    """Lose the connection after no message, after one, …, there and back in turn, until a run comes to its end."""
    tables, books, before = tables_for(study), Books(tmp_path), set[tuple[str, str]]()
    network, wire = None, Wire(0)
    while network is None:
        try:
            network = learn_over(wire, study, tables, state=tmp_path)
        except HolderFailedError:
            before |= wire.ids
            whole = (wire.whole or 0) + 1
            wire = Wire(whole, answered=whole % 2 == 1)
    assert wire.whole == len(wire.asked) > 0
    assert before <= wire.ids, "a run that was given up asked what the whole run does not"
    entries = {name: books.entries(name) for name in tables}
    assert {(name, entry.question) for name in tables for entry in entries[name]} == wire.ids
    again = Wire()
    assert learn_over(again, study, tables, state=tmp_path) == network
    assert again.ids == wire.ids
    assert {name: books.entries(name) for name in tables} == entries
    assert [loss_of(part) for part in parts(network)] == [books.spent(name) for name in sorted(tables)]


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_the_same_noise_gives_the_same_questions_and_the_same_network(study: Study) -> None:
    wires = Wire(), Wire()
    first, second = (learn_over(wire, study, tables_for(study), simulate=5) for wire in wires)
    assert first == second
    assert wires[0].ids == wires[1].ids
    assert first.privacy is not None
    assert not first.privacy.private


@pytest.mark.parametrize("strategy", PRIVATE, ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("epsilon", [1 / 3, 0.1 + 0.2, "1.23456789012345678901"])
def test_a_network_learned_at_an_epsilon_of_many_digits_is_read_back(strategy: Strategy, epsilon: float | str) -> None:
    for study in variants(strategy, parse_epsilon(epsilon)):
        network = learn_over(Wire(), study, tables_for(study), simulate=5)
        assert Network.of(decode_factors(encode_factors(network))) == network


@pytest.mark.parametrize("study", GENEROUS, ids=named)
def test_the_records_of_a_holder_are_counted_for_scores_once_at_most(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[Table] = []

    def prepare(table: Table) -> ExactCounts:
        prepared.append(table)
        return ExactCounts(table)

    monkeypatch.setattr(private_counts, "ExactCounts", prepare)
    learn_over(Wire(), study, tables_for(study), simulate=5)
    assert len(prepared) == len({id(table) for table in prepared}) <= len(tables_for(study))
    assert bool(prepared) == ("score" in study.how.reads and study.score != LINEAR), "the linear score needs no tables"


@soak
def test_killed_around_its_charges_every_study_comes_to_its_end_within_the_grant(tmp_path: Path) -> None:
    """In real processes, with ``kill -9``; ``killing.py`` says what is checked."""
    command = [sys.executable, "-m", "tests.consortium.killing", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    assert set(found) == {study.name for study in KILLED}
    for study in KILLED:
        outcome = found[study.name]
        assert outcome["before the commit"] >= outcome["after the commit"] >= 1
        if fixed(study):
            assert outcome["charges"] == len(tables_for(study)) * sum(stage.times for stage in study.plan.stages)


def others(query: Query, name: str, wanted: Fixed) -> Iterator[object]:
    """Yield other values of a field that the wire would carry: of its literals, its numbers, its texts."""
    hint = get_type_hints(type(query))[name]
    value = wanted.value
    if get_origin(hint) is Literal:
        yield from (other for other in get_args(hint) if other != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (other for other in (value - 1, value + 1) if other >= 0)
    elif value is None:
        yield 4 if int in get_args(hint) else "4"
    else:
        yield from _other_texts(str(value))


def _other_texts(text: str) -> Iterator[str]:
    try:
        number = Fraction(text)
    except ValueError:
        yield f"{text}x"
        return
    yield from (str(number * 2), str(number / 2), str(number + Fraction(1, 10**12)))
    yield f"{2 * number.numerator}/{2 * number.denominator}"  # the same number, spelled otherwise


def refusal(reply: bytes) -> str | None:
    """Return the code of a refusal, None for a release."""
    found = decode_reply(reply)
    return found.code if isinstance(found, Refusal) else None


class Untouchable:
    """Counts that nobody may look at."""

    def __init__(self, table: Table) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} of the records was read")


def test_a_question_with_a_fixed_field_changed_is_refused_without_looking_at_the_records(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study, tried = run.study, 0
    monkeypatch.setattr(gate_module, "PrivateCounts", Untouchable)
    with Ledger.open(tmp_path / "asked.ledger", create=True) as ledger:
        door = Gate(TABLES["large"], study, ledger, SecureNoise())
        for asked in run.one_of_a_kind():
            (stage,) = (stage for stage in study.plan.stages if stage.kind == kind_of(asked.query))
            for name, wanted in stage.fixed.items():
                for other in others(asked.query, name, wanted):
                    changed = msgspec.structs.replace(asked.query, **{name: other})
                    reply = door.ask(encode(question(changed, study=study.hash, round_number=asked.round)))
                    assert refusal(reply) == "not-in-study", (name, other)
                    tried += 1
        assert ledger.entries() == ()
    assert tried >= 2


def leaves(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the places of the numbers in nested tuples, two of each at most."""
    if isinstance(value, tuple | list):
        for place in sorted({0, len(value) - 1}) if value else ():
            yield from leaves(value[place], (*path, place))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


def put(value: Any, path: tuple[int, ...], number: int) -> Any:
    if not path:
        return number
    return [put(part, path[1:], number) if place == path[0] else part for place, part in enumerate(value)]


def altered(query: Query, free: set[str]) -> Iterator[Query]:
    """Yield the query with one number or truth of a free field changed, as far as the wire would carry it."""
    plain = msgspec.to_builtins(query)
    wire_names = dict(zip(query.__struct_fields__, query.__struct_encode_fields__, strict=True))
    for name in sorted(free):
        key, value = wire_names[name], getattr(query, name)
        if isinstance(value, bool):
            yield msgspec.convert({**plain, key: not value}, type(query))
            continue
        held = plain.get(key, [0])  # where nothing is what the wire leaves out, something takes its place
        for path in leaves(held):
            for number in (0, 1, 7, 9_999):
                try:
                    yield msgspec.convert({**plain, key: put(held, path, number)}, type(query))
                except msgspec.ValidationError:
                    continue


def test_a_question_with_a_free_number_changed_is_refused_or_charged_for_what_it_says(run: Run) -> None:
    """Whatever the analyst changes, what is answered is in the plan, and costs what the question says."""
    study, codes = run.study, Counter[str | None]()
    for asked in run.one_of_a_kind():
        (stage,) = (stage for stage in study.plan.stages if stage.kind == kind_of(asked.query))
        for query in altered(asked.query, set(asked.query.__struct_fields__) - set(stage.fixed)):
            with Ledger.in_memory() as ledger:
                door = Gate(TABLES["large"], study, ledger, SimulatedNoise(1))
                code = refusal(door.ask(encode(question(query, study=study.hash, round_number=asked.round))))
                entries = ledger.entries()
            codes[code] += 1
            if code is None:
                assert study.plan.complaint(query) is None
                assert [entry.loss for entry in entries] == [stage.loss or examples.loss_of(query)]
                assert entries[0].loss.implies(study.grant)
            else:
                assert code in ("not-in-study", "too-large")
                assert entries == ()
    free = {name for stage in study.plan.stages for name in stage.query.__struct_fields__ if name not in stage.fixed}
    assert bool(codes) == bool(free)
    assert not codes or codes["not-in-study"] + codes["too-large"] > 0


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_a_question_too_many_is_refused(study: Study) -> None:
    """Of every kind of question the study may ask as many as its plan says, in however many rounds."""
    for stage in study.plan.stages:
        query = next((asked.query for asked in asked_in_a_run(study) if kind_of(asked.query) == stage.kind), None)
        if query is None:
            continue
        if stage.loss is None:
            query = msgspec.structs.replace(query, loss=str(study.grant.amount / 1000))
        with Ledger.in_memory() as ledger:
            door = Gate(TABLES["large"], study, ledger, SimulatedNoise(1))
            codes = [
                refusal(door.ask(encode(question(query, study=study.hash, round_number=number))))
                for number in range(stage.times + 1)
            ]
            assert len(ledger.entries()) == stage.times
        assert codes == [None] * stage.times + ["not-in-study"]


@pytest.mark.parametrize("strategy", PRIVATE, ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("split", ["1/2", "1/7", "999/1000"])
@pytest.mark.parametrize("epsilon", ["1", "7/3", "1/1000"])
def test_the_stages_of_a_plan_add_up_to_the_grant(strategy: Strategy, split: str, epsilon: str) -> None:
    tried = 0
    for variant in variants(strategy, Fraction(epsilon)):
        study = Study(
            variant.name,
            SCHEMA,
            strategy.name,
            Fraction(epsilon),
            split=Fraction(split),
            adjacency=variant.adjacency,
            delta=variant.delta,
            degree=variant.degree,
        )
        plan, tried = study.plan, tried + 1
        assert plan.grant == study.grant
        known = [stage for stage in plan.stages if stage.loss is not None]
        for stage in known:
            assert stage.loss is not None
            assert total(step.loss for step in stage.steps) == stage.loss.times(stage.times)
        together = total(stage.loss.times(stage.times) for stage in known if stage.loss is not None) if known else None
        assert together is None or together.implies(study.grant)
        if fixed(study):
            assert together == loss_of(Sequential(plan.steps)) == study.grant
    assert tried


OTHERWISE: dict[str, Any] = {
    "degree": 2,
    "split": "1/3",
    "score": "R",
    "mechanism": "exponential",
    "clip": "analyst",
    "first": SCHEMA.names[1],
    "theta": 5,
    "learner": "chow-liu",
}


@pytest.mark.parametrize("strategy", PRIVATE, ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("key", OTHERWISE)
def test_a_key_that_a_strategy_does_not_read_has_no_effect_on_its_plan(strategy: Strategy, key: str) -> None:
    def asked(**options: Any) -> list[object]:
        plan = Study("s", SCHEMA, strategy.name, 1, **options).plan
        return [
            (
                stage.kind,
                stage.times,
                stage.loss,
                stage.steps,
                {name: field.value for name, field in stage.fixed.items()},
            )
            for stage in plan.stages
        ]

    if key not in strategy.reads:
        assert asked(**{key: OTHERWISE[key]}) == asked()


@pytest.mark.parametrize("strategy", PRIVATE, ids=lambda strategy: strategy.name)
def test_a_strategy_for_one_holder_refuses_two_before_anything_is_asked(strategy: Strategy, tmp_path: Path) -> None:
    study, wire = next(variants(strategy, LITTLE)), Wire()
    if strategy.several:
        learn_over(wire, study, TABLES, state=tmp_path)
        assert {name for name, _ in wire.asked} == set(TABLES)
        return
    with pytest.raises(InputError, match=f'"{strategy.name}" learns from one holder, found 2'):
        learn_over(wire, study, TABLES, state=tmp_path)
    assert wire.asked == []
    assert all(Books(tmp_path).entries(name) == () for name in TABLES)


@pytest.mark.parametrize("study", GENEROUS, ids=named)
def test_no_study_may_ask_for_anothers(study: Study) -> None:
    """What another study asked is refused, unless it is, field by field, what this one may ask as well."""
    for other in GENEROUS:
        for asked in asked_in_a_run(other):
            stages = [stage for stage in study.plan.stages if stage.kind == kind_of(asked.query)]
            same = [stage for stage in stages if _fits(asked.query, stage.fixed)]
            if not same:
                assert study.plan.complaint(asked.query) is not None


def _fits(query: Query, wanted: Any) -> bool:
    return all(getattr(query, name) == fixed.value for name, fixed in wanted.items())
