"""``panbayes demo``: the main job, from three hospitals' tables to a network, on data that it generates itself."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from panbayes.bayesnet.network import Network
from panbayes.cli.demo.population import clinic_network, clinic_schema
from panbayes.cli.text import AsJson, aligned, emit, working
from panbayes.consortium.agreement.study import Strategy, Study
from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError
from panbayes.files import output_file, write_text
from panbayes.privacy.written import parse_epsilon, show_fraction
from panbayes.schema.schema import dump_schema
from panbayes.tables.table import Table

__all__ = ["register"]

HOSPITALS: Final = {"north": 12_000, "south": 8_000, "west": 4_000}
TEST: Final = 6_000
SEED: Final = 2016
QUESTION: Final = ("readmitted", {"insulin": "Up", "a1c": ">8"})
STRATEGIES: Final[tuple[Strategy, ...]] = (
    "non-private",
    "adaptive",
    "independent",
    "noisy-sufficient-statistics",
    "noisy-majority-voting",
    "noisy-model",
)
CHOSEN: Final[Strategy] = "adaptive"


def register(app: typer.Typer) -> None:
    """Add the command ``demo``."""
    app.command("demo")(demo)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for what the demo writes.")] = Path(
        "demo-output"
    ),
    epsilon: Annotated[str, typer.Option(help="ε for every patient, in each of the demo's studies.")] = "1",
    as_json: AsJson = False,
) -> None:
    """Run the main job on generated data and show what it did."""
    budget = parse_epsilon(epsilon, argument="--epsilon")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError("--output", found=f"{output} cannot be made ({reason})", remedy="give a folder") from None
    with working("running the demo"):
        hospitals, test = _patients(output)
        networks = _learn_all(hospitals, budget, output)
        bits = {name: _bits(network, test) for name, network in networks.items()}
        chosen = networks[CHOSEN]
        synthetic = chosen.sample(sum(HOSPITALS.values()), SEED)
        with output_file(output / "synthetic.csv") as temporary:
            synthetic.decoded().write_csv(temporary)
        chosen.save(output / "model.json")
        drawn = _draw(chosen, hospitals, synthetic, output)
    data = {
        "epsilon": str(budget),
        "output": str(output),
        "cross_entropy_bits": bits,
        "pair_tvd": _pair_distance(hospitals, synthetic),
    }
    emit(data, _account(networks, bits, hospitals, synthetic, budget, output, drawn=drawn), as_json=as_json)


def _patients(output: Path) -> tuple[dict[str, Table], Table]:
    """Draw the patients, write the hospitals' files and the schema, and keep some patients for testing."""
    population = clinic_network()
    write_text(output / "clinic.toml", dump_schema(clinic_schema()))
    rng = np.random.default_rng(SEED)
    hospitals = {name: population.sample(number, rng) for name, number in HOSPITALS.items()}
    test = population.sample(TEST, rng)
    for name, table in (*hospitals.items(), ("test", test)):
        with output_file(output / f"{name}.csv") as temporary:
            table.decoded().write_csv(temporary)
    return hospitals, test


def _learn_all(hospitals: dict[str, Table], epsilon: Fraction, output: Path) -> dict[str, Network]:
    networks: dict[str, Network] = {}
    for strategy in STRATEGIES:
        study = Study(f"demo, {strategy}", clinic_schema(), strategy, epsilon)
        networks[strategy] = learn(study, hospitals, state=output / "ledgers")
    alone = Study("demo, privbayes", clinic_schema(), "privbayes", epsilon)
    networks["privbayes"] = learn(alone, {"north": hospitals["north"]}, state=output / "ledgers")
    text = f"""version = 1
name = "demo, {CHOSEN}"
schema = "clinic.toml"
strategy = "{CHOSEN}"
epsilon = {float(epsilon)!r}
"""
    write_text(output / "study.toml", text)
    return networks


def _bits(network: Network, test: Table) -> float:
    return float(network.log_prob(test).mean()) / -math.log(2)


