"""Fitted models in formats that other programs run: ONNX."""

from gcwsnet.export._export import export_onnx

__all__ = ["export_onnx"]
