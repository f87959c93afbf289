"""Work that takes turns with its caller, so that a long search can be spread over many short calls."""

from __future__ import annotations

import copy
import math
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet.estimators._progress import describe_event, logger, show_selection
from gcwsnet.net._history import record_fractions
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Plan
from gcwsnet.tables._batch import Batch, joined
from gcwsnet.tables._coder import Coder, CoderSettings, rows_at_once
from gcwsnet.tables._scaling import CONSTANT, ColumnScaling
from gcwsnet.tables._schema import Schema
from gcwsnet.tables._watch import ColumnVersion, ColumnWatch, SparseWatch

if TYPE_CHECKING:
    from gcwsnet.estimators._base import BaseGCWSNet


class Beginning(NamedTuple):
    """What a fit begins with, before there is a coder."""

    targets: Targets
    settings: CoderSettings
    schema: Schema | None
    seed: int


Result = TypeVar("Result")


class _Abandoned(BaseException):
    """Raised in work that nobody waits for any more."""


class _Turns:
    """The two ends of a hand-over: whose turn it is, and whether the work was abandoned."""

    def __init__(self) -> None:
        self.worker, self.caller = threading.Semaphore(0), threading.Semaphore(0)
        self.is_abandoned = False

    def pause(self) -> None:
        """Give the turn back to the caller, and wait for the next one; called by the work."""
        self.caller.release()
        self.worker.acquire()
        if self.is_abandoned:
            raise _Abandoned

    def abandon(self) -> None:
        self.is_abandoned = True
        self.worker.release()


def _end(turns: _Turns, thread: threading.Thread) -> None:
    """Abandon work, and wait a moment until its thread has given back what it had."""
    turns.abandon()
    if thread is not threading.current_thread():
        thread.join(timeout=1.0)


class InTurns(Generic[Result]):
    """Work on a thread of its own that only runs while its caller waits for it.

    So its steps come in one order, whatever the machine, and nothing is shared between threads at the same time. Work
    that nobody waits for any more ends when this object is dropped.

    Parameters
    ----------
    work : callable
        Called with a function `pause`, which it is to call after each bounded part of it. It must not refer to this
        object, nor to what does: that would never be dropped.

    Attributes
    ----------
    n_turns : int
        The turns taken.
    is_done : bool
    """

    def __init__(self, work: Callable[[Callable[[], None]], Result]) -> None:
        self.n_turns, self.is_done = 0, False
        self._turns = turns = _Turns()
        self._outcome: list[Result | BaseException] = []
        outcome = self._outcome

        def run() -> None:
            turns.worker.acquire()
            try:
                if not turns.is_abandoned:
                    outcome.append(work(turns.pause))
            except _Abandoned:
                return
            except BaseException as error:
                outcome.append(error)
            turns.caller.release()

        self._thread = threading.Thread(target=run, name="gcwsnet search", daemon=True)
        self._thread.start()
        weakref.finalize(self, _end, turns, self._thread)

    def advance(self, n_turns: int) -> bool:
        """Let the work have turns; True once it is done. An error in it is raised here."""
        for _ in range(n_turns):
            if self.is_done:
                break
            self._turns.worker.release()
            self._turns.caller.acquire()
            self.n_turns += 1
            self.is_done = bool(self._outcome)
        if self.is_done and isinstance(self._outcome[0], BaseException):
            raise self._outcome[0]
        return self.is_done

    @property
    def result(self) -> Result:
        """What the work returned, once it is done."""
        found = self._outcome[0]
        if isinstance(found, BaseException):
            raise found
        return found


WARM_UP_ROWS = 2600


