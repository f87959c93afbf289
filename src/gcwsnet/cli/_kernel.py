"""`gcwsnet kernel`: how similar the rows of two files are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options


def kernel(
    a: Annotated[str, typer.Argument(metavar="A", help="A file, as of gcwsnet train; its rows become rows.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another file; its rows become columns.")],
    p: Annotated[float, typer.Option("--p", help="The power of the pGMM kernel.")] = 1.0,
    estimate: Annotated[bool, typer.Option("--estimate", help="Estimate it from codes instead.")] = False,
    hashes: options.Hashes = 256,
    bits: options.Bits = 8,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each row of A.")] = False,
    jobs: options.Jobs = 1,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    header: options.Header = None,
    features: options.Features = None,
    missing: options.Missing = None,
) -> None:
    """The pGMM kernel of each row of A with each row of B, exact or estimated. All of B is kept in memory.

    For example:
      gcwsnet kernel test.svm train.svm --features 64 --out kernel.csv
      gcwsnet kernel test.svm test.svm --p 2 --estimate --hashes 1024
    """
    import numpy as np

    from gcwsnet.cli._writers import writer_for
    from gcwsnet.encoding import estimate_similarity
    from gcwsnet.hashing import GCWSHasher
    from gcwsnet.kernels import pgmm_kernel

    reading = options.reading_again(
        format=format, label=label, weight=None, header=header, on_error="stop", rejects=None
    )
    reading |= {} if missing is None else {"missing": "zero" if missing == "mean" else missing}
    rows, others = _of_one_width(a, b, reading, features)
    hasher = GCWSHasher(hashes, p=p, bits=bits, random_state=seed, n_jobs=jobs).fit(others) if estimate else None
    codes = None if hasher is None else hasher.transform(others)
    with writer_for(out, [f"b{i}" for i in range(others.shape[0])], as_json=as_json) as write:
        for batch in rows:
            if hasher is None:
                found = pgmm_kernel(batch.X, others, p=p, n_jobs=jobs)
            else:
                found = estimate_similarity(hasher.transform(batch.X), codes, bits=bits)
            write(list(np.asarray(found).T))


def _of_one_width(a: str, b: str, reading: dict[str, Any], features: int | None) -> tuple[Any, Any]:
    """Batches of A, and all rows of B with as many columns."""
    from gcwsnet.data import read
    from gcwsnet.data._batch import joined

    rows, others = read(a, **reading), read(b, **reading)
    if rows.schema.columns:  # a table: columns are found by their names
        others = read(b, schema=rows.schema)
    elif rows.schema.index_base is not None:
        width = features or max(rows.n_features, others.n_features)
        rows, others = (read(file, **reading | {"n_features": width}) for file in (a, b))
    if rows.n_features != others.n_features:
        raise ValueError(f"{a} has {rows.n_features} columns and {b} has {others.n_features}; they must have as many")
    return rows, joined(list(others)).X
