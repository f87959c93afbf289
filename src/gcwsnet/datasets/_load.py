"""Datasets by name."""

from __future__ import annotations

from sklearn.utils import Bunch

from gcwsnet._validation import check_choice
from gcwsnet.datasets._digits import load_digits
from gcwsnet.datasets._files import Folder
from gcwsnet.datasets._mnist_noise import NOISE_SETS, make_mnist_noise
from gcwsnet.datasets._stored import STORED, all_mnist, load_stored

NAMES = (*STORED, "digits", *NOISE_SETS)


def load(name: str, *, data_home: Folder | None = None) -> Bunch:
    """A dataset of the paper, or one like it, split into rows for training and for testing.

    Parameters
    ----------
    name : str
        ======================== ================= ====== ====== ======= =========
        name                     file               train   test columns origin
        ======================== ================= ====== ====== ======= =========
        "semg"                   semg_db2_diff.npz    900    900    2500 "derived"
        "dailysports"            dailysports.npz     4560   4560    5625 "rounded"
        "covtype"                covtype.npz       290506 290506      54 "exact"
        "pendigits"              pendigits.npz       7494   3498      16 "exact"
        "mnist"                  mnist.npz          60000  10000     784 "exact"
        "digits"                 none                1347    450      64 "bundled"
        "m-noise1" to "m-noise6" mnist.npz          10000   4000     784 "rebuilt"
        ======================== ================= ====== ====== ======= =========
    data_home : path, optional
        The only folder in which the file is looked for. Without it, that is the folder that the environment variable
        GCWSNET_DATA names, and then the cache folder: what GCWSNET_CACHE names, else ``gcwsnet`` in XDG_CACHE_HOME,
        else ``~/.cache/gcwsnet``.

    Returns
    -------
    dataset : Bunch
        X_train, X_test : float32 arrays of shape (n, D)
            The numbers of the file, not scaled: pixels of MNIST are from 0 to 255.
        y_train, y_test : int64 arrays of shape (n,)
            The labels of the file.
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
        shapes than the published ones, or hold something other than finite numbers and integer labels.
    FileNotFoundError
        With the file and the folder to put it into.

    Notes
    -----
    A file has the arrays X_train, y_train, X_test and y_test. It is read as numbers only: nothing in it is run.

    See Also
    --------
    make_mnist_noise : the noise sets of other sizes, seeds and digits.

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
    if name in STORED:
        return load_stored(name, data_home=data_home)
    if name in NOISE_SETS:
        return make_mnist_noise(NOISE_SETS[name], digits=all_mnist(data_home=data_home, needed_by=name))
    return load_digits()
