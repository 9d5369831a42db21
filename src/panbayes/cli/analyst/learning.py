"""``panbayes analyst learn``: a study and a folder of letters in, a model out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.analyst.enrolling import KeyFile, RosterFile
from panbayes.cli.arguments import AsJson
from panbayes.cli.text import complain, emit, plural, working
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.errors import HolderOutError, InputError, nearest
from panbayes.files import output_file, writing

__all__ = ["learn"]


def learn(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The study file (TOML), as panbayes study new writes it.")
    ],
    post: Annotated[Path, typer.Option("--post", metavar="DIR", help="The folder that letters lie in.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The model file to write, such as model.json.")
    ],
    holder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A holder that takes part. Repeatable. The same for every run of a study.",
            show_default="all of the roster",
        ),
    ] = None,
    roster: RosterFile = Path("roster"),
    key: KeyFile = Path("analyst.key"),
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FOLDER",
            help="Where the journal of the study is kept.",
            show_default="the user's state directory",
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until all holders have answered, instead of ending with exit code 6.")
    ] = False,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="NOT PRIVATE: take answers with simulated noise, and no others.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn a private network from holders elsewhere, by letters in a folder.

    The first run proposes the study to every holder. Each run puts what is to be asked next into the folder and takes
    what was answered; while answers are missing it ends with exit code 6 and says who is waited for. Run the same
    command again to go on: nothing that was answered is asked twice, and the model is the same however often a run was
    interrupted. The model carries what the holders signed.

    Examples:
        panbayes analyst learn study.toml --post letters -o model.json
        panbayes analyst learn study.toml --post letters -o model.json \\
            --holder north --holder south --wait
    """
    # What learns is loaded here: the mailbox, in the same group of commands, does without it.
    from panbayes.bayesnet.formats.files import format_of
    from panbayes.cli.models import about, to_json
    from panbayes.consortium.agreement.study import Study
    from panbayes.consortium.desk.learning import AwaitedError, learn_by_letters

    agreed = Study.load(study)
    folder = Folder.at(post)
    private = PrivateKey.load(key, argument="--key")
    holders = _chosen(Roster.load(roster), holder)
    inputs = (study, agreed.schema.source, roster, key)
    try:
        with output_file(output, inputs=inputs, private=simulated) as temporary:
            with working(f"learning from {plural(len(holders), 'holder')}"):
                network = learn_by_letters(
                    agreed,
                    holders,
                    key=private,
                    folder=folder,
                    state=state,
                    wait=wait,
                    simulated=simulated,
                    tell=complain,
                )
            data = format_of(output).encode(network)
            with writing(output):
                temporary.write_bytes(data)
    except AwaitedError as error:
        if as_json:
            emit({"model": None, "waiting": error.standing, "out": error.out}, [], as_json=True)
        raise
    except HolderOutError as error:
        if as_json:
            emit({"model": None, "waiting": {}, "out": {error.holder: error.why}}, [], as_json=True)
        raise
    emit(
        {"model": str(output), **to_json(network)},
        [f"{output}: {agreed.name}, learned by {agreed.strategy}.", *about(network)],
        as_json=as_json,
    )


def _chosen(roster: Roster, names: list[str] | None) -> dict[str, PublicKey]:
    """Return the holders that take part, and their keys."""
    known = roster.holders(datetime.now(UTC))
    for name in names or ():
        if name not in known:
            found = "was enrolled, and its key is valid no more" if roster.of(name) else "is not enrolled"
            raise InputError("--holder", found=f'"{name}" {found}', remedy=nearest(name, known) if known else _ENROLL)
    chosen = {name: key for name, key in known.items() if not names or name in names}
    if not chosen:
        raise InputError("--roster", found="nobody is enrolled", remedy=_ENROLL)
    return chosen


_ENROLL = "`panbayes analyst enroll NAME KEY` enrolls a holder"
