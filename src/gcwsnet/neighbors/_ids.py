"""The ids of rows: whole numbers, or texts held as their bytes one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core

FNV_BASIS = 0xCBF29CE484222325
RULE = "ids must be whole numbers below 2**63 in size or texts, all of one kind"
NO_BYTES, NO_TEXTS = np.zeros(0, np.uint8), np.zeros(1, np.int64)


class Ids:
    """Ids of one kind, immutable.

    Attributes
    ----------
    numbers : int64 array or None
        The ids, if they are numbers.
    content, ends : uint8 array and int64 array
        The UTF-8 bytes of texts, and where each begins and ends: text i is ``content[ends[i]:ends[i + 1]]``.
    """

    def __init__(
        self,
        numbers: NDArray[np.int64] | None,
        content: NDArray[np.uint8] = NO_BYTES,
        ends: NDArray[np.int64] = NO_TEXTS,
    ) -> None:
        self.numbers, self.content, self.ends = numbers, content, ends
        self._by_key: tuple[NDArray[np.uint64], NDArray[np.intp]] | None = None

    @classmethod
    def checked(cls, ids: Any, n_rows: int) -> Ids:
        """Return the ids that a user gave for `n_rows` rows, which must all differ."""
        given = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if len(given) != n_rows:
            raise ValueError(f"there must be one id for each row, got {len(given)} ids for {n_rows} rows")
        if all(isinstance(one, str) for one in given) and given:
            made = cls.of_texts(given)
        else:
            made = cls(_whole_numbers(given))
        keys = made.keys()
        if len(np.unique(keys)) < len(keys) and len(set(given)) < len(given):
            seen: set[Any] = set()
            twice = next(one for one in given if one in seen or seen.add(one))  # type: ignore[func-returns-value]
            raise ValueError(f"ids must differ, and {twice!r} occurs twice in the rows that are added; remove one")
        return made

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Ids:
        """Return texts as ids."""
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(None, np.frombuffer(b"".join(parts), np.uint8), ends)

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """Return the ids of several parts, one after the other. Parts without ids may be of any kind."""
        parts = [one for one in parts if len(one)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        if any(one.is_text != parts[0].is_text for one in parts):
            raise ValueError(f"{RULE}, and some of them are numbers and some are texts")
        numbers = [one.numbers for one in parts if one.numbers is not None]
        if numbers:
            return cls(np.concatenate(numbers))
        ends, last = [np.zeros(1, np.int64)], 0
        for one in parts:
            ends.append(one.ends[1:] + last)
            last = int(ends[-1][-1])
        return cls(None, np.concatenate([one.content for one in parts]), np.concatenate(ends))

    @property
    def is_text(self) -> bool:
        """Whether the ids are texts."""
        return self.numbers is None

    def __len__(self) -> int:
        return len(self.ends) - 1 if self.numbers is None else len(self.numbers)

    @property
    def nbytes(self) -> int:
        """The bytes that the ids take."""
        return self.content.nbytes + self.ends.nbytes if self.numbers is None else self.numbers.nbytes

    @cached_property
    def largest(self) -> int:
        """The largest id that is a number, -1 if there is none."""
        return -1 if self.numbers is None or len(self) == 0 else int(self.numbers.max())

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of rows: an int64 array, or an array of str objects."""
        if self.numbers is not None:
            return np.asarray(self.numbers[rows])
        rows = np.asarray(rows)
        found = np.empty(rows.size, dtype=object)
        for i, row in enumerate(rows.ravel().tolist()):
            found[i] = self._text(row)
        return found.reshape(rows.shape)

    def _text(self, row: int) -> str:
        content = self.content[self.ends[row] : self.ends[row + 1]]
        return content.tobytes().decode("utf-8", "surrogatepass")

    def kept(self, live: NDArray[np.bool_]) -> Ids:
        """Return the ids of some rows."""
        if self.numbers is not None:
            return Ids(self.numbers[live])
        lengths = np.diff(self.ends)
        content = self.content[np.repeat(live, lengths)]
        return Ids(None, content, np.append(0, np.cumsum(lengths[live])).astype(np.int64))

    def keys(self) -> NDArray[np.uint64]:
        """Return 64-bit keys: of numbers they are the numbers, of texts a hash."""
        if self.numbers is not None:
            return np.ascontiguousarray(self.numbers).view(np.uint64)
        keys = np.empty(len(self), np.uint64)
        _core.text_keys(self.content.tobytes(), np.ascontiguousarray(self.ends), FNV_BASIS, keys)
        return keys

    def find(self, wanted: Ids) -> NDArray[np.int64]:
        """Return the rows of other ids, -1 where an id is not there."""
        found = np.full(len(wanted), -1, np.int64)
        if len(self) == 0 or self.is_text != wanted.is_text:
            return found
        if self._by_key is None:
            keys = self.keys()
            order = np.argsort(keys, kind="stable")
            self._by_key = keys[order], order
        keys, order = self._by_key
        asked = wanted.keys()
        first, last = np.searchsorted(keys, asked, "left"), np.searchsorted(keys, asked, "right")
        there = np.flatnonzero(last > first)
        if not self.is_text:
            found[there] = order[first[there]]
            return found
        for i in there.tolist():  # texts of one key may differ
            rows = order[first[i] : last[i]].tolist()
            found[i] = next((row for row in rows if self._text(row) == wanted._text(i)), -1)
        return found


def _whole_numbers(given: list[Any]) -> NDArray[np.int64]:
    for one in given:
        if not isinstance(one, int | np.integer) or isinstance(one, bool) or not -(2**63) <= one < 2**63:
            raise TypeError(f"{RULE}, got {one!r} ({type(one).__name__})")
    return np.array(given, dtype=np.int64)
