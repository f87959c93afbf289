"""Learning a coder from some of the rows of files.

Only the settings of hashing matter, so that `gcwsnet hash` and `gcwsnet train` learn the same, whatever net is trained
afterwards. Where scaling and p are to be chosen, small nets choose, which needs torch.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.data import Batch, Batches, Survey
from gcwsnet.data._batch import joined
from gcwsnet.estimators._scaling import learn_scaling
from gcwsnet.estimators._target_arrays import check_numbers, mean_and_size
from gcwsnet.streaming._coder import Coder, filled
from gcwsnet.streaming._task import as_labels, classes_of, find_task

MOST_ROWS, MOST_BYTES = 20_000, 1 << 26
"""The most rows and bytes that a coder is learned from."""


def learn_coder(
    batches: Batches, survey: Survey, settings: dict[str, Any], task: str, seed: int, n_jobs: int | None
) -> Coder:
    """Learn the coder of files whose rows were surveyed."""
    rows = sample(batches, survey.n_rows, seed)
    if survey.label_type is None:
        return learned(rows, None, None, None, survey.n_rows, settings, seed, n_jobs)
    task = find_task(task, survey.label_type, survey.labels)
    classes = classes_of(survey) if task == "classification" else None
    return learned(rows, task, survey.label_type, classes, survey.n_rows, settings, seed, n_jobs)


def learned(
    rows: Batch,
    task: str | None,
    label_type: str | None,
    classes: NDArray[Any] | None,
    n_rows: int | None,
    settings: dict[str, Any],
    seed: int,
    n_jobs: int | None,
) -> Coder:
    """Learn the coder of some rows whose task is known."""
    rows = rows._replace(X=filled(rows.X, settings["missing"]))
    y = None if rows.y is None else as_labels(rows.y, label_type)
    mean, size = mean_and_size(check_numbers(y)) if task == "regression" else (None, None)
    scale, p = settings["scale"], settings["p"]
    selection: list[dict[str, Any]] = []
    if "auto" in (scale, p) and y is not None and is_torch_there():
        scale, p, selection = _chosen(Batch(rows.X, y, rows.weight), classes, settings, seed, n_jobs)
    scale = "numeric" if scale == "auto" else scale
    return Coder(
        settings=settings,
        seed=seed,
        n_features=rows.X.shape[1],
        scaling=None if scale is None else learn_scaling(rows.X, scale),
        p=1.0 if p == "auto" else float(p),
        selection=selection,
        task=task,
        label_type=label_type,
        n_rows=n_rows,
        classes=classes,
        mean=mean,
        size=size,
        n_jobs=n_jobs,
    )


def is_torch_there() -> bool:
    """Tell whether torch is installed, so that nets can be trained."""
    try:
        import gcwsnet.nn  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _chosen(
    rows: Batch, classes: NDArray[Any] | None, settings: dict[str, Any], seed: int, n_jobs: int | None
) -> tuple[str | None, float, list[dict[str, Any]]]:
    """Return scaling, p and the candidates, by an estimator with these settings and otherwise its defaults."""
    import torch  # noqa: PLC0415

    from gcwsnet.estimators import GCWSNetClassifier, GCWSNetRegressor  # noqa: PLC0415
    from gcwsnet.estimators._rows import Rows  # noqa: PLC0415
    from gcwsnet.estimators._targets import Labels  # noqa: PLC0415

    make: Any = GCWSNetRegressor if classes is None else GCWSNetClassifier
    estimator = make(random_state=seed, n_jobs=n_jobs, **settings)
    estimator._freeze_parameters()
    estimator.seed_, estimator.n_features_in_ = seed, rows.X.shape[1]
    targets = estimator._targets_of(rows.y) if classes is None else Labels(classes)
    weight = None if rows.weight is None else torch.from_numpy(rows.weight.astype(np.float32))
    estimator._make_coder(Rows(rows.X, rows.y, weight), targets)
    candidates = [asdict(replace(one, seconds=0.0)) for one in estimator.selection_]
    return getattr(estimator.scaling_, "scale", None), estimator.p_, candidates


def sample(batches: Batches, n_rows: int, seed: int) -> Batch:
    """Return rows drawn at random, in their order: at most 20,000, and not more than 64 million bytes."""
    chosen: list[Batch] = []
    numbers: NDArray[np.int64] | None = None
    first = 0
    for batch in batches:
        if numbers is None:
            n = max(1, min(n_rows, MOST_ROWS, MOST_BYTES // max(1, bytes_of_a_row(batch))))
            numbers = np.sort(np.random.default_rng([seed, 8]).choice(n_rows, n, replace=False))
        here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + batch.n_rows)]
        if len(here):
            chosen.append(batch.take(here - first))
        first += batch.n_rows
        if first > numbers[-1]:
            break
    if not chosen:
        raise ValueError("there are no rows to learn from")
    return joined(chosen)


def bytes_of_a_row(batch: Batch) -> int:
    """Return the mean bytes of a row."""
    X = batch.X
    n_bytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return n_bytes // max(batch.n_rows, 1)
