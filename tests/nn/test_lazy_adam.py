"""LazyAdam equals SparseAdam on tables and Adam elsewhere, and its gradients behave as those of torch do."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from gcwsnet.nn import GCWSNet, HashedLinear, LazyAdam

K, BITS = 12, 5


def batches(n: int, size: int = 16, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n):
        # Few of the codes are frequent, as in real data, and many are rare.
        codes = (torch.rand((size, K), generator=generator) ** 3 * 2**BITS).to(torch.uint8)
        yield codes, torch.randn((size, 3), generator=generator)


def make_net(reduction: Any = None, sparse: bool = True, hidden: tuple[int, ...] = (20,)) -> Any:
    torch.manual_seed(0)
    return GCWSNet(K, BITS, 3, hidden=hidden, reduction=reduction, seed=9, sparse=sparse)


def train(net: Any, optimizers: list[Any], steps: Iterator[tuple[Any, Any]], after: Any = None) -> None:
    for codes, target in steps:
        for optimizer in optimizers:
            optimizer.zero_grad()
        (net(codes) - target).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
        if after is not None:
            after()


def table_of(net: Any) -> Any:
    return net.layers[0].weight


def others_of(net: Any) -> list[Any]:
    return [parameter for parameter in net.parameters() if parameter is not table_of(net)]


def assert_same_weights(net: Any, other: Any, **tolerance: float) -> None:
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two, **tolerance)


def train_by_torch(
    net: Any, steps: Iterator[tuple[Any, Any]], lr: float = 0.01, after: Any = None, **more: Any
) -> None:
    """Train with SparseAdam on the table and with Adam on all else."""
    pair = [
        torch.optim.SparseAdam([table_of(net)], lr=lr, **more),
        torch.optim.Adam(others_of(net), lr=lr, **more),
    ]
    schedules = [] if after is None else [after(one) for one in pair]
    train(net, pair, steps, after=lambda: [one.step() for one in schedules])


def same_bits(net: Any, other: Any) -> bool:
    return all(torch.equal(one, two) for one, two in zip(net.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("reduction", [None, 4])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.999), (0.0, 0.0)])
def test_a_table_is_updated_as_by_sparse_adam_and_all_else_as_by_adam(reduction: Any, betas: Any) -> None:
    ours, theirs = make_net(reduction), make_net(reduction)
    eps = 1e-3 if betas[1] == 0 else 1e-8  # without a mean of squares the sign of a rounding error would decide
    train(ours, [LazyAdam(ours.parameters(), lr=0.01, betas=betas, eps=eps)], batches(60))
    train_by_torch(theirs, batches(60), betas=betas, eps=eps)
    assert_same_weights(ours, theirs, atol=2e-5, rtol=1e-4)


def test_rows_that_did_not_occur_stay_as_they_are() -> None:
    net = make_net()
    optimizer = LazyAdam(net.parameters(), lr=0.1, weight_decay=0.1)
    before = table_of(net).detach().clone()
    codes, target = next(batches(1))
    train(net, [optimizer], iter([(codes, target)]))
    occurred = torch.zeros(K << BITS, dtype=torch.bool)
    occurred[codes.long() + torch.arange(K) * 2**BITS] = True
    assert torch.equal((table_of(net) != before).any(1), occurred)
    assert torch.equal((optimizer.state[table_of(net)]["exp_avg_sq"] != 0).any(1), occurred)


@pytest.mark.parametrize("path", ["native", "torch"])
def test_weight_decay_is_that_of_adamw(path: str) -> None:
    ours, theirs = make_net(), make_net(sparse=False)
    with torch.no_grad():
        table_of(theirs).copy_(table_of(ours))
    train(ours, [LazyAdam(ours.parameters(), lr=0.01, weight_decay=0.3, eps=1e-30)], batches(1))
    kind = torch.optim.AdamW if path == "torch" else LazyAdam  # on a dense gradient LazyAdam is AdamW
    train(theirs, [kind(theirs.parameters(), lr=0.01, weight_decay=0.3, eps=1e-30)], batches(1))
    codes, _ = next(batches(1))
    rows = (codes.long() + torch.arange(K) * 2**BITS).unique()
    # The first step of Adam does not depend on eps, so SparseAdam's and Adam's are the same on rows that occurred.
    torch.testing.assert_close(table_of(ours)[rows], table_of(theirs)[rows])
    for one, two in zip(others_of(ours), others_of(theirs), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("reduction", [None, 3])
def test_the_number_of_threads_changes_no_bit(n_threads: int, reduction: Any) -> None:
    """The batches are large enough for the core to use several threads."""

    def table_after(threads: int) -> Any:
        torch.manual_seed(0)
        layer = HashedLinear(64, 6, 50, reduction=reduction)
        optimizer = LazyAdam([layer.weight], lr=0.01)
        torch.set_num_threads(threads)
        for step in range(3):
            codes = torch.randint(0, 64, (100, 64), generator=torch.Generator().manual_seed(step))
            optimizer.zero_grad()
            layer(codes).square().sum().backward()
            optimizer.step()
        return layer.weight.detach()

    assert torch.equal(table_after(n_threads), table_after(1))


@pytest.mark.parametrize("later", [False, True])
def test_groups_have_their_own_settings_and_may_be_added_later(later: bool) -> None:
    ours, theirs = make_net(), make_net()
    groups: list[dict[str, Any]]
    groups = [{"params": others_of(ours), "betas": (0.0, 0.9)}, {"params": [table_of(ours)], "lr": 0.03}]
    optimizer = LazyAdam(groups[:1] if later else groups, lr=0.01)
    if later:
        optimizer.add_param_group(groups[1])
    train(ours, [optimizer], batches(20))
    pair = [
        torch.optim.SparseAdam([table_of(theirs)], lr=0.03),
        torch.optim.Adam(others_of(theirs), lr=0.01, betas=(0.0, 0.9)),
    ]
    train(theirs, pair, batches(20))
    assert_same_weights(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("through", ["state_dict", "pickle", "deepcopy"])
def test_training_goes_on_to_the_same_bits_after_saving(through: str) -> None:
    whole = make_net()
    optimizer = LazyAdam(whole.parameters(), lr=0.01, weight_decay=0.01)
    train(whole, [optimizer], batches(8))
    if through == "state_dict":
        saved = copy.deepcopy((whole.state_dict(), optimizer.state_dict()))
        net = GCWSNet(K, BITS, 3, hidden=(20,))
        net.load_state_dict(saved[0])
        restored = LazyAdam(net.parameters())
        restored.load_state_dict(saved[1])
    elif through == "pickle":
        net, restored = pickle.loads(pickle.dumps((whole, optimizer)))
    else:
        net, restored = copy.deepcopy((whole, optimizer))
    train(whole, [optimizer], batches(8, seed=1))
    train(net, [restored], batches(8, seed=1))
    assert same_bits(net, whole)


def test_several_backward_passes_before_a_step_add_up() -> None:
    parts, whole = make_net(), make_net()
    optimizers = LazyAdam(parts.parameters(), lr=0.01), LazyAdam(whole.parameters(), lr=0.01)
    for codes, target in batches(10):
        for optimizer in optimizers:
            optimizer.zero_grad()
        for part in (slice(0, 5), slice(5, 16)):
            dtype = torch.uint8 if part.start else torch.uint16
            (parts(codes[part].to(dtype)) - target[part]).square().sum().backward()
        (whole(codes) - target).square().sum().backward()
        for optimizer in optimizers:
            optimizer.step()
    assert_same_weights(parts, whole, atol=1e-5, rtol=1e-4)


def test_tensors_may_be_used_again_before_the_step() -> None:
    net, other = make_net(hidden=()), make_net(hidden=())
    for one, reuse in ((net, True), (other, False)):
        optimizer = LazyAdam(one.parameters(), lr=0.01)
        codes, gradient = next(batches(1))
        one(codes).backward(gradient)
        if reuse:
            codes.zero_()
            gradient.zero_()
        optimizer.step()
    assert torch.equal(table_of(net), table_of(other))


@pytest.mark.parametrize("zero", ["optimizer", "in place"])
def test_dropped_gradients_are_not_applied(zero: str) -> None:
    net, other = make_net(), make_net()
    optimizer = LazyAdam(net.parameters(), lr=0.01)
    (codes, target), kept = batches(2)
    (net(codes) - target).square().mean().backward()
    if zero == "optimizer":
        optimizer.zero_grad()
    else:
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
    if zero != "in place":  # where gradients of zero are a step
        optimizer.step()
        assert same_bits(net, other)
    (net(kept[0]) - kept[1]).square().mean().backward()
    optimizer.step()
    train(other, [LazyAdam(other.parameters(), lr=0.01)], iter([kept]))
    assert same_bits(net, other)


class TwoTables(nn.Module):  # type: ignore[misc,unused-ignore]
    """Two hashed layers, the first of which is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = HashedLinear(K, BITS, 3), HashedLinear(K, BITS, 3, reduction=2)

    def forward(self, codes: Any) -> Any:
        return self.first(codes) * self.second(codes) + self.first(codes.flip(0))


