"""Texts as they are: the lines of text files, or a text column of a table; and texts as sparse rows of shingles."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet import _core
from gcwsnet.files._read import READERS, read
from gcwsnet.files._reader import TableReader
from gcwsnet.files._sources import STANDARD_INPUT, detect_format, find_sources, line_blocks
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._encode import FNV_BASIS, factor_of_column, to_labels
from gcwsnet.tables._errors import DataError, ErrorHandler, InvalidRows
from gcwsnet.tables._schema import LONGEST_LINE

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
            for block in line_blocks(stream.read, path=source.name, longest_line=LONGEST_LINE):
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
    if STANDARD_INPUT not in paths:
        found = settings.get("format") or detect_format(find_sources(paths))
        if not issubclass(READERS[found], TableReader):
            raise DataError(
                f"texts must be in a column of a CSV, TSV, Parquet or Arrow file, got the column {column!r} of a "
                f"{found} file",
                path=str(paths[0]),
            )
    chosen = {"columns": [column], "categorical": [column], "hash_columns": 1, "label": ids, "missing": "zero"}
    batches = read(files, **settings | chosen)
    reader = batches._reader  # type: ignore[attr-defined]  # read returns ReaderBatches
    schema = batches.schema
    with errors.saving():
        for table, origin in reader._read_all_tables(schema, errors):
            codes, distinct = factor_of_column(schema.columns[0], table.columns[0])
            distinct = [*distinct, ""]
            invalid = InvalidRows()  # rows without an id
            found = None if table.label is None else to_labels(table.label, schema, invalid)
            batch = invalid.drop_from(Batch(codes[:, np.newaxis], found, None), origin, errors)
            texts = [distinct[code] for code in batch.X[:, 0].tolist()]  # the last one where the code is -1
            yield Texts(texts, batch.y)


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
    shingles: list[bytes] = []
    counts = np.empty(len(texts), np.int64)
    for i, text in enumerate(texts):
        words = WORD.findall(text.lower())
        found = [" ".join(words[at : at + n_words]) for at in range(max(1, len(words) - n_words + 1))] if words else []
        counts[i] = len(found)
        shingles += [one.encode("utf-8", "surrogatepass") for one in found]
    ends = np.zeros(len(shingles) + 1, np.int64)
    np.cumsum([len(one) for one in shingles], out=ends[1:])
    keys = np.empty(len(shingles), np.uint64)
    _core.text_keys(b"".join(shingles), ends, FNV_BASIS, keys)
    columns = (keys >> np.uint64(34)).astype(np.int32)
    starts = np.append(0, np.cumsum(counts))
    X = sparse.csr_array(
        (np.ones(len(columns), np.float32), columns, starts.astype(np.int32)), shape=(len(texts), SHINGLE_COLUMNS)
    )
    X.sum_duplicates()
    return mark_canonical(X)
