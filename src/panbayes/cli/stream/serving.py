"""``panbayes stream serve``: feed states from HTTP, sockets, logs and brokers, all day long."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.kernels import announce_compiling
from panbayes.cli.text import complain
from panbayes.errors import InputError

__all__ = ["serve"]


def serve(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The file that says what is fed from where.")],
) -> None:
    """Feed states from where events come from, and show what was released.

    Ids enter the states as they come; nothing is queued, and nothing is said about them. By a steady beat states are
    brought to the disk, and what came in is acknowledged. SIGTERM ends it, after one last beat.

    Needs starlette and uvicorn: pip install 'panbayes[serve]'

    Examples:
        panbayes stream serve service.toml
    """
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("starlette") is None:
        raise InputError(
            "stream serve",
            found="starlette and uvicorn are not installed",
            remedy="run: pip install 'panbayes[serve]'",
        )
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.service.configuration import SERVICE_FILE
    from panbayes.service.serving import serve as run

    announce_compiling()
    run(SERVICE_FILE.load(config), complain)
