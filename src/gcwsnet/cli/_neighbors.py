"""`gcwsnet kernel`, `index`, `search` and `dedup`: similarities, near neighbours and near-duplicates of files."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import typer

from gcwsnet.cli import _options as options


@dataclass(frozen=True)
class CompareOptions:
    """How rows are hashed to be compared."""

    n_hashes: options.NHashes = 256
    bits: options.Bits = 8
    p: Annotated[float, typer.Option("--p", help="The power of the pGMM kernel.")] = 1.0
    random_state: options.RandomState = 0


@dataclass(frozen=True)
class SimilarityOptions(CompareOptions):
    """How similar rows are found."""

    recall: Annotated[float, typer.Option(min=0.5, max=0.9999, help="The share of neighbours that are found.")] = 0.95
    sets: Annotated[
        bool,
        typer.Option("--sets", help="A row is the set of its non-zero entries: Jaccard similarity, hashed faster."),
    ] = False


@dataclass(frozen=True)
class TextOptions:
    """Texts in place of rows of numbers."""

    text: Annotated[
        Any,
        typer.Option(
            metavar="COLUMN",
            parser=options.column,
            help="The column of a table that holds texts, compared by shingles.",
        ),
    ] = None
    shingle: Annotated[int, typer.Option(min=1, help="The words of a shingle of a text.")] = 3


IdColumn = Annotated[
    Any,
    typer.Option(
        "--ids",
        metavar="COLUMN",
        parser=options.column,
        help="The column of a table with the ids. By default numbers from 0.",
    ),
]


def kernel(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="A file, as gcwsnet train reads it. Its rows become rows.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another file. Its rows become columns.")],
    rows: options.RowOptions,
    hashing: CompareOptions,
    scale: Annotated[
        Literal["numeric", "standard", "minmax", "quantile", "idf", "unit", "tfidf", "none"],
        typer.Option(help="Learned from B."),
    ] = "none",
    estimate: Annotated[bool, typer.Option("--estimate", help="Estimate the kernel from codes.")] = False,
    out: options.TableOut = None,
    as_json: options.JsonLines = False,
    n_jobs: options.NJobs = 1,
) -> None:
    """Compute the pGMM kernel of each row of A with each row of B, exactly or from codes. B must fit into memory.

    For example:
      gcwsnet kernel test.svm train.svm --n-features 64 --out kernel.csv
      gcwsnet kernel test.svm test.svm --p 2 --estimate --n-hashes 1024
      gcwsnet kernel digits.csv digits.csv --label digit --scale numeric --out kernel.parquet
    """
    import numpy as np

    from gcwsnet.cli._display import writer_for
    from gcwsnet.hashing._gcws import GCWSHasher
    from gcwsnet.hashing._similarity import estimate_similarity
    from gcwsnet.kernels._exact import pgmm_kernel
    from gcwsnet.tables._scaling import fit_scaling

    if not estimate:
        options.refuse(context, ["n_hashes", "bits", "random_state"], "the kernel is exact without --estimate.")
    batches, others = _of_one_width(a, b, rows.settings())
    scaling = None if scale == "none" else fit_scaling(others, scale)
    if scaling is not None:
        others = scaling.transform(others)
    hasher = GCWSHasher(**vars(hashing), n_jobs=n_jobs)
    codes = hasher.fit_transform(others) if estimate else None
    with writer_for(out, [f"b{i}" for i in range(others.shape[0])], as_json=as_json) as write:
        for batch in batches:
            X = batch.X if scaling is None else scaling.transform(batch.X)
            if codes is None:
                found = pgmm_kernel(X, others, p=hashing.p, n_jobs=n_jobs)
            else:
                found = estimate_similarity(hasher.transform(X), codes, bits=hashing.bits)
            write(list(np.asarray(found).T))


def _of_one_width(a: str, b: str, reading: dict[str, Any]) -> tuple[Any, Any]:
    """Return batches of A, and all rows of B with as many columns."""
    from gcwsnet.files._learn import read_with_schema
    from gcwsnet.files._read import read
    from gcwsnet.tables._batch import joined

    n_features = reading.pop("n_features", None)
    rows, others = read(a, **reading), read(b, **reading)
    if n_features is not None and rows.schema.index_base is None:
        raise typer.BadParameter(f"The option is for LIBSVM rows, and {a} has none.", param_hint="--n-features")
    if rows.schema.columns:  # a table: columns are found by their names
        others = read_with_schema([b], reading, rows.schema)
    elif rows.schema.index_base is not None:
        width = n_features or max(rows.n_features, others.n_features)
        rows, others = (read(file, **reading | {"n_features": width}) for file in (a, b))
    if rows.n_features != others.n_features:
        raise ValueError(
            f"both files must have as many columns, {a} has {rows.n_features} and {b} has {others.n_features}"
        )
    return rows, joined(list(others)).X


OF_INDEX = ["n_hashes", "bits", "p", "threshold", "recall", "keep_rows", "sets", "random_state"]


def index(
    context: typer.Context,
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="INDEX", help="The folder for the index.")],
    rows: options.RowOptions,
    skip: options.SkipOptions,
    texts: TextOptions,
    hashing: SimilarityOptions,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Build buckets that find rows from this similarity on quickly."),
    ] = None,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Keep the rows, so that the exact kernel decides, not estimates.")
    ] = False,
    append: Annotated[bool, typer.Option("--append", help="Add to the index that is in the folder.")] = False,
    ids: IdColumn = None,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Build an index of the rows of files, for gcwsnet search.

    Only codes are kept, some 270 bytes of a row, unless --keep-rows is given. Files that end with .txt, or
    --format text, have a text on each line. The column of the label is left out. The index may be larger than the
    memory.

    The ids of rows are their numbers among all rows of the files, from 0 on, unless a column has ids. Rows that
    --on-error skip leaves out keep theirs, so that the others are known by their places in the files.

    For example:
      gcwsnet index train.svm --out neighbors
      gcwsnet index digits.csv --label digit --keep-rows --threshold 0.8 --out digits-neighbors
      gcwsnet index texts.txt --threshold 0.7 --sets --out texts-neighbors
    """
    from dataclasses import asdict

    import numpy as np

    from gcwsnet._paths import find_names, require_separate
    from gcwsnet.cli._display import print_values, report_skipped, rows_progress
    from gcwsnet.neighbors._file_rows import FileRows
    from gcwsnet.neighbors._files import FILE
    from gcwsnet.neighbors._index import GCWSIndex, spilling

    reading = rows.settings() | skip.settings()
    ignored = reading.pop("label", None)
    inputs = [name for file in files for name in find_names(file)]
    rejects = [] if skip.rejects is None else [skip.rejects]
    require_separate(inputs, rejects, folder=out, written=re.compile(re.escape(FILE)))
    if append:
        options.refuse(context, OF_INDEX, "the index in the folder has it already. Leave it out.")
        made = GCWSIndex.load(out, n_jobs=n_jobs)
        file_rows = FileRows.of_index(out, made.metadata)
    else:
        made = GCWSIndex(**vars(hashing), threshold=threshold, keep_rows=keep_rows, n_jobs=n_jobs)
        if (out / FILE).exists():
            raise ValueError(f"{out} has an index; add to it with --append, or choose another folder")
        file_rows, reading = FileRows.of_files(files, reading, **vars(texts), ids=ids, ignored=ignored)
        made.metadata["rows"] = asdict(file_rows)
    if file_rows.schema is not None:
        options.refuse(context, ["shingle"], "the rows are no texts. Leave it out, or give --text.")
    batches = file_rows.batches(files, reading, ids)
    n_rows, next_id = 0, made._store.next_id() if append and ids is None else 0
    with rows_progress(quiet or as_json) as advance, spilling(made, out) as spill:
        for batch in batches:
            read = np.arange(n_rows, n_rows + batch.X.shape[0])
            made.add(batch.X, ids=next_id + batches.positions(read) if not ids and batches.skipped else batch.ids)
            n_rows += batch.X.shape[0]
            spill()
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
        summary |= {"skipped": batches.skipped, "reasons": [options.in_options(reason) for reason in batches.reasons]}
    print_values(summary, as_json=as_json)


