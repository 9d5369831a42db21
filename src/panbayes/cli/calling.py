"""One call of the command: what goes wrong becomes one line on standard error and an exit code.

Whatever is shown passes through :func:`panbayes.errors.visible`: no name in a file can write lines of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb, print_exception
from types import TracebackType
from typing import TypeAlias

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from panbayes._version import __version__
from panbayes.cli.commands import build
from panbayes.cli.kernels import announce_compiling
from panbayes.cli.text import accept_every_character, complain, discard_output
from panbayes.cli.usage import explain_usage
from panbayes.errors import ExitCode, InputError, PanbayesError
from panbayes.kernel_cache import ensure_cache

__all__ = ["Build", "call", "report_bug"]

Build: TypeAlias = Callable[[str | None], typer.Typer]
"""What builds a command line, given the verb that is called."""


def call(arguments: list[str], *, app: Build | None = None, name: str = "panbayes") -> int:
    """Run what some arguments ask of the command ``app``, panbayes itself by default, and return the exit code.

    ``name`` is how people call the command.
    """
    accept_every_character()
    with _Ending() as ending:
        ending.code = _call(arguments, app or build, name)
    return ending.code


class _Ending:
    """Ends a block whatever happens in it, says what went wrong, and keeps the exit code."""

    code: int = ExitCode.DONE

    def __enter__(self) -> _Ending:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        match error:
            case None | SystemExit() | KeyboardInterrupt():
                return False
            case PanbayesError():
                self.code = error.exit_code
                complain(str(error) if self.code == ExitCode.WAITING else f"error: {error}")
            case OSError():
                # What the system refuses is no bug: a disk or a pipe is full, a file is locked, a limit is reached.
                self.code = ExitCode.INPUT
                discard_output()
                complain(f"error: {_refusal(error)}")
            case _:
                self.code = ExitCode.BUG
                report_bug(type(error), error, trace)
        return True


def _call(arguments: list[str], app: Build, name: str) -> int:
    if any("\0" in argument for argument in arguments):
        raise InputError("arguments", found="found a NUL character", remedy="leave it out: no file's name has one")
    ensure_cache()
    # A verb comes first: the options before one, --version and --help, need none.
    command = get_command(app(arguments[0] if arguments else None))
    announce_compiling()
    try:
        # Not app(): Typer would put its own hook in place of ours, and show tracebacks.
        code = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except TyperException as error:
        return explain_usage(error)
    except SystemExit:
        # Typer's only one: the reader of our output has gone (panbayes … | head), and nobody is left to tell.
        discard_output()
        return ExitCode.DONE
    return code if isinstance(code, int) else ExitCode.DONE


def _refusal(error: OSError) -> InputError:
    reason = (error.strerror or type(error).__name__).lower()
    name = "reading or writing" if error.filename is None else os.fsdecode(error.filename)
    return InputError(name, found=f"the system refused ({reason})", remedy="make room, or look after its permissions")


def report_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an unexpected error without its message or traceback, which may show private values."""
    if os.environ.get("PANBAYES_DEBUG"):
        print_exception(kind, error, trace)
        return
    frames = extract_tb(trace)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    complain(
        f"internal error: {kind.__name__}{where}; this is a bug in panbayes {__version__}. PANBAYES_DEBUG=1 shows "
        "the traceback, which may contain private values: look at it before you share it."
    )
