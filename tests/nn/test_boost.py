"""Boosted networks: a last layer that learned from codes, in a network that is left alone."""

import copy
from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from gcwsnet.nn import GCWSLayer, boost

X, Y = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
X = X.to(torch.float32) / 16
TRAIN = list(zip(X[:1400].split(64), Y[:1400].split(64), strict=True))


def network_of(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Dropout(0.5), nn.Linear(100, 10), nn.LogSoftmax(1))


def trained(network: nn.Module, epochs: int) -> nn.Module:
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(epochs):
        for inputs, target in TRAIN:
            nn.functional.nll_loss(network(inputs), target).backward()
            optimizer.step()
            optimizer.zero_grad()
    return network


def accuracy(network: nn.Module) -> float:
    """Return the share of the test rows that are right."""
    was_training = network.training
    with torch.no_grad():
        right = network.eval()(X[1400:]).argmax(1) == Y[1400:]
    network.train(was_training)
    return float(right.float().mean())


def state(network: nn.Module) -> list[Any]:
    return [(name, value.clone()) for name, value in network.state_dict().items()]


def test_a_network_is_far_better_at_first_and_not_worse_at_the_end() -> None:
    """Untrained: at least 0.5 better. After 8 epochs: at most 0.02 below, three standard errors of 397 rows."""
    start = network_of()
    assert accuracy(boost(start, TRAIN)) > accuracy(start) + 0.5
    end = trained(network_of(), 8)
    assert accuracy(boost(end, TRAIN)) > accuracy(end) - 0.02


def test_the_network_is_not_changed() -> None:
    network = trained(network_of(), 1)
    network[0].requires_grad_(False)
    before, modes = state(network), [module.training for module in network.modules()]
    boosted = boost(network, TRAIN)
    for (name, value), (same, after) in zip(before, state(network), strict=True):
        assert name == same
        assert value.numpy().tobytes() == after.numpy().tobytes()
    assert [module.training for module in network.modules()] == modes
    assert isinstance(network[3], nn.Linear)
    assert boosted[0].weight is network[0].weight
    assert not [hook for module in network.modules() for hook in module._forward_pre_hooks]


def test_the_boosted_network_stands_in_for_the_network(tmp_path: Any) -> None:
    network = network_of()
    boosted = boost(network, TRAIN)
    boosted.eval()
    with torch.no_grad():
        outputs = boosted(X[:5])
        assert outputs.shape == (5, 10)
        torch.testing.assert_close(outputs.exp().sum(1), torch.ones(5))  # what follows the layer is still there
        torch.save(boosted.state_dict(), tmp_path / "state.pt")
        other = boost(network_of(1), TRAIN[:1], seed=9)
        other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
        assert torch.equal(other.eval()(X[:5]), outputs)
        assert torch.equal(copy.deepcopy(boosted)(X[:5]), outputs)


def test_the_same_seed_gives_the_same_layer() -> None:
    network = network_of()
    one, same, other = (boost(network, TRAIN, seed=seed)[3] for seed in (1, 1, 2))
    assert torch.equal(one.linear.weight, same.linear.weight)
    assert not torch.equal(one.linear.weight, other.linear.weight)


class Named(nn.Module):
    """A network whose layers are called in another order than they are registered, with several arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.first = nn.Linear(20, 10), nn.Linear(64, 20)

    def forward(self, rows: Tensor, scale: Tensor) -> Tensor:
        return self.head(torch.relu(self.first(rows * scale)))


def test_the_layer_is_found_or_told() -> None:
    network, one = Named(), torch.ones(1)
    by_place = [((rows, one), labels) for rows, labels in TRAIN]
    by_name = [({"rows": rows, "scale": one}, labels) for rows, labels in TRAIN]
    found = [
        boost(network, by_place),
        boost(network, by_name),
        boost(network, by_place, "head"),
        boost(network, by_place, network.head),
    ]
    for boosted in found:
        assert isinstance(boosted.head, GCWSLayer)
        assert torch.equal(boosted.head.linear.weight, found[0].head.linear.weight)


def test_a_stream_and_several_epochs() -> None:
    network = network_of()
    assert accuracy(boost(network, TRAIN, epochs=3)) > 0.85

    class Stream:
        """A loader without a length."""

        def __iter__(self) -> Any:
            return iter(TRAIN)

    assert accuracy(boost(network, Stream())) > 0.8


def test_wrong_calls_are_errors_that_say_what_to_give() -> None:
    network = network_of()
    with pytest.raises(ValueError, match=r"layer must be one of the network's, 0, 1, 2, 3, 4; got 'last'"):
        boost(network, TRAIN, "last")
    with pytest.raises(ValueError, match="layer must be a module of the network"):
        boost(network, TRAIN, nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"must have out_features, the number of classes, got ReLU\(\)"):
        boost(network, TRAIN, "1")
    with pytest.raises(ValueError, match="class numbers must be from 0 to 9, the outputs of the layer, got 12"):
        boost(network, [(X[:3], torch.tensor([1, 2, 12]))])
    with pytest.raises(ValueError, match=r"one class number for each embedding, an integer, got torch.float32"):
        boost(network, [(X[:3], torch.zeros(3))])
    with pytest.raises(ValueError, match="at least one batch"):
        boost(network, [], "3")
    with pytest.raises(ValueError, match=r"no torch.nn.Linear of the network is called"):
        boost(nn.ReLU(), TRAIN)
