"""LIBSVM files: `label index:value index:value ...`, one row to a line, parsed by the native core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gcwsnet import _core
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT, MAX_COLUMNS, MAX_EXACT
from gcwsnet.files._reader import Reader
from gcwsnet.files._sources import LineBlock, line_blocks
from gcwsnet.tables._batch import Batch, canonical_csr
from gcwsnet.tables._columns import is_inexact_text, labels_of_texts
from gcwsnet.tables._encode import Learner
from gcwsnet.tables._errors import MISSING_HINT, DataError, ErrorHandler, InvalidRows, check_batch, quote
from gcwsnet.tables._schema import Schema

Fault = _core.LibsvmFault

NATIVE_MISSING = {"error": _core.Missing.ERROR, "zero": _core.Missing.ZERO, "nan": _core.Missing.NAN}


class LibsvmReader(Reader):
    """A reader of LIBSVM files."""

    def start_schema(self) -> Schema:
        """Return the schema if width and index base are known, and otherwise the widest that there may be.

        The head of a stream may tell the index base.
        """
        n_features, base = self.options.n_features, self.options.index_base
        if n_features is not None and base == "auto" and not self.reusable:
            head = self.sources[0].head()
            lines = head[: head.rfind(b"\n") + 1] or head
            columns = _core.parse_libsvm(lines, 0, 0, MAX_COLUMNS, _core.Missing.NAN, False)[2]
            base = 0 if len(columns) and columns.min() == 0 else 1
        if isinstance(base, str):
            return Schema(MAX_COLUMNS, self.options.missing_rule, index_base=0)
        return Schema(n_features or MAX_COLUMNS, self.options.missing_rule, index_base=base)

    def is_open(self, schema: Schema) -> bool:
        """Return whether the width or the index base is unknown."""
        is_given = self.options.n_features is not None and self.options.index_base != "auto"
        return schema.n_features == MAX_COLUMNS and not is_given

    def finished_schema(self, learner: Learner) -> Schema:
        """Return the schema with the width and the index base: as in scikit-learn, the base is 1 if no index is 0."""
        start = learner.start
        if not self.is_open(start):
            return start
        base = start.index_base or 0
        if self.options.index_base == "auto" and learner.min_index is not None:
            base = min(1, learner.min_index)
        width = max(1, learner.max_index + 1 - base + (start.index_base or 0))
        return replace(start, n_features=self.options.n_features or width, index_base=base)

    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield the rows of each block of lines."""
        del learner
        for source in self.sources:
            with source.open() as stream:
                for block in line_blocks(stream.read, path=source.name):
                    yield from self._parse_block(block, source.name, schema, errors)

    def _parse_block(self, block: LineBlock, path: str, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield the rows of a block. The native parser stops at an invalid line, and is resumed after it."""
        begin, line_number = 0, block.first_line
        while begin < len(block.text):
            y, values, columns, indptr, lines, n_bytes, n_lines, fault, fault_begin, fault_end = _core.parse_libsvm(
                block.text,
                begin,
                schema.index_base or 0,
                schema.n_features,
                NATIVE_MISSING[schema.missing],
                self.options.dtype == "float32",
            )
            if len(y):
                batch = Batch(canonical_csr(values, columns, indptr, schema.n_features), y)
                yield from self._check_rows(batch, schema, _LineTexts(block, line_number, lines), path, errors)
            begin, line_number = begin + n_bytes, line_number + n_lines
            if fault == Fault.NONE:
                return
            end = block.text.find(b"\n", begin) + 1
            line = block.text[begin : end or len(block.text)]
            column = fault_begin - n_bytes
            token = line[column : column + fault_end - fault_begin]
            message = fault_message(fault, token, schema, self.options.dtype or "float64")
            errors.handle(DataError(message, path=path, line=line_number, column=column + 1), line)
            errors.advance(1)
            begin, line_number = begin + len(line), line_number + 1

    def _check_rows(
        self, batch: Batch, schema: Schema, texts: _LineTexts, path: str, errors: ErrorHandler
    ) -> Iterator[Batch]:
        """Yield the valid rows; the native parser has checked everything but large integers and known labels."""
        invalid = InvalidRows(path, texts)
        X, y = batch.X, _exact_labels(batch.y, texts, path)
        large = np.flatnonzero(np.abs(X.data) >= MAX_EXACT)
        for row in np.unique(np.searchsorted(X.indptr, large, side="right") - 1):
            values = (token.rpartition(":")[2] for token in texts.tokens(int(row))[1:])
            inexact = next((one for one in values if is_inexact_text(one)), None)
            if inexact is not None:
                invalid.add([row], None, f"{INEXACT}, got {quote(inexact)}; {INEXACT_WAY_OUT}")
        if self.options.labels is not None:
            labels = Batch(np.empty((len(y), 0)), y)
            check_batch(labels, invalid, missing=schema.missing, known_labels=self.options.labels)
        return errors.valid_rows(Batch(X, y), invalid)


class _LineTexts:
    """The lines of the rows of a block, which are given relative to line number `first`."""

    def __init__(self, block: LineBlock, first: int, lines: Any) -> None:
        self._block, self._first, self._lines = block, first, lines

    def __call__(self, row: int) -> tuple[int, bytes]:
        line = self._first + int(self._lines[row])
        return line, self._block.text.split(b"\n")[line - self._block.first_line]

    def tokens(self, row: int) -> list[str]:
        """Return the label and the entries of a row."""
        return self(row)[1].partition(b"#")[0].decode("utf-8", "replace").split()


def _exact_labels(y: Any, texts: _LineTexts, path: str) -> Any:
    """Return labels, with integers where float64 does not hold them; the native parser gives floats."""
    if np.abs(y).max() < MAX_EXACT:
        return y
    written = [str(one) if abs(one) < MAX_EXACT else texts.tokens(row)[0] for row, one in enumerate(y.tolist())]
    try:
        return labels_of_texts(written)
    except ValueError:
        row = int(np.abs(y).argmax())
        message = f"labels that are integers must be within int64, got {quote(written[row])}; number the labels"
        raise DataError(message, path=path, line=texts(row)[0], column=1) from None


def fault_message(fault: Fault, token: bytes, schema: Schema, dtype: str) -> str:
    """Return the error message for a token that the native parser refused: the rule, the token, and the way out."""
    base, got = schema.index_base or 0, quote(token)
    last = base + schema.n_features - 1
    correct = "correct it, or drop the row"
    from_zero = "if indices are counted from 0, give index_base=0" if token == b"0" else correct
    too_wide = "feature-hash it to fewer columns" if schema.n_features == MAX_COLUMNS else "give a larger n_features"
    return {
        Fault.NO_LABEL: f"a line must begin with a label, got {got}; put one before it, for example 0",
        Fault.MANY_LABELS: f"a row must have one label, got {got}; make a row of each label",
        Fault.LABEL: f"a label must be a number, got {got}; number the labels",
        Fault.LABEL_NOT_FINITE: f"a label must be a finite number, got {got}; {correct}",
        Fault.PAIR: f"a feature must be index:value, got {got}; {correct}",
        Fault.INDEX: f"an index must be a whole number, got {got}; {correct}",
        Fault.INDEX_TOO_SMALL: f"an index must be at least {base}, got {got}; {from_zero}",
        Fault.INDEX_TOO_LARGE: f"an index must be at most {last}, the last of {schema.n_features} columns, got {got}; "
        f"{too_wide}",
        Fault.DUPLICATE: f"an index must occur only once in a row, got {got} again; {correct}",
        Fault.VALUE: f"a value must be a number, got {got}; {correct}",
        Fault.MISSING: f"a value must not be missing, got {got}; {MISSING_HINT}",
        Fault.INFINITY: f"a value must be finite, got {got}; {correct}",
        Fault.OVERFLOW: f"a number must not overflow {dtype}, got {got}; scale the column, or drop the row",
    }[fault]
