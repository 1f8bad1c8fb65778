"""A reader of saved models written from FORMAT.md and OPS.md alone: it imports neither package.

    python second_reader.py DIRECTORY     compares every `model` below it with the `calls.npz` beside it and prints what it did

NumPy stands in for the formulas of OPS.md, in float64 where an op is a formula of floats.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

ITEMSIZE_AND_CODE = {
    "bool": (1, "BOOL", []), "int8": (1, "I8", []), "int16": (2, "I16", []), "int32": (4, "I32", []), "int64": (8, "I64", []),
    "uint8": (1, "U8", []), "uint16": (2, "U16", []), "uint32": (4, "U32", []), "uint64": (8, "U64", []),
    "float16": (2, "F16", []), "float32": (4, "F32", []), "float64": (8, "F64", []),
    "complex64": (8, "F32", [2]), "complex128": (16, "F64", [2]),
}  # fmt: skip


# -- FORMAT.md -----------------------------------------------------------------------------------------------------------


class Model:
    """The tables of a manifest and the tensors of its payloads."""

    def __init__(self, directory: Path) -> None:
        file = (directory / "saved_model.msgpack").read_bytes()
        assert file[:8] == b"\x89GRAD\r\n\x1a" and file[12:16] == bytes(4)
        version, (length,) = struct.unpack("<I", file[8:12])[0], struct.unpack("<Q", file[16:24])
        assert version == 1 and len(file) == 24 + length + 32
        assert hashlib.sha256(file[:-32]).digest() == file[-32:]
        self.body = msgpack.unpackb(file[24 : 24 + length], use_list=True, strict_map_key=True)
        keys = "producer features specs ops lines graphs rules functions objects signatures payloads assets"
        assert list(self.body) == keys.split()
        assert not any(required for _, required, _ in self.body["features"])
        self.tensors: dict[str, np.ndarray] = {}
        for tensors, checks, _ in self.body["payloads"]:
            self._payload(directory / "variables", tensors, checks)
        self.ops = [(name, {key: value_of(v) for key, v in given}) for name, _, given in self.body["ops"]]

    def _payload(self, directory: Path, tensors: Any, checks: bytes) -> None:
        entries, places, end, gaps = [], [], 0, 0
        for name, dtype, shape in tensors:
            itemsize, code, axis = ITEMSIZE_AND_CODE[dtype]
            size = itemsize * math.prod(shape)
            gap = -end % (64 if size >= 1024 else itemsize)
            if gap:
                entries.append((f"__pad__{gaps}", "U8", [gap], end, end + gap))
                gaps += 1
                end += gap
            entries.append((name, code, [*shape, *axis], end, end + size))
            places.append(end)
            end += size
        header = "{" + ",".join(
            f'{json.dumps(n, ensure_ascii=False)}:{{"dtype":"{c}","shape":{json.dumps(s, separators=(",", ":"))},'
            f'"data_offsets":[{a},{b}]}}'
            for n, c, s, a, b in entries
        ) + "}"  # fmt: skip
        text = header.encode()
        text += b" " * (-(8 + len(text)) % 64)
        start = 8 + len(text)
        name = hashlib.sha256((start + end).to_bytes(8, "little") + checks).hexdigest()[:32]
        file = (directory / f"{name}.safetensors").read_bytes()
        assert len(file) == start + end and file[:start] == len(text).to_bytes(8, "little") + text
        chunks = [file[k : k + (4 << 20)] for k in range(0, len(file), 4 << 20)]
        assert b"".join(zlib.crc32(chunk).to_bytes(4, "little") for chunk in chunks) == checks
        for (name, dtype, shape), place in zip(tensors, places, strict=True):
            self.tensors[name] = array_of(dtype, shape, file[start + place :])

    def array(self, record: Any) -> np.ndarray:
        tag, *rest = record
        return self.tensors[rest[0]] if tag == 1 else array_of(*rest)

    def initial(self, number: int) -> np.ndarray | None:
        """The value of a variable or generator, None where the file does not hold it."""
        tag, *rest = self.body["objects"][number][0]
        tensor = {1: lambda: rest[4], 8: lambda: rest[1]}[tag]()
        return None if tensor is None else self.tensors[tensor].copy()

    def specs_of(self, value: Any) -> list[int]:
        """The specs in the inputs of a concrete function, in the order of its graph's inputs."""
        if not isinstance(value, list):
            return []
        tag, *rest = value
        if tag == 7:
            return rest
        if tag == 2:
            pairs = sorted(zip(map(value_of, rest[::2]), rest[1::2], strict=True), key=lambda pair: pair[0])
            rest = [item for _, item in pairs]
        elif tag == 3:
            rest = rest[3]
        elif tag not in (0, 1):
            return []
        return [spec for item in rest for spec in self.specs_of(item)]

    # a graph

    def run(self, number: int, inputs: list[Any]) -> list[Any]:
        _, _, constants, nodes, outputs = self.body["graphs"][number]
        values = [*inputs, *map(self.array, constants)]
        for op, places, specs, _ in nodes:
            name, attributes = self.ops[op]
            found = evaluate(self, name, attributes, [values[i] for i in places], specs)
            assert len(found) == len(specs), (name, len(found), len(specs))
            for y, spec in zip(found, specs, strict=True):
                dtype, shape, _, _ = self.body["specs"][spec]
                assert y.dtype == dtype, (name, y.dtype, dtype)
                assert shape is None or (
                    y.ndim == len(shape)
                    and all(a is None or a == b for a, b in zip(shape, y.shape, strict=True))
                ), (name, y.shape, shape)
            values += found
        return [values[i] for i in outputs]

    def zeros(self, spec: int) -> np.ndarray:
        dtype, shape, _, _ = self.body["specs"][spec]
        return np.zeros([size or 0 for size in shape or ()], dtype)


