"""The sets of Larochelle et al. (2007) as they publish them: .amat files, lines of 784 pixels and the digit."""

from __future__ import annotations

from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._layouts import Floats, labels_of, read_table

N_PIXELS = 784
_ORDER = "28 x 28 pixels from 0 to 1 in the order of the file, which goes down the columns of the picture"
DESCR_NOISE = (
    "Pictures of 10 handwritten digits before a random background, M-Noise{level} of Larochelle et al. (2007): "
    + _ORDER
    + "; the first 10,000 rows for training and the other 4,000 for testing, which are the sizes of the paper."
)
DESCR_IMAGE = (
    "Pictures of 10 handwritten digits before patches of photographs, M-Image of Larochelle et al. (2007): "
    + _ORDER
    + "; the published split."
)


def read_amat(source: Source) -> tuple[Floats, Array]:
    """Pixels and digits."""
    table = read_table(source, N_PIXELS + 1)
    return table[:, :N_PIXELS], labels_of(table[:, N_PIXELS], source)


def read_noise(source: Source, n_train: int) -> dict[str, Array]:
    """A noise set: one file, of which the first rows are for training."""
    X, y = read_amat(source)
    return {"X_train": X[:n_train], "y_train": y[:n_train], "X_test": X[n_train:], "y_test": y[n_train:]}


def read_image(train: Source, test: Source) -> dict[str, Array]:
    """M-Image: a file for training and one for testing."""
    (X_train, y_train), (X_test, y_test) = read_amat(train), read_amat(test)
    return {"X_train": X_train, "y_train": y_train, "X_test": X_test, "y_test": y_test}
