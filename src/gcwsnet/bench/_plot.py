"""The picture of a run: rows per second against D and against k."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path

from gcwsnet._atomic import written_beside
from gcwsnet.bench._ours import FULL_SCAN, OURS
from gcwsnet.bench._peers import EXTRA
from gcwsnet.bench._report import Report

LABELS = {"D": "D, columns of a row (k = 256)", "k": "k, hashes of a row (D = 784)"}
STYLES = {
    OURS: ("-o", "black"),
    FULL_SCAN: ("--o", "black"),
    "NumPy": ("-s", "0.35"),
    "torch eager": ("--v", "0.35"),
    "torch compiled": ("-^", "0.35"),
    "datasketch": (":D", "0.5"),
    "RBFSampler": ("-.x", "0.5"),
}


def check_picture(path: Path) -> None:
    """An error, before anything is measured, where the picture could not be drawn."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"a picture needs matplotlib, which is not installed: {EXTRA}") from error
    kinds = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in kinds:
        raise ValueError(f"a picture must be one of {', '.join(kinds)}, got {str(path)!r}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"the folder of a picture must be there, got {str(path)!r}")


def draw(report: Report, path: Path) -> None:
    """Draws the growth that a run has measured, in shades of grey and with a marker for each who hashes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5), layout="constrained")
    for axes, (along, lines) in zip(figure.subplots(1, 2, sharey=True), report.growth.items(), strict=True):
        at = [line.n_columns if along == "D" else line.n_hashes for line in lines]
        for name, (style, shade) in STYLES.items():
            rates = [line.rows_per_second.get(name, nan) for line in lines]
            if not all(isnan(rate) for rate in rates):
                face = "white" if name == FULL_SCAN else shade
                width = 2.2 if name == OURS else 1
                axes.loglog(at, rates, style, color=shade, markerfacecolor=face, linewidth=width, label=name)
        axes.set_xlabel(LABELS[along])
        axes.set_xticks(at, [f"{x:,}" for x in at])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("rows per second, one thread")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    with written_beside(path) as beside:
        figure.savefig(beside, dpi=100, format=path.suffix.removeprefix(".").lower())
