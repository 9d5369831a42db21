"""Recompute the chain of a ledger from ``panbayes holder ledger show --json``; imports nothing of panbayes.

Run as ``python -I independent_reader.py SHOWN [OPENED …]``: what ``show LEDGER --json`` printed, and what ``open LEDGER
ENTRY --json`` printed of entries that the holder opened.
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
    said = [entry["secret"], entry["study"], entry["question"], loss, entry["reply"], entry["notes"], entry["events"]]
    return sha256("panbayes commitment", *said)


(ledger,), *opened = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
by_number = {entry["sequence"]: entry for entry in opened}
head = ledger["first"]
for number, entry in enumerate(ledger["entries"], start=1):
    known = by_number.get(number)
    if entry["sequence"] != number or (known and (known["head"], known["previous"]) != (entry["head"], head)):
        sys.exit(f"entry {number} is another one")
    if known and commitment(known) != entry["commitment"]:
        sys.exit(f"entry {number} is not what it commits to")
    head = sha256("panbayes entry", number, entry["commitment"], head)
    if head != entry["head"]:
        sys.exit(f"the head of entry {number} does not follow")
if head != ledger["head"]:
    sys.exit("the newest entries are missing")
sys.stdout.write(f"{len(ledger['entries'])} entries, {len(opened)} opened\n")
