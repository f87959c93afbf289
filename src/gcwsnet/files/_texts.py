"""Texts as they are: the lines of text files, or a text column of a table; and texts as sparse rows of shingles."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._paths import STANDARD_STREAM
from gcwsnet.files._read import READERS, read
from gcwsnet.files._reader import TableReader
from gcwsnet.files._sources import detect_format, find_sources, line_blocks
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._encode import factor_of_column, text_keys, to_labels
from gcwsnet.tables._errors import DataError, ErrorHandler

SHINGLE_COLUMNS = 2**30

LINES_AT_ONCE = 8192

WORD = re.compile(r"\w+")


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
