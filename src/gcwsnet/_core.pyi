"""
The native core: hashing, nets on codes, readers, search and sums of minima. Private; use the functions of gcwsnet.
"""

from collections.abc import Sequence
import enum
from typing import Annotated

import numpy
import numpy.typing
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

    MINWISE = 4

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

def pairs_of_dense(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], x_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, y: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], y_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, pairs: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray, dict(device='cpu')], n_threads: int) -> None:
    """
    Write the kernel of pairs of rows of any sign, each on its scale or all on one.
    """

def pairs_of_csr(x_values: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_columns: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_start: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], x_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, y_values: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_columns: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_start: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], y_scale: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, pairs: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray, dict(device='cpu')], n_threads: int) -> None:
    """Write the kernel of pairs of rows of any sign, whose columns ascend."""

def sum_signs(weights: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
    """
    Write, for each row and column, the sum of the row's weights times the signs of its differences to all rows.
    """

def solve_ridge(kernel: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], penalty: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], targets: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], diagonal: Annotated[NDArray, dict(device='cpu')], solved: Annotated[NDArray, dict(device='cpu')]) -> bool:
    """
    Write the diagonal of (K + penalty)^-1, and its product with the targets; return whether it is positive definite.
    """

class CodeToRow:
    """
    The row of a table that each code looks up: its position, or its position's bin.
    """

    def __init__(self, n_hashes: int, bits: int, n_rows: int, sketched: bool, seed: int) -> None: ...

    def sum_rows(self, codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], table: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], bias: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """Write for each sample the bias plus the rows that its codes look up."""

class LookupsByRow:
    """The lookups of a batch, sorted by the row of the table."""

    def __init__(self, rows: CodeToRow, codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], n_threads: int) -> None: ...

    @property
    def n_rows_used(self) -> int:
        """The number of rows of the table that occur."""

    def row_sums(self, gradient: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], rows: Annotated[NDArray, dict(shape=(None, None), device='cpu')], sums: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """
        Write the rows that occur, ascending, and the sum of the gradient over the samples that looked up each.
        """

    def adam(self, gradient: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], table: Annotated[NDArray, dict(shape=(None, None), device='cpu')], mean: Annotated[NDArray, dict(shape=(None, None), device='cpu')] | None, square: Annotated[NDArray, dict(shape=(None, None), device='cpu')], rate: float, new_mean: float, new_square: float, epsilon: float, decay: float, n_threads: int) -> None:
        """
        Do one step of Adam on the rows that occur, each read and written once.
        """

def adam(gradient: Annotated[NDArray, dict(device='cpu', writable=False)], weight: Annotated[NDArray, dict(device='cpu')], mean: Annotated[NDArray, dict(device='cpu')] | None, square: Annotated[NDArray, dict(device='cpu')], rate: float, new_mean: float, new_square: float, epsilon: float, decay: float, n_threads: int) -> None:
    """Do one step of Adam on all weights."""

