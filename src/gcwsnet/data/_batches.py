"""Streams of batches: what `read` gives, and what is derived from it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from gcwsnet._validation import check_integer
from gcwsnet.data._batch import Batch, rebatched
from gcwsnet.data._errors import Faults
from gcwsnet.data._layout import Layout
from gcwsnet.data._reader import Reader
from gcwsnet.data._survey import MOST_LABELS, Survey, Tally

MOST_BATCH_ROWS = 1 << 30


class Batches(ABC):
    """An iterable of `Batch`, all of `batch_rows` rows but the last one.

    Each ``for`` loop begins at the first row again. Where the source can be read only once, such as standard input, the
    second loop is an error.
    """

    def __init__(self, batch_rows: int) -> None:
        self.batch_rows = check_integer("batch_rows", batch_rows, 1, MOST_BATCH_ROWS)

    @abstractmethod
    def __iter__(self) -> Iterator[Batch]: ...

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How rows become columns of X; reads all rows once if it cannot be known without."""

    @property
    @abstractmethod
    def reusable(self) -> bool:
        """Whether the rows can be read more than once."""

    @property
    @abstractmethod
    def skipped(self) -> int:
        """How many rows the last loop has skipped so far, with ``on_error="skip"``."""

    @property
    @abstractmethod
    def reasons(self) -> list[str]:
        """Why, of the first few of them."""

    @property
    @abstractmethod
    def unknown_categories(self) -> int:
        """How many categories, in the rows of the last loop so far, were not among those of the layout."""

    @abstractmethod
    def survey(self, *, most_labels: int = MOST_LABELS) -> Survey:
        """What one look at all rows tells: how many they are, how wide, and with which labels.

        Parameters
        ----------
        most_labels : int
            Distinct labels are kept up to this number.
        """

    @property
    def n_features(self) -> int:
        """D, the number of columns of X; reads all rows once if it cannot be known without."""
        return self.layout.n_features

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns of the file that make up X, in the order of X; None if they have no names."""
        names = [column.name for column in self.layout.columns]
        return [name for name in names if name is not None] or None

    def skip(self, n_rows: int) -> Batches:
        """The rows from number `n_rows` on, counted from 0; rows at fault do not count.

        The ones before are read and dropped.
        """
        n_rows = check_integer("n_rows", n_rows, 0, 1 << 62)
        return Derived(self, lambda batches: _without_first(batches, n_rows))


class ReadBatches(Batches):
    """What a reader reads."""

    def __init__(
        self,
        reader: Reader,
        *,
        batch_rows: int,
        on_error: str,
        rejects: str | os.PathLike[str] | None,
        layout: Layout | None,
    ) -> None:
        super().__init__(batch_rows)
        self._reader, self._layout, self._given = reader, layout, layout
        self._on_error, self._rejects = on_error, rejects
        self._faults = Faults(on_error)
        self._survey: tuple[int, Survey] | None = None

    def __iter__(self) -> Iterator[Batch]:
        layout = self.layout
        faults = self._faults = Faults(self._on_error, self._rejects)
        n_rows = 0
        try:
            for batch in rebatched(self._reader.pieces(layout, faults), self.batch_rows):
                n_rows += batch.n_rows
                yield batch
            self._reader.require_rows(n_rows, faults)
        finally:
            faults.close()

    @property
    def layout(self) -> Layout:
        if self._layout is None:
            self._layout = self._reader.known_layout()
        return self._layout or self._surveyed(MOST_LABELS)[0]

    @property
    def reusable(self) -> bool:
        return self._reader.reusable

    @property
    def skipped(self) -> int:
        return self._faults.skipped

    @property
    def reasons(self) -> list[str]:
        return list(self._faults.reasons)

    @property
    def unknown_categories(self) -> int:
        return self._faults.unknown_categories

    def survey(self, *, most_labels: int = MOST_LABELS) -> Survey:
        if self._survey is None or self._survey[0] != most_labels:
            self._survey = most_labels, self._surveyed(most_labels)[1]
        return self._survey[1]

    def _surveyed(self, most_labels: int) -> tuple[Layout, Survey]:
        if not self._reader.reusable:
            raise ValueError(
                "a survey reads all rows, and this source can be read only once; say what it would find (n_features, "
                "layout or hash_columns), or put the rows into a file"
            )
        self._layout, survey = self._reader.survey(self._given, Faults(self._on_error), most_labels)
        self._given, self._survey = self._layout, (most_labels, survey)
        return self._layout, survey


class Derived(Batches):
    """Batches made of others.

    Parameters
    ----------
    source : Batches
    function : function of an iterable of batches that returns an iterator of pieces
    batch_rows : int, optional
    """

    def __init__(
        self,
        source: Batches,
        function: Callable[[Iterable[Batch]], Iterator[Batch]],
        batch_rows: int | None = None,
    ) -> None:
        super().__init__(source.batch_rows if batch_rows is None else batch_rows)
        self._source, self._function = source, function

    def __iter__(self) -> Iterator[Batch]:
        return rebatched(self._function(self._source), self.batch_rows)

    @property
    def layout(self) -> Layout:
        return self._source.layout

    @property
    def reusable(self) -> bool:
        return self._source.reusable

    @property
    def skipped(self) -> int:
        return self._source.skipped

    @property
    def reasons(self) -> list[str]:
        return self._source.reasons

    @property
    def unknown_categories(self) -> int:
        return self._source.unknown_categories

    def survey(self, *, most_labels: int = MOST_LABELS) -> Survey:
        tally, layout = Tally(most_labels), self.layout
        for batch in self:
            tally.add(batch)
        return tally.survey(layout, self.skipped)


def _without_first(batches: Iterable[Batch], n_rows: int) -> Iterator[Batch]:
    for batch in batches:
        if n_rows < batch.n_rows:
            yield batch.rows(n_rows, batch.n_rows) if n_rows else batch
        n_rows = max(0, n_rows - batch.n_rows)