def test_several_layers_and_a_layer_used_twice() -> None:
    torch.manual_seed(0)
    ours = TwoTables()
    theirs = copy.deepcopy(ours)
    train(ours, [LazyAdam(ours.parameters(), lr=0.01)], batches(20))
    tables = [theirs.first.weight, theirs.second.weight]
    pair = [
        torch.optim.SparseAdam(tables, lr=0.01),
        torch.optim.Adam([theirs.first.bias, theirs.second.bias], lr=0.01),
    ]
    train(theirs, pair, batches(20))
    assert_same_weights(ours, theirs, atol=1e-5, rtol=1e-4)


def test_sparse_gradients_of_other_layers_are_taken_too() -> None:
    torch.manual_seed(0)
    ours = nn.EmbeddingBag(50, 4, mode="sum", sparse=True)
    theirs = copy.deepcopy(ours)
    pair = [LazyAdam(ours.parameters(), lr=0.01), torch.optim.SparseAdam(theirs.parameters(), lr=0.01)]
    for step in range(10):
        rows = torch.randint(0, 50, (6, 5), generator=torch.Generator().manual_seed(step))
        for bag, optimizer in zip((ours, theirs), pair, strict=True):
            optimizer.zero_grad()
            bag(rows).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


def test_a_double_table_is_trained_by_torch() -> None:
    ours, theirs = (make_net().double() for _ in range(2))
    steps = [(codes, target.double()) for codes, target in batches(10)]
    train(ours, [LazyAdam(ours.parameters(), lr=0.01)], iter(steps))
    train_by_torch(theirs, iter(steps))
    assert_same_weights(ours, theirs)


