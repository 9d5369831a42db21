"""Where the ledgers of holders in this process live, and which one belongs to which records.

They lie in a folder ``ledgers`` (mode 0700) of the state directory: ``--state DIR``, or the user's own (on Linux
``~/.local/state/panbayes``). A ledger belongs to *records*, so it is looked for by them first and by the holder's name
second:

============================================== ======================================================================
there is a ledger …                            then
============================================== ======================================================================
bound to these very records                    it is used, whatever the holder is called this time and whatever the
                                               study is
of this name, unused with this schema          it is used too: the same holder's people under another schema. If they
                                               are other people, too much is added up, never too little; another name
                                               avoids that
of this name, used with other records          refused: the records have changed
neither                                        a new one is made
============================================== ======================================================================

Two ledgers of the same records are refused as well: one of them is a copy, and a copy has forgotten something. A lock
file makes looking and making one step, so that two runs that start together find the same ledger. Every file is looked
into once for all holders of a run, so that the time grows with the number of holders and not with its square.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import platformdirs

from panbayes.consortium.holder.ledger.binding import Bindings
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.errors import InputError, LedgerError

__all__ = ["SUFFIX", "ledger_files", "ledger_folder", "ledger_path", "open_ledgers"]

SUFFIX: Final = ".ledger"


def ledger_folder(state: str | Path | None) -> Path:
    """Return the folder of the ledgers in a state directory, by default the user's."""
    base = platformdirs.user_state_path("panbayes") if state is None else Path(state)
    return base / "ledgers"


def ledger_path(state: str | Path | None, holder: str) -> Path:
    """Return where the ledger of a holder goes, by its name; names that look alike in a file system stay apart.

    >>> ledger_path("state", "St. Mary's").name
    'st-mary-s-e7787f2f.ledger'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", holder.lower()).strip("-")[:40]
    return ledger_folder(state) / f"{plain or 'holder'}-{hashlib.sha256(holder.encode()).hexdigest()[:8]}{SUFFIX}"


def ledger_files(state: str | Path | None) -> list[Path]:
    """Return the ledgers in a state directory, by name."""
    return sorted(path for path in ledger_folder(state).glob(f"*{SUFFIX}") if not path.name.startswith("."))


def open_ledgers(state: str | Path | None, holders: Mapping[str, tuple[str, bytes]]) -> dict[str, Ledger]:
    """Open the ledger of each holder's records, or of this holder, or a new one; see the module.

    ``holders`` gives, by name, the hash of the schema and the fingerprint of the records under it. The ledgers are
    bound to the records; two holders with the same records get the same ledger. The caller closes them.
    """
    with _locked(state), ExitStack() as opened:
        known = {path: _bindings(path) for path in ledger_files(state)}
        ledgers: dict[str, Ledger] = {}
        for holder, (schema, records) in holders.items():
            found = [path for path, bindings in known.items() if bindings.belongs_to(schema, records)]
            if len(found) > 1:
                raise LedgerError(
                    str(found[0]),
                    found=f"belongs to the same records as {found[1].name}",
                    remedy="keep the one with more entries (`panbayes holder ledger show`) and move the other away",
                )
            path = found[0] if found else ledger_path(state, holder)
            ledger = opened.enter_context(Ledger.open(path, create=True))
            with ledger.transaction() as transaction:
                transaction.bind(schema, records)
                known[path] = transaction.bindings()
            ledgers[holder] = ledger
        opened.pop_all()
        return ledgers


def _bindings(path: Path) -> Bindings:
    with Ledger.open(path) as ledger, ledger.transaction(write=False) as transaction:
        return transaction.bindings()


@contextmanager
def _locked(state: str | Path | None) -> Iterator[None]:
    folder = ledger_folder(state)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(
            "--state", found=f"{folder} cannot be used ({reason})", remedy="give a folder that you may write to"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
