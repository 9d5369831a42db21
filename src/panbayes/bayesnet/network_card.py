"""What a network shows of itself at a prompt and in a notebook."""

from __future__ import annotations

from typing import Final

from panbayes.bayesnet.factors import Factors
from panbayes.display import Card

__all__ = ["network_card"]

UNSTATED: Final = "NOT PRIVATE: nothing is stated about the privacy of this network."


def network_card(network: Factors) -> Card:
    """Show what depends on what, and the first line of the privacy statement."""
    names, sizes = network.schema.names, network.schema.sizes
    arrows = len(network.structure.edges)
    attributes = "1 attribute" if len(names) == 1 else f"{len(names):,} attributes"
    dependencies = "1 dependency" if arrows == 1 else f"{arrows:,} dependencies"
    return Card(
        ("attribute", "values", "depends on"),
        [
            (names[child], str(sizes[child]), ", ".join(names[parent] for parent in parents) or "-")
            for child, parents in network.structure.pairs
        ],
        title=f'Network "{network.schema.name}": {attributes}, {dependencies}, {network.parameters:,} free parameters',
        below=(UNSTATED if network.privacy is None else network.privacy.lines()[0],),
        what="attributes",
    )
