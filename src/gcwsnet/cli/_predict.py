"""`gcwsnet predict`: the predictions of a model for the rows of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcwsnet.cli import _options as options


def predict(
    model: options.ModelPath,
    files: options.Files,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet."),
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each row.")] = False,
    n_jobs: options.NJobs = 1,
    format: options.Format = "auto",  # noqa: A002
    header: options.Header = None,
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Predict the label or the number of each row, in the order of the rows.

    Files are read like those that the model was trained on: columns are found by their names, and need no labels. With
    --on-error skip, the prediction of a row that cannot be read is empty: null in JSON and Parquet.

    For example:
      gcwsnet predict model test.svm > labels.csv
      gcwsnet predict model test.svm --probabilities --out predictions.parquet
      cat test.svm | gcwsnet predict model - --json
    """
    from gcwsnet.cli._writers import WriteInPlace, report_skipped, writer_for
    from gcwsnet.estimators._predictions import Model

    known = Model(model, n_jobs)
    if probabilities and known.classes is None:
        raise typer.BadParameter("A regression has no probabilities.", param_hint="--probabilities")
    reading = options.reading(format=format, header=header, on_error=on_error, rejects=rejects)
    batches = known.read(files, labels_needed=False, reading=reading)
    names = ["predicted"]
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
