"""The codes of exported graphs: bit for bit those of the hasher."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gcwsnet
from gcwsnet import GCWSHasher
from gcwsnet.export._graph import Graph, bits_of_whole_numbers, log_of_data
from gcwsnet.hashing import elementary
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import gcws
from tests.export.graphs import as_type, odd_rows, onnx, onnxruntime, outputs_of, session_of

D = 7
SETTINGS: list[dict[str, Any]] = [
    {},
    {"p": 80.0},
    {"p": 0.3, "bits": 1},
    {"p": 1000.0, "bits": 32},
    {"bits": 12},
    {"t_bits": 0},
    {"t_bits": 8, "bits": 16, "p": 30.0},
    {"t_bits": 0, "encoding": "lowbits"},
    {"t_bits": 3, "bits": 2, "encoding": "lowbits"},
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_codes_are_equal_for_odd_and_for_random_rows(settings: dict[str, Any], dtype: str, tmp_path: Path) -> None:
    hasher = GCWSHasher(48, random_state=3, **settings).fit(np.ones((1, D)))
    rows = as_type(np.concatenate([odd_rows(D), np.random.default_rng(1).normal(size=(200, D))]), dtype)
    codes = outputs_of(session_of(hasher, tmp_path, dtype=dtype), rows)["codes"]
    expected = hasher.transform(rows)
    assert codes.dtype == expected.dtype
    np.testing.assert_array_equal(codes, expected)


def test_ties_go_to_the_lowest_feature(tmp_path: Path) -> None:
    p, k = 1e6, 200
    rows = np.full((3, D), 1e300) * np.array([[1], [-1], [1]])
    r, log_c, beta = parameters(5, np.arange(2 * D), np.arange(k))
    L = np.float32(p) * elementary.log_of_data(rows[:1, :1])
    a = (log_c - r * (1 - beta)) - r * np.floor(L * (1 / r) + beta)
    smallest = np.sort(a[::2], axis=0)
    assert np.count_nonzero(smallest[0] == smallest[1]) > 20, "the logarithms are so large that many results are equal"
    hasher = GCWSHasher(k, p=p, random_state=5).fit(rows)
    i_star, _ = gcws(rows, k, p=p, seed=5)
    np.testing.assert_array_equal(hasher.samples(rows)[0], i_star)
    np.testing.assert_array_equal(outputs_of(session_of(hasher, tmp_path), rows)["codes"], hasher.transform(rows))


@pytest.mark.parametrize("n", [0, 1, 2, 31, 700])
def test_any_number_of_rows_gives_the_same_codes(n: int, tmp_path: Path) -> None:
    """Rows are hashed in blocks; the last one is filled up."""
    hasher = GCWSHasher(300, random_state=0).fit(np.ones((1, D)))
    rows = np.random.default_rng(0).normal(size=(n, D))
    codes = outputs_of(session_of(hasher, tmp_path), rows)["codes"]
    assert codes.shape == (n, 300)
    if n:
        np.testing.assert_array_equal(codes, hasher.transform(rows))


def test_missing_numbers_of_a_hasher_count_as_zero_where_they_do_in_python(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, D))
    rows[::3, 2] = np.nan
    hasher = GCWSHasher(32, missing="zero", random_state=0).fit(rows)
    np.testing.assert_array_equal(outputs_of(session_of(hasher, tmp_path), rows)["codes"], hasher.transform(rows))


def test_another_runtime_gives_the_same_codes(tmp_path: Path) -> None:
    """The reference of the ONNX project, in NumPy."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - it is optional

    hasher = GCWSHasher(16, random_state=0).fit(np.ones((1, D)))
    rows = odd_rows(D, 20)
    gcwsnet.export_onnx(hasher, tmp_path / "model.onnx")
    with np.errstate(all="ignore"):
        (codes,) = ReferenceEvaluator(onnx.load(tmp_path / "model.onnx")).run(None, {"X": rows})
    np.testing.assert_array_equal(codes, hasher.transform(rows))


def test_a_hasher_that_cannot_be_exported_says_what_to_do(tmp_path: Path) -> None:
    for other in (GCWSHasher(8, method="binwise"), GCWSHasher(8, output="onehot")):
        hasher = other.fit(np.ones((1, D)))
        with pytest.raises(ValueError, match=r"only the codes of method='gcws' can be exported, got a hasher with"):
            gcwsnet.export_onnx(hasher, tmp_path / "model.onnx")


def computed(function: Any, numbers: Any) -> Any:
    """What a function of a graph makes of numbers of shape (n, 1)."""
    graph = Graph(["in"])
    graph.output("out", function(graph.input("in", numbers.dtype, 1, "")), 1, "")
    content = b"".join(graph.file({}, version="0", description=""))
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"in": numbers})[0]


def test_logarithms_and_bits_around_all_powers_of_two_are_exact() -> None:
    powers = 2.0 ** np.arange(-1074, 1024)
    around = np.concatenate([powers, powers * np.sqrt(0.5)])
    around = np.concatenate([around, np.nextafter(around, 0), np.nextafter(around, np.inf)])[:, np.newaxis]
    around = around[np.isfinite(around[:, 0])]
    np.testing.assert_array_equal(computed(log_of_data, around), elementary.log_of_data(around))
    powers = np.float32(2) ** np.arange(63, dtype=np.float32)
    near = np.floor(np.concatenate([powers, np.nextafter(powers, np.float32(0))]))
    whole = np.concatenate([near, -near])[:, np.newaxis] + np.float32(0)
    np.testing.assert_array_equal(computed(bits_of_whole_numbers, whole), whole.view(np.uint32))
