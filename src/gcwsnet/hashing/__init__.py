"""Generalized consistent weighted sampling: the hasher, its reference in NumPy, codes, sketches and similarities."""

__all__ = []
