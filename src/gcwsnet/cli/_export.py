"""`gcwsnet export`: a model as a file that other programs run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcwsnet.cli import _options as options


def export(
    model: options.ModelPath,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="FILE", help="The ONNX file to write.")],
    dtype: Annotated[
        str,
        typer.Option(metavar="float64|float32", help="The type of rows, for a model that was not trained on a table."),
    ] = "float64",
    codes: Annotated[bool, typer.Option("--codes", help="Let the graph give the codes of rows too.")] = False,
) -> None:
    """Write a model as an ONNX graph that predicts the same, for programs that have an ONNX runtime and no gcwsnet.

    A model of a table has one input for each column, by its name. Any other model has one input X, a matrix.

    For example:
      gcwsnet export model --onnx model.onnx
      gcwsnet export model --onnx model.onnx --dtype float32 --codes
    """
    from gcwsnet.estimators import load
    from gcwsnet.export import export_onnx

    export_onnx(load(model), onnx, dtype=dtype, codes=codes)