def test_a_penalty_on_the_table_joins_its_gradient() -> None:
    """Then the gradient is dense, and the table is updated as a whole."""
    ours, theirs = make_net(hidden=()), make_net(sparse=False, hidden=())
    with torch.no_grad():
        table_of(theirs).copy_(table_of(ours))
    for net, kind in ((ours, LazyAdam), (theirs, torch.optim.Adam)):
        optimizer = kind(net.parameters(), lr=0.01)
        for codes, target in batches(5):
            optimizer.zero_grad()
            ((net(codes) - target).square().mean() + table_of(net).square().sum()).backward()
            optimizer.step()
    assert_same_weights(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_what_looks_at_the_gradient_finds_the_sparse_one(create_graph: bool) -> None:
    net, other = make_net(hidden=()), make_net(hidden=(), sparse=False)
    codes, _ = next(batches(1))
    hooked: list[Any] = []
    table_of(net).register_hook(lambda gradient: hooked.append(gradient.to_dense()))
    for one in (net, other):
        one(codes).sum().backward(create_graph=create_graph)
    asked = torch.autograd.grad(net(codes).sum(), table_of(net))[0]
    for found in (table_of(net).grad, asked):
        assert found.is_sparse
        assert found.shape == table_of(net).shape
        torch.testing.assert_close(found.coalesce().to_dense(), table_of(other).grad)
    torch.testing.assert_close(hooked[0], table_of(other).grad)


def test_a_gradient_changed_in_place_is_applied_as_it_is() -> None:
    ours, theirs = make_net(hidden=()), make_net(hidden=())
    codes, target = next(batches(1))
    for net, kind in ((ours, LazyAdam), (theirs, torch.optim.SparseAdam)):
        optimizer = kind([table_of(net)], lr=0.01, eps=1.0)
        (net(codes) - target).square().mean().backward()
        table_of(net).grad.mul_(3)
        (net(codes) - target).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(table_of(ours), table_of(theirs))


def test_a_closure_is_called_with_gradients_on() -> None:
    net = make_net()
    optimizer = LazyAdam(net.parameters(), lr=0.01)
    codes, target = next(batches(1))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (net(codes) - target).square().mean()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(30)]
    assert losses[-1] < losses[0] / 2


def test_a_change_of_the_table_is_seen_by_autograd() -> None:
    net = make_net(hidden=())
    optimizer = LazyAdam(net.parameters())
    kept = table_of(net).square().sum()
    net(next(batches(1))[0]).sum().backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_wrong_settings_are_named() -> None:
    net = make_net()
    for settings, rule in (
        ({"lr": -1.0}, "lr must be at least 0, got lr=-1.0"),
        ({"betas": (0.9, 1.0)}, r"betas must be two numbers from 0 to below 1, got betas=\(0.9, 1.0\)"),
        ({"weight_decay": float("nan")}, "weight_decay must be at least 0, got weight_decay=nan"),
        ({"eps": -1e-8}, "eps must be at least 0, got eps=-1e-08"),
    ):
        with pytest.raises(ValueError, match=rule):
            LazyAdam(net.parameters(), **settings)
