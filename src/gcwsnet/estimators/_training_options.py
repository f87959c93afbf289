"""The options of a training run on files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gcwsnet.coding import CoderSettings
from gcwsnet.training import TrainingSettings


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training run.

    Attributes
    ----------
    files, tests : list of str
    out : Path
        The folder of the model.
    reading : dict
        Settings of `gcwsnet.data.read`.
    coder : CoderSettings
    training : TrainingSettings
    has_schedule : bool
        Whether a schedule that is not constant was asked for, which a stream cannot have.
    task : str
    classes : list of str or None
        All labels that a stream can have.
    seed : int
    shuffle_rows : int or None
        The rows of the shuffle buffer; 0 keeps the order of the files. None is 65,536 for files, and 0 for a stream,
        which is followed in its order.
    records : int or None
        Records in an epoch; None for ten with test files, and else one.
    checkpoint_rows : int
        Rows from one checkpoint to the next; 0 for none.
    resume, restart : bool
        Whether an unfinished run in the same folder is resumed or thrown away.
    n_jobs : int or None
    """

    files: list[str]
    tests: list[str]
    out: Path
    reading: dict[str, Any]
    coder: CoderSettings
    training: TrainingSettings
    has_schedule: bool
    task: str
    classes: list[str] | None
    seed: int
    shuffle_rows: int | None
    records: int | None
    checkpoint_rows: int
    resume: bool
    restart: bool
    n_jobs: int | None

    def check_for_stream(self) -> None:
        """Raise an error for an option that one pass over a stream cannot have."""
        if self.checkpoint_rows or self.resume:
            raise ValueError(
                "a stream can be read only once, so its run cannot be resumed; leave out --checkpoint-every and "
                "--resume"
            )
        if self.training.epochs not in ("auto", 1):
            raise ValueError("a stream can be read only once, so --epochs must be 1; put the rows into a file for more")
        if self.has_schedule:
            raise ValueError(
                "the end of a stream is not known, so the learning rate stays constant; leave out --schedule"
            )
        if self.records is not None:
            raise ValueError("the end of a stream is not known, so it has no parts to record; leave out --records")
        if self.classes is not None and self.task == "regression":
            raise ValueError("a regression has no classes; leave --classes out, or use --task classification")
