"""What is collected where torch or dask are not installed: everything but what needs them, and what torch judges."""

from importlib.util import find_spec

NEED_TORCH = [
    "reproduction/net_runs.py",
    "src/gcwsnet/nn",
    "src/gcwsnet/training/_torch_net.py",
    "tests/nn",
    "tests/reproduction/test_runs.py",
    "tests/training/test_engine_equals_torch.py",
    "tests/training/test_native_net_equals_torch.py",
]
NEED_DASK = ["src/gcwsnet/distributed", "tests/distributed"]
collect_ignore = [
    *(NEED_TORCH if find_spec("torch") is None else []),
    *(NEED_DASK if find_spec("distributed") is None else []),
]
