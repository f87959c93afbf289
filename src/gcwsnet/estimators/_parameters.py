"""The parameters of the classifier and of the regressor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gcwsnet._validation import check_choice, check_integer, check_number, check_power
from gcwsnet.estimators._history import Record, check_checkpoints
from gcwsnet.estimators._learner import OPTIMIZERS, SCHEDULES
from gcwsnet.estimators._scaling import KINDS

Callback = Callable[[Any, Record], Any]


class Parameters(BaseEstimator):
    """What both are told, kept as scikit-learn wants it and checked before anything is learned."""

    def __init__(
        self,
        n_hashes: int = 256,
        bits: int = 8,
        t_bits: int | Literal["all"] = "all",
        p: float | Literal["auto"] = "auto",
        scale: Any = "auto",
        hidden: Sequence[int] = (200,),
        reduction: int | Literal["8bit"] | None = None,
        epochs: int | Literal["auto"] = "auto",
        batch_size: int = 32,
        learning_rate: float | Literal["auto"] = "auto",
        *,
        schedule: str = "linear",
        optimizer: str = "lazy",
        betas: tuple[float, float] = (0.0, 0.999),
        weight_decay: float = 0.0,
        average: bool = True,
        oversample: int = 1,
        encoding: str = "mixed",
        missing: str = "error",
        shuffle: bool = True,
        cache: bool = False,
        checkpoints: int | Sequence[float] = 10,
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
        self.oversample = oversample
        self.encoding = encoding
        self.missing = missing
        self.shuffle = shuffle
        self.cache = cache
        self.checkpoints = checkpoints
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    def _check_parameters(self) -> None:
        """Those that neither the hasher nor the net checks."""
        if self.epochs != "auto":
            check_integer("epochs", self.epochs, 1, 2**31)
        check_integer("batch_size", self.batch_size, 1, 2**24)
        if self.learning_rate != "auto":
            check_number("learning_rate", self.learning_rate, 1e-12, 1e3)
        check_integer("oversample", self.oversample, 1, 2**10)
        check_choice("schedule", self.schedule, list(SCHEDULES))
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_checkpoints(self.checkpoints)
        check_integer("patience", self.patience, 1, 2**31)
        check_number("validation_fraction", self.validation_fraction, 0.0, 1.0)
        if self.p != "auto":
            check_power(self.p)
        if isinstance(self.scale, str):
            check_choice("scale", self.scale, ("auto", *KINDS))
        elif self.scale is not None:
            if not hasattr(self.scale, "transform"):
                raise TypeError(f"scale must be None, one of {KINDS} or a fitted transformer, got scale={self.scale!r}")
            check_is_fitted(self.scale)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "zero"
        return tags
