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
    from gcwsnet.cli._display import print_values

    path = Path(files[0])
    is_codes = is_codes_folder(path)
    if len(files) == 1 and (is_codes or path.suffix == ".safetensors" or (path / "model.safetensors").is_file()):
        options.refuse(context, options.OF_FILES, "it is for files of rows.")
        print_values(_of_codes(path) if is_codes else _of_model(path), as_json=as_json)
        return
    print_values(_of_files(files, rows.settings() | skip.settings()), as_json=as_json)


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
    return values
