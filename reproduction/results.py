"""Results of runs with all that they depend on: one JSON object in a line, one file for each experiment."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from reproduction.settings import SEEDED, Settings, key, key_of_all_seeds, with_our_defaults


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes
    ----------
    settings : dict
        All that the run depends on.
    origin : str or None
        Where the dataset is from: "exact", "rounded", "derived", "rebuilt" or "bundled"; None without a dataset.
    result : dict
        For nets accuracies in percent: "accuracy" at the end, on all test rows, and "curve" along the epochs.
        In a mean over seeds also "seeds", and as "deviation" the standard deviation of the accuracy at the end, and
        in the curve those of each of its numbers by name.
    seconds : float
        The time it took.
    versions : dict
        The versions of this package, of its hashes, and of the packages it uses.
    machine : str
        The machine on which it ran.
    """

    settings: Settings
    origin: str | None
    result: dict[str, Any]
    seconds: float
    versions: dict[str, str]
    machine: str

    @property
    def accuracy(self) -> float:
        """The accuracy in percent at the end."""
        return float(self.result["accuracy"])

    def at(self, epoch: float) -> float:
        """Return the accuracy in percent at the first checkpoint that is not before an epoch."""
        return self._at(epoch, self.result["curve"]["accuracy"], self.result["accuracy"])

    def epochs_to(self, accuracy: float) -> float:
        """Return the epochs after which an accuracy is reached for the first time; infinite if it never is."""
        curve = self.result["curve"]
        steps = zip(curve["epoch"], curve["accuracy"], strict=True)
        return next((epoch for epoch, reached in steps if reached >= accuracy), math.inf)

    def deviation(self, epoch: float | None = None) -> float:
        """Return the standard deviation over the seeds of the accuracy at the end, or at an epoch; 0 with one seed."""
        if self.seeds == 1:
            return 0.0
        if epoch is None:
            return float(self.result["deviation"])
        return self._at(epoch, self.result["curve"]["deviation"]["accuracy"], self.result["deviation"])

    def _at(self, epoch: float, numbers: Sequence[float], last: float) -> float:
        """Return the one of the numbers along the epochs that is at an epoch, and `last` behind them all."""
        for reached, number in zip(self.result["curve"]["epoch"], numbers, strict=True):
            if reached >= epoch - 1e-9:
                return float(number)
        return float(last)

    @property
    def seeds(self) -> int:
        """The number of seeds that the accuracy is a mean of."""
        return int(self.result.get("seeds", 1))


def mean_over_seeds(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the mean of outcomes that differ in the seed, with the settings of the first of them.

    Numbers that are measured along the epochs are averaged at each checkpoint.
    """
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    result: dict[str, Any] = {"accuracy": fmean(one.accuracy for one in outcomes), "seeds": len(outcomes)}
    result["deviation"] = stdev(one.accuracy for one in outcomes)
    if "curve" in first.result:
        result["curve"] = _mean_curve([one.result["curve"] for one in outcomes])
    return replace(first, result={**first.result, **result}, seconds=sum(one.seconds for one in outcomes))


def _mean_curve(curves: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = {
        name: list(zip(*(one[name] for one in curves), strict=True))
        for name, numbers in curves[0].items()
        if isinstance(numbers, list)
    }
    means = {name: [fmean(some) for some in at_checkpoints] for name, at_checkpoints in values.items()}
    deviations = {name: np.std(at_checkpoints, axis=1, ddof=1).tolist() for name, at_checkpoints in values.items()}
    return {**curves[0], **means, "deviation": deviations}


_FIELDS = {field.name for field in fields(Outcome)}


class Results:
    """The outcomes in a folder, whose files are ``EXPERIMENT.jsonl``; a run may be in any of them.

    Parameters
    ----------
    folder : path
        It is created when the first outcome is saved.

    Raises
    ------
    ValueError
        For a line that is not the outcome of a run, or repeats the settings of another line.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._ours = False
        self._means: dict[str, Outcome] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._alike: dict[str, list[str]] = {}  # the keys of runs that differ in nothing but the seed
        self._common: dict[tuple[Any, ...], set[int]] = {}  # the seeds that count for runs that are compared
        for path in sorted(self.folder.glob("*.jsonl")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                self._add(_parse(line, f"{path}, line {number},"), f"{path}, line {number},")

    def _add(self, outcome: Outcome, place: str) -> None:
        name = key(outcome.settings)
        if name in self._outcomes:
            raise ValueError(f"{place} must not repeat the settings of another line; keep one of the two")
        self._alike.setdefault(key_of_all_seeds(outcome.settings), []).append(name)
        self._outcomes[name] = outcome
        self._means = {}

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._outcomes.values())

    def __contains__(self, settings: Settings) -> bool:
        return key(self._translated(settings)) in self._outcomes

    def _translated(self, settings: Settings) -> Settings:
        return with_our_defaults(settings) if self._ours else settings

    def with_our_defaults(self) -> Results:
        """Return these results in which settings of the paper stand for the same runs with our defaults."""
        view = copy.copy(self)
        view._ours, view._means = True, {}
        return view

    def get(self, settings: Settings) -> Outcome | None:
        """Return the outcome of these settings, the mean over all seeds that were run; None if the first is missing."""
        settings = self._translated(settings)
        name = key(settings)
        if name in self._outcomes and name not in self._means:
            by_seed = self._by_seed(settings)
            counted = set(by_seed) & self._common.get(_compared_with(settings), set(by_seed))
            self._means[name] = mean_over_seeds([by_seed[seed] for seed in sorted(counted)])
        return self._means.get(name)

    def _by_seed(self, settings: Settings) -> dict[int, Outcome]:
        alike = (self._outcomes[name] for name in self._alike[key_of_all_seeds(settings)])
        return {int(outcome.settings.get("seed", 0)): outcome for outcome in alike}

    def with_common_seeds(self, grid: Iterable[Settings]) -> Results:
        """Return these results with means over the seeds that all runs of a grid have which are compared and done.

        Runs on the same dataset for as many epochs are compared. So a seed counts when the last of them is done.
        """
        view = copy.copy(self)
        view._common, view._means = {}, {}
        for settings in map(self._translated, grid):
            if settings["method"] in SEEDED and key(settings) in self._outcomes:
                seeds = set(self._by_seed(settings))
                view._common.setdefault(_compared_with(settings), seeds).intersection_update(seeds)
        return view

    def save(self, outcome: Outcome, name: str) -> None:
        """Append an outcome to the file of an experiment."""
        path = self.folder / f"{name}.jsonl"
        self._add(outcome, str(path))
        self.folder.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome), allow_nan=False) + "\n")


def _compared_with(settings: Settings) -> tuple[Any, ...]:
    """Return what runs have in common whose accuracies are compared with each other."""
    return settings.get("dataset"), settings.get("epochs")


def _parse(text: str, place: str) -> Outcome:
    way_out = "remove the line, and the run is repeated"
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place} must be JSON, and is not ({error}); {way_out}") from error
    if not isinstance(content, dict) or set(content) != _FIELDS:
        raise ValueError(f"{place} must have the fields {', '.join(sorted(_FIELDS))}; {way_out}")
    return Outcome(**content)
