"""`gcwsnet info`: the description of a model, of a folder of codes or of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options

OF_CODES = ("n_hashes", "bits", "t_bits", "encoding")


def info(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="MODEL|CODES|FILE", help="A model, a folder of codes, or files as gcwsnet train reads."),
    ],
    rows: options.TableOptions,
    skip: options.SkipOptions,
    as_json: options.Json = False,
) -> None:
    """Describe a model, a folder of codes, or files of rows.

    For example:
      gcwsnet info model
      gcwsnet info codes --json
      gcwsnet info train.svm
      gcwsnet info digits.csv --label digit
    """
    from gcwsnet._paths import is_codes_folder

    path = Path(files[0])
    is_codes = is_codes_folder(path)
    if len(files) == 1 and (is_codes or path.suffix == ".safetensors" or (path / "model.safetensors").is_file()):
        options.refuse(context, options.OF_FILES, "it is for files of rows.")
        _show(_of_codes(path) if is_codes else _of_model(path), as_json=as_json)
        return
    _show(_of_files(files, rows.settings() | skip.settings()), as_json=as_json)


MAX_SHOWN = 50
"""The columns and the classes that tables show; JSON has all of them."""


def _show(values: dict[str, Any], *, as_json: bool) -> None:
    """Print a description as JSON, or as lines and as tables of columns, of labels and of the score."""
    from gcwsnet.cli._display import SCORES, format_number, print_table, print_values, to_json

    if as_json:
        print(to_json(values))
        return
    kinds, found, labels = (values.get(name, {}) for name in ("table", "column_values", "label_rows"))
    in_tables = {"table", "column_values", "label_rows", "held_out"}
    in_tables |= {"columns"} if kinds and "column_values" in values else set()
    in_tables |= {"labels"} if labels else set()
    print_values(
        {name: _line(one) for name, one in values.items() if name not in in_tables and one is not None}, as_json=False
    )
    if kinds:
        rows = [["column", "holds", "missing", "values"]]
        for name, kind in list(kinds.items())[:MAX_SHOWN]:
            of_column = found.get(name, {"missing": "", "values": ""})
            rows.append([name, kind, str(of_column["missing"]), of_column["values"]])
        print()
        print_table(rows if found else [row[:2] for row in rows], left=(0, 1, 3))
        _say_rest(len(kinds))
    if labels:
        print()
        print_table([["label", "rows"], *([name, f"{n:,}"] for name, n in list(labels.items())[:MAX_SHOWN])])
        _say_rest(len(labels))
    score = values.get("held_out")
    if score is not None:
        print(f"\n{score['rows']:,} held-out rows, of a model that learned from the other {score['rows_learned']:,}:")
        print_table([[label, format_number(score[name])] for name, label in SCORES.items() if name in score])


def _line(value: Any) -> Any:
    """Return a value as a line shows it: a list without brackets, a dict as its entries."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_line(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value[:MAX_SHOWN])) + (", ..." if len(value) > MAX_SHOWN else "")
    return f"{value:.6g}" if isinstance(value, float) else value


def _say_rest(n: int) -> None:
    if n > MAX_SHOWN:
        print(f"... and {n - MAX_SHOWN:,} more, which --json lists")


def _of_model(path: Path) -> dict[str, Any]:
    from gcwsnet.estimators._model_file import load_with_description

    estimator, description = load_with_description(path)
    values: dict[str, Any] = {
        "kind": "model",
        "estimator": description["estimator"],
        "gcwsnet_version": description["gcwsnet_version"],
        "columns": estimator.coder_.n_features,
        **_of_schema(estimator.schema_),
        "scaling": repr(estimator.scaling_),
        "p": estimator.p_,
        **(_of_machine(estimator) if "machine" in description else _of_net(estimator)),
    }
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        values["classes"] = classes.tolist()
    if "machine" in description:
        return values
    history = description["trainer"]["history"]
    values |= {"held_out": description["held_out"]} if "held_out" in description else {}
    return values | {"last_record": {name: all_[-1] for name, all_ in history.items() if all_ and all_[-1] is not None}}


def _of_net(estimator: Any) -> dict[str, Any]:
    settings, trainer = estimator.get_params(deep=False), estimator.trainer_
    return {
        **{name: settings[name] for name in OF_CODES},
        "hidden": list(trainer.settings.layers()),
        "reduction": settings["reduction"],
        "parameters": sum(value.size for value in trainer.net.weights().values()),
        "seed": estimator.seed_,
        "rows_seen": trainer.rows_seen,
        "epochs": trainer.epochs_seen,
    }


