"""What is known of each person: a feature, whose values are public before anybody looks at records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, get_args

from panbayes.errors import InputError
from panbayes.schema import domain_kinds, kinds
from panbayes.schema.attribute import Attribute
from panbayes.schema.declaration import Key
from panbayes.schema.omop.cdm import PERSON_ID, RECORDS, VALUED
from panbayes.schema.omop.feature_kinds import MOST_DAYS, Groups, check_concepts, check_groups, concepts, groups, pair

__all__ = ["MISSING", "NO", "OTHER", "YES", "Feature", "FeatureKind"]

FeatureKind: TypeAlias = Literal[
    "any", "count", "days", "latest", "died", "age", "year-of-birth", "gender", "race", "ethnicity"
]

NO: Final = "no"
YES: Final = "yes"
OTHER: Final = "other"
MISSING: Final = "missing"

_RECORDS: Final = ("table", "concepts", "window")
_TAKES: Final[dict[str, tuple[str, ...]]] = {
    "any": _RECORDS,
    "count": (*_RECORDS, "bins"),
    "days": (*_RECORDS, "bins"),
    "latest": _RECORDS,
    "died": ("window",),
    "age": ("bins",),
    "year-of-birth": ("bins",),
    "gender": ("groups",),
    "race": ("groups",),
    "ethnicity": ("groups",),
}
"""The keys that each kind must have; the latest value has ``bins`` and ``units``, or ``groups``, beside these."""

EXACT: Final = 2**53

MOST_NAME: Final = 63
"""So many bytes of a column's name PostgreSQL keeps."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of a person, which becomes an attribute of the schema.

    Records of concept 0, and of concepts that no set names, are in no set. A concept that no group names, and concept
    0, is ``other``; where there is no value, it is ``missing``.
    """

    name: Annotated[str, Key(kinds.text("the name of the attribute"), "the name of the attribute")]
    kind: Annotated[
        FeatureKind,
        Key(
            kinds.choice(get_args(FeatureKind)),
            "what is told: whether there is `any` record of a concept set within a window of days, the `count` of such "
            "records, the number of `days` with one, the `latest` value of one; whether the person `died` within a "
            "window; the `age` in the year of the index date; or what stands in the table `person`",
        ),
    ]
    table: Annotated[str | None, Key(kinds.choice(tuple(RECORDS)), "the table of the records")] = None
    concepts: Annotated[str | None, Key(kinds.text("the name of a concept set"), "the concept set of the records")] = (
        None
    )
    window: Annotated[
        tuple[int, int] | None,
        Key(
            pair("two numbers of days, such as [-365, 0]"),
            "the first and the last day of the window, from the index date; 0 is that day itself, and what is positive "
            "lies after it",
        ),
    ] = None
    bins: Annotated[tuple[int | float, ...], Key(domain_kinds.edges(), "edges of intervals, as in a schema file")] = ()
    units: Annotated[
        tuple[int, ...],
        Key(
            concepts("unit concept ids, such as [8554]"),
            "with `latest` and `bins`: the units in which the value may be given; a value in any other is passed over, "
            "for nothing is converted. 0 stands for values whose unit is unknown",
        ),
    ] = ()
    groups: Annotated[
        Groups,
        Key(
            groups(),
            "values that are concepts, under the labels that they get: with `gender`, `race` and `ethnicity`, and with "
            "`latest` for values that are concepts themselves",
        ),
    ] = ()

    def __post_init__(self) -> None:
        """Check that the kind has its keys, and only those."""
        if not self.name.strip() or len(self.name.encode()) > MOST_NAME:
            raise InputError("name", found="is empty or too long", remedy=f"give a name of at most {MOST_NAME} bytes")
        if self.name.casefold() == PERSON_ID:
            raise InputError(
                "name", found=f'found "{self.name}"', remedy="that is whom a row belongs to: name it otherwise"
            )
        takes = _TAKES[self.kind]
        if self.kind == "latest":
            takes = (*takes, "groups") if self.groups else (*takes, "bins", "units")
        for key in ("table", "concepts", "window", "bins", "units", "groups"):
            given = getattr(self, key) not in (None, ())
            if given and key not in takes:
                raise InputError(key, found=f'is given, and kind "{self.kind}" has none', remedy="leave it out")
            if not given and key in takes:
                raise InputError(key, found=f'is missing, and kind "{self.kind}" needs it', remedy=f"add {key} = …")
        self._check_values()

    def _check_values(self) -> None:
        if self.window is not None and not -MOST_DAYS <= self.window[0] <= self.window[1] <= MOST_DAYS:
            raise InputError(
                "window",
                found=f"found {list(self.window)}",
                remedy=f"give the earlier day first, such as [-365, 0], at most {MOST_DAYS} days from the index date",
            )
        if self.kind == "latest" and self.table not in VALUED:
            raise InputError(
                "table", found=f'found "{self.table}", which has no values', remedy=f"give {' or '.join(VALUED)}"
            )
        check_concepts(self.units, argument="units", zero=True)
        check_groups(self.groups)
        for _, ids in self.groups:
            check_concepts(ids, argument="groups")
        labels = [label for label, _ in self.groups]
        if {OTHER, MISSING} & set(labels):
            raise InputError(
                "groups", found=f'found "{OTHER}" or "{MISSING}"', remedy="leave them out: every feature has them"
            )
        self.attribute(certain=False)  # complains about bins

    @property
    def exact(self) -> bool:
        """Whether all edges of bins are whole numbers, none of them beyond what a float can hold."""
        return all(isinstance(edge, int) and abs(edge) < EXACT for edge in self.bins)

    def attribute(self, *, certain: bool) -> Attribute:
        """Return the attribute of the schema; where it is ``certain`` that there is a value, nothing is missing."""
        missing = None if certain or self.kind in ("any", "died", "count", "days") else MISSING
        if self.kind in ("any", "died"):
            return Attribute(self.name, categories=(NO, YES))
        if self.groups:
            labels = tuple(label for label, _ in self.groups)
            return Attribute(self.name, categories=labels, other=OTHER, missing=missing)
        return Attribute(self.name, bins=self.bins, missing=missing)
