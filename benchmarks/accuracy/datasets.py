"""The datasets of the suite by name, and the groups of them that the command line knows."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.accuracy.development import development_datasets
from benchmarks.accuracy.files import file_datasets
from benchmarks.accuracy.generated import generated_datasets
from benchmarks.accuracy.held_out import held_out_datasets
from benchmarks.accuracy.split import SuiteDataset


def suite_datasets() -> dict[str, SuiteDataset]:
    """Return the datasets by name: first the development tables, then the held-out benchmarks."""
    development = [*generated_datasets(), *file_datasets(), *development_datasets()]
    return {one.name: one for one in [*development, *held_out_datasets()]}


def groups() -> list[str]:
    """Return the names of the groups."""
    return list(dict.fromkeys(one.group for one in suite_datasets().values()))


def select(names: Sequence[str]) -> list[SuiteDataset]:
    """Return the datasets with these names or in these groups; all without a name."""
    found = suite_datasets().values()
    return [one for one in found if not names or one.name in names or one.group in names]
