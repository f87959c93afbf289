"""The layer equals an embedding bag, forward and backward, on every path."""

import copy
import io
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from gcwsnet import CountSketch, GCWSHasher, _core
from gcwsnet.hashing._count_sketch import bins_and_signs
from gcwsnet.nn import HashedLinear, _hashed_linear

CODE_TYPES = [torch.uint8, torch.uint16, torch.uint32, torch.int32, torch.int64]


def random_codes(n: int, n_hashes: int, bits: int, dtype: Any = torch.int64, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2**bits, (n, n_hashes), generator=generator).to(dtype)


def by_embedding_bag(layer: Any, codes: Any, table: Any, bias: Any) -> Any:
    """The layer's definition, with the bins and signs that CountSketch takes."""
    positions = codes.numpy().astype(np.int64) + (np.arange(layer.n_hashes) << layer.bits)
    if layer.reduction == 1:
        return functional.embedding_bag(torch.from_numpy(positions), table, mode="sum") + bias
    bins, signs = bins_and_signs(layer.seed, positions, len(table))
    weights = torch.from_numpy(signs).to(table.dtype)
    rows = torch.from_numpy(bins.astype(np.int64))
    return functional.embedding_bag(rows, table, mode="sum", per_sample_weights=weights) + bias


def use_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hashed_linear, "_embedding_sum", _hashed_linear._embedding_bag)


def assert_equals_embedding_bag(layer: Any, codes: Any) -> None:
    torch.nn.init.normal_(layer.bias)
    table, bias = (one.detach().clone().requires_grad_() for one in (layer.weight, layer.bias))
    # Whole numbers, whose sums have no rounding: gradients are compared by equality.
    weights = torch.randint(-9, 9, (len(codes), layer.out_features), generator=torch.Generator().manual_seed(1))
    expected, out = by_embedding_bag(layer, codes, table, bias), layer(codes)
    torch.testing.assert_close(out, expected)
    assert out.dtype == table.dtype
    (expected * weights).sum().backward()
    (out * weights).sum().backward()
    assert layer.weight.grad.is_sparse == layer.sparse
    assert torch.equal(layer.weight.grad.to_dense(), table.grad)
    assert torch.equal(layer.bias.grad, bias.grad)


