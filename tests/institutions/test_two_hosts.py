"""Two hosts for real: the analyst in one network namespace, a holder in another, and a cable between them.

Each has an address of its own, and neither can reach anything else. Needs the right to make namespaces (root, and a
system that allows it); skipped with a message where that is not so.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.institutions.invariants import check
from tests.institutions.parties import Consortium, Terms, until

NETWORK = "10.213.97"
ANALYST, NORTH = f"{NETWORK}.1", f"{NETWORK}.2"


def ip(*words: str) -> bool:
    return subprocess.run(["ip", *words], capture_output=True, check=False, timeout=30).returncode == 0


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[str, str]]:
    """The names of two namespaces that are joined by a cable."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("no two hosts here: network namespaces need root and the command ip")
    mark = secrets.token_hex(3)
    names, cable = (f"pb-{mark}-a", f"pb-{mark}-n"), (f"pba{mark}", f"pbn{mark}")
    with ExitStack() as stack:
        for name in names:
            if not ip("netns", "add", name):
                pytest.skip("no two hosts here: the system does not let us make network namespaces")
            stack.callback(ip, "netns", "del", name)
        made = ip(
            "link", "add", cable[0], "netns", names[0], "type", "veth", "peer", "name", cable[1], "netns", names[1]
        )
        for name, end, address in zip(names, cable, (ANALYST, NORTH), strict=True):
            made = made and ip("-n", name, "addr", "add", f"{address}/30", "dev", end)
            made = made and ip("-n", name, "link", "set", end, "up") and ip("-n", name, "link", "set", "lo", "up")
        if not made:
            pytest.skip("no two hosts here: the system does not let us join network namespaces")
        yield names


def test_a_study_between_two_hosts_over_tls(hosts: tuple[str, str], tmp_path: Path) -> None:
    analyst, north = (["ip", "netns", "exec", host] for host in hosts)
    box = Consortium.make(
        tmp_path / "box",
        names=("north",),
        terms=Terms("noisy-sufficient-statistics"),
        port=8443,
        url=f"https://{ANALYST}:8443",
    )
    box.analyst.done("analyst", "certificate", ANALYST, "-o", "mailbox")
    shutil.copy(box.analyst.folder / "mailbox.pem", box.holders["north"].folder)
    box.approve(box.propose())
    try:
        agent = box.holders["north"].start("holder", "serve", before=north)
        until(lambda: "cannot be reached" in agent.said or not agent.alive, f"there is no mailbox yet\n{agent.said}")
        server = box.analyst.start(*box.serving(host=ANALYST), log="server", before=analyst)
        server.until_said("serving")
        learning = box.analyst.start(*box.learning("--wait"), log="learn", before=analyst)
        assert learning.wait() == 0, learning.said
        until(lambda: "answered" in agent.said, "the agent says that it answered")
        left = {"north": [path.read_bytes() for path in (box.post / "from-north").glob("*.answer")]}
        assert check(box, left) == 1
    finally:
        box.end()
