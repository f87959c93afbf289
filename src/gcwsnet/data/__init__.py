"""Streams of batches from files, standard input and arrays, in memory that does not grow with their size."""

from gcwsnet.data._batch import Batch
from gcwsnet.data._batches import Batches
from gcwsnet.data._errors import DataError
from gcwsnet.data._layout import Column, Layout
from gcwsnet.data._read import read
from gcwsnet.data._shuffle import shuffle
from gcwsnet.data._split import split
from gcwsnet.data._survey import Survey

__all__ = ["Batch", "Batches", "Column", "DataError", "Layout", "Survey", "read", "shuffle", "split"]
