"""`gcwsnet dedup`: near-duplicates of a stream, of which the first one is kept."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import IO, Annotated

import typer

from gcwsnet.cli import _options as options


def dedup(
    context: typer.Context,
    files: options.Files,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="The similarity of near-duplicates.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet.")
    ] = None,
    kept: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the lines of a text are written that are kept.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each near-duplicate.")] = False,
    recall: options.Recall = 0.95,
    sets: options.Sets = False,
    n_hashes: options.NHashes = 256,
    bits: options.Bits = 8,
    p: Annotated[float, typer.Option("--p", help="The power of the pGMM kernel.")] = 1.0,
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
    text: options.TextColumn = None,
    shingle: options.Shingle = 3,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    columns: options.Columns = None,
    categorical: options.Categorical = None,
    hash_columns: options.HashColumns = None,
    header: options.Header = None,
    missing: options.MissingOrZero = "error",
    n_features: options.NFeatures = None,
    index_base: options.IndexBase = "auto",
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Find near-duplicates: a line for each row that is similar to one that is kept, which is the first of them.

    The codes of the rows that are kept stay in memory, some 450 bytes of a row, and nothing else. Files that end with
    .txt, or --format text, have a text on each line; --kept writes the lines without the near-duplicates.

    For example:
      gcwsnet dedup texts.txt --threshold 0.8 --kept unique.txt
      gcwsnet dedup digits.csv --label digit --threshold 0.9 --json
      cat texts.txt | gcwsnet dedup - --format text --threshold 0.8
    """
    import numpy as np

    from gcwsnet._atomic import written_beside
    from gcwsnet.cli._rows_progress import rows_progress
    from gcwsnet.cli._writers import report_skipped, writer_for
    from gcwsnet.neighbors import Deduplicator
    from gcwsnet.neighbors._file_rows import FileRows

    reading = options.reading(
        format=format,
        columns=columns,
        categorical=categorical,
        hash_columns=hash_columns,
        header=header,
        missing=options.check_choice("--missing", missing, ("error", "zero")),
        n_features=n_features,
        index_base=index_base,
        on_error=on_error,
        rejects=rejects,
    )
    ignored = options.name_or_number(label)
    rows, reading = FileRows.of_files(
        files, reading, text=options.name_or_number(text), shingle=shingle, ids=None, ignored=ignored
    )
    if rows.schema is not None:
        options.refuse(context, ["shingle"], "the rows are no texts. Leave it out, or give --text.")
    if kept is not None and not rows.lines:
        raise typer.BadParameter("The option is for files with a text on each line.", param_hint="--kept")
    deduplicate = Deduplicator(
        threshold,
        n_hashes=n_hashes,
        bits=bits,
        p=p,
        recall=recall,
        sets=sets,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    batches = rows.batches(files, reading, None)
    n_found = 0
    with contextlib.ExitStack() as stack:
        write = stack.enter_context(writer_for(out, ["row", "duplicate_of", "similarity"], as_json=as_json))
        advance = stack.enter_context(rows_progress(quiet))
        lines: IO[str] | None = None
        if kept is not None:
            beside = stack.enter_context(written_beside(kept))
            lines = io.TextIOWrapper(beside, encoding="utf-8", errors="surrogateescape", newline="\n")
            stack.callback(lines.detach)
        for batch in batches:
            found = deduplicate(batch.X)
            numbers = [batches.positions(some) for some in (found.rows, found.originals)]
            write([*numbers, np.round(found.similarities, 6)])
            n_found += len(found.rows)
            if lines is not None and batch.lines is not None:
                lines.writelines(f"{one}\n" for one, keep in zip(batch.lines, found.kept.tolist(), strict=True) if keep)
            advance(batch.X.shape[0])
    report_skipped(batches, deduplicate.n_rows + batches.skipped, " and are not compared")
    if not quiet and not as_json:
        print(f"{deduplicate.n_rows:,} rows, {n_found:,} near-duplicates", file=sys.stderr)
