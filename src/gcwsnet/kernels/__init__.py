"""The GMM transformation and the exact GMM and pGMM kernels."""

from gcwsnet.kernels._exact import gmm_kernel, gmm_transform, pgmm_kernel

__all__ = ["gmm_kernel", "gmm_transform", "pgmm_kernel"]
