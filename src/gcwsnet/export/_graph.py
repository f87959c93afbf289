"""A graph of ONNX operators that is written like arithmetic on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gcwsnet.hashing.elementary import LN2, SQRT_HALF_OF_DOUBLE, F, Q

OPSET, ML_OPSET, IR_VERSION = 18, 3, 8
"""The oldest versions that have all that is needed: bitwise operators came with opset 18."""

SMALL_BYTES = 512
"""Equal constants of up to this size are stored once."""


def _operator(name: str, *, swapped: bool = False, dtype: DTypeLike | None = None) -> Callable[[Value, Any], Value]:
    """Return a method that adds a node for an operator between a value and another value or a number."""

    def method(self: Value, other: Value | ArrayLike) -> Value:
        pair = [self, self.graph.constant(other, self.dtype)]
        return self.graph.add(name, *(pair[::-1] if swapped else pair), dtype=dtype)

    return method


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph: an input, a constant, or the result of an operator.

    An operator of Python between values adds a node to the graph. Numbers beside a value are constants of its type.
    """

    graph: Graph
    name: str
    dtype: np.dtype[Any]
    __array_ufunc__ = None  # a number of NumPy on the left leaves the operator to the value

    __add__, __mul__ = _operator("Add"), _operator("Mul")
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", swapped=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", swapped=True)
    __or__, __xor__ = _operator("Or"), _operator("BitwiseXor")
    __lt__, __le__ = _operator("Less", dtype=bool), _operator("LessOrEqual", dtype=bool)
    __gt__, __ge__ = _operator("Greater", dtype=bool), _operator("GreaterOrEqual", dtype=bool)

    def __and__(self, other: Value | ArrayLike) -> Value:
        return _operator("And" if self.dtype == bool else "BitwiseAnd")(self, other)

    def __invert__(self) -> Value:
        return self.graph.add("Not", self)

    def equals(self, other: Value | ArrayLike) -> Value:
        """Return where both are equal."""
        return _operator("Equal", dtype=bool)(self, other)

    def cast(self, dtype: DTypeLike) -> Value:
        """Return the same numbers in another type."""
        if self.dtype == dtype:
            return self
        return self.graph.add("Cast", self, dtype=dtype, to=tensor_type(dtype))

    def where(self, condition: Value, otherwise: Value | ArrayLike) -> Value:
        """Return this where a condition holds, and something else elsewhere."""
        return self.graph.add("Where", condition, self, self.graph.constant(otherwise, self.dtype), dtype=self.dtype)

    def clip(self, low: ArrayLike, high: ArrayLike) -> Value:
        """Return the same numbers, with bounds in place of those beyond them."""
        return _operator("Max")(_operator("Min")(self, high), low)

    def take(self, places: Value | ArrayLike, axis: int = 1) -> Value:
        """Return the entries at places of an axis."""
        return self.graph.add("Gather", self, self.graph.constant(places, np.int64), axis=axis)

    def with_axis(self, axis: int) -> Value:
        """Return it with an axis of length 1 more."""
        return self.graph.add("Unsqueeze", self, self.graph.constant([axis], np.int64))

    def without_axis(self, axis: int) -> Value:
        """Return it with an axis of length 1 less."""
        return self.graph.add("Squeeze", self, self.graph.constant([axis], np.int64))

    def reshaped(self, *shape: int) -> Value:
        """Return it in another shape; 0 stands for the length that an axis has, and -1 for what is left."""
        return self.graph.add("Reshape", self, self.graph.constant(shape, np.int64))

    def reduced(self, operator: str, axis: int, *, keepdims: bool = True) -> Value:
        """Return the sum, the largest or the smallest along an axis."""
        return self.graph.add(operator, self, self.graph.constant([axis], np.int64), keepdims=int(keepdims))

    def any_of_row(self) -> Value:
        """Return where a row has something that is true, of shape (n, 1)."""
        return self.cast(np.int32).reduced("ReduceMax", 1) > 0

    def sum_in_order(self, axis: int) -> Value:
        """Return the sum along an axis, from the first to the last: each partial sum is rounded."""
        sums = self.graph.add("CumSum", self, self.graph.constant(axis, np.int64))
        return sums.take(-1, axis)


