"""sEMG for Basic Hand movements in its published layout."""

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from gcwsnet.datasets import load
from gcwsnet.datasets._semg import DAYS, MATRICES, MOVEMENTS, PEOPLE
from tests.datasets.layouts import assert_holds, in_halves, resize, zipped

ZIP = "semg+for+basic+hand+movements.zip"
LENGTH = {"semg": 2500, "semg1": 3000}
INSIDE = {"semg": DAYS, "semg1": PEOPLE}
N = {"semg": 36, "semg1": 60}
RNG = np.random.default_rng(0)
SIGNALS = {
    file: {matrix: RNG.normal(size=(1, LENGTH[name])).round(5) for matrix in MATRICES}
    for name in INSIDE
    for file in INSIDE[name]
}


def mat(signals: dict[str, Any], **changed: Any) -> bytes:
    file = BytesIO()
    kept = {name: matrix for name, matrix in {**signals, **changed}.items() if matrix is not None}
    savemat(file, kept, do_compression=True)
    return file.getvalue()


MEMBERS = {file: mat(signals) for file, signals in SIGNALS.items()}
CHANNELS = ("ch1", "ch2")
FOLDER = "sEMG_Basic_Hand_movements_upatras"
LAYOUTS = {
    ZIP: zipped(MEMBERS),
    f"{FOLDER}.zip": zipped({f"{FOLDER}/{file}": content for file, content in MEMBERS.items()}),
    "nested": zipped({f"{FOLDER}.zip": zipped(MEMBERS)}),
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, n in N.items():
        resize(monkeypatch, name, n // 2, n // 2)


def rows(name: str) -> dict[str, NDArray[Any]]:
    """Each channel of each trial is a row: file by file, movement by movement, channel by channel."""
    X = [
        SIGNALS[file][f"{movement}_{channel}"]
        for file in INSIDE[name]
        for movement in MOVEMENTS
        for channel in CHANNELS
    ]
    y = [label for _ in INSIDE[name] for label in range(6) for _ in CHANNELS]
    return in_halves(np.concatenate(X), np.array(y))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", INSIDE)
def test_both_channels_are_rows(name: str, layout: str, cache: Path) -> None:
    (cache / (ZIP if layout == "nested" else layout)).write_bytes(LAYOUTS[layout])
    assert_holds(load(name), rows(name))


def test_the_derived_rows_are_taken_only_without_the_published_ones(cache: Path) -> None:
    np.savez(
        cache / "semg_db2_diff.npz",
        X_train=np.ones((900, 2500), "f4"),
        y_train=np.ones(900, int),
        X_test=np.ones((900, 2500), "f4"),
        y_test=np.ones(900, int),
    )
    found = load("semg")
    assert (found.origin, found.X_train.shape) == ("derived", (900, 2500))
    assert "channel 1 minus channel 2" in found.DESCR
    (cache / ZIP).write_bytes(LAYOUTS[ZIP])
    assert load("semg").origin == "exact"


DAY = SIGNALS[DAYS[1]]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"hook_ch1": None}, r"must have the matrix hook_ch1; it has cyl_ch1, "),
    ({"tip_ch2": DAY["tip_ch2"] + 1j}, "tip_ch2 of .* must hold real numbers, got the type complex128"),
    ({"tip_ch2": "text"}, r"tip_ch2 of .* must be a matrix of numbers, got char of shape \(1,\)"),
    ({"tip_ch2": {"a": 1}}, r"tip_ch2 of .* must be a matrix of numbers, got struct of shape \(1, 1\)"),
    ({"lat_ch1": np.ones((1, 2400))}, "lat_ch1 of .* must have 2500 columns as all others, got 2400"),
    ({"lat_ch1": np.full((1, 2500), np.nan)}, r"every entry must be finite.* lat_ch1\[0, 0\] is NaN"),
    ({"lat_ch1": np.ones((2, 2500))}, r"X_train of .* must have the shape \(18, 2500\), got \(19, 2500\)"),
]


@pytest.mark.parametrize(("changed", "rule"), WRONG)
def test_a_matrix_that_breaks_a_rule_is_named_with_its_file(changed: dict[str, Any], rule: str, cache: Path) -> None:
    (cache / ZIP).write_bytes(zipped({**MEMBERS, DAYS[1]: mat(DAY, **changed)}))
    with pytest.raises(ValueError, match=rule) as error:
        load("semg")
    assert re.search(r"(Database 2/male_day_2\.mat in )?.*movements\.zip", str(error.value))


def test_a_file_of_another_kind_is_an_error(cache: Path) -> None:
    for content in (b"", b"text, which is not a matrix", MEMBERS[DAYS[1]][:3000], b"MATLAB 7.3 MAT-file" + b" " * 200):
        (cache / ZIP).write_bytes(zipped({**MEMBERS, DAYS[1]: content}))
        with pytest.raises(ValueError, match=r"^(\w+ of )?Database 2/male_day_2\.mat in .*movements\.zip"):
            load("semg")
