"""Pictures of simulations: formulas as lines, simulated numbers as markers with their standard errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gcwsnet._atomic import written_beside
from gcwsnet.paper._simulation import Simulation

STYLES = (("-", "o", "0.0"), ("--", "s", "0.3"), ("-.", "^", "0.45"), (":", "D", "0.55"))


def draw(simulation: Simulation, path: Path) -> None:
    """Draw a simulation, readable in black and white; the same simulation gives the same file."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("a picture needs matplotlib, which is not installed: pip install matplotlib") from error
    n = len(simulation.panels)
    with rc_context({"svg.hashsalt": simulation.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(5.2 * n, 4.2), layout="constrained")
        figure.suptitle(simulation.title, fontsize=11)
        for axes, panel in zip(figure.subplots(1, n, squeeze=False)[0], simulation.panels, strict=True):
            for curve, (line, marker, shade) in zip(panel.curves, STYLES, strict=False):
                order = np.argsort(curve.x)
                x, formula = np.asarray(curve.x)[order], np.asarray(curve.formula)[order]
                axes.plot(x, formula, line, color=shade, linewidth=1)
                axes.errorbar(
                    curve.x, curve.simulated, curve.error, fmt=marker, color=shade, markersize=4, label=curve.label
                )
            if panel.log:
                axes.set_yscale("log")
            if panel.x_label.startswith(("B,", "m,")):
                axes.set_xscale("log", base=2)
            axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
        with written_beside(path) as beside:
            figure.savefig(beside, format=path.suffix.removeprefix("."), metadata={"Date": None})
