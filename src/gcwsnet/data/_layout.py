"""How files become columns of X: learned from the files of training, kept with a model, used for other files."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

LAYOUT_VERSION = 1
KINDS = ("number", "onehot", "hashed", "vector", "sparse")


@dataclass(frozen=True)
class Column:
    """A column of a table and the columns of X that it becomes.

    Attributes
    ----------
    name : str or None
        None where the file that it was learned from has no names.
    number : int
        Its place in that file, counted from 0.
    kind : {"number", "onehot", "hashed", "vector", "sparse"}
        "sparse" has a second column, whose name is `values`, beside the one with the indices.
    width : int
        How many columns of X it becomes: 1, the number of categories, the numbers of a vector, or 0 for "hashed", which
        all share the last `hash_columns` columns.
    categories : tuple of str
        Of "onehot", in the order of their columns.
    values : str or None
    """

    name: str | None
    number: int
    kind: str
    width: int = 1
    categories: tuple[str, ...] = ()
    values: str | None = None

    @property
    def called(self) -> str:
        """The name, or the number where there is none, as an error tells it."""
        return f"{self.number + 1}" if self.name is None else repr(self.name)


@dataclass(frozen=True)
class Layout:
    """What must stay the same between the files of training and those that are predicted.

    Attributes
    ----------
    n_features : int
        D, the number of columns of X.
    missing : {"error", "zero", "nan"}
        What a missing value is.
    index_base : 0, 1 or None
        The index of the first column in LIBSVM files.
    columns : tuple of Column
        Those of CSV, Parquet and Arrow files that make up X, in the order of X. Empty for other formats.
    n_file_columns : int
        How many columns such a file had, with label and weight.
    hash_columns : int
        The columns at the end of X that "hashed" columns share.
    label, weight : str, int or None
        Columns of the file, by their names where it has names.
    label_number, weight_number : int or None
        Their places in that file, counted from 0.
    label_type : {"numbers", "strings"} or None
        What labels of text files are.

    Examples
    --------
    >>> layout = Layout(n_features=123, index_base=1)
    >>> Layout.from_json(layout.to_json()) == layout
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

    @property
    def is_sparse(self) -> bool:
        """Whether rows of tables come as CSR: where there are categories or sparse rows."""
        return any(column.kind in ("onehot", "hashed", "sparse") for column in self.columns)

    def widened(self, columns: tuple[Column, ...]) -> Layout:
        """The layout with other columns and the width that they make."""
        n_features = sum(column.width for column in columns) + self.hash_columns
        return replace(self, columns=columns, n_features=n_features)

    def feature_names(self) -> list[str]:
        """Names of the columns of X, such as ``age`` and ``city=Rome``; numbers where the file has no names."""
        names: list[str] = []
        for column in self.columns:
            name = str(column.number) if column.name is None else column.name
            if column.kind == "onehot":
                names += [f"{name}={category}" for category in column.categories]
            elif column.kind == "number":
                names.append(name)
            else:
                names += [f"{name}[{i}]" for i in range(column.width)]
        names += [f"hashed[{i}]" for i in range(self.hash_columns)]
        return names or [str(i) for i in range(self.n_features)]

    def to_json(self) -> dict[str, Any]:
        """The layout as what JSON can hold."""
        return {"version": LAYOUT_VERSION, **json.loads(json.dumps(asdict(self)))}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Layout:
        """The layout that `to_json` has written."""
        known = {field.name for field in fields(cls)}
        if not isinstance(given, dict) or given.get("version") != LAYOUT_VERSION or set(given) - {"version"} != known:
            raise ValueError(
                f"a layout must have the version {LAYOUT_VERSION} and the entries {', '.join(sorted(known))}; got "
                f"{given!r:.200}"
            )
        columns = tuple(Column(**{**one, "categories": tuple(one["categories"])}) for one in given["columns"])
        _check(columns, given)
        return cls(**{**{name: given[name] for name in known}, "columns": columns})


def _check(columns: tuple[Column, ...], given: dict[str, Any]) -> None:
    for column in columns:
        if column.kind not in KINDS:
            raise ValueError(f"the kind of a column must be one of {', '.join(KINDS)}, got {column.kind!r}")
    width = sum(column.width for column in columns) + given["hash_columns"]
    if columns and width != given["n_features"]:
        raise ValueError(f"the columns of a layout must make up n_features={given['n_features']}, got {width}")
