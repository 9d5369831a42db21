"""The commands of ``panbayes``: what ``--help`` lists, and where each verb is found.

A verb's module is imported when the verb is called and not before, so that ``panbayes --help`` starts at once: the
table :data:`CONTENTS` holds the summary of each, and a test compares it with the verb's own. A verb's module has one
function, ``register(app)``, that adds its command or group of commands; to add a verb is to write that module and to
give it a line in the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Final

import typer

from panbayes._version import __version__
from panbayes.cli.help import Command, Root

__all__ = ["CONTENTS", "build"]

CONTENTS: Final = {
    "Learn together": {
        "schema": "Draft a public schema from a table, check a table against one, or ask for proposals privately.",
        "omop": "Describe people in an OMOP database by public features, and write their schema.",
        "study": "Write the study file that holders agree on, or show what it asks.",
        "plan": "Foresee what a study will spend, how wrong its network will be, and what it takes.",
        "learn": "Learn a private network from the tables of one or more holders.",
        "keygen": "Make a key that signs letters between institutions.",
        "analyst": "Learn from holders elsewhere, by signed letters.",
        "holder": "Set up a holder, decide on studies, and look after its ledger of privacy spent.",
    },
    "Use a model": {
        "show": "Show a model: its structure, its privacy statement, and how wrong its probabilities may be.",
        "query": "Ask a model for the probability of attributes, given others, and how wrong it may be.",
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
        cls=Root,
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