def array_of(dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    element = np.dtype(dtype).newbyteorder("<")
    return np.frombuffer(data, element, math.prod(shape)).astype(dtype).reshape(shape)


class Graph(int):
    pass


class Rule(int):
    pass


def value_of(record: Any) -> Any:
    if not isinstance(record, list):
        return record
    tag, *rest = record
    if tag in (0, 1):
        return tuple(map(value_of, rest))
    if tag == 4:
        return np.dtype(rest[0])
    return {5: Graph, 6: Rule}[tag](rest[0])


class Variable:
    def __init__(self, value: Any) -> None:
        self.value = value


# -- OPS.md: what all ops share ------------------------------------------------------------------------------------------


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if x.dtype.kind in "fc" else x


def axis_of(axes: Any, x: np.ndarray) -> Any:
    return tuple(range(x.ndim)) if axes is None else tuple(a % x.ndim for a in axes)


def references(x: Any) -> list[Any]:
    """What an attribute says of given inputs."""
    if not isinstance(x, tuple):
        return []
    return [x] if x[:1] in (("at",), ("all",)) else [found for item in x for found in references(item)]


def numbers_of(x: Any, given: list[Any]) -> Any:
    """An attribute with the numbers that given inputs hold."""
    if not references(x):
        return x
    if x[0] == "at":
        value = given[x[1] - 1]
        return int(value) if len(x) == 2 else np.asarray(value).tolist()[x[2]]
    out: list[Any] = []
    for item in x:
        if isinstance(item, tuple) and item[:1] == ("all",):
            out += np.asarray(given[item[1] - 1]).tolist()
        else:
            out.append(numbers_of(item, given))
    return tuple(out)


def key_of(key: Any, numbers: list[Any]) -> tuple[Any, ...]:
    def bound(b: Any) -> Any:
        return int(numbers[b[1] - 1]) if isinstance(b, tuple) else b

    out: list[Any] = []
    for entry in key:
        if entry == "new":
            out.append(None)
        elif entry == "...":
            out.append(Ellipsis)
        elif isinstance(entry, tuple) and entry[0] == "slice":
            out.append(slice(bound(entry[1]), bound(entry[2]), entry[3]))
        else:
            out.append(bound(entry))
    return tuple(out)


def pads_of(padding: Any, n: int, w: int, stride: int, d: int, which: int) -> tuple[int, int, int]:
    """(before, after, windows) along one of the two axes."""
    span = (w - 1) * d + 1
    if padding == "SAME":
        count = -(-n // stride)
        total = max((count - 1) * stride + span - n, 0)
        return total // 2, total - total // 2, count
    before, after = (0, 0) if padding == "VALID" else padding[which]
    n += before + after
    return before, after, 0 if n < span else (n - span) // stride + 1


class Windows:
    """Where element (p, q) of window (i, j) is in an image; those that are padding are `inside` nowhere."""

    def __init__(self, image: Any, window: Any, a: dict[str, Any]) -> None:
        rank = self.rank = len(window)
        inside: Any = np.True_
        self.at = []
        for k in range(rank):
            d = a["dilations"][k] if "dilations" in a else 1
            before, _, count = pads_of(a["padding"], image[1 + k], window[k], a["strides"][k], d, k)
            i, p = np.ogrid[:count, : window[k]]
            axes = [1] * (2 * rank)
            axes[k], axes[rank + k] = count, window[k]
            place = (i * a["strides"][k] + p * d - before).reshape(axes)
            inside = inside & (place >= 0) & (place < image[1 + k])
            self.at.append(np.clip(place, 0, max(image[1 + k] - 1, 0)))
        self.inside = inside  # [i, j, p, q]
        self.within = tuple(range(rank, 2 * rank))
        self.at = list(np.broadcast_arrays(*self.at))

    def take(self, x: Any, outside: float) -> Any:  # [b, i, j, p, q, c]
        return np.where(self.inside[None, ..., None], x[(slice(None), *self.at)], outside)

    def add(self, parts: Any, image: Any) -> Any:
        out = np.zeros(image)
        np.add.at(out, (slice(None), *self.at), np.where(self.inside[None, ..., None], parts, 0.0))
        return out

    def spread(self, g: Any) -> Any:
        """[b, i, j, c] as [b, i, j, 1, 1, c]."""
        return np.expand_dims(g, tuple(axis + 1 for axis in self.within))

    def reduced(self, parts: Any, how: Any) -> Any:
        return how(parts, tuple(axis + 1 for axis in self.within))

    def inside_of_each(self) -> Any:
        return self.inside.sum(self.within)[..., None]


# -- random numbers ------------------------------------------------------------------------------------------------------

MASK = 2**64 - 1


def words64(key: Any, count: int) -> list[int]:
    out: list[int] = []
    block = 1
    while len(out) < count:
        c = [block, 0, 0, 0]
        k0, k1 = int(key[0]) & MASK, int(key[1]) & MASK
        for turn in range(10):
            if turn:
                k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
            a, b = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
            c = [(b >> 64) ^ c[1] ^ k0, b & MASK, (a >> 64) ^ c[3] ^ k1, a & MASK]
        out += c
        block += 1
    return out[:count]


def words32(key: Any, count: int) -> list[int]:
    return [half for word in words64(key, (count + 1) // 2) for half in (word & 0xFFFFFFFF, word >> 32)][
        :count
    ]


def unit(key: Any, count: int, dtype: Any) -> np.ndarray:
    if dtype == np.float64:
        return np.array([(word >> 11) * 2.0**-53 for word in words64(key, count)])
    m = {"float32": 24, "float16": 11}[dtype.name]
    return np.array([(word >> (32 - m)) * 2.0**-m for word in words32(key, count)]).astype(dtype)


def normal(key: Any, count: int, dtype: Any) -> np.ndarray:
    p = (count + 1) // 2
    u = unit(key, 2 * p, np.dtype(np.float64 if dtype == np.float64 else np.float32)).astype(np.float64)
    r, a = np.sqrt(-2.0 * np.log(1.0 - u[:p])), 2 * np.pi * u[p:]
    return np.concatenate([r * np.cos(a), r * np.sin(a)])[:count].astype(dtype)


def derived(key: Any, turn: int) -> list[int]:
    return words64([(int(key[0]) & MASK) ^ (turn << 32), (int(key[1]) & MASK) ^ ((-1 - turn) & MASK)], 2)


def drawn(kind: str, key: Any, shape: Any, dtype: Any, limits: Any) -> np.ndarray:
    count = math.prod(shape)
    if kind == "uniform":
        y = unit(key, count, dtype)
    elif kind in ("normal", "truncated_normal"):
        y = normal(key, count, dtype)
        outside = np.flatnonzero(np.abs(y) > 2) if kind == "truncated_normal" else np.zeros(0, int)
        for turn in range(1, 64):
            if not len(outside):
                break
            y[outside] = normal(derived(key, turn), len(outside), dtype)
            outside = outside[np.abs(y[outside]) > 2]
        y = np.clip(y, -2, 2) if kind == "truncated_normal" else y
    else:
        words = words64(key, count)
        if kind == "integers":
            low, high = (int(x) for x in limits)
            words = [(low + word % (high - low)) & MASK for word in words]
        y = np.array(words, np.uint64).astype(dtype)
    return y.reshape(shape)


# -- the ops -------------------------------------------------------------------------------------------------------------

_erf = np.vectorize(math.erf, otypes=[float])
_erfc = np.vectorize(math.erfc, otypes=[float])
_lgamma = np.vectorize(math.lgamma, otypes=[float])

# Formulas of floats (or of integers, which they leave what they are).
FORMULAS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "div": np.divide, "pow": np.power,
    "square": np.square, "abs": np.abs, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "softplus": lambda x: np.logaddexp(x, 0), "erf": _erf, "erfc": _erfc,
    "lgamma": _lgamma, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0), "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "clip_by_value": lambda x, low, high: np.maximum(np.minimum(x, high), low),
    "maximum": np.maximum, "minimum": np.minimum, "squared_difference": lambda x, y: (x - y) ** 2,
    "divide_no_nan": lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)),
    "multiply_no_nan": lambda x, y: np.where(y == 0, 0, x * y), "mul_zero": lambda g, f: np.where(g == 0, 0, g * f),
    "div_zero": lambda g, f: np.where(g == 0, 0, g / f),
    "xlogy": lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y))),
    "xdivy": lambda x, y: np.where(x == 0, 0, x / np.where(x == 0, 1, y)),
    "tanh_grad": lambda y, g: g * (1 - y * y), "sigmoid_grad": lambda y, g: g * y * (1 - y),
    "reciprocal_grad": lambda y, g: -g * y * y, "relu_grad": lambda g, y: np.where(y > 0, g, 0),
    "elu_grad": lambda g, y: np.where(y < 0, g * (y + 1), g), "conj": np.conj, "logaddexp": np.logaddexp,
    "add_n": lambda *xs: sum(xs[1:], xs[0]), "select": lambda c, x, y: np.where(c, x, y),
}  # fmt: skip
COMPARISONS: dict[str, Any] = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or, "taken": np.logical_or,
    "logical_xor": np.logical_xor, "logical_not": np.logical_not, "is_nan": np.isnan, "is_inf": np.isinf,
    "is_finite": np.isfinite,
}  # fmt: skip
BITS: dict[str, Any] = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "invert": np.invert,
    "left_shift": np.left_shift, "right_shift": np.right_shift,
}  # fmt: skip
used: set[str] = set()


