"""Ways to serve a model: what each needs, its size, its cold start and its time for a row, next to other learners.

Models of the digits that scikit-learn brings along, with default settings. Each route runs in a process of its own, on
one thread. Times are those of the processor, so that other processes on the machine count little. The cold start is all
that a process takes up to its first prediction, with all imports. Times for a row are medians, for one row at a time
and for 1,000 rows at once. The last column is the largest difference between a probability of the route and that of the
same learner in Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

import numpy as np

from benchmarks.subject import Section, add_count, environment, log, markdown_table

N_TRAIN, BATCH = 1200, 1000
ONNX_NEEDS = "onnxruntime, NumPy"
LOADERS = {
    "gcwsnet Python": "import gcwsnet\npredict = gcwsnet.Predictor.load(path).predict_proba",
    "gcwsnet torch": """
import torch
import gcwsnet
from gcwsnet.nn import GCWSNet
torch.set_num_threads(1)
predictor = gcwsnet.Predictor.load(path)
net, nets = predictor.model, []
for number, seed in enumerate(net.seeds()):
    made = GCWSNet(net.n_hashes, net.code_bits, net.targets.n_outputs, hidden=net.settings.layers(), seed=seed)
    prefix = f"{number}." if len(net.seeds()) > 1 else ""
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            parameter.copy_(torch.from_numpy(net.weights()[prefix + name]))
    nets.append(made)
temperature = net.targets.temperature
def predict(X):
    codes = torch.from_numpy(predictor.coder.codes(X)).split(nets[0].layers[0].n_hashes, 1)
    with torch.no_grad():
        outputs = torch.stack([net(part) for net, part in zip(nets, codes)]).mean(0)
        return torch.softmax(outputs / temperature, 1).numpy()
""",
    "LightGBM Python": "import lightgbm\nbooster = lightgbm.Booster(model_file=path)\n"
    "predict = lambda X: booster.predict(X, num_threads=1)",
    "forest Python": "import joblib\npredict = joblib.load(path).predict_proba",
    "onnx": """
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
(given,) = session.get_inputs()
name = session.get_outputs()[1].name
dtype = np.float32 if given.type == "tensor(float)" else np.float64
predict = lambda X: session.run([name], {given.name: X.astype(dtype)})[0]
""",
}
MEASURE = """
import sys, time
path, rows, out, repetitions = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
import numpy as np
{load}
X = np.load(rows)
predict(X[:1])
print(time.process_time())
def median(work, repetitions):
    times = []
    for _ in range(repetitions):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return float(np.median(times))
