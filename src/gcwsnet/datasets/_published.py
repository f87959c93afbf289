"""Files of datasets as their makers publish them: what they are called, where they are, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

UCI = "https://archive.ics.uci.edu/static/public"
LAROCHELLE = "http://www.iro.umontreal.ca/~lisa/icml2007data"
MNIST = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")


@dataclass(frozen=True)
class Published:
    """A file that can be downloaded.

    Attributes
    ----------
    file : str
        What it is called in a folder.
    urls : tuple of str
        Where it is, in the order in which they are tried.
    checksum : str or None
        The name of a hash function and its value, such as ``sha256:440fca...``, where both are known for certain. Else
        an archive must be undamaged by its own checksums; what it holds is checked whenever it is read.
    """

    file: str
    urls: tuple[str, ...]
    checksum: str | None = None


SEMG = Published("semg+for+basic+hand+movements.zip", (f"{UCI}/313/semg+for+basic+hand+movements.zip",))
DAILYSPORTS = Published("daily+and+sports+activities.zip", (f"{UCI}/256/daily+and+sports+activities.zip",))
PAMAP = Published(
    "pamap2+physical+activity+monitoring.zip",
    (f"{UCI}/231/pamap2+physical+activity+monitoring.zip",),
    "sha256:76b3580bd5a804121f507717cb498c66a312ef5c774f4a78ac470e6558add352",
)
COVTYPE = Published(  # the copy that scikit-learn downloads, with its checksum
    "covtype.data.gz",
    ("https://ndownloader.figshare.com/files/5976039",),
    "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
PENDIGITS = Published(
    "pen+based+recognition+of+handwritten+digits.zip",
    (f"{UCI}/81/pen+based+recognition+of+handwritten+digits.zip",),
    "sha256:1e02bea023613c2b11c9492f6f34caf975420455934f3527d270cee9a1f03b64",
)
NOISE = Published(
    "mnist_noise_variation.tar.gz",
    (f"{LAROCHELLE}/mnist_noise_variation.tar.gz",),
    "sha1:2d2cfa47c4aa51cc7a8fd1e52abadc7df4b7bfbd",
)
IMAGE = Published(
    "mnist_background_images.zip",
    (f"{LAROCHELLE}/mnist_background_images.zip",),
    "sha1:fb6fce9ed6372e0068ff7cb3e7b9e78dbda7ceae",
)
DIGITS = tuple(
    Published(f"{file}.gz", tuple(f"{mirror}/{file}.gz" for mirror in MNIST), f"sha256:{checksum}")
    for file, checksum in (
        ("train-images-idx3-ubyte", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        ("train-labels-idx1-ubyte", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ("t10k-images-idx3-ubyte", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        ("t10k-labels-idx1-ubyte", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    )
)