def evaluate(model: Model, name: str, a: dict[str, Any], xs: list[Any], specs: list[int]) -> list[Any]:
    """The outputs of one op."""
    used.add(name)
    if name in STRUCTURED:
        return STRUCTURED[name](model, a, xs, specs)
    if name in FORMULAS:
        dtype = xs[-1].dtype
        y = np.asarray(FORMULAS[name](*map(wide, xs)))
        if name == "abs" and dtype.kind == "c":
            dtype = np.dtype(f"f{dtype.itemsize // 2}")
        return [y.astype(dtype)]
    if name in COMPARISONS:
        return [np.asarray(COMPARISONS[name](*xs))]
    if name in BITS:
        return [np.asarray(BITS[name](*xs))]
    n = max([reference[1] for value in a.values() for reference in references(value)], default=0)
    if n and name not in BY_THEMSELVES:
        xs, given = xs[:-n], xs[-n:]
        a = {key: numbers_of(value, given) for key, value in a.items()}
    found = OPS[name](a, *xs)
    return [np.asarray(y) for y in found] if isinstance(found, tuple | list) else [np.asarray(found)]


def reduction(f: Any, narrow: bool = True) -> Any:
    def op(a: Any, x: Any) -> Any:
        y = f(wide(x), axis_of(a["axes"], x), a["keepdims"])
        return np.asarray(y).astype(x.dtype) if narrow else y

    return op


