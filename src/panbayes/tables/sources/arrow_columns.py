"""Columns of Arrow arrays: as values where the type is plain, as a dictionary where it is one, else as texts.

Arrow does not look at what it reads: a text may be no UTF-8, and a place may lie outside its dictionary. Everything is
checked before it goes on. A column of texts in which one is no UTF-8 is taken over as bytes, value by value, so that
such a text spoils its own record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from panbayes.errors import InputError
from panbayes.tables.quiet import quiet
from panbayes.tables.sources.batch import BATCH_RECORDS, Batch, Column
from panbayes.tables.texts import text_column, value_text

__all__ = ["DAMAGE", "ArrowColumns", "arrow_batches", "damaged", "is_text"]

DAMAGE: Final = (
    *(pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException),
    *(OSError, ValueError, IndexError, KeyError, OverflowError, MemoryError),
)
"""What readers raise where bytes are not what they should be. A panic is no Exception."""


@contextmanager
def damaged(argument: str, what: str) -> Iterator[None]:
    """Make one line about the file of whatever a reader raises."""
    try:
        yield
    except DAMAGE:
        raise InputError(
            argument, found=f"is a damaged or truncated {what}", remedy="write it again and copy it whole"
        ) from None


_WORTH: Final = 4
"""A dictionary is handed on if it has so many times fewer values than there are records."""


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values of this type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_plain(kind: pa.DataType) -> bool:
    """Tell whether polars has a type for it, whatever the values are."""
    of = pa.types
    if of.is_decimal(kind):
        return not of.is_decimal256(kind) and kind.scale >= 0
    if of.is_timestamp(kind):
        return kind.tz in (None, "UTC")
    return bool(
        of.is_boolean(kind)
        or of.is_integer(kind)
        or of.is_floating(kind)
        or of.is_date(kind)
        or of.is_time(kind)
        or of.is_duration(kind)
        or of.is_null(kind)
        or of.is_binary(kind)
        or of.is_large_binary(kind)
        or of.is_fixed_size_binary(kind)
        or is_text(kind)
    )


class ArrowColumns:
    """Turns arrays into columns. Of columns with equal dictionaries, one after the other, the values are one object."""

    def __init__(self) -> None:
        """Remember no dictionary yet."""
        self._known: dict[str, tuple[Any, pl.Series]] = {}

    def batch(self, records: Any, names: Iterable[str]) -> Batch:
        """Turn the named columns of a record batch into one of ours."""
        found = {name: self.column(name, records.column(records.schema.get_field_index(name))) for name in names}
        return Batch(found, records.num_rows)

    def column(self, name: str, array: Any) -> Column:
        """Turn an array into a column."""
        array.validate()
        if isinstance(array.type, pa.BaseExtensionType):
            array.validate(full=True)
            return Column(text_column("", _one_by_one(array)))
        if pa.types.is_run_end_encoded(array.type):
            array.validate(full=True)
            array = _compute("run_end_decode", array)
        if not pa.types.is_dictionary(array.type):
            return Column(_values(array))
        _check_places(array)
        if len(array.dictionary) * _WORTH > len(array):
            return Column(_values(array.dictionary.take(array.indices)))
        places = array.indices
        last, values = self._known.get(name, (None, None))
        if values is None or not array.dictionary.equals(last):
            # The last value is missing, so that a missing place has something to point at.
            values = _values(array.dictionary).extend_constant(None, 1)
            self._known[name] = (array.dictionary, values)
        found = places.cast(pa.int32()).fill_null(values.len() - 1)
        return Column(values, np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32))


def _compute(function: str, *arguments: Any) -> Any:
    """Call a function of Arrow on arrays."""
    from pyarrow.compute import call_function

    return call_function(function, list(arguments))


def _check_places(array: Any) -> None:
    """Refuse places outside the dictionary: what a text is does not matter here."""
    bounds = _compute("min_max", array.indices).as_py()
    if bounds["max"] is not None and (bounds["min"] < 0 or bounds["max"] >= len(array.dictionary)):
        raise ValueError("a place outside the dictionary")


def _values(array: Any) -> pl.Series:
    """Return an array as values of its own type, or as texts."""
    kind = array.type
    if is_text(kind):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            # If it is more than a text that is no UTF-8, it is not safe to look at: that raises again.
            raw = array.cast(_with_bytes(kind))
            raw.validate(full=True)
            return text_column("", _one_by_one(raw))
        return _polars(array)
    if pa.types.is_nested(kind):
        return _nested(array)
    array.validate(full=True)
    if _is_plain(kind):
        return _polars(array)
    try:
        with quiet():
            return _polars(array)
    except DAMAGE:
        return text_column("", _one_by_one(array))


def _nested(array: Any) -> pl.Series:
    """Return lists, structs and maps: as they are if all their texts are UTF-8, else each as a text of its own."""
    try:
        array.validate(full=True)
        with quiet():
            return _polars(array)
    except DAMAGE:
        # With bytes in the place of texts, whatever is still wrong would not be safe to look at.
        raw = array.cast(_with_bytes(array.type))
        raw.validate(full=True)
        return text_column("", (_with_texts(value, array.type) for value in _one_by_one(raw)))


def _with_bytes(kind: Any) -> Any:
    """Return a type with bytes in the place of texts."""
    of = pa.types
    if is_text(kind):
        return (
            pa.large_binary()
            if of.is_large_string(kind)
            else pa.binary_view()
            if of.is_string_view(kind)
            else pa.binary()
        )
    if of.is_map(kind):
        return pa.map_(_with_bytes(kind.key_type), _with_bytes(kind.item_type))
    if of.is_struct(kind):
        return pa.struct([pa.field(field.name, _with_bytes(field.type)) for field in kind])
    if of.is_large_list(kind):
        return pa.large_list(_with_bytes(kind.value_type))
    if of.is_fixed_size_list(kind):
        return pa.list_(_with_bytes(kind.value_type), kind.list_size)
    return pa.list_(_with_bytes(kind.value_type)) if of.is_list(kind) else kind


def _with_texts(value: object, kind: Any) -> object:
    """Return a value of a type with bytes in the place of texts as polars would have it with texts, where they are."""
    if isinstance(value, bytes) and is_text(kind):
        return value_text(value)
    if isinstance(value, list) and pa.types.is_map(kind):
        return {_with_texts(key, kind.key_type): _with_texts(one, kind.item_type) for key, one in value}
    if isinstance(value, list):
        return [_with_texts(one, kind.value_type) for one in value]
    if isinstance(value, dict):
        return {field.name: _with_texts(value[field.name], field.type) for field in kind}
    return value


def _polars(array: Any) -> pl.Series:
    found = pl.from_arrow(array)
    if not isinstance(found, pl.Series):
        raise TypeError("an array is one column")
    return found


def _one_by_one(array: Any) -> Iterator[object]:
    """Yield every value as Python has it; one that Python has not, as a word of its own."""
    for scalar in array:
        try:
            yield scalar.as_py()
        except DAMAGE:
            yield f"a value that cannot be read ({scalar.type})"


def arrow_batches(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Batch]:
    """Turn record batches of any size into ours."""
    columns = ArrowColumns()
    wanted = list(dict.fromkeys(names))
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_RECORDS):
            yield columns.batch(batch.slice(start, BATCH_RECORDS), wanted)
