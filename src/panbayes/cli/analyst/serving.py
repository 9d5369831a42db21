"""``panbayes analyst serve`` and ``panbayes analyst certificate``: the mailbox."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.analyst.enrolling import RosterFile
from panbayes.cli.arguments import AsJson
from panbayes.cli.text import complain, emit
from panbayes.errors import InputError

__all__ = ["certificate", "serve"]


def serve(
    post: Annotated[
        Path, typer.Option("--post", metavar="DIR", help="The folder of letters; the one that learn is given.")
    ],
    roster: RosterFile = Path("roster"),
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="The address to listen at.",
            show_default="all that this machine has",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="NUMBER", help="The port to listen at.", min=0, max=65535)
    ] = 8443,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="The certificate (PEM), and those of its issuers behind it.",
            show_default="mailbox.pem",
        ),
    ] = None,
    certificate_key: Annotated[
        Path | None,
        typer.Option(
            "--certificate-key",
            metavar="FILE",
            help="The private key of the certificate (PEM).",
            show_default="mailbox.key",
        ),
    ] = None,
    insecure_loopback: Annotated[
        bool,
        typer.Option(
            "--insecure-loopback",
            help="Speak HTTP without TLS, at an address that only this machine reaches: for a proxy in front of it.",
        ),
    ] = False,
    known_as: Annotated[
        list[str] | None,
        typer.Option(
            "--known-as",
            metavar="HOST",
            help="With --insecure-loopback: the name in holders' urls, which the proxy passes on as it is. Repeatable.",
            show_default="localhost and loopback addresses alone",
        ),
    ] = None,
) -> None:
    """Serve the folder of letters to enrolled holders, who connect by HTTPS from wherever they are.

    Works beside learn, on the same folder. Whoever is not enrolled is told 404 and nothing else. What happens is told
    on standard error, without addresses. It runs until it is asked to stop (Ctrl-C, SIGTERM) and can be started again
    at any time: everything lies in the folder. A certificate or a roster that changes is read again.

    Needs starlette and uvicorn: pip install 'panbayes[serve]'

    Examples:
        panbayes analyst serve --post letters
        panbayes analyst serve --post letters \\
            --insecure-loopback --known-as mailbox.example
    """
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("starlette") is None:
        raise InputError(
            "panbayes analyst serve",
            found="starlette and uvicorn are not installed",
            remedy="run: pip install 'panbayes[serve]'",
        )
    from panbayes.consortium.desk.certificate import Certificate
    from panbayes.consortium.desk.server import is_loopback, listen
    from panbayes.consortium.desk.server import serve as serve_folder
    from panbayes.consortium.post.folder import Folder

    tls = None
    if known_as and not insecure_loopback:
        raise InputError(
            "--known-as",
            found="is given without --insecure-loopback",
            remedy="leave it out: the names in the certificate are what the server is known by",
        )
    if insecure_loopback:
        host = host or "127.0.0.1"
        if certificate is not None or certificate_key is not None:
            raise InputError(
                "--insecure-loopback", found="is given with a certificate", remedy="leave one of the two out"
            )
        if not is_loopback(host):
            raise InputError(
                "--host",
                found=f"{host} can be reached by others, and --insecure-loopback is given",
                remedy="give 127.0.0.1 or ::1, or a certificate instead",
            )
    else:
        tls = Certificate(certificate or Path("mailbox.pem"), certificate_key or Path("mailbox.key"))
    folder = Folder.at(post, make=True)
    with listen(host, port) as listening:
        serve_folder(folder, roster=roster, listening=listening, certificate=tls, names=known_as or (), say=_log)
    _log("stopped")


def _log(line: str) -> None:
    complain(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ} {line}")


def certificate(
    hosts: Annotated[
        list[str],
        typer.Argument(metavar="HOST…", help="The names and addresses that holders know the server by."),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="NAME", help="Writes NAME.pem and NAME.key; neither may be there."),
    ] = Path("mailbox"),
    days: Annotated[int, typer.Option("--days", metavar="NUMBER", help="How long it is valid.", min=1, max=825)] = 397,
    as_json: AsJson = False,
) -> None:
    """Make a certificate for the mailbox that it signs itself, for those without an authority.

    Send NAME.pem to every holder, who names it in its holder.toml and compares the fingerprint by phone. NAME.key
    stays with the server.

    Examples:
        panbayes analyst certificate analyst.example
        panbayes analyst certificate analyst.example 192.0.2.7 -o mailbox-2027
    """
    from panbayes.consortium.desk.certificate import fingerprint_of, make_certificate, save_certificate

    now = datetime.now(UTC)
    secret, made = make_certificate(hosts, days=days, now=now)
    public, private = save_certificate(output, secret, made, argument="--output")
    until = (now + timedelta(days=days)).date().isoformat()
    data = {
        "certificate": str(public),
        "key": str(private),
        "hosts": hosts,
        "until": until,
        "sha256": fingerprint_of(made),
    }
    lines = [
        f"{public}: for {', '.join(hosts)}, until {until}; give it to every holder",
        f"{private}: stays with the server",
        f"Fingerprint (SHA-256): {data['sha256']}",
    ]
    emit(data, lines, as_json=as_json)
