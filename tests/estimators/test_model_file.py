"""The model file."""

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from tests.conftest import Rows
from tests.estimators.hostile import change


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {
        "p": 1.0,
        "relevance": 0,
        "scale": "numeric",
        "n_hashes": 16,
        "hidden": (8,),
        "epochs": 1,
        "random_state": 0,
    }
    return GCWSNetClassifier(**defaults | settings)


@pytest.fixture
def model(three_classes: Rows) -> GCWSNetClassifier:
    X, y = three_classes
    return small().fit(X[:300], y[:300])


@pytest.fixture
def file(model: GCWSNetClassifier, tmp_path: Path) -> Path:
    model.save(tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def assert_same_state(a: Any, b: Any) -> None:
    """The weights, the optimizer and the averages are the same to the last bit."""
    (left, described), (right, also) = (one.trainer_.state(training_state=True, timings=False) for one in (a, b))
    assert described == also
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert value.tobytes() == right[name].tobytes(), name


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"reduction": 4},
        {"hidden": ()},
        {"ensemble": 3},
        {"ensemble": 3, "hidden": (), "reduction": 4, "optimizer": "adam"},
        {"hidden": "auto", "epochs": "auto", "p": "auto", "scale": "auto", "relevance": "auto"},
        {"scale": "local", "relevance": 0.5},
        {"optimizer": "adam"},
        {"betas": (0.0, 0.99)},
        {"scale": None},
        {"scale": "quantile"},
        {"p": "auto"},
        {"scale": "minmax", "t_bits": 2, "bits": 4},
        {"t_bits": 0, "encoding": "lowbits"},
        {"class_weight": {"oak": 2.0}},
        {"missing": "mean", "random_state": None, "n_hashes": np.int64(8)},
    ],
)
def test_a_loaded_model_predicts_the_same_bits_and_goes_on_alike(
    settings: dict[str, Any], three_classes: Rows, tmp_path: Path
) -> None:
    X, y = three_classes
    model = small(**settings).fit(X[:300], y[:300])
    model.save(tmp_path / "small")
    np.testing.assert_array_equal(gcwsnet.load(tmp_path / "small").predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.history_ == model.history_
    assert repr(loaded.scaling_) == repr(model.scaling_)
    assert (loaded.p_, loaded.selection_) == (model.p_, model.selection_)
    model.partial_fit(X[300:], y[300:])
    loaded.partial_fit(X[300:], y[300:])
    assert_same_state(model, loaded)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_regressor(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    for y in (X[:, 0], X[:, :2]):
        model = GCWSNetRegressor(p=1.0, n_hashes=16, hidden=(8,), random_state=0, loss="huber").fit(X, y)
        model.save(tmp_path / "model", training_state=True)
        loaded = gcwsnet.load(str(tmp_path / "model"))
        assert isinstance(loaded, GCWSNetRegressor)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1], dtype=np.int16),
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array(["ä", "ß"]),
        np.array(["one", "two"], dtype=object),
    ],
)
def test_labels_keep_their_type(labels: NDArray[Any], tmp_path: Path) -> None:
    X = np.eye(4)
    y = np.concatenate([labels, labels])
    model = small().fit(X, y)
    model.save(tmp_path / "model")
    loaded = gcwsnet.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_names_and_settings_come_back(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    model = small().fit(pd.DataFrame(X, columns=list("abcdef")), y)
    model.save(tmp_path / "model")
    loaded = gcwsnet.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="'f' is missing and 'g' is additional"):
        loaded.predict(pd.DataFrame(three_classes.X, columns=list("abcdeg")))


def test_a_file_with_the_bits_that_it_predicts_with(
    model: GCWSNetClassifier, file: Path, three_classes: Rows, tmp_path: Path
) -> None:
    """What `compress` says in advance is what a loaded file predicts."""
    X, _ = three_classes
    model.save(tmp_path / "float32", weights="float32")
    model.save(tmp_path / "whole", training_state=True)
    sizes = [path.stat().st_size for path in (file, tmp_path / "float32", tmp_path / "whole")]
    described = 8_000  # bytes
    assert 4 * (sizes[0] - described) < sizes[1] < sizes[2] / 2
    predicted = {name: copy.deepcopy(model).compress(name).predict_proba(X) for name in ("int4", "float32")}
    np.testing.assert_array_equal(model.predict_proba(X), predicted["int4"])
    loaded = gcwsnet.load(tmp_path / "float32")
    np.testing.assert_array_equal(loaded.predict_proba(X), predicted["float32"])
    np.testing.assert_array_equal(loaded.compress().predict_proba(X), predicted["int4"])
    assert 0 < np.abs(predicted["int4"] - predicted["float32"]).max() < 0.05
    with pytest.raises(ValueError, match="weights='float32' needs all bits of the weights"):
        gcwsnet.load(file).save(tmp_path / "more", weights="float32")
    for wrong in (model.save, loaded.save):
        with pytest.raises(ValueError, match="weights must be one of"):
            wrong(tmp_path / "more", weights="int8")
    with pytest.raises(ValueError, match="weights must be one of"):
        model.compress("int8")


def test_what_only_predicts_cannot_learn_and_says_how(
    model: GCWSNetClassifier, file: Path, three_classes: Rows, tmp_path: Path
) -> None:
    X, y = three_classes
    expected = model.predict_proba(X)
    for one in (gcwsnet.load(file), pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(gcwsnet.load(file)))):
        assert len(pickle.dumps(one)) < 2 * file.stat().st_size
        np.testing.assert_array_equal(one.predict_proba(X), expected)
        with pytest.raises(ValueError, match=r"cannot learn further; save it with save\(path, training_state=True\)"):
            one.partial_fit(X, y)
        with pytest.raises(ValueError, match="cannot learn further"):
            one.save(tmp_path / "whole", training_state=True)
        np.testing.assert_array_equal(one.predict_proba(X), expected)
        one.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == file.read_bytes()
        np.testing.assert_array_equal(one.fit(X[:300], y[:300]).predict_proba(X), expected)


