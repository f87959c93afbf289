"""Covertype as UCI publishes it: covtype.data.gz, one line of 55 integers for each place in the forest."""

from __future__ import annotations

from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._layouts import labels_of, read_table

DESCR = (
    "Forest cover of 7 types, UCI Covertype: columns 0 to 9 are numeric, columns 10 to 53 are binary. Labels are the "
    "published ones minus 1; a random half for training."
)


def read_covtype(source: Source) -> tuple[Array, Array]:
    """All rows and their labels, those of the file minus 1."""
    table = read_table(source, 55, delimiter=",")
    return table[:, :54], labels_of(table[:, 54], source) - 1
