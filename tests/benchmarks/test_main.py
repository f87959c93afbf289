"""``python -m benchmarks``: every subject runs, on data so small that it is quick, and has its place in the docs."""

from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import subject, timing
from benchmarks.__main__ import SUBJECTS, main
from benchmarks.hashing import peers, speed
from benchmarks.subject import DOCS, marks
from reproduction import datasets


def module_of(name: str) -> Any:
    """Return the module of a subject; the test is skipped where a package that it needs is missing."""
    for package in SUBJECTS[name].needs:
        pytest.importorskip(package)
    return import_module(f"benchmarks.{name.replace('-', '_')}")


def test_every_subject_that_has_a_page_has_a_place_in_it() -> None:
    for name, one in SUBJECTS.items():
        if one.page is not None:
            begin, end = marks(name)
            assert end in (DOCS / one.page).read_text(encoding="utf-8").partition(f"{begin}\n")[2], name


def test_every_place_in_the_docs_belongs_to_a_subject() -> None:
    known = {(one.page, marks(name)[0]) for name, one in SUBJECTS.items()}
    for page in DOCS.rglob("*.md"):
        lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("<!-- begin: ")]
        assert {(page.relative_to(DOCS).as_posix(), line) for line in lines if "benchmarks" in line} <= known


def table_of(name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run a subject, and return the lines of its tables."""
    module_of(name)
    main([name, *arguments])
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]


def test_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "20", "--columns", "5", "--repetitions", "1"]
    assert len(table_of("kernels", arguments, capsys)) == 2 + 9


def test_busy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.busy.NEIGHBOURS", (0, 1))
    assert len(table_of("busy", ["--rows", "50", "--repetitions", "1"], capsys)) == 2 + 2


def test_hashing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS", peers.PEERS[:1])
    monkeypatch.setattr(speed, "READY_COLUMNS", 20)
    lines = table_of("hashing", ["--rows", "zero-one", "--repetitions", "1"], capsys)
    assert lines[0] == "| rows | p | gcwsnet | full scan | NumPy |"
    assert lines[2].startswith("| 0/1, 100 of 10,000 columns | 1 |")


@pytest.fixture
def no_datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no dataset be found."""
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("no_datasets")
def test_training(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    training = module_of("training")
    monkeypatch.setattr(training, "GENERATED_ROWS", 300)
    monkeypatch.setattr(training, "n_cores", lambda: 1)
    lines = table_of("training", ["--rows", "100", "--repetitions", "1"], capsys)
    found = [line.split(" | ")[0].removeprefix("| ") for line in lines if "gcwsnet" in line.lower()]
    fits = [f"GCWSNetClassifier, batches of {size}" for size in (32, 128)]
    assert found == [*fits, training.PREDICTOR, training.ESTIMATOR]


@pytest.mark.usefixtures("no_datasets")
def test_fit_parts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of("training"), "GENERATED_ROWS", 300)
    monkeypatch.setattr(module_of("fit-parts"), "n_cores", lambda: 1)
    monkeypatch.setattr(timing, "COPIED", 1 << 10)
    assert len(table_of("fit-parts", ["--rows", "200", "--repetitions", "1"], capsys)) == 2 * (2 + 2)


@pytest.mark.usefixtures("no_datasets")
def test_first_layer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "COPIED", 1 << 10)
    arguments = ["--hashes", "8", "--outputs", "4", "--batches", "32", "--repetitions", "1"]
    assert len(table_of("first-layer", arguments, capsys)) == 2 * (2 + 6)


def test_reading(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(table_of("reading", ["--scale", "0.01", "--repetitions", "1"], capsys)) == (2 + 6) + (2 + 2)


def test_samplers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    samplers = module_of("samplers")
    monkeypatch.setattr(samplers, "POWERS", (1,))
    monkeypatch.setattr(samplers, "K", 8)
    assert len(table_of("samplers", ["--seeds", "2", "--repetitions", "1"], capsys)) == 3 * (2 + 4)


def test_zero_bit_writes_table_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of("zero-bit"), "N_HASHES", 16)
    monkeypatch.setattr(subject, "DOCS", tmp_path)
    page = tmp_path / "results" / "samplers.md"
    page.parent.mkdir()
    page.write_text("\n".join(marks("zero-bit")))
    main(["zero-bit", "--write-docs"])
    lines = page.read_text().splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 2 + 6 * 6
    assert (tmp_path / "images/zero-bit.png").read_bytes().startswith(b"\x89PNG")


def test_how_it_works_draws_its_pictures_and_has_the_numbers_of_its_page(tmp_path: Path) -> None:
    section = module_of("how-it-works").run(Namespace())
    for name, draw in section.pictures.items():
        draw(tmp_path / "picture.svg")
        assert b"<svg" in (tmp_path / "picture.svg").read_bytes()
        assert (DOCS / name).exists()
    assert section.text in (DOCS / "how-it-works.md").read_text(encoding="utf-8")  # codes are the same everywhere