class Net:
    """
    A net on codes: a table of which each code looks up a row, then ReLU and dense layers in turn.

    Its weights are float32. Equal settings and rows give equal bytes of weights for any number of threads, on any instruction set.
    """

    def __init__(self, n_hashes: int, bits: int, hidden: Sequence[int], n_outputs: int, *, reduction: int = 1, seed: int = 0, scale: float = 0.3, initialize: bool = True) -> None:
        """
        Draw initial weights from the seed, or make all of them zero. `reduction` is the factor by which a count-sketch shortens the table; 1 is none.
        """

    @property
    def n_hashes(self) -> int:
        """k, the columns of codes."""

    @property
    def bits(self) -> int:
        """b, the bits of a code."""

    @property
    def hidden(self) -> tuple:
        """The units of the hidden layers."""

    @property
    def n_outputs(self) -> int:
        """The outputs of the last layer."""

    @property
    def reduction(self) -> int:
        """The factor by which a count-sketch shortens the table."""

    @property
    def seed(self) -> int:
        """What initial weights, and bins and signs of a sketch, are drawn from."""

    @property
    def n_table_rows(self) -> int:
        """The rows of the table."""

    @property
    def n_steps(self) -> int:
        """
        The steps of the optimizer so far. They may be read while another thread trains the net.
        """

    @n_steps.setter
    def n_steps(self, arg: int, /) -> None: ...

    @property
    def rows_seen(self) -> int:
        """The rows learned so far, those of all epochs."""

    @rows_seen.setter
    def rows_seen(self, arg: int, /) -> None: ...

    def weights(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]:
        """
        Return views of all weights, by the names of the torch net: layers.0.weight is the table.
        """

    def first_moments(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]:
        """
        Return views of Adam's means of gradients. Without any they are made, of zeros.
        """

    def second_moments(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]:
        """
        Return views of Adam's means of squared gradients. Without any they are made, of zeros.
        """

    @property
    def has_first_moments(self) -> bool:
        """Whether there are means of gradients; without momentum there are none."""

    @property
    def has_second_moments(self) -> bool:
        """
        Whether there are means of squared gradients; before the first step there are none.
        """

    def train(self, codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], targets: Annotated[NDArray, dict(device='cpu', writable=False)], *, weights: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None, order: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None, batch_size: int, rates: Annotated[NDArray, dict(device='cpu', writable=False)], losses: Annotated[NDArray, dict(device='cpu')], successes: Annotated[NDArray, dict(device='cpu')], outputs: Annotated[NDArray, dict(device='cpu')] | None = None, loss: str = 'cross_entropy', betas: tuple[float, float] = (0.0, 0.999), eps: float = 1e-08, weight_decay: float = 0.0, lazy: bool = True, n_threads: int = 1) -> None:
        """
        Learn from the rows that `order` numbers, batch after batch, with one learning rate for each.

        Written are, for each batch before its step, the sum of the losses of its rows (without weights), the sums of their successes (rows whose largest output is their class, or the squared error of each output) and, if wanted, the outputs for each row. The gradient is that of the sum of weights times losses over the number of rows. A loss that is not finite is a FloatingPointError. After it, and after a KeyboardInterrupt, the net is that after the last whole step, which `n_steps` counts.
        """

    def outputs(self, codes: numpy.typing.NDArray, n_threads: int = 1, weights: str = 'last') -> numpy.typing.NDArray[numpy.float32]:
        """
        Return the outputs for each row of codes. They do not depend on the other rows. `weights` are the 'last' ones, or the means 'recent' or 'average', of which only what is needed is computed: the same bits as those of `averaged`, in less time for few rows.
        """

    def rows_used(self, codes: numpy.typing.NDArray) -> numpy.typing.NDArray[numpy.int64]:
        """
        Return the rows of the table that codes look up, ascending: those that `train` changes if it is lazy.
        """

    def changed_rows(self, n_threads: int = 1) -> numpy.typing.NDArray[numpy.bool_]:
        """
        Return for each row of the table whether training has changed it: whether a weight is another than was drawn, by more than rounding.
        """

    def score(self, codes: numpy.typing.NDArray, targets: numpy.typing.NDArray, *, weights: Sequence[str], loss: str = 'cross_entropy', temperature: float = 1.0, n_threads: int = 1) -> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float64]]:
        """
        Return the outputs for all rows of codes by each of several weights, those of the first weights first, and the losses of outputs divided by the temperature, a row for each weights: what `outputs` and `row_losses` give, in one call.
        """

    def evaluate(self, codes: numpy.typing.NDArray, targets: numpy.typing.NDArray, *, loss: str = 'cross_entropy', n_threads: int = 1) -> tuple[float, list[float]]:
        """
        Return the sum of the losses of rows and the sums of their successes, as `train` counts them.
        """

    def start_averaging(self, from_now: bool = False) -> None:
        """
        Average the weights from now on, over the last half to three quarters of the rows seen. The weights as they are count as the mean over the second half of `rows_seen`; with `from_now` earlier rows do not count.
        """

    def stop_averaging(self) -> None:
        """Forget all averages, and the mean of recent weights."""

    @property
    def is_averaging(self) -> bool:
        """Whether the weights are averaged."""

    def averaged(self, n_threads: int = 1, weights: str = 'average') -> Net:
        """
        Return a net with the mean weights, to predict with: 'average' over the last half of the stream, or 'recent'.
        """

    def averages(self) -> dict[str, numpy.typing.NDArray]:
        """
        Return views of what the averages are made of, by name: with `averaging_rows` all that has to be saved. They are of no use after a step of training.
        """

    @property
    def averaging_rows(self) -> tuple[int, int, int, int]:
        """
        Rows before the newer part of the averages, those of its older and newer part, and the rows seen before the averages began; set them to load a net.
        """

    @averaging_rows.setter
    def averaging_rows(self, arg: tuple[int, int, int, int], /) -> None: ...

    def start_recent_mean(self, keep: float) -> None:
        """
        Keep a mean of the weights over recent rows, each of which counts `keep` times as much as the next one.
        """

    @property
    def has_recent_mean(self) -> bool:
        """Whether there is such a mean."""

    def recent_mean(self) -> dict[str, numpy.typing.NDArray]:
        """
        Return views of what the mean of recent weights is made of, by name: all that has to be saved of it. They are of no use after a step of training.
        """

    def insert_output(self, place: int) -> None:
        """
        Make room for one more output in front of output number `place`. Its weights, and all that is kept of them, are zero. Views of the last layer that were made before are of no use any more.
        """

