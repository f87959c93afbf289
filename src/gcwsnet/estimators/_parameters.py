"""The parameters of the classifier and of the regressor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from gcwsnet._validation import check_choice, check_integer, check_number, check_power
from gcwsnet.estimators._history import Record, check_records
from gcwsnet.estimators._learner import OPTIMIZERS, SCHEDULES
from gcwsnet.estimators._scaling import KINDS

Callback = Callable[[Any, Record], Any]
MISSING = ("error", "zero", "mean")
SCALES = ("auto", *KINDS)
READ_WHEN_USED = frozenset({"callbacks", "verbose", "n_jobs"})
"""Parameters that change no model: they are read whenever they are needed, and are not part of a model file."""
MAY_CHANGE_WITH_WARM_START = frozenset(
    {
        *("epochs", "batch_size", "learning_rate", "schedule", "class_weight", "average", "shuffle", "records"),
        *("early_stopping", "patience", "validation_fraction", "warm_start"),
    }
)


class Settings(Mapping[str, Any]):
    """An immutable copy of the parameters that a model was fitted with; each is an attribute as well as a key.

    Parameters
    ----------
    parameters : mapping
        Lists and dicts are copied, so that the caller may change them later.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        vars(self).update({name: _frozen(value) for name, value in parameters.items()})

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def __getattr__(self, name: str) -> Any:  # for the type checker: known names never come here
        raise AttributeError(f"there is no setting {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings of a fitted model cannot be changed, got {name}={value!r}; fit again")


def _frozen(value: Any) -> Any:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(value)
    return dict(value) if isinstance(value, Mapping) else value


class Parameters(BaseEstimator):
    """The constructor of both estimators, and the checks that `fit` makes of its parameters.

    `fit` freezes the parameters as `_settings`, which everything after it reads: changing a parameter of a fitted model
    changes nothing until the next `fit`.
    """

    _settings: Settings

    def __init__(
        self,
        n_hashes: int = 256,
        *,
        bits: int = 8,
        t_bits: int | Literal["all"] = "all",
        p: float | Literal["auto"] = "auto",
        scale: str | None = "auto",
        hidden: Sequence[int] = (200,),
        reduction: int | Literal["8bit"] | None = None,
        epochs: int | Literal["auto"] = "auto",
        batch_size: int = 32,
        learning_rate: float | Literal["auto"] = "auto",
        schedule: str = "linear",
        optimizer: str = "lazy",
        betas: tuple[float, float] = (0.0, 0.999),
        weight_decay: float = 0.0,
        average: bool = True,
        encoding: str = "mixed",
        missing: str = "error",
        shuffle: bool = True,
        records: int | Sequence[float] = 10,
        early_stopping: bool = False,
        patience: int = 5,
        validation_fraction: float = 0.1,
        callbacks: Sequence[Callback] | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = "cpu",
    ) -> None:
        self.n_hashes = n_hashes
        self.bits = bits
        self.t_bits = t_bits
        self.p = p
        self.scale = scale
        self.hidden = hidden
        self.reduction = reduction
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.optimizer = optimizer
        self.betas = betas
        self.weight_decay = weight_decay
        self.average = average
        self.encoding = encoding
        self.missing = missing
        self.shuffle = shuffle
        self.records = records
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    def _freeze_parameters(self) -> None:
        """Check the parameters and keep them as the settings of the model that is fitted next."""
        self._check_parameters()
        parameters = self.get_params(deep=False) | {"device": str(self.device)}
        self._settings = Settings({name: parameters[name] for name in parameters if name not in READ_WHEN_USED})

    def _freeze_parameters_of_warm_start(self) -> None:
        """Do the same for a `fit` that continues: what the codes and the net follow from must not have changed."""
        before = self._settings
        self._freeze_parameters()
        for name in sorted(before.keys() - MAY_CHANGE_WITH_WARM_START):
            if before[name] != self._settings[name]:
                raise ValueError(
                    f"{name} must stay {before[name]!r} while warm_start=True continues the fitted model, "
                    f"got {name}={self._settings[name]!r}; use warm_start=False to fit a new one"
                )

    def _check_parameters(self) -> None:
        """Check what neither the hasher nor the net checks."""
        if self.epochs != "auto":
            check_integer("epochs", self.epochs, 1, 2**31)
        check_integer("batch_size", self.batch_size, 1, 2**24)
        if self.learning_rate != "auto":
            check_number("learning_rate", self.learning_rate, 1e-12, 1e3)
        check_choice("schedule", self.schedule, list(SCHEDULES))
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_records(self.records)
        check_choice("missing", self.missing, MISSING)
        check_integer("patience", self.patience, 1, 2**31)
        check_number("validation_fraction", self.validation_fraction, 0.0, 1.0)
        if not self.early_stopping:
            self._check_unused("patience", "validation_fraction", why="early_stopping is False")
        if self.p != "auto":
            check_power(self.p)
        if hasattr(self.scale, "transform"):
            raise TypeError(
                f"scale must be None or one of {', '.join(map(repr, SCALES))}, got the transformer {self.scale!r}; put "
                "it before the model: "
                f"make_pipeline({type(self.scale).__name__}(...), {type(self).__name__}(scale=None))"
            )
        if self.scale is not None:
            check_choice("scale", self.scale, SCALES)

    def _check_unused(self, *names: str, why: str) -> None:
        """Raise a ValueError for parameters that were given and have no effect."""
        defaults = inspect.signature(type(self)).parameters
        for name in names:
            value = getattr(self, name)
            if value != defaults[name].default:
                raise ValueError(f"{name}={value!r} has no effect, since {why}; leave {name} out")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
