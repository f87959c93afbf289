"""The command ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from benchmarks.subject import EXTRA, write_section


class Subject(NamedTuple):
    """What is measured, the page of the documentation that shows it, and the packages of the extra "bench" it needs."""

    title: str
    page: str | None = None
    needs: tuple[str, ...] = ()


SUBJECTS = {
    "hashing": Subject("rows hashed per second, next to other libraries", "results/hashing.md"),
    "kernels": Subject("time of the exact kernels, next to scikit-learn's"),
    "kernel-machines": Subject(
        "fit times and accuracy of the kernel machines, next to others", "results/kernel-machines.md", ("lightgbm",)
    ),
    "intervals": Subject(
        "how often intervals of predicted numbers hold, and their width", "results/kernel-machines.md", ("lightgbm",)
    ),
    "kernel-choices": Subject(
        "alpha from a part of the rows, nets that kernel machines guide, ridge on codes", "results/kernel-machines.md"
    ),
    "training": Subject("rows learned per second, and the time of predictions", "results/training.md"),
    "fitting": Subject(
        "seconds of a whole fit with default settings, next to LightGBM", "results/training.md", ("lightgbm",)
    ),
    "fit-parts": Subject("where the time of a fit goes, and its memory traffic", "results/training.md"),
    "busy": Subject("two threads against one beside busy processes", "results/robustness.md"),
    "batch-size": Subject("accuracy after one pass by the rows of a step", "results/training.md"),
    "cluster-training": Subject(
        "rows learned per second in rounds on a cluster of Dask, next to one process",
        "results/cluster.md",
        ("distributed",),
    ),
    "shards": Subject("accuracy by the number of shards of a training on a cluster", "results/cluster.md"),
    "model-size": Subject("size of model files and accuracy by the type of the stored table", "results/training.md"),
    "first-layer": Subject(
        "rows learned per second by the first layer of gcwsnet.nn, next to torch", "results/training.md", ("torch",)
    ),
    "boost": Subject("accuracy of a net in training, and with a last layer on codes", "results/torch.md", ("torch",)),
    "reading": Subject(
        "rows read per second from files, next to scikit-learn and pandas", "results/files.md", ("pandas", "pyarrow")
    ),
    "kinds-of-files": Subject(
        "one table in many kinds of files, read as they are, next to pandas and LightGBM",
        "results/files.md",
        ("lightgbm", "pandas", "pyarrow"),
    ),
    "neighbors": Subject(
        "near neighbours: recall, time and memory, next to datasketch, rensa and faiss",
        "results/neighbors.md",
        ("datasketch", "faiss", "matplotlib", "pandas", "rensa", "torch"),
    ),
    "routes": Subject(
        "ways to serve a model: needs, size, cold start and time for a row", "results/onnx.md", ("onnxruntime",)
    ),
    "scaling": Subject("hashing on a cluster of Dask, next to one process", "results/cluster.md", ("distributed",)),
    "samplers": Subject("time, bias and variance of each sampler", "results/samplers.md", ("matplotlib",)),
    "stream-latency": Subject("time of single rows of a stream", "results/streams.md"),
    "long-stream": Subject("time, memory and size of a model over millions of calls", "results/streams.md"),
    "streaming": Subject("memory and time of one pass over large files", "results/files.md"),
    "streams": Subject(
        "prequential accuracy, time and memory on streams that change, next to CapyMOA, river and Vowpal Wabbit",
        "results/streams.md",
    ),
    "clicks": Subject("fields with many values, learned once, next to Vowpal Wabbit and LightGBM", "results/clicks.md"),
    "choosing": Subject(
        "what k, b and p change: estimates, and accuracy after one pass", "results/choosing.md", ("matplotlib",)
    ),
    "how-it-works": Subject("the steps of the method, drawn from its own numbers", "how-it-works.md", ("matplotlib",)),
    "zero-bit": Subject("bias of the 0-bit approximation", "results/samplers.md", ("matplotlib",)),
    "accuracy": Subject(
        "accuracy, calibration, time and size over many datasets, next to other learners",
        "results/accuracy.md",
        ("matplotlib",),
    ),
    "skewed-targets": Subject("R2 where skewed targets are learned on other scales", "results/accuracy.md"),
    "early-stopping": Subject("early stopping, next to all of the epochs and to the default", "results/accuracy.md"),
    "paper-settings": Subject("accuracy after one pass with the settings of the paper", "results/accuracy.md"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one subject, and print what was found or write it into the documentation."""
    arguments = sys.argv[1:] if arguments is None else arguments
    titles = "\n".join(f"  {name:<18}{subject.title}" for name, subject in SUBJECTS.items())
    front = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="python -m benchmarks SUBJECT [options]",
        description=f"Measure one of these subjects:\n{titles}",
        epilog="python -m benchmarks SUBJECT --help lists the options of a subject.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    front.add_argument("subject", choices=SUBJECTS, metavar="SUBJECT", help="what is measured")
    name = front.parse_args(arguments[:1]).subject
    measure(name, SUBJECTS[name], arguments[1:])


def measure(name: str, subject: Subject, arguments: Sequence[str]) -> None:
    """Measure a subject with the options of the command line."""
    command = f"python -m benchmarks {name}"
    missing = [package for package in subject.needs if find_spec(package) is None]
    if missing:
        sys.exit(f"{command} needs {' and '.join(missing)}, which is not installed: {EXTRA}")
    module = import_module(f"benchmarks.{name.replace('-', '_')}")
    parser = argparse.ArgumentParser(
        prog=command, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_options(parser)
    parser.set_defaults(write_docs=False)
    if subject.page is not None:
        parser.add_argument("--write-docs", action="store_true", help=f"write into docs/{subject.page}, not to stdout")
    options = parser.parse_args(arguments)
    section = module.run(options)
    if options.write_docs and subject.page is not None:
        write_section(subject.page, name, section)
    else:
        print(section.text)


if __name__ == "__main__":
    main()