@pytest.mark.parametrize("path", ["native", "fallback"])
@pytest.mark.parametrize("reduction", [None, 3, "8bit"])
@pytest.mark.parametrize("sparse", [True, False])
def test_values_and_gradients_are_those_of_an_embedding_bag(
    path: str, reduction: Any, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "fallback":
        use_the_fallback(monkeypatch)
    layer = HashedLinear(7, 9, 20, reduction=reduction, seed=5, sparse=sparse)
    assert_equals_embedding_bag(layer, random_codes(33, 7, 9))


@given(
    n=st.integers(1, 40),
    n_hashes=st.integers(1, 40),
    bits=st.integers(1, 9),
    width=st.sampled_from([1, 3, 10, 16, 33, 200]),
    reduction=st.sampled_from([None, 2, 7, 10**6]),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_shape_is_that_of_an_embedding_bag(
    n: int, n_hashes: int, bits: int, width: int, reduction: Any, seed: int
) -> None:
    layer = HashedLinear(n_hashes, bits, width, reduction=reduction, seed=seed)
    assert_equals_embedding_bag(layer, random_codes(n, n_hashes, bits, seed=seed % 1000))


def test_every_instruction_set_gives_the_same_bits(instruction_set: str) -> None:
    torch.manual_seed(0)
    layer = HashedLinear(30, 6, 77, reduction=2)
    codes = random_codes(50, 30, 6)
    found = []
    for name in (instruction_set, "baseline"):
        _core.use_instruction_set(name)
        layer.zero_grad()
        out = layer(codes)
        out.square().sum().backward()
        found.append((out.detach(), layer.weight.grad.to_dense()))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


@pytest.mark.parametrize("path", ["native", "fallback"])
@pytest.mark.parametrize("dtype", CODE_TYPES)
def test_codes_of_every_type_look_up_the_same_rows(path: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if path == "fallback":
        use_the_fallback(monkeypatch)
    layer = HashedLinear(5, 8, 4)
    codes = random_codes(20, 5, 8)
    assert torch.equal(layer(codes.to(dtype)), layer(codes))


def test_a_double_table_goes_through_torch() -> None:
    layer = HashedLinear(6, 4, 5, reduction=2, dtype=torch.float64)
    assert_equals_embedding_bag(layer, random_codes(9, 6, 4))


def test_codes_need_not_be_contiguous() -> None:
    layer = HashedLinear(5, 8, 4)
    codes = random_codes(20, 10, 8)
    assert torch.equal(layer(codes[::2, ::2]), layer(codes[::2, ::2].contiguous()))
    assert torch.equal(layer(codes[:, :5].T.contiguous().T), layer(codes[:, :5].contiguous()))
    for part in codes[:1].split(5, 1):  # a single row, which is a part of a longer one
        layer(part).sum().backward()
        assert torch.equal(layer(part), layer(part.clone()))


@pytest.mark.parametrize("path", ["native", "fallback"])
def test_an_empty_batch_has_an_empty_output_and_no_gradient(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if path == "fallback":
        use_the_fallback(monkeypatch)
    layer = HashedLinear(5, 8, 4)
    out = layer(torch.empty((0, 5), dtype=torch.uint8))
    assert out.shape == (0, 4)
    out.sum().backward()
    assert layer.weight.grad.to_dense().count_nonzero() == 0
    assert layer.bias.grad.count_nonzero() == 0


@pytest.mark.parametrize("reduction", [4, "8bit"])
def test_a_reduced_layer_is_linear_in_the_count_sketch(reduction: Any) -> None:
    X = np.random.default_rng(0).normal(size=(12, 5))
    codes = GCWSHasher(20, bits=10, random_state=0).fit_transform(X)
    sketch = CountSketch(reduction, bits=10, random_state=7).fit_transform(codes)
    layer = HashedLinear(20, 10, 6, reduction=reduction, seed=7)
    assert layer.weight.shape == (sketch.shape[1], 6)
    expected = sketch.astype(np.float32) @ layer.weight.detach().numpy()
    np.testing.assert_allclose(layer(torch.from_numpy(codes)).detach(), expected, atol=1e-5)


@pytest.mark.parametrize("path", ["native", "fallback"])
@pytest.mark.parametrize(("dtype", "value"), [(torch.uint8, 16), (torch.int32, -1), (torch.int64, 2**40)])
def test_a_code_out_of_range_is_named(path: str, dtype: Any, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if path == "fallback":
        use_the_fallback(monkeypatch)
    codes = random_codes(9, 6, 4, dtype)
    codes[7, 2] = value
    rule = rf"codes must be from 0 to 15 with bits=4, codes\[7, 2\] is {value}; give the bits of the hasher"
    with pytest.raises(ValueError, match=rule):
        HashedLinear(6, 4, 5)(codes)


def test_wrong_arguments_are_named() -> None:
    layer = HashedLinear(6, 4, 5)
    with pytest.raises(TypeError, match=r"got a tensor of torch.float32; torch.from_numpy"):
        layer(torch.zeros(3, 6))
    with pytest.raises(TypeError, match=r"got ndarray; torch\.from_numpy"):
        layer(np.zeros((3, 6), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"codes must be n x 6, got the shape \(3, 5\)"):
        layer(torch.zeros((3, 5), dtype=torch.uint8))
    with pytest.raises(ValueError, match="bits must be from 1 to 32, got bits=40"):
        HashedLinear(6, 40, 5)
    with pytest.raises(ValueError, match=r"at most 2\*\*31 rows, got 4294967296 .* use a larger reduction"):
        HashedLinear(1, 32, 1)
    with pytest.raises(ValueError, match="reduction must be an integer, '8bit' or None, got reduction='4bit'"):
        HashedLinear(6, 4, 5, reduction="4bit")  # type: ignore[arg-type]


def test_the_seed_is_part_of_the_state() -> None:
    saved, loaded = (HashedLinear(6, 6, 3, reduction=4, seed=seed) for seed in (2**64 - 3, 1))
    codes = random_codes(5, 6, 6)
    loaded.load_state_dict(saved.state_dict())
    assert loaded.seed == 2**64 - 3
    assert torch.equal(loaded(codes), saved(codes))


def test_a_layer_can_be_copied_saved_and_used_in_workers() -> None:
    layer = HashedLinear(6, 6, 3, reduction=4)
    codes = random_codes(8, 6, 6)
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    expected = layer(codes)
    for other in (copy.deepcopy(layer), torch.load(file, weights_only=False)):
        assert torch.equal(other(codes), expected)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    layer.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        assert not layer(codes).requires_grad


def test_tables_start_within_the_scale() -> None:
    for scale in (0.3, 1.0):
        weight = HashedLinear(100, 8, 10, scale=scale).weight.detach()
        assert 0.99 * scale / 10 < weight.abs().max() <= scale / 10
    assert HashedLinear(100, 8, 10).weight.detach().abs().max() <= 0.3 / 10


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.SparseAdam])
def test_optimizers_of_torch_take_the_sparse_gradient(optimizer: Any) -> None:
    torch.manual_seed(0)
    layer = HashedLinear(6, 6, 3)
    bag = torch.nn.EmbeddingBag(6 << 6, 3, mode="sum", sparse=True, _weight=layer.weight.detach().clone())
    ours, theirs = optimizer([layer.weight], lr=0.1), optimizer([bag.weight], lr=0.1)
    for step in range(5):
        codes = random_codes(8, 6, 6, seed=step)
        for out, one in ((layer(codes), ours), (bag(codes + torch.arange(6) * 64), theirs)):
            one.zero_grad()
            (out - 1).square().sum().backward()
            one.step()
    torch.testing.assert_close(layer.weight, bag.weight)


def test_a_compiled_net_gives_the_same() -> None:
    layer = HashedLinear(6, 6, 3)
    net = torch.nn.Sequential(layer, torch.nn.ReLU())
    codes = random_codes(4, 6, 6)
    compiled = torch.compile(net, backend="eager")
    assert torch.equal(compiled(codes), net(codes))
    compiled(codes).sum().backward()
    assert layer.weight.grad.is_sparse
