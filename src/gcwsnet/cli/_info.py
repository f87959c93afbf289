"""`gcwsnet info`: the description of a model, of a folder of codes or of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options


def info(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="MODEL|CODES|FILE", help="A model, a folder of codes or a file.")],
    as_json: options.Json = False,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    header: options.Header = None,
) -> None:
    """Describe a model, a folder of codes, or a file of rows.

    For example:
      gcwsnet info model
      gcwsnet info codes --json
      gcwsnet info train.svm
    """
    from gcwsnet.cli._writers import print_values
    from gcwsnet.streaming._folder import is_codes_folder

    is_codes = is_codes_folder(path)
    if is_codes or path.suffix == ".safetensors" or (path / "model.safetensors").is_file():
        options.refuse(context, ["format", "label", "header"], "it is for files of rows.")
        print_values(_of_codes(path) if is_codes else _of_model(path), as_json=as_json)
    else:
        print_values(_of_file(path, options.reading(format=format, label=label, header=header)), as_json=as_json)


def _of_model(path: Path) -> dict[str, Any]:
    options.need_torch()
    from gcwsnet.streaming._session import load_model

    estimator, description = load_model(path)
    settings = description["settings"]
    last = {name: values[-1] for name, values in description["history"].items() if values and values[-1] is not None}
    values: dict[str, Any] = {
        "kind": "model",
        "estimator": description["estimator"],
        "gcwsnet_version": description["gcwsnet_version"],
        "columns": estimator.n_features_in_,
        "scaling": repr(estimator.scaling_),
        "p": estimator.p_,
        "n_hashes": settings["n_hashes"],
        "bits": settings["bits"],
        "t_bits": settings["t_bits"],
        "encoding": settings["encoding"],
        "hidden": list(settings["hidden"]),
        "reduction": settings["reduction"],
        "parameters": sum(value.numel() for value in estimator.net_.parameters()),
        "seed": description["seed"],
        "rows_seen": description["n_rows_seen"],
        "epochs": description["n_epochs_seen"],
    }
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        values["classes"] = classes.tolist()
    return values | {"last_record": last}


def _of_codes(path: Path) -> dict[str, Any]:
    from gcwsnet.streaming._folder import Manifest, read_coder

    coder, _ = read_coder(path)
    manifest = Manifest.read(path)
    settings = coder.settings
    return {
        "kind": "codes",
        "rows": manifest.n_rows,
        "files_done": len(manifest.files),
        "files": manifest.n_files,
        "columns": coder.n_features,
        "task": coder.task,
        "scaling": repr(coder.scaling),
        "p": coder.p,
        "n_hashes": settings["n_hashes"],
        "bits": settings["bits"],
        "t_bits": settings["t_bits"],
        "encoding": settings["encoding"],
        "seed": coder.seed,
    }


def _of_file(path: Path, reading: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import asdict

    from gcwsnet.data import read

    batches = read(str(path), **reading)
    survey = batches.survey()
    values = {"kind": "rows", **asdict(survey), "columns": batches.columns}
    labels = values.pop("labels")
    if labels is not None:
        values["distinct_labels"] = len(labels)
        values["labels"] = list(labels[:20])
    return values
