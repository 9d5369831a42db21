"""Concept sets written out: what is below a concept, by a table of a public vocabulary.

The table is ``concept_ancestor`` of the OHDSI vocabularies, which anybody can download: one row for each concept and
each that lies above it, itself among them. It must be the public one. A site's copy may hold what is in its records
alone, and so the list is a draft again until a person has read it (:class:`panbayes.schema.omop.features.Features`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import polars as pl

from panbayes.errors import InputError
from panbayes.schema.omop.features import ConceptSet, Features
from panbayes.tables.sources.dispatch import open_source
from panbayes.tables.sources.file import name_of

__all__ = ["expanded"]

_ABOVE: Final = "ancestor_concept_id"
_BELOW: Final = "descendant_concept_id"


def expanded(features: Features, vocabulary: object, *, argument: str = "vocabulary") -> Features:
    """Return the same features, their concept sets as lists, and a draft; ``vocabulary`` is any table that can be read.

    A concept that is not even below itself is not in the vocabulary, or is no standard one: that is an error, for the
    set would be another than was meant.
    """
    wanted = [one for one in features.concept_sets if one.descendants]
    if not wanted:
        return features
    below = _below({concept for one in wanted for concept in (*one.concepts, *one.without)}, vocabulary, argument)
    sets = tuple(_listed(one, below) if one.descendants else one for one in features.concept_sets)
    return replace(features, concept_sets=sets, status="draft")


def _listed(found: ConceptSet, below: dict[int, set[int]]) -> ConceptSet:
    inside = {concept for above in found.concepts for concept in below[above]}
    outside = {concept for above in found.without for concept in below[above]}
    left = inside - outside
    if not left:
        raise InputError(
            "concept_sets",
            found=f'nothing is left of "{found.name}" without what is below its other concepts',
            remedy="correct its lists",
        )
    return ConceptSet(found.name, tuple(sorted(left)))


def _below(wanted: Iterable[int], vocabulary: object, argument: str) -> dict[int, set[int]]:
    """Return what is below each concept, itself among it."""
    argument = name_of(vocabulary, argument)
    found: dict[int, set[int]] = {concept: set() for concept in wanted}
    with open_source(vocabulary, argument=argument) as opened:
        absent = next((name for name in (_ABOVE, _BELOW) if not opened.has(name)), None)
        if absent is not None:
            raise InputError(
                argument,
                found=f'has no column "{absent}"',
                remedy="give the table concept_ancestor of a vocabulary, such as CONCEPT_ANCESTOR.csv",
            )
        for batch in opened.batches([_ABOVE, _BELOW]):
            rows = batch.frame().select(pl.col(_ABOVE, _BELOW).cast(pl.Int64, strict=False)).drop_nulls()
            for above, concept in rows.filter(pl.col(_ABOVE).is_in(list(found))).rows():
                found[above].add(concept)
    unknown = next((concept for concept in sorted(found) if concept not in found[concept]), None)
    if unknown is not None:
        raise InputError(
            argument,
            found=f"does not know concept {unknown}",
            remedy="give a whole vocabulary, and concepts that are standard in it",
        )
    return found
