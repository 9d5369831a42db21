"""What the agent does with a question: every check before the gate, what leaves, when, and what is written down."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.agent import decisions
from panbayes.consortium.agent.answering import Agent
from panbayes.consortium.agent.carrier import CarrierError, FolderCarrier
from panbayes.consortium.agent.checking import read_question
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.pipe import Done, Job, Promise, Said, Taken
from panbayes.consortium.agent.serving import answer_all
from panbayes.consortium.agent.study_letters import NotArrivedError
from panbayes.consortium.holder.ledger.attempts import Attempt
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.post.letters import LIMITS, Header, Letter, Signed
from panbayes.consortium.post.sealing import open_sealed
from panbayes.consortium.protocol.codec import encode
from panbayes.consortium.protocol.envelope import Refusal
from panbayes.errors import InputError, LedgerError
from tests.consortium.agent.exchanges import VOTING, Exchange
from tests.consortium.agent.houses import key, letter, study_body

REPLY = encode(Refusal("", "not-in-study", "the study asks otherwise"))
EVERY_SECOND = "[time]\ngrid = 1\n"


@dataclass
class Time:
    """A clock that goes when somebody sleeps, or works."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Computing:
    """Who computes nothing: says what it was told to say, and takes its time."""

    time: Time
    becomes: Done = field(default_factory=lambda: Done("answered", "aa" * 32, "", REPLY))
    promise: float = 0.5
    before: float = 0.0
    takes: float = 0.0
    jobs: list[Job] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def work(self, job: Job) -> Iterator[Said]:
        self.jobs.append(job)
        self.time.now += self.before
        if self.becomes.became != "misaddressed":
            yield Taken()
            yield Promise(self.promise)
        self.time.now += self.takes
        self.meanwhile()
        yield self.becomes


@dataclass
class Scene:
    """A holder with an agent that computes nothing."""

    exchange: Exchange
    time: Time = field(default_factory=Time)
    lines: list[str] = field(default_factory=list)
    computing: Computing = field(init=False)
    agent: Agent = field(init=False)

    def __post_init__(self) -> None:
        self.computing = Computing(self.time)
        self.again()

    def again(self, *, again: bool = True, carrier: Any = None, simulated: bool = False) -> None:
        self.agent = Agent(
            self.exchange.holder,
            carrier or self.exchange.carrier,
            self.computing,
            say=self.lines.append,
            note=lambda _: None,
            again=again,
            clock=self.time,
            simulated=simulated,
        )

    def turn(self) -> bool:
        return self.agent.turn(seconds=0)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(Exchange(tmp_path))


def forged(signed: Signed, by: str = "north") -> Signed:
    """The same letter, signed by somebody else."""
    return Letter.decode(signed.data).signed_by(key(by))


# Each line is a letter that must not reach the gate, and what it counts as.
NOT_ARRIVED: dict[str, tuple[str, Callable[[Exchange], tuple[Header, Signed]]]] = {
    "signed by a key that is no analyst's": ("unknown", lambda x: x.question(by="south")),
    "signed by an officer": ("unknown", lambda x: x.question(by="mary")),
    "signed by this holder": ("unknown", lambda x: x.question(by="north")),
    "said to be of the analyst, signed by another": (
        "unknown",
        lambda x: (x.question()[0], forged(x.question()[1], by="south")),
    ),
    "with no signature": ("unsigned", lambda x: (x.question()[0], Signed(x.question()[1].data, "none"))),
    "with the signature of another letter": (
        "unsigned",
        lambda x: (x.question()[0], Signed(x.question()[1].data, x.question(number=2)[1].signature)),
    ),
    "with a changed body": (
        "unsigned",
        lambda x: (x.question()[0], Signed(x.question()[1].data + b"\x00", x.question()[1].signature)),
    ),
    "of another analyst, in its header": (
        "misaddressed",
        lambda x: x.question(analyst=key("north").public.fingerprint),
    ),
    "to another holder": ("misaddressed", lambda x: x.question(holder=key("south").public.fingerprint)),
    "under the number of another": (
        "misaddressed",
        lambda x: (x.question(number=1)[0], x.question(number=2)[1]),
    ),
    "without a number": ("misaddressed", lambda x: x.question(number=0)),
    "that says it is sealed": ("misaddressed", lambda x: x.question(sealed=True)),
}


