"""The datasets that are read from files: what they are, where they are published, and in which files they are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from reproduction.datasets import _layouts
from reproduction.datasets._archives import DataFile
from reproduction.datasets._layouts import Part

UCI = "https://archive.ics.uci.edu/static/public"
LAROCHELLE = "https://www.iro.umontreal.ca/~lisa/icml2007data"
MNIST_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")


@dataclass(frozen=True)
class Sizes:
    """The numbers of rows and columns of a whole dataset."""

    n_train: int
    n_test: int
    n_columns: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes that the four arrays must have, so that an incomplete dataset is never taken for a whole one."""
        return {
            "X_train": (self.n_train, self.n_columns),
            "y_train": (self.n_train,),
            "X_test": (self.n_test, self.n_columns),
            "y_test": (self.n_test,),
        }


@dataclass(frozen=True)
class PublishedFile:
    """A file that can be downloaded.

    Attributes
    ----------
    file : str
        Its name in a folder.
    urls : tuple of str
        The addresses, in the order in which they are tried.
    checksum : str or None
        A hash function and its value, such as ``sha256:440fca...``, where both are known for certain. An archive
        without a checksum must be undamaged by the checksums inside it, and its content is checked when it is read. A
        download without a SHA-256 is announced by a warning in the log.
    """

    file: str
    urls: tuple[str, ...]
    checksum: str | None = None


@dataclass(frozen=True)
class DerivedDataset:
    """A dataset that was computed from published data and is not the one of the paper."""

    sizes: Sizes
    descr: str


