"""`gcwsnet info`: the description of a model, of a folder of codes or of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options

OF_CODES = ("n_hashes", "bits", "t_bits", "encoding")


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
    from gcwsnet.coding._codes_folder import is_codes_folder

    is_codes = is_codes_folder(path)
    if is_codes or path.suffix == ".safetensors" or (path / "model.safetensors").is_file():
        options.refuse(context, ["format", "label", "header"], "it is for files of rows.")
        print_values(_of_codes(path) if is_codes else _of_model(path), as_json=as_json)
    else:
        print_values(_of_file(path, options.reading(format=format, label=label, header=header)), as_json=as_json)


def _of_model(path: Path) -> dict[str, Any]:
    from gcwsnet.estimators._model_file import load_with_description

    estimator, description = load_with_description(path)
    settings, trainer = estimator.get_params(deep=False), estimator.trainer_
    history = description["trainer"]["history"]
    last = {name: values[-1] for name, values in history.items() if values and values[-1] is not None}
    values: dict[str, Any] = {
        "kind": "model",
        "estimator": description["estimator"],
        "gcwsnet_version": description["gcwsnet_version"],
        "columns": estimator.n_features_in_,
        "scaling": repr(estimator.scaling_),
        "p": estimator.p_,
        **{name: settings[name] for name in OF_CODES},
        "hidden": list(settings["hidden"]),
        "reduction": settings["reduction"],
        "parameters": sum(value.size for value in trainer.net.weights().values()),
        "seed": estimator.seed_,
        "rows_seen": trainer.rows_seen,
        "epochs": trainer.epochs_seen,
    }
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        values["classes"] = classes.tolist()
    return values | {"last_record": last}


def _of_codes(path: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from gcwsnet.coding._codes_folder import Manifest, read_description
    from gcwsnet.estimators._file_coder import FileCoder

    file_coder, manifest = FileCoder.from_state(*read_description(path)), Manifest.read(path)
    coder = file_coder.coder
    settings = asdict(coder.settings)
    return {
        "kind": "codes",
        "rows": manifest.n_rows,
        "files_done": len(manifest.files),
        "files": manifest.n_files,
        "columns": coder.n_features,
        "task": file_coder.task,
        "scaling": repr(coder.preprocessing),
        "p": coder.p,
        **{name: settings[name] for name in OF_CODES},
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
