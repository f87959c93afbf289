"""What is collected where torch, dask or river are not installed: all but what needs them, and what torch judges."""

from importlib.util import find_spec

NEED_TORCH = [
    "reproduction/net_runs.py",
    "src/gcwsnet/nn",
    "src/gcwsnet/net/_torch_net.py",
    "tests/nn",
    "tests/reproduction/test_runs.py",
    "tests/net/test_engine_equals_torch.py",
    "tests/net/test_torch_net.py",
]
NEED_DASK = ["src/gcwsnet/distributed", "tests/distributed"]
NEED_RIVER = ["src/gcwsnet/river.py", "tests/test_river.py"]
collect_ignore = [
    *(NEED_TORCH if find_spec("torch") is None else []),
    *(NEED_DASK if find_spec("distributed") is None else []),
    *(NEED_RIVER if find_spec("river") is None else []),
]
