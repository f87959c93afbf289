"""A net that torch trains on a device other than the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gcwsnet import _core
from gcwsnet.net._net import AVERAGE, Net, diverged, mean_outputs
from gcwsnet.net._packed import Arrays
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.nn._hashed_linear import GCWSNet
from gcwsnet.nn._lazy_adam import LazyAdam

MOMENTS = {"exp_avg_sq": "second_moments", "exp_avg": "first_moments"}
LOSSES: dict[str, Any] = {
    "squared_error": functional.mse_loss,
    "absolute_error": functional.l1_loss,
    "huber": functional.huber_loss,
    "binary_cross_entropy": functional.binary_cross_entropy_with_logits,
}


class TorchNet(Net):
    """A net whose steps torch takes on a device; weights and moments are copied back after each call of `train`.

    The native core predicts. Weights are not averaged, and averages that were loaded are dropped at the first step.
    """

    def __init__(self, settings: TrainingSettings, targets: Targets, *, device: str, **made: Any) -> None:
        super().__init__(settings, targets, **made)
        self.device = torch.device(device)
        self._learners: list[tuple[GCWSNet, torch.optim.Optimizer]] = []

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return state | {"description": state["description"] | {"device": str(self.device)}}

    def train(
        self,
        codes: NDArray[Any],
        target: NDArray[Any],
        weight: NDArray[Any] | None,
        rates: NDArray[np.float64],
        *,
        batch_size: int,
        n_jobs: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Take one step for each rate on the device."""
        self.packed = None
        self.stop_averaging()
        if not self._learners:
            self._learners = [self._learner(core) for core in self.cores]
        threads = torch.get_num_threads()
        torch.set_num_threads(n_jobs)
        try:
            k = self.n_hashes
            outputs = [
                self._steps(*learner, codes[:, j * k : (j + 1) * k], target, weight, rates, batch_size)
                for j, learner in enumerate(self._learners)
            ]
        finally:
            torch.set_num_threads(threads)
            for core, learner in zip(self.cores, self._learners, strict=True):
                _copy_back(core, *learner)
        mean = mean_outputs(outputs)
        losses = self.targets.losses(mean, target)
        return np.add.reduceat(losses, np.arange(0, len(losses), batch_size)), mean

    def _learner(self, core: _core.Net) -> tuple[GCWSNet, torch.optim.Optimizer]:
        """Return a module with the weights of the core, and its optimizer with the core's moments."""
        settings, lazy = self.settings, self.settings.optimizer == "lazy"
        with torch.random.fork_rng(devices=[]):  # the weights that the module begins with are replaced
            module = GCWSNet(
                self.n_hashes,
                self.code_bits,
                self.targets.n_outputs,
                hidden=settings.layers(),
                reduction=settings.reduction,
                seed=core.seed,
                sparse=lazy,
            )
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(torch.from_numpy(core.weights()[name]))
        module.to(self.device)
        adam: dict[str, Any] = {"betas": settings.betas, "weight_decay": settings.decay()}
        optimizer: torch.optim.Optimizer = (
            LazyAdam(module.parameters(), **adam) if lazy else torch.optim.AdamW(module.parameters(), **adam)
        )
        if core.n_steps:
            kept = {"exp_avg_sq": core.second_moments()}
            if not lazy or settings.betas[0]:
                kept["exp_avg"] = core.first_moments()
            state = {
                number: {"step": core.n_steps if lazy else torch.tensor(float(core.n_steps))}
                | {key: torch.from_numpy(moments[name].copy()) for key, moments in kept.items()}
                for number, (name, _) in enumerate(module.named_parameters())
            }
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        return module, optimizer

    def _steps(
        self,
        module: GCWSNet,
        optimizer: torch.optim.Optimizer,
        codes: NDArray[Any],
        target: NDArray[Any],
        weight: NDArray[Any] | None,
        rates: NDArray[np.float64],
        batch_size: int,
    ) -> NDArray[np.float32]:
        """Return the outputs for each row before its step."""
        outputs = []
        for step, rate in enumerate(rates):
            rows = slice(step * batch_size, (step + 1) * batch_size)
            found = module(self._tensor(codes[rows]))
            loss = self._losses(found, self._tensor(target[rows]))
            if not math.isfinite(float(loss.detach().sum())):
                raise diverged(rate)
            weighted = loss if weight is None else loss * self._tensor(weight[rows].astype(np.float32))
            for group in optimizer.param_groups:
                group["lr"] = float(rate)
            optimizer.zero_grad()
            weighted.mean().backward()
            optimizer.step()
            outputs.append(found.detach().cpu().numpy())
        return np.concatenate(outputs)

    def _losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each row."""
        if self.targets.loss == "cross_entropy":
            return functional.cross_entropy(outputs, target.to(torch.int64), reduction="none")
        return LOSSES[self.targets.loss](outputs, target, reduction="none").mean(1)

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def load(self, weights: Arrays, optimizer: Arrays | None = None) -> None:
        """Take weights and the optimizer's state."""
        super().load(weights, optimizer)
        self._learners = []

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more output."""
        super().insert_output(place, targets)
        self._learners = []

    def start_averaging(self, rows_seen: int, mean: str = AVERAGE) -> None:
        """Do nothing: only the native core averages weights."""


def _copy_back(core: _core.Net, module: GCWSNet, optimizer: torch.optim.Optimizer) -> None:
    """Give a native net the weights and moments of a module."""
    names = [name for name, _ in module.named_parameters()]
    for name, parameter in module.named_parameters():
        core.weights()[name][...] = parameter.detach().cpu().numpy()
    for number, state in optimizer.state_dict()["state"].items():
        core.n_steps = int(state["step"])
        for key, moments in MOMENTS.items():
            if key in state:
                getattr(core, moments)()[names[number]][...] = state[key].cpu().numpy()
