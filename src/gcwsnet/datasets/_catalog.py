"""The datasets that are read from files: their sizes, and the forms in which they lie in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gcwsnet.datasets import _amat, _covtype, _dailysports, _idx, _pamap, _pendigits, _published, _semg
from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._published import Published
from gcwsnet.datasets._split import halves

Read = Callable[[Sequence[Source], int], dict[str, Array]]
"""Gives the four arrays, from the files and the number of rows for training."""


@dataclass(frozen=True)
class Sizes:
    """How many rows and columns a whole dataset has."""

    n_train: int
    n_test: int
    n_columns: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What shapes the arrays have: those of the published data, so that no part of a dataset passes for all."""
        return {
            "X_train": (self.n_train, self.n_columns),
            "y_train": (self.n_train,),
            "X_test": (self.n_test, self.n_columns),
            "y_test": (self.n_test,),
        }


@dataclass(frozen=True)
class Form:
    """Files of a folder that make a dataset, and how they are read.

    Attributes
    ----------
    files : tuple of str
        All of them are needed.
    read : callable or None
        None reads an npz file with the four arrays.
    inside : tuple of str
        Ends of the names of the files in the archive that `files` names; empty for files that are no archive.
    instead : Derived or None
        What the files hold, if that is not the dataset of the paper.
    """

    files: tuple[str, ...]
    read: Read | None = None
    inside: tuple[str, ...] = ()
    instead: Derived | None = None


@dataclass(frozen=True)
class Derived:
    """What was computed from published data: its sizes and description."""

    sizes: Sizes
    descr: str


@dataclass(frozen=True)
class Known:
    """A dataset.

    Attributes
    ----------
    sizes : Sizes
        Those of the paper.
    labels : tuple of int
        The labels that there are.
    descr : str
        What the rows are.
    forms : tuple of Form
        In the order in which they are looked for.
    published : tuple of Published
        What is downloaded; their names are the files of one of the forms.
    all_labels : bool
        Whether each of the labels is known to occur.
    """

    sizes: Sizes
    labels: tuple[int, ...]
    descr: str
    forms: tuple[Form, ...]
    published: tuple[Published, ...]
    all_labels: bool = True


def _halved(read: Callable[[Source], tuple[Array, Array]]) -> Read:
    return lambda sources, _: halves(*read(sources[0]))


def _all_halved(read: Callable[[Sequence[Source]], tuple[Array, Array]]) -> Read:
    return lambda sources, _: halves(*read(sources))


def _split(read: Callable[..., dict[str, Array]]) -> Read:
    return lambda sources, _: read(*sources)


def _noise(sources: Sequence[Source], n_train: int) -> dict[str, Array]:
    return _amat.read_noise(sources[0], n_train)


def _noise_set(level: int) -> Known:
    inside = (f"mnist_noise_variations_all_{level}.amat",)
    return Known(
        sizes=Sizes(10_000, 4_000, 784),
        labels=tuple(range(10)),
        descr=_amat.DESCR_NOISE.format(level=level),
        forms=(Form((f"m-noise{level}.npz",)), Form(inside, _noise), Form((_published.NOISE.file,), _noise, inside)),
        published=(_published.NOISE,),
    )


_SEMG = (_published.SEMG.file, "sEMG_Basic_Hand_movements_upatras.zip")
_PAMAP = (_published.PAMAP.file, "PAMAP2_Dataset.zip")
_PAMAP_INSIDE = ("Protocol/subject101.dat",)
_DAILYSPORTS_INSIDE = _dailysports.segments(19, 8, 60)
_PENDIGITS = ("pendigits.tra", "pendigits.tes")
_IMAGE = ("mnist_background_images_train.amat", "mnist_background_images_test.amat")

DATASETS = {
    "semg": Known(
        sizes=Sizes(1800, 1800, 2500),
        labels=tuple(range(6)),
        descr=_semg.DESCR,
        forms=(
            Form(("semg.npz",)),
            *(Form((file,), _all_halved(_semg.read_semg), _semg.DAYS) for file in _SEMG),
            Form(("semg_db2_diff.npz",), instead=Derived(Sizes(900, 900, 2500), _semg.DESCR_DIFFERENCE)),
        ),
        published=(_published.SEMG,),
    ),
    "semg1": Known(
        sizes=Sizes(900, 900, 3000),
        labels=tuple(range(6)),
        descr=_semg.DESCR_1,
        forms=(
            Form(("semg1.npz",)),
            *(Form((file,), _all_halved(_semg.read_semg), _semg.PEOPLE) for file in _SEMG),
        ),
        published=(_published.SEMG,),
    ),
    "dailysports": Known(
        sizes=Sizes(4560, 4560, 5625),
        labels=tuple(range(19)),
        descr=_dailysports.DESCR,
        forms=(
            Form(("dailysports.npz",)),
            Form(
                (_published.DAILYSPORTS.file,),
                _all_halved(_dailysports.read_dailysports),
                _DAILYSPORTS_INSIDE,
            ),
        ),
        published=(_published.DAILYSPORTS,),
    ),
    "pamap101": Known(
        sizes=Sizes(188_209, 188_208, 51),
        labels=_pamap.ACTIVITIES,
        all_labels=False,
        descr=_pamap.DESCR,
        forms=(
            Form(("pamap101.npz",)),
            Form(("subject101.dat",), _halved(_pamap.read_pamap)),
            *(Form((file,), _halved(_pamap.read_pamap), _PAMAP_INSIDE) for file in _PAMAP),
        ),
        published=(_published.PAMAP,),
    ),
    "covtype": Known(
        sizes=Sizes(290_506, 290_506, 54),
        labels=tuple(range(7)),
        descr=_covtype.DESCR,
        forms=(
            Form(("covtype.npz",)),
            Form((_published.COVTYPE.file,), _halved(_covtype.read_covtype)),
            Form(("covtype.data",), _halved(_covtype.read_covtype)),
            Form(("covertype.zip",), _halved(_covtype.read_covtype), (_published.COVTYPE.file,)),
        ),
        published=(_published.COVTYPE,),
    ),
    "pendigits": Known(
        sizes=Sizes(7494, 3498, 16),
        labels=tuple(range(10)),
        descr=_pendigits.DESCR,
        forms=(
            Form(("pendigits.npz",)),
            Form(_PENDIGITS, _split(_pendigits.read_pendigits)),
            Form((_published.PENDIGITS.file,), _split(_pendigits.read_pendigits), _PENDIGITS),
        ),
        published=(_published.PENDIGITS,),
    ),
    "mnist": Known(
        sizes=Sizes(60_000, 10_000, 784),
        labels=tuple(range(10)),
        descr=_idx.DESCR,
        forms=(
            Form(("mnist.npz",)),
            Form(tuple(f"{file}.gz" for file in _idx.FILES), _split(_idx.read_mnist)),
            Form(_idx.FILES, _split(_idx.read_mnist)),
        ),
        published=_published.DIGITS,
    ),
    **{f"m-noise{level}": _noise_set(level) for level in range(1, 7)},
    "m-image": Known(
        sizes=Sizes(12_000, 50_000, 784),
        labels=tuple(range(10)),
        descr=_amat.DESCR_IMAGE,
        forms=(
            Form(("m-image.npz",)),
            Form(_IMAGE, _split(_amat.read_image)),
            Form((_published.IMAGE.file,), _split(_amat.read_image), _IMAGE),
        ),
        published=(_published.IMAGE,),
    ),
}
