from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

class DiscreteFactor:
    variables: list[str]
    values: NDArray[np.float64]

class TabularCPD(DiscreteFactor):
    state_names: dict[str, list[str]]
    def __init__(
        self,
        variable: str,
        variable_card: int,
        values: NDArray[np.float64],
        evidence: Sequence[str] | None = ...,
        evidence_card: Sequence[int] | None = ...,
        state_names: Mapping[str, Sequence[str]] = ...,
    ) -> None: ...
