"""`gcwsnet index`: from files to an index of near neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcwsnet.cli import _options as options

OF_INDEX = ["n_hashes", "bits", "p", "threshold", "recall", "keep_rows", "sets", "random_state"]


def index(
    context: typer.Context,
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="INDEX", help="The folder for the index.")],
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Build buckets that find rows from this similarity on quickly."),
    ] = None,
    recall: options.Recall = 0.95,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Keep the rows, so that the exact kernel decides, not estimates.")
    ] = False,
    sets: options.Sets = False,
    memory: Annotated[
        int,
        typer.Option(
            min=1, metavar="BYTES", help="Rows are written to the folder when they have filled so much memory."
        ),
    ] = 1 << 30,
    append: Annotated[bool, typer.Option("--append", help="Add to the index that is in the folder.")] = False,
    n_hashes: options.NHashes = 256,
    bits: options.Bits = 8,
    p: Annotated[float, typer.Option("--p", help="The power of the pGMM kernel.")] = 1.0,
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    ids: options.IdColumn = None,
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
    """Build an index of the rows of files, which gcwsnet search finds near neighbours in.

    Only codes are kept, some 270 bytes of a row, unless --keep-rows is given. Files that end with .txt, or
    --format text, have a text on each line. The column of the label is left out. The index may be larger than the
    memory: the files are the same for any --memory.

    The ids of rows are their numbers among all rows of the files, from 0 on, unless a column has ids. Rows that
    --on-error skip leaves out keep theirs, so that the others are known by their places in the files.

    For example:
      gcwsnet index train.svm --out neighbors
      gcwsnet index digits.csv --label digit --keep-rows --threshold 0.8 --out digits-neighbors
      gcwsnet index texts.txt --threshold 0.7 --sets --out texts-neighbors
    """
    import numpy as np

    from gcwsnet._atomic import require_separate
    from gcwsnet.cli._rows_progress import rows_progress
    from gcwsnet.cli._writers import print_values, report_skipped
    from gcwsnet.data._sources import find_names
    from gcwsnet.neighbors import GCWSIndex
    from gcwsnet.neighbors._file_rows import FileRows
    from gcwsnet.neighbors._files import WRITTEN
    from gcwsnet.neighbors._spilling import spilling

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
    inputs = [name for file in files for name in find_names(file)]
    require_separate(inputs, [] if rejects is None else [rejects], folder=out, written=WRITTEN)
    id_column = options.name_or_number(ids)
    if append:
        options.refuse(context, OF_INDEX, "the index in the folder has it already. Leave it out.")
        made = GCWSIndex.load(out, n_jobs=n_jobs)
        rows = FileRows(**made.metadata["rows"])
    else:
        made = GCWSIndex(
            n_hashes,
            p=p,
            bits=bits,
            threshold=threshold,
            recall=recall,
            keep_rows=keep_rows,
            sets=sets,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        if (out / "index.json").exists():
            raise ValueError(f"{out} has an index; add to it with --append, or choose another folder")
        rows, reading = FileRows.of_files(
            files,
            reading,
            text=options.name_or_number(text),
            shingle=shingle,
            ids=id_column,
            ignored=options.name_or_number(label),
        )
        made.metadata["rows"] = rows.to_json()
    if rows.schema is not None:
        options.refuse(context, ["shingle"], "the rows are no texts. Leave it out, or give --text.")
    batches = rows.batches(files, reading, id_column)
    n_rows, next_id = 0, made._store.next_id() if append and id_column is None else 0
    with rows_progress(quiet or as_json) as advance, spilling(made, out, memory) as segments:
        for batch in batches:
            read = np.arange(n_rows, n_rows + batch.X.shape[0])
            made.add(batch.X, ids=next_id + batches.positions(read) if not id_column and batches.skipped else batch.ids)
            n_rows += batch.X.shape[0]
            segments.write_if_full()
            advance(batch.X.shape[0])
        made.save(out)
    report_skipped(batches, n_rows + batches.skipped, " and are not in the index")
    bands = made.bands_
    summary = {
        "index": str(out),
        "rows": made.n_samples_fit_,
        "columns": made.n_features_in_,
        "bytes": made.nbytes,
        "bands": None if bands is None else bands.n_bands,
        "band_width": None if bands is None else bands.width,
    }
    if batches.skipped:
        summary |= {"skipped": batches.skipped, "reasons": batches.reasons}
    print_values(summary, as_json=as_json)
