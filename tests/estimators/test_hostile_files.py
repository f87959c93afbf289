"""Model files of strangers: what does not fit is a ValueError that names it, before anything large is made of it."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor, Predictor
from tests.estimators.hostile import change, content, write

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.array(["a", "b", "c", "d"])[np.arange(80) % 4]
FRAME = pd.DataFrame({"size": X[:, 0], "city": ["Rome", "Oslo", None, "Rome"] * 20, "age": X[:, 1]})
SMALL: dict[str, Any] = {"n_hashes": 8, "bits": 2, "hidden": (4,), "random_state": 0, "search": "off", "epochs": 1}
NAN = np.float32("nan")


def models() -> dict[str, Any]:
    stream = GCWSNetClassifier(**SMALL | {"ensemble": 2, "optimizer": "adam", "betas": (0.9, 0.99)})
    return {
        "net": GCWSNetClassifier(**SMALL).fit(X, Y),
        "ensemble": stream.partial_fit(X, Y, classes=list("abcd")),
        "odd": GCWSNetRegressor(**SMALL | {"n_hashes": 9, "bits": 1, "reduction": 4}).fit(X, X[:, 0]),
        "frame": GCWSNetRegressor(**SMALL).fit(FRAME, X[:, :2]),
        "local": GCWSNetRegressor(**SMALL, scale="local").fit(X, X[:, 0]),
        "quantile": GCWSNetRegressor(**SMALL, scale="quantile").fit(X, X[:, 0]),
        "additive": GCWSNetClassifier(**SMALL, additive=0.4).fit(X, Y),
        "labels": GCWSNetClassifier(**SMALL).fit(X, X[:, :2] > 0),
        "machine": PGMMClassifier(random_state=0, p=1.0, scale="numeric", relevance=0, alpha=0.1).fit(X, Y),
        "stream": followed(GCWSNetClassifier(**SMALL)),
        "numbers": PGMMRegressor(random_state=0, p=1.0, scale="numeric", relevance=0, alpha=0.1).fit(FRAME, X[:, 0]),
    }


def followed(model: Any) -> Any:
    """Return a model that follows a stream in which a column is constant until the warm-up is over."""
    X, y = stream_rows(2790)
    for first, end in ((0, 2600), (2600, 2700), (2700, 2790)):
        model.partial_fit(X[first:end], y[first:end], classes=list("abcd"))
    return model


def stream_rows(n: int) -> tuple[Any, Any]:
    """Return positive columns, of which one is 5 until the warm-up is over, and one is always 3."""
    X = np.abs(np.random.default_rng(0).normal(size=(n, 3))) + 0.01
    X[:2650, 1] = 5.0
    X[:, 2] = 3.0
    return X, np.array(list("abcd"))[np.arange(n) % 4]


def save_all(models: dict[str, Any], folder: Path) -> None:
    """Save models with what predicts and, where they have it, with the state of their training: "net" and "net+"."""
    for name, model in models.items():
        model.save(folder / name, timings=False)
        if hasattr(model, "trainer_"):
            model.save(folder / f"{name}+", training_state=True, timings=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_all(models(), folder)
    return folder


def of_shape(shape: Any, dtype: type[Any], value: Any) -> NDArray[Any]:
    return np.full(shape, value, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("net+", {"trainer.settings.hidden": [40000, 40000]}, "net.layers.0.weight must have the shape (32, 40000)"),
        ("net", {"trainer.settings.hidden": [4, -1]}, "hidden must be from 1"),
        ("net", {"trainer.settings.hidden": "auto"}, "has no layers"),
        ("net", {"trainer.settings.reduction": "much"}, "reduction must be"),
        ("net", {"trainer.settings.ensemble": 1000}, "trainer.settings.ensemble must be 1, got 1000"),
        ("net", {"coder.ensemble": 1000, "trainer.settings.ensemble": 1000}, "net.0.layers.0.rows is missing"),
        ("net", {"coder.settings.n_hashes": 2**30}, "trainer.net must have the codes"),
        ("net", {"coder.settings.colour": 1}, "coder.settings has an entry 'colour'"),
        ("net", {"coder.p": "much"}, "coder.p must be a number"),
        ("net", {"coder.selection": [{"stage": 1}]}, "coder.selection[0].stage must be a text"),
        ("net", {"coder.n_features": 2**31}, "coder.preprocessing.n_features must be 2147483648, got 3"),
        ("net", {"estimator": "os.system"}, "model.estimator must be one of"),
        ("net", {"trainer.targets.classes": list("badc")}, "classes must be distinct and ascending"),
        ("net", {"trainer.targets.classes": [1, "a", "b", "c"]}, "trainer.targets.classes must all be of the type"),
        ("net", {"trainer.targets.dtype": "O,O,O"}, "trainer.targets.dtype must be a type of"),
        ("net", {"trainer.history.loss": [1.0] * 9}, "the lists of model.trainer.history must be equally long"),
        ("net", {"trainer.history.loss.0": "low"}, "trainer.history.loss[0] must be a number or null"),
        ("net", {"trainer": []}, "trainer must be an object with named entries"),
        ("net", {"feature_names_in": ["a"]}, "model.feature_names_in must have 3 names"),
        ("net", {"params.n_jobs": 10**6}, "model.params must not have n_jobs"),
        ("net", {"params.hidden": {"a": 1}}, "hidden must be an integer"),
        ("net+", {"net.layers.0.weight": of_shape((32, 4), np.float32, NAN)}, "0.weight must hold finite numbers"),
        ("net", {"net.layers.0.rows": None}, "net.layers.0.rows is missing"),
        ("net", {"net.layers.0.rows": of_shape(4, np.uint8, 1)}, "net.layers.0.weight must have the shape (8)"),
        ("net", {"net.layers.0.weight": of_shape(3, np.uint8, 1)}, "net.layers.0.weight must have the shape"),
        ("net", {"net.layers.0.weight": of_shape((32, 4), np.int8, 1)}, "weight must be of the type uint8"),
        ("net", {"net.layers.0.scales": of_shape(8, np.uint16, 0xFFFF)}, "upper halves of finite floats"),
        ("odd", {"net.layers.0.rows": of_shape(1, np.uint8, 255)}, "no bits beyond the 5 rows of the table"),
        ("net", {"trainer.packed": "int4"}, "trainer.packed must be there if and only if"),
        ("net", {"trainer.averages": [0] * 5}, "trainer.averages must belong to the state of a run"),
        ("net", {"net.layers.4.bias": of_shape(4, np.float32, 1)}, "'net.layers.4.bias' does not belong to these"),
        ("net", {"preprocessing.weight": of_shape(3, np.float64, -1)}, "weight must hold no number below"),
        ("net", {"preprocessing.incomplete": np.array([1, 1])}, "incomplete must hold ascending columns below 3"),
        ("net", {"preprocessing.scaling.divisor": np.array([1.0, 0.0, 1.0])}, "divisor must hold numbers above 0"),
        ("net", {"preprocessing.scaling.kind": of_shape(3, np.uint8, 9)}, "scaling.kind must be below 4"),
        ("net+", {"optimizer.second_moments.layers.2.bias": None}, "second_moments.layers.2.bias is missing"),
        ("net+", {"optimizer.n_steps": of_shape(1, np.int64, -1)}, "optimizer.n_steps must hold"),
        ("net+", {"momentum.layers.0.weight": of_shape((32, 4), np.float32, 1)}, "momentum.layers.0.bias is missing"),
        ("ensemble+", {"trainer.averages": [10**9, 0, 0, 0]}, "trainer.averages must be four numbers"),
        ("ensemble+", {"averages.1.recent.taken": of_shape(32, np.int64, 10**9)}, "hold numbers of rows up to"),
        ("ensemble", {"net.1.layers.0.bias": None}, "net.1.layers.0.bias is missing"),
        ("frame", {"coder.schema.columns.0.width": 10**9}, "coder.schema.columns[0].width must be 1"),
        ("frame", {"coder.schema.columns.1.categories": ["Rome", "Rome"]}, "categories must be distinct texts"),
        ("frame", {"coder.schema.hash_columns": 2**30}, "must make up coder.n_features=4"),
        ("frame", {"coder.schema.version": 9}, "coder.schema.version must be one of 1"),
        ("frame", {"trainer.targets.one_column": True}, "targets.mean must have the shape (1)"),
        ("frame", {"targets.deviation": of_shape(2, np.float64, 0)}, "targets.deviation must hold"),
        ("local", {"preprocessing.scaling.knots": of_shape((3, 1), np.float64, 1)}, "at least 2 finite, ascending"),
        ("quantile", {"preprocessing.scaling.quantiles": -np.eye(3)}, "at least 1 finite, ascending"),
        ("labels", {"trainer.targets.n_labels": 2**31}, "net.layers.2.weight must have the shape (2147483648, 4)"),
        ("machine", {"machine.coefficients": of_shape((80, 3), np.float64, 1)}, "must have the shape (any, 4)"),
        ("machine", {"machine.rows": of_shape((80, 9), np.float64, 1)}, "machine.rows must have the shape (80, 3)"),
        ("machine", {"machine.selection": []}, "machine.selection must hold at least one candidate"),
        ("numbers", {"machine.coefficients": of_shape((0, 1), np.float64, 1)}, "hold a row for each training row"),
        ("stream+", {"stream.grows": 1}, "model.stream.grows must be one of True, False, got 1"),
        ("stream+", {"trainer.following.scores": {"best": 1}}, "following.scores has an entry 'best'"),
        ("stream+", {"trainer.following.events": [{"rows": 1}]}, "trainer.following.events[0].event is missing"),
        ("stream+", {"trainer.following.events.0.rows": -1}, "events[0].rows must be a whole number from 0 to"),
        ("stream+", {"trainer.predicts_with": "best"}, "predicts_with must be one of 'last', 'recent', 'average'"),
        ("stream+", {"averages.recent.layers.0.bias": None}, "averages.recent.layers.0.bias is missing"),
    ],
)
def test_what_does_not_fit_is_named(name: str, changes: dict[str, Any], message: str, copies: Path) -> None:
    """Changes are entries of the description, or arrays; None removes an array."""
    is_array = any(isinstance(value, np.ndarray) or value is None for value in changes.values())
    change(copies / name, *(({}, changes) if is_array else (changes, {})))
    for load in (gcwsnet.load, Predictor.load) if "params.hidden" not in changes else (gcwsnet.load,):
        with pytest.raises(ValueError, match=re.escape(message)):
            load(copies / name)


def test_the_columns_of_numbers_of_a_table_are_checked(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": np.arange(120.0), "name": [f"name {i}" for i in range(120)]})
    GCWSNetRegressor(**SMALL).fit(frame, frame["size"]).save(tmp_path / "model")
    before = content(tmp_path / "model")[0]["preprocessing.numeric"]
    for numeric in (1 - before, 2 * before):
        change(tmp_path / "model", {}, {"preprocessing.numeric": numeric})
        with pytest.raises(ValueError, match="numeric must hold 0 and 1, 1 of them 1"):
            gcwsnet.load(tmp_path / "model")


def csr_rows(indptr: list[int], indices: list[int], n: int) -> dict[str, Any]:
    return {
        "machine.rows": None,
        "machine.rows.data": np.ones(n),
        "machine.rows.indices": np.array(indices, dtype=np.int32),
        "machine.rows.indptr": np.array(indptr, dtype=np.int32),
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (csr_rows([0] * 80 + [3], [0, 1, 2], 3), None),
        (csr_rows([0] * 80 + [9], [0, 1, 2], 3), "indptr must rise from 0 to 3"),
        (csr_rows([0] * 79 + [3, 2], [0, 1, 2], 3), "indptr must rise from 0 to 3"),
        (csr_rows([0] * 80 + [3], [0, 1, 9], 3), "indices must hold the columns below 3"),
        (csr_rows([0] * 80 + [3], [-1, 1, 2], 3), "indices must hold the columns below 3"),
        (csr_rows([0] * 80 + [3], [1, 1, 2], 3), "indices must hold the columns below 3"),
    ],
)
def test_sparse_rows_of_a_kernel_machine_are_checked(rows: dict[str, Any], message: str | None, copies: Path) -> None:
    change(copies / "machine", {}, rows)
    if message is None:
        assert gcwsnet.load(copies / "machine").machine_.rows.nnz == 3
        return
    with pytest.raises(ValueError, match=message):
        gcwsnet.load(copies / "machine")


def test_the_width_of_labels_is_theirs_and_not_the_file_s(copies: Path) -> None:
    change(copies / "net", {"trainer.targets.dtype": "<U400000000"})
    loaded = gcwsnet.load(copies / "net")
    assert loaded.classes_.dtype == np.dtype("<U1")
    assert loaded.predict(X).nbytes == 4 * len(X)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 200_000, "its description cannot be read"),
        ('{"a":' * 200_000 + "1" + "}" * 200_000, "its description cannot be read"),
        ("[]", "its description cannot be read"),
        ('{"format_version": NaN}', "its description cannot be read"),
        ('{"format_version": 5, "hash_version": 1}', "holds no net"),
        ('{"format_version": 5, "hash_version": 1, "trainer": {}}', "model.estimator is missing"),
    ],
)
def test_descriptions_that_are_none(text: str, message: str, copies: Path) -> None:
    write(copies / "net", content(copies / "net")[0], text)
    for load in (gcwsnet.load, Predictor.load):
        with pytest.raises(ValueError, match=message):
            load(copies / "net")


def test_an_array_of_a_type_that_no_model_has(copies: Path) -> None:
    """bfloat16, which NumPy does not know."""
    raw = (copies / "net").read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + n])
    one = header["net.layers.2.weight"]
    one["dtype"], one["shape"] = "BF16", [2 * one["shape"][0], one["shape"][1]]
    text = json.dumps(header).encode()
    (copies / "net").write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + n :])
    with pytest.raises(ValueError, match=r"'net\.layers\.2\.weight' of the type BF16"):
        gcwsnet.load(copies / "net")


def numbers_of(part: Any, place: tuple[Any, ...] = ()) -> Any:
    """Yield the places of all numbers of a description."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(value, dict | list):
            yield from numbers_of(value, (*place, key))
        elif isinstance(value, int | float):
            yield (*place, key)


