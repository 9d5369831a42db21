"""Concept sets are written out by a public vocabulary, and are a draft again."""

from __future__ import annotations

import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.schema.omop.features import FEATURE_FILE, Features
from panbayes.tables.omop.vocabulary import expanded

# 1 above 2 and 3, 2 above 4, 3 above 4 and 5; each above itself.
PAIRS = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 2), (2, 4), (3, 3), (3, 4), (3, 5), (4, 4), (5, 5)]
VOCABULARY = pl.DataFrame(PAIRS, schema=["ancestor_concept_id", "descendant_concept_id"], orient="row")


def asking(*, concepts: str, without: str = "") -> Features:
    more = f"\nwithout = {without}" if without else ""
    text = FEATURE_FILE.example.replace("[1596977]", f"{concepts}{more}\ndescendants = true")
    return Features.parse(text)


@pytest.mark.parametrize(
    ("concepts", "without", "found"),
    [("[2]", "", (2, 4)), ("[2, 5]", "", (2, 4, 5)), ("[1]", "[2]", (1, 3, 5)), ("[1]", "[2, 3]", (1,))],
)
def test_sets_become_lists(concepts: str, without: str, found: tuple[int, ...]) -> None:
    features = expanded(asking(concepts=concepts, without=without), VOCABULARY)
    assert [(one.ids, one.without, one.descendants) for one in features.concept_sets][1] == (found, (), False)
    assert features.concept_sets[0].ids == (201254, 201826)
    assert features.status == "draft"
    assert features.schema.status == "draft"


def test_texts_are_numbers_and_the_rest_is_passed_over() -> None:
    odd = pl.concat([VOCABULARY.cast(pl.String), VOCABULARY.cast(pl.String).clear(2)]).with_row_index()
    assert expanded(asking(concepts="[3]"), odd).concept_sets[1].ids == (3, 4, 5)


def test_features_with_lists_stay_as_they_are() -> None:
    features = Features.parse(FEATURE_FILE.example)
    assert expanded(features, VOCABULARY) is features


@pytest.mark.parametrize(
    ("features", "table", "said"),
    [
        (asking(concepts="[7]"), VOCABULARY, "does not know concept 7"),
        (asking(concepts="[2]", without="[9]"), VOCABULARY, "does not know concept 9"),
        (asking(concepts="[4]", without="[1]"), VOCABULARY, 'nothing is left of "insulin"'),
        (asking(concepts="[2]"), VOCABULARY.rename({"ancestor_concept_id": "above"}), "has no column"),
        (asking(concepts="[2]"), VOCABULARY.filter(pl.col("ancestor_concept_id") != 2), "does not know concept 2"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(features: Features, table: pl.DataFrame, said: str) -> None:
    with pytest.raises(InputError, match=said):
        expanded(features, table)
