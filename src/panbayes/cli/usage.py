"""What is said where a command is called in a way that it cannot be: one line, as for everything else that is wrong."""

from __future__ import annotations

from typer.exceptions import TyperException

from panbayes.cli.text import complain
from panbayes.errors import ExitCode

__all__ = ["explain_usage"]


def explain_usage(error: TyperException) -> int:
    """Say what is wrong with a call and where to read on; with nothing to call, show the page of help itself."""
    told = error.format_message()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        complain(*told.splitlines())
        return ExitCode.INPUT
    path = context.command_path if context is not None else "panbayes"
    told = " ".join(told.split()).rstrip(".?")
    complain(f"error: {told[:1].lower()}{told[1:]}; see `{path} --help`")
    return ExitCode.INPUT
