"""What is said about a network wherever it appears."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from panbayes.bayesnet.network import Network
from panbayes.cli.text import plural

__all__ = ["OPEN", "UNSTATED", "about", "asked_for", "is_private", "origin", "to_json"]

OPEN: Final = "NOT PRIVATE: this model was learned without privacy. Do not release it or what is made from it."
UNSTATED: Final = (
    "NOT PRIVATE as far as it says: nothing in this file states what it was learned from, nor how privately. "
    "Do not release it or what is made from it, unless you know from elsewhere that you may."
)


def is_private(network: Network) -> bool:
    """Tell whether the network may be released at the loss it states."""
    return network.privacy is not None and network.privacy.private


def origin(network: Network, path: Path) -> str:
    """Say in one line where something made from a model stands."""
    if is_private(network) and network.privacy is not None:
        return f"Made from {path} alone: it costs no privacy beyond the model's {network.privacy.headline}."
    return _unsaid(network) if network.privacy is None else OPEN


def about(network: Network) -> list[str]:
    """Say what a network is and what it promises."""
    structure = network.structure
    arrows = len(structure.edges)
    dependencies = "1 dependency" if arrows == 1 else f"{arrows:,} dependencies"
    free = plural(network.parameters, "free parameter")
    shape = f"{plural(len(network.schema), 'attribute')}, {dependencies}, {free}"
    if network.privacy is None:
        return [shape, _unsaid(network)]
    return [shape, *network.privacy.lines(holders=_holders(network)), *_signed(network)]


def _unsaid(network: Network) -> str:
    """Say what is to be thought of a network without a statement: our own strategies write one if they are private."""
    return OPEN if "strategy" in network.about else UNSTATED


def asked_for(network: Network) -> dict[str, str]:
    """Return what the study says of who asked, why and until when: the asker's own words."""
    return {key: value for key, value in network.about.items() if key.startswith("study ")}


def _holders(network: Network) -> list[str]:
    """Return the holders' names in the order of the statement's separate tables, which is that of the names.

    A name with a comma in it makes more names than there are tables; the statement then leaves all of them out.
    """
    return network.about.get("holders", "").split(", ")


def _signed(network: Network) -> list[str]:
    if network.receipts is None:
        return []
    # Imported here: few models are signed, and keys take a moment to load.
    from panbayes.consortium.desk.receipts import signed_by

    return signed_by(network.receipts)


def to_json(network: Network) -> dict[str, object]:
    """Return the same as plain JSON values."""
    names = network.schema.names
    return {
        "private": is_private(network),
        "about": dict(network.about),
        "schema": {"name": network.schema.name, "hash": network.schema.hash},
        "attributes": len(names),
        "parameters": network.parameters,
        "structure": {
            names[child]: [names[parent] for parent in parents] for child, parents in network.structure.pairs
        },
        "privacy": network.privacy.to_json() if network.privacy is not None else None,
        **({} if network.receipts is None else {"receipts": msgspec.to_builtins(network.receipts)}),
    }
