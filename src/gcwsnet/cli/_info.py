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

MAX_DESCRIBED = 1 << 22
"""Of rows with more columns, such as hashed ones, columns are not described one by one."""

MAX_TEXTS = 200_000
"""The texts of a column with many categories that are counted at a time."""


def _show(values: dict[str, Any], *, as_json: bool) -> None:
    """Print a description as JSON, or as lines and as tables of columns, of labels and of the score."""
    from gcwsnet.cli._display import SCORES, format_number, held_out_line, print_table, print_values, to_json

    if as_json:
        print(to_json({name: value for name, value in values.items() if name != "lines"}))
        return
    if "lines" in values:
        print("\n".join(values["lines"]))
    else:
        print_values({name: value for name, value in values.items() if name != "table"}, as_json=False)
    kinds, found = values.get("table", {}), values.get("column_values", {})
    score = values.get("held_out", {})
    importances = {name: f"{mean:.4f}" for name, mean, _ in score.get("importances", ())}
    rows = [["column", "holds", "missing", "values", "importance"]]
    for name in [*importances, *(name for name in kinds if name not in importances)]:
        of_column = found.get(name, {"missing": "", "values": ""})
        cells = str(of_column["missing"]), of_column["values"]
        rows.append([name, kinds.get(name, "number"), *cells, importances.get(name, "")])
    shown = [0, 1, *([2, 3] if found else []), *([4] if importances else [])]
    if rows[1:]:
        print()
        print_table([[row[place] for place in shown] for row in rows[: MAX_SHOWN + 1]], left=(0, 1, 3))
        _say_rest(len(rows) - 1)
    labels = values.get("label_rows", {})
    if labels:
        share = 100 / values["n_rows"]
        print()
        shown_labels = list(labels.items())[:MAX_SHOWN]
        print_table([["label", "rows", "share"], *([name, f"{n:,}", f"{share * n:.1f}%"] for name, n in shown_labels)])
        _say_rest(len(labels))
    if score:
        print(f"\n{held_out_line(score)}")
        print_table([[label, format_number(score[name])] for name, label in SCORES.items() if name in score])


def _say_rest(n: int) -> None:
    if n > MAX_SHOWN:
        print(f"... and {n - MAX_SHOWN:,} more, which --json lists")


def _of_model(path: Path) -> dict[str, Any]:
    from gcwsnet._validation import readable
    from gcwsnet.cli._display import counted
    from gcwsnet.estimators._load import load_with_description

    estimator, description = load_with_description(path)
    file = path / "model.safetensors" if path.is_dir() else path
    classes = getattr(estimator, "classes_", None)
    values: dict[str, Any] = {
        "kind": "model",
        "estimator": description["estimator"],
        "gcwsnet_version": description["gcwsnet_version"],
        "bytes": file.stat().st_size,
        "columns": estimator.coder_.n_features,
        **_of_schema(estimator.schema_),
        "scaling": repr(estimator.scaling_),
        "p": estimator.p_,
        **(_of_machine(estimator) if "machine" in description else _of_net(estimator)),
    }
    what = "a number" if classes is None else counted(len(classes), "class")
    shown = "" if classes is None or len(classes) > MAX_SHOWN else f" ({', '.join(map(str, classes.tolist()))})"
    values["lines"] = [
        f"{description['estimator']}, which predicts {what}{shown} from {counted(estimator.coder_.n_inputs, 'column')}",
        f"file: {file}, {readable(values['bytes'])}, by gcwsnet {description['gcwsnet_version']}",
        f"rows learned: {values['rows_seen'] // max(1, values.get('epochs', 1)):,}",
        *estimator.explain().splitlines(),
    ]
    if classes is not None:
        values["classes"] = classes.tolist()
    values |= {"held_out": description["held_out"]} if "held_out" in description else {}
    if "machine" in description:
        return values
    return values | {"history": description["trainer"]["history"]}