print(median(lambda: predict(X[:1]), 10 * repetitions))
print(median(lambda: predict(X), repetitions) / len(X))
np.save(out, predict(X))
"""


class Route(NamedTuple):
    """A way to serve a learner: its name, what it needs, how it is loaded, and its file."""

    learner: str
    name: str
    needs: str
    load: str
    file: str


ROUTES = [
    Route("gcwsnet", "Python", "gcwsnet, NumPy", "gcwsnet Python", "model.safetensors"),
    Route("gcwsnet", "torch", "gcwsnet, torch", "gcwsnet torch", "model.safetensors"),
    Route("gcwsnet", "ONNX", ONNX_NEEDS, "onnx", "model.onnx"),
    Route("LightGBM", "Python", "lightgbm, SciPy", "LightGBM Python", "model.txt"),
    Route("LightGBM", "ONNX", ONNX_NEEDS, "onnx", "lightgbm.onnx"),
    Route("forest", "Python", "scikit-learn", "forest Python", "forest.joblib"),
    Route("forest", "ONNX", ONNX_NEEDS, "onnx", "forest.onnx"),
]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--repetitions", 15, "batches that a median is taken over; ten times as many single rows")


def run(options: argparse.Namespace) -> Section:
    """Fit all learners, and measure each route."""
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder, left_out)
        lines: list[list[str]] = []
        first: dict[str, Any] = {}
        for route in ROUTES:
            if not (folder / route.file).exists():
                continue
            cold, alone, batch, found = measure(route, folder, options.repetitions)
            size = (folder / route.file).stat().st_size
            expected = first.setdefault(route.learner, found)
            cells = [f"{size / 1e6:.1f}", f"{cold:.2f}", f"{1e6 * alone:.0f}", f"{1e6 * batch:.0f}"]
            difference = "" if found is expected else f"{np.abs(found - expected).max():.0e}"
            lines.append([route.learner, route.name, route.needs, *cells, difference])
            log(*lines[-1])
            if route.name == "Python" and route.learner == "gcwsnet":
                lines.append(["gcwsnet", "command", "gcwsnet, typer", *measure_command(folder, size), "0"])
                log(*lines[-1])
    head = ["learner", "route", "needs", "MB", "cold start, s", "one row, µs", "a row of 1,000, µs", "difference"]
    packages = ("onnxruntime", "lightgbm", "scikit-learn", "onnxmltools", "skl2onnx", "torch")
    about = environment(*[one for one in packages if find_spec(one.replace("scikit-learn", "sklearn"))])
    notes = [f"Left out: {one}." for one in left_out]
    return Section("\n".join([*about, *notes, "", markdown_table(head, lines, "lll")]))


def write_models(folder: Path, left_out: list[str]) -> None:
    """Fit all learners to the digits, and write the files of all routes."""
    import joblib
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    import gcwsnet

    X, y = load_digits(return_X_y=True)
    rows = np.resize(X[N_TRAIN:], (BATCH, X.shape[1]))
    np.save(folder / "rows.npy", rows)
    np.savetxt(folder / "rows.csv", rows, delimiter=",")
    np.savetxt(folder / "row.csv", rows[:1], delimiter=",")
    model = gcwsnet.GCWSNetClassifier(random_state=0, n_jobs=-1).fit(X[:N_TRAIN], y[:N_TRAIN])
    model.save(folder / "model.safetensors")
    gcwsnet.export_onnx(model, folder / "model.onnx")
    forest = RandomForestClassifier(random_state=0, n_jobs=1).fit(X[:N_TRAIN], y[:N_TRAIN])
    joblib.dump(forest, folder / "forest.joblib")
    if find_spec("skl2onnx"):
        from skl2onnx import to_onnx

        made = to_onnx(forest, X[:1].astype(np.float32), options={id(forest): {"zipmap": False}})
        (folder / "forest.onnx").write_bytes(made.SerializeToString())
    else:
        left_out.append("the forest as ONNX, which needs skl2onnx")
    if not find_spec("lightgbm"):
        left_out.append("LightGBM, which is not installed")
        return
    import lightgbm

    boosted = lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1).fit(X[:N_TRAIN], y[:N_TRAIN])
    boosted.booster_.save_model(folder / "model.txt")
    if find_spec("onnxmltools"):
        write_lightgbm(boosted, X.shape[1], folder / "lightgbm.onnx")
    else:
        left_out.append("LightGBM as ONNX, which needs onnxmltools")


def write_lightgbm(model: Any, n_columns: int, path: Path) -> None:
    """Write LightGBM's model as onnxmltools converts it."""
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    made = convert_lightgbm(model, initial_types=[("X", FloatTensorType([None, n_columns]))], zipmap=False)
    path.write_bytes(made.SerializeToString())


def measure(route: Route, folder: Path, repetitions: int) -> tuple[float, float, float, Any]:
    """Return seconds of the cold start, for one row and for a row of a batch, and the probabilities."""
    program = MEASURE.format(load=LOADERS[route.load])
    out = folder / "found.npy"
    files = [str(folder / route.file), str(folder / "rows.npy"), str(out)]
    cold = []
    for _ in range(3):
        command = [sys.executable, "-c", program, *files, str(repetitions)]
        result = subprocess.run(command, env=one_threaded(), capture_output=True, text=True, check=True)
        numbers = [float(line) for line in result.stdout.split()]
        cold.append(numbers[0])
    return min(cold), numbers[1], numbers[2], np.load(out)


def measure_command(folder: Path, size: int) -> list[str]:
    """Return the cells of `gcwsnet predict`: a process for each call, so one row takes as long as the cold start."""
    seconds = {}
    for name in ("row.csv", "rows.csv"):
        command = [sys.executable, "-m", "gcwsnet", "predict", str(folder / "model.safetensors"), str(folder / name)]
        times = []
        for _ in range(3):
            before = getrusage(RUSAGE_CHILDREN)
            subprocess.run([*command, "--no-header"], env=one_threaded(), capture_output=True, check=True)
            after = getrusage(RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        seconds[name] = min(times)
    of_batch = f"{1e6 * seconds['rows.csv'] / BATCH:.0f}"
    return [f"{size / 1e6:.1f}", f"{seconds['row.csv']:.2f}", f"{1e6 * seconds['row.csv']:.0f}", of_batch]


def one_threaded() -> dict[str, str]:
    """Return the environment of a process that computes on one thread."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
