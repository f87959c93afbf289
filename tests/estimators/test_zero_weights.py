"""A row of weight 0 is as if it were not there, but for its label."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor
from tests.cli.command import succeed
from tests.estimators.tables import mixed_table

NETS: dict[str, Any] = {"n_hashes": 16, "hidden": 8, "random_state": 0}
MODELS = [
    GCWSNetClassifier(**NETS),
    GCWSNetClassifier(**NETS, class_weight="balanced", early_stopping=True, epochs=2, search="off"),
    GCWSNetRegressor(**NETS),
    GCWSNetRegressor(**NETS, scale="minmax", relevance=1.0, early_stopping=True, epochs=2),
    PGMMClassifier(random_state=0),
    PGMMClassifier(random_state=0, class_weight="balanced"),
    PGMMRegressor(random_state=0),
]
FORMS = {
    "array": np.asarray,
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
    "arrow": lambda X: pa.table({name: X[:, number] for number, name in enumerate("abc")}),
}


def rows_with_wild_ones(model: Any, n: int = 240) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights; every third row has weight 0, large numbers and another target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + X[:, 1] ** 2
    weight = np.tile([1.0, 0.0, 0.5], n // 3)
    if hasattr(model, "predict_proba"):
        y = (y > 1).astype(int)
        y[weight == 0] = 1 - y[weight == 0]
    else:
        y[weight == 0] = 1e6
    X[weight == 0] = rng.normal(size=(n // 3, 3)) * 1e3
    return X, y, weight


def saved(model: Any, path: Path) -> bytes:
    model.save(path / "model", timings=False)
    return (path / "model").read_bytes()


def again(model: Any) -> Any:
    return type(model)(**model.get_params())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_fit_is_the_same_without_rows_of_weight_zero(model: Any, form: str, tmp_path: Path) -> None:
    X, y, weight = rows_with_wild_ones(model)
    kept, make = weight > 0, FORMS[form]
    one = again(model).fit(make(X), y, sample_weight=weight)
    other = again(model).fit(make(X[kept]), y[kept], sample_weight=weight[kept])
    assert saved(one, tmp_path) == saved(other, tmp_path)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]], ids=repr)
@pytest.mark.parametrize("n_pieces", [1, 7, 240])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, FORMS["pandas"]])
def test_partial_fit_is_the_same_without_rows_of_weight_zero(
    model: Any, n_pieces: int, make: Any, tmp_path: Path
) -> None:
    X, y, weight = rows_with_wild_ones(model)
    one, other = again(model), again(model)
    for piece in np.array_split(np.arange(len(y)), n_pieces):
        one.partial_fit(make(X[piece]), y[piece], sample_weight=weight[piece])
        kept = piece[weight[piece] > 0]
        if len(kept):
            other.partial_fit(make(X[kept]), y[kept], sample_weight=weight[kept])
    assert saved(one, tmp_path) == saved(other, tmp_path)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]], ids=repr)
def test_categories_of_rows_of_weight_zero_are_unknown(model: Any, tmp_path: Path) -> None:
    frame, y = mixed_table(300)
    weight = np.tile([1.0, 0.0, 2.0], 100)
    frame.loc[weight == 0, "city"] = "Atlantis"
    frame.loc[weight == 0, "height"] = np.inf
    one = again(model).fit(frame, y, sample_weight=weight)
    other = again(model).fit(frame[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert saved(one, tmp_path) == saved(other, tmp_path)
    assert "city=Atlantis" not in one.get_feature_names_out()


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]], ids=repr)
def test_labels_of_rows_of_weight_zero_are_classes_as_in_scikit_learn(model: Any) -> None:
    X, y, weight = rows_with_wild_ones(model)
    y[weight == 0] = 7
    fitted = again(model).fit(X, y, sample_weight=weight)
    assert fitted.classes_.tolist() == [0, 1, 7]
    assert fitted.predict_proba(X).shape == (len(X), 3)
    assert (fitted.predict(X) != 7).all()


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]], ids=repr)
def test_rows_of_a_class_of_weight_zero_are_rows_of_weight_zero(model: Any, tmp_path: Path) -> None:
    X, y, weight = rows_with_wild_ones(model)
    y[weight == 0] = 7
    by_class = again(model).set_params(class_weight={7: 0.0}).fit(X, y)
    by_row = again(model).set_params(class_weight={7: 0.0}).fit(X, y, sample_weight=(y != 7).astype(float))
    assert by_class.coder_.preprocessing.scaling is not None
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    assert saved(by_class, tmp_path) == saved(by_row, tmp_path)


@pytest.mark.parametrize("model", [*MODELS], ids=repr)
def test_weights_that_are_all_zero_are_an_error(model: Any) -> None:
    X, y, _ = rows_with_wild_ones(model)
    with pytest.raises(ValueError, match="the weights of all rows are zero"):
        again(model).fit(X, y, sample_weight=np.zeros(len(y)))
    if hasattr(model, "class_weight"):
        with pytest.raises(ValueError, match="the weights of all rows are zero"):
            again(model).set_params(class_weight={0: 0, 1: 0}).fit(X, y)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]], ids=repr)
def test_partial_fit_of_weights_that_are_all_zero_changes_nothing_once_there_is_a_model(
    model: Any, tmp_path: Path
) -> None:
    X, y, _ = rows_with_wild_ones(model)
    model = again(model)
    with pytest.raises(ValueError, match="the weights of all rows are zero"):
        model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    before = saved(model.partial_fit(X, y), tmp_path)
    assert saved(model.partial_fit(X, y, sample_weight=np.zeros(len(y))), tmp_path) == before


@pytest.mark.parametrize("model", [*MODELS], ids=repr)
@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_masked_entries_are_an_error_and_masks_without_any_are_fine(model: Any, name: str, tmp_path: Path) -> None:
    X, y, weight = rows_with_wild_ones(model)
    given = {"X": X, "y": y, "sample_weight": weight}
    expected = saved(again(model).fit(**given), tmp_path)
    mask = np.zeros(given[name].shape, dtype=bool)
    assert saved(again(model).fit(**given | {name: np.ma.array(given[name], mask=mask)}), tmp_path) == expected
    mask[2] = True
    masked = given | {name: np.ma.array(given[name], mask=mask)}
    with pytest.raises(ValueError, match=f"{name} has masked entries; .* the first is in row 2"):
        again(model).fit(**masked)
    with pytest.raises(ValueError, match=f"{name} has masked entries"):
        again(model).fit(**given).score(**masked)
    if model in (MODELS[0], MODELS[2]):
        with pytest.raises(ValueError, match=f"{name} has masked entries"):
            again(model).partial_fit(**masked)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_time_that_is_missing_is_no_target_to_compare_with(model: Any) -> None:
    X, y, _ = rows_with_wild_ones(model)
    times = np.arange(len(y)).astype("m8[s]")
    times[2] = np.timedelta64("NaT")
    with pytest.raises(ValueError, match=r"y\[2\] is NaT"):
        again(model).fit(X, y).score(X, times)


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("how", ["files", "stream", "codes"])
def test_training_on_files_is_the_same_without_rows_of_weight_zero(target: str, how: str, tmp_path: Path) -> None:
    frame, y = mixed_table(300)
    frame["label"] = np.arange(300) / 7 if target == "numbers" else y
    frame["weight"] = np.tile([1.0, 0.0, 2.0], 100)
    frame.loc[frame["weight"] == 0, ["height", "city"]] = 1e9, "Atlantis"
    if target == "numbers":
        frame.loc[frame["weight"] == 0, "label"] = 1e6
    models = []
    for name, rows in (("all", frame), ("some", frame[frame["weight"] > 0])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        given: list[Any] = [tmp_path / f"{name}.csv"]
        columns = ["--label", "label", "--weight", "weight"]
        settings = ["--n-hashes", 16, "--hidden", 8]
        if how == "codes":
            succeed("hash", *given, *columns, "--n-hashes", 16, "--out", tmp_path / f"{name}-codes")
            given, columns = [tmp_path / f"{name}-codes"], []
            settings = settings[2:]
        if how == "stream":
            given, columns = ["-"], [*columns, "--format", "csv"]
        text = (tmp_path / f"{name}.csv").read_text() if how == "stream" else None
        succeed("train", *given, *columns, *settings, "--out", tmp_path / name, input=text)
        models.append((tmp_path / name / "model.safetensors").read_bytes())
    assert models[0] == models[1]
