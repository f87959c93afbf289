"""Errors that leave an estimator as it was."""

from __future__ import annotations

from typing import Any


class UnchangedUnlessItLearns:
    """A context after whose errors the estimator is as it was, with the net that it had, if that has learned no row.

    A net with weights that are not finite is dropped: what it had learned before is lost.
    """

    def __init__(self, estimator: Any) -> None:
        self._now: dict[str, Any] = estimator.__dict__

    def __enter__(self) -> None:
        self._before = dict(self._now)
        trainer, stream = self._before.get("trainer_"), self._before.get("_stream")
        self._stream = {} if stream is None else stream.__getstate__()
        self._trained = (None, None) if trainer is None else (trainer.rows_seen, trainer.settings)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            return
        now, before = self._now, self._before
        rows_seen, settings = self._trained
        trainer, stream, current = before.get("trainer_"), before.get("_stream"), now.get("trainer_")
        finite = current is None or current.net.is_finite()
        if current is None or not finite or current.rows_seen == (rows_seen if current is trainer else 0):
            now.clear()
            now.update(before)
            if stream is not None:
                vars(stream).update(self._stream)
            if trainer is not None:
                trainer.net.settings = settings
            if current is trainer and not finite:
                now.pop("trainer_")