def _of_machine(estimator: Any) -> dict[str, Any]:
    machine = estimator.machine_
    return {
        "alpha": estimator.alpha_,
        "parameters": machine.coefficients.size + machine.bias.size,
        "seed": estimator.seed_,
        "rows_seen": len(machine.coefficients),
    }


def _of_codes(path: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from gcwsnet.files._codes import Manifest, coder_of_codes, hashed_files

    file_coder, manifest = coder_of_codes(path), Manifest.read(path)
    hashed = hashed_files(path, manifest)
    coder = file_coder.coder
    settings = asdict(coder.settings)
    return {
        "kind": "codes",
        "rows": sum(one.rows for one in hashed),
        "files_done": len(hashed),
        "files": len(manifest.files),
        "columns": coder.n_features,
        **_of_schema(coder.schema),
        "task": file_coder.task,
        "scaling": repr(coder.preprocessing),
        "p": coder.p,
        **{name: settings[name] for name in OF_CODES},
        "seed": coder.seed,
    }


def _of_schema(schema: Any) -> dict[str, Any]:
    """Return the columns of a table and what they are; nothing where there is no table."""
    if schema is None or not schema.columns:
        return {}
    return {"table": {column.key: column.summary for column in schema.columns}}


def _of_files(files: list[str], reading: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import asdict

    from gcwsnet.files._read import read

    batches = read(files if len(files) > 1 else files[0], **reading)
    survey = batches.survey()
    values = {"kind": "rows", **asdict(survey), "columns": batches.columns, **_of_schema(batches.schema)}
    labels = values.pop("labels")
    if labels is not None:
        values["distinct_labels"] = len(labels)
        values["labels"] = list(labels[:20])
    if batches.schema.columns and batches.reusable:
        values |= _of_values(batches, survey.label_type)
    return values


def _of_values(batches: Any, label_type: str | None) -> dict[str, Any]:
    """Return the missing values of the columns of a table with their range or most frequent values, and the labels."""
    from collections import Counter

    import numpy as np

    schema = batches.schema
    sums = np.zeros(schema.n_features)
    known = np.zeros(schema.n_features, dtype=int)
    least, most = np.full(schema.n_features, np.inf), np.full(schema.n_features, -np.inf)
    labels: Counter[Any] = Counter()
    n_rows = 0
    for batch in batches:
        X = batch.X
        n_rows += batch.n_rows
        if isinstance(X, np.ndarray):
            there = ~np.isnan(X)
            known += there.sum(axis=0)
            sums += np.where(there, X, 0).sum(axis=0)
            least, most = np.fmin(least, np.fmin.reduce(X)), np.fmax(most, np.fmax.reduce(X))
        else:
            sums += np.asarray(X.sum(axis=0)).reshape(-1)
        if batch.y is not None and label_type in ("strings", "integers"):
            labels.update(batch.y.astype(int).tolist() if label_type == "integers" else batch.y.tolist())
    found, first = {}, 0
    for column in schema.columns:
        last = first + column.width
        if column.kind == "onehot":
            counts = sorted(zip(sums[first:last].tolist(), column.categories, strict=True), key=lambda one: -one[0])
            shown = ", ".join(f"{text} ({count:,.0f})" for count, text in counts[:3])
            found[column.key] = {"missing": int(n_rows - sums[first:last].sum()), "values": shown}
        elif column.width == 1 and known.any():
            missing = int(n_rows - known[first])
            found[column.key] = {"missing": missing, "values": _range(column, least[first], most[first])}
        first = last
    return {"column_values": found, "label_rows": {str(name): n for name, n in labels.most_common(1000)}}


def _range(column: Any, least: float, most: float) -> str:
    """Return the range of a column of numbers, ranks or dates."""
    from contextlib import suppress
    from datetime import datetime, timedelta, timezone

    if not least <= most:
        return "none"
    if column.kind == "ordered":
        return f"{column.categories[int(least)]} to {column.categories[int(most)]}"
    ends = [f"{one:.6g}" for one in (least, most)]
    if column.kind == "date":
        start = datetime(1970, 1, 1, tzinfo=timezone.utc)
        with suppress(OverflowError):
            ends = [f"{start + timedelta(days=one):%Y-%m-%d}" for one in (least, most)]
    return f"{ends[0]} in each row" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
