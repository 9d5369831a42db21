"""``panbayes analyst``: learn from holders elsewhere, by letters."""

from __future__ import annotations

import typer

from panbayes.cli.analyst.enrolling import enroll, roster
from panbayes.cli.analyst.learning import learn
from panbayes.cli.analyst.serving import certificate, serve
from panbayes.cli.analyst.verifying import verify
from panbayes.cli.help import add_command, new_group

__all__ = ["register"]

HELP = """Learn from holders elsewhere, by signed letters.

Letters lie in a folder that both sides reach, or that serve lets holders reach by HTTPS. Before the first study every
holder is enrolled with the key that it answers with; its name and key are then in the roster.

Examples:
    panbayes analyst enroll north north.pub
    panbayes analyst learn study.toml --post letters -o model.json
"""

COMMANDS = (enroll, roster, learn, verify, serve, certificate)


def register(app: typer.Typer) -> None:
    """Add the group ``analyst``."""
    group = new_group(HELP)
    for command in COMMANDS:
        add_command(group, command)
    app.add_typer(group, name="analyst")
