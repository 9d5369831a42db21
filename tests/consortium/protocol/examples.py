"""One message of every kind, and hypothesis strategies for any message."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, get_args

import msgspec
import numpy as np
from hypothesis import strategies as st

from panbayes.consortium.protocol.answers import (
    GroupedTablesAnswer,
    ModelAnswer,
    ParentChoiceAnswer,
    TableChoiceAnswer,
    TablesAnswer,
)
from panbayes.consortium.protocol.cells import pack_cells
from panbayes.consortium.protocol.envelope import Question, Refusal, RefusalCode, Release, Reply, question
from panbayes.consortium.protocol.queries import (
    Count,
    GroupedTablesQuery,
    Grouping,
    LinearChoiceQuery,
    ModelQuery,
    Pair,
    ParentChoiceQuery,
    Query,
    TableCandidate,
    TableChoiceQuery,
    TablesQuery,
    ratio,
)

STUDY: Final = "5a" * 32
HEAD: Final = "c3" * 32

COUNTS: Final = TablesQuery(((0,), (0, 1), (300, 2, 1)), "1/903", clip=False)
VOTE: Final = ParentChoiceQuery((0, 2), 2, "R", "permute-and-flip", "1/84")
LINEAR_VOTE: Final = LinearChoiceQuery((1,), 1, ((0, 1), (1, 0, 1), (0,)), (-4096, 0, 17), "exponential", "1/84")
MODEL: Final = ModelQuery(3, 1, None, "I", "exponential", "1/2", "1/2", clip=True)
USEFUL: Final = ModelQuery(3, 4, "4", "F", "exponential", "1/2", "3/2", clip=False)

GROUPINGS: Final = (Grouping(0, ()), Grouping(300, (0, 1, 0, 2)))
TABLES: Final = GroupedTablesQuery("zcdp", "add-remove", GROUPINGS, ((), (0,), (1, 0)), (1, 2, 3), "1/200")
SHARED: Final = GroupedTablesQuery(
    "pure", "replace", GROUPINGS, ((0,), (1,), (1, 0), ()), (2, 2, 3, 1), "1/200", radii=(2, 1)
)
CHOICES: Final = TableChoiceQuery(
    "zcdp",
    "add-remove",
    (*GROUPINGS, Grouping(7, (1, 0, 1)), Grouping(2, ())),
    (TableCandidate((0, 1), 12, 6), TableCandidate((3, 0, 2), 0, 16), TableCandidate((3, 0, 2, 1), 70_000, 0)),
    pack_cells(np.array([5, 0, 70_000, 1, 2, 3, -40, 9], dtype=np.int64)),
    "any",
    ((0, 3),),
    (Count(1, 4), Count(300, 70_000)),
    35,
    "1/10",
    "1/20",
)
TARGETED: Final = msgspec.structs.replace(CHOICES, target=300)

QUERIES: Final[dict[str, Query]] = {
    "counts": COUNTS,
    "vote": VOTE,
    "model": MODEL,
    "model-theta": USEFUL,
    "tables": TABLES,
    "choices": CHOICES,
    "choices-target": TARGETED,
    "linear": LINEAR_VOTE,
    "tables-radii": SHARED,
}
QUESTIONS: Final[dict[str, Question]] = {
    f"question-{name}": question(query, study=STUDY, round_number=number)
    for number, (name, query) in enumerate(QUERIES.items())
}

_SMALL = pack_cells(np.array([-3, 0, 17], dtype=np.int64))
_MIDDLE = pack_cells(np.array([-40_000, 70_000], dtype=np.int64))
_LARGE = pack_cells(np.array([-(2**40), 2**40], dtype=np.int64))
_ID = QUESTIONS["question-counts"].id

REPLIES: Final[dict[str, Reply]] = {
    "release-counts": Release(_ID, 71_518, HEAD, private=True, answer=TablesAnswer(_SMALL)),
    "release-counts-4-bytes": Release(_ID, 1, HEAD, private=True, answer=TablesAnswer(_MIDDLE)),
    "release-counts-8-bytes": Release(_ID, 2**52, HEAD, private=False, answer=TablesAnswer(_LARGE)),
    "release-vote": Release(_ID, 0, HEAD, private=True, answer=ParentChoiceAnswer(Pair(1, (0, 2)))),
    "release-model": Release(_ID, 500, HEAD, private=True, answer=ModelAnswer((Pair(0, ()), Pair(300, (0,))), _SMALL)),
    "release-tables": Release(_ID, None, HEAD, private=True, answer=GroupedTablesAnswer(_SMALL)),
    "release-choices": Release(_ID, 7, HEAD, private=True, answer=TableChoiceAnswer(300, (3, 0, 70_000))),
    "refusal": Refusal(_ID, "over-budget", "the study grants ε = 1; 1 is spent and this question costs 0.5"),
    "refusal-of-garbage": Refusal("", "malformed", "the message is not MessagePack"),
}

positions = st.integers(0, 9_999)
ratios = st.fractions(min_value=Fraction(1, 10**9), max_value=1000, max_denominator=10**9).map(ratio)
degrees = st.integers(0, 8)
scores = st.sampled_from(["I", "R", "F"])
mechanisms = st.sampled_from(["permute-and-flip", "exponential"])
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)

classes = st.sampled_from(["pure", "zcdp"])
adjacencies = st.sampled_from(["replace", "add-remove"])
groupings = st.lists(
    st.builds(Grouping, positions, st.lists(st.integers(0, 2**16 - 1), max_size=4).map(tuple)), max_size=3
).map(tuple)
axes = st.lists(st.integers(0, 99_999), max_size=4).map(tuple)
whole = st.integers(0, 2**31 - 1)
counts = st.lists(st.integers(-(2**62), 2**62), max_size=8).map(lambda v: pack_cells(np.array(v, dtype=np.int64)))

queries: st.SearchStrategy[Query] = st.one_of(
    st.builds(
        TablesQuery,
        st.lists(st.lists(positions, min_size=1, max_size=9).map(tuple), min_size=1, max_size=5).map(tuple),
        ratios,
        st.booleans(),
    ),
    st.builds(
        ParentChoiceQuery, st.lists(positions, min_size=1, max_size=9).map(tuple), degrees, scores, mechanisms, ratios
    ),
    st.builds(
        LinearChoiceQuery,
        st.lists(positions, min_size=1, max_size=9).map(tuple),
        degrees,
        st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=4).map(tuple), min_size=1, max_size=4).map(tuple),
        st.lists(st.integers(-4096, 4096), min_size=1, max_size=4).map(tuple),
        mechanisms,
        ratios,
    ),
    st.builds(
        ModelQuery,
        positions,
        degrees,
        st.none() | ratios,
        scores,
        mechanisms,
        ratios,
        ratios,
        st.booleans(),
    ),
    st.builds(
        GroupedTablesQuery,
        classes,
        adjacencies,
        groupings,
        st.lists(axes, min_size=1, max_size=4).map(tuple),
        st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=4).map(tuple),
        ratios,
        st.booleans(),
        st.lists(st.integers(1, 100_000), max_size=3).map(tuple),
    ),
    st.builds(
        TableChoiceQuery,
        classes,
        adjacencies,
        groupings,
        st.lists(st.builds(TableCandidate, axes, whole, whole), min_size=1, max_size=4).map(tuple),
        counts,
        st.sampled_from(["forest", "any"]),
        st.lists(st.tuples(positions, positions), max_size=3).map(tuple),
        st.lists(st.builds(Count, st.integers(1, 100_000), whole), min_size=1, max_size=4).map(tuple),
        whole,
        ratios,
        ratios,
        st.none() | positions,
    ),
)
questions = st.builds(
    lambda query, study, round_number: question(query, study=study, round_number=round_number),
    queries,
    digests,
    st.integers(0, 2**31 - 1),
)
pairs = st.builds(Pair, positions, st.lists(positions, max_size=8).map(tuple))
answers = st.one_of(
    st.builds(TablesAnswer, counts),
    st.builds(ParentChoiceAnswer, pairs),
    st.builds(ModelAnswer, st.lists(pairs, max_size=4).map(tuple), counts),
    st.builds(GroupedTablesAnswer, counts),
    st.builds(TableChoiceAnswer, st.integers(0, 100_000), st.lists(st.integers(0, 999_999), max_size=4).map(tuple)),
)
codes = st.sampled_from(get_args(RefusalCode))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=500)
replies: st.SearchStrategy[Reply] = st.one_of(
    st.builds(Release, digests, st.none() | st.integers(0, 2**53 - 1), digests, st.booleans(), answers),
    st.builds(Refusal, digests | st.just(""), codes, texts),
)
