"""Recompute the chain of a ledger from ``panbayes holder ledger show --json``; imports nothing of panbayes.

Run as ``python -I independent_reader.py SHOWN [OPENED …]``: what ``show LEDGER --json`` printed, and what ``open LEDGER
ENTRY --json`` printed of entries that the holder opened. Entries of the first version have no commitment, and their
heads are believed unless they were opened.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any


def sha256(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()


def commitment(entry: dict[str, Any]) -> str:
    loss = json.dumps(entry["loss"], separators=(",", ":"), sort_keys=True)
    said = [entry["secret"], entry["study"], entry["question"], loss, entry["reply"], entry["notes"]]
    if entry["events"] is None:
        return sha256("panbayes commitment 2", *said)
    return sha256("panbayes commitment 3", *said, entry["events"])


(ledger,), *opened = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
by_number = {entry["sequence"]: entry for entry in opened}
head, believed = ledger["first"], 0
for number, entry in enumerate(ledger["entries"], start=1):
    known = by_number.get(number)
    if entry["sequence"] != number or (known and (known["head"], known["previous"]) != (entry["head"], head)):
        sys.exit(f"entry {number} is another one")
    if entry["commitment"] is not None:
        if known and commitment(known) != entry["commitment"]:
            sys.exit(f"entry {number} is not what it commits to")
        head = sha256("panbayes entry 2", number, entry["commitment"], head)
    elif known:
        loss = json.dumps(known["loss"], separators=(",", ":"), sort_keys=True)
        head = sha256("panbayes entry 1", number, known["study"], known["question"], loss, known["reply"], head)
    else:
        head, believed = entry["head"], believed + 1
    if head != entry["head"]:
        sys.exit(f"the head of entry {number} does not follow")
if head != ledger["head"]:
    sys.exit("the newest entries are missing")
sys.stdout.write(f"{len(ledger['entries'])} entries, {believed} believed, {len(opened)} opened\n")
