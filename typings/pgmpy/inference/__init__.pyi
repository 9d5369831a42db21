from collections.abc import Mapping, Sequence

from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteBayesianNetwork

class VariableElimination:
    def __init__(self, model: DiscreteBayesianNetwork) -> None: ...
    def query(
        self,
        variables: Sequence[str],
        evidence: Mapping[str, str] = ...,
        joint: bool = ...,
        show_progress: bool = ...,
    ) -> DiscreteFactor: ...
    def map_query(
        self, variables: Sequence[str], evidence: Mapping[str, str] = ..., show_progress: bool = ...
    ) -> dict[str, str]: ...
