"""The evidence of the paper, made again: so far its theorems, simulated."""

from gcwsnet.paper._theorems import THEOREMS, run_theorem, simulate

__all__ = ["THEOREMS", "run_theorem", "simulate"]