@dataclass(frozen=True)
class WarmUpBuffer:
    """A buffer that keeps rows until there are enough; whenever they have doubled, the model is fitted again.

    So a stream of single rows ends with a preprocessing learned from thousands, and a row is learned from three times
    on average at most.

    Attributes
    ----------
    capacity : int
        The rows that are enough.
    parts : tuple of Batch
        The rows so far.
    n_used : int
        How many of them the model has been fitted to.
    """

    capacity: int
    parts: tuple[Batch, ...] = ()
    n_used: int = 0

    def add(self, rows: Batch) -> tuple[WarmUpBuffer, Batch | None]:
        """Return the buffer with a copy of more rows; and all its rows, if it is time to fit the model again."""
        if self.parts and sparse.issparse(rows.X) != sparse.issparse(self.parts[0].X):
            return self, None  # dense rows in a sparse stream, or sparse ones in a dense one, do not change the model
        parts = (*self.parts, Batch(*(None if part is None else part.copy() for part in rows)))
        n = sum(part.n_rows for part in parts)
        if n < min(2 * self.n_used, self.capacity):
            return replace(self, parts=parts), None
        together = joined(replace(self, parts=parts).with_weights())
        return replace(self, parts=(together,), n_used=n), together

    def with_weights(self) -> tuple[Batch, ...]:
        """Return the parts, all of them with weights if one has some."""
        if all(part.weight is None for part in self.parts):
            return self.parts
        return tuple(
            part if part.weight is not None else part._replace(weight=np.ones(part.n_rows)) for part in self.parts
        )

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows."""
        return self.n_used >= self.capacity


TURNS_PER_ROW = 2

"""Turns of a search for each row of a call: a turn is 256 rows of a small net, or a part of the work for its codes."""

ROWS_LEARNED_AGAIN_PER_ROW = 64

FIRST_SEARCH, NEXT_SEARCH = 200, 4

"""The rows of the first search, and by which factor they grow until the next one."""

ROWS_LEARNED_AGAIN = 128

"""Up to this number of rows all are learned again when their preprocessing is."""

Search = Callable[[Batch, Callable[[], None]], Coder]


@dataclass
class Stream:
    """The state of a stream between two calls.

    Attributes
    ----------
    capacity : int
        The first rows that a preprocessing is learned from; 0 if it is never searched for again.
    buffer : WarmUpBuffer or None
        The first rows, while they are few.
    searched : int
        The rows of the last search.
    waiting : Batch or None
        Rows that a search is to be done on, or is being done on.
    turns : int
        The turns that this search has had.
    again : Batch or None
        Rows that are to be learned again, as their codes have changed.
    watch : ColumnWatch, SparseWatch or None
        Of the columns, once there are enough rows.
    """

    capacity: int
    buffer: WarmUpBuffer | None = None
    searched: int = 0
    waiting: Batch | None = None
    turns: int = 0
    again: Batch | None = None
    watch: ColumnWatch | SparseWatch | None = None
    _search: InTurns[Coder] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_search": None}  # a copy does the turns of the search again

    @property
    def is_busy(self) -> bool:
        """Whether there is more to do than to learn and to watch."""
        return self.buffer is not None or self.waiting is not None or self.again is not None

    def is_search_due(self, n_rows: int) -> bool:
        """Return whether it is time for a search, with this number of first rows."""
        return n_rows >= FIRST_SEARCH and (n_rows >= NEXT_SEARCH * self.searched or n_rows >= self.capacity)

    def search(self, rows: Batch) -> None:
        """Let a search begin on rows, unless another one is going on."""
        if self.waiting is None:
            self.waiting, self.turns, self._search, self.searched = rows, 0, None, rows.n_rows

    def advance(self, n_rows: int, search: Search) -> Coder | None:
        """Give the search the turns of `n_rows` rows; return its coder once it is done."""
        rows = self.waiting
        if rows is None:
            return None
        if self._search is None:
            self._search = InTurns(lambda pause: search(rows, pause))
            self._search.advance(self.turns)
        done = self._search.advance(TURNS_PER_ROW * n_rows)
        self.turns = self._search.n_turns
        if not done:
            return None
        coder = self._search.result
        self.waiting, self._search = None, None
        return coder

    def rows_before(self, n_rows: int) -> Batch | None:
        """Return the rows of the buffer without the last `n_rows`, which are learned next; None if there are none."""
        if self.buffer is None or not self.buffer.parts:
            return None
        together = joined(self.buffer.with_weights())
        return together.rows(0, together.n_rows - n_rows) if together.n_rows > n_rows else None

    def next_again(self, n_rows: int) -> Batch | None:
        """Return the rows that are learned again beside `n_rows` new ones."""
        if self.again is None:
            return None
        most = ROWS_LEARNED_AGAIN_PER_ROW * n_rows
        part, rest = self.again.rows(0, most), self.again.rows(most, self.again.n_rows)
        self.again = rest if rest.n_rows else None
        return part

    def finish(self, coder: Coder) -> None:
        """Forget the first rows, and watch the columns from here on, if they are scaled."""
        assert self.buffer is not None  # noqa: S101
        X = joined(self.buffer.with_weights()).X
        self.buffer = None
        self.watch_rows(X, coder)

    def watch_rows(self, X: Any, coder: Coder) -> None:
        """Watch the columns of a stream that began with X, if they are scaled one by one; of a table the numbers."""
        scaling, numbers = coder.preprocessing.scaling, coder.preprocessing.numbers_of(X)
        kind = getattr(scaling, "kind", None)
        if sparse.issparse(numbers) and isinstance(scaling, ColumnScaling):
            self.watch = SparseWatch.of(numbers, scaling)
        elif kind is not None:
            self.watch = ColumnWatch.of(numbers, kind == CONSTANT)

    def look_at(self, X: Any, coder: Coder) -> Coder | None:
        """Watch rows; return the coder with a new version if one is due."""
        if self.watch is None:
            return None
        numbers = coder.preprocessing.numbers_of(X)
        if sparse.issparse(numbers) != isinstance(self.watch, SparseWatch) or not self.watch.is_full_with(numbers):
            return None
        before = ColumnVersion.first(numbers.shape[1]) if coder.version is None else coder.version
        version = self.watch.look(before)
        if version is None:
            return None
        live = np.count_nonzero(~self.watch.constant) + X.shape[1] - numbers.shape[1]
        if self.capacity and np.count_nonzero(before.awake) < live + 1 <= np.count_nonzero(version.awake):
            self.buffer = WarmUpBuffer(self.capacity, n_used=ROWS_LEARNED_AGAIN)
            self.searched, self.watch = 0, None
        return replace(coder, version=version)


def is_same_point(one: Coder, other: Coder) -> bool:
    """Return whether two coders differ in statistics of columns alone."""
    return (
        one.p == other.p
        and one.preprocessing.recipe == other.preprocessing.recipe
        and one.preprocessing.n_columns == other.preprocessing.n_columns
    )


def warm_up(estimator: BaseGCWSNet, rows: Batch, beginning: Beginning | None = None) -> None:
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


def learn(estimator: BaseGCWSNet, rows: Batch, target: NDArray[Any] | None) -> None:
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


def _stream_of(estimator: BaseGCWSNet) -> Stream:
    assert estimator._stream is not None  # noqa: S101
    return estimator._stream


def _detached_search(estimator: BaseGCWSNet, beginning: Beginning | None) -> Search:
    """Return a search that does not keep the estimator alive: it may be dropped before the search ends."""
    detached = copy.copy(estimator)
    detached._stream = Stream(0)
    return lambda first, pause: _fitted_coder(detached, first, beginning, pause)


def _fitted_coder(
    estimator: BaseGCWSNet, rows: Batch, beginning: Beginning | None, pause: Callable[[], None] | None = None
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
    estimator: BaseGCWSNet, coder: Coder, beginning: Beginning | None, n_rows: int, *, learned_again: bool
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
