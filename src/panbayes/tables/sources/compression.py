"""Compressed files, unpacked piece by piece: what a file unpacks to may be a thousand times larger than it is.

Which compression it is, is seen by the first bytes. That an archive is damaged or cut short says something about the
copy, not about a record: any records at all can be in a sound one, and its checksum is wrong whatever they are.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Protocol, cast

from panbayes.errors import InputError

__all__ = ["COMPRESSED", "ByteReader", "open_bytes", "unpacked_name"]

_MEMORY: Final = 1 << 28
"""So much memory may be taken by the window that an archive declares."""

_PIECE: Final = 1 << 18


class ByteReader(Protocol):
    """Reads bytes."""

    def __call__(self, size: int, /) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end."""


class _Unpacker(Protocol):
    """What bz2 and lzma have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def _by_pieces(file: BinaryIO, new: Callable[[], _Unpacker]) -> ByteReader:
    """Unpack one archive after the other until the file ends."""
    unpacker = new()

    def read(size: int) -> bytes:
        nonlocal unpacker
        found = bytearray()
        while len(found) < size:
            data = b""
            if unpacker.eof:
                data = unpacker.unused_data or file.read(_PIECE)
                if not data:
                    break
                unpacker = new()
            elif unpacker.needs_input:
                data = file.read(_PIECE)
                if not data:
                    raise EOFError
            found += unpacker.decompress(data, size - len(found))
        return bytes(found)

    return read


def _gzip(file: BinaryIO) -> ByteReader:
    return gzip.GzipFile(fileobj=file, mode="rb").read


def _bzip2(file: BinaryIO) -> ByteReader:
    return _by_pieces(file, bz2.BZ2Decompressor)


def _xz(file: BinaryIO) -> ByteReader:
    return _by_pieces(file, lambda: lzma.LZMADecompressor(memlimit=_MEMORY))


def _zstandard(file: BinaryIO) -> ByteReader:
    import pyarrow as pa

    stream = pa.CompressedInputStream(cast(io.IOBase, file), "zstd")

    def read(size: int) -> bytes:
        found = bytearray()
        while len(found) < size and (piece := stream.read(size - len(found))):
            found += piece
        return bytes(found)

    return read


COMPRESSED: Final[dict[str, tuple[bytes | tuple[bytes, ...], Callable[[BinaryIO], ByteReader]]]] = {
    ".gz": (b"\x1f\x8b", _gzip),
    ".zst": (b"\x28\xb5\x2f\xfd", _zstandard),
    ".bz2": (tuple(f"BZh{level}1AY&SY".encode() for level in range(1, 10)), _bzip2),
    ".xz": (b"\xfd7zXZ\0", _xz),
}
"""How every kind begins and how it is read, by what its name ends in."""

_DAMAGE: Final = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, MemoryError)


def unpacked_name(path: Path) -> Path:
    """Return the name without what a compression added to it.

    >>> unpacked_name(Path("north.csv.gz")).name
    'north.csv'
    """
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


@contextmanager
def open_bytes(path: Path, *, argument: str, by_name: bool = False) -> Iterator[tuple[ByteReader, bool]]:
    """Open a file for reading, unpacked; and tell whether it is compressed.

    It is told ``by_name`` alone where the first bytes may be a record's.
    """
    is_called = str(path).lower().endswith
    with path.open("rb") as file:
        head = file.read(10)
        file.seek(0)
        known = ((magic, unpack) for suffix, (magic, unpack) in COMPRESSED.items() if not by_name or is_called(suffix))
        unpack = next((unpack for magic, unpack in known if by_name or head.startswith(magic)), None)
        yield (file.read, False) if unpack is None else (_careful(unpack, file, argument=argument), True)


def _careful(unpack: Callable[[BinaryIO], ByteReader], file: BinaryIO, *, argument: str) -> ByteReader:
    inner: list[ByteReader] = []

    def read(size: int) -> bytes:
        try:
            if not inner:
                inner.append(unpack(file))
            return inner[0](size)
        except _DAMAGE:
            raise InputError(
                argument, found="is a damaged or truncated archive", remedy="compress it again and copy it whole"
            ) from None

    return read
