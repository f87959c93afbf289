"""
The native core: hashing, the hashed layer, readers and sums of minima. Private; use the functions of gcwsnet.
"""

from collections.abc import Sequence
import enum
from typing import Annotated

from numpy.typing import NDArray


def instruction_sets() -> list[str]:
    """
    Return the names of the instruction sets this processor can run, best first.
    """

def instruction_set() -> str:
    """
    Return the name of the instruction set in use: the best one, or that of the environment variable GCWSNET_ISA when this module was loaded.
    """

def use_instruction_set(name: str) -> None:
    """
    Use the instruction set of this name from now on, for tests and benchmarks.
    """

class Encoding:
    """The way in which a pair (i*, t*) becomes a code."""

    def __init__(self, mixed: bool, all_of_t: bool, bits: int, t_bits: int, n_columns: int) -> None: ...

class Scan(enum.Enum):
    """
    The way in which rows are scanned: the one that looks quickest, or always the same.
    """

    AUTO = 0

    FULL = 1

    SORTED = 2

    HEAVY = 3

    RANKS = 4

class Method(enum.Enum):
    """The sampler of a hasher."""

    GCWS = 0

    REJECTION = 1

    BINWISE = 2

    EXTREMAL = 3

class Hasher:
    """
    A hasher of one seed that gives samples and codes of rows of n_columns numbers.
    """

    def __init__(self, seed: int, n_columns: int, n_hashes: int, table_bytes: int, scan: Scan, method: Method = Method.GCWS) -> None: ...

    def use_caps(self, log_caps: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], ends: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]) -> None:
        """
        Set the caps of all features and the ends of their points; for the method REJECTION, before rows are hashed.
        """

    def samples_of_dense(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], p: float, nan_is_zero: bool, i_star: Annotated[NDArray, dict(shape=(None, None), device='cpu')], t_star: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    def samples_of_csr(self, data: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], indices: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], indptr: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], p: float, nan_is_zero: bool, i_star: Annotated[NDArray, dict(shape=(None, None), device='cpu')], t_star: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    def codes_of_dense(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], p: float, nan_is_zero: bool, encoding: Encoding, out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    def codes_of_csr(self, data: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], indices: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], indptr: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], p: float, nan_is_zero: bool, encoding: Encoding, out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

def pgmm_dense(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], x_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], y_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], has_negative: bool, out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
    """Write the pGMM kernel of two blocks of powered rows, any sign."""

def pgmm_sparse(x_start: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_row: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_value: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_sum: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_start: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_column: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_value: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_sum: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
    """
    Write the pGMM kernel of powered non-negative rows: the first matrix by columns, the second by rows.
    """

class RowOfCode:
    """
    The row of a table that each code picks: its position, or its position's bin.
    """

    def __init__(self, n_hashes: int, bits: int, n_rows: int, sketched: bool, seed: int) -> None: ...

    def sum_of_picks(self, codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], table: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], bias: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """Write for each sample the bias plus the rows that its codes pick."""

class PicksByRow:
    """The picks of a batch, sorted by the row of the table."""

    def __init__(self, rows: RowOfCode, codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], n_threads: int) -> None: ...

    @property
    def n_picked_rows(self) -> int:
        """The number of rows of the table that occur."""

    def row_sums(self, gradient: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], rows: Annotated[NDArray, dict(shape=(None, None), device='cpu')], sums: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """
        Write the rows that occur, ascending, and the sum of the gradient over the samples that picked each.
        """

    def adam(self, gradient: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], table: Annotated[NDArray, dict(shape=(None, None), device='cpu')], mean: Annotated[NDArray, dict(shape=(None, None), device='cpu')] | None, square: Annotated[NDArray, dict(shape=(None, None), device='cpu')], rate: float, new_mean: float, new_square: float, epsilon: float, decay: float, n_threads: int) -> None:
        """
        Do one step of Adam on the rows that occur, each read and written once.
        """

def adam(gradient: Annotated[NDArray, dict(device='cpu', writable=False)], weight: Annotated[NDArray, dict(device='cpu')], mean: Annotated[NDArray, dict(device='cpu')] | None, square: Annotated[NDArray, dict(device='cpu')], rate: float, new_mean: float, new_square: float, epsilon: float, decay: float, n_threads: int) -> None:
    """Do one step of Adam on all weights."""

class LibsvmFault(enum.Enum):
    """The rule that a line of the LIBSVM format breaks."""

    NONE = 0

    NO_LABEL = 1

    MANY_LABELS = 2

    LABEL = 3

    LABEL_NOT_FINITE = 4

    PAIR = 5

    INDEX = 6

    INDEX_TOO_SMALL = 7

    INDEX_TOO_LARGE = 8

    DUPLICATE = 9

    VALUE = 10

    MISSING = 11

    INFINITY = 12

    OVERFLOW = 13

class Missing(enum.Enum):
    """The treatment of a missing value."""

    ERROR = 0

    ZERO = 1

    NAN = 2

def parse_libsvm(text: bytes, begin: int, index_base: int, n_columns: int, missing: Missing, float32: bool) -> tuple:
    """
    Return the labels, values, columns, index pointer and lines of the rows of a text, the bytes and lines that were read, and the fault that ended it, with its place.
    """

def text_keys(texts: bytes, ends: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], state: int, out: Annotated[NDArray, dict(device='cpu')]) -> None:
    """
    Write a key for each of the texts that stand one behind the other: FNV-1a from a state, mixed.
    """

def dense_row_keys(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], state: int, out: Annotated[NDArray, dict(device='cpu')]) -> None:
    """Write a key of the numbers of each row."""

def csr_row_keys(data: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], indices: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], indptr: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], state: int, out: Annotated[NDArray, dict(device='cpu')]) -> None:
    """
    Write a key of the numbers of each row, equal to that of the row as a dense one.
    """
