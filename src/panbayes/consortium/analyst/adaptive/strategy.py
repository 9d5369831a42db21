"""The adaptive strategy: measure little, and only what the noise leaves worth measuring.

1. The noisy **total** of every holder, from which a public plan follows
(:mod:`panbayes.consortium.analyst.adaptive.division`). 2. The tables of all **single** attributes; larger ones get more
(in proportion to the root of their size). They are
   added up over holders and estimated with their noise in mind
   (:mod:`panbayes.consortium.analyst.adaptive.estimation`).
3. A choice of **pairs**: holders take turns, largest first, each with picks in proportion to its records and with all
   of its share for choosing. A pair's score is how far the holder's own table is from independence, ½‖c − e‖₁, less
   what the noise of measuring it would add. Values are grouped so that cells stay above the noise
   (:mod:`panbayes.consortium.analyst.adaptive.grouping`). Pairs may not close a cycle, and none may be taken.
4. The tables of these pairs, from all holders. With the single attributes they make a forest.
5. A choice of **triples** (attribute, its parent, a second parent) against what the forest expects, in turns again.
6. Their tables; where they differ from what was expected, an attribute gets a second parent.

If no pair is taken, what was kept for them is spent on the single attributes again: the strategy abstains.

Everything is a deterministic function of the study and the releases: a run that is resumed on the same installation
asks the same questions. (Another processor may round an expectation differently; it would then ask another question,
and be refused once the grant is spent. Nothing is ever overspent.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes._version import __version__
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.division import CHOOSING, TOTAL, Budget, Plan
from panbayes.consortium.analyst.adaptive.estimation import Estimate, against, refined, single
from panbayes.consortium.analyst.adaptive.forest import Forest
from panbayes.consortium.analyst.adaptive.grouping import grouped
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import Offer, pair_offers, price, triple_offers, turns
from panbayes.consortium.analyst.adaptive.session import Run, views_of
from panbayes.consortium.analyst.asking import Holders, expect
from panbayes.consortium.protocol.messages import Candidate, TableChoiceAnswer, TableChoiceQuery, pack_cells, ratio
from panbayes.privacy import composition
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.statement import PrivacyStatement

__all__ = ["learn_adaptive"]

_WEIGHT: Final = 1000
_FITTING: Final = 10


def learn_adaptive(holders: Holders) -> Network:
    """Learn a network; see the module."""
    study = holders.study
    schema = study.schema
    grant = study.grant
    run = Run(
        holders,
        Budget(
            "pure" if isinstance(grant, Pure) else "zcdp",
            study.adjacency,
            grant.amount,
            schema.unit.max_records if schema.unit else 1,
        ),
        schema.sizes,
        tuple(attribute.numeric for attribute in schema.attributes),
    )
    totals, law = run.tables([()], [1], TOTAL, "the number of records", round_number=0)
    public = study.adjacency == "replace" and schema.unit is None
    counted = {name: float(found[0]) for name, found in totals.items()}
    if public:
        counted = {name: max(1.0, float(size)) for name, size in run.sizes_of_holders.items() if size is not None}
    plan = Plan.of(run.budget, schema.sizes, total=sum(counted.values()), holders=len(counted))
    noisy, laws = _measure_singles(run, plan.singles, round_number=1)
    records = counted if public else _records(counted, law[0], noisy, laws)
    estimates = _estimate_singles(run, noisy, laws, sum(records.values()))
    singles = [estimate.share for estimate in estimates]
    own = _own_singles(singles, noisy, laws, records)
    offers = pair_offers(run.budget, plan, estimates, run.ordered, sum(records.values()), len(records))
    expected = {name: [_product(offer, own[name], records[name]) for offer in offers] for name in records}
    chosen = _choose(run, offers, expected, records, plan.pair_picks, plan.pairs * CHOOSING, "forest", round_number=2)
    left = plan.pairs * (1 - CHOOSING)
    if not chosen:
        if plan.pair_picks:
            more, tighter = _measure_singles(run, left + plan.triples, round_number=3)
            noisy, laws = _combined(noisy, laws, more, tighter)
            singles = [found.share for found in _estimate_singles(run, noisy, laws, sum(records.values()))]
        return _network(run, Forest.of(singles, {}), {})
    total = sum(records.values())
    measured, pair_laws = _measure(run, chosen, left, "tables of pairs", round_number=3)
    singles = _refined_singles(estimates, chosen, measured, pair_laws, total)
    joints = {}
    for offer, table, pair_law in zip(chosen, measured, pair_laws, strict=True):
        (a, of_a), (b, of_b) = offer.axes
        margins = grouped(singles[a], of_a, 0), grouped(singles[b], of_b, 0)
        independent = np.outer(*margins)
        joint = _fitted(against(table, total * independent, pair_law), margins)
        joints[a, b] = (of_a, of_b, joint / np.maximum(independent, 1e-300))
    forest = Forest.of(singles, joints)
    second: dict[int, tuple[int, FloatArray]] = {}
    if plan.triple_picks:
        second = _second_parents(run, plan, forest, singles, records)
    return _network(run, forest, second)


def _measure_singles(
    run: Run, share: Fraction, *, round_number: int
) -> tuple[dict[str, list[FloatArray]], list[NoiseLaw]]:
    """Measure every attribute alone, in shares that grow with the root of its domain."""
    weights = [round(_WEIGHT * math.sqrt(size)) for size in run.sizes]
    axes = [((attribute, None),) for attribute in range(len(run.sizes))]
    return run.tables(axes, weights, share, f"tables of {len(weights)} single attributes", round_number=round_number)


def _combined(
    first: Mapping[str, list[FloatArray]],
    first_laws: list[NoiseLaw],
    second: Mapping[str, list[FloatArray]],
    second_laws: list[NoiseLaw],
) -> tuple[dict[str, list[FloatArray]], list[NoiseLaw]]:
    """Average two measurements of the same tables, weighed by the inverse of their variances."""
    weights = [b.deviation**2 / (a.deviation**2 + b.deviation**2) for a, b in zip(first_laws, second_laws, strict=True)]
    tables = {
        name: [w * a + (1 - w) * b for w, a, b in zip(weights, first[name], second[name], strict=True)]
        for name in first
    }
    laws = [a.scaled(w).plus(b.scaled(1 - w)) for w, a, b in zip(weights, first_laws, second_laws, strict=True)]
    return tables, laws


def _records(
    counted: Mapping[str, float], law: NoiseLaw, noisy: Mapping[str, list[FloatArray]], laws: Sequence[NoiseLaw]
) -> dict[str, float]:
    """Estimate every holder's number of records from its noisy total and the sums of its tables."""
    sizes = [table.size for table in next(iter(noisy.values()))]
    variances = [law.deviation**2, *(size * own.deviation**2 for size, own in zip(sizes, laws, strict=True))]
    weights = [1 / variance for variance in variances]
    return {
        name: max(1.0, float(np.average([counted[name], *(table.sum() for table in tables)], weights=weights)))
        for name, tables in noisy.items()
    }


