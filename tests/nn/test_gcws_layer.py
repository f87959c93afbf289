"""GCWSLayer: hashed embeddings of a network that is left alone."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from gcwsnet import GCWSHasher
from gcwsnet.nn import GCWSLayer, LazyAdam

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


def test_a_state_dict_brings_the_hashes_along() -> None:
    saved, loaded = GCWSLayer(6, 3, seed=2**64 - 1), GCWSLayer(6, 3, seed=1)
    assert not torch.equal(saved.codes(ROWS), loaded.codes(ROWS))
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(saved.codes(ROWS), loaded.codes(ROWS))
    assert torch.equal(saved(ROWS), loaded(ROWS))


def test_copies_and_pickles_keep_the_hashes() -> None:
    layer = GCWSLayer(6, 3, bits=4, p=2.0, t_bits=1, seed=7)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other.codes(ROWS), layer.codes(ROWS))
        assert torch.equal(other(ROWS), layer(ROWS))


def test_half_precision_is_hashed_as_float32() -> None:
    layer = GCWSLayer(6, 3)
    half = ROWS.to(torch.bfloat16)
    assert torch.equal(layer.codes(half), layer.codes(half.to(torch.float32)))


@pytest.mark.parametrize("shape", [(6,), (4, 5), (2, 3, 6)])
def test_embeddings_of_another_shape_are_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"embeddings must be n x 6, got the shape"):
        GCWSLayer(6, 3)(torch.zeros(shape))


def test_wrong_sizes_are_errors() -> None:
    with pytest.raises(ValueError, match="in_features must be from 1"):
        GCWSLayer(0, 3)


def test_repr_tells_what_it_was_made_with() -> None:
    assert "in_features=6, n_hashes=256, bits=8, p=2" in repr(GCWSLayer(6, 3, p=2))


def test_it_makes_much_of_a_network_that_has_hardly_learned() -> None:
    """As in section 6 of the paper: embeddings of random weights are worth a lot."""
    X, y = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
    torch.manual_seed(0)
    hidden = nn.Sequential(nn.Linear(64, 100), nn.ReLU())
    last = nn.Linear(100, 10)
    with torch.no_grad():
        embeddings = hidden(X.to(torch.float32))
        before = (last(embeddings).argmax(1) == y)[1200:].float().mean().item()
    layer = GCWSLayer(100, 10)
    codes = layer.codes(embeddings)
    optimizer = LazyAdam(layer.linear.parameters(), lr=0.003)
    for batch in torch.randperm(1200).split(32):
        loss = nn.functional.cross_entropy(layer.linear(codes[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        after = (layer(embeddings).argmax(1) == y)[1200:].float().mean().item()
    assert after > before + 0.4
