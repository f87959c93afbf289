"""Options have the names, values and defaults of the Python parameters, and one without effect is an error."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gcwsnet
from gcwsnet import GCWSHasher, GCWSNetClassifier
from gcwsnet.cli._app import COMMANDS
from gcwsnet.files import read
from tests.cli.command import fail, succeed

PYTHON = {
    name: parameter.default
    for source in (GCWSHasher, GCWSNetClassifier, read)
    for name, parameter in inspect.signature(source).parameters.items()
}
OWN = {
    "report",
    *("files", "model", "path", "a", "b", "out", "test", "task", "checkpoint_every", "kind"),
    *(
        "resume",
        "restart",
        "quiet",
        "as_json",
        "context",
        "probabilities",
        "estimate",
        "holdout",
        "keep",
    ),
    *("scheduler", "workers", "shards"),
}
"""What only the command has."""
OTHER_DEFAULTS = {
    "random_state": "a command gives the same result each time",
    "n_hashes": "kernel has 256 as GCWSHasher, and the others auto as the estimators",
    "bits": "kernel has 8 as GCWSHasher, and the others auto as the estimators",
    "p": "kernel has p=1 as pgmm_kernel, and the others auto as the estimators",
    "n_jobs": "None is 1",
    "missing": "kernel has error as pgmm_kernel, and the others auto as the estimators",
    "scale": "kernel has none as pgmm_kernel, and the others auto as the estimators",
}
SMALL = ["--n-hashes", 16, "--hidden", 4, "--p", 1, "--scale", "numeric"]


def as_option(value: Any) -> str:
    """A default of Python as the command takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)


@pytest.mark.parametrize("command", ["train", "hash", "predict", "evaluate", "kernel", "info"])
def test_an_option_has_the_name_and_the_default_of_its_parameter(command: str) -> None:
    for name, option in inspect.signature(COMMANDS[command]).parameters.items():
        if name in OWN:
            continue
        assert name in PYTHON, name
        if name not in OTHER_DEFAULTS and option.default is not None:
            assert str(option.default) == as_option(PYTHON[name]), name


def rows_with_holes(folder: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(5, 2, size=(150, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 2, 150)
    lines = ["a,b,c,label"]
    lines += [
        ",".join(["" if np.isnan(v) else repr(float(v)) for v in row] + [str(label)])
        for row, label in zip(X, y, strict=True)
    ]
    (folder / "holes.csv").write_text("\n".join(lines) + "\n")
    return folder / "holes.csv", X, y


@pytest.mark.parametrize("missing", ["auto", "zero", "mean"])
def test_a_word_for_missing_values_gives_the_same_codes_and_model_in_the_command_and_the_estimator(
    missing: str, tmp_path: Path
) -> None:
    file, X, y = rows_with_holes(tmp_path)
    estimator = GCWSNetClassifier(
        n_hashes=16, hidden=(4,), p=1.0, scale="numeric", relevance=0, missing=missing, random_state=0
    ).fit(X, y)
    reading = ["--label", "label", "--missing", missing]
    hashing = ["--n-hashes", 16, "--p", 1, "--scale", "numeric", "--search", "off", "--ensemble", 1]
    succeed("hash", file, "--out", tmp_path / "codes", *hashing, *reading)
    codes = np.load(tmp_path / "codes" / "part-00000-00000.codes.npy")
    np.testing.assert_array_equal(codes, estimator.coder_.codes(X))

    succeed("train", file, "--out", tmp_path / "m", *SMALL, *reading)
    model = gcwsnet.load(tmp_path / "m")
    assert model.get_params()["missing"] == missing
    from_file = succeed("predict", tmp_path / "m", file).stdout.split()[1:]
    assert [int(label) for label in from_file] == model.predict(pd.DataFrame(X, columns=list("abc"))).tolist()


def test_a_missing_value_is_an_error_where_it_is_asked_to_be(tmp_path: Path) -> None:
    file, X, y = rows_with_holes(tmp_path)
    reading = ["--label", "label", "--missing", "error"]
    assert "must not be missing" in fail("train", file, *reading, "--out", tmp_path / "m", *SMALL)
    with pytest.raises(ValueError, match="is NaN"):
        GCWSNetClassifier(p=1.0, missing="error").fit(X, y)
    assert "'mean' is not one of 'error', 'zero'" in fail("kernel", file, file, "--missing", "mean", code=2)


def test_codes_have_up_to_32_bits_and_a_table_too_large_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("".join(f"{i % 2} 1:{i + 1} 2:{i * i + 1}\n" for i in range(20)))
    hashing = ["--n-hashes", 4, "--bits", 32, "--p", 1, "--scale", "none"]
    succeed("hash", tmp_path / "rows.svm", "--out", tmp_path / "codes", *hashing)
    assert np.load(tmp_path / "codes" / "part-00000-00000.codes.npy").dtype == np.uint32
    assert "must have at most 2**31 rows" in fail("train", tmp_path / "codes", "--out", tmp_path / "m")
    assert "--bits" in fail("hash", tmp_path / "rows.svm", "--out", tmp_path / "x", "--bits", 33)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    rows = folder / "rows.svm"
    rows.write_text("".join(f"{i % 2} 1:{i + 1} 2:{i * i + 1}\n" for i in range(40)))
    succeed("hash", rows, "--out", folder / "codes", *SMALL[:2], *SMALL[4:])
    succeed("train", rows, "--out", folder / "model", *SMALL)
    return folder


@pytest.fixture
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with rows, their codes and a model of them."""
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("line", "option", "code"),
    [
        ("kernel rows.svm rows.svm --n-hashes 8", "--n-hashes", 2),
        ("kernel rows.svm rows.svm --bits 8", "--bits", 2),
        ("train codes --out m --n-hashes 16", "--n-hashes", 2),
        ("train codes --out m --on-error skip", "--on-error", 2),
        ("train codes --out m --format libsvm", "--format", 2),
        ("train rows.svm --out m --resume --restart", "--restart", 2),
        ("train rows.svm --out m --rejects bad.txt", "--rejects", 2),
        ("train rows.svm --out m --holdout 0 --early-stopping", "--early-stopping", 1),
        ("train codes --out m --early-stopping", "--early-stopping", 2),
        ("train - --n-features 2 --out m --early-stopping", "--early-stopping", 1),
        ("train - --n-features 2 --out m --resume", "--resume", 1),
        ("info codes --format libsvm", "--format", 2),
        ("info model --label 0", "--label", 2),
        ("predict model rows.svm --json --out labels.csv", "--json", 2),
    ],
)
def test_an_option_without_effect_is_an_error_that_names_it(line: str, option: str, code: int, files: Path) -> None:
    given: dict[str, Any] = {"input": (files / "rows.svm").read_bytes()} if " - " in line else {}
    more = ["--p", 1, "--scale", "numeric"] if line.startswith("train rows") or " - " in line else []
    assert option in fail(*line.split(), *more, code=code, **given)
