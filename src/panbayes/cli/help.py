"""The text of ``--help``: whole sentences, types in words, and examples at the end.

A command's help is its docstring. What follows the line ``Examples:`` is shown last, as it stands; everything before it
is wrapped to the terminal. A test runs every example, and compares every page with the one on file.
"""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from panbayes.errors import ExitCode

__all__ = ["Command", "Group", "Root", "add_command", "new_group"]

WIDEST: Final = 100
"""Columns of a page at most: longer lines are hard to read."""

INDENT: Final = "  "
WIDEST_NAME: Final = 30
"""Columns for names at most; what explains a longer name begins on the next line."""

UNBROKEN: Final = "\N{NO-BREAK SPACE}"
EXAMPLES: Final = "Examples:"
HELP_ROW: Final = ("-h, --help", "Show this text and stop.")


class Place(Protocol):
    """Where a command stands: as much of Typer's context as a page needs."""

    @property
    def command_path(self) -> str:
        """The words that lead to the command."""


class Command(TyperCommand):
    """A command with a page of help like the others."""

    def get_usage(self, ctx: Place) -> str:
        """Return the line that shows how to call it."""
        return _usage(ctx, [*_required(self.params), "[OPTIONS]"])

    def get_help(self, ctx: Place) -> str:
        """Return the whole page."""
        return _page(self.get_usage(ctx), self.help, _sections(self.params))


class Group(TyperGroup):
    """A group of commands with a page of help like the others; none of its summaries is cut."""

    def get_usage(self, ctx: Place) -> str:
        """Return the line that shows how to call it."""
        return _usage(ctx, ["COMMAND", "…"])

    def get_help(self, ctx: Place) -> str:
        """Return the whole page."""
        commands: dict[str, list[tuple[str, str]]] = {}
        longest = max(map(len, self.commands))
        for name, command in self.commands.items():
            heading = command.rich_help_panel if isinstance(command, TyperCommand) else None
            summary = inspect.cleandoc(command.help or "").partition("\n\n")[0]
            commands.setdefault(heading or "Commands", []).append((name.ljust(longest), " ".join(summary.split())))
        return _page(self.get_usage(ctx), self.help, [*commands.items(), *_sections(self.params), *self.topics()])

    def topics(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return what else its page tells."""
        return []


class Root(Group):
    """The command itself: its page has the exit codes of all others."""

    def topics(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the table of exit codes."""
        return [("Exit codes", [(str(int(code)), code.meaning) for code in ExitCode])]


def new_group(text: str) -> typer.Typer:
    """Make an empty group of commands; ``text`` is its help."""
    return typer.Typer(cls=Group, no_args_is_help=True, help=text)


def add_command(app: typer.Typer, function: Callable[..., None], *, name: str | None = None) -> None:
    """Add a function as a command, under its own name unless it is given another."""
    app.command(name or function.__name__, cls=Command)(function)


def _usage(place: Place, pieces: Iterable[str]) -> str:
    line = f"Usage: {place.command_path} "
    return textwrap.fill(
        " ".join(pieces), _width(), initial_indent=line, subsequent_indent=" " * len(line), break_on_hyphens=False
    )


def _page(usage: str, text: str | None, sections: Iterable[tuple[str, list[tuple[str, str]]]]) -> str:
    told, _, examples = inspect.cleandoc(text or "").partition(f"{EXAMPLES}\n")
    parts = [usage, *(_wrapped(paragraph) for paragraph in told.strip().split("\n\n"))]
    parts += ["\n".join([f"{heading}:", *_aligned(rows)]) for heading, rows in sections]
    if examples:
        parts.append(f"{EXAMPLES}\n{textwrap.indent(textwrap.dedent(examples).rstrip(), INDENT)}")
    return "\n\n".join(parts).replace(UNBROKEN, " ")


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _width(), break_on_hyphens=False)


def _aligned(rows: list[tuple[str, str]]) -> Iterator[str]:
    """Yield names on the left and what explains them, wrapped, on the right."""
    column = min(max(len(name) for name, _ in rows), WIDEST_NAME) + 2 * len(INDENT)
    for name, text in rows:
        first = f"{INDENT}{name}".ljust(column)
        if len(first) > column or not text:
            yield first.rstrip()
            first = " " * column
        if text:
            # Narrower than any terminal, text is left to be cut by it rather than refused.
            yield textwrap.fill(
                text,
                max(_width(), column + 20),
                initial_indent=first,
                subsequent_indent=" " * column,
                break_on_hyphens=False,
            )


def _sections(params: Iterable[object]) -> list[tuple[str, list[tuple[str, str]]]]:
    params = list(params)
    arguments = [(_word(p).strip("[]"), _explained(p)) for p in params if isinstance(p, TyperArgument)]
    options = [(_flags(p), _explained(p)) for p in params if isinstance(p, TyperOption)]
    return [*([("Arguments", arguments)] if arguments else []), ("Options", [*options, HELP_ROW])]


def _required(params: Iterable[object]) -> Iterator[str]:
    """Yield what a call must say: the arguments in their order, then the options that have no default."""
    for param in params:
        if isinstance(param, TyperArgument):
            yield _word(param) if param.required else f"[{_word(param)}]"
    for param in params:
        if isinstance(param, TyperOption) and param.required:
            yield f"{max(param.opts, key=len)} {_word(param)}"


def _word(param: TyperArgument | TyperOption) -> str:
    """Say in a word what is to be given; every argument and every option that takes a value has one."""
    return param.metavar or "TEXT"


def _flags(param: TyperOption) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {_word(param)}"


def _explained(param: TyperArgument | TyperOption) -> str:
    """Return a parameter's help and what holds when nothing is given."""
    if isinstance(param.show_default, str):
        return f"{param.help}  [default: {param.show_default}]"
    if param.default is not None and param.default is not False:
        return f"{param.help}  [default:{UNBROKEN}{param.default}]"
    return f"{param.help}  [required]" if param.required and isinstance(param, TyperOption) else str(param.help)