def _mean(x: Any, axes: Any, keep: bool) -> Any:
    count = math.prod(x.shape[k] for k in axes)
    total = np.sum(x, axes, keepdims=keep)
    return np.trunc(total / count) if x.dtype.kind in "iu" else total / count


def _logsumexp(x: Any, axes: Any, keep: bool) -> Any:
    top = np.max(x, axes, keepdims=True)
    y = np.log(np.sum(np.exp(x - top), axes, keepdims=True)) + top
    return y if keep else np.squeeze(y, axes)


def running(f: Any, empty: float) -> Any:
    def op(a: Any, x: Any) -> Any:
        y = np.moveaxis(wide(x), a["axis"], 0)
        y = y[::-1] if a["reverse"] else y
        out = []
        for k in range(len(y)):
            part = y[:k] if a["exclusive"] else y[: k + 1]
            out.append(f(part) if len(part) else np.full(y.shape[1:], empty))
        z = np.array(out).reshape(y.shape)
        return np.moveaxis(z[::-1] if a["reverse"] else z, 0, a["axis"]).astype(x.dtype)

    return op


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _gather(a: Any, params: Any, indices: Any) -> Any:
    assert not a["batch_dims"] and (indices >= 0).all()
    return np.take(params, indices, a["axis"])


def _gather_grad(a: Any, g: Any, indices: Any, sizes: Any = None) -> Any:
    out = np.zeros(a["shape"] if sizes is None else sizes)
    axis = a["axis"] % out.ndim
    assert not a["batch_dims"]
    flat = np.moveaxis(g.reshape(*g.shape[:axis], indices.size, *g.shape[axis + indices.ndim :]), axis, 0)
    np.add.at(np.moveaxis(out, axis, 0), indices.ravel(), flat)
    return out.astype(g.dtype)


def _scatter(out: Any, indices: Any, updates: Any) -> Any:
    np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def _put(part: Any, key: Any, shape: Any, numbers: Any) -> Any:
    out = np.zeros(shape, part.dtype)
    out[key_of(key, numbers)] = part
    return out


def _sum_to(x: Any, shape: Any) -> Any:
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + k for k, size in enumerate(shape) if size == 1 and x.shape[lead + k] != 1
    )
    return wide(x).sum(axes, keepdims=True).reshape(shape).astype(x.dtype)


def _order(x: Any, descending: bool) -> Any:
    y = x[..., ::-1] if descending else x
    order = np.argsort(y, -1, kind="stable")
    return x.shape[-1] - 1 - order[..., ::-1] if descending else order


