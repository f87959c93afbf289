"""The same net on torch: for devices other than the CPU, and as the reference that the native net is tested by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gcwsnet.net._net import AVERAGE, LAST, RECENT, RECENT_ROWS, Arrays, NativeNet, Net, diverged
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.nn._hashed_linear import GCWSNet
from gcwsnet.nn._lazy_adam import LazyAdam

AVERAGING_STEP = 1 / 32

MOMENTS = {"exp_avg_sq": "second_moments", "exp_avg": "first_moments"}

LOSSES: dict[str, Any] = {
    "squared_error": functional.mse_loss,
    "absolute_error": functional.l1_loss,
    "huber": functional.huber_loss,
    "binary_cross_entropy": functional.binary_cross_entropy_with_logits,
}


class TorchNet(Net):
    """A net of torch on any of its devices. It begins with the weights that the native net begins with."""

    def __init__(
        self,
        settings: TrainingSettings,
        targets: Targets,
        *,
        n_hashes: int,
        code_bits: int,
        seed: int,
        device: str,
    ) -> None:
        super().__init__(settings, targets, n_hashes=n_hashes, code_bits=code_bits, seed=seed)
        lazy = settings.optimizer == "lazy"
        with torch.random.fork_rng(devices=[]):  # the weights that the module begins with are replaced
            self.module = GCWSNet(
                n_hashes,
                code_bits,
                targets.n_outputs,
                hidden=settings.layers(),
                reduction=settings.reduction,  # type: ignore[arg-type]
                seed=seed,
                sparse=lazy,
            )
        self.load(NativeNet(settings, targets, n_hashes=n_hashes, code_bits=code_bits, seed=seed).weights())
        self.module.to(torch.device(device))
        adam: dict[str, Any] = {"betas": settings.betas, "weight_decay": settings.weight_decay}
        parameters = self.module.parameters()
        self.optimizer: torch.optim.Optimizer = (
            LazyAdam(parameters, **adam) if lazy else torch.optim.AdamW(parameters, **adam, fused=True)
        )
        self._rows_seen = 0
        self._averages: tuple[dict[str, Tensor], dict[str, Tensor]] | None = None
        self._averaging_rows = [0, 0, 0, 0]
        self._recent: dict[str, Tensor] | None = None

    @property
    def device(self) -> torch.device:
        """Where the net is."""
        return self.module.layers[0].weight.device

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
        """Take one step for each rate."""
        losses, outputs = [], []
        with _torch_threads(n_jobs):
            for step, rate in enumerate(rates):
                rows = slice(step * batch_size, (step + 1) * batch_size)
                found = self.module(self._tensor(codes[rows]))
                loss = self._losses(found, self._tensor(target[rows]))
                weighted = loss if weight is None else loss * self._tensor(weight[rows].astype(np.float32))
                for group in self.optimizer.param_groups:
                    group["lr"] = float(rate)
                self.optimizer.zero_grad()
                weighted.mean().backward()
                sum_of_losses = float(loss.detach().sum())
                if not math.isfinite(sum_of_losses):
                    raise diverged(rate)
                self.optimizer.step()
                losses.append(sum_of_losses)
                outputs.append(found.detach().cpu().numpy())
                self._average(len(found))
        return np.array(losses), np.concatenate(outputs)

    def outputs(self, codes: NDArray[Any], *, n_jobs: int, weights: str | None = None) -> NDArray[np.float32]:
        """Return the outputs for codes."""
        with _torch_threads(n_jobs), torch.no_grad():
            chosen = self._chosen_weights(self.predicts_with if weights is None else weights)
            parts = [
                torch.func.functional_call(self.module, chosen, (self._tensor(codes[first : first + 8192]),))
                for first in range(0, len(codes), 8192)
            ]
            return torch.cat(parts).cpu().numpy()

    def weights(self) -> Arrays:
        """Return copies of all weights."""
        return _arrays(dict(self.module.named_parameters()))

    def predicting_weights(self) -> Arrays:
        """Return the weights that predict."""
        return _arrays(self._chosen_weights(self.predicts_with))

    def optimizer_state(self) -> Arrays:
        """Return the moments there are and the number of steps."""
        names = [name for name, _ in self.module.named_parameters()]
        state: Arrays = {"n_steps": np.array([self.n_steps])}
        for number, of_parameter in self.optimizer.state_dict()["state"].items():
            for key, moments in MOMENTS.items():
                if key in of_parameter:
                    state[f"{moments}.{names[number]}"] = of_parameter[key].cpu().numpy()
        return state

    def load(self, weights: Arrays, optimizer: Arrays | None = None) -> None:
        """Take weights and the optimizer's state."""
        parameters = dict(self.module.named_parameters())
        if parameters.keys() != weights.keys():
            raise KeyError(f"arrays {sorted(weights)} for a net with {sorted(parameters)}")
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(torch.from_numpy(np.ascontiguousarray(weights[name])))
        if not optimizer:
            return
        lazy = isinstance(self.optimizer, LazyAdam)
        n_steps = int(optimizer["n_steps"][0])
        state: dict[int, dict[str, Any]] = {}
        for number, name in enumerate(parameters):
            moments = {
                key: torch.from_numpy(np.ascontiguousarray(optimizer[f"{kept}.{name}"]))
                for key, kept in MOMENTS.items()
                if f"{kept}.{name}" in optimizer
            }
            if moments:
                state[number] = {"step": n_steps if lazy else torch.tensor(float(n_steps)), **moments}
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})

    @property
    def n_steps(self) -> int:
        """The steps that have been taken."""
        state = self.optimizer.state_dict()["state"]
        return int(state[0]["step"]) if state else 0

    @property
    def is_averaging(self) -> bool:
        """Whether weights are averaged."""
        return self._averages is not None

    def start_averaging(self, rows_seen: int, *, recent: bool = False) -> None:
        """Average the weights from here on."""
        self._rows_seen = rows_seen
        older = rows_seen - rows_seen // 2
        now = self._last_weights()
        self._averages = (
            {name: value * older for name, value in now.items()},
            {name: torch.zeros_like(value) for name, value in now.items()},
        )
        self._averaging_rows = [rows_seen, older, 0, 0]
        if recent and self._recent is None:
            self._recent = {name: value.clone() for name, value in now.items()}
        self.predicts_with = AVERAGE

    def stop_averaging(self) -> None:
        """Forget the averages."""
        self._averages = self._recent = None
        self.predicts_with = LAST

    def averages_state(self) -> tuple[Arrays, list[int]]:
        """Return the averages: sums of weights times rows, and the mean over recent rows."""
        assert self._averages is not None  # noqa: S101
        parts = {"older": self._averages[0], "newer": self._averages[1], "recent": self._recent or {}}
        arrays = {f"{part}.{name}": value for part, kept in parts.items() for name, value in _arrays(kept).items()}
        return arrays, [*self._averaging_rows, self._rows_seen]

    def load_averages(self, arrays: Arrays, rows: list[int]) -> None:
        """Take averages back."""
        self.start_averaging(rows[4], recent=any(name.startswith("recent.") for name in arrays))
        assert self._averages is not None  # noqa: S101
        for which, kept in zip(("older", "newer", "recent"), (*self._averages, self._recent or {}), strict=True):
            for name, value in kept.items():
                value.copy_(torch.from_numpy(np.ascontiguousarray(arrays[f"{which}.{name}"])))
        if "taken" in arrays:  # rows of the table that the native core has not brought up to date
            behind = torch.from_numpy(rows[0] + rows[2] - arrays["taken"]).to(self.device)
            table, weight = next(iter(self._averages[1].values())), next(iter(self.module.parameters())).detach()
            table.add_(behind[:, None] * weight)
        if "recent.taken" in arrays and self._recent is not None:
            taken = arrays["recent.taken"]
            share = np.where(taken < 0, 1.0, 1 - (1 - 1 / RECENT_ROWS) ** np.maximum(self._rows_seen - taken, 0))
            table, weight = next(iter(self._recent.values())), next(iter(self.module.parameters())).detach()
            table.lerp_(weight, torch.from_numpy(share.astype(np.float32)).to(self.device)[:, None])
        self._averaging_rows = list(rows[:4])

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more output: a net of the same weights, with zeros for the new output."""
        weights, optimizer = self.weights(), self.optimizer_state()
        averages = self.averages_state() if self.is_averaging else None
        last = list(weights)[-2:]

        def widened(arrays: Arrays) -> Arrays:
            ends = {name: next((end for end in last if name.endswith(end)), None) for name in arrays}
            axis = 0 if len(weights) > 2 else 1  # the table of a net without hidden layers has outputs as columns
            return {
                name: value
                if ends[name] is None
                else np.insert(value, place, 0.0, axis=axis if ends[name] == last[0] else 0)
                for name, value in arrays.items()
            }

        rows_seen, predicts_with, description = self._rows_seen, self.predicts_with, self.description()
        self.__init__(self.settings, targets, **description, device=str(self.device))  # type: ignore[misc]
        self.load(widened(weights), widened(optimizer))
        self._rows_seen = rows_seen
        if averages is not None:
            self.load_averages(widened(averages[0]), averages[1])
        self.predicts_with = predicts_with

    def _average(self, n_rows: int) -> None:
        """Add the weights to the means; once the newer sum covers half of the stream, it is the older one."""
        self._rows_seen += n_rows
        if self._averages is None:
            return
        now = self._last_weights()
        for name, mean in (self._recent or {}).items():
            mean.lerp_(now[name], 1 - (1 - 1 / RECENT_ROWS) ** n_rows)
        start, older_rows, newer_rows, origin = self._averaging_rows
        last, seen = start + newer_rows, self._rows_seen - origin
        if seen < (1 + AVERAGING_STEP) * last:
            return
        rows = seen - last
        for name, value in self._averages[1].items():
            value.add_(now[name], alpha=rows)
        self._averaging_rows = [start, older_rows, newer_rows + rows, origin]
        if seen >= 2 * start:
            self._averages = self._averages[1], {name: torch.zeros_like(value) for name, value in now.items()}
            self._averaging_rows = [seen, newer_rows + rows, 0, origin]

    def _last_weights(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.module.named_parameters()}

    def _chosen_weights(self, which: str) -> dict[str, Tensor]:
        rows = sum(self._averaging_rows[1:3])
        if which == RECENT and self._recent is not None:
            return self._recent
        if which == LAST or self._averages is None or not rows:
            return self._last_weights()
        older, newer = self._averages
        return {name: (value + newer[name]) / rows for name, value in older.items()}

    def _losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each row."""
        if self.targets.loss == "cross_entropy":
            return functional.cross_entropy(outputs, target.to(torch.int64), reduction="none")
        return LOSSES[self.targets.loss](outputs, target, reduction="none").mean(1)

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


class _torch_threads:  # noqa: N801
    """A context in which torch uses n threads."""

    def __init__(self, n: int) -> None:
        self.n, self.before = n, torch.get_num_threads()

    def __enter__(self) -> None:
        torch.set_num_threads(self.n)

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self.before)


def _arrays(tensors: dict[str, Tensor]) -> Arrays:
    return {name: value.detach().cpu().numpy().copy() for name, value in tensors.items()}
