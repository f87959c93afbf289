"""Memory and time of `gcwsnet.nn.GCWSLayer` where tensor operations hash, as on other devices than the CPU.

The operations run on the CPU, on one thread and in a process of its own. Embeddings of both signs are hashed, and the
codes are compared with those of the native core. Memory is the most that the process had at any time: with Python,
torch, the embeddings, and the parameters of all features and hashes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.subject import Section, add_count, environment, markdown_table

MEASURE = """
import sys, time
import torch
from gcwsnet.nn import GCWSLayer

def most_memory():  # ru_maxrss would begin with that of the process that started this one
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

n, D, k = map(int, sys.argv[1:])
torch.set_num_threads(1)
torch.manual_seed(0)
layer = GCWSLayer(D, 2, n_hashes=k, bits=1)
embeddings = torch.randn(n, D)
print(most_memory())
begin = time.process_time()
layer._codes_by_tensors(embeddings[:1])
print(most_memory(), time.process_time() - begin)
begin = time.process_time()
codes = layer._codes_by_tensors(embeddings)
print(most_memory(), time.process_time() - begin)
layer.codes(embeddings[:1])
begin = time.process_time()
native = layer.codes(embeddings)
print(time.process_time() - begin, int((codes != native).sum()))
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 1024, "the rows of embeddings")
    add_count(parser, "--columns", 4096, "D, the columns of embeddings")
    add_count(parser, "--hashes", 1024, "k")


def run(options: argparse.Namespace) -> Section:
    """Hash embeddings in a process of its own."""
    shape = [str(number) for number in (options.rows, options.columns, options.hashes)]
    found = subprocess.run([sys.executable, "-c", MEASURE, *shape], stdout=subprocess.PIPE, text=True, check=True)
    start, tables, tables_seconds, most, seconds, native_seconds, different = map(float, found.stdout.split())
    rows, columns, hashes = shape
    about = (
        f"{rows} x {columns} embeddings, k = {hashes}: {different:.0f} codes differ from those of the native core, and "
        f"tensor operations take {seconds / native_seconds:.0f} times as long as it does on one thread."
    )
    head = ["", "most memory so far, MB", "seconds"]
    lines = [
        ["torch, the layer and the embeddings", f"{start / 1e6:.0f}", ""],
        ["the parameters, and one row", f"{tables / 1e6:.0f}", f"{tables_seconds:.1f}"],
        [f"{rows} rows", f"{most / 1e6:.0f}", f"{seconds:.0f}"],
    ]
    return Section("\n\n".join([" ".join(environment("torch")), about, markdown_table(head, lines)]))
