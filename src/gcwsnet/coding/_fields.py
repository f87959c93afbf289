"""What is read from a file of a stranger: entries of a description and arrays, each checked when it is read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
