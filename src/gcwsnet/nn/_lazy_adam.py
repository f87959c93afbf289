"""Adam that updates only those rows of a table that a batch looked up."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer

from gcwsnet import _core
from gcwsnet.nn._table import GradientPart, LazyGradient, is_native, zero_table


class LazyAdam(Optimizer):
    """An Adam optimizer that updates only the rows of the tables of hashed layers that a batch picks.

    Parameters with ordinary gradients are updated as by `torch.optim.Adam`; those of float32 on a CPU in one pass of
    the native core. Rows of a `HashedLinear` are updated as by `torch.optim.SparseAdam`: a row that did not occur keeps
    its weights and its means. On a CPU that is done while the gradient of a row is summed, so each row that occurred is
    read and written once, and no gradient of the table is ever stored. Other parameters with sparse gradients are
    updated the same way, by torch.

    Parameters
    ----------
    params : iterable of parameters, of dicts or of named parameters
        As for all optimizers of torch. Some parameters of a net may be given to another optimizer.
    lr : float, default=1e-3
        The learning rate.
    betas : (float, float), default=(0.9, 0.999)
        How much of the mean of gradients and of the mean of their squares stays in a step. With a first beta of 0
        there is no mean of gradients, and no memory for it.
    eps : float, default=1e-8
        Added to the root of the mean of squares.
    weight_decay : float, default=0.0
        Decoupled from the gradient as in `torch.optim.AdamW`: weights are multiplied with 1 - lr * weight_decay in each
        step. Of a table, only the rows that occurred.

    Notes
    -----
    After `backward`, `.grad` of a table holds codes and gradients of outputs. What looks at it, such as another
    optimizer, a hook or the unscaling of `torch.amp.GradScaler`, finds the sparse gradient; its rows are then summed
    before the step, which takes longer. Several backward passes before a step add up.

    The number of threads is that of `torch.get_num_threads`. The weights are the same, to the last bit, for any number.

    Examples
    --------
    >>> import torch
    >>> from gcwsnet.nn import HashedLinear, LazyAdam
    >>> layer = HashedLinear(n_hashes=2, bits=2, out_features=3)
    >>> optimizer = LazyAdam(layer.parameters(), lr=0.1)
    >>> before = layer.weight.detach().clone()
    >>> layer(torch.tensor([[3, 1], [0, 1]])).sum().backward()
    >>> optimizer.step()
    >>> (layer.weight != before).any(1).nonzero().flatten()
    tensor([0, 3, 5])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    # torch's own, but without the wrapper whose first call loads torch's compiler, which takes seconds
    zero_grad = unwrap(Optimizer.zero_grad)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, as for all optimizers of torch."""
        unwrap(Optimizer.add_param_group)(self, param_group)
        group = self.param_groups[-1]
        for name in ("lr", "eps", "weight_decay"):
            if not float(group[name]) >= 0:
                raise ValueError(f"{name} must be at least 0, got {name}={group[name]}")
        if len(group["betas"]) != 2 or not all(0 <= beta < 1 for beta in group["betas"]):
            raise ValueError(f"betas must be two numbers from 0 to below 1, got betas={group['betas']}")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters, and return what `closure` returns, if there is one.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again, with its gradients.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._update(parameter, _Step(group, self._state_of(parameter, group)))
        return loss

    def _state_of(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg_sq"] = zero_table(parameter.shape, parameter.device, parameter.dtype)
        if group["betas"][0] != 0 and "exp_avg" not in state:
            state["exp_avg"] = zero_table(parameter.shape, parameter.device, parameter.dtype)
        state["step"] += 1
        return state

    def _update(self, parameter: Tensor, step: _Step) -> None:
        gradient = parameter.grad
        if isinstance(gradient, LazyGradient):
            part = _joined(gradient.parts) if gradient.summed is None else None
            if part is not None and step.is_native(parameter):
                step.on_rows_used(parameter, part)
                return
            gradient = gradient.value()
        if gradient.is_sparse:
            step.on_rows(parameter, gradient.coalesce())
        else:
            step.on_all(parameter, gradient)


class _Step:
    """A step of Adam on one parameter."""

    def __init__(self, group: dict[str, Any], state: dict[str, Any]) -> None:
        self.beta1, self.beta2 = group["betas"]
        self.eps = group["eps"]
        lr = float(group["lr"])
        self.decay = 1 - lr * group["weight_decay"]
        self.mean: Tensor | None = state["exp_avg"] if self.beta1 != 0 else None
        self.square: Tensor = state["exp_avg_sq"]
        self.root_correction = math.sqrt(1 - self.beta2 ** state["step"])
        self.rate = lr / (1 - self.beta1 ** state["step"])

    def is_native(self, parameter: Tensor) -> bool:
        """Return whether the native core takes the parameter and what is kept for it."""
        return is_native(parameter) and is_native(self.square) and (self.mean is None or is_native(self.mean))

    def on_rows_used(self, table: Tensor, part: GradientPart) -> None:
        """Step on the rows that the codes looked up, by the native core: summed and applied row by row."""
        self._natively(part.lookups().adam, table, part.output_gradient, self.eps)

    def on_rows(self, parameter: Tensor, gradient: Tensor) -> None:
        """Step on the rows of a coalesced sparse gradient, by torch."""
        rows, g = gradient.indices()[0], gradient.values()
        square = self.square[rows]
        square += (g * g - square) * (1 - self.beta2)
        self.square[rows] = square
        mean = g
        if self.mean is not None:
            mean = self.mean[rows]
            mean += (g - mean) * (1 - self.beta1)
            self.mean[rows] = mean
        change = mean / square.sqrt_().add_(self.eps) * (self.rate * self.root_correction)
        parameter[rows] = parameter[rows] * self.decay - change

    def on_all(self, parameter: Tensor, gradient: Tensor) -> None:
        """Step on all of a parameter."""
        if is_native(gradient) and self.is_native(parameter):
            # The same formula: here eps is added to the root that has been corrected.
            self._natively(_core.adam, parameter, gradient, self.eps * self.root_correction)
            return
        self.square.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        mean = gradient if self.mean is None else self.mean.lerp_(gradient, 1 - self.beta1)
        if self.decay != 1:
            parameter.mul_(self.decay)
        parameter.addcdiv_(mean, (self.square.sqrt() / self.root_correction).add_(self.eps), value=-self.rate)

    def _natively(self, adam: Callable[..., None], parameter: Tensor, gradient: Tensor, eps: float) -> None:
        adam(
            gradient.detach().numpy(),
            parameter.detach().numpy(),
            None if self.mean is None else self.mean.numpy(),
            self.square.numpy(),
            rate=self.rate * self.root_correction,
            new_mean=1 - self.beta1,
            new_square=1 - self.beta2,
            epsilon=eps,
            decay=self.decay,
            n_threads=torch.get_num_threads(),
        )
        torch.autograd.graph.increment_version(parameter)


def _joined(parts: list[GradientPart]) -> GradientPart | None:
    """Return all parts as one, or None if there are none or codes do not look up the same rows in all of them."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    first = parts[0]
    if any(part.code_to_row != first.code_to_row for part in parts):
        return None
    same_type = all(part.codes.dtype == first.codes.dtype for part in parts)
    codes = torch.cat([part.codes if same_type else part.codes.to(torch.int64) for part in parts])
    return GradientPart(first.code_to_row, codes, torch.cat([part.output_gradient for part in parts]))