@dataclass(frozen=True)
class FileSet:
    """Files in a folder from which a dataset can be read, and their reader.

    Attributes
    ----------
    files : tuple of str
        The names of the files, all of which are needed.
    read : callable or None
        The reader of the layout. None stands for an npz file with the four arrays.
    inside : tuple of str
        The names of the files inside the archive that `files` names; empty if `files` are not an archive.
    instead : DerivedDataset or None
        What the files hold, if that is not the dataset of the paper.
    """

    files: tuple[str, ...]
    read: Callable[[Sequence[DataFile]], list[Part]] | None = None
    inside: tuple[str, ...] = ()
    instead: DerivedDataset | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a dataset.

    Attributes
    ----------
    sizes : Sizes
        The sizes in the paper.
    labels : tuple of int
        All labels.
    split : {"published", "first rows", "random half"}
        How the rows are divided into training rows and test rows.
    descr : str
        What the rows are.
    file_sets : tuple of FileSet
        What the dataset can be read from, in the order in which it is looked for.
    published : tuple of PublishedFile
        What is downloaded: the files of one of the file sets.
    all_labels : bool
        Whether each of the labels is known to occur.
    """

    sizes: Sizes
    labels: tuple[int, ...]
    split: Literal["published", "first rows", "random half"]
    descr: str
    file_sets: tuple[FileSet, ...]
    published: tuple[PublishedFile, ...]
    all_labels: bool = True


def _uci(number: int, file: str, checksum: str | None = None) -> PublishedFile:
    return PublishedFile(file, (f"{UCI}/{number}/{file}",), checksum)


SEMG = _uci(313, "semg+for+basic+hand+movements.zip")
DAILYSPORTS = _uci(256, "daily+and+sports+activities.zip")
PAMAP = _uci(
    231,
    "pamap2+physical+activity+monitoring.zip",
    "sha256:76b3580bd5a804121f507717cb498c66a312ef5c774f4a78ac470e6558add352",
)
PENDIGITS = _uci(
    81,
    "pen+based+recognition+of+handwritten+digits.zip",
    "sha256:1e02bea023613c2b11c9492f6f34caf975420455934f3527d270cee9a1f03b64",
)
COVTYPE = PublishedFile(  # the copy that scikit-learn downloads, with its checksum
    "covtype.data.gz",
    ("https://ndownloader.figshare.com/files/5976039",),
    "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
NOISE, IMAGE = (
    PublishedFile(file, (f"{LAROCHELLE}/{file}",), f"sha1:{checksum}")
    for file, checksum in (
        ("mnist_noise_variation.tar.gz", "2d2cfa47c4aa51cc7a8fd1e52abadc7df4b7bfbd"),
        ("mnist_background_images.zip", "fb6fce9ed6372e0068ff7cb3e7b9e78dbda7ceae"),
    )
)
MNIST = tuple(
    PublishedFile(f"{file}.gz", tuple(f"{mirror}/{file}.gz" for mirror in MNIST_MIRRORS), f"sha256:{checksum}")
    for file, checksum in zip(
        _layouts.MNIST_FILES,
        (
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
        strict=True,
    )
)

TEN_DIGITS = tuple(range(10))
_SEMG = "Muscle signals of 6 hand movements (cyl, hook, tip, palm, spher, lat), UCI sEMG for Basic Hand Movements, "
_SEMG_ARCHIVES = (SEMG.file, "sEMG_Basic_Hand_movements_upatras.zip")
_PAMAP_ARCHIVES = (PAMAP.file, "PAMAP2_Dataset.zip")
_DAILYSPORTS_INSIDE = _layouts.dailysports_files(19, 8, 60)
_PENDIGITS_FILES = ("pendigits.tra", "pendigits.tes")
_IMAGE_FILES = ("mnist_background_images_train.amat", "mnist_background_images_test.amat")
_PIXELS = "28 x 28 pixels from 0 to 1 in the order of the file, which goes down the columns of the image"
_read_covtype = partial(_layouts.read_tables, n_features=54, delimiter=",", first_label=1)
_read_pendigits = partial(_layouts.read_tables, n_features=16, delimiter=",")
_read_amat = partial(_layouts.read_tables, n_features=784)


def _noise_set(level: int) -> DatasetInfo:
    inside = (f"mnist_noise_variations_all_{level}.amat",)
    return DatasetInfo(
        sizes=Sizes(10_000, 4_000, 784),
        labels=TEN_DIGITS,
        split="first rows",
        descr=f"Images of 10 handwritten digits on a random background, M-Noise{level} of Larochelle et al. (2007): "
        f"{_PIXELS}; the first 10,000 rows are for training and the other 4,000 for testing, which are the sizes in "
        "the paper.",
        file_sets=(
            FileSet((f"m-noise{level}.npz",)),
            FileSet(inside, _read_amat),
            FileSet((NOISE.file,), _read_amat, inside),
        ),
        published=(NOISE,),
    )


DATASETS = {
    "semg": DatasetInfo(
        sizes=Sizes(1800, 1800, 2500),
        labels=tuple(range(6)),
        split="random half",
        descr=f"{_SEMG}database 2: one person on 3 days, 100 trials for each movement, 5 seconds at 500 Hz. "
        "Each of the two channels is a row, which makes the 3,600 rows of the paper; a random half is for training.",
        file_sets=(
            FileSet(("semg.npz",)),
            *(FileSet((file,), _layouts.read_semg, _layouts.SEMG_DAYS) for file in _SEMG_ARCHIVES),
            FileSet(
                ("semg_db2_diff.npz",),
                instead=DerivedDataset(
                    Sizes(900, 900, 2500),
                    "Muscle signals of 6 hand movements, derived from UCI sEMG for Basic Hand Movements, database 2: "
                    "one row for each trial, channel 1 minus channel 2; a random half is for training. The paper uses "
                    "both channels as 3,600 rows: this is data of the same kind, not the same data.",
                ),
            ),
        ),
        published=(SEMG,),
    ),
    "semg1": DatasetInfo(
        sizes=Sizes(900, 900, 3000),
        labels=tuple(range(6)),
        split="random half",
        descr=f"{_SEMG}database 1: 5 people, 30 trials for each movement, 6 seconds at 500 Hz. Each of the two "
        "channels is a row; a random half is for training. The paper uses database 2 only.",
        file_sets=(
            FileSet(("semg1.npz",)),
            *(FileSet((file,), _layouts.read_semg, _layouts.SEMG_PEOPLE) for file in _SEMG_ARCHIVES),
        ),
        published=(SEMG,),
    ),
    "dailysports": DatasetInfo(
        sizes=Sizes(4560, 4560, 5625),
        labels=tuple(range(19)),
        split="random half",
        descr="Motion sensors in 19 activities, UCI Daily and Sports Activities: each row is a segment of 125 times 45 "
        "sensors, time by time. Labels are the published numbers of the activities minus 1; a random half is "
        "for training.",
        file_sets=(
            FileSet(("dailysports.npz",)),
            FileSet((DAILYSPORTS.file,), _layouts.read_dailysports, _DAILYSPORTS_INSIDE),
        ),
        published=(DAILYSPORTS,),
    ),
    "pamap101": DatasetInfo(
        sizes=Sizes(188_209, 188_208, 51),
        labels=_layouts.PAMAP_ACTIVITIES,
        all_labels=False,
        split="random half",
        descr="Motion sensors in everyday activities, UCI PAMAP2, subject 101, all 376,417 lines of the protocol file: "
        "the 51 columns of the three inertial sensors (hand, chest, ankle), without time and heart rate. Labels are "
        "the published numbers of the activities, with 0 for the time between two. Missing readings (NaN) are 0. A "
        "random half is for training. The paper gives the same numbers of rows and columns, and 20 classes; PAMAP2 has "
        "19 numbers of activities, and not all of them occur for subject 101.",
        file_sets=(
            FileSet(("pamap101.npz",)),
            FileSet(("subject101.dat",), _layouts.read_pamap),
            *(FileSet((file,), _layouts.read_pamap, ("Protocol/subject101.dat",)) for file in _PAMAP_ARCHIVES),
        ),
        published=(PAMAP,),
    ),
    "covtype": DatasetInfo(
        sizes=Sizes(290_506, 290_506, 54),
        labels=tuple(range(7)),
        split="random half",
        descr="Forest cover of 7 types, UCI Covertype: columns 0 to 9 are numeric, columns 10 to 53 are binary. Labels "
        "are the published ones minus 1; a random half is for training.",
        file_sets=(
            FileSet(("covtype.npz",)),
            FileSet((COVTYPE.file,), _read_covtype),
            FileSet(("covtype.data",), _read_covtype),
            FileSet(("covertype.zip",), _read_covtype, (COVTYPE.file,)),
        ),
        published=(COVTYPE,),
    ),
    "pendigits": DatasetInfo(
        sizes=Sizes(7494, 3498, 16),
        labels=TEN_DIGITS,
        split="published",
        descr="10 digits written with a pen, UCI Pen-Based Recognition of Handwritten Digits: 8 points of the pen, "
        "each with x and y from 0 to 100; the published split.",
        file_sets=(
            FileSet(("pendigits.npz",)),
            FileSet(_PENDIGITS_FILES, _read_pendigits),
            FileSet((PENDIGITS.file,), _read_pendigits, _PENDIGITS_FILES),
        ),
        published=(PENDIGITS,),
    ),
    "mnist": DatasetInfo(
        sizes=Sizes(60_000, 10_000, 784),
        labels=TEN_DIGITS,
        split="published",
        descr="Images of 10 handwritten digits, MNIST: 28 x 28 pixels from 0 to 255, line by line; the published "
        "split.",
        file_sets=(
            FileSet(("mnist.npz",)),
            FileSet(tuple(published.file for published in MNIST), _layouts.read_idx),
            FileSet(_layouts.MNIST_FILES, _layouts.read_idx),
        ),
        published=MNIST,
    ),
    **{f"m-noise{level}": _noise_set(level) for level in range(1, 7)},
    "m-image": DatasetInfo(
        sizes=Sizes(12_000, 50_000, 784),
        labels=TEN_DIGITS,
        split="published",
        descr="Images of 10 handwritten digits on patches of photographs, M-Image of Larochelle et al. (2007): "
        f"{_PIXELS}; the published split.",
        file_sets=(
            FileSet(("m-image.npz",)),
            FileSet(_IMAGE_FILES, _read_amat),
            FileSet((IMAGE.file,), _read_amat, _IMAGE_FILES),
        ),
        published=(IMAGE,),
    ),
}
