"""The settings of a training, and the learning rate that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import check_choice, check_integer, check_number

RATE_OF_FEW_STEPS, RATE_OF_MANY_STEPS, RATE_WITHOUT_HIDDEN_LAYERS = 7e-3, 3e-3, 1e-2

FEW_STEPS = 3000

HASHES_OF_THE_RATE_OF_A_STREAM = 64

EPOCHS, THOROUGH_EPOCHS, EPOCHS_OF_A_LARGE_NET = (5, 3, 1), (20, 8, 3, 1), 8

MAX_ROWS_OF_ALL_EPOCHS = 160_000

MEMBERS_FOR_FEW_ROWS, FEW_ROWS = 4, 10_000

LAYERS_OF_A_MEMBER, LAYERS_OF_ONE_NET = (48,), (200,)

LAYERS_FOR_FEW_OUTPUTS, FEW_OUTPUTS = (64,), 2

BATCH, BATCH_OF_MANY_ROWS, MANY_ROWS = 32, 128, 200_000

BATCH_OF_A_STREAM, DECAY_OF_A_STREAM = 4, 1e-3

OPTIMIZERS = ("lazy", "adam")

Floats = NDArray[np.float64]


SCHEDULES: dict[str, Callable[[Floats], Floats]] = {
    "constant": np.ones_like,
    "linear": lambda done: 1.0 - done,
}
"""The factor of the learning rate when a share of all rows is done."""


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingParameters:
    """The parameters of nets and their training, with their defaults; `GCWSNetClassifier` describes them."""

    hidden: int | Sequence[int] | Literal["auto"] = "auto"
    ensemble: int | Literal["auto"] = "auto"
    reduction: int | Literal["8bit"] | None = None
    epochs: int | Literal["auto"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    schedule: str = "linear"
    optimizer: str = "lazy"
    betas: tuple[float, float] = (0.0, 0.999)
    weight_decay: float | Literal["auto"] = "auto"
    additive: float | Literal["auto"] = "auto"


@dataclass(kw_only=True)
class TrainingSettings(TrainingParameters):
    """What was asked of a net and its training when it was fitted; `hidden` is a tuple or "auto"."""

    def check(self) -> None:
        """Raise an error for a setting that makes no sense."""
        if self.epochs != "auto":
            check_integer("epochs", self.epochs, 1, 2**31)
        if self.batch_size != "auto":
            check_integer("batch_size", self.batch_size, 1, 2**24)
        if self.learning_rate != "auto":
            check_number("learning_rate", self.learning_rate, 1e-12, 1e3)
        if self.ensemble != "auto":
            check_integer("ensemble", self.ensemble, 1, 1024)
        if not isinstance(self.hidden, tuple) and self.hidden != "auto":
            raise TypeError(f"hidden must be an integer, a sequence of integers or 'auto', got hidden={self.hidden!r}")
        for units in self.hidden if isinstance(self.hidden, tuple) else ():
            check_integer("hidden", units, 1, 2**31 - 1)
        check_choice("schedule", self.schedule, list(SCHEDULES))
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, got betas={self.betas!r}")
        for beta in self.betas:
            check_number("betas", beta, 0.0, math.nextafter(1.0, 0.0))
        if self.weight_decay != "auto":
            check_number("weight_decay", self.weight_decay, 0.0, 1e6)
        if self.additive != "auto":
            check_number("additive", self.additive, 0.0, 1.0)

    def for_rows(self, n_rows: float, n_outputs: float = math.inf) -> TrainingSettings:
        """Return the settings with the nets and the weight decay that suit `n_rows` rows; infinity for a stream.

        Where rows are few, four small nets are better than a large one of about the same size. A net with one or two
        outputs is as accurate with few hidden units, and learns in half the time. An additive model may help it, but
        not larger nets. Weights of a stream would grow on and on without decay.
        """
        ensemble, hidden, decay, additive = self.ensemble, self.hidden, self.weight_decay, self.additive
        if additive == "auto" and (hidden != "auto" or n_outputs > FEW_OUTPUTS or not FEW_ROWS < n_rows < math.inf):
            additive = 0.0
        if ensemble == "auto":
            ensemble = MEMBERS_FOR_FEW_ROWS if hidden == "auto" and n_rows <= FEW_ROWS else 1
        if hidden == "auto":
            of_one = LAYERS_OF_ONE_NET if n_outputs > FEW_OUTPUTS else LAYERS_FOR_FEW_OUTPUTS
            hidden = of_one if ensemble == 1 else LAYERS_OF_A_MEMBER
        if decay == "auto":
            decay = DECAY_OF_A_STREAM if n_rows == math.inf else 0.0
        return replace(self, ensemble=ensemble, hidden=hidden, weight_decay=decay, additive=additive)

    def for_comparison(self) -> TrainingSettings:
        """Return the settings of a net that is compared with others: no larger than a net of an ensemble."""
        return replace(self, additive=0.0, hidden=tuple(min(units, *LAYERS_OF_A_MEMBER) for units in self.layers()))

    def layers(self) -> tuple[int, ...]:
        """Return the hidden layers of each net, which must be known."""
        if not isinstance(self.hidden, tuple):
            raise TypeError("hidden='auto' has no layers before the number of rows is known")
        return self.hidden

    def members(self) -> int:
        """Return the number of nets, which must be known."""
        return 1 if self.ensemble == "auto" else int(self.ensemble)

    def decay(self) -> float:
        """Return the weight decay, which is 0 unless it is known."""
        return 0.0 if self.weight_decay == "auto" else float(self.weight_decay)

    def share(self) -> float:
        """Return the share of the additive model in the outputs, which is 0 unless it is known."""
        return 0.0 if self.additive == "auto" else float(self.additive)

    def epochs_to_compare(self, n_rows: int, *, thorough: bool = False) -> tuple[int, ...]:
        """Return the numbers of epochs that a search compares, the preferred one first; the given one if there is one.

        The layers must be known.

        Only a thorough search compares several. More than one pass is for at most 160,000 rows, all epochs together. A
        large net that has more than 10,000 rows to learn from needs more of them.
        """
        if self.epochs != "auto":
            return (int(self.epochs),)
        if thorough:
            return THOROUGH_EPOCHS
        is_large = n_rows > FEW_ROWS and max(self.layers(), default=0) > max(LAYERS_FOR_FEW_OUTPUTS)
        possible = (EPOCHS_OF_A_LARGE_NET, *EPOCHS) if is_large else EPOCHS
        return (next(epochs for epochs in possible if epochs == 1 or epochs * n_rows <= MAX_ROWS_OF_ALL_EPOCHS),)

    def n_epochs(self, n_rows: int) -> int:
        """Return how often `n_rows` rows are learned from where nothing is searched for."""
        return self.epochs_to_compare(n_rows)[0]

    def rows_of_a_step(self, n_rows: float) -> int:
        """Return the rows of a step of a run over `n_rows` rows, all epochs together; infinity for a stream.

        Larger batches are faster. They cost accuracy where there are few steps, and none where there are many. Rows of
        a stream are learned once, and averaged weights smooth what small steps make rough.
        """
        if self.batch_size == "auto":
            if n_rows == math.inf:
                return BATCH_OF_A_STREAM
            return BATCH_OF_MANY_ROWS if n_rows >= MANY_ROWS else BATCH
        return int(self.batch_size)

    def rate(self, n_steps: float = math.inf, n_hashes: int = 256) -> float:
        """Return the learning rate that a run of `n_steps` steps begins with."""
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        if not self.hidden:
            return RATE_WITHOUT_HIDDEN_LAYERS
        rate = RATE_OF_FEW_STEPS if n_steps <= FEW_STEPS else RATE_OF_MANY_STEPS
        return rate * math.sqrt(256 / n_hashes) if n_hashes > 256 else rate

    def rate_of_a_stream(self, n_hashes: int) -> float:
        """Return the learning rate of a stream, which is constant; steps on single rows bear less with more hashes."""
        rate = self.rate()
        few = self.learning_rate != "auto" or not self.hidden or n_hashes <= HASHES_OF_THE_RATE_OF_A_STREAM
        return rate if few else rate * math.sqrt(HASHES_OF_THE_RATE_OF_A_STREAM / n_hashes)

    def state(self) -> dict[str, Any]:
        """Return the settings as JSON can hold them, without the share of an additive model that is not there."""
        state = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return state if self.share() else {name: value for name, value in state.items() if name != "additive"}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TrainingSettings:
        """Return the settings of a state."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in state.items()
        }
        return cls(**{"additive": 0.0} | given)
