"""The privacy statement: what a result reveals about whom, as one value that travels with the result.

An ε without its meaning is a number without a unit. The statement says whom it protects (``unit``), against which
change (``adjacency``), what was done at which cost (``composition``, from which the total is read), what was taken as
``public``, what else to know (``notes``), and by which versions of which software. If the noise was simulated,
``private`` is false and every rendering begins with NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from panbayes.errors import InputError
from panbayes.privacy.composition import (
    Adjacency,
    Composition,
    Group,
    Parallel,
    PostProcessed,
    Release,
    Sequential,
    loss_of,
)
from panbayes.privacy.loss import Loss, Pure, ZeroConcentrated, loss_from_json, loss_to_json

__all__ = ["PrivacyStatement", "composition_from_json", "composition_to_json"]

_NEIGHBOURS: Final[Mapping[Adjacency, str]] = {
    "replace": "replacing one {unit} by another; the number of {unit}s is public",
    "add-remove": "adding or removing one {unit}; the number of {unit}s is private",
}
_CLASSES: Final[Mapping[type[Loss], str]] = {Pure: "pure", ZeroConcentrated: "zero-concentrated"}
MAX_DEPTH: Final = 20


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """Whom a result protects, against what, at which total loss.

    ``unit`` is what one person's share is called: "record", or "person" where several records may belong to one.
    """

    unit: str
    adjacency: Adjacency
    composition: Composition
    public: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    private: bool = True

    @property
    def loss(self) -> Loss:
        """The total loss."""
        return loss_of(self.composition)

    def lines(self) -> list[str]:
        """Say it in plain lines for people."""
        verdict = [] if self.private else ["NOT PRIVATE: the noise was simulated from a seed. Do not release this."]
        return [
            *verdict,
            f"Guarantee: {self.loss} ({_CLASSES[type(self.loss)]} differential privacy)",
            f"Protects: {_NEIGHBOURS[self.adjacency].format(unit=self.unit)}",
            "Spent on:",
            *(f"  {line}" for line in _describe(self.composition)),
            f"Taken as public: {', '.join(self.public) or 'nothing else'}",
            *self.notes,
            f"Made with: {', '.join(f'{name} {version}' for name, version in sorted(self.versions.items()))}",
        ]

    def to_json(self) -> dict[str, object]:
        """Write the statement as plain JSON values."""
        return {
            "private": self.private,
            "unit": self.unit,
            "adjacency": self.adjacency,
            "total": loss_to_json(self.loss),
            "composition": composition_to_json(self.composition),
            "public": list(self.public),
            "notes": list(self.notes),
            "versions": dict(sorted(self.versions.items())),
        }

    @classmethod
    def from_json(cls, data: object, *, argument: str) -> PrivacyStatement:
        """Read what :meth:`to_json` wrote, and check that the total is the sum of its steps."""
        keys = {"private", "unit", "adjacency", "total", "composition", "public", "notes", "versions"}
        if not isinstance(data, dict) or set(data) != keys:
            raise _damaged(argument, "a statement")
        unit, adjacency, versions = data["unit"], data["adjacency"], data["versions"]
        if (
            not isinstance(unit, str)
            or adjacency not in ("replace", "add-remove")
            or not isinstance(data["private"], bool)
            or not all(isinstance(data[key], list) for key in ("public", "notes"))
            or not all(isinstance(item, str) for item in (*data["public"], *data["notes"]))
            or not (isinstance(versions, dict) and all(isinstance(item, str) for item in versions.values()))
        ):
            raise _damaged(argument, "a statement")
        statement = cls(
            unit=unit,
            adjacency=adjacency,
            composition=composition_from_json(data["composition"], argument=argument),
            public=tuple(data["public"]),
            notes=tuple(data["notes"]),
            versions=versions,
            private=data["private"],
        )
        if statement.loss != loss_from_json(data["total"], argument=argument):
            raise _damaged(argument, "a total that is not the sum of its steps")
        return statement


def _damaged(argument: str, what: str) -> InputError:
    return InputError(argument, found=f"found {what} that cannot be right", remedy="use the file as panbayes wrote it")


def _describe(node: Composition) -> list[str]:
    match node:
        case Release():
            return [f"{node.what}: {node.loss}, {node.mechanism}"]
        case Sequential():
            return [line for part in node.parts for line in _describe(part)]
        case Parallel():
            different = dict.fromkeys(node.parts)  # equal parts are said once
            inner = [f"  {line}" for part in different for line in _describe(part)]
            return [f"each of {len(node.parts)} separate tables, at most {loss_of(node)} each:", *inner]
        case Group():
            inner = [f"  {line}" for line in _describe(node.part)]
            times = node.size if isinstance(loss_of(node.part), Pure) else node.size**2
            return [f"{node.size} records per person, so {times} times:", *inner]
        case PostProcessed():
            return [*_describe(node.part), f"{node.how}: computed from the above, free"]


def composition_to_json(node: Composition) -> dict[str, object]:
    """Write a composition tree as plain JSON values."""
    match node:
        case Release():
            return {"release": node.what, "mechanism": node.mechanism, "loss": loss_to_json(node.loss)}
        case Sequential():
            return {"sequential": [composition_to_json(part) for part in node.parts]}
        case Parallel():
            return {
                "parallel": [composition_to_json(part) for part in node.parts],
                "adjacency": node.adjacency,
                "separate": node.separate,
            }
        case Group():
            return {"group": composition_to_json(node.part), "size": node.size}
        case PostProcessed():
            return {"post_processed": composition_to_json(node.part), "how": node.how}


def composition_from_json(data: object, *, argument: str, depth: int = 0) -> Composition:
    """Read what :func:`composition_to_json` wrote."""

    def inner(value: object) -> Composition:
        return composition_from_json(value, argument=argument, depth=depth + 1)

    if depth > MAX_DEPTH:
        raise _damaged(argument, "a composition")
    match data:
        case {"release": str(what), "mechanism": str(mechanism), "loss": loss, **rest} if not rest:
            return Release(what, mechanism, loss_from_json(loss, argument=argument))
        case {"sequential": list(parts), **rest} if not rest:
            return Sequential(tuple(inner(part) for part in parts))
        case {
            "parallel": [_, *_] as parts,
            "adjacency": "replace" | "add-remove" as adjacency,
            "separate": bool(separate),
            **rest,
        } if not rest:
            return Parallel(tuple(inner(part) for part in parts), adjacency, separate)
        case {"group": part, "size": int(size), **rest} if not rest and size >= 1:
            return Group(inner(part), size)
        case {"post_processed": part, "how": str(how), **rest} if not rest:
            return PostProcessed(inner(part), how)
        case _:
            raise _damaged(argument, "a composition")