class Graph:
    """A graph that grows with every value that is computed from its inputs, whose names no other value gets."""

    def __init__(self, input_names: Sequence[str]) -> None:
        from onnx import helper  # noqa: PLC0415 - it is optional

        self._onnx = helper
        self._scopes: list[list[Any]] = [[]]
        self._constants: list[tuple[str, NDArray[Any]]] = []
        self._small: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._numbers = count()
        self._prefix = "gcwsnet/"
        while any(name.startswith(self._prefix) for name in input_names):
            self._prefix += "/"
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, dtype: DTypeLike, width: int, description: str) -> Value:
        """Return a new input of shape (n, width)."""
        self.inputs.append(self._onnx.make_tensor_value_info(name, tensor_type(dtype), ["n", width], description))
        return Value(self, name, np.dtype(dtype))

    def output(self, name: str, value: Value, width: int | None, description: str) -> None:
        """Make a value an output of shape (n, width), or (n,) without a width; no output has the name of an input."""
        while name in [one.name for one in self.inputs]:
            name = f"predicted_{name}"
        shape: list[str | int] = ["n"] if width is None else ["n", width]
        self.outputs.append(self._onnx.make_tensor_value_info(name, tensor_type(value.dtype), shape, description))
        self._scopes[-1].append(self._onnx.make_node("Identity", [value.name], [name]))

    def constant(self, number: Value | ArrayLike, dtype: DTypeLike | None = None) -> Value:
        """Return a constant; a value is returned as it is."""
        if isinstance(number, Value):
            return number
        array = np.asarray(number, dtype=dtype)
        is_small = array.dtype.kind not in "OU" and array.nbytes <= SMALL_BYTES
        key = (array.dtype.str, array.shape, array.tobytes()) if is_small else ("", (), b"")
        if key in self._small:
            return self._small[key]
        value = Value(self, self._new_name(), array.dtype)
        self._constants.append((value.name, array))
        if is_small:
            self._small[key] = value
        return value

    def add(
        self,
        operator: str,
        *inputs: Value,
        dtype: DTypeLike | None = None,
        domain: str | None = None,
        **attributes: Any,
    ) -> Value:
        """Return what an operator gives, of the type of its first input if none is said."""
        made = Value(self, self._new_name(), np.dtype(inputs[0].dtype if dtype is None else dtype))
        names = [one.name for one in inputs]
        # a name of its own: some versions of onnxruntime name nodes that they make after those that they replace
        node = self._onnx.make_node(operator, names, [made.name], name=made.name, domain=domain, **attributes)
        self._scopes[-1].append(node)
        return made

    def joined(self, values: list[Value], axis: int = 1) -> Value:
        """Return values side by side."""
        return values[0] if len(values) == 1 else self.add("Concat", *values, axis=axis)

    def number_of_rows(self, value: Value) -> Value:
        """Return the length of the first axis, of shape (1,)."""
        return self.add("Shape", value, dtype=np.int64, start=0, end=1)

    def in_blocks(
        self, rows: Value, width: int, block: int, body: Callable[[Value], tuple[Value, ...]]
    ) -> tuple[Value, ...]:
        """Return what `body` makes of the rows of a matrix, computed for at most `block` rows at a time.

        What is in between stays as small as a block, however many rows there are. The last block is filled up with
        zeros, whose results are dropped.
        """
        n = self.number_of_rows(rows)
        one = self.constant([1], np.int64)
        size = n.clip([1], [block])
        n_blocks = self.add("Max", (n + size - 1) / size, one)
        total, zero = n_blocks * size, self.constant([0], np.int64)
        padded = self.add("Pad", rows, self.joined([zero, zero, total - n, zero], axis=0))
        blocks = self.add("Reshape", padded, self.joined([n_blocks, size, zero + width], axis=0))
        of_block = Value(self, self._new_name(), rows.dtype)
        self._scopes.append([])
        results = body(of_block)
        graph = self._onnx.make_graph(
            self._scopes.pop(),
            of_block.name,
            [self._onnx.make_tensor_value_info(of_block.name, tensor_type(rows.dtype), [None, width])],
            [self._onnx.make_tensor_value_info(one.name, tensor_type(one.dtype), None) for one in results],
        )
        stacked = [Value(self, self._new_name(), result.dtype) for result in results]
        names = [one.name for one in stacked]
        self._scopes[-1].append(self._onnx.make_node("Scan", [blocks.name], names, body=graph, num_scan_inputs=1))
        shape = self.joined([total, self.constant([-1], np.int64)], axis=0)
        whole = [self.add("Reshape", one, shape) for one in stacked]
        return tuple(self.add("Slice", one, zero, n, zero) for one in whole)

    def file(self, metadata: dict[str, str], *, version: str, description: str) -> list[bytes | memoryview]:
        """Return the ONNX file of the graph, in parts.

        Constants are put beside what protobuf has serialized: it would copy all weights several times, and ends the
        process where it has no memory for a copy.
        """
        graph = self._onnx.make_graph(self._scopes[0], "gcwsnet", self.inputs, self.outputs)
        opsets = [self._onnx.make_opsetid("", OPSET), self._onnx.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = self._onnx.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="gcwsnet")
        model.producer_version, model.doc_string = version, description
        self._onnx.set_model_props(model, metadata)
        of_graph = model.DESCRIPTOR.fields_by_name["graph"].number
        of_constants = graph.DESCRIPTOR.fields_by_name["initializer"].number
        model.ClearField("graph")
        constants = [part for constant in self._constants for part in _field(of_constants, *_tensor(*constant))]
        return [model.SerializeToString(), *_field(of_graph, graph.SerializeToString(), *constants)]

    def _new_name(self) -> str:
        return f"{self._prefix}{next(self._numbers)}"


