"""How files are to be read, as the caller says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcwsnet._validation import MOST_COLUMNS, check_choice, check_integer

MISSING = ("error", "zero", "nan")
DTYPES = ("float32", "float64")
LONGEST_LINE = 1 << 26
Name = str | int


@dataclass(frozen=True)
class Settings:
    """What `read` is told, checked; the docstring of `read` says what each means."""

    dtype: str | None = None
    n_features: int | None = None
    index_base: int | str = "auto"
    header: bool | str = "auto"
    label: Name | None = None
    weight: Name | None = None
    columns: Sequence[Name] | None = None
    categorical: Sequence[Name] = ()
    hash_columns: int | None = None
    missing: str | None = None
    labels: Sequence[Any] | None = None
    longest_line: int = LONGEST_LINE

    def __post_init__(self) -> None:
        if self.dtype is not None:
            object.__setattr__(self, "dtype", check_choice("dtype", np.dtype(self.dtype).name, DTYPES))
        if self.missing is not None:
            check_choice("missing", self.missing, MISSING)
        _check_one_of("index_base", self.index_base, ("auto", 0, 1))
        _check_one_of("header", self.header, ("auto", True, False))
        check_integer("longest_line", self.longest_line, 1, 1 << 30)
        for name in ("n_features", "hash_columns"):
            value = getattr(self, name)
            if value is not None:
                check_integer(name, value, 1, MOST_COLUMNS)
        for name in ("columns", "categorical"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names or numbers, got {name}={getattr(self, name)!r}")


def _check_one_of(name: str, value: object, choices: tuple[Any, ...]) -> None:
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {name}={value!r}")
