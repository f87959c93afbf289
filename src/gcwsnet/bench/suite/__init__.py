"""Accuracy, time and size over many datasets, next to what else people would take."""
