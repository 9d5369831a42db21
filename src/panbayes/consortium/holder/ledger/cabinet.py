"""A holder's filing cabinet: where ledgers lie, and which one belongs to which records.

Ledgers lie in a folder ``ledgers`` (mode 0700) of the state directory: ``--state DIR``, or the user's own (on Linux
``~/.local/state/panbayes``). A ledger belongs to *records*, so it is looked for by them first and by the holder's name
second:

============================================== ======================================================================
there is a ledger …                            then
============================================== ======================================================================
of a dataset declared at this very place       it is used, before a record is read (:meth:`Cabinet.declared_at`)
bound to these very records                    it is used, whatever the holder is called this time and whatever the
                                               study is
of this name, unused with this schema          it is used too: the same holder's people under another schema. If they
                                               are other people, too much is added up, never too little; another name
                                               avoids that
of this name, used with other records          refused: the records have changed
none of these                                  a new one is made
============================================== ======================================================================

A dataset that changes is found by the place of its table alone: its records under any other are refused. Two datasets
at one place are refused, and so is a table that lies partly within another's. Two ledgers of the same records are
refused as well: one of them is a copy, and a copy has forgotten something. A lock file makes looking and making one
step, so that two runs that start together find the same ledger. Every file is looked into once for all holders of a
run, so that the time grows with the number of holders and not with its square.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias, TypeVar

import platformdirs

from panbayes.consortium.holder.ledger.binding import Bindings, Fingerprint
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.file import BUSY_SECONDS
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.errors import InputError, LedgerError
from panbayes.files import check_path, sync_folder
from panbayes.tables.sources.place import place_of

__all__ = ["PATIENCE", "SUFFIX", "Cabinet", "Waiting"]

SUFFIX: Final = ".ledger"

PATIENCE: Final = 1.0
"""Seconds before somebody is told that a run waits."""

POLL: Final = 0.02
"""Seconds between two tries to take the lock."""

_Found = TypeVar("_Found")

Waiting: TypeAlias = Callable[[str], None]
"""Who is told that a run waits, in one line."""


def _patiently(_line: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Cabinet:
    """The ledgers in one ``folder``.

    >>> Cabinet.in_state("state").path("St. Mary's").as_posix()
    'state/ledgers/st-mary-s-e7787f2f.ledger'
    """

    folder: Path

    @classmethod
    def in_state(cls, state: str | Path | None) -> Self:
        """Return the cabinet of a state directory, by default the user's."""
        return cls((platformdirs.user_state_path("panbayes") if state is None else Path(state)) / "ledgers")

    @property
    def owned(self) -> bool:
        """Whether officers decide about an account in it: a ledger itself says so."""
        try:
            return any(_has_officers(path) for path in self.files())
        except ValueError:  # No such path can be; whoever opens it is told.
            return False

    def path(self, holder: str) -> Path:
        """Return where the ledger of a holder goes, by its name; names that look alike in a file system stay apart."""
        plain = re.sub(r"[^a-z0-9]+", "-", holder.lower()).strip("-")[:40]
        return self.folder / f"{plain or 'holder'}-{hashlib.sha256(holder.encode()).hexdigest()[:8]}{SUFFIX}"

    def files(self) -> list[Path]:
        """Return the ledgers there are, by name."""
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if not path.name.startswith("."))

    def open(
        self,
        holders: Mapping[str, tuple[str, Fingerprint]],
        *,
        waiting: Waiting = _patiently,
        busy_seconds: float = BUSY_SECONDS,
        free: bool = False,
    ) -> dict[str, Ledger]:
        """Open the ledger of each holder's records, or of this holder, or a new one; see the module.

        ``holders`` gives, by name, the hash of the schema and the fingerprint of the records under it. The ledgers are
        bound to the records; two holders with the same records get the same ledger. The caller closes them.

        With ``free``, a cabinet with an account about which officers decide is refused.

        Who has to wait for another run to look and make is told by ``waiting``, once, and waits ``busy_seconds``.
        """
        with self._locked(waiting, busy_seconds), ExitStack() as on_error:
            bindings = {path: self._look(path, Transaction.bindings, free=free) for path in self.files()}
            ledgers: dict[str, Ledger] = {}
            for holder, (schema, records) in holders.items():
                path = _bound_to(bindings, records) or self.path(holder)
                ledger = on_error.enter_context(Ledger.open(path, create=True))
                with ledger.transaction() as transaction:
                    transaction.bind(schema, records)
                    bindings[path] = transaction.bindings()
                ledgers[holder] = ledger
            on_error.pop_all()
            return ledgers

    def datasets(self, *, free: bool = False) -> dict[Path, list[Dataset]]:
        """Return what was declared in every ledger that has a dataset, in order; ``free`` as for :meth:`open`."""
        found = {path: self._look(path, _history, free=free) for path in self.files()}
        return {path: history for path, history in found.items() if history}

    def declared_at(
        self, data: object, *, argument: str, among: Mapping[Path, list[Dataset]] | None = None
    ) -> Path | None:
        """Return the ledger of the dataset whose table this is, by the place of it; None if it is none's.

        A table that overlaps with that of a dataset is refused. ``argument`` names the table in errors; ``among`` are
        the datasets that are looked at, all of them where nobody says.
        """
        place = place_of(data, argument=argument)
        if place is None:
            return None
        same: list[Path] = []
        for path, history in (self.datasets() if among is None else among).items():
            places = [place_of(one.source, argument=argument) for one in history]
            if any(one is not None and place.is_same(one) for one in places):
                same.append(path)
            elif any(one is not None and place.overlaps(one) for one in places):
                raise LedgerError(
                    str(path),
                    found=f"is the account of a dataset whose table, {history[-1].source}, has some of the same files",
                    remedy="give that table as a whole, or other people's records",
                )
        if len(same) > 1:
            raise LedgerError(
                str(same[0]), found=f"is of the same table as {same[1].name}", remedy="keep the one with more entries"
            )
        return same[0] if same else None

    def check_apart(self, declared: Mapping[Path, Fingerprint]) -> None:
        """Refuse records of declared datasets, by the path of their ledger, that another ledger has answered from."""
        for other in self.files() if declared else ():
            bound = self._look(other, Transaction.bindings)
            if any(path != other and bound.belongs_to(records) for path, records in declared.items()):
                raise LedgerError(
                    str(other),
                    found="has been used for these very records, which were declared as another dataset",
                    remedy="one population has one account: give the table that was declared there",
                )

    @contextmanager
    def declaring(self) -> Iterator[None]:
        """Let nobody else look for ledgers, or make one, until the block ends."""
        with self._locked(_patiently, BUSY_SECONDS):
            yield

    def _look(self, path: Path, what: Callable[[Transaction], _Found], *, free: bool = False) -> _Found:
        """Return what is found in a ledger, which is opened once."""
        with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
            if free and transaction.officers():
                raise InputError(
                    "state",
                    found=f"{self.folder.parent} is that of a holder's file, and its officers decide what is answered",
                    remedy="propose the study to the holder, whose agent answers it: panbayes holder serve",
                )
            return what(transaction)

    def make_folder(self, *, argument: str = "state") -> None:
        """Make the folder, for its owner only, if there is none. ``argument`` names it in the error."""
        check_path(self.folder, argument=argument)
        try:
            self._make(self.folder)
        except OSError as error:
            raise self._unusable(error, argument) from None

    def _make(self, folder: Path) -> None:
        """Make a folder and those above it; each name is on disk before a ledger lies under it."""
        if folder.is_dir():
            return
        self._make(folder.parent)
        folder.mkdir(mode=0o700 if folder == self.folder else 0o777, exist_ok=True)
        sync_folder(folder.parent)

    @contextmanager
    def _locked(self, waiting: Waiting, busy_seconds: float) -> Iterator[None]:
        self.make_folder()
        try:
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unusable(error, "state") from None
        try:
            self._take(lock, waiting, busy_seconds)
            yield
        finally:
            os.close(lock)

    def _take(self, lock: int, waiting: Waiting, busy_seconds: float) -> None:
        """Take the lock; the system would wait for ever, and say nothing."""
        since, told = time.monotonic(), False
        while not _taken(lock):
            waited = time.monotonic() - since
            if waited >= busy_seconds:
                raise LedgerError(
                    str(self.folder),
                    found=f"is in use by another process, for {busy_seconds:g} seconds and more",
                    remedy="let that one finish and run this again: what has been answered is free to ask for again",
                )
            if waited >= PATIENCE and not told:
                told = True
                waiting(f"waiting for another run that uses {self.folder}")
            time.sleep(POLL)

    def _unusable(self, error: OSError, argument: str) -> InputError:
        reason = (error.strerror or "not writable").lower()
        return InputError(
            argument, found=f"{self.folder} cannot be used ({reason})", remedy="give a folder that you may write to"
        )


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _has_officers(path: Path) -> bool:
    """Tell whether officers decide about an account; what is no ledger is somebody else's to complain of."""
    try:
        with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
            return bool(transaction.officers())
    except LedgerError:
        return False


def _history(transaction: Transaction) -> list[Dataset]:
    return transaction.dataset.history()


def _bound_to(bindings: Mapping[Path, Bindings], records: Fingerprint) -> Path | None:
    """Return the ledger that is bound to these records; None if there is none."""
    paths = [path for path, bound in bindings.items() if bound.belongs_to(records)]
    if len(paths) > 1:
        raise LedgerError(
            str(paths[0]),
            found=f"belongs to the same records as {paths[1].name}",
            remedy="keep the one with more entries (`panbayes holder ledger show`) and move the other away",
        )
    return paths[0] if paths else None
