"""How much leaves a holder: never more than the plan says to officers beforehand."""

from __future__ import annotations

from collections import Counter

import pytest

from panbayes.consortium.agreement.plan import ENVELOPE_BYTES, NUMBER_BYTES
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.codec import decode_question
from panbayes.consortium.protocol.queries import kind_of
from panbayes.consortium.protocol.transport import Ask
from tests.consortium.studies import STUDIES, tables_for


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_answers_keep_to_the_plan(study: Study) -> None:
    sent: dict[str, list[tuple[str, int]]] = {}

    def measured(name: str, ask: Ask) -> Ask:
        def through(data: bytes) -> bytes:
            reply = ask(data)
            sent.setdefault(name, []).append((kind_of(decode_question(data).query), len(reply)))
            return reply

        return through

    with open_gates(study, tables_for(study), simulate=7) as gates:
        learn_from(Federation(study, {name: measured(name, ask) for name, ask in gates.items()}, simulated=True))
    plan = study.plan
    for answers in sent.values():
        assert len(answers) <= plan.answers
        assert sum(size for _, size in answers) <= plan.answer_bytes
        for stage in plan.stages:
            sizes = [size for kind, size in answers if kind == stage.kind]
            assert max(sizes, default=0) <= ENVELOPE_BYTES + NUMBER_BYTES * stage.numbers
            assert Counter(kind for kind, _ in answers)[stage.kind] <= stage.times


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_stage_says_how_many_numbers_an_answer_has(study: Study) -> None:
    assert all(stage.numbers > 0 for stage in study.plan.stages)
    assert study.plan.answers == sum(stage.times for stage in study.plan.stages)
