"""Daily and Sports Activities in its published layout."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gcwsnet.datasets import load
from gcwsnet.datasets._catalog import DATASETS
from gcwsnet.datasets._dailysports import segments
from tests.datasets.layouts import assert_holds, in_halves, resize, text, zipped

ZIP = "daily+and+sports+activities.zip"
NAMES = segments(19, 2, 1)
SEGMENTS = np.random.default_rng(0).normal(size=(len(NAMES), 125, 45)).round(4)
MEMBERS = {f"data/{name}": text(segment, ",") for name, segment in zip(NAMES, SEGMENTS, strict=True)}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = tuple(replace(form, inside=NAMES) if form.inside else form for form in DATASETS["dailysports"].forms)
    resize(monkeypatch, "dailysports", 19, 19, forms=forms)


def test_a_segment_is_a_row_time_by_time(cache: Path) -> None:
    backwards = dict(reversed(list(MEMBERS.items())))  # the order in the archive means nothing
    (cache / ZIP).write_bytes(zipped(backwards))
    assert_holds(load("dailysports"), in_halves(SEGMENTS.reshape(38, 5625), np.repeat(np.arange(19), 2)))


def test_the_names_are_those_of_all_segments() -> None:
    names = segments(19, 8, 60)
    assert len(set(names)) == 9120
    assert (names[0], names[60], names[480], names[-1]) == (
        "a01/p1/s01.txt",
        "a01/p2/s01.txt",
        "a02/p1/s01.txt",
        "a19/p8/s60.txt",
    )


def test_missing_segments_are_counted(cache: Path) -> None:
    (cache / ZIP).write_bytes(zipped({name: content for name, content in MEMBERS.items() if "a07" not in name}))
    with pytest.raises(ValueError, match=r"activities\.zip must hold a07/p1/s01\.txt and 1 more, and does not"):
        load("dailysports")


def test_a_short_segment_is_named(cache: Path) -> None:
    short = {**MEMBERS, "data/a03/p2/s01.txt": text(SEGMENTS[0][:124], ",")}
    (cache / ZIP).write_bytes(zipped(short))
    with pytest.raises(ValueError, match=r"^data/a03/p2/s01\.txt in .*\.zip must have 125 lines, got 124"):
        load("dailysports")