@pytest.mark.parametrize("what", NOT_ARRIVED)
def test_what_is_no_question_to_this_holder_never_reaches_the_gate(scene: Scene, what: str) -> None:
    exchange = scene.exchange
    exchange.approve()
    kind, made = NOT_ARRIVED[what]
    exchange.ask(number=9)  # one that is addressed to this holder, so that its folder is looked into
    scene.turn()
    asked = len(scene.computing.jobs)
    stem = exchange.put(*made(exchange))
    before = exchange.happened(), exchange.entries()
    for _ in range(5):
        scene.turn()
        scene.time.now += 100
    assert len(scene.computing.jobs) == asked == 1
    assert exchange.answer(stem) is None
    assert exchange.strangers() == {kind: 1}, "counted, and once"
    assert (exchange.happened(), exchange.entries()) == before


def test_a_letter_of_another_kind_is_no_question(scene: Scene) -> None:
    exchange = scene.exchange
    proposed = exchange.approve()
    head = Header(
        "study", proposed.study.hash, key("uni").public.fingerprint, key("north").public.fingerprint, sequence=1
    )
    signed = Letter(head, exchange.question()[1].data).signed_by(key("uni"))
    exchange.put(exchange.question()[0], signed)
    scene.turn()
    assert scene.computing.jobs == []


def test_a_study_that_nobody_proposed_gets_no_answer(scene: Scene) -> None:
    stem = scene.exchange.ask()
    scene.turn()
    assert scene.computing.jobs == []
    assert scene.exchange.answer(stem) is None
    assert scene.agent.did.waiting == {f"north/{stem}.question"}


def test_a_study_of_another_analyst_gets_no_answer(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, analysts=("uni", "lab"))
    exchange.approve()
    scene = Scene(exchange)
    stem = exchange.ask(by="lab")
    scene.turn()
    assert scene.computing.jobs == [], "who asks is not who proposed the study"
    assert exchange.answer(stem) is None
    exchange.ask(number=2)
    scene.turn()
    assert len(scene.computing.jobs) == 1


def test_a_letter_about_the_same_study_that_was_not_approved_does_not_count(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, analysts=("uni", "lab"))
    first = exchange.approve()
    body = study_body(VOTING, by="lab")
    second = letter(body, by="lab")
    scene = Scene(exchange)
    exchange.folder.put("to", "north", Letter.decode(second.data).header, second)
    scene.turn()
    exchange.ask(by="lab", number=3)
    exchange.ask(by="uni", number=4)
    while scene.turn():
        pass
    assert [job.letter for job in scene.computing.jobs] == [first.letter.digest]


@pytest.mark.parametrize("what", ["declined", "stopped"])
def test_a_study_that_is_declined_or_stopped_gets_no_answer(scene: Scene, what: str) -> None:
    exchange = scene.exchange
    proposed = exchange.approve()
    exchange.decide(what, proposed)
    stem = exchange.ask()
    scene.turn()
    assert scene.computing.jobs == []
    assert exchange.answer(stem) is None


def test_a_stop_takes_effect_before_an_answer_that_is_computed_leaves(scene: Scene) -> None:
    exchange = scene.exchange
    proposed = exchange.approve()
    scene.computing.meanwhile = lambda: exchange.decide("stopped", proposed)
    stem = exchange.ask()
    scene.turn()
    assert len(scene.computing.jobs) == 1
    assert exchange.answer(stem) is None
    scene.computing.meanwhile = lambda: None
    exchange.decide("resumed", proposed)
    scene.turn()
    assert exchange.answer(stem) is not None


def test_a_study_that_has_ended_gets_no_answer(tmp_path: Path) -> None:
    ended = Exchange(tmp_path / "ended", text=f'{VOTING}[about]\nuntil = "2020-01-01"\n')
    lasting = Exchange(tmp_path / "lasting", text=f'{VOTING}[about]\nuntil = "{dt.date.today():%Y-%m-%d}"\n')
    for exchange in (ended, lasting):
        exchange.approve()
        exchange.ask()
        scene = Scene(exchange)
        scene.turn()
        assert len(scene.computing.jobs) == (1 if exchange is lasting else 0)


def test_two_officers_must_sign_where_the_holder_says_so(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, top="approvals = 2", officers=("mary", "john"))
    scene = Scene(exchange)
    exchange.ask()
    proposed = exchange.approve()
    scene.turn()
    exchange.approve(proposed)
    scene.turn()
    assert scene.computing.jobs == [], "one officer who signs twice is one officer"
    exchange.approve(proposed, "john")
    scene.turn()
    assert len(scene.computing.jobs) == 1


