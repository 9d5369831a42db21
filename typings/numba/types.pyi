from numba.core.typing import Signature

class Type:
    def __call__(self, *args: Type) -> Signature: ...

int64: Type
uint64: Type
void: Type