def _summed(laws: Sequence[NoiseLaw], holders: int) -> list[NoiseLaw]:
    return [NoiseLaw(law.gaussian, tuple((scale, times * holders) for scale, times in law.parts)) for law in laws]


def _estimate_singles(
    run: Run, noisy: Mapping[str, list[FloatArray]], laws: Sequence[NoiseLaw], total: float
) -> list[Estimate]:
    sums = [sum(tables[1:], tables[0]) for tables in zip(*noisy.values(), strict=True)]
    return [
        single(table, law, total, ordered=ordered)
        for table, law, ordered in zip(sums, _summed(laws, len(noisy)), run.ordered, strict=True)
    ]


def _refined_singles(
    estimates: Sequence[Estimate],
    offers: Sequence[Offer],
    measured: Sequence[FloatArray],
    laws: Sequence[NoiseLaw],
    total: float,
) -> list[FloatArray]:
    """Correct the single attributes by the sums of the tables of pairs."""
    found = list(estimates)
    for offer, table, law in zip(offers, measured, laws, strict=True):
        for axis, (attribute, groups) in enumerate(offer.axes):
            error = law.deviation * math.sqrt(table.shape[1 - axis])
            found[attribute] = refined(found[attribute], groups, table.sum(axis=1 - axis), error, total)
    return [estimate.share for estimate in found]


def _own_singles(
    singles: list[FloatArray],
    noisy: Mapping[str, list[FloatArray]],
    laws: Sequence[NoiseLaw],
    records: Mapping[str, float],
) -> dict[str, list[FloatArray]]:
    """Estimate every holder's own distributions: holders may differ, and a difference is no dependency.

    They start from the common ones and leave them as far as a holder's noisy tables ask for it.
    """
    if len(records) == 1:
        return dict.fromkeys(records, singles)
    found = {}
    for name, tables in noisy.items():
        estimates = [
            against(table, records[name] * share, law) for table, share, law in zip(tables, singles, laws, strict=True)
        ]
        found[name] = [estimate / estimate.sum() for estimate in estimates]
    return found


def _product(offer: Offer, singles: Sequence[FloatArray], records: float) -> FloatArray:
    """Return what independence expects of a pair."""
    (a, of_a), (b, of_b) = offer.axes
    return records * np.outer(grouped(singles[a], of_a, 0), grouped(singles[b], of_b, 0))


