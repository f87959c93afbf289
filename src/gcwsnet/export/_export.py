"""The size of a graph, checked before it is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import gcwsnet
from gcwsnet._atomic import write_file
from gcwsnet._memory import readable
from gcwsnet._validation import check_choice
from gcwsnet.estimators._base import BaseGCWSNet
from gcwsnet.estimators._machine import FittedMachine
from gcwsnet.estimators._pgmm import KernelMachine
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.export._graph import Graph, Value
from gcwsnet.export._model import (
    MATRIX,
    add_codes,
    add_inputs,
    add_outputs,
    add_preprocessing,
    input_names,
    is_table,
    members_of,
)
from gcwsnet.hashing._gcws import GCWSHasher
from gcwsnet.hashing._hasher import Hasher, reduction_factor
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.net._net import Net
from gcwsnet.net._targets import LabelIndicators, Labels, Numbers, Targets
from gcwsnet.tables._coder import Coder

MOST_BYTES = 2**31 - 2**20

"""A file of protocol buffers has less than 2 GiB."""

BYTES_OF_PARAMETERS = 12

"""r, ln c and beta of a feature and a hash."""


def check_size(n_features: int, n_codes: int, net: Net | None) -> None:
    """Raise a ValueError for a graph that no ONNX file can hold.

    Parameters
    ----------
    n_features : int
        The columns of `gmm_transform` that are hashed.
    n_codes : int
        The hashes of a row.
    net : Net or None
    """
    of_hashes, of_net = BYTES_OF_PARAMETERS * n_features * n_codes, 0 if net is None else _bytes_of_net(net)
    if of_hashes + of_net <= MOST_BYTES:
        return
    smaller = "fewer columns" if of_hashes > of_net else "a larger reduction, fewer bits, fewer hidden units"
    raise ValueError(
        f"an ONNX file has less than 2 GiB, and this one would have {readable(of_hashes + of_net)}: "
        f"{readable(of_hashes)} for the parameters of {n_codes} hashes of {n_features} features, and "
        f"{readable(of_net)} for the weights of nets; fit with {smaller} or fewer hashes (n_hashes times ensemble)"
    )


def _bytes_of_net(net: Net) -> int:
    """Return the bytes of all weights, and of the rows that a count-sketch picks for codes."""
    n_bytes = sum(array.nbytes for array in net.predicting_weights().values())
    factor = reduction_factor(1 if net.settings.reduction is None else net.settings.reduction, net.code_bits)
    return n_bytes + (len(members_of(net)) * 4 * (net.n_hashes << net.code_bits) if factor != 1 else 0)


DTYPES = ("float64", "float32")

TYPES_OF_CLASSES = {"U": np.object_, "O": np.object_, "i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}

NOT_NUMBERS = "NaN for a row with an infinite number, and for one with a missing number where that is an error"


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
        The file. It is written beside it first and then moved into its place.
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
    _require_onnx()
    parts = _parts_of(model)
    graph = Graph([MATRIX] if isinstance(parts, Hasher) else input_names(parts[0]))
    if isinstance(parts, Hasher):
        _add_hasher(graph, parts, np.dtype(dtype))
        about = {"estimator": type(model).__name__, **_about_hasher(parts)}
    else:
        coder, net = parts
        if dtype != DTYPES[0] and is_table(coder):
            raise ValueError(f"dtype is for models of arrays, got dtype={dtype!r} and a model of a table; leave it out")
        _add_model(graph, coder, net, np.dtype(dtype), codes=codes)
        about = {"estimator": type(model).__name__, **_about_hasher(coder._hasher), **_about_targets(net.targets)}
        if coder.schema is not None and coder.schema.columns:
            about["columns"] = {column.key: column.kind for column in coder.schema.columns}
    about |= {"gcwsnet_version": gcwsnet.__version__, "hash_version": HASH_VERSION}
    metadata = {name: json.dumps(value) for name, value in about.items()}
    description = f"{type(model).__name__} of gcwsnet"
    write_file(Path(path), *graph.file(metadata, version=gcwsnet.__version__, description=description))


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401, PLC0415 - it is optional
    except ModuleNotFoundError as error:
        raise ImportError("export_onnx needs onnx, which is not installed; pip install 'gcwsnet[onnx]'") from error


def _parts_of(model: Any) -> Hasher | tuple[Coder, Net]:
    """Return the hasher, or the coder and the net, that a fitted model consists of."""
    if isinstance(model, Predictor) and not isinstance(model.model, FittedMachine):
        return model.coder, model.model
    if isinstance(model, KernelMachine | Predictor):
        name = "Predictor of a kernel machine" if isinstance(model, Predictor) else type(model).__name__
        raise ValueError(
            f"a {name} cannot be exported: it compares each row with all rows of its training, and a "
            "graph would sum in another order; export a GCWSNetClassifier or a GCWSNetRegressor, or use gcwsnet.load"
        )
    if isinstance(model, BaseGCWSNet):
        check_is_fitted(model)
        return model.coder_, model.trainer_.net
    if isinstance(model, GCWSHasher):
        check_is_fitted(model)
        if model._hasher.method != "gcws" or model._output != "codes":
            raise ValueError(
                "only the codes of method='gcws' can be exported, got a hasher with "
                f"method={model._hasher.method!r} and output={model._output!r}; fit with method='gcws', output='codes'"
            )
        return model._hasher
    raise TypeError(
        "model must be a GCWSNetClassifier, a GCWSNetRegressor, a Predictor or a GCWSHasher, got a "
        f"{type(model).__name__}"
    )


def _add_hasher(graph: Graph, hasher: Hasher, dtype: np.dtype) -> None:
    features = np.arange(2 * hasher.n_features)
    check_size(len(features), hasher.n_hashes, None)
    x = graph.input(MATRIX, dtype, hasher.n_features, "rows of finite numbers")
    if hasher.missing == "zero":
        x = graph.constant(0, dtype).where(graph.add("IsNaN", x, dtype=bool), x)
    _output_codes(graph, add_codes(graph, x, hasher, features), hasher)


def _add_model(graph: Graph, coder: Coder, net: Net, dtype: np.dtype, *, codes: bool) -> None:
    x = add_inputs(graph, coder, dtype)
    rows = add_preprocessing(graph, x, coder)
    features = rows.features()
    check_size(len(features), coder.n_codes, net)
    found = add_codes(graph, rows.numbers, coder._hasher, features)
    outputs = add_outputs(graph, found, net)
    refused = graph.add("IsInf", x, dtype=bool)
    if coder.settings.missing == "error":
        refused = refused | graph.add("IsNaN", x, dtype=bool)
    outputs = graph.constant(np.nan, np.float32).where(refused.any_of_row(), outputs)
    _output_predictions(graph, outputs, net.targets)
    if codes:
        _output_codes(graph, found, coder._hasher)


def _output_codes(graph: Graph, codes: Value, hasher: Hasher) -> None:
    graph.output(_free(graph, "codes"), codes.cast(hasher.code_dtype), hasher.n_hashes, "codes of the rows")


def _output_predictions(graph: Graph, outputs: Value, targets: Targets) -> None:
    label = _free(graph, "label")
    if isinstance(targets, Numbers):
        value = outputs.cast(np.float64) * targets.deviation + targets.mean
        value = value.without_axis(1) if targets.one_column else value
        graph.output(_free(graph, "value"), value, None if targets.one_column else targets.n_outputs, NOT_NUMBERS)
        return
    if not isinstance(targets, Labels):
        raise NotImplementedError(f"targets of the type {type(targets).__name__} cannot be exported")
    scaled = outputs if targets.temperature == 1 else outputs / np.float32(targets.temperature)
    if isinstance(targets, LabelIndicators):
        graph.output(label, (outputs > 0.0).cast(np.int64), targets.n_outputs, "1 for the labels that a row has")
        probabilities = graph.add("Sigmoid", scaled.cast(np.float64))
    else:
        kind = targets.classes.dtype.kind
        classes = graph.constant(targets.classes.astype(TYPES_OF_CLASSES[kind]))
        best = graph.add("ArgMax", outputs, dtype=np.int64, axis=1, keepdims=0)
        graph.output(label, classes.take(best, axis=0), None, "the most probable class")
        probabilities = graph.add("Softmax", scaled.cast(np.float64), axis=1)
    graph.output(_free(graph, "probabilities"), probabilities, targets.n_outputs, NOT_NUMBERS)


def _free(graph: Graph, name: str) -> str:
    """Return a name of an output that is not that of an input."""
    taken = {one.name for one in graph.inputs}
    while name in taken:
        name = f"predicted_{name}"
    return name


def _about_hasher(hasher: Hasher) -> dict[str, Any]:
    names = ("seed", "n_hashes", "bits", "t_bits", "encoding", "p")
    return {name: getattr(hasher, name) for name in names}


def _about_targets(targets: Targets) -> dict[str, Any]:
    return {"classes": targets.classes.tolist()} if isinstance(targets, Labels) else {}
