"""The hashed first layer: codes look up rows of a table, and the output is their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from gcwsnet._validation import check_integer, require_memory
from gcwsnet.hashing._hasher import reduction_factor
from gcwsnet.nn._table import CODE_TYPES, CodeToRow, GradientPart, LazyGradient, is_native, zero_table

MAX_ROWS = 2**31

DEFAULT_SCALE = 0.3


class HashedLinear(nn.Module):
    """A linear layer on one-hot codes: a bias plus the sum of the k rows of a table that the codes pick.

    Code c of hash j looks up row 2**b j + c of the table. With a `reduction` m the table has 2**b k / m rows, the bins
    of a count-sketch (Theorem 4 of the paper); a code then looks up the bin of its position, with its sign.

    Parameters
    ----------
    n_hashes : int
        k, the columns of the codes.
    bits : int
        b, the bits of a code, from 1 to 32, with those that the hasher's `t_bits` appended.
    out_features : int
        H, the columns of the output.
    reduction : int, "8bit" or None, default=None
        m, as in `CountSketch`: the table has 2**b k / m rows, rounded up. None and 1 are no reduction. "8bit" is 2**8
        rows for each hash.
    seed : int, default=0
        Chooses bins and signs of the sketch, from 0 to 2**64 - 1; without a reduction nothing depends on it. It is
        part of `state_dict`, so that a layer that is loaded looks up what the saved one did.
    scale : float, default=0.3
        Rows start uniform between -scale / sqrt(k) and scale / sqrt(k), so that outputs start with the standard
        deviation scale / sqrt(3). The bias starts at zero.
    sparse : bool, default=True
        Whether the table's gradient is sparse: the rows that occurred. Then the optimizer is `LazyAdam`, or one of
        torch that takes sparse gradients, such as `torch.optim.SparseAdam` and `torch.optim.SGD`. With False the
        gradient is dense, for `torch.optim.Adam` as in the paper and for all others; that takes many times longer.
    device, dtype : default=None
        Of the table and the bias, as for any layer of torch.

    Attributes
    ----------
    weight : Parameter of shape (2**b k / m, H)
        The table.
    bias : Parameter of shape (H,)

    Notes
    -----
    float32 on a CPU is computed by the native core, with the threads of `torch.get_num_threads`. The result is the
    same, to the last bit, for any number of threads. All else goes through `torch.nn.functional.embedding_bag`.

    A code that is out of range is an error before anything is computed.

    Examples
    --------
    >>> import torch
    >>> from gcwsnet import GCWSHasher
    >>> from gcwsnet.nn import HashedLinear
    >>> codes = GCWSHasher(n_hashes=64, bits=8, random_state=0).fit_transform([[1.0, 5.0, -2.0], [0.0, 1.0, 9.0]])
    >>> layer = HashedLinear(n_hashes=64, bits=8, out_features=10)
    >>> layer
    HashedLinear(n_hashes=64, bits=8, out_features=10)
    >>> layer.weight.shape
    torch.Size([16384, 10])
    >>> layer(torch.from_numpy(codes)).shape
    torch.Size([2, 10])
    >>> HashedLinear(n_hashes=64, bits=8, out_features=10, reduction=16).weight.shape
    torch.Size([1024, 10])
    """

    def __init__(
        self,
        n_hashes: int,
        bits: int,
        out_features: int,
        *,
        reduction: int | Literal["8bit"] | None = None,
        seed: int = 0,
        scale: float = DEFAULT_SCALE,
        sparse: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.n_hashes = check_integer("n_hashes", n_hashes, 1, 2**20)
        self.bits = check_integer("bits", bits, 1, 32)
        self.out_features = check_integer("out_features", out_features, 1, 2**31 - 1)
        self.reduction = reduction_factor(reduction, self.bits)
        self.seed = check_integer("seed", seed, 0, 2**64 - 1)
        self.scale = scale
        self.sparse = sparse
        n_rows = -(-(self.n_hashes << self.bits) // self.reduction)
        if n_rows > MAX_ROWS:
            raise ValueError(
                f"a table must have at most 2**31 rows, got {n_rows} with n_hashes={n_hashes}, bits={bits} and "
                f"reduction={reduction!r}; use a larger reduction, for example '8bit'"
            )
        require_memory(
            4 * n_rows * self.out_features, f"a table of {n_rows} rows", "use a reduction, fewer bits or fewer outputs"
        )
        self.weight = nn.Parameter(zero_table((n_rows, self.out_features), device, dtype))
        self.bias = nn.Parameter(torch.empty(self.out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from torch's generator again, and set the bias to zero."""
        bound = self.scale / math.sqrt(self.n_hashes)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.zeros_(self.bias)

    def forward(self, codes: Tensor) -> Tensor:
        """Return the sums of the rows that the codes look up.

        Parameters
        ----------
        codes : tensor of shape (n, k)
            Integers from 0 to 2**b - 1: uint8, uint16, uint32, int32 or int64.

        Returns
        -------
        out : tensor of shape (n, H), of the type of the table
        """
        if not isinstance(codes, Tensor) or codes.dtype not in CODE_TYPES:
            got = f"a tensor of {codes.dtype}" if isinstance(codes, Tensor) else type(codes).__name__
            raise TypeError(
                f"codes must be a tensor of uint8, uint16, uint32, int32 or int64, got {got}; "
                "torch.from_numpy(codes) makes one of the codes of a hasher"
            )
        if codes.ndim != 2 or codes.shape[1] != self.n_hashes:
            raise ValueError(f"codes must be n x {self.n_hashes}, got the shape {tuple(codes.shape)}")
        weight = self.weight
        code_to_row = CodeToRow(self.n_hashes, self.bits, weight.shape[0], self.reduction != 1, self.seed)
        return _embedding_sum(codes, weight, self.bias, code_to_row, sparse=self.sparse)

    def get_extra_state(self) -> Tensor:
        """Return the seed, for `state_dict`: a uint64 as the int64 of the same bits."""
        return torch.tensor(self.seed - (self.seed >> 63 << 64))

    def set_extra_state(self, state: Tensor) -> None:
        """Take the seed of a `state_dict`."""
        self.seed = int(state) % 2**64

    def extra_repr(self) -> str:
        """Return what the layer was made with, for `repr`."""
        text = f"n_hashes={self.n_hashes}, bits={self.bits}, out_features={self.out_features}"
        if self.reduction != 1:
            text += f", reduction={self.reduction}, seed={self.seed}"
        return text if self.sparse else f"{text}, sparse=False"


