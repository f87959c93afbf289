"""A dataset of the suite, and how rows are split into training rows and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from sklearn.model_selection import train_test_split

Task = Literal["classification", "regression"]
TEST_SHARE = 1 / 3


class Split(NamedTuple):
    """Training rows and test rows."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class SuiteDataset:
    """A dataset of the suite.

    Attributes
    ----------
    name : str
    group : str
        A name for datasets that come from the same place, for the command line.
    origin : str
        Where it comes from, as a table shows it.
    load : callable
        From a seed to a `Split`. It raises FileNotFoundError where a file is missing, and ModuleNotFoundError where a
        package is.
    task : {"classification", "regression"}
    held_out : bool
        Whether no default was chosen on this dataset.
    by_seed : bool
        Whether the seed decides the split, so that a learner without a seed is run with all of them as well.
    least_seeds : int
        Small datasets are split and run more often, since few test rows say little.
    """

    name: str
    group: str
    origin: str
    load: Callable[[int], Split]
    task: Task = "classification"
    held_out: bool = False
    by_seed: bool = False
    least_seeds: int = 1


def same_for_all_seeds(load: Callable[[], Split]) -> Callable[[int], Split]:
    """Return a loader that ignores the seed and loads only once."""
    loaded = cache(load)
    return lambda seed: loaded()  # noqa: ARG005


def split_rows(X: Any, y: Any, task: Task = "classification", seed: int = 0) -> Split:
    """Return a split into two thirds and one third at random, with the same shares of the classes in both."""
    stratify = y if task == "classification" else None
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=stratify, random_state=seed
    )
    return Split(X_train, y_train, X_test, y_test)
