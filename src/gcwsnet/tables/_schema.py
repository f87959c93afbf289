"""The schema of a table: which columns there are, what they hold, and the columns of X that they become."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import MAX_COLUMNS, Matrix, check_choice, check_integer, require_names
from gcwsnet.tables._columns import NUMBERS_WITH_COMMAS, TableColumn, are_values, form_of_text, is_prose, kind_of_texts
from gcwsnet.tables._errors import ColumnReference, DataError

NUMBERS = ("number", "boolean", "date", "duration", "ordered")
"""Kinds of columns that become one column of numbers."""

KINDS = (*NUMBERS, "onehot", "hashed", "vector")

HASH_COLUMNS = 1 << 14
"""The columns of X that hashed categories share, unless another number is given."""

FIRST_ROWS = 1000
"""The rows of a file or a frame that say whether a column of text has words."""

OPTIONAL_ENTRIES = {"dense", "na_values"}
"""Of a schema in JSON: they are there where they say something."""

ColumnName = str | int
"""A column of a table by its name, or by its number from 0, where -1 is the last one."""

TABLE_OPTIONS = ("label", "weight", "columns", "exclude", "categorical", "hash_columns")
TEXT_OPTIONS = ("header", "sep", "decimal", "na_values", "encoding")
INAPPLICABLE_OPTIONS = {
    "libsvm": (*TABLE_OPTIONS, *TEXT_OPTIONS),
    "csv": ("index_base",),
    "tsv": ("index_base",),
    "parquet": ("index_base", *TEXT_OPTIONS),
    "arrow": ("index_base", *TEXT_OPTIONS),
    "npy": ("columns", "exclude", "categorical", "hash_columns", "index_base", *TEXT_OPTIONS),
    "npz": (*TABLE_OPTIONS, "index_base", *TEXT_OPTIONS),
    "arrays": (*TABLE_OPTIONS, "index_base", *TEXT_OPTIONS),
}


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read` that readers need, checked. The docstring of `read` describes each one."""

    dtype: str | None = None
    n_features: int | None = None
    index_base: int | str = "auto"
    header: bool | str = "auto"
    sep: str = "auto"
    decimal: str = "auto"
    na_values: Sequence[str] = ()
    encoding: str = "utf-8"
    label: ColumnName | None = None
    weight: ColumnName | None = None
    columns: Sequence[ColumnName] | None = None
    exclude: Sequence[ColumnName] = ()
    categorical: Sequence[ColumnName] = ()
    hash_columns: int | None = None
    missing: str | None = None
    labels: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.dtype is not None:
            object.__setattr__(self, "dtype", check_choice("dtype", np.dtype(self.dtype).name, ("float32", "float64")))
        if self.missing is not None:
            check_choice("missing", self.missing, ("error", "zero", "nan"))
        _check_one_of("index_base", self.index_base, ("auto", 0, 1))
        _check_one_of("header", self.header, ("auto", True, False))
        check_choice("decimal", self.decimal, ("auto", ".", ","))
        if self.sep != "auto" and (len(self.sep) != 1 or self.sep in '"\r\n' or not self.sep.isascii()):
            raise ValueError(f"sep must be one character, or 'auto', got sep={self.sep!r}")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(f"encoding must be one that Python knows, got encoding={self.encoding!r}") from None
        for name in ("n_features", "hash_columns"):
            value = getattr(self, name)
            if value is not None:
                check_integer(name, value, 1, MAX_COLUMNS)
        for name in ("columns", "exclude", "categorical", "na_values"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names or numbers, got {name}={getattr(self, name)!r}")

    @property
    def missing_rule(self) -> str:
        """The rule for missing values, "error" by default."""
        return self.missing or "error"

    def check_format(self, format: str) -> None:  # noqa: A002
        """Raise ValueError if an option is set that does not apply to files of this format, or to arrays."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in INAPPLICABLE_OPTIONS[format]:
            if getattr(self, name) != defaults[name]:
                what = "arrays" if format == "arrays" else f"{format} files"
                way_out = "" if format == "arrays" else ", or give the format if it is another one"
                raise ValueError(
                    f"{name} does not apply to {what}, got {name}={getattr(self, name)!r}; leave it out{way_out}"
                )


def _check_one_of(name: str, value: object, choices: tuple[Any, ...]) -> None:
    """Raise ValueError unless `value` equals a choice of the same type: True is not 1."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {name}={value!r}")