@pytest.fixture
def digits_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name of a dataset load some of the digits."""
    digits = datasets.load("digits")
    for name in ("X_train", "y_train", "X_test", "y_test"):
        digits[name] = digits[name][:100]
    monkeypatch.setattr(datasets, "load", lambda *_, **__: digits)


@pytest.mark.usefixtures("digits_for_all")
def test_choosing_writes_tables_and_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choosing = module_of("choosing")
    for name, small in {"HASHES": (4, 8), "BITS": (1, 8), "POWERS": (1, 2), "ESTIMATES": 10}.items():
        monkeypatch.setattr(choosing, name, small)
    monkeypatch.setattr(subject, "DOCS", tmp_path)
    page = tmp_path / "results" / "choosing.md"
    page.parent.mkdir()
    page.write_text("\n".join(marks("choosing")))
    main(["choosing", "--write-docs", "--rows", "50"])
    lines = page.read_text().splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 3 * (2 + 2) + 2 + len(choosing.BY_POWER)
    assert all(b"<svg" in (tmp_path / "images" / f"choosing-{name}.svg").read_bytes() for name in ("p", "k-and-b"))


@pytest.mark.usefixtures("digits_for_all")
def test_fitting(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    module_of("fitting")
    monkeypatch.setattr(module_of("training"), "n_cores", lambda: 1)
    lines = table_of("fitting", ["--repetitions", "1"], capsys)
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| GCWSNetClassifier",
        "| GCWSNetClassifier, k = 64, batches of 128",
        "| LightGBM",
    ]


@pytest.mark.usefixtures("digits_for_all")
def test_batch_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of("batch-size"), "ROWS", (100, 200))
    lines = table_of("batch-size", ["--seeds", "1", "--rows", "150"], capsys)
    assert [line.split(" | ")[:2] for line in lines[2:]] == [["| covtype", "100"], ["| mnist", "100"]]


@pytest.mark.usefixtures("digits_for_all")
def test_model_size(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table_of("model-size", ["--rows", "300"], capsys)
    found = [line.split(" | ") for line in lines[2:]]
    assert [one[1] for one in found] == ["int4", "float32"] * 2
    assert float(found[0][2]) < 0.3 * float(found[1][2])


@pytest.mark.usefixtures("digits_for_all")
@pytest.mark.filterwarnings("ignore:.*maximum iterations")
def test_paper_settings(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seeds", "1", "--only", "pendigits", "--without", "dense Adam", "mixed codes"]
    (line,) = table_of("paper-settings", arguments, capsys)[2:]
    assert line.startswith("| Pendigits | 2 | as they are | 256 | 1 | 32 | ")


@pytest.mark.slow
def test_streaming(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    streaming = module_of("streaming")
    monkeypatch.setattr(streaming, "SIZES", (100, 200))  # so few that scaling and p are not searched
    monkeypatch.setattr(streaming, "ROWS_AT_ONCE", 100)
    streaming.write_rows(tmp_path / "rows-100.svm", 100)
    trained = streaming.train(tmp_path / "rows-100.svm", tmp_path / "model")
    assert trained["megabytes"] > 10
    monkeypatch.setattr(streaming, "train", lambda *_: trained)  # the command takes some seconds: once is enough
    lines = table_of("streaming", ["--folder", str(tmp_path)], capsys)
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| 100", "| 200"]


def test_accuracy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module_of("accuracy")
    some = ["--seeds", "1", "--datasets", "diabetes", "--learners", "ridge", "--results", str(tmp_path)]
    lines = table_of("accuracy", some, capsys)
    assert [line.split(" | ")[0] for line in lines].count("| diabetes") == 1


def test_streams(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module_of("streams")
    some = ["--rows", "100", "--streams", "abrupt", "--learners", "SGD", "last label", "--results", str(tmp_path)]
    lines = table_of("streams", some, capsys)
    assert [line.split(" | ")[0] for line in lines].count("| abrupt") == 3
    assert table_of("streams", [*some, "--report"], capsys) == lines
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    table_of("streams", [*some, "--again"], capsys)
    assert all(path.stat().st_ino != before[path.name] for path in tmp_path.iterdir())  # written again, not added to


@pytest.mark.slow
def test_clicks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ours = module_of("clicks").OURS
    some = ["--rows", "800", "--datasets", "clicks of the suite", "--learners", ours, "SGD"]
    lines = table_of("clicks", [*some, "--results", str(tmp_path)], capsys)
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {ours}", "| SGD"]
    assert table_of("clicks", [*some, "--results", str(tmp_path)], capsys) == lines
