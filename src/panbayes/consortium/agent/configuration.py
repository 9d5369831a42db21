"""The holder's file, ``holder.toml``: who the holder is, where its records lie, and whom it listens to.

Every key is declared once, in the fields of :class:`HolderFile`, for reading and for the manual (``docs/files.md``).
Paths are relative to the file.

Three kinds of keys keep three kinds of people apart. The *holder's* signs what leaves; it lies on the machine that
answers. *Officers'* sign approvals; theirs lie elsewhere, or in a device. *Analysts'* sign questions. No key may be of
two kinds, so that neither who asks nor the machine that answers can approve anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final

from panbayes.consortium.agent.sections import EVERY_SECOND, MailboxAddress, Person, Source, TimeRules, limit, people
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.officers import Change, Officers, in_force
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.post.folder import Folder, check_name
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.signatures import verify_approval
from panbayes.errors import InputError, LedgerError
from panbayes.files import check_path, writing
from panbayes.privacy.loss import Loss
from panbayes.schema import kinds
from panbayes.schema.declaration import Declaration, Key
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.file import File

__all__ = ["HOLDER_FILE", "HolderFile"]


@dataclass(frozen=True)
class HolderFile:
    """What a holder's file says; ``file`` is its path. Paths in it are relative to that."""

    name: Annotated[str, Key(kinds.text('a name such as "north"'), "what the holder is called")]
    key: Annotated[
        str,
        Key(
            kinds.text('a path such as "north.key"'),
            "the holder's private key, which signs what leaves; made by `panbayes keygen`",
        ),
    ]
    cap: Annotated[
        Loss,
        Key(
            limit(),
            "what all studies together may ever spend of your people's privacy; a question beyond it is refused",
        ),
    ]
    source: Annotated[Source, Key(kinds.table(Source), "where the records lie, and how they are written")]
    officers: Annotated[
        tuple[Person, ...],
        Key(people("mary"), "who may approve studies, each by a key of their own, kept elsewhere or in a device"),
    ]
    analysts: Annotated[
        tuple[Person, ...], Key(people("uni-north"), "whose studies are looked at; what anybody else sends is ignored")
    ] = ()
    approvals: Annotated[
        int, Key(kinds.whole_number("1 or 2"), "how many officers must sign before a study is answered")
    ] = 1
    state: Annotated[
        str,
        Key(
            kinds.text('a folder such as "state"'),
            "the folder of the ledger and of letters, for the holder's eyes only",
        ),
    ] = "state"
    seal: Annotated[
        bool, Key(kinds.flag(), "whether answers are sealed, so that only the analyst can read them on their way")
    ] = False
    time: Annotated[TimeRules, Key(kinds.table(TimeRules), "when answers may leave", default="every second")] = (
        EVERY_SECOND
    )
    mailbox: Annotated[
        MailboxAddress | None,
        Key(kinds.table(MailboxAddress), "the analyst's mailbox, for `panbayes holder serve`"),
    ] = None
    file: str = "holder.toml"

    def __post_init__(self) -> None:
        """Check what spans keys."""
        check_name(self.name, argument="name")
        if self.approvals not in (1, 2):
            raise InputError("approvals", found=f"found {self.approvals}", remedy="give 1 or 2")
        if len(self.officers) < self.approvals:
            raise InputError(
                "officers",
                found=f"found {len(self.officers)}, and approvals = {self.approvals}",
                remedy="give as many officers as must sign",
            )
        seen: dict[PublicKey, str] = {}
        for where, person in self._people():
            before = seen.setdefault(person.key, where)
            if before != where:
                raise InputError(
                    where,
                    found=f"is the key of {before} too",
                    remedy="give everybody a key of their own; who asks cannot approve",
                )

    def _people(self) -> list[tuple[str, Person]]:
        """Return everybody, with the key of the file that has them."""
        return [
            *((f"officers.{person.name}", person) for person in self.officers),
            *((f"analysts.{person.name}", person) for person in self.analysts),
        ]

    @classmethod
    def load(cls, path: str | Path) -> HolderFile:
        """Read a holder's file, and its key, which nobody else may be able to read."""
        loaded = HOLDER_FILE.load(path)
        loaded.check_own_key()
        return loaded

    def reread(self) -> HolderFile:
        """Return what the file says now, itself if that is the same: who is taken out of it has no say from then on.

        Refused is what an agent cannot take over while it runs.
        """
        found = HolderFile.load(self.file)
        if (found, found.public) == (self, self.public):
            return self
        if _lasting(found) != _lasting(self):
            raise InputError(
                self.file,
                found="has another name, key, state or mailbox than when the agent began",
                remedy="start the agent again: until then it answers nothing",
            )
        found.home.extend(self.home)
        return found

    def check_own_key(self) -> None:
        """Refuse a holder whose key is an officer's or an analyst's."""
        for where, person in self._people():
            if person.key == self.public:
                raise InputError(
                    f"{self.file}, {where}",
                    found="is the holder's own key",
                    remedy="give everybody a key of their own; the machine that answers neither asks nor approves",
                )

    @cached_property
    def folder(self) -> Path:
        """Where the file lies."""
        return Path(self.file).parent

    @cached_property
    def private(self) -> PrivateKey:
        """The holder's private key."""
        return PrivateKey.load(self.folder / check_path(self.key, argument="key"), argument=f"{self.file}, key")

    @property
    def public(self) -> PublicKey:
        """The holder's public key."""
        return self.private.public

    @property
    def data(self) -> File | Address:
        """The holder's table, as the readers of tables take it."""
        return self.source.at(self.folder)

    @property
    def ca(self) -> Path | None:
        """The file of further certificates to trust, if there is one."""
        return None if self.mailbox is None or self.mailbox.ca is None else self.folder / self.mailbox.ca

    @property
    def state_folder(self) -> Path:
        """Where ledger and letters are kept."""
        return self.folder / check_path(self.state, argument="state")

    @cached_property
    def home(self) -> list[tuple[int, int]]:
        """What the state's folder is known by to the system, once it was used."""
        return []

    @property
    def consents(self) -> Path:
        """Where officers' statements and signatures are kept, for whoever checks them without panbayes."""
        return self.state_folder / "consents"

    @property
    def cabinet(self) -> Cabinet:
        """Where the ledger is kept."""
        return Cabinet.in_state(self.state_folder)

    def analyst(self, fingerprint: str) -> Person | None:
        """Return the analyst whose key has this fingerprint, None if it is nobody's."""
        return next((person for person in self.analysts if person.key.fingerprint == fingerprint), None)

    def officer(self, key: PublicKey) -> Person | None:
        """Return the officer that has this key, None if it is nobody's."""
        return next((person for person in self.officers if person.key == key), None)

    def post(self, part: str) -> Folder:
        """Return a folder of letters within the state, made for the holder alone: ``studies``, ``outgoing`` …"""
        folder = self.state_folder / "post" / part
        self.private_folder(folder)
        return Folder(folder, argument=f"{self.file}, state")

    def private_folder(self, folder: Path) -> Path:
        """Make a folder of the state, and those above it up to the state itself, for the holder alone.

        A state that was used before and is another now, for its disk was unmounted under an agent that runs, say, is
        refused: a ledger that is made there would know nothing of what was spent.
        """
        if self.home and self.home != _known_by(self.state_folder):
            raise LedgerError(
                str(self.state_folder),
                found="is another folder than before, or is gone",
                remedy="see that its disk is mounted and its folder in place, then start this again",
            )
        with writing(folder, argument=f"{self.file}, state", remedy="give a folder that you may write to"):
            self.state_folder.parent.mkdir(parents=True, exist_ok=True)
            for part in (
                *reversed(folder.relative_to(self.state_folder).parents),
                folder.relative_to(self.state_folder),
            ):
                (self.state_folder / part).mkdir(mode=0o700, exist_ok=True)
        if not self.home:
            self.home.extend(_known_by(self.state_folder))
        return folder

    def ledger(self) -> Ledger:
        """Open the holder's ledger, or make it; the file's cap holds, and a change of it is written down there.

        The account remembers who decides about it: a file that names other officers is refused.
        """
        ledger = self.account()
        try:
            self._take_over(ledger)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _take_over(self, ledger: Ledger) -> None:
        """Put the file's cap in force, and its officers where nobody decides yet; refuse officers who may not."""
        with ledger.transaction(write=False) as transaction:
            self._check_officers(transaction)
            if transaction.officers() and transaction.cap() == self.cap:
                return
        with ledger.transaction() as transaction:
            self._check_officers(transaction)
            if not transaction.officers():
                transaction.note("officers", Change(self.deciding).content)
            if transaction.cap() != self.cap:
                transaction.set_cap(self.cap)

    def _check_officers(self, transaction: Transaction) -> None:
        deciding = in_force(transaction.officers(), account=transaction.first(), verify=verify_approval)
        if deciding is not None and not deciding.covers(self.deciding):
            raise LedgerError(
                str(self.cabinet.path(self.name)),
                found=f"is an account about which other officers decide than those of {self.file}",
                remedy="name those who do, or let them sign the change: panbayes holder officers --config "
                f"{self.file} --statement FILE",
            )

    @property
    def deciding(self) -> Officers:
        """The officers, as an account knows them."""
        return Officers.of((officer.key.line for officer in self.officers), self.approvals)

    def account(self) -> Ledger:
        """Open the holder's ledger, or make it, as it is: whoever decides about it.

        A ledger by another name is not passed over: to rename the holder must not open a fresh account. Nor is one
        made where officers have approved studies before: it was lost, and with it what was spent.
        """
        self.post("studies")
        self.cabinet.make_folder(argument=f"{self.file}, state")
        path = self.cabinet.path(self.name)
        others = self.cabinet.files()
        if others and path not in others:
            raise LedgerError(
                str(self.cabinet.folder),
                found=f'has the ledger {others[0].name}, and none of a holder "{self.name}"',
                remedy="name the holder as before, or give another folder as its state",
            )
        if not path.exists() and self.consents.is_dir() and any(self.consents.iterdir()):
            raise LedgerError(
                str(path),
                found="is gone, and officers have approved studies here: what was spent is not known any more",
                remedy=f"bring it back if it was moved; an old copy would spend again what it has forgotten. To begin "
                f"anew, set cap to what is certainly left, and move {self.consents} away",
            )
        return Ledger.open(path, create=True)


def _known_by(folder: Path) -> list[tuple[int, int]]:
    """Return what a folder is known by to the system; nothing if it is not there."""
    try:
        found = folder.stat()
    except OSError:
        return []
    return [(found.st_dev, found.st_ino)]


def _lasting(holder: HolderFile) -> tuple[object, ...]:
    return holder.name, holder.public, holder.state_folder, holder.mailbox


HOLDER_FILE: Final = Declaration(
    "Holder files",
    1,
    HolderFile,
    about="A holder's file says who the holder is between institutions, where its records lie and whom it listens to. "
    "`panbayes holder init` writes one, and every verb of the holder reads it. Paths are relative to the file. Unknown "
    "keys are errors, and no key may be that of two people.",
    example="""
version = 1
name = "north"
key = "north.key"
cap = 3

[source]
file = "north.csv"

[officers]
mary = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

[analysts]
uni = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA"
""",
    origin="file",
)
