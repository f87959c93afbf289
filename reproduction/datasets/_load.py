"""`load`: a dataset by its name."""

from __future__ import annotations

import logging

from sklearn.utils import Bunch

from gcwsnet._validation import check_choice
from reproduction.datasets._bunch import load_all_mnist, load_digits, load_stored, standardize
from reproduction.datasets._catalog import DATASETS
from reproduction.datasets._files import Folder
from reproduction.datasets._rebuild import NOISE_SETS, make_mnist_image, make_mnist_noise

NAMES = (*DATASETS, "digits")
REBUILT = (*NOISE_SETS, "m-image")
logger = logging.getLogger("gcwsnet")


def load(name: str, *, data_home: Folder | None = None, download: bool = True, standardized: bool = False) -> Bunch:
    """Return a dataset of the paper, or one like it, split into training rows and test rows.

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
        The only folder in which files are looked for. By default, they are looked for in the folder that the
        environment variable GCWSNET_DATA names, and then in the cache folder: what GCWSNET_CACHE names, else
        ``gcwsnet`` in XDG_CACHE_HOME, else ``~/.cache/gcwsnet``. In each folder, the file NAME.npz is looked for
        first, then the published file.
    download : bool, default=True
        Whether a file that is not found is downloaded, into `data_home` or the cache folder. Nothing is downloaded
        while the environment variable GCWSNET_OFFLINE is set to anything other than 0.
    standardized : bool, default=False
        Whether columns are scaled to mean 0 and standard deviation 1 in the training rows. Columns that hold only 0 and
        1 stay as they are. With it, Covtype gives the accuracy that the paper reports.

    Returns
    -------
    dataset : Bunch
        X_train, X_test : float32 arrays of shape (n, D)
            The numbers of the file: pixels of MNIST are from 0 to 255.
        y_train, y_test : int64 arrays of shape (n,)
            The labels of the file, shifted so that the smallest one is 0.
        name, DESCR : str
            The name, and a description of the rows in a few sentences.
        origin : {"exact", "rounded", "derived", "rebuilt", "bundled"}
            "exact": the published numbers. "rounded": the published rows with fewer digits. "derived": computed from
            published data, and not the dataset of the paper. "rebuilt": made by the published recipe with other random
            numbers. "bundled": comes with scikit-learn.

    Raises
    ------
    ValueError
        If the name is unknown, or if a file is damaged or is not the whole dataset: arrays are missing, do not have
        the published shapes or hold numbers that are not finite, or a published file has other labels.
    FileNotFoundError
        If a file is neither found nor downloaded. The error names the file, where it is published, the folder to put it
        into, and why it was not downloaded.

    See Also
    --------
    make_mnist_noise : Rebuild the noise sets with other sizes, seeds and digits.
    make_mnist_image : Rebuild M-Image, also with other photographs.

    Notes
    -----
    Files are read as numbers only: nothing in them is run, and no archive is unpacked into a folder.
    reproduction/DATASETS.md says more about each dataset: its license, what the paper says of it, and which files it
    can be read from.

    The noise sets and M-Image are rebuilt from MNIST if the published files can neither be found nor downloaded.
    Their origin is then "rebuilt", and the logger "gcwsnet" warns of it.

    Examples
    --------
    >>> from reproduction.datasets import load
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
            dataset = load_stored(name, data_home=data_home, download=download)
        except FileNotFoundError as error:
            if name not in REBUILT:
                raise
            dataset = _rebuild(name, data_home, download, error)
    return standardize(dataset) if standardized else dataset


def _rebuild(name: str, data_home: Folder | None, download: bool, not_found: FileNotFoundError) -> Bunch:
    """Return a set of Larochelle et al. rebuilt from MNIST; without MNIST, raise an error that names both ways out."""
    try:
        digits = load_all_mnist(data_home=data_home, download=download)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{not_found}; it can be rebuilt from MNIST, but {error}") from error
    logger.warning("%s is rebuilt from MNIST and is not the published dataset: %s", name, not_found)
    if name in NOISE_SETS:
        return make_mnist_noise(NOISE_SETS[name], digits=digits)
    return make_mnist_image(digits=digits)
