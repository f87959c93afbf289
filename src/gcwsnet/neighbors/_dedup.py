"""Near-duplicates in a stream of rows: the first of them is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.files._batches import Batches
from gcwsnet.files._learn import read_with_schema
from gcwsnet.files._read import read
from gcwsnet.files._sources import COMPRESSED_EXTENSIONS
from gcwsnet.files._texts import Texts, read_lines, read_text_column, shingle_rows
from gcwsnet.neighbors._index import GCWSIndex
from gcwsnet.tables._errors import ErrorHandler, row_positions
from gcwsnet.tables._schema import Schema


class Duplicates(NamedTuple):
    """Which rows of a batch are kept; and of the others their numbers, the numbers of kept rows, and similarities."""

    kept: NDArray[np.bool_]
    rows: NDArray[np.int64]
    originals: NDArray[np.int64]
    similarities: NDArray[np.float64]


class Deduplicator:
    """Rows of a stream, of which those are kept that are similar to no row that was kept before.

    Only codes are held, of the rows that are kept: memory does not grow with the size of a row. The result does not
    depend on how the rows are divided into batches.

    Parameters
    ----------
    threshold : float
        The similarity from which a row is a near-duplicate, as the codes estimate it.
    n_hashes, bits, p, recall, random_state, n_jobs
        As for `GCWSIndex`.

    Examples
    --------
    >>> from gcwsnet.neighbors import Deduplicator
    >>> deduplicate = Deduplicator(0.8)
    >>> deduplicate([[1.0, 2.0, 3.0], [9.0, 1.0, 0.0], [1.0, 2.0, 3.1]]).kept
    array([ True,  True, False])
    >>> deduplicate([[1.0, 2.0, 2.9], [0.0, 0.0, 1.0]])
    Duplicates(kept=array([False,  True]), rows=array([3]), originals=array([0]), similarities=array([0.99215686]))
    """

    def __init__(self, threshold: float, **settings: Any) -> None:
        self.threshold = threshold
        self._settings = settings | {"threshold": threshold, "keep_rows": False, "method": "bands"}
        self.index = GCWSIndex(**self._settings)
        self.n_rows = 0

    def __call__(self, X: Any) -> Duplicates:
        """Return which of the next rows are kept, and what the others are near-duplicates of."""
        codes = self.index.codes(X)
        first = self.n_rows
        original = np.full(len(codes), -1, np.int64)
        similarity = np.full(len(codes), -np.inf)
        if first > 0:
            found = self.index.query_threshold(codes, self.threshold)
            rows, best = np.unique(found.queries, return_index=True)
            original[rows], similarity[rows] = found.ids[best], found.similarities[best]
        kept = original < 0
        pairs = GCWSIndex(**self._settings).add(codes).pairs(self.threshold)
        for row, earlier, value in zip(*(one.tolist() for one in pairs), strict=True):  # rows ascend
            if kept[earlier] and value > similarity[row]:
                kept[row] = False
                original[row], similarity[row] = first + earlier, value
        if kept.any():
            self.index.add(codes[kept], ids=first + np.flatnonzero(kept))
        self.n_rows += len(codes)
        lost = np.flatnonzero(~kept)
        return Duplicates(kept, first + lost, original[lost], similarity[lost])


TEXT = "text"

ColumnName = str | int


class FileBatch(NamedTuple):
    """Rows of a file.

    Attributes
    ----------
    X : array or CSR array
    ids : array or None
        The ids, if a column has them.
    lines : list of str or None
        The lines of a text file.
    """

    X: Any
    ids: NDArray[Any] | None
    lines: list[str] | None


class FileBatches:
    """The rows of files, batch by batch, and what is known of those that could not be read so far.

    Parameters
    ----------
    batches : iterable of FileBatch
    errors : Batches or ErrorHandler
        What counts the rows that could not be read.
    """

    def __init__(self, batches: Iterable[FileBatch], errors: Batches | ErrorHandler) -> None:
        self._batches, self._errors = batches, errors

    def __iter__(self) -> Iterator[FileBatch]:
        return iter(self._batches)

    @property
    def skipped(self) -> int:
        """The number of rows that could not be read so far."""
        return self._errors.skipped

    @property
    def reasons(self) -> list[str]:
        """Why the first few of them could not be read."""
        return self._errors.reasons

    def positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers among all rows of the files of rows by their numbers among those that could be read."""
        return row_positions(rows, self._errors.skipped_rows)


@dataclass(frozen=True)
class FileRows:
    """How files become rows.

    Attributes
    ----------
    schema : dict or None
        That of tables and LIBSVM files; None for texts.
    lines : bool
        Whether each line of a file is a text.
    column : str, int or None
        The column of a table that holds texts.
    shingle : int
        The words of a shingle.
    """

    schema: dict[str, Any] | None
    lines: bool = False
    column: ColumnName | None = None
    shingle: int = 3

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

        `reading` are the settings of `read`, `text` the column that holds texts, `ids` the column of the ids and
        `ignored` one that is left out.
        """
        if text is not None:
            return cls(None, column=text, shingle=shingle), reading
        if is_text(files, reading):
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
            batches = read_with_schema(files, reading, Schema.from_json(self.schema), **label)
            return FileBatches((FileBatch(one.X, None if ids is None else one.y, None) for one in batches), batches)
        errors = ErrorHandler(reading.get("on_error", "stop"), reading.get("rejects"))
        texts: Iterator[Texts]
        texts = read_lines(files) if self.lines else read_text_column(files, self.column or 0, ids, errors, **reading)
        return FileBatches(
            (
                FileBatch(shingle_rows(one.texts, self.shingle), one.ids, one.texts if self.lines else None)
                for one in texts
            ),
            errors,
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def is_text(files: list[str], reading: dict[str, Any]) -> bool:
    """Return whether files are read line by line: by their format, or by names that end with .txt."""
    if "format" in reading:
        return bool(reading["format"] == TEXT)
    return all(_suffix(name) == ".txt" for name in files)


def _suffix(name: str) -> str:
    suffixes = [one.lower() for one in PurePath(name).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED_EXTENSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
