"""`gcwsnet predict`, `evaluate` and `export`: what is done with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options


def predict(
    model: options.ModelPath,
    files: options.Files,
    rows: options.FileOptions,
    skip: options.SkipOptions,
    out: options.TableOut = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")] = False,
    keep: Annotated[
        Any,
        typer.Option(
            metavar="A,B,...",
            parser=options.column_list,
            help="Columns of the files to copy in front of the predictions.",
        ),
    ] = None,
    as_json: options.JsonLines = False,
    n_jobs: options.NJobs = 1,
) -> None:
    """Predict the label or the number of each row, in the order of the rows.

    Files are read like those that the model was trained on: columns are found by their names, and need no labels. With
    --on-error skip, the prediction of a row that cannot be read is empty: null in JSON and Parquet.

    For example:
      gcwsnet predict model test.svm > labels.csv
      gcwsnet predict model test.svm --probabilities --out predictions.parquet
      gcwsnet predict digits-model digits.csv --keep pixel0,pixel1
      cat test.svm | gcwsnet predict model - --json
    """
    from gcwsnet.cli._display import WriteInPlace, report_skipped, writer_for
    from gcwsnet.estimators._predictor import Predictor
    from gcwsnet.files._predict import Model
    from gcwsnet.files._reader import TableReader

    known = Model(Predictor.load(model, n_jobs=n_jobs))
    if probabilities and known.classes is None:
        raise typer.BadParameter("A regression has no probabilities.", param_hint="--probabilities")
    batches = known.read(files, labels_needed=False, reading=rows.settings() | skip.settings())
    names = ["predicted"]
    if keep is not None:
        if not isinstance(batches.reader, TableReader):
            raise typer.BadParameter("The option is for files with columns.", param_hint="--keep")
        batches.reader.keep = keep
        names = [*map(str, keep), *names]
    if probabilities and known.classes is not None:
        names += [f"probability_{label}" for label in known.classes.tolist()]
    with writer_for(out, names, as_json=as_json) as write:
        write_in_place = WriteInPlace(write, batches)
        for found in known.predictions(batches):
            columns = [found.predicted]
            if probabilities and found.probabilities is not None:
                columns += list(found.probabilities.T)
            write_in_place(columns)
        n_rows = write_in_place.finish()
    report_skipped(batches, n_rows, ", and their predictions are empty")


LISTS = ("classes", "precision", "recall", "f1_of_class", "confusion_matrix")


def evaluate(
    model: options.ModelPath,
    files: options.Files,
    rows: options.FileOptions,
    skip: options.SkipOptions,
    label: options.Label = None,
    weight: options.Weight = None,
    n_jobs: options.NJobs = 1,
    as_json: options.Json = False,
) -> None:
    """Measure a model on the labels of files.

    Classification: accuracy, log loss, F1 and the confusion matrix; for two classes the AUC. Regression: root mean
    square error, mean absolute error and R2. With --weight, rows count by their weights. A metric that is undefined for
    the rows, such as R2 where all targets are equal, is shown as "undefined", and is null in JSON.

    For example:
      gcwsnet evaluate model test.svm
      gcwsnet evaluate model test.svm --json
    """
    from gcwsnet.cli._display import report_skipped, to_json
    from gcwsnet.estimators._predictor import Predictor
    from gcwsnet.files._predict import MAX_CLASSES_SHOWN, Model

    known = Model(Predictor.load(model, n_jobs=n_jobs))
    named = {"label": label, "weight": weight}
    reading = rows.settings() | skip.settings() | {name: one for name, one in named.items() if one is not None}
    batches = known.read(files, labels_needed=True, reading=reading)
    metrics = known.metrics(weighted=weight is not None)
    n_rows = 0
    for found in known.predictions(batches):
        n_rows += len(found.predicted)
        if found.y is None:
            raise ValueError("there are no labels to compare with; name their column with --label")
        metrics.add(found)
    values = metrics.values() | ({"skipped": batches.skipped} if batches.skipped else {})
    report_skipped(batches, n_rows + batches.skipped, " and do not count")
    if as_json:
        print(to_json(values))
        return
    for name, value in values.items():
        if name not in LISTS:
            print(f"{name}: {_shown(value)}")
    if "classes" in values and len(values["classes"]) <= MAX_CLASSES_SHOWN:
        _print_classes(values)


def _shown(value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"


def _print_classes(values: dict[str, Any]) -> None:
    from gcwsnet.cli._display import print_table

    classes = [str(label) for label in values["classes"]]
    of_class = zip(classes, values["precision"], values["recall"], values["f1_of_class"], strict=True)
    rows = [[label, *(f"{number:.4f}" for number in numbers)] for label, *numbers in of_class]
    print()
    print_table([["class", "precision", "recall", "f1"], *rows], left=())
    print("\nThe rows of each class, by what was predicted:")
    counts = zip(classes, values["confusion_matrix"], strict=True)
    print_table([["", *classes], *([label, *(f"{count:g}" for count in row)] for label, row in counts)], left=())


def export(
    model: options.ModelPath,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="FILE", help="The ONNX file to write.")],
    dtype: Annotated[
        str,
        typer.Option(metavar="float64|float32", help="The type of rows, for a model that was not trained on a table."),
    ] = "float64",
    codes: Annotated[bool, typer.Option("--codes", help="Let the graph give the codes of rows too.")] = False,
) -> None:
    """Write a model as an ONNX graph, for programs that have an ONNX runtime and no gcwsnet.

    A model of a table has one input for each column, by its name. Any other model has one input X, a matrix.

    For example:
      gcwsnet export model --onnx model.onnx
      gcwsnet export model --onnx model.onnx --dtype float32 --codes
    """
    from gcwsnet.estimators._load import load
    from gcwsnet.export._export import export_onnx

    export_onnx(load(model), onnx, dtype=dtype, codes=codes)
