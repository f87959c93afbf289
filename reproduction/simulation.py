"""Simulations: numbers along x beside those of a formula, and whether they agree."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reproduction.statements import MAX_ERRORS


@dataclass(frozen=True)
class Curve:
    """Simulated numbers along x, beside those of a formula.

    Attributes
    ----------
    label : str
        What the curve is for.
    x, simulated, error, formula : tuple of float
        Where, what the simulation found with which standard error, and what the formula says.
    """

    label: str
    x: tuple[float, ...]
    simulated: tuple[float, ...]
    error: tuple[float, ...]
    formula: tuple[float, ...]

    @property
    def each_off(self) -> list[float]:
        """The standard errors by which each number is off; infinite if it is off and its error is 0."""
        off = np.abs(np.subtract(self.simulated, self.formula))
        off = np.where(off <= 1e-9, 0.0, off)  # what rounding does
        with np.errstate(divide="ignore", invalid="ignore"):
            errors: list[float] = np.where(off == 0, 0.0, off / np.asarray(self.error)).tolist()
        return errors

    @property
    def errors_off(self) -> float:
        """The standard errors by which the worst number is off."""
        return max(self.each_off)


def curve(label: str, x: ArrayLike, simulated: ArrayLike, error: ArrayLike, formula: ArrayLike) -> Curve:
    """Return a curve of arrays."""
    return Curve(label, *(tuple(np.asarray(v, np.float64).tolist()) for v in (x, simulated, error, formula)))


@dataclass(frozen=True)
class Panel:
    """Curves that are drawn together."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log: bool = False


@dataclass(frozen=True)
class Simulation:
    """A theorem, and the numbers of its simulation.

    Attributes
    ----------
    name, title : str
        Its name on the command line, and what it is about.
    panels : tuple of Panel
        The numbers.
    settings : dict
        All that the numbers depend on.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    settings: dict[str, Any]

    @property
    def errors_off(self) -> float:
        """The standard errors by which the worst number is off."""
        return max(curve.errors_off for panel in self.panels for curve in panel.curves)

    @property
    def agrees(self) -> bool:
        """Whether no number is off by more than five standard errors."""
        return self.errors_off <= MAX_ERRORS

    def as_json(self) -> str:
        """Return the simulation and its verdict as JSON."""
        off = self.errors_off if np.isfinite(self.errors_off) else None
        content = {**asdict(self), "errors_off": off, "agrees": self.agrees}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Simulation:
        """Return the simulation that `as_json` wrote; its verdict is computed again."""
        content = json.loads(text)
        panels = tuple(
            Panel(**{**panel, "curves": tuple(curve(**made) for made in panel["curves"])})
            for panel in content["panels"]
        )
        return cls(content["name"], content["title"], panels, content["settings"])
