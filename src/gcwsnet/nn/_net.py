"""The net of the paper: a hashed first layer, then ordinary ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

from torch import Tensor, nn

from gcwsnet._validation import check_integer
from gcwsnet.nn._hashed_linear import HashedLinear


class GCWSNet(nn.Module):
    """A net on codes: a `HashedLinear`, then ReLU and `torch.nn.Linear` in turn.

    Parameters
    ----------
    n_hashes : int
        k, the columns of the codes.
    bits : int
        b, the bits of a code, with those that the hasher's `t_bits` appended.
    n_outputs : int
        Classes, or targets of a regression. No activation follows.
    hidden : sequence of int, default=(200,)
        Units of the hidden layers. In the paper's words, L = 1 is ``()``, L = 2 is ``(H,)`` and L = 3 is
        ``(H, H // 2)``.
    reduction, seed, sparse
        Passed on to `HashedLinear`.
    device, dtype : default=None
        Of all parameters.

    Attributes
    ----------
    layers : torch.nn.Sequential
        The first of them is the `HashedLinear`.

    Examples
    --------
    One pass over the digits, in batches of 32:

    >>> import torch
    >>> from sklearn.datasets import load_digits
    >>> from gcwsnet import GCWSHasher
    >>> from gcwsnet.nn import GCWSNet, LazyAdam
    >>> X, y = load_digits(return_X_y=True)
    >>> codes = torch.from_numpy(GCWSHasher(n_hashes=256, random_state=0).fit_transform(X))
    >>> y = torch.from_numpy(y)
    >>> _ = torch.manual_seed(0)
    >>> net = GCWSNet(n_hashes=256, bits=8, n_outputs=10, hidden=(100,))
    >>> optimizer = LazyAdam(net.parameters(), lr=0.002)
    >>> for batch in torch.randperm(1500).split(32):
    ...     loss = torch.nn.functional.cross_entropy(net(codes[batch]), y[batch])
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    >>> with torch.no_grad():
    ...     right = net(codes[1500:]).argmax(1) == y[1500:]
    >>> right.float().mean().item() > 0.85
    True
    """

    def __init__(
        self,
        n_hashes: int,
        bits: int,
        n_outputs: int,
        *,
        hidden: Sequence[int] = (200,),
        reduction: int | Literal["8bit"] | None = None,
        seed: int = 0,
        sparse: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        units = [check_integer("hidden", n, 1, 2**31 - 1) for n in hidden]
        units.append(check_integer("n_outputs", n_outputs, 1, 2**31 - 1))
        placed = {"device": device, "dtype": dtype}
        self.layers = nn.Sequential(
            HashedLinear(n_hashes, bits, units[0], reduction=reduction, seed=seed, sparse=sparse, **placed)
        )
        for n_in, n_out in pairwise(units):
            self.layers.extend([nn.ReLU(), nn.Linear(n_in, n_out, **placed)])

    def forward(self, codes: Tensor) -> Tensor:
        """Return outputs of shape (n, n_outputs) for codes of shape (n, k)."""
        return self.layers(codes)
