"""Exported graphs, run by onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import gcwsnet
from gcwsnet.tables._frames import encode_frame, open_frame

onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")

TINY, HUGE = [5e-324, -5e-324, 2.0**-1022, 1e-300, -1e-45, 1e-38], [3e38, -3e38, 1e300, -1e307, 2.0**53 + 1]
ODD = [0.0, -0.0, 1.0, -1.0, *TINY, *HUGE]
"""Numbers that break careless arithmetic: subnormal, huge, without a sign, at powers of two."""


def session_of(model: Any, folder: Path, **options: Any) -> Any:
    """The session of an exported model, whose graph has been checked."""
    path = folder / "model.onnx"
    gcwsnet.export_onnx(model, path, **options)
    onnx.checker.check_model(str(path), full_check=True)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


def outputs_of(session: Any, inputs: Any) -> dict[str, NDArray[Any]]:
    """The outputs of a session by their names, for an array or for the columns of a frame."""
    fed = feed(inputs, session) if isinstance(inputs, pd.DataFrame) else {"X": inputs}
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, fed), strict=True))


def feed(frame: pd.DataFrame, session: Any) -> dict[str, NDArray[Any]]:
    """The columns of a frame as the inputs of a session."""
    made = {}
    for wanted in session.get_inputs():
        column = frame[wanted.name]
        if wanted.type == "tensor(string)":
            values = column.astype(object).where(column.notna(), "").astype(str).to_numpy(dtype=object)
        elif wanted.type == "tensor(int64)":
            values = column.to_numpy().astype(f"{column.dtype.kind}8[us]").view(np.int64)
        else:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        made[wanted.name] = values[:, np.newaxis]
    return made


def odd_rows(n_columns: int, n: int = 200, seed: int = 0) -> NDArray[np.float64]:
    """Rows of odd numbers, of numbers of all sizes, and rows of zeros."""
    rng = np.random.default_rng(seed)
    odd = rng.choice(ODD, (n, n_columns))
    sizes = rng.normal(size=(n, n_columns)) * 10.0 ** rng.integers(-300, 300, (n, n_columns))
    sparse = odd * (rng.random((n, n_columns)) < 0.1)
    return np.concatenate([odd, sizes, sparse, np.zeros((2, n_columns)), -np.zeros((1, n_columns))])


def as_type(rows: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    """Rows of a type, with its largest numbers in place of larger ones."""
    most = np.finfo(dtype).max
    with np.errstate(under="ignore"):
        return rows.clip(-float(most), float(most)).astype(dtype)


def assert_same(model: Any, rows: Any, folder: Path, dtype: str = "float64") -> Any:
    """The graph gives the codes, the labels and the probabilities, or numbers, of the model; return its session."""
    session = session_of(model, folder, codes=True, dtype=dtype)
    found = outputs_of(session, rows)
    encoded = encode_frame(open_frame(rows), model.schema_) if isinstance(rows, pd.DataFrame) else rows
    np.testing.assert_array_equal(found["codes"], model.coder_.codes(encoded))
    if "value" in found:
        np.testing.assert_array_equal(found["value"], model.predict(rows))
    else:
        np.testing.assert_array_equal(found["label"], model.predict(rows))
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-12)
    return session
