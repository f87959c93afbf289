"""The parameters of the classifier and of the regressor: checked, and kept as they were when the model was fitted."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from gcwsnet._validation import check_integer, check_number
from gcwsnet.coding import CoderSettings
from gcwsnet.data import Schema
from gcwsnet.estimators._fitted_model import FittedNet
from gcwsnet.estimators._model_format import READ_WHEN_USED
from gcwsnet.estimators._table_model import frozen
from gcwsnet.training import Targets, TrainingSettings
from gcwsnet.training._history import Record, record_fractions

CODER_SETTINGS = tuple(CoderSettings.__dataclass_fields__)
TRAINING_SETTINGS = tuple(TrainingSettings.__dataclass_fields__)
MAY_CHANGE_WITH_WARM_START = frozenset(
    {
        *("epochs", "batch_size", "learning_rate", "schedule", "class_weight", "average", "shuffle", "records"),
        *("early_stopping", "patience", "validation_fraction", "warm_start"),
    }
)

Callback = Callable[[Any, Record], Any]


class Beginning(NamedTuple):
    """What a fit begins with, before there is a coder."""

    targets: Targets
    settings: CoderSettings
    schema: Schema | None
    seed: int


class NetParameters(FittedNet):
    """The parameters of nets on codes."""

    def __init__(
        self,
        n_hashes: int = 256,
        *,
        bits: int = 8,
        t_bits: int | Literal["all"] = "all",
        p: float | Literal["auto"] = "auto",
        scale: str | None = "auto",
        relevance: float | Literal["auto"] = "auto",
        search: str = "fast",
        hidden: int | Sequence[int] | Literal["auto"] = "auto",
        ensemble: int | Literal["auto"] = "auto",
        reduction: int | Literal["8bit"] | None = None,
        epochs: int | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        schedule: str = "linear",
        optimizer: str = "lazy",
        betas: tuple[float, float] = (0.0, 0.999),
        weight_decay: float = 0.0,
        average: bool = True,
        encoding: str = "mixed",
        missing: str = "auto",
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
        self.relevance = relevance
        self.search = search
        self.hidden = hidden
        self.ensemble = ensemble
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

    def _freeze_parameters(self, *, continued: bool = False) -> tuple[CoderSettings, TrainingSettings]:
        """Check the parameters and keep them for the model that is fitted next; return what coder and trainer need.

        If a fitted model is continued, what its codes and its net follow from must not have changed.
        """
        settings = self._check_parameters()
        params = {name: frozen(value) for name, value in self.get_params(deep=False).items()}
        params["hidden"] = _layers(self.hidden)
        params = {name: params[name] for name in params if name not in READ_WHEN_USED} | {"device": str(self.device)}
        for name in sorted(params.keys() - MAY_CHANGE_WITH_WARM_START) if continued else ():
            if params[name] != self._fitted_params[name]:
                raise ValueError(
                    f"{name} must stay {self._fitted_params[name]!r} while warm_start=True continues the fitted model, "
                    f"got {name}={params[name]!r}; use warm_start=False to fit a new one"
                )
        self._fitted_params = params
        return settings

    def _check_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        """Return the settings of coder and trainer, once all parameters have been checked."""
        if hasattr(self.scale, "transform"):
            raise TypeError(
                f"scale must be the name of a preprocessing or None, got the transformer {self.scale!r}; put it before "
                f"the model: make_pipeline({type(self.scale).__name__}(...), {type(self).__name__}(scale=None))"
            )
        coder = CoderSettings(**{name: frozen(getattr(self, name)) for name in CODER_SETTINGS})
        given = {name: frozen(getattr(self, name)) for name in TRAINING_SETTINGS}
        trainer = TrainingSettings(**given | {"hidden": _layers(self.hidden)})
        coder.check()
        trainer.check()
        record_fractions(self.records)
        check_integer("patience", self.patience, 1, 2**31)
        check_number("validation_fraction", self.validation_fraction, 0.0, 1.0)
        if not self.early_stopping:
            self._check_unused("patience", "validation_fraction", why="early_stopping is False")
        return coder, trainer

    def _check_unused(self, *names: str, why: str) -> None:
        """Raise a ValueError for parameters that were given and have no effect."""
        defaults = inspect.signature(type(self)).parameters
        for name in names:
            value = getattr(self, name)
            if value != defaults[name].default:
                raise ValueError(f"{name}={value!r} has no effect, since {why}; leave {name} out")

    def _training_settings(self) -> TrainingSettings:
        return TrainingSettings(**{name: self._fitted_params[name] for name in TRAINING_SETTINGS})


def _layers(hidden: Any) -> Any:
    """Return the units of the hidden layers as a tuple; one number is one layer."""
    if isinstance(hidden, numbers.Integral) and not isinstance(hidden, bool):
        return (int(hidden),)
    return frozen(hidden)
