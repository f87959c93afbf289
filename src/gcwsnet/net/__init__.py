"""How a net learns from codes: the net, its targets, and the one loop over batches."""

__all__ = []
