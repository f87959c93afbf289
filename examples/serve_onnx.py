"""Serve an exported model over HTTP: with onnxruntime and NumPy, and nothing of gcwsnet.

    gcwsnet export model --onnx model.onnx
    python examples/serve_onnx.py model.onnx --port 8000
    curl localhost:8000 --data '[{"age": 34, "city": "Rome"}, {"age": null, "city": "Oslo"}]'

The answer is a list with the label and the probabilities of each row, or with its value. Rows of a model that was
fitted on arrays are lists of numbers. A missing value is null, and a date is a text such as 2024-05-31T18:30:00.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import onnxruntime

MATRIX = "X"
NUMBERS = {"tensor(double)": np.float64, "tensor(float)": np.float32}


def make_session(path: str) -> Any:
    """Return a session that computes a request on one thread; several requests are computed at once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def predict(session: Any, rows: list[Any]) -> list[dict[str, Any]]:
    """Return the outputs of a session for each row, by their names."""
    kinds = json.loads(session.get_modelmeta().custom_metadata_map.get("columns", "{}"))
    if kinds:
        fed = {one.name: column([row.get(one.name) for row in rows], one, kinds) for one in session.get_inputs()}
    else:
        (matrix,) = session.get_inputs()
        fed = {MATRIX: np.array(rows, dtype=np.float64).astype(NUMBERS[matrix.type])}  # None becomes NaN
    names = [one.name for one in session.get_outputs()]
    outputs = [output.tolist() for output in session.run(names, fed)]
    return [dict(zip(names, values, strict=True)) for values in zip(*outputs, strict=True)]


def column(values: list[Any], wanted: Any, kinds: dict[str, str]) -> Any:
    """Return the values of a column as a tensor of shape (n, width)."""
    if wanted.type == "tensor(string)":
        made = np.array(["" if value is None else str(value) for value in values], dtype=object)
    elif wanted.type == "tensor(int64)":
        unit = "datetime64[us]" if kinds[wanted.name] == "date" else "timedelta64[us]"
        made = np.array(["NaT" if value is None else value for value in values], dtype=unit).astype(np.int64)
    else:
        made = np.array(values, dtype=np.float64)
    return made.reshape(len(values), -1)


class Handler(BaseHTTPRequestHandler):
    """A handler of requests whose body is a JSON list of rows."""

    session: Any

    def do_POST(self) -> None:
        """Answer with a JSON list of predictions, or with the error."""
        try:
            rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = 200, json.dumps(predict(self.session, rows))
        except Exception as error:  # whatever is wrong with a request, the server goes on
            status, answer = 400, json.dumps({"error": str(error)})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer.encode())


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Serve an exported model over HTTP.")
    parser.add_argument("model", help="an ONNX file of gcwsnet")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    Handler.session = make_session(options.model)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(f"serving {options.model} at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
