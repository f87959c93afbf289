"""An ensemble of nets on different hashes, which stands for one net: its outputs are the means of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import ENSEMBLE, keys
from gcwsnet.training._net import Arrays, Net
from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import Targets

Result = TypeVar("Result")


class EnsembleNet(Net):
    """An ensemble whose members learn from the same rows, each from the codes of its own hashes.

    Its outputs are the means of the members' outputs: for classes the geometric mean of their probabilities.

    Parameters
    ----------
    members : sequence of Net
    settings : TrainingSettings
        Of the ensemble; those of the members follow from them.
    seed : int
        The seed that those of the members were derived from.
    """

    def __init__(self, members: Sequence[Net], settings: TrainingSettings, seed: int) -> None:
        self.members = list(members)
        first = members[0]
        super().__init__(settings, first.targets, n_hashes=first.n_hashes, code_bits=first.code_bits, seed=seed)

    @property
    def settings(self) -> TrainingSettings:
        """The settings of the ensemble."""
        return self._settings

    @settings.setter
    def settings(self, settings: TrainingSettings) -> None:
        self._settings = settings
        for member in self.members:
            member.settings = replace(settings, ensemble=1)

    def train(
        self,
        codes: NDArray[Any],
        target: NDArray[Any],
        weight: NDArray[Any] | None,
        rates: NDArray[np.float64],
        *,
        batch_size: int,
        n_jobs: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Take one step for each rate with each member; several threads share the members."""
        found = self._each(
            lambda member, own: member.train(own, target, weight, rates, batch_size=batch_size, n_jobs=1)[1],
            codes,
            n_jobs,
        )
        outputs = _mean(found)
        losses = self.targets.losses(outputs, target)
        return np.add.reduceat(losses, np.arange(0, len(losses), batch_size)), outputs

    @property
    def predicts_with(self) -> str:
        """The weights that predict, the same of all members."""
        return self.members[0].predicts_with

    @predicts_with.setter
    def predicts_with(self, weights: str) -> None:
        for member in self.members:
            member.predicts_with = weights

    def outputs(self, codes: NDArray[Any], *, n_jobs: int, weights: str | None = None) -> NDArray[np.float32]:
        """Return the mean outputs for codes."""
        return _mean(self._each(lambda member, own: member.outputs(own, n_jobs=1, weights=weights), codes, n_jobs))

    def _each(self, task: Callable[[Net, NDArray[Any]], Result], codes: NDArray[Any], n_jobs: int) -> list[Result]:
        """Return what each member makes of its codes."""
        k = self.n_hashes
        parts = [np.ascontiguousarray(codes[:, j * k : (j + 1) * k]) for j in range(len(self.members))]
        if n_jobs == 1 or len(codes) == 1:
            return [task(*pair) for pair in zip(self.members, parts, strict=True)]
        with ThreadPoolExecutor(min(n_jobs, len(parts))) as threads:
            return list(threads.map(task, self.members, parts))

    def weights(self) -> Arrays:
        """Return the weights of all members; the number of the member stands before the name."""
        return _joined(member.weights() for member in self.members)

    def predicting_weights(self) -> Arrays:
        """Return the weights that predict."""
        return _joined(member.predicting_weights() for member in self.members)

    def optimizer_state(self) -> Arrays:
        """Return all that the optimizers keep."""
        return _joined(member.optimizer_state() for member in self.members)

    def make_moments(self) -> None:
        """Make the moments of each member."""
        for member in self.members:
            member.make_moments()

    def load(self, weights: Arrays, optimizer: Arrays | None = None) -> None:
        """Take the weights and the optimizer's state of each member."""
        for number, member in enumerate(self.members):
            member.load(_of_member(number, weights), _of_member(number, optimizer or {}))

    @property
    def n_steps(self) -> int:
        """The steps that all members have taken."""
        return min(member.n_steps for member in self.members)

    def set_n_steps(self, n: int) -> None:
        """Take over the number of steps of a round."""
        for member in self.members:
            member.set_n_steps(n)

    def picked_rows(self, codes: NDArray[Any]) -> Arrays:
        """Return the rows of the members' tables that steps on codes may change."""
        return _joined(self._each(lambda member, own: member.picked_rows(own), codes, 1))

    @property
    def is_averaging(self) -> bool:
        """Whether weights are averaged."""
        return self.members[0].is_averaging

    def start_averaging(self, rows_seen: int, *, recent: bool = False, from_now: bool = False) -> None:
        """Average the weights from here on."""
        for member in self.members:
            member.start_averaging(rows_seen, recent=recent, from_now=from_now)

    def stop_averaging(self) -> None:
        """Forget the averages."""
        for member in self.members:
            member.stop_averaging()

    def averages_state(self) -> tuple[Arrays, list[int]]:
        """Return the averages; the numbers of rows are the same for all members."""
        states = [member.averages_state() for member in self.members]
        return _joined(arrays for arrays, _ in states), states[0][1]

    def load_averages(self, arrays: Arrays, rows: list[int]) -> None:
        """Take averages back."""
        for number, member in enumerate(self.members):
            member.load_averages(_of_member(number, arrays), rows)

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more output of each member."""
        for member in self.members:
            member.insert_output(place, targets)
        self.targets = targets


def member_seeds(seed: int, n: int) -> list[int]:
    """Return the seeds of n members; the first one is the seed of a single net."""
    low, high = keys(seed, ENSEMBLE, np.arange(n))
    drawn = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    return [seed, *drawn[1:].tolist()]


def _mean(outputs: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean, summed in the order of the members in float64."""
    total = outputs[0].astype(np.float64)
    for one in outputs[1:]:
        total += one
    return (total / len(outputs)).astype(np.float32)


def _joined(states: Any) -> Arrays:
    return {f"{number}.{name}": value for number, state in enumerate(states) for name, value in state.items()}


def _of_member(number: int, arrays: Arrays) -> Arrays:
    prefix = f"{number}."
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
