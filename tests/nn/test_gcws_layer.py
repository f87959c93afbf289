"""GCWSLayer: hashed embeddings of a network that is left alone."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from gcwsnet import GCWSHasher
from gcwsnet.nn import GCWSLayer

ROWS = torch.from_numpy(np.random.default_rng(0).normal(size=(20, 6))).to(torch.float32)


@pytest.mark.parametrize(
    "hashing", [{}, {"p": 3.0, "t_bits": 0, "encoding": "lowbits"}, {"t_bits": 2, "encoding": "mixed"}]
)
def test_codes_are_those_of_the_hasher(hashing: dict[str, Any]) -> None:
    layer = GCWSLayer(6, 3, n_hashes=32, bits=4, seed=5, **hashing)
    expected = GCWSHasher(32, bits=4, random_state=5, **hashing).fit_transform(ROWS.numpy())
    np.testing.assert_array_equal(layer.codes(ROWS).numpy(), expected)
    torch.testing.assert_close(layer(ROWS), layer.linear(torch.from_numpy(expected)))


def test_no_gradient_reaches_the_network() -> None:
    network = nn.Linear(6, 4)
    layer = GCWSLayer(4, 3, n_hashes=16, sparse=False)
    layer(network(ROWS)).sum().backward()
    assert network.weight.grad is None
    assert layer.linear.weight.grad is not None


def test_a_state_dict_brings_the_settings_of_the_hashes_along() -> None:
    saved = GCWSLayer(6, 3, n_hashes=16, bits=4, p=3.0, t_bits=2, encoding="lowbits", seed=2**64 - 1)
    loaded = GCWSLayer(6, 3, n_hashes=16, bits=6)
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(saved.codes(ROWS), loaded.codes(ROWS))
    assert torch.equal(saved(ROWS), loaded(ROWS))
    with pytest.raises(ValueError, match="a state of 16 hashes of 6 bits cannot be loaded into a layer of 8 hashes"):
        GCWSLayer(6, 3, n_hashes=8, bits=6).load_state_dict(saved.state_dict())


def test_meta_tensors_have_the_shapes_of_results() -> None:
    layer = GCWSLayer(6, 3, n_hashes=16, bits=4, device="meta")
    codes = layer.codes(torch.empty((5, 6), device="meta"))
    assert (codes.shape, codes.dtype, codes.device.type) == (torch.Size([5, 16]), torch.uint8, "meta")
    assert layer(torch.empty((5, 6), device="meta")).shape == (5, 3)


@pytest.mark.slow
def test_a_compiled_layer_gives_the_same() -> None:
    network = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), GCWSLayer(6, 3, n_hashes=16))
    compiled = torch.compile(network, backend="eager")
    with torch.no_grad():
        torch.testing.assert_close(compiled(ROWS), network(ROWS))


def test_copies_and_pickles_keep_the_hashes() -> None:
    layer = GCWSLayer(6, 3, bits=4, p=2.0, t_bits=1, seed=7)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other.codes(ROWS), layer.codes(ROWS))
        assert torch.equal(other(ROWS), layer(ROWS))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_hashed_as_float32(dtype: torch.dtype) -> None:
    layer = GCWSLayer(6, 3)
    half = ROWS.to(dtype)
    assert torch.equal(layer.codes(half), layer.codes(half.to(torch.float32)))


@pytest.mark.parametrize("shape", [(6,), (4, 5), (2, 3, 6)])
def test_embeddings_of_another_shape_are_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"embeddings must be n x 6, got the shape"):
        GCWSLayer(6, 3)(torch.zeros(shape))