def _embedding_sum(codes: Tensor, table: Tensor, bias: Tensor, code_to_row: CodeToRow, *, sparse: bool) -> Tensor:
    """Return the bias plus the rows of the table that the codes look up, of shape (n, H).

    The native core does it on a CPU, an embedding bag elsewhere.
    """
    if codes.is_cpu and is_native(table):
        run = _EmbeddingSum.apply
        if torch.compiler.is_compiling():  # a compiled net calls the native core as it is
            run = torch.compiler.disable(run)
        codes = codes.contiguous().flatten().view(codes.shape)  # a single row too has the strides of a whole array
        return run(codes, table, bias, code_to_row, sparse)
    return _embedding_bag(codes, table, bias, code_to_row, sparse=sparse)


def _embedding_bag(codes: Tensor, table: Tensor, bias: Tensor, code_to_row: CodeToRow, *, sparse: bool) -> Tensor:
    """Return the same sums by torch, on any device and in any precision."""
    rows, signs = code_to_row.rows_and_signs(codes)
    weights = None if signs is None else signs.to(table.dtype)
    return functional.embedding_bag(rows, table, mode="sum", per_sample_weights=weights, sparse=sparse) + bias


class _EmbeddingSum(torch.autograd.Function):
    """The sum by the native core, whose backward pass keeps what the gradient of the table is summed of."""

    @staticmethod
    def forward(ctx: Any, codes: Tensor, table: Tensor, bias: Tensor, code_to_row: CodeToRow, sparse: bool) -> Tensor:
        out = table.new_empty((codes.shape[0], table.shape[1]))
        code_to_row.native().sum_rows(
            codes.numpy(), table.detach().numpy(), bias.detach().numpy(), out.numpy(), torch.get_num_threads()
        )
        ctx.save_for_backward(codes)
        ctx.code_to_row, ctx.sparse, ctx.is_leaf, ctx.shape = code_to_row, sparse, table.is_leaf, table.shape
        return out

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None, None, None]:
        of_table = of_bias = None
        if ctx.needs_input_grad[1]:
            (codes,) = ctx.saved_tensors
            part = GradientPart(ctx.code_to_row, codes, gradient.contiguous())
            if not ctx.sparse:
                of_table = part.sparse().to_dense()
            elif not ctx.is_leaf:
                of_table = part.sparse()
            else:  # copies, as both tensors may be written to before the gradient is used
                part = part._replace(codes=codes.clone(), output_gradient=part.output_gradient.clone())
                of_table = LazyGradient(ctx.shape, [part])
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum(0)
        return None, of_table, of_bias, None, None


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
