"""The sum of the rows that codes pick: by the native core on a CPU, by an embedding bag elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from gcwsnet.nn._claims import Batch, claim_of
from gcwsnet.nn._layout import Layout


def is_native(tensor: Tensor) -> bool:
    """Whether the native core takes this tensor: float32, on a CPU, and in one piece."""
    return tensor.is_cpu and tensor.dtype == torch.float32 and tensor.is_contiguous()


def sum_of_picks(codes: Tensor, table: Tensor, bias: Tensor, layout: Layout, *, sparse: bool) -> Tensor:
    """Bias plus the rows of the table that the codes pick, of shape (n, H)."""
    if codes.is_cpu and is_native(table):
        run = _SumOfPicks.apply
        if torch.compiler.is_compiling():  # a compiled net calls the native core as it is
            run = torch.compiler.disable(run)
        return run(codes.contiguous(), table, bias, layout, sparse)
    return embedding_bag(codes, table, bias, layout, sparse=sparse)


def embedding_bag(codes: Tensor, table: Tensor, bias: Tensor, layout: Layout, *, sparse: bool) -> Tensor:
    """The same by torch, on any device and in any precision."""
    rows, signs = layout.rows_and_signs(codes)
    weights = None if signs is None else signs.to(table.dtype)
    return functional.embedding_bag(rows, table, mode="sum", per_sample_weights=weights, sparse=sparse) + bias


class _SumOfPicks(torch.autograd.Function):
    """Backward gives the rows that occurred and their sums; an optimizer that has claimed the table gets the batch."""

    @staticmethod
    def forward(ctx: Any, codes: Tensor, table: Tensor, bias: Tensor, layout: Layout, sparse: bool) -> Tensor:
        out = table.new_empty((codes.shape[0], table.shape[1]))
        layout.native().sum_of_picks(
            codes.numpy(), table.detach().numpy(), bias.detach().numpy(), out.numpy(), torch.get_num_threads()
        )
        ctx.save_for_backward(codes)
        ctx.layout, ctx.sparse = layout, sparse
        ctx.table = ctx.claim = None
        if sparse and ctx.needs_input_grad[1] and table.is_leaf and (claim := claim_of(table)) is not None:
            claim.watch(table)
            ctx.table, ctx.claim = table, claim
        return out

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None, None, None]:
        of_table = of_bias = None
        if ctx.needs_input_grad[1]:
            (codes,) = ctx.saved_tensors
            batch = Batch(ctx.layout, codes, gradient.contiguous())
            if ctx.claim is not None:
                of_table = ctx.claim.arrive(ctx.table, batch.copy())
            else:
                of_table = batch.sparse() if ctx.sparse else batch.sparse().to_dense()
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum(0)
        return None, of_table, of_bias, None, None
