"""Processes that compute and get stuck: as ``python -m`` starts them, where ``PANBAYES_TEST_HANGS`` says how."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from panbayes.consortium.agent.pipe import Done, Job, Promise, Said, Taken, Writes, receive_job, send


def _for_ever() -> None:
    while True:
        time.sleep(60)


def _answered_and_stuck(mark: Path) -> None:
    """Answer as always, but for the first time: then say nothing of what was answered and charged."""
    from panbayes.consortium.agent import working

    def sending(pipe: Writes, message: Job | Said) -> None:
        if isinstance(message, Done) and not mark.exists():
            mark.touch()
            _for_ever()
        send(pipe, message)

    vars(working)["send"] = sending
    working.main(sys.argv[1:])


def main(how: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    jobs, said = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    if how == "deaf":
        _for_ever()
    assert receive_job(jobs) is not None
    if how == "mute":
        _for_ever()
    send(said, Taken())
    if how == "reading":
        _for_ever()
    send(said, Promise(0.001))
    if how == "half a word":
        said.write((1000).to_bytes(8, "big") + b"x")
        said.flush()
    _for_ever()


if __name__ == "__main__":
    found = os.environ["PANBAYES_TEST_HANGS"]
    if found.startswith("/"):
        _answered_and_stuck(Path(found))
    else:
        main(found)
