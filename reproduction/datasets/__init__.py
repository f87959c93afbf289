"""The datasets of the paper by name, and those that are rebuilt from others."""

from reproduction.datasets._load import load
from reproduction.datasets._rebuild import make_mnist_image, make_mnist_noise

__all__ = ["load", "make_mnist_image", "make_mnist_noise"]