@dataclass(frozen=True)
class Column:
    """A column of a table, and the columns of X that it becomes.

    Attributes
    ----------
    name : str or None
        None where the file that the schema was learned from has no column names.
    number : int
        Its position in that file, counted from 0.
    kind : {"number", "boolean", "date", "duration", "ordered", "onehot", "hashed", "vector"}
        Booleans are 0 and 1, dates are days since 1970-01-01 in UTC, durations are days, and "ordered" categories are
        their ranks from 0.
    width : int
        The number of columns of X that it becomes: 1, the number of categories, the length of a vector, or 0 for
        "hashed" columns, which all share the last `hash_columns` columns of X.
    categories : tuple of str
        The categories of a "onehot" column, in the order of their columns of X, or of an "ordered" one by rank.
    by_value : bool
        Whether the categories of a "hashed" column are numbers or booleans, and are hashed as such: 1.0 as 1.
    words : bool
        Whether a "hashed" column has texts of several words, each of which is hashed.
    date_order : {"", "day first", "month first"}
        How texts such as 1/2/2024 are dates; those of ISO 8601 have no order.
    """

    name: str | None
    number: int
    kind: str
    width: int = 1
    categories: tuple[str, ...] = ()
    by_value: bool = False
    words: bool = False
    date_order: str = ""

    @property
    def key(self) -> str:
        """The name, or the number from 0 where there is no name."""
        return str(self.number) if self.name is None else self.name

    @property
    def reference(self) -> ColumnReference:
        """The name that errors use: the name, or the number from 1 where there is no name."""
        return self.number + 1 if self.name is None else self.name

    def __str__(self) -> str:
        return f"{self.key}: {self.summary}"

    @property
    def summary(self) -> str:
        """What it holds, such as "number" or "3 categories"."""
        kind = {"onehot": f"{len(self.categories)} categories", "ordered": f"{len(self.categories)} ordered categories"}
        kind["hashed"] = "text, words hashed" if self.words else "many categories, hashed"
        return kind.get(self.kind, self.kind)


