"""Daily and Sports Activities as UCI publishes it: a01/p1/s01.txt to a19/p8/s60.txt, 125 lines of 45 numbers each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._damage import WAY_OUT
from gcwsnet.datasets._layouts import read_table

TIMES, SENSORS = 125, 45
DESCR = (
    "Motion sensors in 19 activities, UCI Daily and Sports Activities: each row is a segment of 125 times 45 sensors, "
    "time by time. Labels are the published numbers of activities minus 1; a random half for training."
)


def segments(n_activities: int, n_subjects: int, n_segments: int) -> tuple[str, ...]:
    """Names of the files: activity by activity, and in each subject by subject."""
    return tuple(
        f"a{activity:02}/p{subject}/s{segment:02}.txt"
        for activity in range(1, n_activities + 1)
        for subject in range(1, n_subjects + 1)
        for segment in range(1, n_segments + 1)
    )


def read_dailysports(sources: Sequence[Source]) -> tuple[Array, Array]:
    """A row for each file, and its activity: that of the name minus 1."""
    X = np.empty((len(sources), TIMES * SENSORS), dtype=np.float32)
    for row, source in zip(X, sources, strict=True):
        segment = read_table(source, SENSORS, delimiter=",")
        if len(segment) != TIMES:
            raise ValueError(f"{source.place} must have {TIMES} lines, got {len(segment)}; {WAY_OUT}")
        row[:] = segment.ravel()
    return X, np.array([int(source.name[1:3]) - 1 for source in sources])
