"""Text in blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gcwsnet.data._errors import DataError
from gcwsnet.data._inputs import Read

BLOCK = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines, and the number of the first one, counted from 1."""

    text: bytes
    line: int


def blocks_of_lines(
    read: Read, *, path: str, longest_line: int, quoted: bool = False, block: int = BLOCK
) -> Iterator[Block]:
    """Blocks of whole lines, of some megabyte each; the last line need not end with a newline.

    Parameters
    ----------
    read : function of a number of bytes that returns up to so many, none at the end
    path : str
        For the error.
    longest_line : int
        The most bytes that a line may have; memory stays within a small multiple of it.
    quoted : bool
        Whether a newline between double quotes belongs to its line.
    """
    waiting, line = b"", 1
    while some := read(block):
        text = waiting + some
        if line == 1 and not waiting:
            text = text.removeprefix(BYTE_ORDER_MARK)
        end = _last_end(text, len(waiting), quoted)
        if end > 0:
            yield Block(text[:end], line)
            line += text.count(b"\n", 0, end)
        waiting = text[end:]
        if len(waiting) > longest_line:
            raise too_long(waiting, path, line, longest_line, quoted)
    if waiting:
        yield Block(waiting, line)


def too_long(text: bytes, path: str, line: int, longest_line: int, quoted: bool) -> DataError:
    """What is said of a line that does not end."""
    quotes = " (a double quote may be left open)" if quoted and text.count(b'"') % 2 else ""
    return DataError(
        f"a line must have at most longest_line={longest_line} bytes, got more{quotes}; is this a text file? If it is, "
        "raise longest_line",
        path=path,
        line=line,
    )


def _last_end(text: bytes, searched: int, quoted: bool) -> int:
    """The end of the last whole line, 0 if there is none."""
    if not quoted:
        return text.rfind(b"\n", searched) + 1
    end = text.rfind(b"\n") + 1
    odd = text.count(b'"', 0, end) % 2
    while end > 0 and odd:
        before = text.rfind(b"\n", 0, end - 1) + 1
        odd ^= text.count(b'"', before, end) % 2
        end = before
    return end
