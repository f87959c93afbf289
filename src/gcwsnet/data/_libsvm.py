"""LIBSVM files: `label index:value index:value ...`, one row to a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gcwsnet import _core
from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.data._batch import Batch, csr
from gcwsnet.data._errors import DataError, Faults, shown
from gcwsnet.data._layout import Layout
from gcwsnet.data._lines import Block, blocks_of_lines
from gcwsnet.data._reader import Reader
from gcwsnet.data._screen import WAY_OUT_OF_MISSING, Marks, Rows, screen
from gcwsnet.data._survey import Tally

Fault = _core.LibsvmFault
MISSING = {"error": _core.Missing.ERROR, "zero": _core.Missing.ZERO, "nan": _core.Missing.NAN}


class LibsvmReader(Reader):
    """LIBSVM files, parsed natively."""

    def known_layout(self) -> Layout | None:
        """All of it from the settings, or of a stream with a known width the index base from its head."""
        settings = self.settings
        n_features, base = settings.n_features, settings.index_base
        if n_features is not None and base == "auto" and not self.reusable:
            base = self._base_of_head()
        if n_features is None or isinstance(base, str):
            return None
        return Layout(n_features, settings.missing or "error", index_base=base)

    def open_layout(self) -> Layout:
        """As wide as can be. Indices whose base is not known are taken as counted from 0."""
        given = self.settings.index_base
        return Layout(MOST_COLUMNS, self.settings.missing or "error", index_base=0 if isinstance(given, str) else given)

    def decided(self, layout: Layout, tally: Tally) -> Layout:
        """The base as scikit-learn decides it: if no index is 0, they are counted from 1. The width of all rows."""
        base = layout.index_base or 0
        if self.settings.index_base == "auto" and tally.least_index is not None:
            base = min(1, tally.least_index)
        width = max(1, tally.most_index + 1 - base + (layout.index_base or 0))
        return replace(layout, n_features=self.settings.n_features or width, index_base=base)

    def pieces(self, layout: Layout, faults: Faults) -> Iterator[Batch]:
        """The rows of one block of lines after the other."""
        for given in self.inputs:
            with given.unpacked() as stream:
                for block in blocks_of_lines(stream.read, path=given.name, longest_line=self.settings.longest_line):
                    yield from self._rows_of_block(block, given.name, layout, faults)

    def _base_of_head(self) -> int:
        head = self.inputs[0].head()
        lines = head[: head.rfind(b"\n") + 1] or head
        found = _core.parse_libsvm(lines, 0, 0, MOST_COLUMNS, _core.Missing.NAN, False)
        columns = found[2]
        return 0 if len(columns) and columns.min() == 0 else 1

    def _rows_of_block(self, block: Block, path: str, layout: Layout, faults: Faults) -> Iterator[Batch]:
        """Rows up to a line at fault, then those behind it."""
        begin, first = 0, block.line
        while begin < len(block.text):
            y, values, columns, ends, lines, n_bytes, n_lines, fault, fault_begin, fault_end = _core.parse_libsvm(
                block.text,
                begin,
                layout.index_base or 0,
                layout.n_features,
                MISSING[layout.missing],
                self.settings.dtype == "float32",
            )
            if len(y):
                batch = Batch(csr(values, columns, ends, layout.n_features), y)
                yield self._screened(batch, layout, Rows(path, *_places(block, first, lines)), faults)
            begin, first = begin + n_bytes, first + n_lines
            if fault == Fault.NONE:
                return
            line = _line_at(block.text, begin)
            column = fault_begin - n_bytes
            token = line[column : column + fault_end - fault_begin]
            rule = rule_of(fault, token, layout, self.settings.dtype or "float64")
            faults.meet(DataError(rule, path=path, line=first, column=column + 1), line)
            begin, first = begin + len(line), first + 1

    def _screened(self, batch: Batch, layout: Layout, rows: Rows, faults: Faults) -> Batch:
        if self.settings.labels is None:  # the native parser has looked at all else
            return batch
        marks = Marks()
        screen(batch._replace(X=batch.X[:, :0]), marks, missing=layout.missing, labels=self.settings.labels)
        return marks.settle(batch, rows, faults)


def _line_at(text: bytes, begin: int) -> bytes:
    """The line that begins there, with its newline."""
    end = text.find(b"\n", begin)
    return text[begin : len(text) if end < 0 else end + 1]


def _places(block: Block, first: int, lines: Any) -> tuple[Callable[[int], int], Callable[[int], bytes]]:
    """Functions from a row to the number and to the text of its line."""

    def line(row: int) -> int:
        return first + int(lines[row])

    def text(row: int) -> bytes:
        return block.text.split(b"\n")[line(row) - block.line]

    return line, text


def rule_of(fault: Fault, token: bytes, layout: Layout, dtype: str) -> str:
    """The rule that a part of a line breaks, what is there instead, and the way out."""
    base, got = layout.index_base or 0, shown(token)
    last = base + layout.n_features - 1
    return {
        Fault.NO_LABEL: f"a line must begin with a label, got {got}; put one before it, for example 0",
        Fault.MANY_LABELS: f"a row must have one label, got {got}; make rows of single labels of it",
        Fault.LABEL: f"a label must be a number, got {got}; number the labels",
        Fault.LABEL_NOT_FINITE: f"a label must be a finite number, got {got}; correct it, or drop the row",
        Fault.PAIR: f"a feature must be index:value, got {got}; correct it, or drop the row",
        Fault.INDEX: f"an index must be a whole number, got {got}; correct it, or drop the row",
        Fault.INDEX_TOO_SMALL: f"an index must be at least {base}, got {got}"
        + ("; if indices are counted from 0, give index_base=0" if token == b"0" else "; correct it, or drop the row"),
        Fault.INDEX_TOO_LARGE: f"an index must be at most {last} for n_features={layout.n_features}, got {got}"
        + ("; feature-hash it to fewer columns" if layout.n_features == MOST_COLUMNS else "; give a larger n_features"),
        Fault.DUPLICATE: f"an index must occur once in a row, got {got} again; correct it, or drop the row",
        Fault.VALUE: f"a value must be a number, got {got}; correct it, or drop the row",
        Fault.MISSING: f"a value must not be missing, got {got}; {WAY_OUT_OF_MISSING}",
        Fault.INFINITY: f"a value must be finite, got {got}; correct it, or drop the row",
        Fault.OVERFLOW: f"a number must not overflow {dtype}, got {got}; scale the column, or drop the row",
    }[fault]
