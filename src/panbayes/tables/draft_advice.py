"""What a draft advises where a file seems to be written otherwise than it was read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from panbayes.schema.toml_writer import toml_value
from panbayes.tables.draft_summary import ColumnSummary

__all__ = ["MARKERS", "reading_advice"]

MARKERS: Final = (".", "-", "--", "#NULL!", "#N/A", "#NV", "<NA>", "(null)", "NaT", "\\N")
"""What programs write where a value is missing, beside what counts as missing from the start."""

_NO_TEXT: Final = re.compile(r"\\x[89a-f][0-9a-f]")


def reading_advice(seen: Iterable[ColumnSummary], *, one_column: bool) -> Iterator[str]:
    """Yield what to try: another separator or header, an encoding, words that mean missing."""
    columns = list(seen)
    if one_column:
        yield (
            "one column only: are there lines above the header, which must be removed, or stands something else than "
            "comma, semicolon, tab or pipe between values?"
        )
    if strange := next((c.name for c in columns if any(map(_NO_TEXT.search, c.values))), None):
        yield f"{toml_value(strange)} holds letters that are no UTF-8: then declare the encoding, such as latin-1"
    for marker in MARKERS:
        if any(marker in c.values for c in columns):
            yield f"{toml_value(marker)} seems to mean missing: then draft with --missing-value={toml_value(marker)}"
