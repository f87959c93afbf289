"""A remark in section 1.1: M-Noise2 to M-Noise6 behave as M-Noise1 does."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction.charts import ORIGINAL, Chart, Style, figure, line_of
from reproduction.experiment import Experiment
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import Claim, pairs, span

LEVELS = tuple(range(1, 7))
DATASETS = tuple(f"m-noise{level}" for level in LEVELS)


def _powered(name: str) -> Settings:
    return gcws(name, k=512, b=8, L=2, p=80)


def _plain(name: str) -> Settings:
    return gcws(name, k=512, b=8, L=2, p=1)


def _original(name: str) -> Settings:
    return original(name, L=2)


def _grid(quick: bool) -> list[Settings]:
    return [way(name) for name in (DATASETS[::5] if quick else DATASETS) for way in (_powered, _plain, _original)]


def _charts(results: Results) -> Iterator[Chart]:
    ways = (
        ("GCWS, p = 80", _powered, Style("-", "D", 0.0)),
        ("GCWS, p = 1", _plain, Style("-", "o", 0.5)),
        ("original data", _original, ORIGINAL),
    )
    lines = [
        line
        for label, way, style in ways
        for line in line_of(
            label, [(level, results.get(way(name))) for level, name in zip(LEVELS, DATASETS, strict=True)], style
        )
    ]
    yield Chart(
        "M-Noise1 to M-Noise6: k = 512, b = 8, L = 2", tuple(lines), x_label="number of the set, after one epoch"
    )


def _alike(results: Results) -> tuple[bool, str]:
    gains = [
        powered.accuracy - plain.accuracy
        for powered, plain in pairs(results, [(_powered(name), _plain(name)) for name in DATASETS])
    ]
    return all(gain > 1 for gain in gains), f"p = 80 gains {span(gains)} points over p = 1 on {len(gains)} sets"


def _better(results: Results) -> tuple[bool, str]:
    gains = [
        ours.accuracy - theirs.accuracy
        for ours, theirs in pairs(results, [(_powered(name), _original(name)) for name in DATASETS])
    ]
    return all(gain > 0 for gain in gains), f"better by {span(gains)} points on {len(gains)} sets"


SECTION_1 = Experiment(
    "m-noise-levels",
    "Section 1.1",
    "M-Noise1 to M-Noise6 in one epoch",
    DATASETS,
    _grid,
    lambda results: figure(_charts(results)),
    (
        Claim(
            "M-Noise2, ..., M-Noise6 exhibit similar behaviors as M-Noise1: a large p helps.",
            "p = 80 is better than p = 1 by more than 1 point on all sets, with k = 512, b = 8 and L = 2",
            _alike,
        ),
        Claim(
            "GCWSNet often improves the classification accuracy.",
            "p = 80 is better than the same net on the original data on all sets, after one epoch",
            _better,
        ),
    ),
    note="Not a figure of the paper, which only says so.",
)
