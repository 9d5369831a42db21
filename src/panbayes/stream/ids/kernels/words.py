"""Eight bytes at a time, wherever they lie in a buffer, and products of such words.

Processors can load a word from any place, ask for memory before it is needed, multiply to 128 bits and count zeros,
each in one instruction. NumPy and Numba know none of them, and without them a text takes nearly twice as long to hash.
So they are spelled out for the compiler here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing import Signature
from numba.extending import intrinsic

__all__ = ["fold", "high_half", "load_word", "prefetch", "prefetch_far", "trailing_zeros"]

_Generate: TypeAlias = Callable[[BaseContext, ir.IRBuilder, Signature, list[ir.Value]], ir.Value]


def _place(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]) -> ir.Value:
    """Return the address of an item of an array."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


@intrinsic
def load_word(_context: object, data: types.Type, at: types.Type) -> tuple[Signature, _Generate]:
    """Return the bytes from ``at`` to ``at`` + 7 as a number, the lowest first; they must lie in ``data``."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        place = _place(context, builder, signature, arguments)
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, at), generate


def _ask(nearness: int) -> _Generate:
    """Return the code that asks for memory, to be kept as near to the processor as ``nearness`` says (0 to 3)."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        place, number = _place(context, builder, signature, arguments), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(ask, [place, *(ir.Constant(number, value) for value in (0, nearness, 1))])
        return context.get_dummy_value()

    return generate


@intrinsic
def prefetch(_context: object, data: types.Type, at: types.Type) -> tuple[Signature, _Generate]:
    """Ask for the memory around item ``at``, which will be read at once; it need not lie in ``data``."""
    return types.void(data, at), _ask(3)


@intrinsic
def prefetch_far(_context: object, data: types.Type, at: types.Type) -> tuple[Signature, _Generate]:
    """Ask for the memory around item ``at``, which will be read later: into the second cache, not the first."""
    return types.void(data, at), _ask(2)


def _halves(builder: ir.IRBuilder, arguments: list[ir.Value]) -> tuple[ir.Value, ir.Value]:
    """Return the lower and the upper 64 bits of the product of two words, by one multiplication."""
    wide, word = ir.IntType(128), ir.IntType(64)
    product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
    return builder.trunc(product, word), builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)


@intrinsic
def high_half(_context: object, _a: types.Type, _b: types.Type) -> tuple[Signature, _Generate]:
    """Return the upper 64 bits of the product of two words."""

    def generate(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        return _halves(builder, arguments)[1]

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def fold(_context: object, _a: types.Type, _b: types.Type) -> tuple[Signature, _Generate]:
    """Multiply two words, and add the halves of the product without carries."""

    def generate(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        return builder.xor(*_halves(builder, arguments))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def trailing_zeros(_context: object, _word: types.Type) -> tuple[Signature, _Generate]:
    """Return how many zeros a word ends with; it must not be zero."""

    def generate(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
