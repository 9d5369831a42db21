"""What noise may have hidden: how uncertain single attributes count as when replicates are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.hidden import no_surer_than_noise
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw


def test_single_attributes_are_no_surer_than_their_noise_and_rare_values_than_they_are_large() -> None:
    """Of 1,000 records with noise of deviation 50: 900 and 60 by the noise, 40 by itself; what is less sure stays."""
    law = NoiseLaw(True, ((50.0, 1),))
    estimate = Estimate(np.array([0.9, 0.06, 0.04]), np.array([100.0, 3_000.0, 10.0]))
    belief = Belief(1_000.0, (estimate,), (), counted=((np.array([900.0, 60.0, 40.0]), law),))
    (found,) = no_surer_than_noise(belief).singles
    assert found.variance == pytest.approx([2_500.0, 3_000.0, 1_600.0])
    assert found.distribution is estimate.distribution
