"""Fitted models written as ONNX graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import gcwsnet
from gcwsnet._atomic import write_file
from gcwsnet._validation import check_choice, readable
from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.estimators._machine import FittedMachine
from gcwsnet.estimators._pgmm import KernelMachine
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.export._graph import Graph, Value
from gcwsnet.export._model import (
    MATRIX,
    add_bins,
    add_codes,
    add_inputs,
    add_net,
    add_predictions,
    add_preprocessing,
    columns_of,
)
from gcwsnet.hashing._gcws import GCWSHasher
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.net._packed import PackedNet
from gcwsnet.net._targets import Labels
from gcwsnet.tables._coder import Coder

DTYPES = ("float64", "float32")


def export_onnx(model: Any, path: str | Path, *, dtype: str = "float64", codes: bool = False) -> None:
    """Write a fitted model as an ONNX graph: from rows to predictions, in standard operators.

    The codes of the graph are those of the model, bit for bit, and so are the outputs of the net; probabilities
    differ by less than 1e-12. It needs a runtime with opset 18, such as onnxruntime from 1.15
    on.

    Parameters
    ----------
    model : GCWSNetClassifier, GCWSNetRegressor, Predictor or GCWSHasher
        A fitted one. Of a hasher with ``method="gcws"`` and ``output="codes"`` the graph gives the codes.
    path : str or Path
        The file, which is written completely or not at all.
    dtype : {"float64", "float32"}, default="float64"
        The type of the input where the model takes arrays: rows of float32 are preprocessed in another precision than
        rows of float64, in Python as well. Integers of up to 16 bits count as float32. A model of a table has none.
    codes : bool, default=False
        Whether the graph gives the codes too.

    Raises
    ------
    ValueError
        If the model cannot be exported exactly, with the column, or the setting, and the way out; also if the graph
        would have more than 2 GiB.
    TypeError
        If the model is none of these.

    Notes
    -----
    A model that was fitted on arrays has one input ``X`` of shape (n, D). One that was fitted on a table has an input
    of shape (n, 1) for each column, by its name: float64 for numbers and booleans, text for categories, and int64 for
    dates and durations, in microseconds. NaN, NaT and a text that is no category are missing values.

    The outputs are ``label`` and ``probabilities``, or ``value`` of a regression, or ``codes``. A graph raises no
    errors: where Python refuses a row, probabilities and values are NaN. ``docs/onnx.md`` has the rest.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import onnxruntime
    >>> import gcwsnet
    >>> X, y = np.eye(6), ["a", "b"] * 3
    >>> model = gcwsnet.GCWSNetClassifier(n_hashes=8, hidden=(4,), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gcwsnet.export_onnx(model, f"{folder}/model.onnx")
    ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    check_choice("dtype", dtype, DTYPES)
    try:
        import onnx  # noqa: F401, PLC0415 - it is optional
    except ModuleNotFoundError as error:
        raise ImportError("export_onnx needs onnx, which is not installed; pip install 'gcwsnet[onnx]'") from error
    about: dict[str, Any] = {"estimator": type(model).__name__}
    if isinstance(model, GCWSHasher):
        hasher = _exportable_hasher(model)
        graph = _hasher_graph(hasher, np.dtype(dtype))
    else:
        coder, net = _coder_and_net(model)
        hasher = coder._hasher
        graph = _model_graph(coder, net, dtype, codes=codes)
        if isinstance(net.targets, Labels):
            about["classes"] = net.targets.classes.tolist()
        if columns_of(coder):
            about["columns"] = {column.key: column.kind for column in columns_of(coder)}
    about |= {name: getattr(hasher, name) for name in ("n_hashes", "bits", "t_bits", "encoding", "p")}
    about |= {"seed": hasher.seed, "gcwsnet_version": gcwsnet.__version__, "hash_version": HASH_VERSION}
    metadata = {name: json.dumps(value) for name, value in about.items()}
    description = f"{type(model).__name__} of gcwsnet"
    write_file(Path(path), *graph.file(metadata, version=gcwsnet.__version__, description=description))


def _exportable_hasher(model: GCWSHasher) -> Hasher:
    check_is_fitted(model)
    hasher = model._hasher
    if hasher.method != "gcws" or model._output != "codes":
        raise ValueError(
            "only the codes of method='gcws' can be exported, got a hasher with "
            f"method={hasher.method!r} and output={model._output!r}; fit with method='gcws', output='codes'"
        )
    return hasher


def _coder_and_net(model: Any) -> tuple[Coder, PackedNet]:
    """Return the coder and the net of a fitted model."""
    if isinstance(model, Predictor) and not isinstance(model.model, FittedMachine):
        return model.coder, model.model.pack()
    if isinstance(model, KernelMachine | Predictor):
        name = "Predictor of a kernel machine" if isinstance(model, Predictor) else type(model).__name__
        raise ValueError(
            f"a {name} cannot be exported: it compares each row with all rows of its training, and a "
            "graph would sum in another order; export a GCWSNetClassifier or a GCWSNetRegressor, or use gcwsnet.load"
        )
    if isinstance(model, BaseGCWSNet):
        check_is_fitted(model)
        return model.coder_, model.trainer_.net.pack()
    raise TypeError(
        "model must be a GCWSNetClassifier, a GCWSNetRegressor, a Predictor or a GCWSHasher, got a "
        f"{type(model).__name__}"
    )


def _hasher_graph(hasher: Hasher, dtype: np.dtype) -> Graph:
    features = np.arange(2 * hasher.n_features)
    _check_size(len(features), hasher.n_hashes, None)
    graph = Graph([MATRIX])
    x = graph.input(MATRIX, dtype, hasher.n_features, "rows of finite numbers")
    if hasher.missing == "zero":
        x = graph.constant(0, dtype).where(graph.add("IsNaN", x, dtype=bool), x)
    _output_codes(graph, add_codes(graph, x, hasher, features), hasher, hasher.n_hashes)
    return graph


def _model_graph(coder: Coder, net: PackedNet, dtype: str, *, codes: bool) -> Graph:
    columns = columns_of(coder)
    if dtype != DTYPES[0] and columns:
        raise ValueError(f"dtype is for models of arrays, got dtype={dtype!r} and a model of a table; leave it out")
    graph = Graph([column.key for column in columns] or [MATRIX])
    x = add_inputs(graph, coder, np.dtype(dtype))
    rows, features = add_preprocessing(graph, x, coder)
    _check_size(len(features), coder.n_codes, net)
    found = add_codes(graph, rows, coder._hasher, features)
    all_codes = found if coder.bins is None else graph.joined([found, add_bins(graph, x, coder)])
    outputs = add_net(graph, all_codes, net)
    refused = graph.add("IsInf", x, dtype=bool)
    if coder.settings.missing == "error":
        refused = refused | graph.add("IsNaN", x, dtype=bool)
    outputs = graph.constant(np.nan, np.float32).where(refused.any_of_row(), outputs)
    add_predictions(graph, outputs, net.targets)
    if codes:
        _output_codes(graph, all_codes, coder._hasher, coder.n_codes + coder.n_bins)
    return graph


def _output_codes(graph: Graph, codes: Value, hasher: Hasher, n: int) -> None:
    graph.output("codes", codes.cast(hasher.code_dtype), n, "codes of the rows")


def _check_size(n_features: int, n_codes: int, net: PackedNet | None) -> None:
    """Raise a ValueError for a graph that no ONNX file can hold: a file of protocol buffers has less than 2 GiB."""
    hash_bytes, net_bytes = 12 * n_features * n_codes, 0  # r, ln c and beta of each feature and hash
    if net is not None:
        places = net.settings.members() * 4 * (net.n_hashes << net.code_bits)  # the row that each code looks up
        net_bytes = places + sum(array.nbytes for array in net.arrays.values())
    if hash_bytes + net_bytes <= 2**31 - 2**20:
        return
    smaller = "fewer columns" if hash_bytes > net_bytes else "a larger reduction, fewer bits, fewer hidden units"
    raise ValueError(
        f"an ONNX file has less than 2 GiB, and this one would have {readable(hash_bytes + net_bytes)}: "
        f"{readable(hash_bytes)} for the parameters of {n_codes} hashes of {n_features} features, and "
        f"{readable(net_bytes)} for the weights of nets; fit with {smaller} or fewer hashes (n_hashes times ensemble)"
    )
