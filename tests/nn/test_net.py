"""The net of the paper learns, in each of its depths."""

from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits
from torch.nn import functional

from gcwsnet import GCWSHasher
from gcwsnet.nn import GCWSNet, HashedLinear, LazyAdam


@pytest.mark.parametrize(("hidden", "n_layers"), [((), 1), ((8,), 2), ((8, 4), 3), ([8, 8, 8, 8], 5)])
def test_hidden_layers_are_those_asked_for(hidden: Any, n_layers: int) -> None:
    net = GCWSNet(6, 4, 3, hidden=hidden)
    linear = [layer for layer in net.layers if isinstance(layer, HashedLinear | torch.nn.Linear)]
    assert len(linear) == n_layers
    assert [layer.out_features for layer in linear] == [*hidden, 3]
    assert isinstance(linear[0], HashedLinear)
    assert net(torch.zeros((5, 6), dtype=torch.uint8)).shape == (5, 3)


def test_settings_of_the_first_layer_are_passed_on() -> None:
    net = GCWSNet(6, 4, 3, reduction=2, seed=11, sparse=False, dtype=torch.float64)
    first = net.layers[0]
    assert (first.reduction, first.seed, first.sparse, len(first.weight)) == (2, 11, False, 48)
    assert {parameter.dtype for parameter in net.parameters()} == {torch.float64}


@pytest.mark.parametrize(("hidden", "reduction"), [((), None), ((50,), None), ((50,), 8)])
def test_digits_are_learned_in_a_few_passes(hidden: Any, reduction: Any) -> None:
    X, y = load_digits(return_X_y=True)
    codes = torch.from_numpy(GCWSHasher(128, random_state=0).fit_transform(X))
    target = torch.from_numpy(y)
    torch.manual_seed(0)
    net = GCWSNet(128, 8, 10, hidden=hidden, reduction=reduction)
    optimizer = LazyAdam(net.parameters(), lr=0.005)
    for _ in range(4):
        for batch in torch.randperm(1300).split(32):
            optimizer.zero_grad()
            functional.cross_entropy(net(codes[batch]), target[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        right = net(codes[1300:]).argmax(1) == target[1300:]
    assert right.float().mean() > 0.9
