"""The command ``panbayes``: finds the verb, runs it, and turns errors into one line and an exit code.

========= =====================================================================
exit code meaning
========= =====================================================================
0         done
1         a bug in panbayes, or interrupted
2         something the user gave is wrong: an argument, a file, a combination
3         a holder refused; the message has its name, a code and its reason
4         a holder failed, answered garbage or simulated its noise
5         a ledger cannot be used: damaged, edited, of other records, or in use
========= =====================================================================

A verb's module is imported when the verb is called and not before, so that ``panbayes --help`` starts at once: the
table :data:`CONTENTS` holds the summary of each, and a test compares it with the verb's own. A verb's module has one
function, ``register(app)``, that adds its command or group of commands; to add a verb is to write that module and to
give it a line in the table.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from traceback import extract_tb, print_exception
from types import TracebackType
from typing import Annotated, Final

import typer
from typer.main import get_command

from panbayes._version import __version__
from panbayes.cli.help import Command, Group
from panbayes.errors import PanbayesError

__all__ = ["CONTENTS", "build", "run"]

CONTENTS: Final = {
    "Learn together": {
        "schema": "Draft a public schema from a table, or check a table against one.",
        "study": "Write the study file that holders agree on, or show what it asks.",
        "learn": "Learn a private network from the tables of one or more holders.",
        "holder": "Look after what a holder keeps: its ledger of privacy spent.",
    },
    "Use a model": {
        "show": "Show a model: its structure and its privacy statement.",
        "query": "Ask a model for the exact probability of attributes, given others.",
        "sample": "Draw synthetic records from a model, also given evidence.",
        "classify": "Predict an attribute of every record in a file from all the others.",
        "score": "Score a model on test records: bits per record, lower is better.",
        "export": "Write a model as BIF, which pgmpy, pyAgrum and others read.",
    },
    "Count users of a stream": {
        "stream": "Count distinct users of a stream; the state itself is private.",
    },
    "Try it": {
        "demo": "Run the main job on generated data and show what it did.",
        "dataset": "Write a public dataset and its schema, ready to use.",
    },
}
"""What ``panbayes --help`` lists: headings, verbs and their summaries, in the order of the job."""


def build(verb: str | None) -> typer.Typer:
    """Build the command line with one verb loaded and the others as names only."""
    app = typer.Typer(
        name="panbayes",
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for heading, verbs in CONTENTS.items():
        for name, summary in verbs.items():
            if name == verb:
                import_module(f"panbayes.cli.verbs.{name}").register(app)
            else:
                app.command(name, cls=Command, help=summary, rich_help_panel=heading)(_not_loaded)
    return app


def _not_loaded() -> None:
    """Stand in for a verb that was not called."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"panbayes {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Learn about a population without holding anything that could betray a person in it.

    Every command has examples in its own help: panbayes COMMAND --help.

    Examples:
        panbayes demo
        panbayes learn --help
    """


def _report_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an unexpected error without its message or traceback, which may show private values."""
    if os.environ.get("PANBAYES_DEBUG"):
        print_exception(kind, error, trace)
        return
    frames = extract_tb(trace)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    typer.echo(
        f"internal error: {kind.__name__}{where}; this is a bug in panbayes {__version__}. PANBAYES_DEBUG=1 shows "
        "the traceback, which may contain private values: look at it before you share it.",
        err=True,
    )


def run() -> None:
    """Run the command line and exit."""
    sys.excepthook = _report_bug
    try:
        # Not app(): Typer would put its own hook in place of ours, and show tracebacks.
        # A verb comes first: the options before one, --version and --help, need none.
        get_command(build(sys.argv[1] if len(sys.argv) > 1 else None))(prog_name="panbayes")
    except PanbayesError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone (panbayes … | head): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
