"""`gcwsnet search`: the near neighbours of the rows of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options


def search(
    context: typer.Context,
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="The folder that gcwsnet index wrote.")],
    files: options.Files,
    top: Annotated[int, typer.Option(min=1, metavar="K", help="The most similar rows of each row.")] = 10,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="All rows with at least this similarity, instead.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each neighbour.")] = False,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
    ids: options.IdColumn = None,
    format: options.Format = "auto",  # noqa: A002
    header: options.Header = None,
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Find near neighbours: for each row of the files a line for each similar row of the index, best first.

    Rows are read as those of the index were. Similarities are exact if the index keeps rows, else estimated from codes.

    For example:
      gcwsnet search neighbors test.svm --top 3
      gcwsnet search digits-neighbors digits.csv --threshold 0.8 --json
      gcwsnet search texts-neighbors texts.txt --threshold 0.7 --out similar.csv
    """
    import numpy as np

    from gcwsnet.cli._rows_progress import rows_progress
    from gcwsnet.cli._writers import report_skipped, writer_for
    from gcwsnet.neighbors import GCWSIndex
    from gcwsnet.neighbors._file_rows import FileRows

    if threshold is not None:
        options.refuse(context, ["top"], "all rows from --threshold on are found. Give one of them.")
    reading = options.reading(format=format, header=header, on_error=on_error, rejects=rejects)
    found_in = GCWSIndex.load(index, n_jobs=n_jobs)
    if "rows" not in found_in.metadata:
        raise ValueError(f"{index} was not written by gcwsnet index; search it in Python with GCWSIndex.load")
    rows = FileRows(**found_in.metadata["rows"])
    batches = rows.batches(files, reading, options.name_or_number(ids))
    first = 0
    with writer_for(out, ["query", "id", "similarity"], as_json=as_json) as write, rows_progress(quiet) as advance:
        for batch in batches:
            n_rows = batch.X.shape[0]
            numbers = batches.positions(np.arange(first, first + n_rows))
            names = numbers if batch.ids is None else batch.ids
            found: tuple[Any, Any, Any]
            if threshold is None:
                k = min(top, found_in.n_samples_fit_)
                nearest = found_in.query(batch.X, k)
                found = np.repeat(np.arange(n_rows), k), nearest.ids.ravel(), nearest.similarities.ravel()
            else:
                found = found_in.query_threshold(batch.X, threshold)
            write([names[found[0]], found[1], np.round(found[2], 6)])
            first += n_rows
            advance(n_rows)
    report_skipped(batches, first + batches.skipped, " and are not searched for")
