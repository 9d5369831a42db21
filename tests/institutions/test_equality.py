"""The same study and the same seed: in one process, over a folder and over a mailbox, to the last bit one network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import some
from tests.institutions.invariants import network_of
from tests.institutions.parties import Consortium, Terms

SEED = "7"
STUDIES = {
    "voting": Terms("noisy-majority-voting"),
    "counts": Terms("noisy-sufficient-statistics"),
    "adaptive": Terms("adaptive", lines='choices = "together"\n'),
}

NAMES = some(STUDIES, 1)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """Two holders that have approved three studies."""
    made = Consortium.make(tmp_path_factory.mktemp("equal") / "box", terms=Terms(cap=100.0))
    made.certificate()
    for name, terms in STUDIES.items():
        made.approve(made.propose(made.study_file(name, terms), "--simulated"))
    return made


def in_process(box: Consortium, name: str) -> Path:
    holders = [f"--holder={holder}={party.folder / 'patients.csv'}" for holder, party in box.holders.items()]
    box.analyst.done("learn", f"{name}.toml", *holders, "--simulate", SEED, "-o", f"{name}-here.json")
    return box.analyst.folder / f"{name}-here.json"


@pytest.fixture(scope="module")
def folder_models(box: Consortium) -> dict[str, Path]:
    """Learn by a folder: once by commands that end and are run again, else by agents that go on."""
    words = box.learning("--simulated", study="counts.toml", output="counts-folder.json")
    while box.analyst.here(*words).returncode == 6:
        for party in box.holders.values():
            party.done("holder", "answer", box.post, "--simulate", SEED)
    return _learned(box, "folder", ["--post", str(box.post)], post="post", state="state")


@pytest.fixture(scope="module")
def mailbox_models(box: Consortium, folder_models: dict[str, Path]) -> dict[str, Path]:
    """Learn over TLS on loopback, from the beginning: another folder, another journal, processes that go on."""
    assert folder_models
    words = box.serving()
    words[words.index("post")] = "letters"
    server = box.analyst.start(*words, log="server")
    server.until_said("serving")
    return _learned(box, "mailbox", [], post="letters", state="elsewhere")


def _learned(box: Consortium, way: str, words: list[str], *, post: str, state: str) -> dict[str, Path]:
    try:
        for party in box.holders.values():
            party.start("holder", "serve", *words, "--simulate", SEED)
        for name in NAMES:
            learning = box.learning("--wait", "--simulated", study=f"{name}.toml", output=f"{name}-{way}.json")
            learning[learning.index("post")], learning[learning.index("state")] = post, state
            box.analyst.done(*learning)
    finally:
        box.end()
    return {name: box.analyst.folder / f"{name}-{way}.json" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_folder_mailbox_and_one_process_give_one_network(
    name: str, box: Consortium, folder_models: dict[str, Path], mailbox_models: dict[str, Path]
) -> None:
    here = network_of(in_process(box, name))
    assert network_of(folder_models[name]) == here
    assert network_of(mailbox_models[name]) == here
    box.analyst.done("learn", f"{name}.toml", *_holders(box), "--simulate", "8", "-o", f"{name}-other.json")
    assert network_of(box.analyst.folder / f"{name}-other.json") != here, "another seed gives another network"


def _holders(box: Consortium) -> list[str]:
    return [f"--holder={holder}={party.folder / 'patients.csv'}" for holder, party in box.holders.items()]


def test_nobody_was_charged_for_a_rehearsal(box: Consortium, mailbox_models: dict[str, Path]) -> None:
    from tests.institutions.invariants import entries_of

    assert all(path.is_file() for path in mailbox_models.values())
    assert all(entries_of(box.ledger(name)) == [] for name in box.holders)


def test_an_analyst_takes_no_simulated_release_for_a_real_one(tmp_path: Path) -> None:
    box = Consortium.make(tmp_path / "box", names=("north",), terms=Terms("noisy-sufficient-statistics"))
    box.approve(box.propose())
    box.holders["north"].done("holder", "answer", box.post, "--simulate", SEED)
    assert list(box.post.glob("from-north/*.answer"))
    done = box.analyst.here(*box.learning())
    assert done.returncode == 4, done
    assert "simulated" in done.stderr
    assert "north is out of this study" in done.stderr
    assert not (box.analyst.folder / "model.json").exists()
