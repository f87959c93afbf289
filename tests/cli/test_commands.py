"""The commands, from files to models and predictions."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import accuracy_score, roc_auc_score

import gcwsnet
from gcwsnet.files._reader import Reader
from gcwsnet.search import selected_training
from tests.cli.command import fail, run, succeed
from tests.cli.files import write_clicks, write_digits

SMALL = ["--n-hashes", "32", "--hidden", "16", "--p", "1", "--scale", "minmax"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_digits(folder, 1200, 300)
    write_clicks(folder, 1500)
    return folder


def test_a_model_of_a_file_predicts_another(files: Path, tmp_path: Path) -> None:
    printed = succeed(
        "train", files / "train.svm", "--test", files / "test.svm", "--out", tmp_path / "m", *SMALL, "--json"
    )
    summary = json.loads(printed.stdout)
    assert summary["epochs"] == 5
    assert summary["rows"] == 1200
    assert summary["test_accuracy"] > 0.85
    X, y = load_svmlight_file(str(files / "test.svm"), n_features=64)
    model = gcwsnet.load(tmp_path / "m")
    assert model.score(X, y) == pytest.approx(summary["test_accuracy"])
    assert model.history_["eval_accuracy"][-1] == summary["test_accuracy"]
    assert not (tmp_path / "m" / "checkpoint.safetensors").exists()


def test_progress_is_shown_at_one_two_four_thousand_rows(files: Path, tmp_path: Path) -> None:
    result = succeed("train", files / "train.svm", "--epochs", 4, "--out", tmp_path / "m", *SMALL)
    rows = [int(line.split()[1].replace(",", "")) for line in result.stderr.splitlines()[4:]]
    assert rows == [1024, 1200, 2000, 2400, 3600, 4016, 4800]
    history = json.loads(succeed("info", tmp_path / "m", "--json").stdout)["history"]
    assert history["loss"][0] == history["mean_loss"][0]
    assert history["loss"][0] > history["loss"][-1]
    assert succeed("train", files / "train.svm", "--out", tmp_path / "q", *SMALL, "--quiet").stderr == ""


def test_rows_and_codes_that_fit_stay_in_memory_and_give_the_same_model(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: list[int] = []
    rows = Reader.rows
    monkeypatch.setattr(Reader, "rows", lambda self: loops.append(1) or rows(self))  # type: ignore[func-returns-value]
    limits = {"rows": None, "codes": "_reader.MAX_BYTES_IN_MEMORY", "nothing": "_train.MAX_BYTES_OF_KEPT_CODES"}
    counts = []
    for name, limit in limits.items():
        if limit is not None:
            monkeypatch.setattr(f"gcwsnet.files.{limit}", 0)
        loops.clear()
        succeed("train", files / "train.svm", "--epochs", 4, "--holdout", 0, "--out", tmp_path / name, *SMALL)
        counts.append(len(loops))
    assert counts == [1, 1 + 2 + 1, 1 + 2 + 4]  # of the first batch, for the sample, and those of the epochs
    one, *others = ((tmp_path / name / "model.safetensors").read_bytes() for name in limits)
    assert others == [one, one]


def test_codes_and_files_give_the_same_model(files: Path, tmp_path: Path) -> None:
    hashing = ["--n-hashes", 32, "--ensemble", 2, "--search", "off", "--random-state", 5]
    net = ["--hidden", "16,8", "--batch-size", 16, "--epochs", 1, "--learning-rate", 0.004]
    succeed("hash", files / "train.svm", "--out", tmp_path / "codes", *hashing)
    succeed("train", tmp_path / "codes", "--out", tmp_path / "m", *net)
    succeed("train", files / "train.svm", "--out", tmp_path / "raw", *hashing, *net, "--holdout", 0)
    expected = (tmp_path / "raw" / "model.safetensors").read_bytes()
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == expected
    other = [*hashing[:-1], 6]
    succeed("train", files / "train.svm", "--out", tmp_path / "other", *other, *net)
    assert (tmp_path / "other" / "model.safetensors").read_bytes() != expected


def test_what_was_selected_for_another_net_is_not_used_and_the_command_says_so(files: Path, tmp_path: Path) -> None:
    hashing = ["--n-hashes", 8, "--p", 1, "--scale", "numeric", "--ensemble", 1]
    succeed("hash", files / "train.svm", "--out", tmp_path / "codes", *hashing)
    same = succeed("train", tmp_path / "codes", "--out", tmp_path / "same")
    assert selected_training(gcwsnet.load(tmp_path / "same").selection_)[0] == 5
    assert "are not used" not in same.stderr
    other = succeed("train", tmp_path / "codes", "--out", tmp_path / "other", "--epochs", 1)
    model = gcwsnet.load(tmp_path / "other")
    assert (model.trainer_.targets.temperature, selected_training(model.selection_)) == (1, (None, 1.0, 0.0))
    assert "the epochs and the temperature that gcwsnet hash has selected" in other.stderr
    raw = succeed("train", files / "train.svm", "--out", tmp_path / "raw", "--epochs", 1, *hashing)
    assert "are not used" not in raw.stderr


def test_codes_leave_no_room_for_options_of_hashing(files: Path, tmp_path: Path) -> None:
    succeed("hash", files / "train.svm", "--out", tmp_path / "codes", *SMALL[:2], *SMALL[4:])
    for option in (["--n-hashes", 32], ["--random-state", 0], ["--label", "a"], ["--bits", 4]):
        result = run("train", tmp_path / "codes", "--out", tmp_path / "m", *option)
        assert result.exit_code == 2
        assert option[0] in result.stderr
        assert "hash again" in result.stderr


def test_hashing_again_leaves_nothing_of_the_old_codes(files: Path, tmp_path: Path) -> None:
    hashing = ["--out", tmp_path / "codes", *SMALL[:2], *SMALL[4:]]
    succeed("hash", *sorted((files / "parts").iterdir()), *hashing)
    assert len(list((tmp_path / "codes").glob("part-*.codes.npy"))) == 3
    succeed("hash", files / "parts" / "0.svm", *hashing, "--restart")
    assert len(list((tmp_path / "codes").glob("part-*.codes.npy"))) == 1
    succeed("train", tmp_path / "codes", "--out", tmp_path / "m", "--hidden", 4)


def test_clicks_have_auc_and_log_loss(files: Path, tmp_path: Path) -> None:
    reading = ["--label", "clicked", "--weight", "age"]
    printed = succeed("train", files / "clicks.csv", *reading, "--out", tmp_path / "m", *SMALL, "--json")
    assert json.loads(printed.stdout)["progressive_auc"] > 0.8
    found = json.loads(succeed("evaluate", tmp_path / "m", files / "clicks.csv", "--json").stdout)
    lines = succeed("predict", tmp_path / "m", files / "clicks.csv", "--probabilities").stdout.splitlines()
    assert lines[0] == "predicted,probability_0,probability_1"
    rows = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    truth = np.loadtxt(files / "clicks.csv", delimiter=",", skiprows=1, usecols=2)
    assert found["auc"] == pytest.approx(roc_auc_score(truth, rows[:, 2]), abs=1e-3)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, rows[:, 0]))
    assert found["rows"] == 1500


def test_regression_is_found_by_the_labels(files: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = 100 + 10 * X[:, 0]
    np.savetxt(tmp_path / "r.tsv", np.column_stack([X, y]), delimiter="\t", header="a\tb\tc\tsize", comments="")
    settings = ["--n-hashes", 64, "--hidden", 16, "--p", 1, "--scale", "numeric", "--epochs", 10]
    succeed("train", tmp_path / "r.tsv", "--label", "size", "--out", tmp_path / "m", *settings)
    found = json.loads(succeed("evaluate", tmp_path / "m", tmp_path / "r.tsv", "--json").stdout)
    predicted = np.array(succeed("predict", tmp_path / "m", tmp_path / "r.tsv").stdout.split()[1:], dtype=float)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((predicted - y) ** 2)))
    assert found["mae"] == pytest.approx(np.abs(predicted - y).mean())
    assert found["r2"] == pytest.approx(1 - np.mean((predicted - y) ** 2) / y.var())
    assert found["r2"] > 0.8
    result = run("predict", tmp_path / "m", tmp_path / "r.tsv", "--probabilities")
    assert result.exit_code == 2
    assert "A regression has no probabilities" in result.stderr
    del files


def test_a_stream_is_learned_once_and_in_pipes(files: Path, tmp_path: Path) -> None:
    text = (files / "train.svm").read_bytes()
    printed = succeed("train", "-", "--n-features", 64, "--out", tmp_path / "m", *SMALL, "--json", input=text)
    assert json.loads(printed.stdout)["rows"] == 1200
    few = b"\n".join(text.splitlines()[:5]) + b"\n"
    assert len(succeed("predict", tmp_path / "m", "-", input=few).stdout.splitlines()) == 6
    for option in (["--epochs", 2], ["--checkpoint-every", 100], ["--resume"]):
        result = run("train", "-", "--n-features", 64, "--out", tmp_path / "x", *SMALL, *option, input=text)
        assert result.exit_code == 1
        assert "can be read only once" in result.stderr


def test_text_in_a_stream_needs_no_option(tmp_path: Path) -> None:
    text = b"size,color,y\n" + b"".join(b"%d,%s,%d\n" % (i % 7, [b"red", b"blue"][i % 2], i % 2) for i in range(200))
    succeed("train", "-", "--label", "y", "--out", tmp_path / "m", *SMALL, input=text)
    predicted = succeed("predict", tmp_path / "m", "-", input=b"size,color\n3,blue\n3,red\n").stdout.split()
    assert predicted == ["predicted", "1", "0"]


def test_a_stream_gives_the_model_of_partial_fit(files: Path, tmp_path: Path) -> None:
    """Its weights are averaged in both."""
    text = (files / "train.svm").read_bytes()
    run = ["train", "-", "--n-features", 64, "--out", tmp_path / "m", *SMALL, "--search", "off"]
    succeed(*run, input=text)
    X, y = load_svmlight_file(str(files / "train.svm"), n_features=64)
    model = gcwsnet.GCWSNetClassifier(32, hidden=(16,), p=1.0, scale="minmax", search="off", random_state=0)
    model.partial_fit(X, y, classes=range(10))
    assert model.trainer_.net.averaging == "recent"
    np.testing.assert_array_equal(gcwsnet.load(tmp_path / "m").predict_proba(X), model.compress().predict_proba(X))


def test_a_label_that_a_stream_shows_late_becomes_a_class(tmp_path: Path) -> None:
    labels = ["b", "d"] * 4500 + ["b", "a", "d", "c"] * 300  # rows are read 8,192 at a time
    text = "x,y,label\n" + "".join(f"{ord(label) - 98},{(ord(label) - 98) ** 2},{label}\n" for label in labels)
    options = ["--label", "label", "--n-hashes", 32, "--hidden", 16, "--p", 1, "--scale", "numeric"]
    succeed("train", "-", *options, "--out", tmp_path / "m", input=text)
    model = gcwsnet.load(tmp_path / "m")
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    predicted = succeed("predict", tmp_path / "m", "-", input="x,y\n-1,1\n0,0\n1,1\n2,4\n").stdout.split()
    assert predicted == ["predicted", "a", "b", "c", "d"]
    of_another_type = "x,y,label\n" + "1,1,0\n0,0,1\n" * 5000 + "1,1,0.5\n"
    assert "every label must be one of the 2 classes" in fail(
        "train", "-", *options, "--out", tmp_path / "x", input=of_another_type
    )


def test_labels_with_fractions_are_not_cut_off(files: Path, tmp_path: Path) -> None:
    """Neither those of a stream that begins with integers nor those that a model is evaluated on."""
    first = "".join(f"{i} 1:{i}\n" for i in range(150))
    train = ["train", "-", "--n-features", 1, "--task", "regression", *SMALL]
    for name, label in (("cut", 9), ("whole", 9.75)):
        rest = f"{label} 1:9\n" * 50_000
        succeed(*train, "--out", tmp_path / name, input=first + rest)
    cut, whole = (gcwsnet.load(tmp_path / name).predict([[9.0]])[0] for name in ("cut", "whole"))
    assert whole > cut + 0.5
    succeed("train", files / "train.svm", "--out", tmp_path / "m", *SMALL)
    (tmp_path / "test.svm").write_text("1 1:1\n1.5 2:1\n")
    assert "not 1.5" in fail("evaluate", tmp_path / "m", tmp_path / "test.svm")


def test_rows_that_cannot_be_read_stop_or_are_skipped(files: Path, tmp_path: Path) -> None:
    lines = (files / "train.svm").read_text().splitlines()
    lines[7] = "3 5:x"
    bad = tmp_path / "bad.svm"
    bad.write_text("\n".join(lines) + "\n")
    result = run("train", bad, "--out", tmp_path / "m", *SMALL)
    assert result.exit_code == 1
    assert f"{bad}:8:" in result.stderr
    assert result.stderr.count("\n") == 1
    skip = ["--on-error", "skip", "--rejects", tmp_path / "rejects"]
    printed = json.loads(succeed("train", bad, "--out", tmp_path / "m", *SMALL, *skip, "--json").stdout)
    assert printed["skipped"] == 1
    assert "bad.svm:8:" in printed["reasons"][0]
    assert (tmp_path / "rejects").read_text() == "3 5:x\n"


def test_a_label_of_the_test_file_that_was_never_seen_is_named(files: Path, tmp_path: Path) -> None:
    (tmp_path / "test.svm").write_text("1 1:1\n77 2:1\n")
    result = run("train", files / "train.svm", "--test", tmp_path / "test.svm", "--out", tmp_path / "m", *SMALL)
    assert result.exit_code == 1
    assert "test.svm:2" in result.stderr
    assert "77" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--out", "m", "--p", "much"], 2, "--p"),
        (["--out", "m", "--hidden", "a,b"], 2, "--hidden"),
        (["--out", "m", "--index-base", "2"], 2, "--index-base"),
        (["--out", "m", "--on-error", "ignore"], 2, "--on-error"),
        (["--out", "m", "--task", "clustering"], 2, "'--task'"),
        (["--out", "m", "--rejects", "r"], 2, "--rejects"),
        (["--out", "m", "--scale", "robust"], 1, "scale must be one of"),
        (["--out", "m", "--task", "regression", "--label", "digit"], 1, "label"),
    ],
)
def test_wrong_arguments_are_one_line(
    files: Path, arguments: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("train", files / "train.svm", *arguments)
    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("said", ["", "std::bad_alloc"])
def test_an_error_about_memory_that_says_nothing_gets_words(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_memory(*_: object, **__: object) -> None:
        raise MemoryError(*[said] * bool(said))

    monkeypatch.setattr("gcwsnet.estimators._load.load", without_memory)
    assert fail("export", ".", "--onnx", "m.onnx").startswith("gcwsnet: there is not enough memory; end other")


def test_debug_shows_where_an_error_comes_from(tmp_path: Path) -> None:
    result = run("--debug", "train", tmp_path / "nothing.svm", "--out", tmp_path / "m")
    assert isinstance(result.exception, FileNotFoundError)
    assert run("train", tmp_path / "nothing.svm", "--out", tmp_path / "m").exit_code == 1


def test_rows_without_labels_can_be_hashed_but_not_learned_from(files: Path, tmp_path: Path) -> None:
    lines = (files / "digits.csv").read_text().splitlines()
    (tmp_path / "pixels.csv").write_text("\n".join(line.partition(",")[2] for line in lines) + "\n")
    result = succeed("hash", tmp_path / "pixels.csv", "--n-hashes", 8, "--out", tmp_path / "codes")
    assert "were not selected, since there are no labels" in result.stderr
    assert json.loads(succeed("info", tmp_path / "codes", "--json").stdout)["rows"] == 1200
    for source in (tmp_path / "codes", tmp_path / "pixels.csv"):
        failed = run("train", source, "--out", tmp_path / "m")
        assert failed.exit_code == 1
        assert "labels" in failed.stderr


def test_a_kernel_between_files_is_that_of_their_rows(files: Path, tmp_path: Path) -> None:
    A, _ = load_svmlight_file(str(files / "test.svm"), n_features=64)
    B, _ = load_svmlight_file(str(files / "parts" / "0.svm"), n_features=64)
    out = tmp_path / "kernel.csv"
    succeed("kernel", files / "test.svm", files / "parts" / "0.svm", "--p", 2, "--out", out)
    exact = gcwsnet.pgmm_kernel(A, B, p=2)
    np.testing.assert_allclose(np.loadtxt(out, delimiter=",", skiprows=1), exact, rtol=1e-6)
    settings = ["--p", 2, "--estimate", "--n-hashes", 512, "--out", out]
    succeed("kernel", files / "test.svm", files / "parts" / "0.svm", *settings)
    estimated = np.loadtxt(out, delimiter=",", skiprows=1)
    assert 0.01 < np.sqrt(np.mean((estimated - exact) ** 2)) < 0.03


def test_predictions_are_the_same_in_all_forms(files: Path, tmp_path: Path) -> None:
    succeed("train", files / "train.svm", "--out", tmp_path / "m", *SMALL)
    as_text = succeed("predict", tmp_path / "m", files / "test.svm", "--probabilities").stdout
    succeed("predict", tmp_path / "m", files / "test.svm", "--probabilities", "--out", tmp_path / "a.parquet")
    succeed("predict", tmp_path / "m", files / "test.svm", "--probabilities", "--out", tmp_path / "a.csv")
    as_json = succeed("predict", tmp_path / "m", files / "test.svm", "--probabilities", "--json").stdout.splitlines()
    table = pd.read_parquet(tmp_path / "a.parquet")
    assert (tmp_path / "a.csv").read_text() == as_text
    assert [json.loads(line) for line in as_json] == table.to_dict("records")
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1), table.to_numpy())
    result = run("predict", tmp_path / "m", files / "test.svm", "--out", tmp_path / "a.txt")
    assert result.exit_code == 2


def test_info_describes_a_path(files: Path, tmp_path: Path) -> None:
    succeed("train", files / "train.svm", "--epochs", 3, "--out", tmp_path / "m", *SMALL)
    for path in (tmp_path / "m", tmp_path / "m" / "model.safetensors"):
        printed = json.loads(succeed("info", path, "--json").stdout)
        assert (printed["kind"], printed["n_hashes"], printed["hidden"], printed["rows_seen"]) == (
            "model",
            32,
            [16],
            3600,
        )
    printed = json.loads(succeed("info", files / "digits.csv", "--label", "digit", "--json").stdout)
    assert (printed["kind"], printed["n_rows"], printed["n_features"], printed["distinct_labels"]) == (
        "rows",
        1200,
        64,
        10,
    )
    assert run("info", tmp_path / "nothing").exit_code == 1
