"""MNIST as it is published: four idx files, packed with gzip or not."""

from __future__ import annotations

from math import prod

import numpy as np

from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._damage import whole

FILES = tuple(f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1"))
UNSIGNED_BYTES = 8
DESCR = "Pictures of 10 handwritten digits, MNIST: 28 x 28 pixels from 0 to 255, line by line; the official split."


def read_mnist(
    train_images: Source, train_labels: Source, test_images: Source, test_labels: Source
) -> dict[str, Array]:
    """Pixels and digits for training and for testing."""
    return {
        "X_train": _pictures(train_images),
        "y_train": read_idx(train_labels, 1),
        "X_test": _pictures(test_images),
        "y_test": read_idx(test_labels, 1),
    }


def read_idx(source: Source, n_axes: int) -> Array:
    """The unsigned bytes of an idx file, which must have so many axes."""
    with (
        whole(f"{source.place} must be an idx file of unsigned bytes with {n_axes} axes, and"),
        source.open() as stream,
    ):
        magic, content = stream.read(4), stream.read()
        if magic != bytes([0, 0, UNSIGNED_BYTES, n_axes]):
            raise ValueError(f"its first bytes are {' '.join(map(str, magic)) or 'missing'}")
        shape = tuple(np.frombuffer(content[: 4 * n_axes], ">u4").tolist())
        content = content[4 * n_axes :]
        if len(shape) < n_axes or len(content) != prod(shape):
            raise ValueError(f"its header says {' x '.join(map(str, shape))} bytes, and {len(content)} follow")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _pictures(source: Source) -> Array:
    pictures = read_idx(source, 3)
    return pictures.reshape(len(pictures), prod(pictures.shape[1:]))