def row_losses(outputs: numpy.typing.NDArray, targets: numpy.typing.NDArray, loss: str = 'cross_entropy') -> numpy.typing.NDArray[numpy.float64]:
    """
    Return the loss of each row of outputs as a column: the same bytes on every machine.
    """

def softmax(outputs: numpy.typing.NDArray) -> numpy.typing.NDArray[numpy.float64]:
    """
    Return the softmax of each row of outputs: the same bytes on every machine.
    """

class PackedNet:
    """
    Nets that only predict, of whose tables only some rows are held, in four bits a weight or as float32. The other rows are zero.
    """

    def __init__(self, members: Sequence[dict[str, numpy.typing.NDArray]], *, n_hashes: int, bits: int, hidden: Sequence[int], n_outputs: int, reduction: int, seeds: Sequence[int]) -> None:
        """
        Take the arrays of each net: `layers.0.rows`, a bit for each row of the table, lowest bits first; `layers.0.weight`, of those rows either float32 or numbers of four bits, the lower half of a byte first, with `layers.0.scales`; and the others in float32 by their names.
        """

    def outputs(self, codes: numpy.typing.NDArray, n_threads: int = 1) -> numpy.typing.NDArray[numpy.float32]:
        """
        Return the mean outputs of the nets for each row of codes, which has those of all nets one after the other.
        """

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

def scan_csv(text: bytes, delimiter: str, state: int, after_return: bool) -> tuple:
    """
    Return the end of the last whole row of a CSV text that may begin within a row, the line ends before it and in all, and the state at the end: 2 within quotes; and whether the text ends with a carriage return.
    """

def split_csv_rows(text: bytes, delimiter: str) -> tuple:
    """
    Return where the rows of a CSV text begin and end, without empty ones, and their lines, counted from 0.
    """

def split_csv_fields(row: bytes, delimiter: str) -> list:
    """
    Return the fields of one row of a CSV text as bytes, without the quotes around them.
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

def column_sums(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], exponent: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], sum: Annotated[NDArray, dict(device='cpu')], count: Annotated[NDArray, dict(device='cpu')]) -> None:
    """
    Write the sum of x 2**-exponent over the rows of each column, in their order, and how many are not NaN.
    """

def column_squares(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], exponent: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], center: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], square: Annotated[NDArray, dict(device='cpu')]) -> None:
    """
    Write the sum of (x 2**-exponent - center)**2 over the rows of each column, without NaN.
    """

def scan(queries: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], n_hashes: int, bits: int, live: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, first: int, most: int, least: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], before: int, n_threads: int) -> tuple:
    """
    Return where the ranks of each query start, and the ranks: equal codes * 2**32 + 2**32 - 1 - row, best first.
    """

def search_buckets(queries: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], n_hashes: int, bits: int, live: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, first: int, keys: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], rows: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], width: int, most: int, least: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], before: int, n_threads: int) -> tuple:
    """Return what scan does, of the rows that share a bucket with the query."""

def build_buckets(codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], n_hashes: int, bits: int, width: int, keys: Annotated[NDArray, dict(shape=(None, None), device='cpu')], rows: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
    """
    Write the keys of the bands of each row, sorted, and the rows in this order.
    """

def merge_buckets(keys_a: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], rows_a: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], keys_b: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], rows_b: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], shift: int, keys: Annotated[NDArray, dict(shape=(None, None), device='cpu')], rows: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
    """
    Write the buckets of the rows of a and of those of b, whose numbers grow by shift.
    """