def search(
    context: typer.Context,
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="The folder that gcwsnet index wrote.")],
    files: options.Files,
    rows: options.FileOptions,
    skip: options.SkipOptions,
    top: Annotated[int, typer.Option(min=1, metavar="K", help="The number of similar rows to find for each row.")] = 10,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="All rows with at least this similarity, instead.")
    ] = None,
    ids: IdColumn = None,
    out: options.TableOut = None,
    as_json: options.JsonLines = False,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
) -> None:
    """Find near neighbours: print the most similar rows of the index for each row of the files, best first.

    Rows are read as those of the index were. Similarities are exact if the index keeps rows, else estimated from codes.

    For example:
      gcwsnet search neighbors test.svm --top 3
      gcwsnet search digits-neighbors digits.csv --threshold 0.8 --json
      gcwsnet search texts-neighbors texts.txt --threshold 0.7 --out similar.csv
    """
    import numpy as np

    from gcwsnet.cli._display import report_skipped, rows_progress, writer_for
    from gcwsnet.neighbors._file_rows import FileRows
    from gcwsnet.neighbors._index import GCWSIndex

    if threshold is not None:
        options.refuse(context, ["top"], "all rows from --threshold on are found. Give one of them.")
    found_in = GCWSIndex.load(index, n_jobs=n_jobs)
    batches = FileRows.of_index(index, found_in.metadata).batches(files, rows.settings() | skip.settings(), ids)
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


def dedup(
    context: typer.Context,
    files: options.Files,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="The similarity of near-duplicates.")],
    rows: options.RowOptions,
    skip: options.SkipOptions,
    texts: TextOptions,
    hashing: SimilarityOptions,
    kept: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the lines that are kept to this file.")
    ] = None,
    out: options.TableOut = None,
    as_json: options.JsonLines = False,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
) -> None:
    """Find near-duplicates: print a line for each row that is similar to an earlier row that is kept.

    The codes of the rows that are kept stay in memory, some 450 bytes of a row, and nothing else. Files that end with
    .txt, or --format text, have a text on each line; --kept writes the lines without the near-duplicates.

    For example:
      gcwsnet dedup texts.txt --threshold 0.8 --kept unique.txt
      gcwsnet dedup digits.csv --label digit --threshold 0.9 --json
      cat texts.txt | gcwsnet dedup - --format text --threshold 0.8
    """
    import numpy as np

    from gcwsnet._atomic import written_beside
    from gcwsnet.cli._display import report_skipped, rows_progress, writer_for
    from gcwsnet.neighbors._file_rows import FileRows
    from gcwsnet.neighbors._index import Deduplicator

    reading = rows.settings() | skip.settings()
    ignored = reading.pop("label", None)
    file_rows, reading = FileRows.of_files(files, reading, **vars(texts), ids=None, ignored=ignored)
    if file_rows.schema is not None:
        options.refuse(context, ["shingle"], "the rows are no texts. Leave it out, or give --text.")
    if kept is not None and not file_rows.lines:
        raise typer.BadParameter("The option is for files with a text on each line.", param_hint="--kept")
    deduplicate = Deduplicator(threshold, **vars(hashing), n_jobs=n_jobs)
    batches = file_rows.batches(files, reading, None)
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
