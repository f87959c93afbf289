"""``python -m benchmarks``: every subject runs, on data so small that it is quick, and has its place in the docs."""

import shlex
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import subject
from benchmarks.__main__ import SUBJECTS, main
from benchmarks.hashing import peers
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


def table_of(name: str, options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run a subject, and return the lines of its tables."""
    module_of(name)
    main([name, *shlex.split(options)])
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]


@pytest.fixture
def no_datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no dataset be found."""
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))


@pytest.fixture
def digits_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name of a dataset load some of the digits."""
    digits = datasets.load("digits")
    for name in ("X_train", "y_train", "X_test", "y_test"):
        digits[name] = digits[name][:100]
    monkeypatch.setattr(datasets, "load", lambda *_, **__: digits)


ONCE = "--repetitions 1"
ONE_CORE: Any = lambda: 1  # noqa: E731
# The options of a subject, the lines of its tables without their heads, and what is smaller than usual
CASES: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "kernels": (f"--rows 20 --columns 5 {ONCE}", [9], {}),
    "busy": (f"--rows 50 {ONCE}", [2], {"busy.NEIGHBOURS": (0, 1)}),
    "hashing": (
        f"--rows zero-one {ONCE}",
        [1, 1],
        {"hashing.peers.PEERS": peers.PEERS[:1], "hashing.speed.READY_COLUMNS": 20},
    ),
    "fit-parts": (
        f"--rows 200 {ONCE}",
        [2, 2, 1],
        {
            "training.GENERATED_ROWS": 300,
            "fit_parts.n_cores": ONE_CORE,
            "fit_parts.ROWS_OF_DEFAULT_FITS": (120,),
            "timing.COPIED": 1 << 10,
        },
    ),
    "first-layer": (f"--hashes 8 --outputs 4 --batches 32 {ONCE}", [6, 6], {"timing.COPIED": 1 << 10}),
    "reading": (f"--scale 0.01 {ONCE}", [6, 2], {}),
    "samplers": (f"--seeds 2 {ONCE}", [4, 4, 4], {"samplers.POWERS": (1,), "samplers.K": 8}),
}
ON_DIGITS: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "fitting": (ONCE, [3], {"training.n_cores": ONE_CORE}),
    "batch-size": ("--seeds 1 --rows 150", [2], {"batch_size.ROWS": (100, 200)}),
    "paper-settings": ("--seeds 1 --only pendigits --without 'dense Adam' 'mixed codes'", [1], {}),
}


def assert_has_tables(
    name: str, case: tuple[str, list[int], dict[str, Any]], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, n_lines, smaller = case
    module_of(name)
    for attribute, value in smaller.items():
        module, _, last = f"benchmarks.{attribute}".rpartition(".")
        monkeypatch.setattr(import_module(module), last, value)
    assert len(table_of(name, options, capsys)) == sum(2 + n for n in n_lines)


@pytest.mark.usefixtures("no_datasets")
@pytest.mark.parametrize("name", CASES)
def test_subjects_on_few_rows(name: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_has_tables(name, CASES[name], capsys, monkeypatch)


@pytest.mark.usefixtures("digits_for_all")
@pytest.mark.filterwarnings("ignore:.*maximum iterations")
@pytest.mark.parametrize("name", ON_DIGITS)
def test_subjects_on_digits(name: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_has_tables(name, ON_DIGITS[name], capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("no_datasets")
def test_training(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    training = module_of("training")
    monkeypatch.setattr(training, "GENERATED_ROWS", 300)
    monkeypatch.setattr(training, "n_cores", lambda: 1)
    lines = table_of("training", f"--rows 100 {ONCE}", capsys)
    found = [line.split(" | ")[0].removeprefix("| ") for line in lines if "gcwsnet" in line.lower()]
    fits = [f"GCWSNetClassifier, batches of {size}" for size in (32, 128)]
    assert found == [*fits, training.PREDICTOR, training.ESTIMATOR]


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
def test_model_size(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table_of("model-size", "--rows 300", capsys)
    found = [line.split(" | ") for line in lines[2:]]
    assert [one[1] for one in found] == ["int4", "float32"] * 2
    assert float(found[0][2]) < 0.3 * float(found[1][2])


@pytest.mark.slow
def test_streaming(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    streaming = module_of("streaming")
    monkeypatch.setattr(streaming, "SIZES", (100, 200))  # so few that scaling and p are not searched
    monkeypatch.setattr(streaming, "ROWS_AT_ONCE", 100)
    streaming.write_rows(tmp_path / "rows-100.svm", 100)
    trained = streaming.train(tmp_path / "rows-100.svm", tmp_path / "model")
    assert trained["megabytes"] > 10
    monkeypatch.setattr(streaming, "train", lambda *_: trained)  # the command takes some seconds: once is enough
    lines = table_of("streaming", f"--folder {tmp_path}", capsys)
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| 100", "| 200"]


def test_streams(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module_of("streams")
    some = f"--rows 100 --streams abrupt --learners GCWSNet no-change --results {tmp_path}"
    lines = table_of("streams", some, capsys)
    assert [line.split(" | ")[0] for line in lines].count("| abrupt") == 4
    assert table_of("streams", f"{some} --report", capsys) == lines
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    table_of("streams", f"{some} --again", capsys)
    assert all(path.stat().st_ino != before[path.name] for path in tmp_path.iterdir())  # written again, not added to


@pytest.mark.slow
def test_clicks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ours = module_of("clicks").OURS
    some = f"--rows 800 --datasets 'clicks of the suite' --learners '{ours}' SGD --results {tmp_path}"
    lines = table_of("clicks", some, capsys)
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {ours}", "| SGD"]
    assert table_of("clicks", some, capsys) == lines
