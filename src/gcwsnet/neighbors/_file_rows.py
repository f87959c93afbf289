"""Rows of files, for the commands `index`, `search` and `dedup`: tables, LIBSVM rows, or shingles of texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._paths import STANDARD_STREAM
from gcwsnet.estimators._tensor_file import ANYTHING, FLAG, OBJECT, PLACE, check_entries, integer, or_null
from gcwsnet.files._learn import read_with_schema
from gcwsnet.files._read import READERS, read
from gcwsnet.files._reader import Batches, TableReader
from gcwsnet.files._sources import COMPRESSED_EXTENSIONS, detect_format, find_sources, line_blocks
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._encode import factor_of_column, text_keys, to_labels
from gcwsnet.tables._errors import DataError, ErrorHandler, row_positions
from gcwsnet.tables._schema import ColumnName, Schema

SHINGLE_COLUMNS = 2**30

LINES_AT_ONCE = 8192

WORD = re.compile(r"\w+")

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


class Texts(NamedTuple):
    """Texts of a file, and the values of another column for each of them, if there is one."""

    texts: list[str]
    ids: NDArray[Any] | None = None


def read_lines(files: Any) -> Iterator[Texts]:
    """Yield the lines of text files without their ends; bytes that are not UTF-8 become surrogates."""
    pending: list[str] = []
    for source in find_sources(files):
        with source.open() as stream:
            for block in line_blocks(stream.read, path=source.name):
                lines = block.text.removesuffix(b"\n").split(b"\n")
                pending += [line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in lines]
                while len(pending) >= LINES_AT_ONCE:
                    yield Texts(pending[:LINES_AT_ONCE])
                    pending = pending[LINES_AT_ONCE:]
    if pending:
        yield Texts(pending)


def read_text_column(
    files: Any, column: str | int, ids: str | int | None, errors: ErrorHandler, **settings: Any
) -> Iterator[Texts]:
    """Yield the texts of a column of a table, "" for missing ones, with the column `ids` beside them.

    `errors` is what rows that cannot be read are given to, and `settings` are those of `read`.
    """
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    if STANDARD_STREAM not in paths:
        found = settings.get("format") or detect_format(find_sources(paths))
        if not issubclass(READERS[found], TableReader):
            raise DataError(
                f"texts must be in a column of a CSV, TSV, Parquet or Arrow file, got the column {column!r} of a "
                f"{found} file",
                path=str(paths[0]),
            )
    chosen = {"columns": [column], "categorical": [column], "hash_columns": 1, "label": ids, "missing": "zero"}
    reader = read(files, **settings | chosen).reader
    assert isinstance(reader, TableReader)  # noqa: S101
    schema = reader.schema
    with errors.saving():
        for columns, selection, invalid in reader.tables(schema):
            indices, distinct = factor_of_column(schema.columns[0], columns[selection.features[0]])
            y = None if selection.label is None else to_labels(columns[selection.label], schema, invalid)
            for batch in errors.valid_rows(Batch(indices[:, np.newaxis], y), invalid):
                texts = [*distinct, ""]
                yield Texts([texts[index] for index in batch.X[:, 0].tolist()], batch.y)  # "" where the index is -1


def shingle_rows(texts: Sequence[str], n_words: int) -> Any:
    """Return texts as rows that count their shingles: every `n_words` words that follow each other.

    Words are runs of letters, digits and underscores, in lower case. A text with fewer words is one shingle; one
    without words is a row of zeros. A shingle, its words joined by a space, is hashed to one of 2**30 columns: FNV-1a
    (64 bits) of its bytes in UTF-8, the finalizer of splitmix64, and the upper 30 bits of that.

    Parameters
    ----------
    texts : sequence of str
    n_words : int

    Returns
    -------
    X : CSR array of float32, shape (len(texts), 2**30)

    Examples
    --------
    >>> X = shingle_rows(["One two three.", "one, TWO three four", ""], 3)
    >>> X.sum(axis=1).tolist()
    [1.0, 2.0, 0.0]
    >>> X.indptr.tolist(), bool(X.indices[0] in X.indices[1:])
    ([0, 1, 3, 3], True)
    """
    shingles: list[str] = []
    starts = [0]
    for text in texts:
        words = WORD.findall(text.lower())
        if words:
            shingles += [" ".join(words[at : at + n_words]) for at in range(max(1, len(words) - n_words + 1))]
        starts.append(len(shingles))
    columns = (text_keys(shingles) >> np.uint64(34)).astype(np.int32)
    X = sparse.csr_array(
        (np.ones(len(columns), np.float32), columns, np.array(starts, np.int32)), shape=(len(texts), SHINGLE_COLUMNS)
    )
    X.sum_duplicates()
    return mark_canonical(X)
