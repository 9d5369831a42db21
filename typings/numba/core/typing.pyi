from numba.types import Type

class Signature:
    args: tuple[Type, ...]
