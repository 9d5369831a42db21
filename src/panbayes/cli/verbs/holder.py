"""``panbayes holder``: the holder's side between institutions, and what a holder keeps."""

from __future__ import annotations

import typer

from panbayes.cli.help import add_command, new_group
from panbayes.cli.holder import dataset, ledger
from panbayes.cli.holder.agent import answer, serve
from panbayes.cli.holder.approve import approve
from panbayes.cli.holder.deciding import decline, resume, stop
from panbayes.cli.holder.init import init
from panbayes.cli.holder.log import log
from panbayes.cli.holder.officers import officers
from panbayes.cli.holder.pending import pending

__all__ = ["register"]

HELP = """Set up a holder, decide on studies, and look after its ledger of privacy spent.

Between institutions a holder has a file, holder.toml, that says who it is and whom it listens to. Nothing is answered
that its officers have not approved. In one process, with panbayes learn, only its ledger is kept.

Examples:
    panbayes holder ledger show
"""


def register(app: typer.Typer) -> None:
    """Add the group ``holder``."""
    group = new_group(HELP)
    for command in (init, pending, approve, stop, resume, decline, answer, serve, log, officers):
        add_command(group, command)
    ledger.register(group)
    dataset.register(group)
    app.add_typer(group, name="holder")