def _of_net(estimator: Any) -> dict[str, Any]:
    coder, trainer = estimator.coder_, estimator.trainer_
    return {
        **{name: getattr(coder.settings, name) for name in OF_CODES},
        "hidden": list(trainer.settings.layers()),
        "reduction": trainer.settings.reduction,
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

    from gcwsnet.files._codes import FileCoder, Manifest, hashed_files
    from gcwsnet.net._targets import Labels

    (coder, targets, _), manifest = FileCoder.read(path), Manifest.read(path)
    hashed = hashed_files(path, manifest)
    settings = asdict(coder.settings)
    return {
        "kind": "codes",
        "rows": sum(one.rows for one in hashed),
        "files_done": len(hashed),
        "files": len(manifest.files),
        "columns": coder.n_features,
        **_of_schema(coder.schema),
        "task": None if targets is None else "classification" if isinstance(targets, Labels) else "regression",
        "scaling": repr(coder.preprocessing.scaling),
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

    from gcwsnet._validation import readable
    from gcwsnet.cli._display import counted
    from gcwsnet.files._read import read

    batches = read(files if len(files) > 1 else files[0], **reading)
    survey = batches.survey()
    n_bytes = sum(Path(source.name).stat().st_size for source in batches.reader.sources if Path(source.name).is_file())
    values = {"kind": "rows", **asdict(survey), "bytes": n_bytes, "columns": batches.columns}
    values |= _of_schema(batches.schema)
    n_columns = len(batches.schema.columns) or survey.n_features
    values["lines"] = lines = [
        f"{counted(survey.n_rows, 'row')} of {counted(n_columns, 'column')}, {readable(n_bytes)}"
    ]
    if survey.n_weighted != survey.n_rows:
        lines.append(f"{counted(survey.n_weighted, 'row')} with a positive weight")
    if survey.skipped:
        lines.append(f"{counted(survey.skipped, 'more row')} could not be read")
    labels = values.pop("labels")
    if labels is not None:
        values["distinct_labels"] = len(labels)
        values["labels"] = list(labels[:20])
    if batches.reusable and survey.n_features <= MAX_DESCRIBED:
        values |= _of_values(batches, survey, lines)
    return values


def _of_values(batches: Any, survey: Any, lines: list[str]) -> dict[str, Any]:
    """Return the missing values of columns with their range or most frequent values, and the labels.

    What there is to say of all columns or labels together is added to `lines`.
    """
    from collections import Counter

    import numpy as np

    from gcwsnet.files._learn import find_task
    from gcwsnet.tables._describe import MAX_FREQUENT, ColumnStatistics, frequent

    schema, reader = batches.schema, batches.reader
    statistics, lengths, numbers = (ColumnStatistics(n) for n in (schema.n_features, 1, 1))
    labels: Counter[Any] = Counter()
    hashed: dict[str, Counter[str]] = {column.key: Counter() for column in schema.columns if column.kind == "hashed"}
    missing = dict.fromkeys(hashed, 0)
    if hashed:
        reader.keep = [column.name or column.number for column in schema.columns if column.key in hashed]
    for batch in batches:
        statistics.update(batch.X)
        while hashed and reader.kept:
            for name, column in zip(hashed, reader.kept.pop(), strict=True):
                missing[name] += _count_texts(hashed[name], column)
        if not isinstance(batch.X, np.ndarray):
            lengths.update(np.diff(batch.X.indptr)[:, np.newaxis].astype(float))
        if batch.y is not None and survey.label_type != "strings":
            numbers.update(np.asarray(batch.y, dtype=float)[:, np.newaxis])
        if batch.y is not None and survey.label_type != "numbers":
            labels.update(batch.y.astype(int).tolist() if survey.label_type == "integers" else batch.y.tolist())
    summaries = statistics.summaries(schema)
    if not schema.columns and lengths.n_rows:
        summaries = [one for one in summaries if one.holds != "0 numbers"]
        lines.append(
            f"{_span(lengths)} numbers in a row, on average {lengths.sums[0] / lengths.n_rows:,.1f}; they are "
            f"{_span(statistics)}, in {len(summaries):,} columns, counted from {schema.index_base or 0}"
        )
    if survey.label_type is None:
        lines.append("no labels; name their column with --label" if schema.columns else "no labels")
    elif find_task("auto", survey.label_type, survey.labels) == "regression":
        lines.append(f"the labels are numbers, {_span(numbers)}, on average {numbers.sums[0] / numbers.n_rows:.6g}")
        labels.clear()
    else:
        only = len(labels) == 1
        lines.append("all rows have the same label" if only else f"the labels are {len(labels):,} classes")
    found = {one.name: {"missing": one.missing, "values": one.values} for one in summaries}
    for name, counter in hashed.items():
        found[name] |= {"missing": missing[name], "values": frequent(counter.most_common(MAX_FREQUENT))}
    return {
        "table": {one.name: one.holds for one in summaries},
        "column_values": found,
        "label_rows": {str(name): n for name, n in labels.most_common(1000)},
    }


def _span(statistics: Any) -> str:
    least, most = f"{statistics.least.min():.6g}", f"{statistics.most.max():.6g}"
    return least if least == most else f"{least} to {most}"


def _count_texts(counter: Any, column: Any) -> int:
    """Count the texts of a column, and return how many are missing; of very many texts only the frequent ones count."""
    import numpy as np

    indices, texts = column.factor()
    n_missing, *counts = np.bincount(indices + 1, minlength=len(texts) + 1).tolist()
    counter.update(dict(zip(texts, counts, strict=True)))
    if len(counter) > MAX_TEXTS:
        rare = [text for text, _ in counter.most_common()[MAX_TEXTS // 2 :]]
        for text in rare:
            del counter[text]
    return n_missing
