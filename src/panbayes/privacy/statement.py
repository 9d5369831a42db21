"""The privacy statement: what a result reveals about whom, as one value that travels with the result.

An ε without its meaning is a number without a unit. The statement says whom it protects (``unit``), against which
change (``adjacency``), what was done at which cost (``composition``, from which the total is read), what was taken as
``public``, what else to know (``notes``), and by which versions of which software. If the noise was simulated,
``private`` is false and every rendering begins with NOT PRIVATE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from panbayes.display import Card
from panbayes.errors import InputError, nearest
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.composition import Composition, Group, Parallel, PostProcessed, Sequential, Step, loss_of
from panbayes.privacy.events import event_from_json, event_to_json
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import CLASSES, grant, loss_from_json
from panbayes.privacy.written import show_fraction

__all__ = [
    "PrivacyStatement",
    "composition_from_json",
    "composition_to_json",
    "implied_note",
    "neighbours",
    "show_pair",
]

_NEIGHBOURS: Final[Mapping[Adjacency, str]] = {
    "replace": "replacing one {unit} by another; the number of {unit}s is public",
    "add-remove": "adding or removing one {unit}; the number of {unit}s is private",
}
MAX_DEPTH: Final = 20

_IMPLIED: Final = re.compile(
    r"ρ = .+ implies \(ε, δ\) = \((?P<decimal>[0-9.e+-]+)(?: \((?P<ratio>[0-9]+/[0-9]+)\))?, (?P<delta>[0-9.e+-]+)\)\."
)


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyStatement:
    """Whom a result protects, against what, at which total loss.

    ``unit`` is what one person's part is called: "record", or "person" where several records may belong to one.

    >>> from fractions import Fraction
    >>> from panbayes.privacy.classes.pure import Pure
    >>> table = Step("counts of 3 attributes", "discrete Laplace", Pure(Fraction(1, 2)))
    >>> PrivacyStatement("record", "replace", table, public=("the schema",), versions={"panbayes": "1"})
    Guarantee: ε = 0.5 (pure differential privacy)
    Protects: replacing one record by another; the number of records is public
    Spent on:
      counts of 3 attributes: ε = 0.5, discrete Laplace
    Taken as public: the schema
    Made with: panbayes 1
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

    def loss_as(self, tag: str) -> Loss:
        """Return the total loss in another class of privacy ("pure", "zcdp"), accounted for event by event."""
        if tag not in CLASSES:
            raise InputError("tag", found=f'found "{tag}"', remedy=nearest(tag, CLASSES))
        return loss_of(self.composition, measure=CLASSES[tag])

    @property
    def headline(self) -> str:
        """What is promised, as people compare it: the ε, or the (ε, δ) of a note that the total loss does imply."""
        return str(self.loss) if self._implied is None else show_pair(*self._implied)

    @property
    def _implied(self) -> tuple[Fraction, Fraction] | None:
        found = next((pair for note in self.notes if (pair := _pair(note)) is not None), None)
        return found if found is not None and _implies(self.loss, *found) else None

    def lines(self, *, holders: Sequence[str] = ()) -> list[str]:
        """Say it in plain lines for people; ``holders`` are the names of separate tables, in their order."""
        verdict = [] if self.private else ["NOT PRIVATE: the noise was simulated from a seed. Do not release this."]
        meaning = f"({self.loss.title} differential privacy)"
        guarantee = (
            [f"Guarantee: {self.loss} {meaning}"]
            if self._implied is None
            else [f"Guarantee: {self.headline}", f"Through: {self.loss} {meaning}, which implies it"]
        )
        return [
            *verdict,
            *guarantee,
            f"Protects: {neighbours(self.adjacency, unit=self.unit)}",
            "Spent on:",
            *(f"  {line}" for line in _describe(self.composition, holders)),
            f"Taken as public: {', '.join(self.public) or 'nothing else'}",
            *(note for note in self.notes if self._implied is None or _pair(note) is None),
            f"Made with: {', '.join(f'{name} {version}' for name, version in sorted(self.versions.items()))}",
        ]

    def __repr__(self) -> str:
        """Show the statement as people read it."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        """Show the statement in a notebook."""
        rows = [(name, text) for name, _, text in (line.partition(": ") for line in self.lines())]
        return Card(("", ""), rows, title="Privacy statement", most=len(rows)).html()

    def to_json(self) -> dict[str, object]:
        """Write the statement as plain JSON values."""
        return {
            "private": self.private,
            "unit": self.unit,
            "adjacency": self.adjacency,
            "total": self.loss.json(),
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


def neighbours(adjacency: Adjacency, *, unit: str) -> str:
    """Say which change a promise is about; ``unit`` is what one person's part is called."""
    return _NEIGHBOURS[adjacency].format(unit=unit)


