"""What is read from a file of a stranger: entries of a description and arrays, each checked when it is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.tables._preprocessing import FOR_DENSE_ROWS, KINDS
from gcwsnet.tables._scaling import KINDS_OF_COLUMNS, KINDS_OF_TERMS, NUMERIC
from gcwsnet.tables._schema import KINDS as KINDS_OF_TABLES
from gcwsnet.tables._schema import NUMBERS

Arrays = dict[str, NDArray[Any]]

Shape = tuple["int | None", ...]

LARGEST = sys.float_info.max


class Fields:
    """The entries of a part of a description. An entry that is missing or odd is a ValueError that names it.

    Parameters
    ----------
    content : Any
        What JSON held, which must be an object.
    name : str
        The name of the part, which those of the entries begin with.

    Examples
    --------
    >>> coder = Fields({"seed": 7, "p": "much"}, "coder")
    >>> coder.integer("seed", 0, 10)
    7
    >>> coder.number("p", 0.0, 1.0)
    Traceback (most recent call last):
    ValueError: coder.p must be a number from 0 to 1, got 'much'
    """

    def __init__(self, content: Any, name: str) -> None:
        self.name = name
        if not isinstance(content, dict):
            raise ValueError(f"{name} must be an object with named entries, got {content!r:.60}")
        self.content = content

    def get(self, key: str) -> Any:
        """Return an entry, which must be there."""
        if key not in self.content:
            raise ValueError(f"{self.name}.{key} is missing")
        return self.content[key]

    def integer(self, key: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value = self.get(key)
        self.require(
            isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
            key,
            f"be a whole number from {least} to {most}",
        )
        return int(value)

    def number(self, key: str, least: float, most: float) -> float:
        """Return a number within bounds."""
        value = self.get(key)
        self.require(is_number(value) and least <= value <= most, key, f"be a number from {least:g} to {most:g}")
        return float(value)

    def choice(self, key: str, choices: Iterable[Any]) -> Any:
        """Return one of some values."""
        value, known = self.get(key), list(choices)
        fits = any(type(value) is type(one) and value == one for one in known)
        self.require(fits, key, f"be one of {', '.join(map(repr, known))}")
        return value

    def text(self, key: str) -> str:
        """Return a text."""
        value = self.get(key)
        self.require(isinstance(value, str), key, "be a text")
        return str(value)

    def items(self, key: str) -> list[Any]:
        """Return a list."""
        value = self.get(key)
        self.require(isinstance(value, list), key, "be a list")
        return list(value)

    def part(self, key: str) -> Fields:
        """Return the entries of a part."""
        return Fields(self.get(key), f"{self.name}.{key}")

    def parts(self, key: str) -> list[Fields]:
        """Return the parts of a list."""
        return [Fields(one, f"{self.name}.{key}[{number}]") for number, one in enumerate(self.items(key))]

    def only(self, keys: Iterable[str]) -> None:
        """Raise a ValueError unless these are all the entries."""
        expected = set(keys)
        for key in expected - self.content.keys():
            self.get(key)
        for key in self.content.keys() - expected:
            raise ValueError(f"{self.name} has an entry {key!r:.60} that this version does not know")

    def require(self, fits: bool, key: str, rule: str) -> None:
        """Raise a ValueError that names the entry, the rule and the value, unless it fits."""
        if not fits:
            raise ValueError(f"{self.name}.{key} must {rule}, got {self.get(key)!r:.60}")


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def array_of(
    arrays: Arrays, name: str, dtypes: str | Sequence[str], shape: Shape, *, finite: bool = True
) -> NDArray[Any]:
    """Return an array of a file, which must have one of these types, this shape and, if it has floats, finite numbers.

    Parameters
    ----------
    arrays : dict of arrays
    name : str
    dtypes : str or sequence of str
    shape : tuple of int or None
        None is any length.
    finite : bool, default=True
        Whether every number must be finite.
    """
    if name not in arrays:
        raise ValueError(f"the array {name} is missing")
    array, allowed = arrays[name], (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
    if array.dtype.name not in allowed:
        raise ValueError(f"the array {name} must be of the type {' or '.join(allowed)}, got {array.dtype.name}")
    if len(array.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        written = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"the array {name} must have the shape ({written}), got {array.shape}")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"the array {name} must hold finite numbers, and has NaN or infinity")
    return array


def require_array(fits: Any, name: str, rule: str) -> None:
    """Raise a ValueError that names an array and the rule for it, unless it fits."""
    if not fits:
        raise ValueError(f"the array {name} must {rule}")


def refuse_others(arrays: Arrays, prefix: str, known: Iterable[str]) -> None:
    """Raise a ValueError if there are arrays under a prefix that are none of those that are known."""
    others = sorted(name for name in arrays.keys() - set(known) if name.startswith(prefix))
    if others:
        raise ValueError(f"the array {others[0]!r:.80} does not belong to a model with these settings")


def check_csr(
    arrays: Arrays, prefix: str, dtypes: Sequence[str], n_rows: int, n_columns: int, *, finite: bool = True
) -> set[str]:
    """Return the names of the three arrays of a CSR matrix of a file, whose columns ascend in each row.

    Parameters
    ----------
    arrays : dict of arrays
    prefix : str
        What the names start with that end in data, indices and indptr.
    dtypes : sequence of str
        The types that its numbers may have.
    n_rows, n_columns : int
    finite : bool, default=True
        Whether every number must be finite.
    """
    data, indices, indptr = (f"{prefix}{name}" for name in ("data", "indices", "indptr"))
    n_stored = len(array_of(arrays, data, dtypes, (None,), finite=finite))
    columns = array_of(arrays, indices, ("int32", "int64"), (n_stored,))
    starts = array_of(arrays, indptr, ("int32", "int64"), (n_rows + 1,))
    ends = starts[0] == 0 and starts[-1] == n_stored and is_ascending(starts)
    require_array(ends, indptr, f"rise from 0 to {n_stored}")
    inner = np.ones(n_stored, dtype=bool)
    inner[starts[:-1][starts[:-1] < n_stored]] = False  # the first entry of a row
    rises = not n_stored or (columns[1:] > columns[:-1])[inner[1:]].all()
    within = (columns >= 0).all() and (columns < n_columns).all()
    require_array(within and rises, indices, f"hold the columns below {n_columns} of each row in ascending order")
    return {data, indices, indptr}


def is_ascending(numbers: NDArray[Any]) -> bool:
    """Return whether no number is below the one before it, along the last axis."""
    return not bool((numbers[..., 1:] < numbers[..., :-1]).any())


MOST_ENSEMBLE = 1024

MOST_EPOCHS = 2**31

SETTINGS = ("n_hashes", "bits", "t_bits", "p", "scale", "relevance", "encoding", "missing", "search")

CANDIDATE = {
    "stage": "text",
    "scale": "text or null",
    "relevance": "number",
    "indicators": "flag",
    "p": "number",
    "loss": "number",
    "error": "number",
    "seconds": "number",
    "epochs": "number or null",
    "accuracy": "number",
    "temperature": "number",
    "alpha": "number or null",
    "chosen": "flag",
}


def check_coder(arrays: Arrays, description: Any) -> int:
    """Return the columns that are hashed. A ValueError names the first entry or array that does not fit the others.

    The state is that of `Coder.state`:

    - ``settings``: all of `CoderSettings`, which checks their values itself.
    - ``seed``, ``n_features`` (columns of a row), ``p``, ``ensemble``, ``epochs`` or null, ``temperature``.
    - ``selection``: the candidates, each with all entries of `Candidate`.
    - ``schema``: null, or the columns of a table, which make up ``n_features`` columns.
    - ``preprocessing``: ``scale``, ``relevance``, ``indicators`` and ``n_features``; or two of them, ``numbers`` and
      ``others``, with the array ``preprocessing.numeric`` that says which columns are numbers.

    The arrays of a preprocessing of D columns: ``kind``, ``shift`` and ``divisor`` (D,) of a scaling by columns;
    ``knots`` (numeric columns, knots) with "local"; ``codes``, ``code_counts`` (codes,) and ``code_values`` (sum of
    counts,) with "codes"; ``kind`` and ``quantiles`` (numeric columns, quantiles) with
    "quantile"; ``term_weight`` (D,) of terms; ``weight`` (D,) and ``incomplete`` (columns with an indicator) where
    there are such.
    """
    coder = Fields(description, "coder")
    coder.part("settings").only(SETTINGS)
    coder.integer("seed", 0, 2**64 - 1)
    n_features = coder.integer("n_features", 1, MAX_COLUMNS)
    coder.number("p", 1e-6, 1e6)
    coder.integer("ensemble", 1, MOST_ENSEMBLE)
    if coder.get("epochs") is not None:
        coder.integer("epochs", 1, MOST_EPOCHS)
    coder.number("temperature", 1e-3, 1e3)
    check_candidates(coder)
    if coder.get("schema") is not None:
        _check_schema(coder.part("schema"), n_features)
    refuse_others(arrays, "version.", ())  # of models of version 0.1 whose stream had changed its columns
    return check_preprocessing(arrays, coder.part("preprocessing"), n_features)


def check_candidates(part: Fields) -> None:
    """Raise a ValueError unless all candidates of a selection have their entries."""
    types: dict[str, Callable[[Any], bool]] = {
        "text": lambda value: isinstance(value, str),
        "text or null": lambda value: value is None or isinstance(value, str),
        "flag": lambda value: isinstance(value, bool),
        "number": is_number,
        "number or null": lambda value: value is None or is_number(value),
    }
    for candidate in part.parts("selection"):
        for key, kind in CANDIDATE.items():
            candidate.require(types[kind](candidate.get(key)), key, f"be a {kind}")


def _check_schema(schema: Fields, n_features: int) -> None:
    """Check the columns of a table; `Schema.from_json` checks the version and the names of the entries."""
    hashed = schema.integer("hash_columns", 0, MAX_COLUMNS)
    schema.choice("n_features", [n_features])
    schema.integer("n_file_columns", 0, MAX_COLUMNS)
    schema.choice("missing", ["error", "zero", "nan"])
    schema.choice("index_base", [None, 0, 1])
    schema.choice("label_type", [None, "numbers", "strings"])
    for key in ("label", "weight"):
        name, number = schema.get(key), schema.get(f"{key}_number")
        schema.require(name is None or type(name) in (str, int), key, "be a name, a number or null")
        schema.require(number is None or type(number) is int, f"{key}_number", "be a number or null")
    columns = schema.parts("columns")
    width = hashed + sum(_checked_width(column) for column in columns)
    if columns and width != n_features:
        raise ValueError(f"the columns of {schema.name} must make up coder.n_features={n_features}, got {width}")
    if columns:
        schema.integer("n_file_columns", len(columns), MAX_COLUMNS)


def _checked_width(column: Fields) -> int:
    """Return how many columns of X a column of a table becomes, once all its entries have been checked."""
    by_value = ("by_value",) if "by_value" in column.content else ()  # left out where it is not true
    column.only(("name", "number", "kind", "width", "categories", "values", *by_value))
    if by_value:
        column.choice("by_value", [True])
    for key in ("name", "values"):
        column.require(column.get(key) is None or isinstance(column.get(key), str), key, "be a text or null")
    column.integer("number", 0, MAX_COLUMNS)
    kind, width = column.choice("kind", KINDS_OF_TABLES), column.integer("width", 0, MAX_COLUMNS)
    categories = column.items("categories")
    distinct = all(isinstance(one, str) for one in categories) and len(set(categories)) == len(categories)
    column.require(distinct, "categories", "be distinct texts")
    if kind in NUMBERS:
        column.choice("width", [1])
    elif kind == "onehot":
        column.choice("width", [len(categories)])
    elif kind == "hashed":
        column.choice("width", [0])
    return width


def check_preprocessing(arrays: Arrays, preprocessing: Fields, n_features: int) -> int:
    """Return the columns that a preprocessing of `n_features` columns makes, once its state has been checked."""
    if "numbers" not in preprocessing.content:
        known, n_columns = _checked_arrays(arrays, preprocessing, "preprocessing.", n_features)
    else:
        preprocessing.only(("numbers", "others"))
        name = "preprocessing.numeric"
        numeric = array_of(arrays, name, "uint8", (n_features,))
        require_array((numeric <= 1).all(), name, "hold 0 and 1")
        n_numbers = int(numeric.sum())
        known, n_columns = {name}, 0
        for part, n in (("numbers", n_numbers), ("others", n_features - n_numbers)):
            of_part, n_made = _checked_arrays(arrays, preprocessing.part(part), f"preprocessing.{part}.", n)
            known, n_columns = known | of_part, n_columns + n_made
    refuse_others(arrays, "preprocessing.", known)
    return n_columns


def _checked_arrays(arrays: Arrays, part: Fields, prefix: str, n_columns: int) -> tuple[set[str], int]:
    """Return the names of the arrays of a preprocessing, all of which have been checked, and the columns it makes."""
    part.only(("scale", "relevance", "indicators", "n_features"))
    scale = part.choice("scale", [None, *KINDS])
    part.number("relevance", 0.0, 10.0)
    part.choice("indicators", [True, False])
    part.choice("n_features", [n_columns])
    known = {f"{prefix}{name}" for name in ("weight", "incomplete") if f"{prefix}{name}" in arrays}
    if f"{prefix}weight" in known:
        weight = array_of(arrays, f"{prefix}weight", "float64", (n_columns,))
        require_array((weight >= 0).all(), f"{prefix}weight", "hold no number below 0")
    n_made = n_columns
    if f"{prefix}incomplete" in known:
        name = f"{prefix}incomplete"
        incomplete = array_of(arrays, name, "int64", (None,))
        within = len(incomplete) == 0 or bool(incomplete[0] >= 0 and incomplete[-1] < n_columns)
        n_made += len(incomplete)
        require_array(within and (np.diff(incomplete) > 0).all(), name, f"hold ascending columns below {n_columns}")
    if scale is None or not n_columns:
        return known, n_made
    if scale in KINDS_OF_TERMS:
        name = f"{prefix}term_weight"
        require_array((array_of(arrays, name, "float64", (n_columns,)) >= 0).all(), name, "hold no number below 0")
        return known | {name}, n_made
    kind = array_of(arrays, f"{prefix}kind", "uint8", (n_columns,))
    require_array((kind < len(KINDS_OF_COLUMNS)).all(), f"{prefix}kind", f"be below {len(KINDS_OF_COLUMNS)}")
    known.add(f"{prefix}kind")
    if scale != "quantile":
        array_of(arrays, f"{prefix}shift", "float64", (n_columns,))
        divisor = array_of(arrays, f"{prefix}divisor", "float64", (n_columns,), finite=False)
        require_array((divisor > 0).all(), f"{prefix}divisor", "hold numbers above 0, or infinity")
        known |= {f"{prefix}shift", f"{prefix}divisor"}
    n_numeric = int((kind == KINDS_OF_COLUMNS.index(NUMERIC)).sum())
    if scale == "codes":
        names, n_values = _checked_codes(arrays, prefix, n_columns)
        return known | names, n_made + n_values
    if scale in FOR_DENSE_ROWS and n_numeric:
        name = f"{prefix}knots" if scale == "local" else f"{prefix}quantiles"
        points = array_of(arrays, name, "float64", (n_numeric, None), finite=False)
        least = 2 if scale == "local" else 1
        sound = points.shape[1] >= least and not np.isinf(points).any() and is_ascending(points)
        require_array(sound, name, f"hold at least {least} finite, ascending numbers for each numeric column")
        known.add(name)
        n_made += points.size if scale == "local" else 0
    return known, n_made


def _checked_codes(arrays: Arrays, prefix: str, n_columns: int) -> tuple[set[str], int]:
    """Return the names of the arrays of columns of codes, and how many values these have; there may be none."""
    names = {f"{prefix}codes", f"{prefix}code_counts", f"{prefix}code_values"}
    if not names & arrays.keys():
        return set(), 0
    codes = array_of(arrays, f"{prefix}codes", "int64", (None,))
    counts = array_of(arrays, f"{prefix}code_counts", "int64", codes.shape)
    values = array_of(arrays, f"{prefix}code_values", "float64", (None,))
    within = len(codes) > 0 and bool(codes[0] >= 0 and codes[-1] < n_columns) and (np.diff(codes) > 0).all()
    require_array(within, f"{prefix}codes", f"hold ascending columns below {n_columns}")
    sound = (counts >= 1).all() and (counts <= len(values)).all() and counts.sum() == len(values)
    require_array(sound, f"{prefix}code_counts", f"hold numbers above 0 that add up to {len(values)}")
    return names, len(values)
