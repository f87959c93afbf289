"""LIBSVM files: `label index:value index:value ...`, one row to a line, parsed by the native core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from gcwsnet import _core
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT, MAX_COLUMNS, MAX_EXACT
from gcwsnet.files._reader import Reader
from gcwsnet.files._sources import LineBlock, line_blocks
from gcwsnet.tables._batch import Batch, canonical_csr
from gcwsnet.tables._columns import INTEGER, is_inexact, labels_of_texts
from gcwsnet.tables._errors import MISSING_HINT, DataError, ErrorHandler, InvalidRows, RowOrigin, check_batch, quote
from gcwsnet.tables._learn import Findings
from gcwsnet.tables._schema import Schema

Fault = _core.LibsvmFault

NATIVE_MISSING = {"error": _core.Missing.ERROR, "zero": _core.Missing.ZERO, "nan": _core.Missing.NAN}


class LibsvmReader(Reader):
    """A reader of LIBSVM files."""

    def known_schema(self) -> Schema | None:
        """Return the schema if width and index base are given; the head of a stream may tell the index base."""
        n_features, base = self.options.n_features, self.options.index_base
        if n_features is not None and base == "auto" and not self.reusable:
            base = self._index_base_of_head()
        if n_features is None or isinstance(base, str):
            return None
        return Schema(n_features, self.options.missing_rule, index_base=base)

    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield the rows of each block of lines."""
        for source in self.sources:
            with source.open() as stream:
                for block in line_blocks(stream.read, path=source.name, longest_line=self.options.longest_line):
                    yield from self._parse_block(block, source.name, schema, errors)

    def start_schema(self) -> Schema:
        """Return the schema if it is known, and otherwise the widest that there may be."""
        base = self.options.index_base
        widest = Schema(MAX_COLUMNS, self.options.missing_rule, index_base=0 if isinstance(base, str) else base)
        return self.known_schema() or widest

    def learned_schema(self, start: Schema, findings: Findings) -> Schema:
        """Return the schema with the width and the index base: as in scikit-learn, the base is 1 if no index is 0."""
        if start.n_features < MAX_COLUMNS:
            return start
        statistics, base = findings.rows, start.index_base or 0
        if self.options.index_base == "auto" and statistics.min_index is not None:
            base = min(1, statistics.min_index)
        width = max(1, statistics.max_index + 1 - base + (start.index_base or 0))
        return replace(start, n_features=self.options.n_features or width, index_base=base)

    def needs_another_pass(self, start: Schema, findings: Findings, schema: Schema) -> bool:
        """Return whether some rows are wider than the given `n_features`."""
        shift = (schema.index_base or 0) - (start.index_base or 0)
        return findings.rows.max_index - shift >= schema.n_features

    def _index_base_of_head(self) -> int:
        head = self.sources[0].head()
        lines = head[: head.rfind(b"\n") + 1] or head
        columns = _core.parse_libsvm(lines, 0, 0, MAX_COLUMNS, _core.Missing.NAN, False)[2]
        return 0 if len(columns) and columns.min() == 0 else 1

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
                origin = _row_origin(path, block, line_number, lines)
                yield self._check_rows(_with_integer_labels(batch, origin), schema, origin, errors)
            begin, line_number = begin + n_bytes, line_number + n_lines
            if fault == Fault.NONE:
                return
            line = _line_at(block.text, begin)
            column = fault_begin - n_bytes
            token = line[column : column + fault_end - fault_begin]
            message = fault_message(fault, token, schema, self.options.dtype or "float64")
            errors.handle(DataError(message, path=path, line=line_number, column=column + 1), line, 0)
            errors.advance(1)
            begin, line_number = begin + len(line), line_number + 1

    def _check_rows(self, batch: Batch, schema: Schema, origin: RowOrigin, errors: ErrorHandler) -> Batch:
        invalid = InvalidRows()
        _refuse_inexact(batch, origin, invalid)
        if self.options.labels is None:  # the native parser has checked everything else
            return invalid.drop_from(batch, origin, errors)
        without_features = batch._replace(X=batch.X[:, :0])
        check_batch(without_features, invalid, missing=schema.missing, known_labels=self.options.labels)
        return invalid.drop_from(batch, origin, errors)


