"""The function `read`, and the way from sources to batches.

`find_sources` lists the files, `detect_format` names their format, the `Reader` of that format parses rows into batches
of any size, and `Batches` cuts these into batches of one size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet._paths import require_separate
from gcwsnet._validation import check_choice
from gcwsnet.files._csv import CsvReader, TsvReader
from gcwsnet.files._libsvm import LibsvmReader
from gcwsnet.files._numpy import ArraysReader, NpyReader, NpzReader
from gcwsnet.files._parquet import ArrowReader, ParquetReader
from gcwsnet.files._reader import Batches, Reader
from gcwsnet.files._sources import detect_format, find_sources
from gcwsnet.tables._schema import HASH_COLUMNS, ColumnName, ReadOptions, Schema

READERS: dict[str, type[Reader]] = {
    "libsvm": LibsvmReader,
    "csv": CsvReader,
    "tsv": TsvReader,
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "npz": NpzReader,
    "npy": NpyReader,
}


def read(
    sources: Any,
    *,
    format: str = "auto",  # noqa: A002
    batch_rows: int = 8192,
    dtype: Any = None,
    schema: Schema | None = None,
    n_features: int | None = None,
    index_base: int | str = "auto",
    header: bool | str = "auto",
    sep: str = "auto",
    decimal: str = "auto",
    na_values: Sequence[str] = (),
    encoding: str = "utf-8",
    label: ColumnName | None = None,
    weight: ColumnName | None = None,
    columns: Sequence[ColumnName] | None = None,
    exclude: Sequence[ColumnName] = (),
    categorical: Sequence[ColumnName] = (),
    hash_columns: int | None = None,
    missing: str | None = None,
    labels: Sequence[Any] | None = None,
    on_error: str = "stop",
    rejects: str | os.PathLike[str] | None = None,
) -> Batches:
    r"""Read batches of rows from files, standard input or arrays, in memory that does not grow with their size.

    Parameters
    ----------
    sources : path, list of paths, or iterable of arrays
        A path is a file, a folder (its files in the order of their names, without those that begin with a dot or an
        underscore), a pattern such as ``part-*.csv.gz``, or "-" for standard input. Files may be compressed with gz,
        bz2, xz or zstd, which is detected by their first bytes. Arrays are X, (X, y) or (X, y, weight), with X dense or
        sparse, or an iterable of those.
    format : {"auto", "libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy"}, default="auto"
        "auto" detects the format by the first bytes of a file, then by its name, then by its first lines.
    batch_rows : int, default=8192
        The number of rows of a batch. A batch may hold rows of several files; the last one may be smaller.
    dtype : {"float32", "float64"}, optional
        The dtype of X. A number that is too large for it is an error. By default float64, and for arrays, npy and npz
        the float dtype that they have.
    schema : Schema, optional
        The schema of data that was read before: columns, categories, width, index base, missing values. Columns are
        found by their names, in any order. By default the schema is learned from the sources.
    n_features : int, optional
        The number of columns of X, for LIBSVM files. By default all rows are read once to find it.
    index_base : {"auto", 0, 1}, default="auto"
        The index of the first column in LIBSVM files. "auto" is 1 if no row of any file has the index 0, as in
        scikit-learn; all rows are read once to find out. For a stream, the lines of its first 64 KiB decide, and a
        later index 0 is an error.
    header : {"auto", True, False}, default="auto"
        Whether the first line of a CSV file holds the names of the columns. "auto" says yes if none of its fields is a
        number, if it has text where the second line has a number, or if it is 0, 1, 2, ...
    sep : str, default="auto"
        The character between the fields of a CSV file. "auto" is the one of ``;``, a tab, ``|`` and ``,`` that cuts the
        first lines into the same number of fields, and a tab in TSV files.
    decimal : {"auto", ".", ","}, default="auto"
        The decimal point of CSV files. "auto" is a comma if numbers have commas and the separator is another character.
    na_values : list of str, default=()
        Texts of CSV files that are missing values, in addition to those of `pandas.read_csv`. A model remembers them.
    encoding : str, default="utf-8"
        The encoding of CSV files, such as "cp1252" (Windows), "latin-1" or "utf-16".
    label, weight : str or int, optional
        The columns of a table with labels and weights, by name, or by number from 0, where -1 is the last column. For
        npy files by number. LIBSVM and npz files have labels of their own.
    columns : list of str or int, optional
        The columns of a table that make up X. By default all but label and weight.
    exclude : list of str or int, default=()
        The columns of a table to leave out.
    categorical : list of str or int, default=()
        Columns of a table that hold categories although they look like numbers, booleans or dates. Text columns are
        always categorical, and columns of a type for categories are, see `docs/tables.md`.
    hash_columns : int, optional
        Hash all categories to this number of columns at the end of X, which all categorical columns share. By default
        all rows are read once to find the categories, each has a column of its own in columns of up to 100 categories,
        and those of other columns are hashed to 16,384. A stream cannot be read twice: all its categories are hashed to
        16,384 columns.
    missing : {"error", "zero", "nan"}, optional
        The rule for missing values. "error", the default, raises a DataError. With "zero" a missing value counts as 0,
        before any preprocessing. With "nan" it stays NaN in X, for the next step to deal with. In the last two cases a
        missing category sets no column, like a category that is not in the schema.
    labels : list, optional
        The known labels. Any other label is an error.
    on_error : {"stop", "skip"}, default="stop"
        What to do with an invalid row: raise a DataError, or skip it and count it in `Batches.skipped`.
    rejects : path, optional
        The file to which the text of skipped rows is written, or their row numbers if the source is not text. It is
        complete when all rows have been read, and replaces an earlier one.

    Returns
    -------
    batches : Batches

    Raises
    ------
    DataError
        A ValueError with the file, the line and the column. It is raised here if the format cannot be detected, and
        otherwise when the rows are read.
    FileNotFoundError
        If a file does not exist, a pattern matches nothing, or a folder has no files.

    Notes
    -----
    X is CSR for LIBSVM files, and for tables with hashed categories or over 1,000 one-hot columns. It is dense
    otherwise. An npz file is read as a whole, and an npy file is mapped into memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gcwsnet.files import read
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     _ = file.write_text("age,city,label\n30,Rome,yes\n40,Oslo,no\n50,Rome,yes\n")
    ...     people = read(file, label="label", batch_rows=2)
    ...     people.schema.feature_names()
    ...     for X, y, _ in people:
    ...         print(X.tolist(), y.tolist())
    ['age', 'city=Oslo', 'city=Rome']
    [[30.0, 0.0, 1.0], [40.0, 1.0, 0.0]] ['yes', 'no']
    [[50.0, 0.0, 1.0]] ['yes']
    """
    check_choice("format", format, ("auto", *READERS))
    check_choice("on_error", on_error, ("stop", "skip"))
    options = ReadOptions(
        dtype=dtype,
        n_features=n_features,
        index_base=index_base,
        header=header,
        sep=sep,
        decimal=decimal,
        na_values=na_values,
        encoding=encoding,
        label=label,
        weight=weight,
        columns=columns,
        exclude=exclude,
        categorical=categorical,
        hash_columns=hash_columns,
        missing=missing,
        labels=labels,
    )
    if schema is not None:
        schema = schema.with_options(options)
    handling = (schema, on_error, rejects)
    if isinstance(sources, str | os.PathLike) or (
        isinstance(sources, list | tuple) and all(isinstance(source, str | os.PathLike) for source in sources)
    ):
        return Batches(_file_reader(sources, format, options, *handling), batch_rows)
    options.check_format("arrays")
    is_matrix = isinstance(sources, np.ndarray) or sparse.issparse(sources)
    if is_matrix or (isinstance(sources, tuple) and getattr(sources[0], "ndim", None) == 2):
        sources = [sources]
    if not isinstance(sources, Iterable):
        raise TypeError(f"sources must be paths, or an iterable of arrays, got {type(sources).__name__}")
    return Batches(ArraysReader(sources, options, *handling), batch_rows)


def _file_reader(
    paths: Any,
    format: str,  # noqa: A002
    options: ReadOptions,
    schema: Schema | None,
    on_error: str,
    rejects: str | os.PathLike[str] | None,
) -> Reader:
    """Return the reader of files; the categories of a stream are hashed, since nobody knows which will come."""
    sources = find_sources(paths)
    require_separate([source.name for source in sources], [] if rejects is None else [rejects])
    n_streams = sum(not source.reusable for source in sources)
    if n_streams > 1:
        raise ValueError("sources may have one stream, such as standard input, got several")
    for source in sources:
        source.encoding = options.encoding
    if format == "auto":
        format = detect_format(sources)  # noqa: A001
    options.check_format(format)
    if n_streams and format in ("csv", "tsv") and options.hash_columns is None and schema is None:
        options = replace(options, hash_columns=HASH_COLUMNS)
    return READERS[format](sources, options, schema, on_error, rejects)
