"""The example that serves a model: a process that cannot import gcwsnet predicts the same."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest

import gcwsnet
from gcwsnet import GCWSNetClassifier
from tests.estimators.tables import mixed_table

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "serve_onnx.py"
SMALL: dict[str, Any] = {"n_hashes": 24, "epochs": 1, "hidden": (8,), "random_state": 0}


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """Start the example with a model, in a process where importing gcwsnet fails, and give its address."""
    (tmp_path / "gcwsnet.py").write_text("raise RuntimeError('gcwsnet was imported')")
    started = []

    def start(model: Any) -> str:
        gcwsnet.export_onnx(model, tmp_path / "model.onnx")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, str(EXAMPLE), str(tmp_path / "model.onnx"), "--port", "0"]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, process.communicate()[1]
        return found[0]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ask(address: str, rows: Any) -> Any:
    with urllib.request.urlopen(address, data=json.dumps(rows).encode()) as answer:
        return json.load(answer)


def test_rows_of_a_table_are_predicted_without_gcwsnet(server: Any) -> None:
    frame, y = mixed_table(300)
    model = GCWSNetClassifier(**SMALL).fit(frame, y)
    rows = json.loads(frame.drop(columns="long").to_json(orient="records", date_format="iso", date_unit="us"))
    for row, duration in zip(rows, frame["long"], strict=True):
        row["long"] = duration // np.timedelta64(1, "us")
        row["when"] = row["when"].removesuffix("Z")
    found = ask(server(model), rows)
    assert [one["label"] for one in found] == model.predict(frame).tolist()
    np.testing.assert_allclose([one["probabilities"] for one in found], model.predict_proba(frame), rtol=0, atol=1e-12)


def test_rows_of_arrays_are_predicted_and_wrong_requests_answered(server: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = GCWSNetClassifier(**SMALL).fit(X, X[:, 0] > 0)
    address = server(model)
    assert [one["label"] for one in ask(address, X.tolist())] == model.predict(X).tolist()
    with pytest.raises(HTTPError, match="400"):
        ask(address, [[1.0, 2.0]])
    assert len(ask(address, [[1.0, None, 2.0]])) == 1