def _split(x: Any, sizes: Any, axis: int) -> list[Any]:
    whole = x.shape[axis]
    if isinstance(sizes, int):
        sizes = [whole // sizes] * sizes
    rest = whole - sum(size for size in sizes if size >= 0)
    return np.split(x, np.cumsum([rest if size == -1 else size for size in sizes])[:-1], axis)


def _cast(a: Any, x: Any) -> Any:
    if x.dtype.kind == "c" and a["dtype"].kind not in "cb":
        x = x.real
    return x.astype(a["dtype"])


def _bitcast(a: Any, x: Any) -> Any:
    y = np.ascontiguousarray(x)
    size, wanted = x.dtype.itemsize, a["dtype"].itemsize
    if wanted < size:
        return y[..., None].view(a["dtype"])
    return y.view(a["dtype"])[..., 0] if wanted > size else y.view(a["dtype"])


def _matmul(a: Any, x: Any, y: Any) -> Any:
    x = np.swapaxes(x, -1, -2) if a["transpose_a"] else x
    y = np.swapaxes(y, -1, -2) if a["transpose_b"] else y
    return np.matmul(wide(x), wide(y)).astype(x.dtype)


def _triangular(a: Any, m: Any, b: Any) -> Any:
    t = np.tril(m) if a["lower_"] else np.triu(m)
    return np.linalg.solve(np.conj(np.swapaxes(t, -1, -2)) if a["adjoint"] else t, b)


def _band(a: Any, x: Any) -> Any:
    i, j = np.ogrid[: x.shape[-2], : x.shape[-1]]
    keep = ((a["lower_"] < 0) | (i - j <= a["lower_"])) & ((a["upper"] < 0) | (j - i <= a["upper"]))
    return np.where(keep, x, x.dtype.type(0))


def _searched(a: Any, sequence: Any, values: Any) -> Any:
    out = np.zeros(values.shape, a["dtype"])
    for row in np.ndindex(values.shape[:-1]):
        out[row] = np.searchsorted(sequence[row], values[row], "right" if a["right"] else "left")
    return out


def _one_hot(axis: int, depth: int, indices: Any, on: Any, off: Any) -> Any:
    rank = indices.ndim + 1
    shape = [1] * rank
    shape[axis % rank] = depth
    return np.where(np.expand_dims(indices, axis) == np.arange(depth).reshape(shape), on, off)


def _conv(a: Any, x: Any, kernel: Any) -> Any:
    rank = kernel.ndim - 2
    parts = Windows(x.shape, kernel.shape[:rank], a).take(wide(x), 0.0)
    return np.tensordot(parts, wide(kernel), rank + 1).astype(x.dtype)


def _conv_input(a: Any, g: Any, kernel: Any, like: Any = None) -> Any:
    image = a["dims"] or like.shape
    parts = np.tensordot(wide(g), wide(kernel), ([-1], [-1]))
    return Windows(image, kernel.shape[:-2], a).add(parts, image).astype(g.dtype)


def _conv_filter(a: Any, x: Any, g: Any, like: Any = None) -> Any:
    shape = a["dims"] or like.shape
    parts = Windows(x.shape, shape[:-2], a).take(wide(x), 0.0)
    places = list(range(g.ndim - 1))
    return np.tensordot(parts, wide(g), (places, places)).astype(x.dtype)


def _max_pool(a: Any, x: Any) -> Any:
    windows = Windows(x.shape, a["window"], a)
    return windows.reduced(windows.take(wide(x), -np.inf), np.max).astype(x.dtype)


def _max_pool_grad(a: Any, x: Any, g: Any) -> Any:
    windows = Windows(x.shape, a["window"], a)
    parts = windows.take(wide(x), -np.inf)
    count = int(np.prod(a["window"]))
    lead = parts.shape[: 1 + windows.rank]
    first = np.argmax(parts.reshape(*lead, count, parts.shape[-1]), -2)
    mask = (np.arange(count)[:, None] == np.expand_dims(first, -2)).reshape(parts.shape)
    return windows.add(mask * windows.spread(g), x.shape).astype(g.dtype)


def _avg_pool(a: Any, x: Any) -> Any:
    windows = Windows(x.shape, a["window"], a)
    return (windows.reduced(windows.take(wide(x), 0.0), np.sum) / windows.inside_of_each()).astype(x.dtype)


def _avg_pool_grad(a: Any, g: Any, x: Any = None) -> Any:
    image = a["dims"] or x.shape
    windows = Windows(image, a["window"], a)
    return windows.add(windows.spread(g / windows.inside_of_each()), image).astype(g.dtype)


def _cross_entropy(a: Any, labels: Any, logits: Any) -> Any:
    log_p = np.log(_softmax(wide(logits), -1))
    inside = (labels >= 0) & (labels < logits.shape[-1])
    picked = np.take_along_axis(log_p, np.where(inside, labels, 0)[..., None].astype(int), -1)[..., 0]
    return np.where(inside, -picked, np.nan).astype(logits.dtype), log_p.astype(logits.dtype)


def _cross_entropy_grad(a: Any, labels: Any, log_p: Any, g: Any) -> Any:
    return ((np.exp(wide(log_p)) - (np.arange(log_p.shape[-1]) == labels[..., None])) * g[..., None]).astype(
        g.dtype
    )


def _mask(a: Any, x: Any, mask: Any) -> Any:
    axis = a["axis"]
    flat = x.reshape(*x.shape[:axis], mask.size, *x.shape[axis + mask.ndim :])
    return np.compress(mask.ravel(), flat, axis)


def _segments(a: Any, data: Any, ids: Any) -> Any:
    out = np.zeros((a["num"], *data.shape[ids.ndim :]))
    keep = ids.ravel() >= 0
    np.add.at(out, ids.ravel()[keep], data.reshape(-1, *data.shape[ids.ndim :])[keep])
    return out.astype(data.dtype)


def _combined(formula: Any, empty: Any) -> Any:
    def evaluate(a: Any, data: Any, ids: Any) -> Any:
        out = np.full((a["num"], *data.shape[ids.ndim :]), empty(data.dtype), data.dtype)
        rows = data.reshape(-1, *data.shape[ids.ndim :])
        for segment in range(a["num"]):
            if (mine := ids.ravel() == segment).any():
                out[segment] = formula.reduce(rows[mine])
        return out

    return evaluate


def _sampled(kind: str, key: Any, shape: Any, dtype: Any, parameters: Any) -> np.ndarray:
    source = np.random.Philox()
    words = np.asarray(key, np.int64).view(np.uint64)
    source.state = {
        **source.state, "state": {"counter": np.zeros(4, np.uint64), "key": words},
        "buffer_pos": 4, "has_uint32": 0, "uinteger": 0,
    }  # fmt: skip
    stream = np.random.Generator(source)
    wide = [np.broadcast_to(np.asarray(p, np.float64), shape) for p in parameters]
    if kind == "binomial":
        return stream.binomial(wide[0].astype(np.int64), wide[1], shape).astype(dtype)
    return {"gamma": stream.standard_gamma, "poisson": stream.poisson}[kind](wide[0], shape).astype(dtype)


def _updated(a: Any, x: Any, indices: Any, updates: Any) -> Any:
    out = x.copy()
    for place in np.ndindex(indices.shape[:-1]):
        out[tuple(indices[place])] = updates[place]
    return out


def _written(x: Any, value: Any, key: Any) -> Any:
    out = x.copy()
    out[key] = value
    return out


def _padded(x: Any, paddings: Any, value: Any) -> Any:
    return np.pad(x, [tuple(map(int, pair)) for pair in paddings], constant_values=value)


def _eye(a: Any, *older: Any) -> Any:
    n, m = older or (a["rows_"], a["columns"])
    return np.eye(int(n), int(m), dtype=a["dtype"])


def _put_along(a: Any, g: Any, indices: Any) -> Any:
    out = np.zeros(a["shape"])
    for place in np.ndindex(indices.shape):
        at = list(place)
        at[a["axis"]] = indices[place]
        out[tuple(at)] += g[place]
    return out.astype(g.dtype)


def _real_inverse(a: Any, x: Any) -> Any:
    assert a["rank"] == 1 and not a["adjoint"]
    n = a["size"]
    turns = np.exp(2j * np.pi * np.outer(np.arange(x.shape[-1]), np.arange(n)) / n)
    weight = np.where((np.arange(x.shape[-1]) == 0) | (2 * np.arange(x.shape[-1]) == n), 1.0, 2.0)
    return ((wide(x) * weight) @ turns / n).real.astype(
        np.float64 if x.dtype == np.complex128 else np.float32
    )


def _random_key(a: Any, state: Variable) -> Any:
    key = state.value
    state.value = key + np.array([0, a.get("count", 1)])
    return key


def _assign(a: Any, variable: Variable, value: Any) -> Any:
    variable.value = value
    return value


def _assert(a: Any, condition: Any, *data: Any) -> Any:
    assert np.all(condition)
    return ()


# Older names whose keys refer to inputs in a way of their own.
BY_THEMSELVES = ("getitem_at", "getitem_grad_to")
OPS: dict[str, Any] = {
    # array
    "argsort": lambda a, x: np.moveaxis(
        _order(np.moveaxis(x, a["axis"], -1), a["descending"]), -1, a["axis"]
    ).astype(a["dtype"]),
    "block_bounds": lambda a, sizes, begin, size: (
        begin,
        np.where(size == -1, sizes, begin + size).astype(begin.dtype),
    ),
    "boolean_mask": _mask,
    "broadcast_to": lambda a, x: np.broadcast_to(x, a["shape"]),
    "broadcast_to_shape": lambda a, x, sizes: np.broadcast_to(x, sizes),
    "concat": lambda a, *xs: np.concatenate(xs, a["axis"]),
    "expand_dims": lambda a, x: np.expand_dims(x, a["axes"]),
    "eye": _eye,
    "eye_of": lambda a: np.eye(a["rows_"], a["columns"], dtype=a["dtype"]),
    "gather": _gather,
    "gather_grad": _gather_grad,
    "gather_grad_to": _gather_grad,
    "gather_nd": lambda a, params, indices: params[tuple(np.moveaxis(indices, -1, 0))],
    "getitem": lambda a, x: x[key_of(a["key"], [])],
    "getitem_at": lambda a, x, *numbers: x[key_of(a["key"], numbers)],
    "getitem_grad": lambda a, g: _put(g, a["key"], a["shape"], []),
    "getitem_grad_to": lambda a, g, sizes, *numbers: _put(g, a["key"], sizes, numbers),
    "identity": lambda a, x: x,
    "stop_gradient": lambda a, x: x,
    "mirror_pad": lambda a, x: np.pad(x, a["paddings"], mode=a["mode"]),
    "one_hot": lambda a, i, on, off: _one_hot(a["axis"], a["depth"], i, on, off),
    "ones_like": lambda a, x: np.ones(x.shape, a["dtype"]),
    "zeros_like": lambda a, x: np.zeros(x.shape, a["dtype"]),
    "pad": lambda a, x, value: _padded(x, a["paddings"], value),
    "pad_inner": lambda a, x: x[
        tuple(slice(low, n - high) for n, (low, high) in zip(x.shape, a["paddings"], strict=True))
    ],
    "pad_to": lambda a, x, value, paddings: _padded(x, paddings, value),
    "range": lambda a, start, limit, delta: (
        start + np.arange(max(math.ceil((limit - start) / delta), 0)) * delta
    ).astype(start.dtype),
    "rank": lambda a, x: np.int32(x.ndim),
    "repeat": lambda a, x, repeats: np.repeat(x, repeats, a["axis"]),
    "reshape": lambda a, x: x.reshape(a["shape"]),
    "reshape_to": lambda a, x, sizes: x.reshape(tuple(sizes)),
    "reverse": lambda a, x: np.flip(x, a["axes"]),
    "roll": lambda a, x, shifts: np.roll(x, tuple(np.ravel(shifts)), a["axes"]),
    "scatter_nd": lambda a, indices, updates: _scatter(np.zeros(a["shape"], updates.dtype), indices, updates),
    "shape": lambda a, x: np.array(x.shape, a["dtype"]),
    "size": lambda a, x: a["dtype"].type(x.size),
    "slice": lambda a, x: x[
        tuple(
            np.ix_(
                *[s + np.arange(n) * d for s, d, n in zip(a["starts"], a["strides"], a["sizes"], strict=True)]
            )
        )
    ],
    "split": lambda a, x: _split(x, a["sizes"], a["axis"]),
    "squeeze": lambda a, x: np.squeeze(x, a["axes"] or None),
    "stack": lambda a, *xs: np.stack(xs, a["axis"]),
    "steps": lambda a: (a["start"] + np.arange(a["size"]) * a["delta"]).astype(a["dtype"]),
    "sum_to": lambda a, x: _sum_to(x, a["shape"]),
    "sum_to_shape": lambda a, x, sizes: _sum_to(x, tuple(sizes)),
    "take_along_axis_grad": _put_along,
    "take_along_axis": lambda a, x, indices: np.take_along_axis(x, indices, a["axis"]),
    "tensor_scatter_nd_update": _updated,
    "tile": lambda a, x: np.tile(x, a["multiples"]),
    "tile_to": lambda a, x, multiples: np.tile(x, tuple(multiples)),
    "top_indices": lambda a, x: _order(x, True)[..., : a["k"]].astype(a["dtype"]),
    "slice_update": lambda a, x, value: _written(x, value, key_of(a["key"], [])),
    "split_at": lambda a, x, *sizes: _split(x, tuple(map(int, sizes[0])) if sizes else a["n"], a["axis"]),
    "concat_part": lambda a, x, *shapes: _split(x, [int(s[a["axis"]]) for s in shapes], a["axis"])[a["k"]],
    "transpose": lambda a, x: np.transpose(x, None if a["perm"] == "reversed" else a["perm"]),
    "transpose_by": lambda a, x, perm: np.transpose(x, np.argsort(perm % x.ndim) if a["inverse"] else perm),
    "unit_steps": lambda a: np.linspace(0.0, 1.0, a["n"]).astype(a["dtype"]),
    "unsorted_segment_sum": _segments,
    "unsorted_segment_max": _combined(np.maximum, lambda dtype: np.finfo(dtype).min),
    "unsorted_segment_min": _combined(np.minimum, lambda dtype: np.finfo(dtype).max),
    "unsorted_segment_prod": _combined(np.multiply, lambda dtype: 1),
    "unstack": lambda a, x: [np.take(x, k, a["axis"]) for k in range(a["num"])],
    "where_indices": lambda a, x: np.argwhere(x).astype(np.int64),
    # linalg
    "band_part": _band,
    "cholesky": lambda a, x: np.linalg.cholesky(wide(x)).astype(x.dtype),
    "det": lambda a, x: np.linalg.det(wide(x)).astype(x.dtype),
    "diag_part": lambda a, x: np.diagonal(x, a["k"], -2, -1),
    "eigh": lambda a, x: tuple(y.astype(x.dtype) for y in np.linalg.eigh(wide(x))),
    "einsum": lambda a, *xs: np.einsum(a["equation"], *map(wide, xs)).astype(xs[0].dtype),
    "inv": lambda a, x: np.linalg.inv(wide(x)).astype(x.dtype),
    "matmul": _matmul,
    "slogdet": lambda a, x: tuple(np.asarray(y).astype(x.dtype) for y in np.linalg.slogdet(wide(x))),
    "solve": lambda a, m, b: np.linalg.solve(np.conj(m.swapaxes(-1, -2)) if a["adjoint"] else m, b),
    "triangular_solve": _triangular,
    # math
    "argmax": lambda a, x: np.argmax(x, a["axis"]).astype(a["dtype"]),
    "argmin": lambda a, x: np.argmin(x, a["axis"]).astype(a["dtype"]),
    "bitcast": _bitcast,
    "cast": _cast,
    "complex": lambda a, x, y: (x + 1j * y).astype(np.complex64 if x.dtype == np.float32 else np.complex128),
    "real": lambda a, x: x.real,
    "imag": lambda a, x: x.imag,
    "count_of": lambda a, x: a["dtype"].type(math.prod(x.shape[k] for k in axis_of(a["axes"], x))),
    "cumsum": running(lambda part: part.sum(0), 0.0),
    "cumprod": running(lambda part: part.prod(0), 1.0),
    "cumulative_logsumexp": running(lambda part: np.logaddexp.reduce(part, 0), -np.inf),
    "floordiv": lambda a, x, y: np.floor(x / y) if x.dtype.kind == "f" else x // y,
    "mod": lambda a, x, y: (wide(x) - wide(y) * np.floor(wide(x) / wide(y))).astype(x.dtype),
    "reduce_sum": reduction(lambda x, axes, keep: np.sum(x, axes, keepdims=keep)),
    "sum_of_products": lambda a, x, y: reduction(lambda z, axes, keep: np.sum(z, axes, keepdims=keep))(
        a, x * y
    ),
    "reduce_prod": reduction(lambda x, axes, keep: np.prod(x, axes, keepdims=keep)),
    "reduce_mean": reduction(_mean),
    "reduce_max": reduction(lambda x, axes, keep: np.max(x, axes, keepdims=keep)),
    "reduce_min": reduction(lambda x, axes, keep: np.min(x, axes, keepdims=keep)),
    "reduce_all": reduction(lambda x, axes, keep: np.all(x, axes, keepdims=keep)),
    "reduce_any": reduction(lambda x, axes, keep: np.any(x, axes, keepdims=keep)),
    "reduce_logsumexp": reduction(_logsumexp),
    "searchsorted": _searched,
    # nn
    "softmax": lambda a, x: _softmax(wide(x), a["axis"]).astype(x.dtype),
    "log_softmax": lambda a, x: np.log(_softmax(wide(x), a["axis"])).astype(x.dtype),
    "convolution": _conv,
    "convolution_input_grad": _conv_input,
    "convolution_filter_grad": _conv_filter,
    "max_pool": _max_pool,
    "max_pool_grad": _max_pool_grad,
    "avg_pool": _avg_pool,
    "avg_pool_grad": _avg_pool_grad,
    "conv2d": _conv,
    "conv2d_input_grad": _conv_input,
    "conv2d_filter_grad": _conv_filter,
    "max_pool2d": _max_pool,
    "max_pool2d_grad": _max_pool_grad,
    "avg_pool2d": _avg_pool,
    "avg_pool2d_grad": _avg_pool_grad,
    "sparse_cross_entropy": _cross_entropy,
    "sparse_cross_entropy_grad": _cross_entropy_grad,
    "patches_sum": lambda a, g: Windows(a["dims"], a["window"], a).add(wide(g), a["dims"]).astype(g.dtype),
    # signal
    "irfft": _real_inverse,
    # random and state
    "split_key": lambda a, key: (
        np.array([derived(key, 64 + k) for k in range(a["n"])], np.uint64).astype(np.int64).reshape(-1, 2)
    ),
    "random_key": _random_key,
    "draw": lambda a, key, *limits: drawn(a["kind"], key, a["shape"], a["dtype"], limits),
    "draw_to": lambda a, key, *rest: drawn(a["kind"], key, tuple(map(int, rest[-1])), a["dtype"], rest[:-1]),
    "draw_gamma": lambda a, key, alpha: _sampled("gamma", key, a["shape"], alpha.dtype, [alpha]),
    "draw_counts": lambda a, key, *rest: _sampled(a["kind"], key, a["shape"], a["dtype"], rest),
    "read": lambda a, variable: variable.value,
    "assign": _assign,
    "assert": _assert,
}


# -- ops that hold graphs ------------------------------------------------------------------------------------------------


def _call(model: Model, a: Any, xs: Any, specs: Any) -> list[Any]:
    return model.run(a["graph"], xs)


def _cond(model: Model, a: Any, xs: Any, specs: Any) -> list[Any]:
    predicate, *operands = xs
    graphs = {"then": a["then_graph"], "else": a["else_graph"]}
    results = {
        side: iter(model.run(graph, operands))
        for side, graph in graphs.items()
        if a["depth"] or side == ("then" if predicate else "else")
    }
    out = []
    for kind, spec in zip(a["kinds"], specs, strict=True):
        if not a["depth"]:
            (side,) = results
            out.append(next(results[side]) if kind in ("both", side) else model.zeros(spec))
        elif kind in ("then", "else"):
            out.append(next(results[kind]))
        else:
            x, y = next(results["then"]), next(results["else"])
            rows = predicate.reshape(predicate.shape + (1,) * (x.ndim - predicate.ndim))
            out.append(x + y if kind == "sum" else np.where(rows, x, y))
    return out


def _loop(model: Model, a: Any, xs: Any, specs: Any) -> list[Any]:
    limit, n, m = int(xs[0]), 1 + a["n_carry"], 1 + a["n_carry"] + a["n_invariant"]
    carry, invariant, walked = xs[1:n], xs[n:m], xs[m:]
    assert len(walked) == a["n_xs"] and a["steps"] in (None, max(limit, 0))
    t, stacks = 0, [{} for _ in specs[n:]]
    while t < limit and (a["test"] is None or model.run(a["test"], [*carry, *invariant])[0]):
        i = limit - 1 - t if a["reverse"] else t
        results = model.run(a["body"], [*carry, *invariant, *[x[i] for x in walked]])
        carry = results[: a["n_carry"]]
        for stack, y in zip(stacks, results[a["n_carry"] :], strict=True):
            stack[i] = y
        t += 1
    length = len(walked[0]) if walked else t
    ys = []
    for spec, stack in zip(specs[n:], stacks, strict=True):
        dtype, shape, _, _ = model.body["specs"][spec]
        if stack:
            inner = [max(sizes) for sizes in zip(*[y.shape for y in stack.values()], strict=True)]
        else:
            inner = [size or 0 for size in (shape or [0])[1:]]
        whole = np.zeros((length, *inner), dtype)
        for i, y in stack.items():
            whole[(i, *[slice(size) for size in y.shape])] = y
        ys.append(whole)
    return [*carry, np.asarray(np.int32(t)), *ys]


def _vectorize(model: Model, a: Any, xs: Any, specs: Any) -> list[Any]:
    count = next(len(x) for x, s in zip(xs, a["stacked"], strict=True) if s)
    rows = [
        model.run(a["graph"], [x[k] if s else x for x, s in zip(xs, a["stacked"], strict=True)])
        for k in range(count)
    ]
    return [y[0] if k in a["uniform"] else np.stack(y) for k, y in enumerate(zip(*rows, strict=True))]


def _either(model: Model, a: Any, xs: Any, specs: Any) -> list[Any]:
    return model.run(a["other"] if xs[0] < xs[1] else a["graph"], xs[2:])


def _custom(model: Model, a: Any, xs: Any, specs: Any) -> list[Any]:
    return list(xs[a["n_inputs"] : a["n_inputs"] + len(specs)])


STRUCTURED: dict[str, Any] = {
    "call": _call,
    "cond": _cond,
    "loop": _loop,
    "vectorize": _vectorize,
    "either": _either,
    "closed_custom": _custom,
}


# -- comparing -----------------------------------------------------------------------------------------------------------


def check(directory: Path) -> int:
    """Evaluate every concrete function of a model as its `calls.npz` did; returns how many there are."""
    count = 0
    with np.load(directory / "calls.npz") as calls:
        for f, function in enumerate(Model(directory / "model").body["functions"]):
            for c in range(len(function[3])):
                model = Model(directory / "model")
                _, inputs, _, graph, captures = function[3][c]
                name = f"{f}.{c}"
                specs = model.specs_of(inputs)
                assert specs == model.body["graphs"][graph][1][: len(specs)]
                variables: dict[int, Variable] = {}
                values = [calls[f"{name}.in.{k}"] for k in range(len(specs))]
                for tag, *rest in captures:
                    if tag == 2:
                        number = rest[0]
                        start = model.initial(number)
                        if start is None:
                            start = calls[f"{name}.before.{number}"]
                        values.append(variables.setdefault(number, Variable(start)))
                    else:
                        values.append(model.array([tag, *rest]))
                outputs = model.run(graph, values)
                for k, y in enumerate(outputs):
                    compare(f"{directory.name} {name}.out.{k}", y, calls[f"{name}.out.{k}"])
                assert f"{name}.out.{len(outputs)}" not in calls
                for number, variable in variables.items():
                    after = f"{name}.after.{number}"
                    if after in calls:
                        compare(f"{directory.name} {after}", variable.value, calls[after])
                count += 1
    return count


def compare(what: str, found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (what, found, wanted)
    if wanted.dtype.kind in "fc":
        eps = max(float(np.finfo(wanted.dtype).eps) * 40, 1e-13)
        scale = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1e-3))
        np.testing.assert_allclose(found, wanted, rtol=eps, atol=eps * scale, err_msg=what)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=what)


def main() -> None:
    with np.errstate(all="ignore"):
        counts = {path.name: check(path) for path in sorted(Path(sys.argv[1]).iterdir()) if path.is_dir()}
    loaded = sorted({name.split(".")[0] for name in sys.modules})
    print(json.dumps({"functions": counts, "ops": sorted(used), "modules": loaded}))


if __name__ == "__main__":
    main()
