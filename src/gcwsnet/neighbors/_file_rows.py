"""Rows of files, for the commands `index`, `search` and `dedup`: tables, LIBSVM rows, or shingles of texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.estimators._tensor_file import ANYTHING, FLAG, OBJECT, PLACE, check_entries, integer, or_null
from gcwsnet.files._learn import read_with_schema
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches
from gcwsnet.files._sources import COMPRESSED_EXTENSIONS
from gcwsnet.files._texts import read_lines, read_text_column, shingle_rows
from gcwsnet.tables._errors import ErrorHandler, row_positions
from gcwsnet.tables._schema import Schema

ColumnName = str | int

ROWS = {
    "schema": or_null(OBJECT),
    "lines": FLAG,
    "column": PLACE,
    "shingle": integer(1, 2**31),
}
"""The entries of `FileRows` in the metadata of an index."""


class FileBatch(NamedTuple):
    """Rows of a file, their ids if a column has them, and their lines if each line of the file is a text."""

    X: Any
    ids: NDArray[Any] | None = None
    lines: list[str] | None = None


@dataclass
class FileBatches:
    """The rows of files, batch by batch, and the counts of those that could not be read so far."""

    batches: Iterator[FileBatch]
    errors: Batches | ErrorHandler

    def __iter__(self) -> Iterator[FileBatch]:
        return self.batches

    @property
    def skipped(self) -> int:
        """The number of rows that could not be read so far."""
        return self.errors.skipped

    @property
    def reasons(self) -> list[str]:
        """Why the first few of them could not be read."""
        return self.errors.reasons

    def positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers among all rows of the files of rows by their numbers among those that could be read."""
        return row_positions(rows, self.errors.skipped_rows)


@dataclass(frozen=True)
class FileRows:
    """How files become rows: a table or LIBSVM file with a schema, or texts of which `shingle` words are a shingle.

    A text is a line if `lines`, else an entry of a column of a table.
    """

    schema: dict[str, Any] | None
    lines: bool = False
    column: ColumnName | None = None
    shingle: int = 3

    @classmethod
    def of_index(cls, folder: PurePath, metadata: dict[str, Any]) -> FileRows:
        """Return how the files of an index became its rows, by what `gcwsnet index` has written into its metadata."""
        if "rows" not in metadata:
            raise ValueError(f"{folder} was not written by gcwsnet index; search it in Python with GCWSIndex.load")
        try:
            check_entries(metadata, {"rows": ROWS, "*": ANYTHING}, "metadata")
            if metadata["rows"]["schema"] is not None:
                Schema.from_json(metadata["rows"]["schema"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the metadata of {folder} was changed: {error}; take another copy") from error
        return cls(**metadata["rows"])

    @classmethod
    def of_files(
        cls,
        files: list[str],
        reading: dict[str, Any],
        *,
        text: ColumnName | None,
        shingle: int,
        ids: ColumnName | None,
        ignored: ColumnName | None,
    ) -> tuple[FileRows, dict[str, Any]]:
        """Return how files become rows, and the settings to read them with.

        `text` is the column that holds texts, `ids` that of the ids, and `ignored` one that is left out.
        """
        if text is not None:
            return cls(None, column=text, shingle=shingle), reading
        is_text = all(_suffix(name) == ".txt" for name in files)
        if reading.get("format", "text" if is_text else None) == "text":
            return cls(None, lines=True, shingle=shingle), {}
        if ignored is not None and ids is not None:
            named = read(files, **reading, label=ignored).columns or []
            reading = reading | {"columns": [name for name in named if name != ids]}
        label = ids if ids is not None else ignored
        reading = reading | ({} if label is None else {"label": label})
        return cls(read(files, **reading).schema.to_json()), reading

    def batches(self, files: list[str], reading: dict[str, Any], ids: ColumnName | None) -> FileBatches:
        """Return the rows of files."""
        if self.schema is not None:
            label = {} if ids is None else {"label": ids}
            table = read_with_schema(files, reading, Schema.from_json(self.schema), **label)
            return FileBatches((FileBatch(one.X, None if ids is None else one.y) for one in table), table)
        errors = ErrorHandler(reading.get("on_error", "stop"), reading.get("rejects"))
        texts = read_lines(files) if self.lines else read_text_column(files, self.column or 0, ids, errors, **reading)
        batches = (
            FileBatch(shingle_rows(one.texts, self.shingle), one.ids, one.texts if self.lines else None)
            for one in texts
        )
        return FileBatches(batches, errors)


def _suffix(name: str) -> str:
    """Return the last extension of a name that is not one of a compressed file."""
    suffixes = [one.lower() for one in PurePath(name).suffixes]
    return next((one for one in reversed(suffixes) if one not in COMPRESSED_EXTENSIONS), "")
