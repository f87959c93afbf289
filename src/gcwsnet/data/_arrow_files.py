"""Arrow files (Feather) and Arrow streams, read by pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, NamedTuple

from gcwsnet.data._arrow import needed_pyarrow
from gcwsnet.data._inputs import Input, Unpacked
from gcwsnet.data._parquet import ROWS_AT_ONCE, ParquetReader, damaged
from gcwsnet.data._settings import Settings

FILE_BEGIN = b"ARROW1\x00\x00"  # what a file has before the stream


class Opened(NamedTuple):
    """An Arrow file or stream: its schema, its first record batch with rows, and all of them."""

    schema: Any
    first: Any
    batches: Iterator[Any]
    stack: ExitStack


class ArrowReader(ParquetReader):
    """Arrow files and streams, record batch by record batch. A stream is looked at once, before it is read."""

    def __init__(self, inputs: Sequence[Input], settings: Settings) -> None:
        super().__init__(inputs, settings)
        self._known: dict[str, tuple[Any, Any]] = {}
        self._waiting: dict[str, Opened] = {}

    def _schema(self, given: Input) -> tuple[Any, Any]:
        if given.name not in self._known:
            with damaged(given.name):
                opened = _open(given)
            self._known[given.name] = opened.schema, opened.first
            if given.reusable:
                opened.stack.close()
            else:
                self._waiting[given.name] = opened
        return self._known[given.name]

    def _batches(self, given: Input, chosen: list[int]) -> Iterator[Any]:
        opened = self._waiting.pop(given.name, None) or _open(given)
        with opened.stack:
            for batch in opened.batches:
                for begin in range(0, batch.num_rows, ROWS_AT_ONCE):
                    yield batch.slice(begin, ROWS_AT_ONCE).select(chosen)


def _open(given: Input) -> Opened:
    pyarrow = needed_pyarrow("Arrow")
    stack = ExitStack()
    head = given.head()
    if given.reusable and given.packing() is None and head.startswith(FILE_BEGIN):
        file = pyarrow.ipc.open_file(stack.enter_context(pyarrow.memory_map(given.name)))
        schema: Any = file.schema
        batches: Iterator[Any] = (file.get_batch(number) for number in range(file.num_record_batches))
    else:
        stream = stack.enter_context(given.unpacked())
        if head.startswith(FILE_BEGIN):
            stream.read(len(FILE_BEGIN))
        opened = pyarrow.ipc.open_stream(pyarrow.PythonFile(Readable(stream), mode="r"))
        schema, batches = opened.schema, _until_the_end(opened, stream)
    first = next((batch for batch in batches if batch.num_rows), None)
    return Opened(schema, first, chain([] if first is None else [first], batches), stack)


def _until_the_end(batches: Iterator[Any], stream: Unpacked) -> Iterator[Any]:
    """All record batches; what follows them is read too, for an archive tells only at its end whether it is whole."""
    yield from batches
    while stream.read(1 << 20):
        pass


class Readable(io.RawIOBase):
    """Unpacked bytes as a file."""

    def __init__(self, stream: Unpacked) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """They can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to that many bytes, fewer only at the end."""
        parts, missing = [], size
        while missing > 0 and (part := self._stream.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
