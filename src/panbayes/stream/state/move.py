"""Moving a state to another place, so that at every moment at most one file can be used.

Within a file system a state is moved by its name alone: the new name is given, then the old one is taken away. A crash
between leaves two names of one file.

To another file system the bytes are copied, in four steps, each on the disk before the next begins:

1. The new file appears under its name, complete, bound to its own home and *arriving*: nothing can be done with it.
2. The old file is marked as *gone*, in one write within one sector: from here on neither can be used.
3. The new file is marked as here.
4. The old file is overwritten and removed.

After a crash the same move goes on from where it was: before step 2 the new file is made again, because the old one may
have been fed since; after it the new file knows the old one by its home.

The old file's lock is held throughout, and that of its record: nobody feeds it or releases from it meanwhile.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from panbayes.errors import InputError
from panbayes.files import new_file, sync_folder
from panbayes.stream.saved_setup import save_setup
from panbayes.stream.state import layout
from panbayes.stream.state.home import Home, home_of
from panbayes.stream.state.mapped import MappedState, forget_times, let_go, lock_writer, open_state, record_locked
from panbayes.stream.state.record import Record, Standing, write_record

__all__ = ["move_state"]

_BLOCK: Final = 1 << 20
_NO_LINK: Final = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP)


def move_state(old: Path, new: Path) -> None:
    """Move a state from one file to a new one; run again, it finishes a move that was cut short."""
    with _opened(old) as descriptor:
        lock_writer(descriptor, old)
        with record_locked(old.absolute(), descriptor):
            if layout.is_gone(descriptor):
                _finish(old, descriptor, new)
            elif new.exists() and os.path.samestat(os.fstat(descriptor), new.stat()):
                _remove_name(old, new)
            else:
                _move(MappedState.of(descriptor, old), new)


def _move(mapped: MappedState, new: Path) -> None:
    record = mapped.record()
    mapped.require_home(record)
    _remove_unfinished(new, home_of(mapped.descriptor))
    if _renamed(mapped.path, new):
        return
    _copy(mapped, record, new)
    layout.mark_gone(mapped.descriptor)
    _finish(mapped.path, mapped.descriptor, new)


def _renamed(old: Path, new: Path) -> bool:
    """Move a state by its name, if the file system can do that."""
    try:
        os.link(old, new, follow_symlinks=False)
    except FileExistsError:
        raise _exists(new) from None
    except OSError as error:
        if error.errno in _NO_LINK:
            return False
        raise _refused(new, error) from None
    sync_folder(new.parent)
    _remove_name(old, new)
    return True


def _remove_name(old: Path, new: Path) -> None:
    """Take the old name away, unless both are one."""
    if old.name == new.name and old.parent.samefile(new.parent):
        raise InputError("NEW", found=f"{new} is the state itself", remedy="give another place")
    old.unlink()
    sync_folder(old.parent)


def _copy(mapped: MappedState, record: Record, new: Path) -> None:
    """Write the new file, complete and arriving."""
    saved, source = save_setup(mapped.setup), home_of(mapped.descriptor)
    first, end = layout.ENTRIES, layout.ENTRIES + mapped.setup.state_bytes
    try:
        with new_file(new) as unfinished:
            descriptor = os.open(unfinished, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.posix_fallocate(descriptor, 0, len(mapped.memory))
                with mmap.mmap(descriptor, len(mapped.memory)) as memory:
                    layout.write_setup(memory, saved)
                    standing = Standing(home_of(descriptor), source, arriving=True)
                    write_record(memory, Record(1, record.count, standing))
                    for start in range(first, end, _BLOCK):
                        stop = min(end, start + _BLOCK)
                        memory[start:stop] = mapped.memory[start:stop]
                    memory.flush()
                forget_times(descriptor)
            finally:
                os.close(descriptor)
    except FileExistsError:
        raise _exists(new) from None
    except OSError as error:
        raise _refused(new, error) from None


def _finish(old: Path, descriptor: int, new: Path) -> None:
    """Go on from where the old file is gone: let the new one arrive, then erase the old one."""
    source = home_of(descriptor)
    with _opened(new) as arriving:
        lock_writer(arriving, new)
        mapped = MappedState.of(arriving, new)
        record = mapped.record()
        standing = record.standing
        if standing.source != source or standing.home != home_of(arriving):
            raise InputError(
                str(new), found=f"is not where {old} was moved to", remedy="give the place it was moved to"
            )
        if standing.arriving:
            here = Standing(standing.home, standing.source)
            mapped.write(replace(record, sequence=record.sequence + 1, standing=here))
            mapped.settle()
    for start in range(0, os.fstat(descriptor).st_size, _BLOCK):
        # The mark that it is gone stays until the name is.
        begin = max(start, layout.MAGIC_BYTES)
        os.pwrite(descriptor, bytes(min(start + _BLOCK, os.fstat(descriptor).st_size) - begin), begin)
    os.fsync(descriptor)
    old.unlink()
    sync_folder(old.parent)


def _remove_unfinished(new: Path, source: Home) -> None:
    """Remove what an earlier move from the same file left unfinished; anything else is kept."""
    if not new.exists():
        return
    with _opened(new, error=_exists(new)) as descriptor:
        try:
            standing = MappedState.of(descriptor, new).record().standing
        except InputError:
            raise _exists(new) from None
        if not standing.arriving or standing.source != source:
            raise _exists(new)
    new.unlink()
    sync_folder(new.parent)


@contextmanager
def _opened(path: Path, error: InputError | None = None) -> Iterator[int]:
    try:
        descriptor = open_state(path)
    except InputError:
        if error is not None:
            raise error from None
        raise
    try:
        yield descriptor
    finally:
        let_go(descriptor)


def _exists(new: Path) -> InputError:
    return InputError(str(new), found="exists already", remedy="give another name; a move replaces nothing")


def _refused(new: Path, error: OSError) -> InputError:
    reason = (error.strerror or "unknown reason").lower()
    return InputError(str(new), found=f"cannot be created ({reason})", remedy="give a writable place")
