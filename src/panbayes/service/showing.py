"""What is served to readers: the page, OpenMetrics, and releases as files. All of it was published before."""

from __future__ import annotations

import json
import time

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from panbayes.service.configuration import ServiceFile
from panbayes.service.metrics import CONTENT_TYPE, openmetrics
from panbayes.service.page import HEADERS, Shown, page
from panbayes.service.shelf import Shelf

__all__ = ["showing"]


def showing(service: ServiceFile, shelf: Shelf) -> Starlette:
    """Make the application."""

    def index(_request: Request) -> Response:
        shown = [Shown(state.title or state.name, shelf.of(state.name)) for state in service.states]
        return HTMLResponse(page(shown, time.time()), headers=HEADERS)

    def metrics(_request: Request) -> Response:
        newest = [one for state in service.states if (one := shelf.last(state.name)) is not None]
        return PlainTextResponse(openmetrics(newest, time.time()), headers={"Content-Type": CONTENT_TYPE})

    def releases(request: Request) -> Response:
        name = request.path_params["state"]
        if name not in {state.name for state in service.states}:
            return Response(status_code=404)
        found = [{"period": one.period, "number": one.number, "at": one.at, **one.facts} for one in shelf.of(name)]
        return Response(json.dumps(found, ensure_ascii=False), media_type="application/json", headers=HEADERS)

    def release(request: Request) -> Response:
        place = request.path_params
        period, number = (_count(place[name]) for name in ("period", "number"))
        found = shelf.form(place["state"], period, number)
        if found is None or place["state"] not in {state.name for state in service.states}:
            return Response(status_code=404)
        return Response(found, media_type="application/json", headers=HEADERS)

    def ready(_request: Request) -> Response:
        return JSONResponse({"ready": True})

    return Starlette(
        routes=[
            Route("/", index),
            Route("/metrics", metrics),
            Route("/releases/{state}", releases),
            Route("/releases/{state}/{period}/{number}", release),
            Route("/ready", ready),
        ]
    )


def _count(text: str) -> int:
    """Read a number of an address; −1, which nothing has, where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
