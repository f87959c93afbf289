"""What every format has: a layout, a survey, and pieces of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.data._batch import Batch
from gcwsnet.data._errors import DataError, Faults
from gcwsnet.data._inputs import Input
from gcwsnet.data._layout import Layout
from gcwsnet.data._settings import Settings
from gcwsnet.data._survey import Survey, Tally


class Reader(ABC):
    """Rows of one format.

    Parameters
    ----------
    inputs : list of Input
        Empty for what is no file.
    settings : Settings
    """

    def __init__(self, inputs: Sequence[Input], settings: Settings) -> None:
        self.inputs, self.settings = inputs, settings
        self.reusable = all(given.reusable for given in inputs)

    @abstractmethod
    def known_layout(self) -> Layout | None:
        """The layout if it can be known without reading all rows, else None."""

    @abstractmethod
    def pieces(self, layout: Layout, faults: Faults) -> Iterator[Batch]:
        """The rows in order, in batches of any size."""

    def survey(self, known: Layout | None, faults: Faults, most_labels: int) -> tuple[Layout, Survey]:
        """The layout and the counts of all rows."""
        tally = Tally(most_labels)
        start = known or self.known_layout() or self.open_layout()
        for batch in self.pieces(start, faults):
            tally.add(batch)
        layout = self.decided(start, tally) if start.n_features == MOST_COLUMNS else start
        shift = (layout.index_base or 0) - (start.index_base or 0)
        if tally.most_index - shift >= layout.n_features:  # rows are wider than the width that is given
            return self.survey(layout, Faults("stop" if faults.stops else "skip"), most_labels)
        return layout, self.summary(layout, tally, faults)

    def open_layout(self) -> Layout:
        """A layout that rows of any width fit, for a format whose layout may need a look at all rows."""
        raise NotImplementedError

    def decided(self, layout: Layout, tally: Tally) -> Layout:
        """The open layout, closed by what was counted."""
        raise NotImplementedError

    def summary(self, layout: Layout, tally: Tally, faults: Faults) -> Survey:
        """What is told of the counts. No row at all is an error."""
        self.require_rows(tally.n_rows, faults)
        return tally.survey(layout, faults.skipped)

    def require_rows(self, n_rows: int, faults: Faults) -> None:
        """DataError if there is no row at all."""
        if n_rows == 0:
            names = [given.name for given in self.inputs]
            skipped = f" besides the {faults.skipped} that are skipped" if faults.skipped else ""
            raise DataError(
                f"there must be at least one row, got none{skipped}; is this the right file?",
                path=", ".join(names[:3]) + (", ..." if len(names) > 3 else "") or None,
            )
