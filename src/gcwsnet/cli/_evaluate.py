"""`gcwsnet evaluate`: the metrics of a model on files."""

from __future__ import annotations

from typing import Any

from gcwsnet.cli import _options as options

LISTS = ("classes", "precision", "recall", "f1_of_class", "confusion_matrix")


def evaluate(
    model: options.ModelPath,
    files: options.Files,
    n_jobs: options.NJobs = 1,
    as_json: options.Json = False,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    weight: options.Weight = None,
    header: options.Header = None,
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Measure a model on the labels of files.

    Classification: accuracy, log loss, F1 and the confusion matrix; for two classes the AUC. Regression: root mean
    square error, mean absolute error and R2. With --weight, rows count by their weights. A metric that is undefined for
    the rows, such as R2 where all targets are equal, is shown as "undefined", and is null in JSON.

    For example:
      gcwsnet evaluate model test.svm
      gcwsnet evaluate model test.svm --json
    """
    from gcwsnet.cli._writers import report_skipped, to_json
    from gcwsnet.estimators._metrics import MOST_CLASSES_SHOWN, ClassificationMetrics, RegressionMetrics
    from gcwsnet.estimators._predictions import Model

    known = Model(model, n_jobs)
    reading = options.reading(
        format=format, label=label, weight=weight, header=header, on_error=on_error, rejects=rejects
    )
    batches = known.read(files, labels_needed=True, reading=reading)
    weighted = weight is not None
    metrics: Any
    if known.classes is None:
        metrics = RegressionMetrics(weighted=weighted)
    else:
        metrics = ClassificationMetrics(known.classes, weighted=weighted)
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
    if "classes" in values and len(values["classes"]) <= MOST_CLASSES_SHOWN:
        _print_classes(values)


def _shown(value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"


def _print_classes(values: dict[str, Any]) -> None:
    classes = [str(label) for label in values["classes"]]
    width = max(9, *(len(label) for label in classes))
    print("\n" + " ".join(f"{name:>{width}}" for name in ("class", "precision", "recall", "f1")))
    rows = zip(classes, values["precision"], values["recall"], values["f1_of_class"], strict=True)
    for label, *numbers in rows:
        print(" ".join([f"{label:>{width}}", *(f"{number:>{width}.4f}" for number in numbers)]))
    print("\nThe rows of each class, by what was predicted:")
    print(" ".join(f"{name:>{width}}" for name in ("", *classes)))
    for label, counts in zip(classes, values["confusion_matrix"], strict=True):
        print(" ".join(f"{cell:>{width}}" for cell in (label, *(f"{count:g}" for count in counts))))
