"""sEMG for Basic Hand movements as UCI publishes it: MATLAB files with one matrix for each movement and channel."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from scipy.io import loadmat, whosmat

from gcwsnet._validation import check_finite
from gcwsnet.datasets._archives import MOST_BYTES, Source
from gcwsnet.datasets._bunch import Array, as_rows
from gcwsnet.datasets._damage import WAY_OUT, whole

MOVEMENTS = ("cyl", "hook", "tip", "palm", "spher", "lat")
CHANNELS = ("ch1", "ch2")
MATRICES = tuple(f"{movement}_{channel}" for movement in MOVEMENTS for channel in CHANNELS)
PEOPLE = tuple(f"Database 1/{person}.mat" for person in ("female_1", "female_2", "female_3", "male_1", "male_2"))
DAYS = tuple(f"Database 2/male_day_{day}.mat" for day in (1, 2, 3))

DESCR = (
    "Muscle signals of 6 hand movements (cyl, hook, tip, palm, spher, lat), UCI sEMG for Basic Hand Movements, "
    "database 2: one person on 3 days, 100 trials for each movement, 5 seconds at 500 Hz. Each of the two channels is "
    "a row, which makes the 3,600 rows of the paper; a random half for training."
)
DESCR_1 = (
    "Muscle signals of 6 hand movements (cyl, hook, tip, palm, spher, lat), UCI sEMG for Basic Hand Movements, "
    "database 1: 5 people, 30 trials for each movement, 6 seconds at 500 Hz. Each of the two channels is a row; a "
    "random half for training. The paper has database 2 only."
)
DESCR_DIFFERENCE = (
    "Muscle signals of 6 hand movements, derived from UCI sEMG for Basic Hand Movements, database 2: one row for each "
    "trial, channel 1 minus channel 2; a random half for training. The paper takes both channels as 3,600 rows: data "
    "of the same kind, not the same data."
)


def read_semg(sources: Sequence[Source]) -> tuple[Array, Array]:
    """A row for each trial and channel, and the movement, from 0 to 5: file by file, movement by movement."""
    rows, movements = [], []
    for source in sources:
        found = _matrices(source)
        for name in MATRICES:
            rows.append(found[name])
            movements.append(np.full(len(found[name]), MOVEMENTS.index(name.split("_")[0])))
            if found[name].shape[1] != rows[0].shape[1]:
                raise ValueError(
                    f"{name} of {source.place} must have {rows[0].shape[1]} columns as all others, got "
                    f"{found[name].shape[1]}; {WAY_OUT}"
                )
    return np.concatenate(rows), np.concatenate(movements)


def _matrices(source: Source) -> dict[str, Array]:
    """The twelve matrices of a file; their types and sizes are known to be right before they are read."""
    with whole(source.place), source.open() as stream:
        content = stream.read()
        there = {name: (shape, kind) for name, shape, kind in whosmat(BytesIO(content))}
    for name in MATRICES:
        if name not in there:
            raise ValueError(f"{source.place} must have the matrix {name}; it has {', '.join(there) or 'nothing'}")
        shape, kind = there[name]
        if kind not in ("double", "single") or len(shape) != 2 or 8 * shape[0] * shape[1] > MOST_BYTES:
            raise ValueError(f"{name} of {source.place} must be a matrix of numbers, got {kind} of shape {shape}")
    with whole(source.place):
        read = loadmat(BytesIO(content), variable_names=MATRICES)
    for name in MATRICES:
        if read[name].dtype.kind != "f":
            raise ValueError(f"{name} of {source.place} must hold real numbers, got the type {read[name].dtype}")
        read[name] = as_rows(read[name])
        check_finite(read[name], name=f"{source.place}: {name}")
    return {name: read[name] for name in MATRICES}
