"""`gcwsnet evaluate`: how good a model is on files."""

from __future__ import annotations

import json
from typing import Any

from gcwsnet.cli import _options as options

LISTS = ("classes", "precision", "recall", "f1_of_class", "confusion_matrix")


def evaluate(
    model: options.ModelPath,
    files: options.Files,
    jobs: options.Jobs = 1,
    as_json: options.Json = False,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    weight: options.Weight = None,
    header: options.Header = None,
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Judge a model by the labels of files.

    Classification: accuracy, log loss, F1 and the confusion matrix; for two classes the AUC. Regression: root mean
    square error, mean absolute error and R2.

    For example:
      gcwsnet evaluate model test.svm
      gcwsnet evaluate model test.svm --json
    """
    options.need_torch()
    from gcwsnet.streaming._answers import Model
    from gcwsnet.streaming._measures import MOST_CLASSES_SHOWN, LabelMeasures, NumberMeasures

    known = Model(model, jobs)
    reading = options.reading_again(
        format=format, label=label, weight=weight, header=header, on_error=on_error, rejects=rejects
    )
    batches = known.read(files, labels_needed=True, reading=reading)
    measures: Any = NumberMeasures() if known.classes is None else LabelMeasures(known.classes)
    for answer in known.answers(batches):
        if answer.y is None:
            raise ValueError("there are no labels to judge by; name their column with --label")
        measures.add(answer)
    values = measures.values() | ({"skipped": batches.skipped} if batches.skipped else {})
    if as_json:
        print(json.dumps(values))
        return
    for name, value in values.items():
        if name not in LISTS:
            print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value:.6f}")
    if "classes" in values and len(values["classes"]) <= MOST_CLASSES_SHOWN:
        _print_classes(values)


def _print_classes(values: dict[str, Any]) -> None:
    classes = [str(label) for label in values["classes"]]
    width = max(9, *(len(label) for label in classes))
    print("\n" + " ".join(f"{name:>{width}}" for name in ("class", "precision", "recall", "f1")))
    rows = zip(classes, values["precision"], values["recall"], values["f1_of_class"], strict=True)
    for label, *numbers in rows:
        print(" ".join([f"{label:>{width}}", *(f"{number:>{width}.4f}" for number in numbers)]))
    print("\nrows of a class, by what was predicted:")
    print(" ".join(f"{name:>{width}}" for name in ("", *classes)))
    for label, counts in zip(classes, values["confusion_matrix"], strict=True):
        print(" ".join(f"{cell:>{width}}" for cell in (label, *counts)))
