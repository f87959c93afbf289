"""Nets that only predict: what they hold, and that they predict what plain NumPy computes from that."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gcwsnet import _core
from gcwsnet.hashing._count_sketch import bins_and_signs
from gcwsnet.net._packed import ROWS, SCALES, TABLE, floats_of, four_bits, packed_arrays, rows_of_a_scale
from tests.net.learners import begin, rows_of, run

N_HASHES, BITS = 37, 3


def arrays_of(width: int, hidden: bool, seed: int, reduction: int, kind: str, share: float = 0.6) -> dict[str, Any]:
    """Return the arrays of a net of which training has changed a share of the rows."""
    net = _core.Net(N_HASHES, BITS, (width,) if hidden else (), 3 if hidden else width, reduction=reduction, seed=seed)
    rng, weights = np.random.default_rng(seed), net.weights()
    changed = rng.random(net.n_table_rows) < share
    weights[TABLE][changed] += rng.normal(size=(changed.sum(), width)) * rng.lognormal(size=(changed.sum(), 1))
    for name in weights:
        if name.endswith("bias"):
            weights[name][...] = rng.normal(size=weights[name].shape)
    np.testing.assert_array_equal(net.changed_rows(), changed)
    np.testing.assert_array_equal(net.changed_rows(3), changed)
    return packed_arrays(weights, changed, kind)


def inner_products(x: Any, weight: Any, bias: Any) -> Any:
    """Return biases plus inner products in the order of the native core: sixteen sums, then their halves."""
    x, weight = (np.pad(one, ((0, 0), (0, -one.shape[1] % 16))) for one in (x, weight))
    sums = np.zeros((len(x), len(weight), 16), dtype=np.float32)
    for first in range(0, x.shape[1], 16):
        sums += x[:, np.newaxis, first : first + 16] * weight[:, first : first + 16]
    for half in (8, 4, 2, 1):
        sums = sums[..., :half] + sums[..., half:]
    return sums[..., 0] + bias


def reference(own: dict[str, Any], codes: Any, seed: int, reduction: int) -> Any:
    """Return the outputs of one net, hash after hash in float32."""
    width = len(own["layers.0.bias"])
    n_rows = -(-(N_HASHES << BITS) // reduction)
    held = np.flatnonzero(np.unpackbits(own[ROWS], count=n_rows, bitorder="little"))
    table = np.zeros((n_rows, width), dtype=np.float32)
    table[held] = floats_of(own, len(held), width) if SCALES in own else own[TABLE]
    out = np.tile(own["layers.0.bias"], (len(codes), 1))
    for j in range(N_HASHES):
        rows: Any = (j << BITS) + codes[:, j].astype(np.int64)
        signs: Any = np.ones(len(codes), dtype=np.float32)
        if reduction > 1:
            bins, signs = bins_and_signs(seed, rows, n_rows)
            rows = bins.astype(np.int64)
        out = out + signs.astype(np.float32)[:, np.newaxis] * table[rows]
    if "layers.2.weight" in own:
        out = inner_products(np.maximum(out, 0), own["layers.2.weight"], own["layers.2.bias"])
    return out


@pytest.mark.parametrize("kind", ["int4", "float32"])
@pytest.mark.parametrize("reduction", [1, 3])
@pytest.mark.parametrize(
    ("width", "hidden"), [(1, False), (3, False), (16, True), (17, True), (48, True), (72, True), (200, True)]
)
def test_outputs_are_those_of_plain_numpy(
    width: int,
    hidden: bool,
    reduction: int,
    kind: str,
    instruction_set: str,  # noqa: ARG001
) -> None:
    seeds, n = [5, 6], 70
    members = [arrays_of(width, hidden, seed, reduction, kind) for seed in seeds]
    codes = np.random.default_rng(0).integers(0, 1 << BITS, (n, 2 * N_HASHES)).astype(np.uint8)
    expected = [
        reference(own, codes[:, j * N_HASHES : (j + 1) * N_HASHES], seed, reduction)
        for j, (own, seed) in enumerate(zip(members, seeds, strict=True))
    ]
    made: dict[str, Any] = {
        "n_hashes": N_HASHES,
        "bits": BITS,
        "hidden": (width,) if hidden else (),
        "reduction": reduction,
    }
    made["n_outputs"] = 3 if hidden else width
    both = _core.PackedNet(members, **made, seeds=seeds)
    mean = ((expected[0].astype(np.float64) + expected[1]) / 2).astype(np.float32)
    for dtype in (np.uint8, np.uint16, np.uint32):
        for threads in (1, 3):
            np.testing.assert_array_equal(both.outputs(codes.astype(dtype), threads), mean)
    alone = np.concatenate([both.outputs(codes[i : i + 1]) for i in range(n)])
    np.testing.assert_array_equal(alone, mean)
    one = _core.PackedNet(members[:1], **made, seeds=seeds[:1])
    np.testing.assert_array_equal(one.outputs(np.ascontiguousarray(codes[:, :N_HASHES])), expected[0])
    assert one.outputs(codes[:0, :N_HASHES].copy()).shape == (0, made["n_outputs"])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_table_may_be_empty_or_whole(share: float) -> None:
    own = arrays_of(20, True, 1, 1, "int4", share)
    codes = np.random.default_rng(0).integers(0, 1 << BITS, (9, N_HASHES)).astype(np.uint8)
    net = _core.PackedNet([own], n_hashes=N_HASHES, bits=BITS, hidden=(20,), n_outputs=3, reduction=1, seeds=[1])
    np.testing.assert_array_equal(net.outputs(codes), reference(own, codes, 1, 1))


@given(arrays(np.float32, (7, 5), elements=st.floats(-(2.0**100), 2.0**100, width=32)), st.sampled_from([1, 3, 5]))
def test_a_weight_moves_by_at_most_half_of_its_scale(table: Any, width: int) -> None:
    table = table.reshape(-1, width) if 35 % width == 0 else table[:, :width].copy()
    made, together = four_bits(table), rows_of_a_scale(width)
    assert made[TABLE].shape == ((table.size + 1) // 2,)
    scales = (made[SCALES].astype(np.uint32) << np.uint32(16)).view(np.float32)
    found = floats_of(made, len(table), width)
    for first, scale in zip(range(0, len(table), together), scales, strict=True):
        group = table[first : first + together]
        largest = np.abs(group).max()
        assert largest / 7 <= scale <= largest / 7 * (1 + 2**-7) + 2.0**-133
        assert (np.abs(found[first : first + together] - group) <= scale * 0.5001 + 1e-44).all()


def test_adjacent_rows_share_a_scale_so_that_it_has_sixteen_weights() -> None:
    widths = [1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 200]
    assert [rows_of_a_scale(width) for width in widths] == [16, 8, 8, 4, 4, 2, 2, 2, 1, 1, 1]


def test_many_rows_are_rounded_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).normal(size=(1001, 3)).astype(np.float32)
    expected = four_bits(table)
    monkeypatch.setattr("gcwsnet.net._packed.ROWS_AT_ONCE", 64)
    for name, value in four_bits(table).items():
        np.testing.assert_array_equal(value, expected[name])


@pytest.mark.parametrize("ensemble", [1, 2])
def test_rows_that_are_not_there_are_those_that_no_code_has_looked_up(ensemble: int) -> None:
    rows = rows_of(10, ensemble)
    net = run(begin(ensemble=ensemble, hidden=(64,)), rows).net
    for number, own in enumerate(net.pack("int4").members()):
        core = net.cores[number]
        codes = rows.X[:, number * net.n_hashes : (number + 1) * net.n_hashes]
        held = np.flatnonzero(np.unpackbits(own[ROWS], count=core.n_table_rows, bitorder="little"))
        np.testing.assert_array_equal(held, core.rows_used(np.ascontiguousarray(codes)))
    packed = net.pack("float32")
    np.testing.assert_array_equal(packed.outputs(rows.X, n_jobs=1), net.outputs(rows.X, n_jobs=1))
    others = (
        np.random.default_rng(1).integers(0, 1 << net.code_bits, (50, ensemble * net.n_hashes)).astype(rows.X.dtype)
    )
    assert (packed.outputs(others, n_jobs=1) != net.outputs(others, n_jobs=1)).any()
    np.testing.assert_array_equal(net.pack().outputs(others, n_jobs=1), net.outputs(others, n_jobs=1))


def test_a_packed_net_gives_its_weights_and_is_the_same_after_pickling() -> None:
    rows = rows_of(100, 2)
    net = run(begin(ensemble=2), rows).net
    for kind in ("int4", "float32"):
        packed = net.pack(kind)
        assert packed.kind == kind
        other = pickle.loads(pickle.dumps(packed))
        np.testing.assert_array_equal(other.outputs(rows.X, n_jobs=2), packed.outputs(rows.X, n_jobs=1))
        net.load(packed.weights())
        np.testing.assert_array_equal(net.outputs(rows.X, n_jobs=1), packed.outputs(rows.X, n_jobs=1))


def test_the_next_step_ends_that_fewer_bits_predict() -> None:
    rows = rows_of(100, 1)
    trainer = run(begin(), rows)
    exact = trainer.net.outputs(rows.X, n_jobs=1)
    trainer.compress("int4")
    packed = trainer.net.outputs(rows.X, n_jobs=1)
    assert 0 < np.abs(packed - exact).max() < 0.2
    np.testing.assert_array_equal(trainer.net.outputs(rows.X, n_jobs=1, weights="last"), exact)
    trainer.start_run()
    run(trainer, rows)
    assert trainer.net.packed is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({ROWS: None}, "must have the array layers.0.rows"),
        ({ROWS: np.zeros(36, np.uint8)}, r"layers.0.rows must be contiguous, of 8 bits, and of the shape \(37,\)"),
        ({ROWS: np.zeros(37, np.int32)}, "layers.0.rows must be contiguous"),
        ({ROWS: [1, 2]}, "layers.0.rows must be an array of NumPy"),
        ({TABLE: np.zeros(5, np.uint8)}, "layers.0.weight must be contiguous, of 8 bits"),
        ({TABLE: np.zeros((5, 20), np.float32)}, "layers.0.weight must be contiguous, of 32 bits"),
        ({SCALES: np.zeros(5, np.uint16)}, "layers.0.scales must be contiguous, of 16 bits"),
        ({SCALES: np.zeros(500, np.float16)}, "layers.0.scales must be contiguous"),
        ({"layers.0.bias": np.zeros(19, np.float32)}, r"layers.0.bias must be .* \(20,\)"),
        ({"layers.2.weight": np.zeros((20, 3), np.float32)}, r"layers.2.weight must be .* \(3,20,\)"),
        ({"layers.2.bias": np.zeros(3, np.float64)}, "layers.2.bias must be"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    own = arrays_of(20, True, 1, 1, "int4") | changes
    own = {name: value for name, value in own.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        _core.PackedNet([own], n_hashes=N_HASHES, bits=BITS, hidden=(20,), n_outputs=3, reduction=1, seeds=[1])


def test_settings_and_codes_that_do_not_fit_are_refused() -> None:
    own = arrays_of(20, True, 1, 3, "int4")
    made: dict[str, Any] = {"n_hashes": N_HASHES, "bits": BITS, "hidden": (20,), "n_outputs": 3, "reduction": 3}
    with pytest.raises(ValueError, match="no bits beyond the 99 rows of the table"):
        _core.PackedNet([own | {ROWS: own[ROWS] | np.uint8(128)}], **made, seeds=[1])
    for members, seeds in (([], []), ([own], [1, 2])):
        with pytest.raises(ValueError, match="a seed for each net, and at least one net"):
            _core.PackedNet(members, **made, seeds=seeds)
    with pytest.raises(ValueError, match=r"at most 2\*\*31 rows"):
        _core.PackedNet([own], **made | {"bits": 32}, seeds=[1])
    net = _core.PackedNet([own], **made, seeds=[1])
    with pytest.raises(ValueError, match="one column for each of the 37 hashes, got 36"):
        net.outputs(np.zeros((2, 36), np.uint8))
    with pytest.raises(ValueError, match=r"codes must be from 0 to 7 with bits=3, codes\[1, 4\] is 8"):
        net.outputs(np.array([[0] * 37, [0] * 4 + [8] + [0] * 32], np.uint8))
    with pytest.raises(ValueError, match="codes must be contiguous"):
        net.outputs(np.zeros((4, 37), np.uint8)[::2])
    with pytest.raises(TypeError, match="codes must be uint8, uint16 or uint32"):
        net.outputs(np.zeros((4, 37), np.int64))
