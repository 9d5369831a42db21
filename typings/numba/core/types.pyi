class Type:
    def __call__(self, *arguments: Type) -> Signature: ...

class Signature: ...

class ExternalFunction:
    def __init__(self, symbol: str, signature: Signature) -> None: ...
    def __call__(self, *arguments: object) -> int: ...

int32: Type
int64: Type
intp: Type
uint32: Type
uintp: Type
voidptr: Type
