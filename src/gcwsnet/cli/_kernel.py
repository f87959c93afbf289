"""`gcwsnet kernel`: the similarity of the rows of two files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options


def kernel(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="A file, as gcwsnet train reads it. Its rows become rows.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another file. Its rows become columns.")],
    p: Annotated[float, typer.Option("--p", help="The power of the pGMM kernel.")] = 1.0,
    scale: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Learned from B: numeric, standard, minmax, quantile, idf, unit, tfidf or none."
        ),
    ] = "none",
    estimate: Annotated[bool, typer.Option("--estimate", help="Estimate the kernel from codes.")] = False,
    n_hashes: options.NHashes = 256,
    bits: options.Bits = 8,
    random_state: options.RandomState = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each row of A.")] = False,
    n_jobs: options.NJobs = 1,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    categorical: options.Categorical = None,
    header: options.Header = None,
    n_features: options.NFeatures = None,
    missing: options.MissingOrZero = "error",
) -> None:
    """Compute the pGMM kernel of each row of A with each row of B, exact or estimated. All of B is kept in memory.

    For example:
      gcwsnet kernel test.svm train.svm --n-features 64 --out kernel.csv
      gcwsnet kernel test.svm test.svm --p 2 --estimate --n-hashes 1024
      gcwsnet kernel digits.csv digits.csv --label digit --scale numeric --out kernel.parquet
    """
    import numpy as np

    from gcwsnet.cli._writers import writer_for
    from gcwsnet.coding._preprocessing import KINDS, learn_scaling_of
    from gcwsnet.encoding import estimate_similarity
    from gcwsnet.hashing import GCWSHasher
    from gcwsnet.kernels import pgmm_kernel

    if not estimate:
        options.refuse(context, ["n_hashes", "bits", "random_state"], "the kernel is exact without --estimate.")
    options.check_choice("--missing", missing, ("error", "zero"))
    options.check_choice("--scale", scale, (*KINDS, "none"))
    reading = options.reading(
        format=format,
        label=label,
        columns=columns,
        exclude=exclude,
        categorical=categorical,
        header=header,
        missing=missing,
    )
    rows, others = _of_one_width(a, b, reading, n_features)
    scaling = None if scale == "none" else learn_scaling_of(others, scale)
    if scaling is not None:
        others = scaling.transform(others)
    hasher = GCWSHasher(n_hashes, p=p, bits=bits, random_state=random_state, n_jobs=n_jobs)
    codes = hasher.fit_transform(others) if estimate else None
    with writer_for(out, [f"b{i}" for i in range(others.shape[0])], as_json=as_json) as write:
        for batch in rows:
            X = batch.X if scaling is None else scaling.transform(batch.X)
            if codes is None:
                found = pgmm_kernel(X, others, p=p, n_jobs=n_jobs)
            else:
                found = estimate_similarity(hasher.transform(X), codes, bits=bits)
            write(list(np.asarray(found).T))


def _of_one_width(a: str, b: str, reading: dict[str, Any], n_features: int | None) -> tuple[Any, Any]:
    """Return batches of A, and all rows of B with as many columns."""
    from gcwsnet.data import read
    from gcwsnet.data._batch import joined
    from gcwsnet.estimators._file_coder import read_with_schema

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