def _with_integer_labels(batch: Batch, origin: RowOrigin) -> Batch:
    """Return a batch whose labels are integers where float64 does not hold them; the native parser gives floats."""
    y: Any = batch.y
    if np.abs(y).max() < MAX_EXACT:
        return batch
    texts = [str(one) if abs(one) < MAX_EXACT else _tokens(origin, row)[0] for row, one in enumerate(y.tolist())]
    try:
        return batch._replace(y=labels_of_texts(texts))
    except ValueError:
        row = int(np.abs(y).argmax())
        message = f"labels that are integers must be within int64, got {quote(texts[row])}; number the labels"
        raise DataError(message, path=origin.path, line=origin.line(row), column=1) from None


def _refuse_inexact(batch: Batch, origin: RowOrigin, invalid: InvalidRows) -> None:
    """Add the rows with an integer that float64 does not hold."""
    X = batch.X
    for row in np.unique(np.searchsorted(X.indptr, np.flatnonzero(np.abs(X.data) >= MAX_EXACT), side="right") - 1):
        values = (token.rpartition(":")[2] for token in _tokens(origin, int(row))[1:])
        found = next((one for one in values if INTEGER.fullmatch(one) and is_inexact(Decimal(one))), None)
        if found is not None:
            message = f"{INEXACT}, got {quote(found)}; {INEXACT_WAY_OUT}"
            invalid.add([int(row)], None, lambda _, message=message: message)  # type: ignore[misc]


def _tokens(origin: RowOrigin, row: int) -> list[str]:
    return origin.text(row).partition(b"#")[0].decode("utf-8", "replace").split()


def _line_at(text: bytes, begin: int) -> bytes:
    """Return the line that begins at a byte, with its newline."""
    end = text.find(b"\n", begin)
    return text[begin : len(text) if end < 0 else end + 1]


def _row_origin(path: str, block: LineBlock, first_line: int, lines: Any) -> RowOrigin:
    """Return the origin of rows whose lines are given relative to `first_line`."""

    def line(row: int) -> int:
        return first_line + int(lines[row])

    return RowOrigin(path, line, lambda row: block.text.split(b"\n")[line(row) - block.first_line])


def fault_message(fault: Fault, token: bytes, schema: Schema, dtype: str) -> str:
    """Return the error message for a token that the native parser refused: the rule, the token, and the way out."""
    base, got = schema.index_base or 0, quote(token)
    last = base + schema.n_features - 1
    return {
        Fault.NO_LABEL: f"a line must begin with a label, got {got}; put one before it, for example 0",
        Fault.MANY_LABELS: f"a row must have one label, got {got}; make a row of each label",
        Fault.LABEL: f"a label must be a number, got {got}; number the labels",
        Fault.LABEL_NOT_FINITE: f"a label must be a finite number, got {got}; correct it, or drop the row",
        Fault.PAIR: f"a feature must be index:value, got {got}; correct it, or drop the row",
        Fault.INDEX: f"an index must be a whole number, got {got}; correct it, or drop the row",
        Fault.INDEX_TOO_SMALL: f"an index must be at least {base}, got {got}"
        + ("; if indices are counted from 0, give index_base=0" if token == b"0" else "; correct it, or drop the row"),
        Fault.INDEX_TOO_LARGE: f"an index must be at most {last} for n_features={schema.n_features}, got {got}"
        + ("; feature-hash it to fewer columns" if schema.n_features == MAX_COLUMNS else "; give a larger n_features"),
        Fault.DUPLICATE: f"an index must occur only once in a row, got {got} again; correct it, or drop the row",
        Fault.VALUE: f"a value must be a number, got {got}; correct it, or drop the row",
        Fault.MISSING: f"a value must not be missing, got {got}; {MISSING_HINT}",
        Fault.INFINITY: f"a value must be finite, got {got}; correct it, or drop the row",
        Fault.OVERFLOW: f"a number must not overflow {dtype}, got {got}; scale the column, or drop the row",
    }[fault]