@dataclass(frozen=True)
class Schema:
    """The columns of a table and how they become numbers, the same for training and prediction.

    Attributes
    ----------
    n_features : int
        D, the number of columns of X.
    missing : {"error", "zero", "nan"}
        The rule for missing values.
    index_base : 0, 1 or None
        The index of the first column in LIBSVM files.
    columns : tuple of Column
        The columns of CSV, Parquet and Arrow files that make up X, in the order of X. Empty for other formats.
    n_file_columns : int
        The number of columns of such a file, with label and weight.
    hash_columns : int
        The number of columns at the end of X that all "hashed" columns share.
    label, weight : str, int or None
        The columns of the file with labels and weights, by their names where the file has names.
    label_number, weight_number : int or None
        The positions of label and weight in that file, counted from 0.
    label_type : {"numbers", "strings"} or None
        The type of the labels in text files. None where the file itself has types.
    dense : bool
        Whether rows of LIBSVM files are dense, as those of a table are.
    na_values : tuple of str
        Texts that are missing values in CSV files, beside those that always are.

    Examples
    --------
    >>> schema = Schema(n_features=123, index_base=1)
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    n_features: int
    missing: str = "error"
    index_base: int | None = None
    columns: tuple[Column, ...] = ()
    n_file_columns: int = 0
    hash_columns: int = 0
    label: str | int | None = None
    weight: str | int | None = None
    label_number: int | None = None
    weight_number: int | None = None
    label_type: str | None = None
    dense: bool = False
    na_values: tuple[str, ...] = ()

    @property
    def is_sparse(self) -> bool:
        """Whether X of a table is CSR: with hashed categories, or with over 1,000 one-hot columns."""
        one_hot = sum(column.width for column in self.columns if column.kind == "onehot")
        return one_hot > 1000 or any(column.kind == "hashed" for column in self.columns)

    @property
    def is_open(self) -> bool:
        """Whether categories are still to be learned from rows."""
        return any(column.kind in ("onehot", "ordered") and not column.categories for column in self.columns)

    @property
    def numeric(self) -> NDArray[np.bool_] | None:
        """Which columns of CSR rows are numbers of a table, and neither categories nor entries; None for other rows."""
        if not self.is_sparse:
            return None
        parts = [[column.kind in (*NUMBERS, "vector")] * column.width for column in self.columns]
        return np.array([*(flag for part in parts for flag in part), *[False] * self.hash_columns], dtype=bool)

    @property
    def input_names(self) -> list[str | None]:
        """The names of the columns of a table that make up X, None where it has no names."""
        return [column.name for column in self.columns]

    def with_columns(self, columns: tuple[Column, ...]) -> Schema:
        """Return the schema with other columns, and with the number of features that they make."""
        n_features = sum(column.width for column in columns) + self.hash_columns
        return replace(self, columns=columns, n_features=n_features)

    def with_options(self, options: ReadOptions) -> Schema:
        """Return the schema with the rule for missing values, the label and the weight of the options, where given."""
        for name in ("n_features", "columns", "exclude", "categorical", "hash_columns"):
            if getattr(options, name):
                raise ValueError(f"{name} is part of the schema and must not be given with it; leave it out")
        changed: dict[str, Any] = {} if options.missing is None else {"missing": options.missing}
        changed |= {"na_values": tuple(options.na_values)} if options.na_values else {}
        for name in ("label", "weight"):
            value = getattr(options, name)
            if value is not None and value != getattr(self, name):
                changed |= {name: value, f"{name}_number": value if isinstance(value, int) else None}
        return replace(self, **changed)

    def rows(self, X: Matrix) -> Matrix:
        """Return rows that were read as they are learned from: dense if CSR rows were complete in training."""
        return X.toarray() if self.dense and sparse.issparse(X) else X

    def feature_names(self) -> list[str]:
        """Return the names of the columns of X, such as ``age`` and ``city=Rome``, or their numbers."""
        require_names(self.n_features)
        names: list[str] = []
        for column in self.columns:
            if column.kind == "onehot":
                names += [f"{column.key}={category}" for category in column.categories]
            elif column.kind in NUMBERS:
                names.append(column.key)
            else:
                names += [f"{column.key}[{i}]" for i in range(column.width)]
        names += [f"hashed[{i}]" for i in range(self.hash_columns)]
        return names or [str(i) for i in range(self.n_features)]

    def input_keys(self) -> list[str]:
        """Return for each column of X the column of the table that it comes from; "hashed" where several share it."""
        keys = [column.key for column in self.columns for _ in range(column.width)]
        return keys + ["hashed"] * self.hash_columns

    def __str__(self) -> str:
        shown = [str(column) for column in self.columns[:20]]
        more = len(self.columns) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    def to_json(self) -> dict[str, Any]:
        """Return the schema as a dict that `json.dumps` takes."""
        described = json.loads(json.dumps(asdict(self)))
        for column in described["columns"]:
            for name in ("by_value", "words", "date_order"):  # which few columns have
                if not column[name]:
                    del column[name]
        for name in OPTIONAL_ENTRIES:
            if not described[name]:
                del described[name]
        return {"version": 1, **described}

    @classmethod
    def from_json(cls, description: dict[str, Any]) -> Schema:
        """Return the schema that `to_json` wrote."""
        known = {field.name for field in fields(cls)} - OPTIONAL_ENTRIES
        if (
            not isinstance(description, dict)
            or description.get("version") != 1
            or set(description) - {"version"} - OPTIONAL_ENTRIES != known
        ):
            raise ValueError(
                f"a schema must have the version 1 and the entries {', '.join(sorted(known))}; got {description!r:.200}"
            )
        columns = tuple(Column(**{**one, "categories": tuple(one["categories"])}) for one in description["columns"])
        for column in columns:
            if column.kind not in KINDS:
                raise ValueError(f"the kind of a column must be one of {', '.join(KINDS)}, got {column.kind!r}")
        given = {name: value for name, value in description.items() if name != "version"}
        schema = cls(**given | {"columns": columns, "na_values": tuple(given.get("na_values", ()))})
        width = schema.with_columns(columns).n_features
        if columns and width != schema.n_features:
            raise ValueError(f"the columns of a schema must make up n_features={schema.n_features}, got {width}")
        return schema


class FileColumn(NamedTuple):
    """A column as a file or a frame has it.

    Attributes
    ----------
    name : str or None
    kind : str
        As of `TableColumn`, with texts that are all booleans, dates or durations as that.
    width : int
        The length of a vector.
    by_value : bool
        Whether its first texts are numbers or booleans, all written in one way.
    words : bool
        Whether its first texts are of several words each, and nearly all differ.
    """

    name: str | None
    kind: str
    width: int = 1
    by_value: bool = False
    words: bool = False

    @classmethod
    def describe(cls, name: str, column: TableColumn) -> FileColumn:
        """Return a column of a frame or of a file with types, by its first values where it holds texts or lists."""
        if column.kind == "vector":
            lengths, _ = column.lists()
            return cls(name, column.kind, int(lengths[np.argmax(lengths > 0)]) if len(lengths) else 0)
        if column.kind != "text":
            return cls(name, column.kind)
        indices, texts = column.factor()
        first = [texts[index] for index in indices[:FIRST_ROWS].tolist() if index >= 0]
        by_value = are_values(set(map(form_of_text, texts[:FIRST_ROWS])))
        return cls(name, kind_of_texts(texts), by_value=by_value, words=is_prose(first))


class ColumnNames:
    """The names of the columns of a file, None where it has no names, and lookups by name or number."""

    def __init__(self, names: Sequence[str | None], path: str | None) -> None:
        self._names, self._path = names, path
        self._numbers = {name: number for number, name in enumerate(names) if name is not None}

    def __len__(self) -> int:
        return len(self._names)

    @property
    def are_given(self) -> bool:
        """Whether the file has column names."""
        return bool(self._numbers)

    def find(self, name: ColumnName) -> int | None:
        """Return the number of a column, counted from 0, or None; a negative number counts from the end."""
        if isinstance(name, str):
            return self._numbers.get(name)
        return name % len(self) if -len(self) <= name < len(self) else None

    def require(self, name: ColumnName, option: str, way_out: str | None = None) -> int:
        """Return the number of a column that an option names, or raise a DataError that lists the columns there are."""
        found = self.find(name)
        if found is not None:
            return found
        known = list(self._numbers)
        if not isinstance(name, str):
            rule = f"there must be a column number {name}, got {len(self)} columns"
        elif known:
            rule = f"there must be a column {name!r}, got {', '.join(known[:20])}{', ...' if len(known) > 20 else ''}"
        else:
            rule = f"there must be a column {name!r}, got columns without names"
        similar = get_close_matches(name, known, n=1) if isinstance(name, str) else []
        separator = next((one for one in ";\t|" if len(known) == 1 and one in known[0]), None)
        if way_out is None and separator is not None:
            way_out = f"fields seem to be separated by {separator!r}; give sep={separator!r}"
        elif way_out is None:
            way_out = f"give the name or the number of one as {option}{f', such as {similar[0]!r}' if similar else ''}"
        raise DataError(f"{rule}; {way_out}", path=self._path)

    def name_or_number(self, number: int | None) -> ColumnName | None:
        """Return the name of a column, or its number if it has no name."""
        return None if number is None else self._names[number] or number


def infer_schema(file_columns: Sequence[FileColumn], options: ReadOptions, path: str | None) -> Schema:
    """Return the schema of a table as far as its columns tell.

    Categories are still to be learned from the rows.
    """
    names = ColumnNames([column.name for column in file_columns], path)
    label = None if options.label is None else names.require(options.label, "label")
    weight = None if options.weight is None else names.require(options.weight, "weight")
    if options.columns is None:
        chosen = [number for number in range(len(file_columns)) if number not in (label, weight)]
    else:
        chosen = [names.require(name, "columns") for name in options.columns]
    excluded = {names.require(name, "exclude") for name in options.exclude}
    categorical = {names.require(name, "categorical") for name in options.categorical}
    columns = [
        _infer_column(file_columns[number], number, number in categorical, options, path)
        for number in chosen
        if number not in excluded
    ]
    if not columns:
        raise DataError("there must be at least one column besides label and weight, got none", path=path)
    schema = Schema(
        n_features=0,
        missing=options.missing_rule,
        n_file_columns=len(file_columns),
        hash_columns=(options.hash_columns or HASH_COLUMNS) if any(one.kind == "hashed" for one in columns) else 0,
        label=names.name_or_number(label),
        weight=names.name_or_number(weight),
        label_number=label,
        weight_number=weight,
        na_values=tuple(options.na_values),
    )
    return schema.with_columns(tuple(columns))


def _infer_column(
    column: FileColumn, number: int, is_categorical: bool, options: ReadOptions, path: str | None
) -> Column:
    """Return a column of the schema, or raise a DataError if it cannot become numbers."""
    name, kind, width, by_value, words = column
    if kind == "text" and words and not is_categorical:
        return Column(name, number, "hashed", 0, words=True)
    if kind in ("text", "category") or is_categorical:
        if options.hash_columns is None:
            return Column(name, number, "onehot", 0)
        return Column(name, number, "hashed", 0, by_value=by_value or kind in ("number", "boolean"))
    if kind in NUMBERS:
        return Column(name, number, kind)
    if kind.startswith("date, "):
        return Column(name, number, "date", date_order=kind.removeprefix("date, "))
    if kind == "vector" and width:
        return Column(name, number, "vector", width)
    if kind == "vector":
        rule = (
            "a column of vectors must have one in its first rows, got only missing or empty ones; leave the column "
            "out, or drop these rows"
        )
    elif kind.startswith(NUMBERS_WITH_COMMAS):
        rule = (
            f"numbers must have a decimal point and nothing between thousands, got {kind}; write them so, or, if the "
            f"column has categories, {'make it a column of categories' if path is None else 'name it in categorical'}"
        )
    else:
        rule = (
            f"a column must hold numbers, booleans, text, categories, dates, durations or lists of numbers, got the "
            f"type {kind}; leave the column out, or convert it"
        )
    raise DataError(rule, path=path, column=number if name is None else name)


class ColumnSelection(NamedTuple):
    """The numbers of the columns of a file that are read: of the schema in its order, label, weight, and others."""

    features: list[int]
    label: int | None = None
    weight: int | None = None
    others: tuple[int, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """All columns that are read, each once."""
        others = [number for number in (self.label, self.weight) if number is not None]
        return list(dict.fromkeys([*self.features, *others, *self.others]))


def select_columns(
    schema: Schema, names: ColumnNames, path: str | None, *, required: tuple[bool, bool]
) -> ColumnSelection:
    """Find the columns of a schema in a file: by name, or by number where the file or the schema has no names.

    A file without names has all columns of the file that the schema was learned from, or only those that make up X.
    `required` says whether the file must have a label, and whether it must have a weight.
    """
    by_name = [name for name in schema.input_names if name is not None]
    if names.are_given and by_name:
        others = zip(("label", "weight"), (schema.label, schema.weight), required, strict=True)
        found = [
            None if name is None else names.require(name, option) if must else names.find(name)
            for option, name, must in others
        ]
        features = [names.require(name, "columns", "all columns of training are needed") for name in by_name]
        return ColumnSelection(features, found[0], found[1])
    if len(names) == schema.n_file_columns:
        given = (("label", schema.label, schema.label_number), ("weight", schema.weight, schema.weight_number))
        found = [
            names.require(name, option) if number is None and name is not None and must else number
            for (option, name, number), must in zip(given, required, strict=True)
        ]
        found = [
            None if number is None else names.require(number, option)
            for (option, _, _), number in zip(given, found, strict=True)
        ]
        return ColumnSelection([column.number for column in schema.columns], found[0], found[1])
    if len(names) == len(schema.columns) and not any(required):
        return ColumnSelection(list(range(len(names))))
    raise DataError(
        f"a row must have {schema.n_file_columns} columns, or {len(schema.columns)} without label and weight, got "
        f"{len(names)}",
        path=path,
        line=1,
    )
