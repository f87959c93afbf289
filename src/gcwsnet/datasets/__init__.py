"""The datasets of the paper by name, and those that are rebuilt from others."""

from gcwsnet.datasets._load import load
from gcwsnet.datasets._rebuild import make_mnist_image, make_mnist_noise

__all__ = ["load", "make_mnist_image", "make_mnist_noise"]
