"""A service whose machine is against it: signals, pauses, a state that is moved away, a disk that is full."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import soak, some
from tests.service.running_service import RunningService, density, open_state, running
from tests.service.test_services import HTTP, ids

FULL = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
int msync(void *start, size_t length, int flags) {
  static int (*real)(void *, size_t, int);
  if (!real) real = dlsym(RTLD_NEXT, "msync");
  if (access(getenv("DISK_IS_FULL"), F_OK) == 0) { errno = ENOSPC; return -1; }
  return real(start, length, flags);
}
"""


@soak
def test_signals_pauses_and_another_file_change_nothing_and_many_wishes_to_stop_are_one(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service:
        service.process.send_signal(signal.SIGUSR1)
        service.process.send_signal(signal.SIGUSR2)
        assert service.post(ids(0, 100)) == 204
        service.process.send_signal(signal.SIGSTOP)
        answers: list[int] = []
        client = threading.Thread(target=lambda: answers.append(service.post(ids(100, 300))))
        client.start()
        client.join(2.0)
        assert client.is_alive(), "what is stopped answers nothing"
        service.process.send_signal(signal.SIGCONT)
        client.join(60)
        (tmp_path / "service.toml").write_text("this is no file of a service")
        answers.append(service.post(ids(300, 400)))
        assert answers == [204, 204]
        while service.process.poll() is None:
            service.process.send_signal(signal.SIGINT)
            service.process.send_signal(signal.SIGTERM)
            time.sleep(0.0005)
        assert (service.process.poll(), "Traceback" in service.told) == (0, False), service.told
        assert service.told.endswith("stopped; everything that was taken in is on the disk\n")
    assert density(tmp_path / "a.state") == pytest.approx(0.4, abs=0.015)


def acknowledged(service: RunningService, body: bytes) -> bool:
    """Tell whether a body was; one that comes when the service has ended is not."""
    try:
        return service.post(body) != 503
    except OSError:
        return False


def removed(state: Path) -> None:
    state.unlink()


def replaced(state: Path) -> None:
    state.rename(state.with_name("old"))
    open_state(state)


@pytest.mark.parametrize("how", some([removed, replaced], 1))
def test_nothing_is_acknowledged_that_would_be_lost_with_the_process(
    how: Callable[[Path], None], tmp_path: Path
) -> None:
    """The mapped file lives on without its name, and what it takes in would be gone when the service ends."""
    open_state(tmp_path / "a.state")
    with running(tmp_path, f"beat = 1.0\n{HTTP}") as service:
        assert service.post(ids(0, 100)) == 204
        how(tmp_path / "a.state")
        assert not acknowledged(service, ids(100, 300))
        assert service.process.wait(60) == 2
        assert service.told.splitlines()[-1].startswith(
            "error: a.state: is not the file any more that was opened: it was moved, removed or replaced meanwhile; "
        )
    if how is replaced:
        (tmp_path / "old").rename(tmp_path / "a.state")
        assert density(tmp_path / "a.state") >= 0.085


@soak
def test_a_disk_that_takes_nothing_ends_the_service_before_anything_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to make a full disk with")
    (tmp_path / "full.c").write_text(FULL)
    made = [compiler, "-shared", "-fPIC", "-o", str(tmp_path / "full.so"), str(tmp_path / "full.c"), "-ldl"]
    subprocess.run(made, check=True)
    open_state(tmp_path / "a.state")
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "full.so"))
    monkeypatch.setenv("DISK_IS_FULL", str(tmp_path / "full"))
    with running(tmp_path, f"beat = 1.0\n{HTTP}") as service:
        assert service.post(ids(0, 100)) == 204
        (tmp_path / "full").touch()
        assert not acknowledged(service, ids(100, 300))
        assert service.process.wait(60) == 2
        assert service.told.splitlines()[-1] == (
            "error: reading or writing: the system refused (no space left on device); make room, or look after its "
            "permissions"
        )
