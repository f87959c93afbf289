"""Readers that give the rows of files in batches, and training, hashing and prediction with them."""

from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, shuffle, split
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._encode import Survey
from gcwsnet.tables._errors import DataError
from gcwsnet.tables._schema import Column, Schema

__all__ = ["Batch", "Batches", "Column", "DataError", "Schema", "Survey", "read", "shuffle", "split"]