def _tensor(name: str, array: NDArray[Any]) -> list[bytes | memoryview]:
    """Return a tensor in the format of protobuf, in parts; the numbers are not copied."""
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415 - it is optional

    if array.dtype.kind in "OU":
        return [numpy_helper.from_array(array, name).SerializeToString()]
    about = TensorProto(name=name, data_type=tensor_type(array.dtype), dims=array.shape)
    stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    raw_data = about.DESCRIPTOR.fields_by_name["raw_data"].number
    return [about.SerializeToString(), *_field(raw_data, stored.reshape(-1).view(np.uint8).data)]


def _field(number: int, *parts: bytes | memoryview) -> list[bytes | memoryview]:
    """Return a field of a message: its number and its length in bytes, as varints, and then its content."""
    return [_varint(number << 3 | 2) + _varint(sum(map(len, parts))), *parts]


def _varint(number: int) -> bytes:
    """Return a whole number as protobuf writes it: 7 bits in a byte, with the highest bit set if there are more.

    Examples
    --------
    >>> _varint(300).hex()
    'ac02'
    """
    made = []
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def tensor_type(dtype: DTypeLike) -> int:
    """Return the number that ONNX has for a type of NumPy; objects and text are strings."""
    from onnx import TensorProto, helper  # noqa: PLC0415 - it is optional

    found = np.dtype(dtype)
    return int(TensorProto.STRING if found.kind in "OU" else helper.np_dtype_to_tensor_dtype(found))


def split(x: Value, lowest: float) -> tuple[Value, Value]:
    """Return e and m with x = 2**e m and m from `lowest` to below twice that, as float64, for positive float64 numbers.

    The logarithm of a runtime may be wrong in its last bits, so e is first a guess that may be wrong by one.
    """
    graph = x.graph
    is_tiny = x < 2.0**-1000  # or subnormal
    x = (x * 2.0**100).where(is_tiny, x)
    log2_e = 1.4426950408889634
    e = graph.add("Floor", graph.add("Log", x) * log2_e)
    exponents = np.arange(-1023, 1025)
    half = exponents // 2  # 2**-e itself may be too large for a float
    place = (e + 1023.0).cast(np.int64)
    for part in (half, exponents - half):
        x = x * graph.constant(np.ldexp(1.0, -part)).take(place, axis=0)
    for wrong, factor, more in ((x < lowest, 2.0, -1.0), (x >= 2 * lowest, 0.5, 1.0)):
        x = (x * factor).where(wrong, x)
        e = (e + more).where(wrong, e)
    return (e - 100.0).where(is_tiny, e), x


def log_of_data(x: Value) -> Value:
    """Return ln|x| of float64 data as float32; minus infinity where x is zero."""
    graph = x.graph
    size = graph.add("Abs", x)
    zero = size.equals(0.0)
    sqrt_half = float(np.array(SQRT_HALF_OF_DOUBLE, dtype=np.int64).view(np.float64))
    e, m = split(graph.constant(1.0, np.float64).where(zero, size), sqrt_half)
    f = (m - 1.0).cast(np.float32)
    q = graph.constant(Q[0])
    for coefficient in Q[1:]:
        q = q * f + coefficient
    f2 = f * f
    logarithm = e.cast(np.float32) * LN2 + (f + (q * f * f2 - f2 * F(0.5)))
    return graph.constant(-np.inf, np.float32).where(zero, logarithm)


def bits_of_whole_numbers(t: Value) -> Value:
    """Return the bits of float32 numbers that are whole, below 2**63 in size, as int64; zero has no sign."""
    wide = t.cast(np.float64)
    size = t.graph.add("Abs", wide)
    zero = size.equals(0.0)
    e, m = split(t.graph.constant(1.0, np.float64).where(zero, size), 1.0)
    bits = (e + m + 126.0) * 2.0**23
    bits = (bits + 2.0**31).where(wide < 0.0, bits)
    return t.graph.constant(0, np.int64).where(zero, bits.cast(np.int64))


def scramble(h: Value) -> Value:
    """Return 32 bits scrambled one to one, as int64 from 0 to 2**32 - 1."""
    x = h ^ shifted(h, 16)
    x = _times(x, 0x7FEB352D)
    x = x ^ shifted(x, 15)
    x = _times(x, 0x846CA68B)
    return x ^ shifted(x, 16)


def shifted(x: Value, n: int) -> Value:
    """Return x >> n for int64 numbers that are not negative."""
    if n == 0:
        return x
    words = x.cast(np.uint64)
    return x.graph.add("BitShift", words, x.graph.constant(n, np.uint64), direction="RIGHT").cast(np.int64)


def _times(x: Value, factor: int) -> Value:
    """Return x times a factor, both below 2**32, modulo 2**32; no product in between has more than 63 bits."""
    low, high = factor & 0xFFFF, factor >> 16
    return (x * low + ((x * high) & 0xFFFF) * 0x10000) & 0xFFFFFFFF
