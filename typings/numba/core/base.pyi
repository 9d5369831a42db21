from collections.abc import Callable

from llvmlite import ir
from numba.types import Type

class _Array:
    data: ir.Value

class BaseContext:
    def make_array(self, kind: Type) -> Callable[[BaseContext, ir.IRBuilder, ir.Value], _Array]: ...
    def get_dummy_value(self) -> ir.Value: ...
