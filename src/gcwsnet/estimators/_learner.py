"""A net that learns from codes, batch by batch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gcwsnet.estimators._targets import Targets
from gcwsnet.nn import GCWSNet, LazyAdam

OPTIMIZERS = ("lazy", "adam")
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,  # noqa: ARG005
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 + 0.5 * math.cos(math.pi * done),
}
"""The factor of the learning rate when this share of all rows is done."""


def make_net(seed: int, device: torch.device, **settings: Any) -> GCWSNet:
    """Return a net drawn from a seed, the same on all devices; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GCWSNet(seed=seed, **settings).to(device)


def make_optimizer(net: nn.Module, kind: str, **settings: Any) -> torch.optim.Optimizer:
    """Return Adam on the rows of the table that occur, or on all of them as in the paper."""
    if kind == "lazy":
        return LazyAdam(net.parameters(), **settings)
    return torch.optim.AdamW(net.parameters(), **settings, fused=True)


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    """Let torch use n threads within the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Step(NamedTuple):
    """The sums of the losses and of the successes of a batch before it was learned, and the outputs for it."""

    loss: float
    success: float
    outputs: Tensor


class Learner:
    """A net, its optimizer, and the targets it learns.

    Parameters
    ----------
    net : GCWSNet
    optimizer : torch.optim.Optimizer
    targets : Targets
    """

    def __init__(self, net: GCWSNet, optimizer: torch.optim.Optimizer, targets: Targets) -> None:
        self.net, self.optimizer, self.targets = net, optimizer, targets

    def set_rate(self, rate: float) -> None:
        """Use a learning rate from now on."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def learn(self, codes: Tensor, target: Tensor, weight: Tensor | None) -> Step:
        """Make one step; return the loss and success of the rows before it."""
        device = self.device
        codes, target = codes.to(device), target.to(device)
        outputs = self.net(codes)
        loss = self.targets.loss(outputs, target)
        weighted = loss if weight is None else loss * weight.to(device)
        self.optimizer.zero_grad()
        weighted.mean().backward()
        total = float(loss.detach().sum())
        if not math.isfinite(total):
            raise ValueError(
                f"the loss of a batch became {total}; the training diverges: use a smaller learning_rate, "
                f"now {self.optimizer.param_groups[0]['lr']:g}, or smaller weights"
            )
        self.optimizer.step()
        with torch.no_grad():
            return Step(total, float(self.targets.success(outputs.detach(), target).sum()), outputs.detach())

    def outputs(self, codes: Tensor, rows_at_once: int = 8192) -> Tensor:
        """Return the outputs for codes, as float64 on the CPU.

        On a CPU the layers after the first are computed in float64, so that the outputs of a row do not depend on the
        rows beside it by more than float64 does.
        """
        first, rest = self.net.layers[0], self.net.layers[1:]
        if self.device.type == "cpu":
            rest = copy.deepcopy(rest).to(torch.float64)
        dtype = torch.float64 if self.device.type == "cpu" else first.weight.dtype
        with torch.no_grad():
            parts = [rest(first(part.to(self.device)).to(dtype)).cpu() for part in codes.split(rows_at_once)]
            return torch.cat(parts).to(torch.float64)

    def mean_loss_and_success(self, codes: Tensor, target: Tensor) -> tuple[float, float]:
        """Return the means over rows that are not learned from."""
        outputs = self.outputs(codes)
        loss = self.targets.loss(outputs, target).mean()
        return float(loss), float(self.targets.success(outputs, target).to(torch.float64).mean())

    @property
    def device(self) -> torch.device:
        """The device of the net."""
        return self.net.layers[0].weight.device


class EarlyStopping:
    """Early stopping by the loss on held-out rows, which keeps the best weights.

    Parameters
    ----------
    patience : int
        Records without a lower loss before it is time to stop.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.least = math.inf
        self._since = 0
        self._weights: dict[str, Any] | None = None

    def is_over(self, loss: float, net: nn.Module) -> bool:
        """Take in the loss of a record, and tell whether it is time to stop."""
        if loss < self.least:
            self.least, self._since = loss, 0
            self._weights = {name: value.detach().clone() for name, value in net.state_dict().items()}
        else:
            self._since += 1
        return self._since >= self.patience

    def restore(self, net: nn.Module) -> None:
        """Put the best weights back."""
        if self._weights is not None:
            net.load_state_dict(self._weights)
