"""Results of runs, with all that they depend on, in files that are packed for git and single for work."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from gcwsnet._atomic import write_file
from reproduction.settings import SEEDED, Settings, key, key_of_all_seeds

SINGLE, PACKED = ".json", ".jsonl"


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
UNLISTED = "unlisted"
"""The packed file of runs that are in the grid of no experiment."""


class Results:
    """The outcomes in a folder: packed files of many runs, and files of single runs.

    Runs are saved as single files, ``METHOD-DATASET-HASH.json``, each written whole or not at all. `pack` gathers them
    into ``EXPERIMENT.jsonl`` with one line for each run, which is the form that is committed, and `unpack` takes
    these apart again. A folder may hold both; if a run is in both, its single file counts, as it is newer.

    Parameters
    ----------
    folder : path
        It is created when the first outcome is saved.

    Raises
    ------
    ValueError
        For a file in the folder that does not hold the outcomes that its name promises.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._packed = sorted(self.folder.glob(f"*{PACKED}"))
        single = {path.stem: _read_single(path) for path in self.folder.glob(f"*{SINGLE}")}
        self._outcomes: dict[str, Outcome] = {}
        self._alike: dict[str, list[str]] = {}  # the keys of runs that differ in nothing but the seed
        self._common: dict[tuple[Any, ...], set[int]] = {}  # the seeds that count for runs that are compared
        for name, outcome in sorted((_read_packed(self._packed) | single).items()):
            self._add(name, outcome)

    def _add(self, name: str, outcome: Outcome) -> None:
        alike = self._alike.setdefault(key_of_all_seeds(outcome.settings), [])
        alike += [] if name in self._outcomes else [name]
        self._outcomes[name] = outcome

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._outcomes.values())

    def __contains__(self, settings: Settings) -> bool:
        return key(settings) in self._outcomes

    def get(self, settings: Settings) -> Outcome | None:
        """Return the outcome of these settings, the mean over all seeds that were run; None if the first is missing."""
        if settings not in self:
            return None
        by_seed = self._by_seed(settings)
        counted = set(by_seed) & self._common.get(_compared_with(settings), set(by_seed))
        return mean_over_seeds([by_seed[seed] for seed in sorted(counted)])

    def _by_seed(self, settings: Settings) -> dict[int, Outcome]:
        alike = (self._outcomes[name] for name in self._alike[key_of_all_seeds(settings)])
        return {int(outcome.settings.get("seed", 0)): outcome for outcome in alike}

    def with_common_seeds(self, grid: Iterable[Settings]) -> Results:
        """Return these results with means over the seeds that all runs of a grid have which are compared and done.

        Runs on the same dataset for as many epochs are compared. So a seed counts when the last of them is done.
        """
        view = copy.copy(self)
        view._common = {}
        for settings in grid:
            if settings["method"] in SEEDED and settings in self:
                seeds = set(self._by_seed(settings))
                view._common.setdefault(_compared_with(settings), seeds).intersection_update(seeds)
        return view

    def save(self, outcome: Outcome) -> Path:
        """Write an outcome to a file of its own, and return the path."""
        path = save_single(outcome, self.folder)
        self._add(path.stem, outcome)
        return path

    def reload(self, settings: Settings) -> Outcome:
        """Return the outcome that another process has saved."""
        name = key(settings)
        self._add(name, _read_single(self.folder / f"{name}{SINGLE}"))
        return self._outcomes[name]

    def pack(self, experiments: Mapping[str, str]) -> None:
        """Gather all runs into one file for each experiment, with sorted lines, and remove the files of single runs.

        Parameters
        ----------
        experiments : mapping from str to str
            For the key of a run with the first seed the name of the experiment that it is stored with.
        """
        lines: dict[str, list[str]] = {}
        for outcome in self:
            line = json.dumps(asdict(outcome), allow_nan=False) + "\n"
            lines.setdefault(experiments.get(key_of_all_seeds(outcome.settings), UNLISTED), []).append(line)
        packed = {self.folder / f"{name}{PACKED}": "".join(sorted(some)) for name, some in lines.items()}
        for path, text in packed.items():
            write_text(path, text)
        for name in self._outcomes:  # not all files of the folder: another process may have saved a run meanwhile
            (self.folder / f"{name}{SINGLE}").unlink(missing_ok=True)
        for path in set(self._packed) - set(packed):
            path.unlink()
        self._packed = sorted(packed)

    def unpack(self) -> None:
        """Write each run to a file of its own, and remove the packed files."""
        for outcome in self:
            save_single(outcome, self.folder)
        for path in self._packed:
            path.unlink()
        self._packed = []


def _compared_with(settings: Settings) -> tuple[Any, ...]:
    """Return what runs have in common whose accuracies are compared with each other."""
    return settings.get("dataset"), settings.get("epochs")


def save_single(outcome: Outcome, folder: Path) -> Path:
    """Write an outcome to a file of its own, whole or not at all, and return the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key(outcome.settings)}{SINGLE}"
    write_text(path, json.dumps(asdict(outcome), indent=1, allow_nan=False) + "\n")
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    write_file(path, text.encode())


def _read_single(path: Path) -> Outcome:
    outcome = _parse(path.read_text(encoding="utf-8"), str(path), "remove the file, and the run is repeated")
    if key(outcome.settings) != path.stem:
        raise ValueError(f"{path} must be named after its settings, {key(outcome.settings)}{SINGLE}; rename it")
    return outcome


def _read_packed(paths: Iterable[Path]) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            place = f"{path}, line {number},"
            outcome = _parse(line, place, "remove the line, and the run is repeated")
            if key(outcome.settings) in outcomes:
                raise ValueError(f"{place} must not repeat the settings of another line; keep one of the two")
            outcomes[key(outcome.settings)] = outcome
    return outcomes


def _parse(text: str, place: str, way_out: str) -> Outcome:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place} must be JSON, and is not ({error}); {way_out}") from error
    if not isinstance(content, dict) or set(content) != _FIELDS:
        raise ValueError(f"{place} must have the fields {', '.join(sorted(_FIELDS))}; {way_out}")
    return Outcome(**content)