def _choose(
    run: Run,
    offers: Sequence[Offer],
    expected: Mapping[str, Sequence[FloatArray]],
    records: Mapping[str, float],
    picks: int,
    share: Fraction,
    rule: str,
    *,
    round_number: int,
) -> list[Offer]:
    """Let the holders choose in turns; return what they took."""
    taken: list[Offer] = []
    total = sum(records.values())
    for name, times in turns(records, picks):
        free = [place for place, offer in enumerate(offers) if offer not in taken]
        if not free:
            break
        groupings, views = views_of([offers[place].axes for place in free], run.sizes)
        cells = np.concatenate([expected[name][place].ravel() for place in free])
        query = TableChoiceQuery(
            privacy=run.budget.privacy,
            adjacency=run.budget.adjacency,
            groupings=groupings,
            candidates=tuple(
                Candidate(view, price(offers[place], expected[name][place], records[name] / total))
                for view, place in zip(views, free, strict=True)
            ),
            expected=pack_cells(np.rint(cells).clip(0, 2**31 - 1).astype(np.int64)),
            rule="forest" if rule == "forest" else "once",
            taken=tuple((offer.axes[0][0], offer.axes[1][0]) for offer in taken),
            picks=times,
            loss=ratio(run.budget.grant * share),
        )
        what = f"{times} choices of a table of {len(offers[0].axes)} attributes"
        (release,) = run.ask(query, what, round_number=round_number, only=(name,)).values()
        taken += [offers[free[place]] for place in expect(release, TableChoiceAnswer).taken]
    return taken


def _measure(
    run: Run, offers: Sequence[Offer], share: Fraction, what: str, *, round_number: int
) -> tuple[list[FloatArray], list[NoiseLaw]]:
    """Measure the tables of some offers, in equal shares; return their sums over holders and the laws of the noise."""
    found, laws = run.tables(
        [offer.axes for offer in offers], [1] * len(offers), share, f"{len(offers)} {what}", round_number=round_number
    )
    sums = [sum(tables[1:], tables[0]) for tables in zip(*found.values(), strict=True)]
    return sums, _summed(laws, len(found))


def _fitted(table: FloatArray, margins: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Scale rows and columns in turn until the margins fit (iterative proportional fitting)."""
    joint: FloatArray = table / table.sum()
    for _ in range(_FITTING):
        joint = joint * (margins[0] / np.maximum(joint.sum(axis=1), 1e-300))[:, None]
        joint = joint * (margins[1] / np.maximum(joint.sum(axis=0), 1e-300))
    return joint


def _second_parents(
    run: Run, plan: Plan, forest: Forest, singles: list[FloatArray], records: Mapping[str, float]
) -> dict[int, tuple[int, FloatArray]]:
    """Choose and measure triples; return for some attributes a second parent and p(attribute | parent, second)."""
    total = sum(records.values())
    offers, shares = triple_offers(run.budget, plan, forest, singles, run.ordered, total, len(records))
    if not offers:
        return {}
    expected = {name: [number * share for share in shares] for name, number in records.items()}
    share = plan.triples * CHOOSING
    chosen = _choose(run, offers, expected, records, plan.triple_picks, share, "once", round_number=4)
    if not chosen:
        return {}
    measured, laws = _measure(run, chosen, plan.triples - share, "tables of triples", round_number=5)
    found = {}
    for offer, table, law in zip(chosen, measured, laws, strict=True):
        (x, of_x), (_, of_parent), (second, of_second) = offer.axes
        expects = np.maximum(total * shares[offers.index(offer)], 1e-9)
        ratios = against(table, expects, law) / np.maximum(expects, 0.5)
        spread = ratios[of_x][:, of_parent][:, :, of_second]
        conditional: FloatArray = forest.tables[x][:, None, :] * spread.transpose(1, 2, 0)
        found[x] = (second, conditional / conditional.sum(axis=2, keepdims=True))
    return found


def _network(run: Run, forest: Forest, second: Mapping[int, tuple[int, FloatArray]]) -> Network:
    """Put the network together with the statement of what was spent, for each holder's people."""
    study = run.holders.study
    pairs: list[tuple[int, tuple[int, ...]]] = []
    tables = list(forest.tables)
    for x in forest.order:
        parent = forest.parents[x]
        parents = () if parent is None else (parent,)
        if x in second:
            parents = (*parents, second[x][0])
            tables[x] = second[x][1]
        pairs.append((x, parents))
    about = {"study": study.name, "strategy": study.strategy, "holders": ", ".join(sorted(run.spent))}
    return Network(study.schema, Structure.of(pairs), tuple(tables), _statement(run, study), about)


def _statement(run: Run, study: Study) -> PrivacyStatement:
    unit = study.schema.unit
    parts = tuple(composition.Sequential(tuple(steps)) for _, steps in sorted(run.spent.items()))
    whole = parts[0] if len(parts) == 1 else composition.Parallel(parts, study.adjacency, separate=True)
    people = ("the number of persons" if unit else "the number of records",) if study.adjacency == "replace" else ()
    implied = f"ρ = {float(run.budget.grant):g} implies (ε, δ) = ({float(study.budget):g}, {float(study.delta):g})."
    return PrivacyStatement(
        unit="person" if unit else "record",
        adjacency=study.adjacency,
        composition=composition.PostProcessed(whole, "learning, sampling and questions"),
        public=("the schema", "the study", *people),
        notes=(
            *([implied] if study.delta else []),
            *([f"At most {unit.max_records} records of a person were used."] if unit else []),
            *(["A person held by h of the holders is protected at h times this loss."] if len(parts) > 1 else []),
        ),
        versions={"panbayes": __version__},
        private=run.private,
    )
