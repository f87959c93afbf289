"""The net on codes: a hashed first layer, hidden layers and outputs, learned by the native core; or several of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._validation import check_choice, require_memory
from gcwsnet.hashing._hasher import reduction_factor
from gcwsnet.net._packed import (
    TABLE,
    WEIGHTS,
    Arrays,
    PackedNet,
    joined,
    member_seeds,
    mixed,
    packed_arrays,
    starting_with,
)
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.tables._bins import BIN_BITS

Result = TypeVar("Result")

LAST, RECENT, AVERAGE = "last", "recent", "average"
"""The weights as they are, their mean over recent rows, which a stream has, and that over the last half of a run."""
MAX_LOSS = 1e6
RATE_OF_ADDITIVE = 5.0
"""The factor of the learning rate of the additive model, whose rows of weights hardly disturb each other."""
RECENT_ROWS = 500
"""A row of a stream counts in the mean over recent rows by a factor of e less than the 500th row after it."""


class Net:
    """A net, or an ensemble of nets on different hashes, with the state of its optimizer.

    Its weights are the same on any machine and for any number of threads. The nets of an ensemble learn from the same
    rows, each from the codes of its own hashes. The outputs are the means of their outputs: for classes the geometric
    mean of their probabilities. Names of arrays begin with the number of the net where there are several.

    An additive model may learn beside them: a linear net on the bins of columns, whose codes come last. The outputs are
    then `settings.share()` times its outputs, and the rest those of the nets.

    Parameters
    ----------
    settings : TrainingSettings
    targets : Targets
    n_hashes, code_bits : int
        The codes of a row for each net, and the bits of a code.
    seed : int
        The seed of the initial weights, and of the count-sketch if there is a reduction.
    n_bins : int, default=0
        The columns that an additive model learns from; 0 for none.
    initialize : bool, default=True
        Whether initial weights are drawn; else they are zero until `load` sets them.

    Attributes
    ----------
    cores : list of _core.Net
        The nets, and the additive model behind them.
    predicts_with : {"last", "recent", "average"}
        The weights that predict.
    packed : PackedNet or None
        What predicts in their place until the next step: these weights in fewer bits.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        targets: Targets,
        *,
        n_hashes: int,
        code_bits: int,
        seed: int,
        n_bins: int = 0,
        initialize: bool = True,
    ) -> None:
        self.settings, self.targets = settings, targets
        self.n_hashes, self.code_bits, self.seed, self.n_bins = n_hashes, code_bits, seed, n_bins
        reduction = reduction_factor(1 if settings.reduction is None else settings.reduction, code_bits)
        _require_table_memory(settings, targets, n_hashes, code_bits, reduction, initialize=initialize)
        self.cores = [
            _core.Net(
                n_hashes,
                code_bits,
                settings.layers(),
                targets.n_outputs,
                reduction=int(reduction),
                seed=one,
                initialize=initialize,
            )
            for one in member_seeds(seed, settings.members())
        ]
        if n_bins:
            n_outputs = targets.n_outputs
            self.cores.append(_core.Net(n_bins, BIN_BITS, (), n_outputs, seed=seed, scale=0.0, initialize=initialize))
        self.predicts_with = LAST
        self.packed: PackedNet | None = None
        self._averaged: tuple[Any, list[_core.Net]] = (None, [])

    def description(self) -> dict[str, int]:
        """Return what the net was made with beside settings and targets."""
        made = {"n_hashes": self.n_hashes, "code_bits": self.code_bits, "seed": self.seed}
        return made | {"n_bins": self.n_bins} if self.n_bins else made

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"made_with": (self.settings, self.targets), "description": self.description()}
        state |= {"weights": _copies(self.weights()), "optimizer": _copies(self.optimizer_state())}
        if self.averaging is not None:
            averages, rows = self.averages_state()
            state["averages"] = _copies(averages), rows
        return state | {"predicts_with": self.predicts_with, "packed": self.packed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["made_with"], **state["description"], initialize=False)  # type: ignore[misc]
        self.load(state["weights"], state["optimizer"])
        if "averages" in state:
            self.load_averages(*state["averages"])
        self.predicts_with, self.packed = state["predicts_with"], state["packed"]

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
        self.packed = None
        with np.errstate(over="ignore"):  # what becomes infinite is refused by the native core
            row_weights = None if weight is None else np.ascontiguousarray(weight, dtype=np.float32)

        def step(core: _core.Net, own: NDArray[Any], threads: int) -> tuple[NDArray[Any], NDArray[Any]]:
            losses, successes = np.empty(len(rates)), np.empty((len(rates), *target.shape[1:]))
            outputs = np.empty((len(own), self.targets.n_outputs), dtype=np.float32)
            try:
                core.train(
                    own,
                    _as_core_targets(target),
                    weights=row_weights,
                    batch_size=batch_size,
                    rates=rates * RATE_OF_ADDITIVE if self.n_bins and core is self.cores[-1] else rates,
                    losses=losses,
                    successes=successes,
                    outputs=outputs,
                    loss=self.targets.loss,
                    betas=self.settings.betas,
                    weight_decay=self.settings.decay(),
                    lazy=self.settings.optimizer == "lazy",
                    n_threads=threads,
                )
            except FloatingPointError as error:
                raise diverged(rates[0]) from error
            return losses, outputs

        found = self._each(step, codes, n_jobs)
        if len(found) == 1:
            return found[0]
        outputs = self._combined([outputs for _, outputs in found])
        losses = self.targets.losses(outputs, target)
        return np.add.reduceat(losses, np.arange(0, len(losses), batch_size)), outputs

    def outputs(self, codes: NDArray[Any], *, n_jobs: int, weights: str | None = None) -> NDArray[np.float32]:
        """Return the outputs for codes, by the given weights or by what predicts."""
        if weights is None and self.packed is not None:
            return self.packed.outputs(codes, n_jobs=n_jobs)
        return self._combined(self.outputs_of_cores(codes, n_jobs=n_jobs, weights=weights))

    def outputs_of_cores(
        self, codes: NDArray[Any], *, n_jobs: int, weights: str | None = None
    ) -> list[NDArray[np.float32]]:
        """Return the outputs of each net, and of the additive model behind them."""
        which = self.predicts_with if weights is None else weights
        key = (self.n_steps, which)
        few = 2 * codes.size < sum(core.n_table_rows for core in self.cores)  # fewer rows of tables than all of them
        if which == LAST or (few and self._averaged[0] != key):
            more = {} if which == LAST else {"weights": which}
            return self._each(lambda core, own, threads: core.outputs(own, n_threads=threads, **more), codes, n_jobs)
        cores = self.predicting_cores(which, n_jobs)
        return self._each(lambda core, own, threads: core.outputs(own, n_threads=threads), codes, n_jobs, cores)

    def _combined(self, outputs: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the mean outputs of the nets, mixed with those of the additive model."""
        n = self.settings.members()
        return (
            mixed(mean_outputs(outputs[:n]), outputs[n], self.settings.share())
            if self.n_bins
            else mean_outputs(outputs)
        )

    def scored(
        self, codes: NDArray[Any], target: NDArray[Any], weights: Sequence[str], *, n_jobs: int
    ) -> tuple[list[NDArray[np.float32]], list[list[float]]]:
        """Return the outputs for codes by each of several weights, and the losses of their rows."""
        if len(self.cores) > 1:
            outputs = [self.outputs(codes, n_jobs=n_jobs, weights=name) for name in weights]
            return outputs, [self._row_losses(found, target) for found in outputs]
        found, losses = self.cores[0].score(
            np.ascontiguousarray(codes),
            _as_core_targets(target),
            weights=weights,
            loss=self.targets.loss,
            temperature=self.targets.temperature,
            n_threads=n_jobs,
        )
        n = len(codes)
        return [found[first : first + n] for first in range(0, len(found), n)], list(map(_bounded, losses.tolist()))

    def _row_losses(self, outputs: NDArray[np.float32], target: NDArray[Any]) -> list[float]:
        """Return the loss of each row, the same bits on every machine; infinite ones as large numbers."""
        if self.targets.temperature != 1:
            outputs = outputs / np.float32(self.targets.temperature)
        return _bounded(_core.row_losses(outputs, _as_core_targets(target), self.targets.loss)[:, 0].tolist())

    def _each(
        self,
        task: Callable[[_core.Net, NDArray[Any], int], Result],
        codes: NDArray[Any],
        n_jobs: int,
        cores: Sequence[_core.Net] | None = None,
    ) -> list[Result]:
        """Return what each core makes of its codes with some threads; several threads share several cores."""
        cores = self.cores if cores is None else cores
        if len(cores) == 1:
            return [task(cores[0], np.ascontiguousarray(codes), n_jobs)]
        parts = self.codes_of_cores(codes)
        if n_jobs == 1 or len(codes) == 1:
            return [task(core, own, 1) for core, own in zip(cores, parts, strict=True)]
        with ThreadPoolExecutor(min(n_jobs, len(cores))) as threads:
            return list(threads.map(task, cores, parts, [1] * len(cores)))

    def codes_of_cores(self, codes: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the codes of each core."""
        ends = np.cumsum([core.n_hashes for core in self.cores])
        return [np.ascontiguousarray(own) for own in np.split(codes, ends[:-1], axis=1)]

    def predicting_cores(self, weights: str | None = None, n_jobs: int = 1) -> list[_core.Net]:
        """Return the cores with the weights that predict; means are kept until there has been another step."""
        which = self.predicts_with if weights is None else weights
        if which == LAST:
            return self.cores
        key = (self.n_steps, which)
        if self._averaged[0] != key:
            self._averaged = key, [core.averaged(n_threads=n_jobs, weights=which) for core in self.cores]
        return self._averaged[1]

    def pack(self, weights: str | None = None, *, n_jobs: int = 1) -> PackedNet:
        """Return what only predicts, by the weights that predict: of the table the rows that training has changed.

        Without a type of weights it is all rows in float32, so that the outputs are the same for any codes.
        """
        if self.packed is not None and weights in (None, self.packed.kind):
            return self.packed
        if weights is not None:
            check_choice("weights", weights, WEIGHTS)
        self.require_finite()
        members = []
        for number, (core, predicting) in enumerate(zip(self.cores, self.predicting_cores(n_jobs=n_jobs), strict=True)):
            changed = np.ones(core.n_table_rows, dtype=bool) if weights is None else core.changed_rows(n_jobs)
            kind = weights if weights and number < self.settings.members() else "float32"
            members.append(packed_arrays(predicting.weights(), changed, kind))
        return PackedNet(self.settings, self.targets, **self.description(), arrays=joined(members))

    def drop_additive(self) -> None:
        """Drop the additive model, whose codes are then expected no more."""
        self.cores = self.cores[: self.settings.members()]
        self.n_bins, self.packed, self._averaged = 0, None, (None, [])

    def weights(self) -> Arrays:
        """Return views of all weights, by their names in `gcwsnet.nn.GCWSNet`; they may change with the next step."""
        return joined([core.weights() for core in self.cores])

    def predicting_weights(self) -> Arrays:
        """Return views of the weights that predict; see `pack` for what may predict in their place."""
        return joined([core.weights() for core in self.predicting_cores()])

    def optimizer_state(self) -> Arrays:
        """Return the moments that the optimizer has, and its number of steps."""
        return joined([_optimizer_state(core) for core in self.cores])

    def load(self, weights: Arrays, optimizer: Arrays | None = None) -> None:
        """Take weights and the optimizer's state, which must be whole; without a state the optimizer keeps its own."""
        self._averaged, self.packed = (None, []), None
        for number, core in enumerate(self.cores):
            _fill(core.weights(), self._of_core(number, weights))
            state = self._of_core(number, optimizer or {})
            if state:
                core.n_steps = int(state["n_steps"][0])
            for moments in ("second_moments", "first_moments"):
                kept = starting_with(f"{moments}.", state)
                if kept:
                    _fill(getattr(core, moments)(), kept)

    def _of_core(self, number: int, arrays: Arrays) -> Arrays:
        return arrays if len(self.cores) == 1 else starting_with(f"{number}.", arrays)

    def is_finite(self) -> bool:
        """Return whether no weight is infinite or NaN."""
        return all(bool(np.isfinite(weights).all()) for weights in self.weights().values())

    def require_finite(self) -> None:
        """Raise a ValueError if a weight is infinite or NaN: such a net is not a model."""
        if not self.is_finite():
            raise ValueError(
                "the weights of the net are not finite any more: the training diverges; use a smaller learning_rate, "
                "or smaller weights of rows"
            )

    @property
    def n_steps(self) -> int:
        """The steps that all cores have taken; after an error in `train` it counts those before the error."""
        return min(core.n_steps for core in self.cores)

    @property
    def averaging(self) -> str | None:
        """The mean of the weights that is kept, "recent" or "average"; None for none."""
        core = self.cores[0]
        return RECENT if core.has_recent_mean else AVERAGE if core.is_averaging else None

    def start_averaging(self, rows_seen: int, mean: str = AVERAGE) -> None:
        """Average the weights from here on in one of two ways, and predict with that.

        Parameters
        ----------
        rows_seen : int
            The rows learned so far. For "average" the weights as they are count as the mean over the second half of
            them.
        mean : {"average", "recent"}, default="average"
            Over the last half of the rows, or somewhat more; or over recent rows.
        """
        for core in self.cores:
            table = core.weights()[TABLE]
            require_memory(
                (1 if mean == RECENT else 2) * table.nbytes,
                f"averages of a table of {table.shape[0]} rows and {table.shape[1]} columns",
                "use a reduction, fewer bits or fewer hashes",
            )
        self.stop_averaging()
        for core in self.cores:
            core.rows_seen = rows_seen
            if mean == RECENT:
                core.start_recent_mean(1 - 1 / RECENT_ROWS)
            else:
                core.start_averaging()
        self.predicts_with = mean

    def stop_averaging(self) -> None:
        """Forget the averages: predict with the last weights."""
        for core in self.cores:
            core.stop_averaging()
        self._averaged, self.predicts_with = (None, []), LAST

    def averages_state(self) -> tuple[Arrays, list[int]]:
        """Return the averages and the numbers of rows that belong to them, the same for all cores."""
        if self.averaging == RECENT:
            states = [{f"recent.{name}": value for name, value in core.recent_mean().items()} for core in self.cores]
            return joined(states), [0, 0, 0, 0, self.cores[0].rows_seen]
        states = [dict(core.averages()) for core in self.cores]
        return joined(states), [*self.cores[0].averaging_rows, self.cores[0].rows_seen]

    def load_averages(self, arrays: Arrays, rows: list[int]) -> None:
        """Take averages back."""
        start, older, newer, origin, clock = rows
        is_recent = any("recent." in name for name in arrays)
        Net.start_averaging(self, clock, RECENT if is_recent else AVERAGE)
        for number, core in enumerate(self.cores):
            own = self._of_core(number, arrays)
            if is_recent:
                _fill(core.recent_mean(), starting_with("recent.", own))
            else:
                core.averaging_rows = start, older, newer, origin
                _fill(core.averages(), own)

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more output in front of output number `place`, for targets that have one more."""
        for core in self.cores:
            core.insert_output(place)
        self.targets, self._averaged, self.packed = targets, (None, []), None


def make_net(
    settings: TrainingSettings,
    targets: Targets,
    *,
    n_hashes: int,
    code_bits: int,
    seed: int,
    n_bins: int = 0,
    device: str = "cpu",
    initialize: bool = True,
) -> Net:
    """Return a net that has learned nothing; on a device other than "cpu" torch takes its steps."""
    made = {"n_hashes": n_hashes, "code_bits": code_bits, "seed": seed}
    if device == "cpu":
        return Net(settings, targets, **made, n_bins=n_bins, initialize=initialize)
    if n_bins:
        raise ValueError(
            f"the additive model must learn on device='cpu', got device={device!r}; give additive=0, or device='cpu'"
        )
    try:
        from gcwsnet.net._torch_net import TorchNet  # noqa: PLC0415 - torch need not be installed
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"device={device!r} needs torch, which is not installed; pip install 'gcwsnet[torch]', or use device='cpu'"
        ) from error
    return TorchNet(settings, targets, **made, device=device, initialize=initialize)


def net_from_state(arrays: Arrays, description: dict[str, Any], *, device: str = "cpu") -> Net | PackedNet:
    """Return the net of a trainer whose state this is: one that only predicts, unless there is a state of training."""
    targets = Targets.from_state(arrays, description["targets"])
    settings = TrainingSettings.from_state(description["settings"])
    own = starting_with("net.", arrays)
    if "run" not in description:
        return PackedNet(settings, targets, **description["net"], arrays=own)
    net = make_net(settings, targets, **description["net"], device=device, initialize=False)
    net.load(own, starting_with("optimizer.", arrays))
    if "averages" in description:
        net.load_averages(starting_with("averages.", arrays), description["averages"])
        net.predicts_with = description["predicts_with"]
    if description["packed"] is not None:
        net.packed = net.pack(description["packed"])
    return net


def diverged(rate: float) -> ValueError:
    """Return the error for a loss that is not finite."""
    return ValueError(
        "the loss of a batch is not finite any more: the training diverges; use a smaller learning_rate, now about "
        f"{rate:g}, or smaller weights"
    )


def _require_table_memory(
    settings: TrainingSettings, targets: Targets, n_hashes: int, code_bits: int, reduction: int, *, initialize: bool
) -> None:
    """Raise an error if the tables of weights and of Adam's moments are too large."""
    n_rows = -(-(n_hashes << code_bits) // reduction)
    if n_rows > 2**31:
        raise ValueError(
            f"the table of the first layer must have at most 2**31 rows, got {n_rows} with n_hashes={n_hashes}, codes "
            f"of {code_bits} bits and reduction={settings.reduction!r}; give reduction='8bit', or fewer bits"
        )
    n_columns = (*settings.layers(), targets.n_outputs)[0]
    has_first_moments = initialize and settings.betas[0] != 0
    tables = settings.members() * (3 if has_first_moments else 2)
    require_memory(
        4 * tables * n_rows * n_columns,
        f"{tables} tables of {n_rows} rows and {n_columns} columns, for weights and the moments of Adam,",
        "use a reduction, fewer bits, fewer hashes or a smaller ensemble"
        + (", or betas=(0.0, 0.999)" if has_first_moments else ""),
    )


def _optimizer_state(core: _core.Net) -> Arrays:
    state: Arrays = {"n_steps": np.array([core.n_steps])}
    if core.has_second_moments:
        state |= {f"second_moments.{name}": value for name, value in core.second_moments().items()}
    if core.has_first_moments:
        state |= {f"first_moments.{name}": value for name, value in core.first_moments().items()}
    return state


def mean_outputs(outputs: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean, summed in the order of the cores in float64."""
    if len(outputs) == 1:
        return outputs[0]
    total = outputs[0].astype(np.float64)
    for one in outputs[1:]:
        total += one
    return (total / len(outputs)).astype(np.float32)


def _bounded(losses: list[float]) -> list[float]:
    return [loss if loss < MAX_LOSS else MAX_LOSS for loss in losses]  # NaN is not below it


def _as_core_targets(target: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(target, dtype=np.int64 if target.ndim == 1 else np.float32)


def _fill(views: Arrays, arrays: Arrays) -> None:
    """Copy arrays into views of the same names and shapes."""
    if views.keys() != arrays.keys():
        raise KeyError(f"arrays {sorted(arrays)} for a net with {sorted(views)}")
    for name, view in views.items():
        if view.shape != arrays[name].shape:
            raise IndexError(f"{name} of shape {arrays[name].shape} for a net where it is {view.shape}")
        view[...] = arrays[name]


def _copies(arrays: Arrays) -> Arrays:
    return {name: value.copy() for name, value in arrays.items()}
