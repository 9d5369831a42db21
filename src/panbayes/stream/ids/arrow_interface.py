"""The Arrow C data interface: the structures in which libraries hand over columns, and how to follow them.

Layouts as in the Arrow project's page "The Arrow C data interface", and "The Arrow C stream interface".
"""

from __future__ import annotations

import ctypes
import struct

__all__ = ["ArrowArray", "ArrowSchema", "ArrowStream", "children_of", "dictionary_of", "extension_of", "pointer"]


class ArrowSchema(ctypes.Structure):
    """What a column is."""

    format: bytes
    metadata: int | None
    n_children: int


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.c_void_p)),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class ArrowArray(ctypes.Structure):
    """Where a column is."""

    length: int
    null_count: int
    offset: int
    n_buffers: int
    n_children: int


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.c_void_p)),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class ArrowStream(ctypes.Structure):
    """A column in chunks."""

    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


def pointer(capsule: object, name: bytes) -> int:
    """Return the address in a capsule of this name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, name))


def children_of(parent: ArrowSchema | ArrowArray) -> list[int]:
    """Return the addresses of the columns inside a column."""
    return [int(parent.children[i]) for i in range(parent.n_children)]


def dictionary_of(parent: ArrowSchema | ArrowArray) -> int | None:
    """Return the address of the column of a dictionary's values, if there is one."""
    address: int | None = parent.dictionary
    return address


def extension_of(schema: ArrowSchema) -> bytes:
    """Return the name of the extension type that a column has, if any.

    Metadata are a number of pairs, each of two texts with their lengths before them.
    """
    if not schema.metadata:
        return b""
    place, texts = schema.metadata + 4, []
    (pairs,) = struct.unpack("=i", ctypes.string_at(schema.metadata, 4))
    for _ in range(2 * pairs):
        (size,) = struct.unpack("=i", ctypes.string_at(place, 4))
        texts.append(ctypes.string_at(place + 4, size))
        place += 4 + size
    return dict(zip(texts[::2], texts[1::2], strict=True)).get(b"ARROW:extension:name", b"")
