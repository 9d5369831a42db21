from collections.abc import Callable
from typing import TypeVar, overload

from numba import types as types

_F = TypeVar("_F", bound=Callable[..., object])

@overload
def njit(function: _F, /) -> _F: ...
@overload
def njit(
    *,
    cache: bool = ...,
    nogil: bool = ...,
    fastmath: bool | set[str] = ...,
    boundscheck: bool = ...,
    inline: str = ...,
    _nrt: bool = ...,
) -> Callable[[_F], _F]: ...
