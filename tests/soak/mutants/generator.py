"""Mutants of any module, one small change each, made from its syntax tree.

=========== ==========================================================================================
kind        change
=========== ==========================================================================================
compare     ``<`` to ``<=``, ``==`` to ``!=``, ``in`` to ``not in``, ``is`` to ``is not``, and back
arithmetic  ``+`` to ``-``, ``*`` to ``+``, ``//`` to ``/``, ``**`` to ``*``, ``<<`` to ``>>``, and the like
constant    a number to the next one, ``True`` to ``False``
boolean     ``and`` to ``or``; either operand left out
negate      a condition to its opposite
unary       ``-x`` or ``not x`` to ``x``
drop        a call that is a statement, a ``raise``, an assignment to an attribute or an item, left out
swap        the first two arguments of a call, exchanged
argument    a keyword argument of a call, left out
return      ``return x`` to ``return None``
=========== ==========================================================================================

Left out is what changes nothing that runs, or only words: docstrings, annotations, ``__all__``, what is imported for
type checkers, decorators, texts, and all that says what is raised.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

__all__ = ["Mutant", "mutants_of"]

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.MatMult: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a ``file``: in a ``function``, at a ``line``, of what ``before`` says to ``after``.

    ``code`` is all that stands in the line, and ``place`` where the change begins and ends, in bytes.
    """

    file: str
    function: str
    line: int
    kind: str
    code: str
    before: str
    after: str
    place: tuple[int, int]

    def applied(self, text: str) -> str | None:
        """Return the module with the change; None if that is no Python, or the same."""
        data, (start, end) = text.encode(), self.place
        mutated = b"".join((data[:start], self.after.encode(), data[end:])).decode()
        try:
            return None if ast.dump(ast.parse(mutated)) == ast.dump(ast.parse(text)) else mutated
        except SyntaxError:
            return None


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its tree.

    >>> [(one.kind, one.after) for one in mutants_of("a.py", "def f(a: int) -> int:\n    return a + 1\n")]
    [('return', 'return None'), ('arithmetic', '(a - 1)'), ('constant', '(2)')]
    """
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(len(line.encode()) for line in lines)]
    data, found = text.encode(), list[Mutant]()
    for function, node, kind, after in _changes(ast.parse(text), ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = " ".join(data[start:end].decode().split())
        changed = after if isinstance(node, ast.stmt) else f"({after})"
        code = lines[node.lineno - 1].strip()
        found.append(Mutant(file, function, node.lineno, kind, code, before, changed, (start, end)))
    return found


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    if isinstance(node, ast.expr | ast.stmt):
        for kind, after in _of(node):
            yield function, node, kind, after
    if isinstance(node, ast.If | ast.While | ast.IfExp) and ast.unparse(node.test) != "TYPE_CHECKING":
        yield function, node.test, "negate", ast.unparse(ast.UnaryOp(ast.Not(), node.test))
    for child in _children(node):
        yield from _changes(child, function)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node in which changes count."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None)
            yield from node.body
        case ast.ClassDef():
            yield from node.body
        case ast.AnnAssign():
            if node.value is not None and "TypeAlias" not in ast.dump(node.annotation):
                yield node.value
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Assign(value=ast.Call(func=ast.Name(id=("TypeVar" | "ParamSpec" | "NewType")))):
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield from node.orelse
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return
        case _:
            yield from ast.iter_child_nodes(node)


def _of(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the changes of one node itself: the kind of each, and what it says afterwards."""
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                changed = deepcopy(node)
                changed.ops[place] = _COMPARED[type(operator)]()
                yield "compare", ast.unparse(changed)
        case ast.BinOp() if not _is_text(node):
            yield "arithmetic", ast.unparse(ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right))
        case ast.AugAssign() if not _is_text(node.value):
            yield "arithmetic", ast.unparse(ast.AugAssign(node.target, _COMPUTED[type(node.op)](), node.value))
            yield "drop", "pass"
        case ast.Constant(value=bool(value)):
            yield "constant", str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", str(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", repr(value * 1.5 if value else 1.0)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "boolean", ast.unparse(ast.BoolOp(other, node.values))
            for place in range(len(node.values)):
                rest = [*node.values[:place], *node.values[place + 1 :]]
                yield "boolean", ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
        case ast.UnaryOp():
            yield "unary", ast.unparse(node.operand)
        case ast.Call():
            yield from _of_call(node)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise():
            yield "drop", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "drop", "pass"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return", "return None"
        case _:
            pass


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    plain = [argument for argument in node.args[:2] if not isinstance(argument, ast.Starred)]
    if len(plain) == 2 and ast.dump(plain[0]) != ast.dump(plain[1]):
        yield "swap", ast.unparse(ast.Call(node.func, [plain[1], plain[0], *node.args[2:]], node.keywords))
    for place in range(len(node.keywords)):
        rest = [*node.keywords[:place], *node.keywords[place + 1 :]]
        yield "argument", ast.unparse(ast.Call(node.func, node.args, rest))


def _is_text(node: ast.AST) -> bool:
    """Tell whether an operand is a text, whose sums are words."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )
