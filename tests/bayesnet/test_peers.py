"""Agreement with pgmpy and pyAgrum on ALARM, CHILD and INSURANCE, and round trips through their files.

Tables are handed over in memory: both readers lose names or digits. Evidence is drawn from the network, so that it
is possible.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from bench.peers import EXAMPLES, PgmpyPeer, PyagrumPeer, example

from panbayes.bayesnet.formats.bif import export_bif
from panbayes.bayesnet.formats.bif_import import import_bif
from panbayes.bayesnet.formats.files import save_factors
from panbayes.bayesnet.inference.engine import Engine
from panbayes.bayesnet.inference.likelihood import log_probabilities
from panbayes.bayesnet.network import Network
from tests.bayesnet.brute import plain_schema, random_network, tricky_schema
from tests.effort import some

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyagrum
    from pgmpy.readwrite import BIFReader, BIFWriter

network_of = cache(example)


def evidence(network: Network, seed: int, most: int) -> dict[int, int]:
    rng = np.random.default_rng(seed)
    codes = network.sample_table(1, rng).codes[:, 0]
    chosen = rng.choice(len(network.schema), int(rng.integers(0, most + 1)), replace=False)
    return {int(v): int(codes[v]) for v in chosen}


@pytest.mark.parametrize("name", EXAMPLES)
def test_posteriors_agree_with_pyagrum(name: str) -> None:
    network = network_of(name)
    lazy, shenoy = PyagrumPeer(network), PyagrumPeer(network, shafer_shenoy=True)
    for seed in range(25):
        known = evidence(network, seed, 8)
        ours = network.engine.posteriors(known)
        for theirs in (lazy.posteriors(known), shenoy.posteriors(known)):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_posteriors_and_joints_agree_with_pgmpy(name: str) -> None:
    network = network_of(name)
    peer = PgmpyPeer(network)
    rng = np.random.default_rng(5)
    for seed in range(3):
        known = evidence(network, seed, 6)
        for ours, theirs in zip(network.engine.posteriors(known), peer.posteriors(known), strict=True):
            if theirs is not None:
                np.testing.assert_allclose(ours, theirs, atol=1e-9, rtol=0)
        free = [v for v in range(len(network.schema)) if v not in known]
        targets = tuple(rng.choice(free, 3, replace=False).tolist())
        np.testing.assert_allclose(
            network.engine.posterior(targets, known), peer.joint(targets, known), atol=1e-9, rtol=0
        )


@pytest.mark.parametrize("name", EXAMPLES)
def test_evidence_has_the_probability_that_pyagrum_gives_it(name: str) -> None:
    network = network_of(name)
    lazy = PyagrumPeer(network)
    for seed in range(10):
        known = evidence(network, seed, 8)
        lazy.infer(known)
        assert np.exp(network.engine.log_evidence(known)) == pytest.approx(lazy.engine.evidenceProbability(), rel=1e-9)


@pytest.mark.parametrize("name", EXAMPLES)
def test_most_probable_configurations_agree_with_pgmpy(name: str) -> None:
    """By their probability, since ties may be broken either way. pgmpy tabulates all that is free: six attributes.

    (pyAgrum 3.3 has an ``mpe``, which fails with "Empty tensor".)
    """
    network = network_of(name)
    peer = PgmpyPeer(network)
    rng = np.random.default_rng(3)
    codes = network.sample_table(5, rng).codes.astype(int)
    for record in codes.T.tolist():
        free = rng.choice(len(record), 6, replace=False).tolist()
        known = {v: code for v, code in enumerate(record) if v not in free}
        ours = log_prob(network, network.engine.most_probable(known))
        assert ours == pytest.approx(log_prob(network, peer.most_probable(known)), abs=1e-9)


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_drawn_is_more_probable_than_the_most_probable(name: str) -> None:
    network = network_of(name)
    known = {0: 0, len(network.schema) - 1: 0}
    drawn = network.engine.sample(known, 20_000, np.random.default_rng(1), np.uint8, independent=True)
    best = network.engine.most_probable(known)
    assert all(best[v] == code for v, code in known.items())
    assert log_probabilities(network.structure, network.tables, drawn).max() <= log_prob(network, best) + 1e-12
    own = Engine(network.structure, network.schema.sizes, network.tables, reuse=False)
    assert log_prob(network, own.most_probable(known)) == pytest.approx(log_prob(network, best), abs=1e-12)


def log_prob(network: Network, codes: tuple[int, ...]) -> float:
    total = 0.0
    for child, table in enumerate(network.tables):
        total += float(np.log(table[tuple(codes[v] for v in (*network.structure.parents(child), child))]))
    return total


def same_up_to_names(ours: Network, theirs: Network, tolerance: float) -> None:
    """Compare tables under the safe names that BIF gave them; the peers may order attributes and parents anew."""
    safe = import_bif(export_bif(ours).replace("property", "property no_"))
    place = [theirs.schema.names.index(name) for name in safe.schema.names]
    for child, table in enumerate(safe.tables):
        other = place[child]
        assert safe.schema.attributes[child].labels == theirs.schema.attributes[other].labels
        parents = [place[p] for p in safe.structure.parents(child)]
        moved = theirs.tables[other].transpose(
            [*(theirs.structure.parents(other).index(p) for p in parents), len(parents)]
        )
        np.testing.assert_allclose(table, moved, atol=tolerance, rtol=0)


def odd_names() -> Network:
    """pyAgrum refuses variables with one state, so this schema has none."""
    return next(
        random_network(seed, schema=tricky_schema(seed)) for seed in range(100) if min(tricky_schema(seed).sizes) > 1
    )


@pytest.mark.parametrize("name", some([*EXAMPLES, "single values"], 2))
def test_bif_round_trip_through_pgmpy(name: str) -> None:
    network = random_network(4, schema=plain_schema([1, 3, 2, 1])) if name == "single values" else network_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = Network.of(import_bif(str(BIFWriter(BIFReader(string=export_bif(network)).get_model()))))
    same_up_to_names(network, back, 1e-12)


def test_original_names_come_back_through_pgmpy_with_properties() -> None:
    network = odd_names()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BIFReader(string=export_bif(network), include_properties=True).get_model()
        back = Network.of(import_bif(str(BIFWriter(model))))
    assert set(back.schema.names) == set(network.schema.names)
    for attribute in back.schema.attributes:
        assert attribute.labels == network.schema.attributes[network.schema.index(attribute.name)].labels
    for evidence_name, value in (("Yes/No", "true"), ("age (years)", "odd")):
        known = {evidence_name: value}
        if network.engine.log_evidence(network.evidence(known)) > -np.inf:
            ours, theirs = network.posteriors(known), back.posteriors(known)
            assert all(np.allclose(ours[name], theirs[name], atol=1e-12) for name in network.schema.names)


@pytest.mark.parametrize("name", [*EXAMPLES, "odd names"])
def test_bif_round_trip_through_pyagrum(name: str, tmp_path: Path) -> None:
    """Its reader is single precision."""
    network = odd_names() if name == "odd names" else network_of(name)
    save_factors(network, tmp_path / "ours.bif")
    pyagrum.loadBN(str(tmp_path / "ours.bif")).saveBIF(str(tmp_path / "theirs.bif"))
    same_up_to_names(network, Network.load(tmp_path / "theirs.bif"), 1e-7)
