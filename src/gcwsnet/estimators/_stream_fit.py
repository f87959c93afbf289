"""How a stream is learned, call by call: its preprocessing from its first rows, and then its rows in their order."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._threads import n_threads
from gcwsnet.coding import Coder
from gcwsnet.coding._coder import rows_at_once
from gcwsnet.data import Batch
from gcwsnet.estimators._parameters import Beginning
from gcwsnet.estimators._progress import describe_event, logger, show_selection
from gcwsnet.estimators._stream import ROWS_LEARNED_AGAIN, Search, Stream, is_same_point
from gcwsnet.training import Plan
from gcwsnet.training._history import record_fractions

if TYPE_CHECKING:
    from gcwsnet.estimators._base import GCWSNetEstimator


def warm_up(estimator: GCWSNetEstimator, rows: Batch, beginning: Beginning | None = None) -> None:
    """Choose a preprocessing by the first rows of a stream, in turns with learning; see `Stream`."""
    stream = _stream_of(estimator)
    n_before = 0 if stream.buffer is None else stream.buffer.n_used
    together = None
    if stream.buffer is not None and not stream.buffer.is_full:
        stream.buffer, together = stream.buffer.add(rows)
    if together is not None and estimator._is_searched() and stream.is_search_due(together.n_rows):
        stream.search(together)
    found = None if stream.waiting is None else stream.advance(rows.n_rows, _detached_search(estimator, beginning))
    if found is None and together is not None and (beginning is not None or stream.waiting is None):
        found = _fitted_coder(estimator, together, beginning)
    if found is not None:
        _take_coder(estimator, found, beginning, rows.n_rows, learned_again=n_before <= ROWS_LEARNED_AGAIN)
    again = stream.next_again(rows.n_rows)
    if again is not None:
        threads = n_threads(estimator.n_jobs)
        estimator.trainer_.relearn(estimator._encoded(again, threads), n_jobs=threads)
    full = stream.buffer is not None and stream.buffer.is_full
    if full and stream.waiting is None and stream.again is None:
        stream.finish(estimator.coder_)


def learn(estimator: GCWSNetEstimator, rows: Batch, target: NDArray[Any] | None) -> None:
    """Learn from rows of a stream in their order; their encoded targets may be known."""
    if estimator._stream is not None:
        coder = estimator._stream.look_at(rows.X, estimator.coder_)
        if coder is not None:
            estimator._use_version(coder)
    if estimator.callbacks or estimator.verbose or rows.n_rows > rows_at_once(rows.X):
        fractions = record_fractions(estimator._fitted_params["records"])
        plan = Plan(1, rows.n_rows, scheduled=False, fractions=fractions, follows=True)
        estimator._run(plan, rows, shuffle=False)
        return
    threads = 1 if estimator.n_jobs is None and rows.n_rows == 1 else n_threads(estimator.n_jobs)
    for event in estimator.trainer_.follow_quietly(estimator._encoded(rows, threads, target), n_jobs=threads):
        logger.debug("%s", describe_event(event))


def _stream_of(estimator: GCWSNetEstimator) -> Stream:
    assert estimator._stream is not None  # noqa: S101
    return estimator._stream


def _detached_search(estimator: GCWSNetEstimator, beginning: Beginning | None) -> Search:
    """Return a search that does not keep the estimator alive: it may be dropped before the search ends."""
    detached = copy.copy(estimator)
    detached._stream = Stream(0)
    return lambda first, pause: _fitted_coder(detached, first, beginning, pause)


def _fitted_coder(
    estimator: GCWSNetEstimator, rows: Batch, beginning: Beginning | None, pause: Callable[[], None] | None = None
) -> Coder:
    """Return the coder of first rows of a stream: with `pause` by a search, else with what was chosen so far."""
    if beginning is None:
        coder = estimator.coder_
        start = Beginning(estimator.trainer_.targets, coder.settings, coder.schema, coder.seed)
        recipe = coder.preprocessing.recipe
        chosen = replace(coder.settings, scale=recipe.scale, relevance=recipe.relevance, p=coder.p, search="off")
    else:
        start, chosen = beginning, replace(beginning.settings, search="off")
    asked = chosen if pause is None else start.settings
    training = estimator._training_settings().for_rows(math.inf)
    made = estimator._fit_coder(rows, start._replace(settings=asked), training, pause=pause)
    made = replace(made, settings=start.settings)
    return replace(made, selection=estimator.coder_.selection) if beginning is None and pause is None else made


def _take_coder(
    estimator: GCWSNetEstimator, coder: Coder, beginning: Beginning | None, n_rows: int, *, learned_again: bool
) -> None:
    """Use another coder; rows that it changes much are learned again, but for the `n_rows` that come next."""
    stream = _stream_of(estimator)
    if coder.selection and (beginning is not None or coder.selection != estimator.coder_.selection):
        show_selection(estimator.verbose, list(coder.selection))
    if beginning is not None:
        estimator.coder_ = coder
        settings = estimator._training_settings().for_rows(math.inf)
        estimator._use(estimator._new_trainer(settings, beginning.targets))
        return
    changed = not is_same_point(estimator.coder_, coder)
    estimator.coder_ = coder
    estimator._note("preprocessing", scale=coder.scale, p=coder.p, chosen_again=changed)
    if changed or learned_again:
        stream.again = stream.rows_before(n_rows)
    together = stream.buffer.parts if stream.buffer is not None else ()
    if together:
        y = np.concatenate([part.y for part in together if part.y is not None])
        trainer = estimator.trainer_
        trainer.net.targets = estimator._targets_with(trainer.targets, y)
        trainer.start_run()
        estimator._use(trainer)
