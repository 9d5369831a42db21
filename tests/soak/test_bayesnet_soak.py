"""Long versions of the network tests; they run when PANBAYES_SOAK is set (``make soak``)."""

from __future__ import annotations

import numpy as np
import pytest

from panbayes.bayesnet.formats.files import formats
from panbayes.bayesnet.formats.format import Format
from panbayes.bayesnet.inference.engine import Engine
from tests.bayesnet.brute import joint, random_evidence, random_network
from tests.bayesnet.test_bif import mutate_bif
from tests.bayesnet.test_formats import mutate
from tests.bayesnet.test_inference import check_all_answers
from tests.bayesnet.test_model_file import mutate_model
from tests.effort import soak

pytestmark = soak


@pytest.mark.parametrize("start", range(0, 20_000, 2_000))
def test_inference_on_thousands_of_networks(start: int) -> None:
    for seed in range(start, start + 2_000):
        network = random_network(seed, attributes=3 + seed % 6, degree=1 + seed % 4)
        whole = joint(network)
        evidence = random_evidence(network, seed + 1)
        check_all_answers(network.engine, whole, evidence, seed)
        own = Engine(network.structure, network.schema.sizes, network.tables, reuse=False)
        check_all_answers(own, whole, evidence, seed)


@pytest.mark.parametrize("seed", range(20))
def test_model_files_survive_many_mutations(seed: int) -> None:
    mutate_model(seed=100 + seed, times=50_000)


@pytest.mark.parametrize("chosen", formats().values(), ids=lambda chosen: chosen.title)
@pytest.mark.parametrize("seed", range(20))
def test_files_of_every_format_survive_many_mutations(chosen: Format, seed: int) -> None:
    mutate(chosen, seed=100 + seed, times=20_000)


@pytest.mark.parametrize("seed", range(20))
def test_bif_files_survive_many_mutations(seed: int) -> None:
    mutate_bif(seed=100 + seed, times=20_000)


def test_conditional_sampling_on_a_larger_network() -> None:
    """A million records given evidence: every single marginal within five standard errors of the exact one."""
    network = random_network(12, attributes=30, degree=3, largest=5, zeros=0.1)
    evidence = {v: int(code) for v, code in enumerate(network.sample_table(1, 1).codes[:, 0].tolist()) if v % 7 == 0}
    drawn = network.engine.sample(evidence, 1_000_000, np.random.default_rng(2), np.uint8, independent=True)
    for v, exact in enumerate(network.engine.posteriors(evidence)):
        found = np.bincount(drawn[v], minlength=exact.size) / 1_000_000
        assert np.all(np.abs(found - exact) <= 5 * np.sqrt(exact * (1 - exact) / 1_000_000) + 1e-12)
