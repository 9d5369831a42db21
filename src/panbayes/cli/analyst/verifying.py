"""``panbayes analyst verify``: whether holders signed what a model was learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from panbayes.cli.analyst.enrolling import RosterFile
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.text import emit, plural
from panbayes.consortium.desk.roster import Roster
from panbayes.errors import ExitCode, InputError

if TYPE_CHECKING:
    from panbayes.consortium.desk.receipts import Checked

__all__ = ["verify"]


def verify(model: ModelFile, roster: RosterFile = Path("roster"), as_json: AsJson = False) -> None:
    """Check the signatures of the answers that a model was learned from; exit with 1 if one does not hold.

    The model carries them, and the SHA-512 of every letter; the roster says whose key is whose.

    Examples:
        panbayes analyst verify model.json
    """
    # Loaded here for the sake of the mailbox, which does without.
    from panbayes.bayesnet.network import Network
    from panbayes.consortium.desk.receipts import check_receipts

    network = Network.load(model)
    if network.receipts is None:
        raise InputError(
            str(model), found="carries no signatures", remedy="give a model that panbayes analyst learn has written"
        )
    found = check_receipts(network.receipts, Roster.load(roster), named=network.about.get("holders", ""))
    sound = not any(one.faults for one in found)
    holders = [
        {"name": one.name, "fingerprint": one.fingerprint, "answers": one.answers, "faults": list(one.faults)}
        for one in found
    ]
    emit(
        {"model": str(model), "sound": sound, "study": network.receipts.study, "holders": holders},
        [f"{model}: study {network.receipts.study[:12]}.", *map(_line, found)],
        as_json=as_json,
    )
    if not sound:
        raise typer.Exit(ExitCode.NO)


def _line(one: Checked) -> str:
    if one.faults:
        return f"  {one.name}: NOT AS SIGNED: {'; '.join(one.faults)}"
    if not one.answers:
        return f"  {one.name} ({one.fingerprint}): no answer of it was used."
    return f"  {one.name} ({one.fingerprint}) signed {plural(one.answers, 'answer')}, every signature holds."
