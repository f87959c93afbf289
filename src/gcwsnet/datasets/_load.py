"""Datasets by name."""

from __future__ import annotations

import logging

from sklearn.utils import Bunch

from gcwsnet._validation import check_choice
from gcwsnet.datasets._catalog import DATASETS
from gcwsnet.datasets._digits import load_digits
from gcwsnet.datasets._files import Folder
from gcwsnet.datasets._mnist_noise import NOISE_SETS, make_mnist_noise
from gcwsnet.datasets._read import all_mnist, load_dataset
from gcwsnet.datasets._rebuild import make_mnist_image
from gcwsnet.datasets._standardize import standardized as standardize

NAMES = (*DATASETS, "digits")
REBUILT = (*NOISE_SETS, "m-image")
logger = logging.getLogger("gcwsnet")


def load(name: str, *, data_home: Folder | None = None, download: bool = True, standardized: bool = False) -> Bunch:
    """A dataset of the paper, or one like it, split into rows for training and for testing.

    Parameters
    ----------
    name : str
        ======================== ====== ====== ======= ======= =======================================================
        name                      train   test columns classes published file
        ======================== ====== ====== ======= ======= =======================================================
        "semg"                     1800   1800    2500       6 semg+for+basic+hand+movements.zip
        "semg1"                     900    900    3000       6 semg+for+basic+hand+movements.zip
        "dailysports"              4560   4560    5625      19 daily+and+sports+activities.zip
        "pamap101"               188209 188208      51      19 pamap2+physical+activity+monitoring.zip
        "covtype"                290506 290506      54       7 covtype.data.gz
        "pendigits"                7494   3498      16      10 pen+based+recognition+of+handwritten+digits.zip
        "mnist"                   60000  10000     784      10 train-images-idx3-ubyte.gz, and three more
        "m-noise1" to "m-noise6"  10000   4000     784      10 mnist_noise_variation.tar.gz
        "m-image"                 12000  50000     784      10 mnist_background_images.zip
        "digits"                   1347    450      64      10 none: comes with scikit-learn
        ======================== ====== ====== ======= ======= =======================================================
    data_home : path, optional
        The only folder in which files are looked for. Without it, that is the folder that the environment variable
        GCWSNET_DATA names, and then the cache folder: what GCWSNET_CACHE names, else ``gcwsnet`` in XDG_CACHE_HOME,
        else ``~/.cache/gcwsnet``. In each of them, the file NAME.npz is looked for first, then the published file.
    download : bool, default=True
        Whether a file that is not found is downloaded, into `data_home` or the cache folder. If it is False, or the
        environment variable GCWSNET_OFFLINE is set (to something other than 0), nothing is.
    standardized : bool, default=False
        Whether columns are brought to mean 0 and standard deviation 1 in the rows for training; those of only 0 and 1
        are left alone. With it, Covtype gives the accuracy that the paper reports.

    Returns
    -------
    dataset : Bunch
        X_train, X_test : float32 arrays of shape (n, D)
            The numbers of the file: pixels of MNIST are from 0 to 255.
        y_train, y_test : int64 arrays of shape (n,)
            The labels of the file, moved so that the least one is 0.
        name, DESCR : str
            The name, and in a few sentences what the rows are.
        origin : {"exact", "rounded", "derived", "rebuilt", "bundled"}
            "exact": the published numbers. "rounded": the published rows with fewer digits. "derived": computed from
            published data, and not what the paper has. "rebuilt": made anew by the published recipe, with other random
            numbers. "bundled": comes with scikit-learn.

    Raises
    ------
    ValueError
        For another name, and for a file that is damaged or is not the whole dataset: arrays are missing, have other
        shapes than the published ones, or hold something other than finite numbers and the known labels.
    FileNotFoundError
        With the file, where it is published, the folder to put it into, and why it was not downloaded.

    Notes
    -----
    Files are read as numbers only: nothing in them is run, and no archive is unpacked into a folder. docs/datasets.md
    says more about each dataset: its license, what the paper says of it, and which files it can be read from.

    The noise sets and M-Image are rebuilt from MNIST where the published files can neither be found nor downloaded.
    Their origin is then "rebuilt", and the logger "gcwsnet" says so.

    See Also
    --------
    make_mnist_noise : the noise sets of other sizes, seeds and digits.
    make_mnist_image : the same for M-Image, and for other photographs.

    Examples
    --------
    >>> from gcwsnet.datasets import load
    >>> digits = load("digits")
    >>> digits.X_train.shape, digits.X_train.dtype, digits.origin
    ((1347, 64), dtype('float32'), 'bundled')
    >>> mnist = load("mnist")  # doctest: +SKIP
    >>> mnist.X_train.shape  # doctest: +SKIP
    (60000, 784)
    """
    check_choice("name", name, NAMES)
    if not isinstance(standardized, bool):
        raise TypeError(f"standardized must be True or False, got standardized={standardized!r}")
    if name == "digits":
        dataset = load_digits()
    else:
        try:
            dataset = load_dataset(name, data_home=data_home, download=download)
        except FileNotFoundError as error:
            if name not in REBUILT:
                raise
            dataset = _rebuilt(name, data_home, download, error)
    return standardize(dataset) if standardized else dataset


def _rebuilt(name: str, data_home: Folder | None, download: bool, missing: FileNotFoundError) -> Bunch:
    """A set of Larochelle et al. made from MNIST; the error for the published file, if there is no MNIST either."""
    try:
        digits = all_mnist(data_home=data_home, needed_by=name, download=download)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{missing}; to rebuild it, {error}") from error
    logger.warning("%s is rebuilt from MNIST and is not the published set: %s", name, missing)
    if name in NOISE_SETS:
        return make_mnist_noise(NOISE_SETS[name], digits=digits)
    return make_mnist_image(digits=digits)