def show_pair(epsilon: Fraction, delta: Fraction) -> str:
    """Write ε and δ for people.

    >>> show_pair(Fraction(1, 3), Fraction(1, 10**9))
    '(ε, δ) = (0.333333 (1/3), 1e-09)'
    """
    return f"(ε, δ) = ({show_fraction(epsilon)}, {show_fraction(delta)})"


def implied_note(loss: Loss, *, epsilon: Fraction, delta: Fraction) -> str:
    """Return the note that says which (ε, δ) a loss implies; a statement that has it leads with them."""
    return f"{loss} implies {show_pair(epsilon, delta)}."


def _pair(note: str) -> tuple[Fraction, Fraction] | None:
    """Return the ε and δ of a note that :func:`implied_note` wrote."""
    found = _IMPLIED.fullmatch(note)
    try:
        return None if found is None else (Fraction(found["ratio"] or found["decimal"]), Fraction(found["delta"]))
    except (ValueError, ZeroDivisionError):
        return None


def _implies(loss: Loss, epsilon: Fraction, delta: Fraction) -> bool:
    try:
        return loss.implies(grant(epsilon, delta=delta))
    except InputError:
        return False


def _damaged(argument: str, what: str) -> InputError:
    return InputError(argument, found=f"found {what} that cannot be right", remedy="use the file as panbayes wrote it")


def _step(what: str, mechanism: str, loss: Loss, event: object, *, argument: str) -> Step:
    try:
        return Step(what, mechanism, loss, event_from_json(event, argument=argument))
    except ValueError:
        raise _damaged(argument, "a step that does not describe its event") from None


def _describe(node: Composition, holders: Sequence[str] = ()) -> list[str]:
    match node:
        case Step():
            return [f"{node.what}: {node.loss}, {node.mechanism}"]
        case Sequential():
            return [line for part in node.parts for line in _describe(part, holders)]
        case Parallel() if len(holders) == len(node.parts):
            return _describe_holders(node, holders)
        case Parallel():
            different = dict.fromkeys(node.parts)  # equal parts are said once
            inner = [f"  {line}" for part in different for line in _describe(part)]
            return [f"each of {len(node.parts)} separate tables, at most {loss_of(node)} each:", *inner]
        case Group():
            inner = [f"  {line}" for line in _describe(node.part, holders)]
            return [f"{node.size} records per person, so {loss_of(node)} in all:", *inner]
        case PostProcessed():
            return [*_describe(node.part, holders), f"{node.how}: computed from the above, free"]


def _describe_holders(node: Parallel, holders: Sequence[str]) -> list[str]:
    """Say what was spent of whose people; holders of whom the same was spent are named together."""
    alike: dict[Composition, list[str]] = {}
    for part, name in zip(node.parts, holders, strict=True):
        alike.setdefault(part, []).append(name)
    lines = []
    for part, names in alike.items():
        each = " each" if len(names) > 1 else ""
        lines.append(f"by {', '.join(names)}: {loss_of(part)}{each}")
        lines += [f"  {line}" for line in _describe(part)]
    return lines


def composition_to_json(node: Composition) -> dict[str, object]:
    """Write a composition tree as plain JSON values."""
    match node:
        case Step():
            step: dict[str, object] = {"release": node.what, "mechanism": node.mechanism, "loss": node.loss.json()}
            return step if node.event is None else {**step, "event": event_to_json(node.event)}
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
            return Step(what, mechanism, loss_from_json(loss, argument=argument))
        case {"release": str(what), "mechanism": str(mechanism), "loss": loss, "event": event, **rest} if not rest:
            return _step(what, mechanism, loss_from_json(loss, argument=argument), event, argument=argument)
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
