"""The net that a trainer trains, and that of the native core."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._keys import ENSEMBLE, keys
from gcwsnet._memory import require_memory
from gcwsnet.hashing._count_sketch import reduction_factor
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets

Arrays = dict[str, NDArray[Any]]

LAST, RECENT, AVERAGE = "last", "recent", "average"

"""The weights as they are, their mean over recent rows, and that over the last half of a stream."""

TABLE = "layers.0.weight"

"""The name of the table of the first layer."""

LARGEST_LOSS = 1e6

RECENT_ROWS = 500

"""A row of a stream counts in the mean over recent rows by a factor of e less than the 500th row after it."""


class Net(ABC):
    """A hashed first layer, hidden layers and outputs, with the state of its optimizer.

    Parameters
    ----------
    settings : TrainingSettings
    targets : Targets
    n_hashes, code_bits : int
        Of the codes.
    seed : int
        Of the initial weights, and of the count-sketch if there is a reduction.

    Attributes
    ----------
    predicts_with : {"last", "recent", "average"}
        The weights that predict.
    """

    predicts_with: str = LAST

    def __init__(
        self, settings: TrainingSettings, targets: Targets, *, n_hashes: int, code_bits: int, seed: int
    ) -> None:
        self.settings, self.targets = settings, targets
        self.n_hashes, self.code_bits, self.seed = n_hashes, code_bits, seed

    def description(self) -> dict[str, int]:
        """Return what the net was made with beside settings and targets."""
        return {"n_hashes": self.n_hashes, "code_bits": self.code_bits, "seed": self.seed}

    @abstractmethod
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
        """Take one step for each rate.

        Returns
        -------
        losses : array of shape (n_steps,)
            The sum of the losses of each step's rows before the step, without weights.
        outputs : array of shape (n, n_outputs)
            The outputs for each row before its step.
        """

    @abstractmethod
    def outputs(self, codes: NDArray[Any], *, n_jobs: int, weights: str | None = None) -> NDArray[np.float32]:
        """Return the outputs for codes, by the given weights or by those that predict."""

    def scored(
        self, codes: NDArray[Any], target: NDArray[Any], weights: Sequence[str], *, n_jobs: int
    ) -> tuple[list[NDArray[np.float32]], list[list[float]]]:
        """Return the outputs for codes by each of several weights, and the losses of their rows."""
        outputs = [self.outputs(codes, n_jobs=n_jobs, weights=name) for name in weights]
        return outputs, [row_losses(self, found, target) for found in outputs]

    @abstractmethod
    def weights(self) -> Arrays:
        """Return all weights by their names in `gcwsnet.nn.GCWSNet`; they may change with the next step."""

    @abstractmethod
    def predicting_weights(self) -> Arrays:
        """Return the weights that predict."""

    @abstractmethod
    def optimizer_state(self) -> Arrays:
        """Return all that the optimizer keeps."""

    def require_finite(self) -> None:
        """Raise a ValueError if a weight is infinite or NaN: such a net is not a model."""
        if not self.is_finite():
            raise ValueError(
                "the weights of the net are not finite any more: the training diverges; use a smaller learning_rate, "
                "or smaller weights of rows"
            )

    def is_finite(self) -> bool:
        """Return whether no weight is infinite or NaN."""
        return all(bool(np.isfinite(weights).all()) for weights in self.weights().values())

    @abstractmethod
    def load(self, weights: Arrays, optimizer: Arrays | None = None) -> None:
        """Take weights and the optimizer's state, which must be whole; without a state the optimizer keeps its own."""

    @property
    @abstractmethod
    def n_steps(self) -> int:
        """The steps that have been taken; after an error in `train` it counts those before the error."""

    def make_moments(self) -> None:
        """Give the optimizer moments that are zero, as it has them at its first step, if it has none yet."""
        raise NotImplementedError(f"{type(self).__name__} cannot learn in rounds, which set its moments and n_steps")

    def set_n_steps(self, n: int) -> None:
        """Take over the number of steps of a round."""
        raise NotImplementedError(f"{type(self).__name__} cannot learn in rounds, which set n_steps={n}")

    def picked_rows(self, codes: NDArray[Any]) -> Arrays:  # noqa: ARG002
        """Return the rows of tables that steps on codes may change, ascending, by the names of the tables."""
        return {TABLE: np.arange(len(self.weights()[TABLE]))}

    @property
    @abstractmethod
    def is_averaging(self) -> bool:
        """Whether weights are averaged."""

    @abstractmethod
    def start_averaging(self, rows_seen: int, *, recent: bool = False, from_now: bool = False) -> None:
        """Average the weights from here on, over the last half of the rows, or somewhat more, and predict with that.

        Parameters
        ----------
        rows_seen : int
            The rows learned so far. The weights as they are count as the mean over the second half of them.
        recent : bool, default=False
            Whether there is a mean over recent rows too.
        from_now : bool, default=False
            Whether earlier rows do not count, as after a change of the stream. A mean over recent rows stays as it is.
        """

    @abstractmethod
    def stop_averaging(self) -> None:
        """Forget the averages: predict with the last weights."""

    @abstractmethod
    def averages_state(self) -> tuple[Arrays, list[int]]:
        """Return the averages and the numbers of rows that belong to them."""

    @abstractmethod
    def load_averages(self, arrays: Arrays, rows: list[int]) -> None:
        """Take averages back."""

    @abstractmethod
    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more output in front of output number `place`, for targets that have one more."""


class NativeNet(Net):
    """A net of the native core. Its weights are the same on any machine and for any number of threads.

    With `initialize` false all weights are zero, until `load` sets them.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        targets: Targets,
        *,
        n_hashes: int,
        code_bits: int,
        seed: int,
        initialize: bool = True,
    ) -> None:
        super().__init__(settings, targets, n_hashes=n_hashes, code_bits=code_bits, seed=seed)
        reduction = reduction_factor(1 if settings.reduction is None else settings.reduction, code_bits)
        self.core = _core.Net(
            n_hashes,
            code_bits,
            settings.layers(),
            targets.n_outputs,
            reduction=int(reduction),
            seed=seed,
            initialize=initialize,
        )
        self._predicts: tuple[tuple[int, str], _core.Net] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"made_with": (self.settings, self.targets), "description": self.description()}
        state |= {"weights": _copies(self.weights()), "optimizer": _copies(self.optimizer_state())}
        if self.is_averaging:
            averages, rows = self.averages_state()
            state["averages"] = _copies(averages), rows
        state["predicts_with"] = self.predicts_with
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["made_with"], **state["description"], initialize=False)  # type: ignore[misc]
        self.load(state["weights"], state["optimizer"])
        if "averages" in state:
            self.load_averages(*state["averages"])
        self.predicts_with = state["predicts_with"]

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
        """Take one step for each rate."""
        losses = np.empty(len(rates))
        successes = np.empty((len(rates), *target.shape[1:]))
        outputs = np.empty((len(codes), self.targets.n_outputs), dtype=np.float32)
        try:
            self.core.train(
                np.ascontiguousarray(codes),
                _as_core_targets(target),
                weights=None if weight is None else _as_float32(weight),
                batch_size=batch_size,
                rates=rates,
                losses=losses,
                successes=successes,
                outputs=outputs,
                loss=self.targets.loss,
                betas=self.settings.betas,
                weight_decay=self.settings.weight_decay,
                lazy=self.settings.optimizer == "lazy",
                n_threads=n_jobs,
            )
        except FloatingPointError as error:
            raise diverged(rates[0]) from error
        return losses, outputs

    def outputs(self, codes: NDArray[Any], *, n_jobs: int, weights: str | None = None) -> NDArray[np.float32]:
        """Return the outputs for codes."""
        which = self.predicts_with if weights is None else weights
        codes = np.ascontiguousarray(codes)
        if which == LAST:
            return self.core.outputs(codes, n_threads=n_jobs)
        is_kept = self._predicts is not None and self._predicts[0] == (self.core.n_steps, which)
        if not is_kept and 2 * codes.size < self.core.n_table_rows:  # fewer rows of the table than all of them
            return self.core.outputs(codes, n_threads=n_jobs, weights=which)
        return self._predictor(which, n_jobs).outputs(codes, n_threads=n_jobs)

    def scored(
        self, codes: NDArray[Any], target: NDArray[Any], weights: Sequence[str], *, n_jobs: int
    ) -> tuple[list[NDArray[np.float32]], list[list[float]]]:
        """Return the outputs for codes by each of several weights, and the losses of their rows, in one native call."""
        outputs, losses = self.core.score(
            np.ascontiguousarray(codes),
            _as_core_targets(target),
            weights=weights,
            loss=self.targets.loss,
            temperature=self.targets.temperature,
            n_threads=n_jobs,
        )
        n = len(codes)
        return [outputs[first : first + n] for first in range(0, len(outputs), n)], _bounded(losses.tolist())

    def _predictor(self, which: str, n_jobs: int) -> _core.Net:
        """Return a net of the means of weights; it is kept until there has been another step."""
        if which == LAST:
            return self.core
        if self._predicts is None or self._predicts[0] != (self.core.n_steps, which):
            self._predicts = (self.core.n_steps, which), self.core.averaged(n_threads=n_jobs, weights=which)
        return self._predicts[1]

    def weights(self) -> Arrays:
        """Return views of all weights."""
        return self.core.weights()

    def predicting_weights(self) -> Arrays:
        """Return views of the weights that predict."""
        return self._predictor(self.predicts_with, 1).weights()

    def optimizer_state(self) -> Arrays:
        """Return the moments there are and the number of steps."""
        state: Arrays = {"n_steps": np.array([self.core.n_steps])}
        if self.core.has_second_moments:
            state |= {f"second_moments.{name}": value for name, value in self.core.second_moments().items()}
        if self.core.has_first_moments:
            state |= {f"first_moments.{name}": value for name, value in self.core.first_moments().items()}
        return state

    def make_moments(self) -> None:
        """Make the moments that the settings ask for."""
        self.core.second_moments()
        if self.settings.betas[0] > 0:
            self.core.first_moments()

    def load(self, weights: Arrays, optimizer: Arrays | None = None) -> None:
        """Take weights and the optimizer's state."""
        _fill(self.core.weights(), weights)
        self._predicts = None
        if not optimizer:
            return
        self.core.n_steps = int(optimizer["n_steps"][0])
        for moments in ("second_moments", "first_moments"):
            kept = {name.removeprefix(f"{moments}."): value for name, value in optimizer.items() if moments in name}
            if kept:
                _fill(getattr(self.core, moments)(), kept)

    @property
    def n_steps(self) -> int:
        """The steps that have been taken."""
        return self.core.n_steps

    def set_n_steps(self, n: int) -> None:
        """Take over the number of steps of a round."""
        self.core.n_steps = n

    def picked_rows(self, codes: NDArray[Any]) -> Arrays:
        """Return the rows that codes pick; all rows, if the optimizer is not lazy."""
        if self.settings.optimizer != "lazy":
            return super().picked_rows(codes)
        return {TABLE: self.core.rows_used(np.ascontiguousarray(codes))}

    @property
    def is_averaging(self) -> bool:
        """Whether weights are averaged."""
        return self.core.is_averaging

    def start_averaging(self, rows_seen: int, *, recent: bool = False, from_now: bool = False) -> None:
        """Average the weights from here on."""
        means = 2 * (not self.core.is_averaging) + (recent and not self.core.has_recent_mean)
        table = self.weights()[TABLE]
        require_memory(
            means * table.nbytes,
            f"averages of a table of {table.shape[0]} rows and {table.shape[1]} columns",
            "use average=False, a reduction, fewer bits or fewer hashes",
        )
        if not from_now:  # else the clock of the means goes on
            self.core.rows_seen = rows_seen
        self.core.start_averaging(from_now=from_now)
        if recent and not self.core.has_recent_mean:
            self.core.start_recent_mean(1 - 1 / RECENT_ROWS)
        self._predicts, self.predicts_with = None, AVERAGE

    def stop_averaging(self) -> None:
        """Forget the averages."""
        self.core.stop_averaging()
        self._predicts, self.predicts_with = None, LAST

    def averages_state(self) -> tuple[Arrays, list[int]]:
        """Return the averages."""
        arrays: Arrays = dict(self.core.averages())
        if self.core.has_recent_mean:
            arrays |= {f"recent.{name}": value for name, value in self.core.recent_mean().items()}
        return arrays, [*self.core.averaging_rows, self.core.rows_seen]

    def load_averages(self, arrays: Arrays, rows: list[int]) -> None:
        """Take averages back."""
        recent = starting_with("recent.", arrays)
        start, older, newer, origin, clock = rows
        self.start_averaging(clock, recent=bool(recent))
        self.core.averaging_rows = start, older, newer, origin
        views = self.core.averages()
        up_to_date = {"taken": np.full_like(views["taken"], start + newer)}  # as those of torch always are
        _fill(views, up_to_date | {name: value for name, value in arrays.items() if not name.startswith("recent.")})
        if recent:
            views = self.core.recent_mean()
            _fill(views, {"taken": np.full_like(views["taken"], clock)} | recent)

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more output."""
        self.core.insert_output(place)
        self.targets, self._predicts = targets, None


def diverged(rate: float) -> ValueError:
    """Return the error for a loss that is not finite."""
    return ValueError(
        "the loss of a batch is not finite any more: the training diverges; use a smaller learning_rate, now about "
        f"{rate:g}, or smaller weights"
    )


def row_losses(net: Net, outputs: NDArray[np.float32], target: NDArray[Any]) -> list[float]:
    """Return the loss of each row, the same bits on every machine; infinite ones as large numbers."""
    if net.targets.temperature != 1:
        outputs = outputs / np.float32(net.targets.temperature)
    losses = _core.row_losses(outputs, _as_core_targets(target), net.targets.loss)
    return _bounded([losses[:, 0].tolist()])[0]


def _bounded(losses: list[list[float]]) -> list[list[float]]:
    return [[loss if loss < LARGEST_LOSS else LARGEST_LOSS for loss in of_rows] for of_rows in losses]


def _as_core_targets(target: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(target, dtype=np.int64 if target.ndim == 1 else np.float32)


def _as_float32(weight: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what becomes infinite is refused by the native core
        return np.ascontiguousarray(weight, dtype=np.float32)


def _fill(views: Arrays, arrays: Arrays) -> None:
    """Copy arrays into views of the same names and shapes."""
    if views.keys() != arrays.keys():
        raise KeyError(f"arrays {sorted(arrays)} for a net with {sorted(views)}")
    for name, view in views.items():
        if view.shape != arrays[name].shape:
            raise IndexError(f"{name} of shape {arrays[name].shape} for a net where it is {view.shape}")
        view[...] = arrays[name]


def starting_with(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names start with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _copies(arrays: Arrays) -> Arrays:
    return {name: value.copy() for name, value in arrays.items()}


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


MOST_TABLE_ROWS = 2**31


def make_net(
    settings: TrainingSettings,
    targets: Targets,
    *,
    n_hashes: int,
    code_bits: int,
    seed: int,
    device: str = "cpu",
    initialize: bool = True,
) -> Net:
    """Return a net that has learned nothing.

    Parameters
    ----------
    settings, targets, n_hashes, code_bits, seed
        See `Net`.
    device : str, default="cpu"
        "cpu" is the native core; all else is a device of torch.
    initialize : bool, default=True
        Whether a native net draws its weights. False is for one that gets others next.
    """
    reduction = reduction_factor(1 if settings.reduction is None else settings.reduction, code_bits)
    n_rows = -(-(n_hashes << code_bits) // reduction)
    if n_rows > MOST_TABLE_ROWS:
        raise ValueError(
            f"the table of the first layer must have at most 2**31 rows, got {n_rows} with n_hashes={n_hashes}, codes "
            f"of {code_bits} bits and reduction={settings.reduction!r}; use a larger reduction, for example '8bit'"
        )
    n_outputs = (*settings.layers(), targets.n_outputs)[0]
    members = settings.members()
    has_first_moments = initialize and settings.betas[0] != 0
    tables = members * (3 if has_first_moments else 2)  # of weights and of the moments of Adam
    require_memory(
        4 * tables * n_rows * n_outputs,
        f"{tables} tables of {n_rows} rows and {n_outputs} columns, for weights and the moments of Adam,",
        "use a reduction, fewer bits, fewer hashes or a smaller ensemble"
        + (", or betas=(0.0, 0.999)" if has_first_moments else ""),
    )
    made = {"n_hashes": n_hashes, "code_bits": code_bits, "seed": seed}
    if members != 1:
        alone = replace(settings, ensemble=1)
        nets = [
            make_net(alone, targets, **made | {"seed": one}, device=device, initialize=initialize)
            for one in member_seeds(seed, members)
        ]
        return EnsembleNet(nets, settings, seed)
    if device == "cpu":
        return NativeNet(settings, targets, **made, initialize=initialize)
    try:
        from gcwsnet.net._torch_net import TorchNet  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"device={device!r} needs torch, which is not installed; pip install 'gcwsnet[torch]', or use device='cpu'"
        ) from error

    return TorchNet(settings, targets, **made, device=device)


def net_from_state(arrays: Arrays, description: dict[str, Any], *, device: str = "cpu", resumable: bool = True) -> Net:
    """Return the net of a trainer whose state this is.

    Parameters
    ----------
    arrays, description
        The state of a trainer.
    device : str, default="cpu"
    resumable : bool, default=True
        Whether the optimizer's state is taken too, if it is there; without it the optimizer begins again.
    """
    targets = Targets.from_state(arrays, description["targets"])
    settings = TrainingSettings.from_state(description["settings"])
    net = make_net(settings, targets, **description["net"], device=device, initialize=False)
    net.load(starting_with("net.", arrays), starting_with("optimizer.", arrays) if resumable else None)
    if "averages" in description:
        net.load_averages(starting_with("averages.", arrays), description["averages"])
        net.predicts_with = description.get("predicts_with", AVERAGE)
    return net
