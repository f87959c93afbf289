"""Streams of batches from files, standard input and arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from gcwsnet._validation import check_choice
from gcwsnet.data._arrays import ArraysReader
from gcwsnet.data._arrays_of_files import NpyReader, NpzReader
from gcwsnet.data._arrow_files import ArrowReader
from gcwsnet.data._batches import Batches, ReadBatches
from gcwsnet.data._csv import CsvReader, TsvReader
from gcwsnet.data._formats import FORMATS, find_format
from gcwsnet.data._inputs import Input, find_inputs
from gcwsnet.data._layout import Layout
from gcwsnet.data._libsvm import LibsvmReader
from gcwsnet.data._parquet import ParquetReader
from gcwsnet.data._reader import Reader
from gcwsnet.data._settings import LONGEST_LINE, Name, Settings


def read(
    sources: Any,
    *,
    format: str = "auto",  # noqa: A002
    batch_rows: int = 8192,
    dtype: Any = None,
    layout: Layout | None = None,
    n_features: int | None = None,
    index_base: int | str = "auto",
    header: bool | str = "auto",
    label: Name | None = None,
    weight: Name | None = None,
    columns: Sequence[Name] | None = None,
    categorical: Sequence[Name] = (),
    hash_columns: int | None = None,
    missing: str | None = None,
    labels: Sequence[Any] | None = None,
    on_error: str = "stop",
    rejects: str | os.PathLike[str] | None = None,
    longest_line: int = LONGEST_LINE,
) -> Batches:
    r"""Batches of rows from files, standard input or arrays, in memory that does not grow with their size.

    Parameters
    ----------
    sources : path, list of paths, or iterable of arrays
        A path is that of a file, of a folder (its files in the order of their names, without those that begin with a
        dot or an underscore), a pattern such as ``part-*.csv.gz``, or "-" for standard input. Files may be compressed
        with gz, bz2, xz or zstd, which their first bytes tell. Arrays are X, (X, y) or (X, y, weight), X dense or
        sparse, or an iterable of those.
    format : {"auto", "libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy"}, default="auto"
        "auto": by the first bytes of a file, then by its name, then by its first lines.
    batch_rows : int, default=8192
        Rows of a batch. Batches go across files; the last one may have fewer.
    dtype : {"float32", "float64"}, optional
        The type of X; a number that is too large for it is an error. Without it float64, and for arrays, npy and npz
        the float type that they have.
    layout : Layout, optional
        How another source was read: columns, categories, width, index base, missing values. Columns are found by their
        names, in any order. Without it, it is learned.
    n_features : int, optional
        The columns of X in LIBSVM files and sparse rows of tables. Without it, all rows are read once to find it.
    index_base : {"auto", 0, 1}, default="auto"
        The index of the first column in LIBSVM files. "auto" is 1 if no row of any file has the index 0, as in
        scikit-learn, for which all rows are read once. In a stream, the lines of the first 64 thousand bytes decide,
        and an index 0 after them is an error.
    header : {"auto", True, False}, default="auto"
        Whether the first line of a CSV file has the names of the columns. "auto": it has if no field is a number, if it
        has text where the second line has a number, or if it is 0, 1, 2, ...
    label, weight : str or int, optional
        Columns of a table by name, or by number from 0; -1 is the last one. Of npy by number. LIBSVM and npz have
        their labels by themselves.
    columns : list of str or int, optional
        The columns of a table that make up X. Without it, all but label and weight.
    categorical : list of str or int, default=()
        Columns of a table whose values are categories, though they look like numbers. Columns of text are categorical
        anyway; a column of a CSV file is text if its first value is not a number.
    hash_columns : int, optional
        Categories are hashed to this number of columns at the end of X, which all categorical columns share. Without it
        each category has a column of its own, and all rows are read once to find them.
    missing : {"error", "zero", "nan"}, optional
        What a missing value is: an error (the default), 0, or NaN in X. A missing category that is no error has no
        column, and so has a category that the layout does not know.
    labels : list, optional
        The labels that are known; another one is an error.
    on_error : {"stop", "skip"}, default="stop"
        What is done about a row that cannot be read. "skip" counts it in `Batches.skipped`.
    rejects : path, optional
        Where the text of skipped rows is written; of files that are no text, the numbers of the rows.
    longest_line : int, default=2**26
        The most bytes that a line may have. A longer one always stops.

    Returns
    -------
    batches : Batches

    Raises
    ------
    DataError
        A ValueError with the file, the line and the column, when rows are read, or here when the format is found out.
    FileNotFoundError
        For a file that is not there, a pattern that matches nothing and a folder without files.

    Notes
    -----
    `X` of LIBSVM files, of tables with categories and of sparse rows is CSR, else it is dense.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gcwsnet.data import read
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     _ = file.write_text("age,city,label\n30,Rome,yes\n40,Oslo,no\n50,Rome,yes\n")
    ...     people = read(file, label="label", batch_rows=2)
    ...     people.layout.feature_names()
    ...     for X, y, _ in people:
    ...         print(X.toarray().tolist(), y.tolist())
    ['age', 'city=Oslo', 'city=Rome']
    [[30.0, 0.0, 1.0], [40.0, 1.0, 0.0]] ['yes', 'no']
    [[50.0, 0.0, 1.0]] ['yes']
    """
    settings = Settings(
        dtype=dtype,
        n_features=n_features,
        index_base=index_base,
        header=header,
        label=label,
        weight=weight,
        columns=columns,
        categorical=categorical,
        hash_columns=hash_columns,
        missing=missing,
        labels=labels,
        longest_line=longest_line,
    )
    check_choice("format", format, ("auto", *FORMATS))
    check_choice("on_error", on_error, ("stop", "skip"))
    if layout is not None:
        layout = _merged(layout, settings)
    return ReadBatches(
        _reader(sources, format, settings), batch_rows=batch_rows, on_error=on_error, rejects=rejects, layout=layout
    )


def _reader(sources: Any, format: str, settings: Settings) -> Reader:  # noqa: A002
    if isinstance(sources, np.ndarray) or sparse.issparse(sources):
        return ArraysReader([sources], settings)
    if isinstance(sources, tuple) and sources and getattr(sources[0], "ndim", None) == 2:
        return ArraysReader([sources], settings)
    if not _is_paths(sources):
        if not isinstance(sources, Iterable):
            raise TypeError(f"sources must be paths, or an iterable of arrays, got {type(sources).__name__}")
        return ArraysReader(sources, settings)
    inputs = find_inputs(sources)
    if sum(not given.reusable for given in inputs) > 1:
        raise ValueError("sources may have one stream, such as standard input, got several")
    return _reader_of_files(inputs, format if format != "auto" else find_format(inputs), settings)


_OF_TABLES = ("label", "weight", "columns", "categorical", "hash_columns")
WITHOUT_USE = {
    "libsvm": (*_OF_TABLES, "header"),
    "csv": ("index_base",),
    "tsv": ("index_base",),
    "parquet": ("index_base", "header"),
    "arrow": ("index_base", "header"),
    "npy": ("columns", "categorical", "hash_columns", "index_base", "header"),
    "npz": (*_OF_TABLES, "index_base", "header"),
}


def _is_paths(sources: Any) -> bool:
    if isinstance(sources, str | os.PathLike):
        return True
    return isinstance(sources, list | tuple) and all(isinstance(source, str | os.PathLike) for source in sources)


def _reader_of_files(inputs: list[Input], format: str, settings: Settings) -> Reader:  # noqa: A002
    readers: dict[str, type[Reader]] = {
        "libsvm": LibsvmReader,
        "csv": CsvReader,
        "tsv": TsvReader,
        "parquet": ParquetReader,
        "arrow": ArrowReader,
        "npy": NpyReader,
        "npz": NpzReader,
    }
    _check_needed(format, settings)
    return readers[format](inputs, settings)


def _check_needed(format: str, settings: Settings) -> None:  # noqa: A002
    """Nothing is given that files of this format have no use for."""
    defaults = {field.name: field.default for field in fields(Settings)}
    for name in WITHOUT_USE[format]:
        if getattr(settings, name) != defaults[name]:
            raise ValueError(f"{format} files have no use for {name}; leave it out, or give their format")


def _merged(layout: Layout, settings: Settings) -> Layout:
    """The layout, with the missing rule, the label and the weight of the settings where they are given."""
    for name in ("n_features", "columns", "categorical", "hash_columns"):
        if getattr(settings, name):
            raise ValueError(f"{name} is what the layout says, and must not be given with it")
    changed: dict[str, Any] = {} if settings.missing is None else {"missing": settings.missing}
    for name in ("label", "weight"):
        value = getattr(settings, name)
        if value is not None:
            changed |= {name: value, f"{name}_number": value if isinstance(value, int) else None}
    return replace(layout, **changed)
