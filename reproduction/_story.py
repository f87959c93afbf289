"""Three figures that tell the story of the paper in a few charts of its own: what GCWSNet is good for."""

from __future__ import annotations

STORY = {
    "story-one-epoch": (
        ("covtype-1", "Covtype: b = 8, L = 2, H = 200"),
        ("dailysports", "DailySports, p = 1: b = 8, L = 2, H = 200"),
        ("semg-p1", "SEMG, p = 1: b = 8, L = 2, H = 200"),
    ),
    "story-powers": (
        ("power-pendigits", "Pendigits: L = 2, H = 200, after 1 epoch"),
        ("power-m-noise1", "M-Noise1: L = 2, H = 200, after 1 epoch"),
    ),
    "story-fourier": (
        ("nrff", "SEMG: L = 2, H = 200"),
        ("nrff", "DailySports: L = 2, H = 200"),
    ),
}
"""For each figure the experiments and titles of its charts: the way to a good accuracy, the freedom to choose p, and
what random Fourier features need."""