def test_a_question_waits_until_its_study_is_approved_and_is_answered_without_a_restart(scene: Scene) -> None:
    exchange = scene.exchange
    stem = exchange.ask()
    proposed = exchange.propose()
    for _ in range(3):
        scene.turn()
        scene.time.now += 0.01
    assert scene.computing.jobs == []
    exchange.approve(proposed)
    scene.turn()
    assert exchange.answer(stem) is not None
    assert scene.agent.did.waiting == set()
    assert exchange.strangers() == {}, "not written yet"
    scene.agent.flush()
    assert exchange.strangers() == {"unapproved": 1}, "however often it was looked at"


def test_of_a_flood_of_questions_that_wait_so_many_are_remembered(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panbayes.consortium.agent.answering.MAX_HELD", 3)
    for number in range(1, 9):
        scene.exchange.ask(sequence=number)
    scene.turn()
    assert {known_by[-11:-9] for known_by in scene.agent.did.waiting} == {"06", "07", "08"}


def test_what_came_to_nothing_is_tried_again_later_and_not_because_of_what_the_agent_wrote_itself(
    scene: Scene,
) -> None:
    exchange = scene.exchange
    proposed = exchange.approve()
    stem = exchange.ask()
    scene.computing.becomes = Done("withheld", trouble="no memory")
    # A failure is written into the ledger: that is no reason to try again at once.
    scene.computing.meanwhile = lambda: exchange.decide("resumed", proposed)
    for _ in range(5):
        scene.turn()
    assert len(scene.computing.jobs) == 1
    assert scene.lines == ["no memory"]
    assert exchange.answer(stem) is None
    scene.time.now += 1
    scene.turn()
    assert len(scene.computing.jobs) == 2
    scene.computing.becomes = Done("answered", "aa" * 32, "", REPLY)
    scene.time.now += 2
    scene.turn()
    assert exchange.answer(stem) is not None


def test_who_is_taken_out_of_the_holders_file_has_no_say_while_the_agent_runs(tmp_path: Path) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {"officers": {"zoe": key("zoe").public.line}},
        {"analysts": {}},
        {"text": ""},
    )
    for number, change in enumerate(changes):
        for meanwhile in (False, True):
            exchange = Exchange(tmp_path / f"{number} {meanwhile}", officers=("mary", "zoe"))
            scene = Scene(exchange)
            exchange.approve()
            stem = exchange.ask()

            def edit(exchange: Exchange = exchange, change: dict[str, Any] = change) -> None:
                if "text" in change:
                    exchange.house.config.write_text("nonsense")
                else:
                    exchange.house.text(rest=exchange.rest, **change)

            if meanwhile:
                scene.computing.meanwhile = edit
            else:
                edit()
            if "text" in change and not meanwhile:
                with pytest.raises(InputError, match="is not valid TOML"):
                    scene.turn()
            else:
                scene.turn()
            assert exchange.answer(stem) is None
            scene.computing.meanwhile = lambda: None
            exchange.house.text(rest=exchange.rest)
            scene.time.now += 300
            scene.turn()
            assert exchange.answer(stem) is not None, "as before, it is answered as before"


def test_a_cap_that_is_lowered_while_the_agent_runs_stays_so(scene: Scene) -> None:
    exchange = scene.exchange
    lowered = exchange.house.write(rest=exchange.rest, cap="1")
    scene.turn()
    scene.agent.flush()
    exchange.ask()
    scene.turn()
    with lowered.ledger() as ledger:
        assert [event.what for event in ledger.events()] == []
        assert str(ledger.summary().cap) == "ε = 1"


