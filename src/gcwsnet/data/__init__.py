"""Streams of batches from files, standard input and arrays, in memory that does not grow with their size."""

from typing import TYPE_CHECKING

from gcwsnet._lazy import load_when_used

if TYPE_CHECKING:
    from gcwsnet.data._batch import Batch
    from gcwsnet.data._batches import Batches, shuffle, split
    from gcwsnet.data._errors import DataError
    from gcwsnet.data._read import read
    from gcwsnet.data._schema import Column, Schema
    from gcwsnet.data._survey import Survey

__all__ = ["Batch", "Batches", "Column", "DataError", "Schema", "Survey", "read", "shuffle", "split"]
__getattr__ = load_when_used(
    __name__,
    {
        "Batch": "_batch",
        **dict.fromkeys(("Batches", "shuffle", "split"), "_batches"),
        "DataError": "_errors",
        "read": "_read",
        **dict.fromkeys(("Column", "Schema"), "_schema"),
        "Survey": "_survey",
    },
)