def _marginals(table: Table, attribute: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.bincount(table.codes[attribute], minlength=table.schema.sizes[attribute]) / table.records


def _pair_distance(hospitals: dict[str, Table], synthetic: Table) -> float:
    """Return the mean total variation distance over all pairs of attributes."""
    pooled = _pooled(hospitals)
    sizes = pooled.schema.sizes
    distances = []
    for i in range(len(sizes)):
        for j in range(i):
            shape = sizes[i] * sizes[j]
            real, made = (
                np.bincount(t.codes[i].astype(np.int64) * sizes[j] + t.codes[j], minlength=shape) / t.records
                for t in (pooled, synthetic)
            )
            distances.append(float(np.abs(real - made).sum()) / 2)
    return float(np.mean(distances))


def _pooled(hospitals: dict[str, Table]) -> Table:
    return Table(clinic_schema(), np.concatenate([table.codes for table in hospitals.values()], axis=1))


def _draw(network: Network, hospitals: dict[str, Table], synthetic: Table, output: Path) -> list[str]:
    """Draw the network and two marginals, where matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return []
    # Imported here: the demo runs without matplotlib, and the import takes a second.
    from panbayes.cli.demo.figures import draw_marginals, draw_network

    schema = network.schema
    draw_network(network, output / "network.png", title=f"Learned by {CHOSEN} from three hospitals")
    shown = ("age", "readmitted")
    pooled = _pooled(hospitals)
    shares = {
        series: {name: _marginals(table, schema.index(name)) for name in shown}
        for series, table in (("patients", pooled), ("synthetic", synthetic))
    }
    labels = {name: schema.attributes[schema.index(name)].labels for name in shown}
    draw_marginals(labels, shares, output / "marginals.png")
    return ["network.png", "marginals.png"]


def _account(
    networks: dict[str, Network],
    bits: dict[str, float],
    hospitals: dict[str, Table],
    synthetic: Table,
    epsilon: Fraction,
    output: Path,
    *,
    drawn: list[str],
) -> list[str]:
    shown = show_fraction(epsilon)
    uniform = sum(math.log2(size) for size in clinic_schema().sizes)
    people = ", ".join(f"{name} {number:,}" for name, number in HOSPITALS.items())
    rows = [("strategy", "learns from", "ε", "bits")]
    rows.append(("guessing uniformly", "nothing", "0", f"{uniform:.2f}"))
    rows += [(name, "three hospitals", shown, f"{bits[name]:.2f}") for name in STRATEGIES if name != "non-private"]
    rows.append(("privbayes", "north alone", shown, f"{bits['privbayes']:.2f}"))
    rows.append(("non-private, the bound", "three hospitals", "none", f"{bits['non-private']:.2f}"))
    target, evidence = QUESTION
    private = networks[CHOSEN].posterior(target, evidence)
    exact = networks["non-private"].posterior(target, evidence)
    answers = [("readmitted", f"at ε = {shown}", "no privacy")]
    answers += [
        (label[0], f"{p:.3f}", f"{q:.3f}") for (label, p), (_, q) in zip(private.rows(), exact.rows(), strict=True)
    ]
    given = ", ".join(f"{name} = {value}" for name, value in evidence.items())
    distance = _pair_distance(hospitals, synthetic)
    figures = f" Figures: {' and '.join(drawn)}." if drawn else " For figures: pip install 'panbayes[figures]'."
    return [
        f"Three hospitals ({people} patients, all made up) learn one network of {len(clinic_schema())} attributes",
        f"for an analyst whom they do not trust; each study is private at ε = {shown} for every patient.",
        "",
        f"How well each network predicts {TEST:,} other patients (cross entropy in bits per patient, lower is better):",
        *aligned(rows),
        "",
        f"A question to the network of {CHOSEN}: who is readmitted, given {given}?",
        *aligned(answers),
        "",
        f"{synthetic.records:,} synthetic patients differ from the real ones by {distance:.3f} on average over all",
        "pairs of attributes (total variation: 0 is the same, 1 is nothing in common).",
        "",
        f"Everything is in {output}: model.json, synthetic.csv, study.toml, clinic.toml, the hospitals' files and",
        f"their ledgers.{figures} Try:",
        f"  panbayes show {output}/model.json",
        f"  panbayes query {output}/model.json 'readmitted | age=\"[75, 120]\"'",
    ]