def test_what_an_agent_cannot_take_over_stops_it(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    stem = exchange.ask()
    exchange.house.text(rest=exchange.rest, top='state = "elsewhere"')
    with pytest.raises(InputError, match="start the agent again"):
        scene.turn()
    assert exchange.answer(stem) is None
    assert not (exchange.house.folder / "elsewhere").exists()


@dataclass
class Watched:
    """A folder whose keeper sees what is fetched again."""

    carrier: FolderCarrier
    wanted: list[bool] = field(default_factory=list)

    def collect(self, have: Any, *, seconds: float) -> Any:
        self.wanted.append(not any(".question" in name for name in have))
        return self.carrier.collect(have, seconds=seconds)

    def deliver(self, name: str, header: Header, letter: Signed) -> None:
        self.carrier.deliver(name, header, letter)


@pytest.mark.parametrize("decided", [(), ("declined",), ("stopped",), ("stopped", "resumed"), ("declined", "stopped")])
def test_no_letter_is_fetched_again_because_an_officer_said_no(scene: Scene, decided: tuple[str, ...]) -> None:
    """When letters are fetched is seen by whoever keeps the mailbox, and must not tell "no" from nothing."""
    exchange = scene.exchange
    proposed = exchange.propose()
    exchange.strangers()  # Makes the ledger.
    watched = Watched(exchange.carrier)
    scene.again(carrier=watched)
    exchange.ask()
    scene.turn()
    for what in decided:
        exchange.decide(what, proposed)
        scene.turn()
    scene.turn()
    assert watched.wanted == [True] + [False] * (len(decided) + 1)
    exchange.decide("resumed", proposed)
    exchange.approve(proposed)
    scene.turn()
    assert watched.wanted[-1], "that the answer is yes is told anyway"


def test_a_paused_study_is_not_tried_which_would_take_a_time_that_shows(tmp_path: Path) -> None:
    scene = Scene(Exchange(tmp_path, rest=EVERY_SECOND))
    exchange = scene.exchange
    proposed = exchange.approve()
    with exchange.holder.ledger() as ledger:
        for number in range(3):
            attempt = Attempt.now(study=proposed.study.hash, name="", question=f"{number:064x}", kind="tables")
            with ledger.transaction() as transaction:
                transaction.begin(attempt)
            ledger.write_failure(attempt, MemoryError())
        assert proposed.study.hash in ledger.summary().paused
    exchange.ask()
    scene.turn()
    assert (scene.computing.jobs, scene.time.slept) == ([], [])
    with exchange.holder.ledger() as ledger:
        decisions.resume(proposed, exchange.holder, ledger, by="mary", reason="")
    scene.turn()
    assert len(scene.computing.jobs) == 1


def test_what_takes_too_long_is_late_also_if_nothing_leaves(tmp_path: Path) -> None:
    """The next question waits for it, so that its asker sees how long it took: no more often than of answers."""
    scene = Scene(Exchange(tmp_path, rest=EVERY_SECOND))
    exchange = scene.exchange
    exchange.approve()
    exchange.ask()
    scene.computing.becomes, scene.computing.takes = Done("withheld", trouble="no memory"), 2.5
    for _ in range(4):
        scene.turn()
        scene.time.now += 300
    assert exchange.happened() == ["approved", "overrun", "overrun", "stopped"]
    assert len(scene.computing.jobs) == 2


def test_a_slot_is_waited_out_also_if_the_ledger_cannot_be_written(tmp_path: Path, monkeypatch: Any) -> None:
    scene = Scene(Exchange(tmp_path, rest=EVERY_SECOND))
    scene.exchange.approve()
    scene.exchange.ask()

    def full(*_: Any, **__: Any) -> None:
        raise LedgerError("north.ledger", found="cannot be written", remedy="make room")

    monkeypatch.setattr(Agent, "_write_down", full)
    scene.turn()
    assert scene.time.slept == [1.0]
    assert any("make room" in line for line in scene.lines)


def test_a_letter_that_was_cut_off_is_looked_at_when_it_is_whole(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Synchronised folders show files before all of their bytes are there."""
    monkeypatch.setattr("panbayes.consortium.agent.carrier._COMPARED", 0.0)
    exchange = scene.exchange
    exchange.approve()
    head, signed = exchange.question()
    stem = exchange.put(head, Signed(signed.data[:-3], signed.signature))
    for _ in range(3):
        scene.turn()
    assert scene.agent.did.turned_away == 1, "counted once while it stays as it is"
    exchange.put(head, signed)
    scene.turn()
    assert exchange.answer(stem) is not None


def test_the_answers_letter_is_bound_to_the_questions(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    head, signed = exchange.question(number=7, round=4)
    stem = exchange.put(head, signed)
    scene.turn()
    found = exchange.answer(stem)
    assert found is not None
    opened = found.open(key("north").public, "answer")
    assert opened is not None
    assert opened.header == Header("answer", head.study, head.analyst, head.holder, 4, 7, signed.digest, sealed=False)
    assert opened.body == REPLY
    assert found.open(key("uni").public, "answer") is None
    (job,) = scene.computing.jobs
    assert (job.study, job.round, job.asker) == (exchange.study.hash, 4, key("uni").public.fingerprint)
    assert Letter.decode(signed.data).body == job.body


def test_answers_are_sealed_to_the_analyst_if_the_holder_says_so(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, top="seal = true")
    exchange.approve()
    stem = exchange.ask()
    Scene(exchange).turn()
    found = exchange.answer(stem)
    assert found is not None
    opened = found.open(key("north").public, "answer")
    assert opened is not None
    assert opened.header.sealed
    assert REPLY not in opened.body
    assert open_sealed(opened.body, key("uni"), header=opened.header.encode()) == REPLY


def test_nothing_leaves_unsealed_because_the_analyst_gave_no_key(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(Exchange, "body", property(lambda _: study_body(VOTING)))
    exchange = Exchange(tmp_path, top="seal = true")
    proposed = exchange.approve()
    stem = exchange.ask()
    scene = Scene(exchange)
    scene.computing.meanwhile = lambda: exchange.decide("resumed", proposed)
    for _ in range(3):
        scene.turn()
    assert scene.computing.jobs == [], "nothing is charged for what cannot leave"
    assert exchange.answer(stem) is None
    assert "holder.toml, seal: is true" in scene.lines[0]


@pytest.mark.parametrize("took", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("became", ["answered", "repeated", "refused", "withheld"])
def test_whatever_became_of_a_question_its_slot_is_waited_out(tmp_path: Path, took: float, became: Any) -> None:
    exchange = Exchange(tmp_path, rest=EVERY_SECOND)
    scene = Scene(exchange)
    exchange.approve()
    stem = exchange.ask()
    scene.computing.takes = took
    scene.computing.before = 17.0
    scene.computing.becomes = Done(became, "aa" * 32, "too-large" if became == "refused" else "", REPLY)
    scene.turn()
    assert scene.time.now == pytest.approx(1000 + 17 + 1, abs=1e-6), "from when it was taken up, not from when it came"
    assert (exchange.answer(stem) is None) == (became == "withheld")
    written = {"answered": [], "withheld": [], "repeated": ["repeated"], "refused": ["refused"]}[became]
    assert exchange.happened() == ["approved", *written]


def test_an_overrun_is_an_event_and_the_second_stops_the_study_until_an_officer_resumes_it(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, rest=EVERY_SECOND)
    scene = Scene(exchange)
    proposed = exchange.approve()
    scene.computing.promise, scene.computing.takes = 1.7, 4.5
    stems = [exchange.ask(number=number) for number in range(1, 6)]
    scene.turn()
    assert scene.time.now == pytest.approx(1000 + 6), "three slots of two seconds"
    assert exchange.happened() == ["approved", "overrun"]
    scene.turn()
    assert exchange.happened() == ["approved", "overrun", "overrun", "stopped"]
    assert exchange.answer(stems[1]) is None, "a stop takes effect at once"
    with exchange.holder.ledger() as ledger:
        events = ledger.events()
    assert events[-2].said == {"promised": 1, "needed": 3}
    assert (events[-1].said or {})["by"] == "agent"
    scene.turn()
    assert len(scene.computing.jobs) == 2
    exchange.decide("resumed", proposed)
    scene.computing.takes = 0.1
    while scene.turn():
        pass
    assert [exchange.answer(stem) is not None for stem in stems] == [True] * 5
    scene.computing.takes = 4.5
    exchange.ask(number=9)
    scene.turn()
    assert exchange.happened()[-1] == "overrun", "counted anew since it was resumed"
    exchange.ask(number=10)
    scene.turn()
    assert exchange.happened()[-2:] == ["overrun", "stopped"]


@pytest.mark.parametrize("became", ["answered", "repeated"])
def test_one_moment_decides_whether_an_answer_is_late_and_when_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, became: Any
) -> None:
    """Opening and closing the ledger takes longer than what is left of the slot: none is late uncounted."""
    exchange = Exchange(tmp_path, rest=EVERY_SECOND)
    scene = Scene(exchange)
    exchange.approve()
    opened, closed = HolderFile.ledger, Ledger.close

    def slow(holder: HolderFile) -> Ledger:
        scene.time.now += 0.15 if scene.computing.jobs else 0.0
        return opened(holder)

    def slow_too(ledger: Ledger) -> None:
        scene.time.now += 0.15 if scene.computing.jobs else 0.0
        closed(ledger)

    monkeypatch.setattr(HolderFile, "ledger", slow)
    monkeypatch.setattr(Ledger, "close", slow_too)
    left: list[float] = []

    def deliver(_outgoing: Any) -> None:
        left.append(scene.time.now)

    for number, took in enumerate([0.5, 0.6, 0.65, 0.75, 0.9, 1.0], start=1):
        scene.time.now, scene.computing.jobs, scene.computing.takes = 1000.0 * number, [], took
        scene.computing.becomes = Done(became, f"{number:064}", "", REPLY)
        monkeypatch.setattr(scene.agent, "_deliver", deliver)
        before = exchange.happened().count("overrun")
        exchange.ask(number=number)
        scene.turn()
        late = left[-1] > 1000 * number + 1 + 1e-6
        assert (left[-1] - 1000 * number) % 1 == pytest.approx(0, abs=1e-6), "on the grid"
        assert late == (exchange.happened().count("overrun") > before), took
        for study in {event.study for event in _events(exchange)}:
            with opened(exchange.holder) as ledger:
                ledger.write_event("resumed", {"by": "mary", "reason": "a test"}, study=study)


@dataclass
class Ticking(Time):
    """A clock by which every look at it takes its time."""

    def monotonic(self) -> float:
        self.now += 0.001
        return self.now


def test_no_second_look_at_the_clock_decides_when_an_answer_leaves(tmp_path: Path) -> None:
    """Whatever a look finds that comes after the one that counted: what is no overrun leaves in its slot."""
    exchange = Exchange(tmp_path, rest=EVERY_SECOND)
    scene = Scene(exchange, time=Ticking())
    exchange.approve()
    for number in range(1, 13):
        scene.computing.takes = 0.9905 + number / 1000
        before, start = exchange.happened().count("overrun"), scene.time.now
        exchange.ask(number=number)
        scene.turn()
        assert (scene.time.now > start + 1.5) == (exchange.happened().count("overrun") > before), number
        if exchange.happened()[-1] == "stopped":
            break
    assert exchange.happened().count("overrun") == 2, "the slot's end lies among them"


def _events(exchange: Exchange) -> tuple[Any, ...]:
    with exchange.holder.ledger() as ledger:
        return ledger.events()


def test_without_a_grid_answers_leave_at_once_and_nothing_is_late(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    exchange.ask()
    scene.computing.takes = 5.0
    scene.turn()
    assert scene.time.now == 1005
    assert exchange.happened() == ["approved"]


def test_what_the_process_finds_misaddressed_is_turned_away(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    scene.computing.becomes = Done("misaddressed", "aa" * 32)
    stem = exchange.ask()
    for _ in range(3):
        scene.turn()
        scene.time.now += 100
    assert len(scene.computing.jobs) == 1
    assert exchange.answer(stem) is None
    assert exchange.strangers() == {"misaddressed": 1}


def test_strangers_are_written_down_once_a_minute_and_at_the_end(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.ask(number=1)
    for number in range(2, 12):
        exchange.ask(number=number, by="south")
    while scene.turn():
        pass
    assert exchange.strangers() == {}
    scene.time.now += 61
    scene.turn()
    assert exchange.strangers() == {"unapproved": 1, "unknown": 10}
    scene.agent.flush()
    assert exchange.strangers() == {"unapproved": 1, "unknown": 10}, "each once"


class Refusing(FolderCarrier):
    """A folder that is full at times."""

    full = True

    def deliver(self, name: str, header: Header, letter: Signed) -> None:
        if self.full:
            raise CarrierError("DIR", found="is full", remedy="make room")
        super().deliver(name, header, letter)


def test_an_answer_that_could_not_be_handed_over_goes_later_without_being_computed_again(scene: Scene) -> None:
    exchange = scene.exchange
    carrier = Refusing(exchange.folder, exchange.holder.public)
    carrier.full = False
    exchange.approve()
    scene.again(carrier=carrier)
    scene.turn()
    stem = exchange.ask()
    carrier.full = True
    for _ in range(3):
        scene.turn()
        assert scene.agent.failed is not None
    with pytest.raises(CarrierError):
        answer_all(scene.agent)
    carrier.full = False
    scene.turn()
    assert scene.agent.failed is None
    assert exchange.answer(stem) is not None
    assert len(scene.computing.jobs) == 1
    assert exchange.happened() == ["approved"]


def test_no_further_question_is_taken_up_while_many_answers_wait_for_room(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    scene.again(carrier=Refusing(exchange.folder, exchange.holder.public))
    for number in range(1, 30):
        exchange.ask(number=number)
    for _ in range(8):
        scene.turn()
    with pytest.raises(CarrierError):
        scene.turn()
    assert len(scene.computing.jobs) == 8


def test_an_answer_that_waits_for_room_does_not_leave_after_a_stop(scene: Scene) -> None:
    exchange = scene.exchange
    carrier = Refusing(exchange.folder, exchange.holder.public)
    carrier.full = False
    proposed = exchange.approve()
    scene.again(carrier=carrier)
    scene.turn()
    stem = exchange.ask()
    carrier.full = True
    scene.turn()
    exchange.decide("stopped", proposed)
    carrier.full = False
    scene.turn()
    assert exchange.answer(stem) is None


def test_approvals_are_handed_over_once_and_after_a_restart_again(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    scene.turn()
    stem = f"{exchange.study.hash[:12]}-000000"
    path = exchange.folder.path / "from-north" / f"{stem}.approval"
    first = path.read_bytes()
    path.unlink()
    scene.turn()
    assert not path.exists()
    scene.again()
    scene.turn()
    assert path.read_bytes() == first


def test_an_approval_that_no_longer_holds_is_not_told(scene: Scene) -> None:
    exchange = scene.exchange
    proposed = exchange.approve()
    exchange.decide("declined", proposed)
    scene.turn()
    path = exchange.folder.path / "from-north" / f"{exchange.study.hash[:12]}-000000.approval"
    assert not path.exists()
    exchange.approve(proposed)
    scene.turn()
    assert path.exists()


def test_an_answer_that_the_folder_lost_is_given_again(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    stem = exchange.ask()
    scene.turn()
    path = exchange.folder.path / "from-north" / f"{stem}.answer"
    first = path.read_bytes()
    path.unlink()
    scene.time.now += 60
    scene.turn()
    assert path.read_bytes() == first


def test_an_answer_that_was_lost_after_it_went_late_is_given_again_within_seconds(scene: Scene) -> None:
    """However long a letter has rested, for an officer or for room: who lost its answer does not wait so long."""
    exchange = scene.exchange
    carrier = Refusing(exchange.folder, exchange.holder.public)
    exchange.approve()
    scene.again(carrier=carrier)
    carrier.full = False
    scene.turn()
    stem = exchange.ask()
    carrier.full = True
    scene.turn()
    carrier.full = False
    scene.turn()
    path = exchange.folder.path / "from-north" / f"{stem}.answer"
    path.unlink()
    scene.time.now += 11
    scene.turn()
    assert path.exists()


def test_a_single_run_comes_to_its_end_whatever_lies_there(scene: Scene) -> None:
    exchange = scene.exchange
    proposed = exchange.propose()
    exchange.ask(number=1)
    exchange.ask(number=2, by="south")
    exchange.decide("stopped", proposed)
    scene.again(again=False)
    answer_all(scene.agent)
    assert exchange.strangers() == {"unapproved": 1, "unknown": 1}
    assert (len(scene.agent.did.waiting), scene.agent.did.turned_away) == (1, 1)


def test_a_rehearsal_writes_nothing_down(scene: Scene) -> None:
    exchange = scene.exchange
    exchange.approve()
    scene.again(simulated=True)
    scene.computing.becomes = Done("repeated", "aa" * 32, "", REPLY)
    stem = exchange.ask()
    exchange.ask(number=2, by="south")
    while scene.turn():
        pass
    scene.agent.flush()
    assert exchange.answer(stem) is not None
    assert exchange.happened() == ["approved"]
    assert exchange.strangers() == {}


def test_a_letter_that_is_too_long_for_a_question_is_not_looked_at(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = scene.exchange
    exchange.approve()
    stem = exchange.ask()
    (found,) = [one for one in exchange.carrier.collect((), seconds=0) if one.kind == "question"]
    monkeypatch.setitem(LIMITS, "question", len(found.letter.data))
    read_question(found, exchange.holder)
    monkeypatch.setitem(LIMITS, "question", len(found.letter.data) - 1)
    with pytest.raises(NotArrivedError) as refused:
        read_question(found, exchange.holder)
    assert refused.value.what == "unreadable"
    scene.turn()
    assert scene.computing.jobs == []
    assert exchange.answer(stem) is None
