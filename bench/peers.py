"""The same network in pgmpy and pyAgrum, handed over in memory: for benchmarks and for tests of agreement.

Attributes go by ``x0, x1, …`` and states by ``s0, s1, …``, since both peers stumble over some of the real names.
Both emit warnings of their own when imported, which would otherwise end a test run.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyagrum
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.utils import get_example_model

__all__ = ["EXAMPLES", "PgmpyPeer", "PyagrumPeer", "example"]

EXAMPLES = ("alarm", "child", "insurance")

FloatArray = NDArray[np.float64]


def example(name: str) -> Network:
    """Return one of the networks that pgmpy's wheel carries; rows that were rounded are normalised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = get_example_model(name)
    names = list(model.nodes())
    tables = [model.get_cpds(node) for node in names]
    attributes = tuple(
        Attribute(node, categories=tuple(map(str, table.state_names[node])))
        for node, table in zip(names, tables, strict=True)
    )
    pairs = tuple((i, tuple(names.index(p) for p in table.variables[1:])) for i, table in enumerate(tables))
    moved = (np.moveaxis(table.values, 0, -1) for table in tables)
    normal = tuple(table / table.sum(axis=-1, keepdims=True) for table in moved)
    return Network(Schema(name, attributes), Structure(pairs), normal)


class PyagrumPeer:
    """Lazy propagation, or Shafer–Shenoy, in one thread."""

    def __init__(self, network: Network, *, shafer_shenoy: bool = False) -> None:
        """Build the network and its engine."""
        self.net = pyagrum.BayesNet()
        for i, size in enumerate(network.schema.sizes):
            self.net.add(pyagrum.LabelizedVariable(f"x{i}", "", [f"s{j}" for j in range(size)]))
        for child, parents in network.structure.pairs:
            for parent in parents:
                self.net.addArc(parent, child)
        for child, table in enumerate(network.tables):
            # Its arrays have the parents in reverse order.
            axes = [*reversed(range(table.ndim - 1)), table.ndim - 1]
            self.net.cpt(child)[:] = np.ascontiguousarray(table.transpose(axes))
        self.size = len(network.schema)
        self.engine = pyagrum.ShaferShenoyInference(self.net) if shafer_shenoy else pyagrum.LazyPropagation(self.net)
        self.engine.setNumberOfThreads(1)

    def infer(self, evidence: Mapping[int, int]) -> list[pyagrum.Tensor]:
        """Return the posteriors of all attributes, as its own tensors."""
        self.engine.setEvidence(evidence)
        self.engine.makeInference()
        return [self.engine.posterior(node) for node in range(self.size)]

    def posteriors(self, evidence: Mapping[int, int]) -> list[FloatArray]:
        """Return the posteriors of all attributes."""
        return [tensor.toarray() for tensor in self.infer(evidence)]


class PgmpyPeer:
    """Variable elimination, one query per attribute."""

    def __init__(self, network: Network) -> None:
        """Build the network and its engine."""
        sizes = network.schema.sizes
        states = {f"x{i}": [f"s{j}" for j in range(size)] for i, size in enumerate(sizes)}
        self.size = len(sizes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DiscreteBayesianNetwork([(f"x{p}", f"x{c}") for p, c in network.structure.edges])
            model.add_nodes_from(states)
            for child, table in enumerate(network.tables):
                names = [f"x{p}" for p in network.structure.parents(child)]
                own = {name: states[name] for name in (f"x{child}", *names)}
                values = np.ascontiguousarray(table.reshape(-1, sizes[child]).T)
                model.add_cpds(
                    TabularCPD(f"x{child}", sizes[child], values, names, [len(states[n]) for n in names], own)
                )
            self.engine = VariableElimination(model)

    def joint(self, targets: tuple[int, ...], evidence: Mapping[int, int]) -> FloatArray:
        """Return the joint posterior of some attributes, axes in their order."""
        names = [f"x{v}" for v in targets]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.engine.query(names, {f"x{v}": f"s{c}" for v, c in evidence.items()}, show_progress=False)
        return found.values.transpose([found.variables.index(name) for name in names])

    def posteriors(self, evidence: Mapping[int, int]) -> list[FloatArray | None]:
        """Return the posteriors of all attributes that are not observed."""
        return [None if v in evidence else self.joint((v,), evidence) for v in range(self.size)]

    def most_probable(self, evidence: Mapping[int, int]) -> tuple[int, ...]:
        """Return the most probable configuration; it tabulates everything that is not observed."""
        free = [f"x{v}" for v in range(self.size) if v not in evidence]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.engine.map_query(free, {f"x{v}": f"s{c}" for v, c in evidence.items()}, show_progress=False)
        return tuple(evidence[v] if v in evidence else int(found[f"x{v}"][1:]) for v in range(self.size))
