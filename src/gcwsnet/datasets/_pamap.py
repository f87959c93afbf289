"""PAMAP2 as UCI publishes it: subject101.dat, lines of 54 numbers, a hundred for each second."""

from __future__ import annotations

import numpy as np

from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._layouts import labels_of, read_table

ACTIVITIES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 24)
"""Numbers of activities in PAMAP2, 0 for what is between two activities."""

FIRST_SENSOR = 3
"""Before it are the time, the activity and the heart rate."""

DESCR = (
    "Motion sensors in everyday activities, UCI PAMAP2, subject 101, all 376,417 lines of the protocol file: the 51 "
    "columns of the three inertial sensors (hand, chest, ankle), without time and heart rate. Labels are the published "
    "numbers of activities, with 0 for what is between two. Readings that are missing (NaN) are 0. A random half for "
    "training. The paper gives the same numbers of rows and columns, and 20 classes; PAMAP2 has 19 numbers of "
    "activities, and subject 101 has not all of them."
)


def read_pamap(source: Source) -> tuple[Array, Array]:
    """All rows and the numbers of their activities; what is missing is 0, an entry that is not there."""
    table = read_table(source, 54, missing=True)
    return np.nan_to_num(table[:, FIRST_SENSOR:]), labels_of(table[:, 1], source)