def test_a_stream_predicts_with_all_bits_until_it_is_compressed(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    model = small(scale=None).fit(X[:300], y[:300])
    packed = model.predict_proba(X)
    exact = copy.deepcopy(model).partial_fit(X[300:], y[300:])
    outputs = exact.trainer_.net.outputs(exact.coder_.codes(X), n_jobs=1, weights=exact.trainer_.net.predicts_with)
    np.testing.assert_array_equal(exact._outputs(X), outputs)
    further = pickle.loads(pickle.dumps(exact))  # which has all of it
    exact.save(tmp_path / "model")
    expected = copy.deepcopy(exact).compress().predict_proba(X)
    np.testing.assert_array_equal(gcwsnet.load(tmp_path / "model").predict_proba(X), expected)
    for one in (exact, further, copy.deepcopy(exact).compress()):
        one.partial_fit(X[:50], y[:50])
        assert_same_state(one, exact)
        np.testing.assert_array_equal(one.predict_proba(X), exact.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X), packed)


def test_a_file_is_replaced_whole_or_not_at_all(
    model: GCWSNetClassifier, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("gcwsnet._atomic.os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        model.save(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_same_model_is_the_same_file_which_its_folder_names_too(
    model: GCWSNetClassifier, file: Path, tmp_path: Path
) -> None:
    model.save(tmp_path / "model.safetensors")
    gcwsnet.load(tmp_path).save(tmp_path / "loaded")
    assert (tmp_path / "model.safetensors").read_bytes() == file.read_bytes()
    assert (tmp_path / "loaded").read_bytes() == file.read_bytes()


def test_a_file_that_is_cut_off_anywhere_is_an_error(file: Path) -> None:
    whole = file.read_bytes()
    for length in [0, 1, 7, 8, 9, 500, len(whole) // 2, len(whole) - 1]:
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is damaged"):
            gcwsnet.load(file)


def test_a_bit_that_flipped_anywhere_is_an_error(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    for place in np.random.default_rng(0).integers(0, len(whole), 60).tolist() + list(range(0, 3000, 97)):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged|not a model|was written by|does not hold"):
            gcwsnet.load(file)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"format_version": 9, "gcwsnet_version": "9.0"}, r"was written by gcwsnet 9\.0 in format 9"),
        ({"hash_version": 7}, "with hash version 7"),
        ({"params.colour": "red"}, "unexpected keyword argument 'colour'"),
        ({"coder.settings.bits": 8}, "coder.settings makes, 16 of 8 bits, got 16 of 4"),
        ({"trainer.targets.classes": ["a"]}, r"net\.layers\.2\.weight must have the shape \(1, 8\)"),
    ],
)
def test_a_file_of_a_newer_version_or_with_odd_content(entries: dict[str, Any], message: str, file: Path) -> None:
    change(file, entries)
    with pytest.raises(ValueError, match=message):
        gcwsnet.load(file)


def test_a_foreign_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello, this is a text of some length\n" * 9)
    with pytest.raises(ValueError, match="is damaged, cut off or not a model of gcwsnet"):
        gcwsnet.load(tmp_path / "text")
    save_file({"x": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(ValueError, match="is a safetensors file, but not a model of gcwsnet"):
        gcwsnet.load(tmp_path / "other")
    with pytest.raises(FileNotFoundError, match="there is no model at"):
        gcwsnet.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="there is no model at"):
        gcwsnet.load(tmp_path)


def test_what_cannot_be_saved_says_so(model: GCWSNetClassifier, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        small().save(tmp_path / "model")
    model.coder_ = replace(model.coder_, p=1e9)  # what is written follows the rules of what is read
    with pytest.raises(ValueError, match=r"model\.coder\.p must be a number from 1e-06 to 1e\+06"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_of_another_device_loads_on_the_cpu(model: GCWSNetClassifier, file: Path, three_classes: Rows) -> None:
    """One of a machine with a graphics card, which this one need not have."""
    change(file, {"params.device": "cuda:7"})
    loaded = gcwsnet.load(file)
    assert loaded.device == "cpu"
    np.testing.assert_array_equal(loaded.predict_proba(three_classes.X), model.predict_proba(three_classes.X))


@pytest.mark.parametrize("ensemble", [1, 2])
@pytest.mark.parametrize(("before", "after"), [("cpu", "cpu:0"), ("cpu:0", "cpu")])
def test_a_model_goes_on_learning_on_the_device_it_is_loaded_on(
    before: str, after: str, ensemble: int, three_classes: Rows, tmp_path: Path
) -> None:
    """Averages of a stream predict until the device takes its first step."""
    pytest.importorskip("torch")
    X, y = three_classes
    model = small(ensemble=ensemble, device=before, scale=None)  # without a warm-up buffer
    for first in range(0, 300, 50):
        model.partial_fit(X[first : first + 50], y[first : first + 50], classes=np.unique(y))
    model.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model", device=after)
    assert (loaded.device, loaded.trainer_.net.averaging) == (after, "recent" if before == "cpu" else None)
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-4, atol=1e-6)
    for one in (model, loaded):
        one.partial_fit(X[300:], y[300:])
        one.trainer_.net.stop_averaging()
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-3, atol=1e-5)