LARGE: list[dict[str, Any]] = [
    {"trainer.settings.hidden": [40000, 40000]},
    {"trainer.settings.hidden": [4] * 100_000},
    {"coder.ensemble": 1024, "trainer.settings.ensemble": 1024},
    {"trainer.targets.classes": ["a"] * 100_000, "trainer.targets.dtype": "<U400000000"},
]

LOAD_ALL = """
import resource, sys
from pathlib import Path
import gcwsnet
gcwsnet.GCWSNetClassifier, gcwsnet.PGMMClassifier  # their imports take memory, too
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29),) * 2)
for file in sorted(Path(sys.argv[1]).iterdir()):
    try:
        gcwsnet.load(file)
    except ValueError:
        pass
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the size of a process is read from /proc")
@pytest.mark.parametrize("name", list(models()))
def test_no_number_of_a_description_makes_load_take_much_memory(name: str, saved: Path, tmp_path: Path) -> None:
    arrays, description = content(saved / name)
    for number, place in enumerate(numbers_of(description)):
        changed = json.loads(json.dumps(description))
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = 2**40
        write(tmp_path / f"{number}", arrays, changed)
    for number, entries in enumerate(LARGE if name == "net" else ()):
        write(tmp_path / f"large {number}", arrays, description)
        change(tmp_path / f"large {number}", entries)
    run = subprocess.run([sys.executable, "-c", LOAD_ALL, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", list(models()))
@pytest.mark.parametrize("value", [1e20, 3e38, -1e300])
def test_a_file_that_loads_predicts_finite_numbers(name: str, value: float, saved: Path, tmp_path: Path) -> None:
    arrays, description = content(saved / name)
    rows = FRAME if name in ("frame", "numbers") else X
    for of_array, before in arrays.items():
        if before.dtype.kind != "f" or abs(value) > float(np.finfo(before.dtype).max):
            continue
        for changed in (np.full_like(before, value), before.copy()):
            changed.reshape(-1)[:1] = value
            write(tmp_path / "model", arrays | {of_array: changed}, description)
            try:
                model = gcwsnet.load(tmp_path / "model")
            except ValueError:
                continue
            predicted = (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(rows)
            assert np.isfinite(predicted).all(), of_array
