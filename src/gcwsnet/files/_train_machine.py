"""A kernel machine from files to the folder of a model: all rows at once, with a score on held-out rows before."""

from __future__ import annotations

from typing import Any

from gcwsnet._atomic import locked, remove_left_overs
from gcwsnet._paths import require_separate
from gcwsnet.estimators._model_file import FILE_IN_FOLDER, save_model
from gcwsnet.estimators._pgmm import (
    KernelMachine,
    KernelMachineParameters,
    PGMMClassifier,
    PGMMRegressor,
    check_number_of_rows,
)
from gcwsnet.files._learn import NO_ROWS, dense_where_possible, find_targets, known_labels
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, in_memory, split
from gcwsnet.files._sources import find_sources
from gcwsnet.files._train import (
    CHECKPOINT,
    HOLDOUT,
    RUN,
    SCORE,
    WRITTEN,
    TrainingObserver,
    TrainingOptions,
    TrainingResult,
    score_of,
)
from gcwsnet.net._targets import Labels
from gcwsnet.tables._batch import joined, weighted
from gcwsnet.tables._encode import Survey


def train_machine(options: TrainingOptions, observer: TrainingObserver) -> TrainingResult:
    """Fit a kernel machine to files, and write it into its folder; of `params` those count that it has."""
    _parameters(options)
    sources = find_sources(options.files)
    if not all(one.reusable for one in sources):
        raise ValueError("a kernel machine needs all rows at once, and a stream is read once; put the rows into a file")
    rejects = options.reading.get("rejects")
    require_separate(
        [one.name for one in sources], [] if rejects is None else [rejects], folder=options.out, written=WRITTEN
    )
    options.out.mkdir(parents=True, exist_ok=True)
    with locked(options.out):
        if (options.out / CHECKPOINT).exists() and not options.restart:
            raise ValueError(
                f"{options.out / CHECKPOINT} is of a run that did not finish; drop it with --restart, or give another "
                "folder"
            )
        remove_left_overs(options.out)
        batches = read(options.files if len(options.files) > 1 else options.files[0], **options.reading)
        survey = batches.survey()
        rows = in_memory(batches, survey.n_weighted)
        score = _score(rows, survey, options, observer)
        machine = _fitted(rows, survey, options)
        save_model(machine, options.out / FILE_IN_FOLDER, timings=False, more={} if score is None else {SCORE: score})
        for name in (RUN, CHECKPOINT):  # of an older model
            (options.out / name).unlink(missing_ok=True)
    return TrainingResult(machine, batches.skipped, batches.reasons, score)


def _score(
    rows: Batches, survey: Survey, options: TrainingOptions, observer: TrainingObserver
) -> dict[str, Any] | None:
    """Return the metrics of held-out rows for a machine that learns from the others; None if the rows are too few."""
    fraction = HOLDOUT if options.holdout is None else options.holdout
    training, held_out = split(rows, fraction, options.seed)
    n_rows = sum(batch.n_rows for batch in training) if fraction else 0
    if n_rows in (0, survey.n_weighted):
        return None
    observer.hold_out(n_rows, survey.n_weighted - n_rows, 1)
    machine = _fitted(training, survey, options)
    score, some = score_of(machine, held_out, survey.n_weighted - n_rows, options)
    score |= {"rows_learned": n_rows}
    observer.scored(score, machine, some)
    return score


def _parameters(options: TrainingOptions) -> dict[str, Any]:
    """Return the parameters of a kernel machine, once they have been checked."""
    params = {
        name: options.params[name] for name in KernelMachineParameters.__dataclass_fields__ & options.params.keys()
    }
    PGMMRegressor(**params)._freeze_parameters()
    return params


def _fitted(batches: Batches, survey: Survey, options: TrainingOptions) -> KernelMachine:
    found = [*weighted(batches, batches.batch_rows)]
    if not found:
        raise ValueError(NO_ROWS)
    rows, schema = dense_where_possible(joined(found), batches.schema)
    _, targets = find_targets(rows.y, survey, options.task)
    machine: Any = (PGMMClassifier if isinstance(targets, Labels) else PGMMRegressor)(**_parameters(options))
    check_number_of_rows(type(machine).__name__, rows.n_rows)
    machine._fit_rows(rows._replace(y=known_labels(rows.y, targets)), targets, schema)
    return machine
