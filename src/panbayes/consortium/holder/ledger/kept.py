"""Where the codes that a study sees are kept, beside the ledger: one file a study, for as long as it may ask."""

from __future__ import annotations

from pathlib import Path

from panbayes.files import unfinished_names

__all__ = ["codes_of", "remove_codes"]


def codes_of(ledger: Path, study: str) -> Path:
    """Return the file for a study, by its hash.

    >>> codes_of(Path("ledgers/north.ledger"), "0123456789abcdef" * 4).name
    'north.ledger-codes-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'
    """
    return ledger.with_name(f"{ledger.name}-codes-{study}")


def remove_codes(ledger: Path, study: str) -> bool:
    """Remove what is kept for a study, and what a kill left of keeping it; tell whether there was anything."""
    path = codes_of(ledger, study)
    found = path.exists()
    for left in (path, *unfinished_names(path)):
        left.unlink(missing_ok=True)
    return found
