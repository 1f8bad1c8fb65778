"""cuBLASLt of the fake device: descriptions with the attributes of the header, algorithms that are only good for what they were
asked for, and products with their endings.

An algorithm is refused with another product, other matrices, less aligned addresses or less workspace than it was found for.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices import fake_streams

COMPUTES = {68: np.float32, 77: np.float32, 70: np.float64}
TF32 = 77
DTYPES = {0: np.float32, 1: np.float64}
SIZES = {
    "product": {3: 4, 4: 4, 7: 4, 8: 8},
    "layout": {5: 4, 6: 8},
    "preference": {1: 8, 5: 4, 6: 4, 7: 4, 8: 4},
}
BIAS, RELU, BGRADA, BGRADB = 4, 2, 256, 512
ENDINGS = {0, BIAS, RELU, BIAS | RELU, BGRADA, BGRADB}
NOT_SUPPORTED = 15
refusal = [NOT_SUPPORTED]  # the status of a product for which there is no algorithm
calls: list[tuple[int, ...]] = []  # ending, m, n, k and batches of products
alive: dict[int, dict[Any, Any]] = {}  # what was created and not destroyed
has_none: list[Callable[[dict[Any, Any]], bool]] = []  # products for which there is no algorithm
_places = itertools.count(1 << 20)
_found: dict[int, Any] = {}


def _create(kind: str, target: int, **known: Any) -> None:
    place = next(_places)
    alive[place] = {"kind": kind, **known}
    ctypes.c_void_p.from_address(target).value = place


def _product(target: int, compute: int, scale: int) -> None:
    assert COMPUTES[compute] is DTYPES[scale]
    _create("product", target, compute=compute, dtype=DTYPES[scale])


def _layout(target: int, kind: int, rows: int, columns: int, lead: int) -> None:
    assert lead >= rows > 0 and columns > 0
    _create("layout", target, dtype=DTYPES[kind], rows=rows, columns=columns, lead=lead)


def _set(kind: str) -> Any:
    def run(place: int, attribute: int, source: int, size: int) -> None:
        assert alive[place]["kind"] == kind and SIZES[kind][attribute] == size, (kind, attribute, size)
        alive[place][attribute] = int.from_bytes(ctypes.string_at(source, size), "little", signed=True)

    return run


def _destroy(kind: str) -> Any:
    def run(place: int) -> None:
        assert alive.pop(place)["kind"] == kind

    return run


def _key(described: int, layouts: Any) -> tuple[Any, ...]:
    """What of a product an algorithm depends on."""
    product = {name: x for name, x in alive[described].items() if name != 8}
    return tuple([tuple(sorted(map(str, each.items()))) for each in (product, *[alive[x] for x in layouts])])


def _heuristic(
    handle: int,
    described: int,
    a: int,
    b: int,
    c: int,
    d: int,
    preference: int,
    requested: int,
    results: int,
    count: int,
) -> int:
    assert handle == 1 and requested == 1
    product, wanted = alive[described], alive[preference]
    _shapes(product, alive[a], alive[b], alive[d])
    if any(refuses(product) for refuses in has_none):
        return refusal[0]
    alignment = min(wanted[k] for k in (5, 6, 7, 8))
    if product[7] & BIAS or product[7] in (BGRADA, BGRADB):
        assert product[8] % alignment == 0 and product[8], "the alignment of the vector is asked for too"
    number = len(_found) + 1
    _found[number] = _key(described, (a, b, c, d)), alignment, wanted[1]
    (ctypes.c_uint64 * 8).from_address(results)[0] = number
    ctypes.c_int32.from_address(count).value = 1
    return 0


def _shapes(product: Any, a: Any, b: Any, d: Any) -> tuple[int, int, int]:
    """How many rows and columns a product has, and over how many elements it sums; its matrices fit each other."""
    m, k = (a["columns"], a["rows"]) if product[3] else (a["rows"], a["columns"])
    inner, n = (b["columns"], b["rows"]) if product[4] else (b["rows"], b["columns"])
    assert k == inner and (m, n) == (d["rows"], d["columns"]) and product[7] in ENDINGS
    assert {x["dtype"] for x in (product, a, b, d)} == {product["dtype"]}
    assert len({x.get(5, 1) for x in (a, b, d)}) == 1
    assert product[7] not in (BGRADA, BGRADB) or d.get(5, 1) == 1
    return m, n, k


def functions(bytes_at: Any, host: Any, rounded: Any) -> dict[str, tuple[Any, str]]:
    """The functions by name, with their parameters; the driver gives memory of the device, of the host, and TF32."""

    def matrix(address: int, layout: Any, i: int) -> np.ndarray:
        size = layout["dtype"]().itemsize
        place = address + i * layout.get(6, 0) * size
        down, across, lead = layout["rows"], layout["columns"], layout["lead"]
        flat = bytes_at(place, ((across - 1) * lead + down) * size).view(layout["dtype"])
        return np.lib.stride_tricks.as_strided(flat, (down, across), (size, lead * size))

    def multiply(
        handle: int,
        described: int,
        alpha: int,
        a: int,
        a_layout: int,
        b: int,
        b_layout: int,
        beta: int,
        c: int,
        c_layout: int,
        d: int,
        d_layout: int,
        algorithm: int,
        workspace: int,
        size: int,
        stream: int,
    ) -> None:
        product, layouts = dict(alive[described]), [dict(alive[x]) for x in (a_layout, b_layout, d_layout)]
        dtype = product["dtype"]
        m, n, k = _shapes(product, *layouts)
        assert handle == 1 and (c, c_layout) == (d, d_layout) and size >= 0
        key, alignment, most = _found[(ctypes.c_uint64 * 8).from_address(algorithm)[0]]
        assert key == _key(described, (a_layout, b_layout, c_layout, d_layout)), (
            "the algorithm of another product"
        )
        assert size >= most and workspace % 16 == 0
        bytes_at(workspace, size)
        vector, width = product.get(8, 0), dtype().itemsize
        for place in (a, b, d, vector):
            assert place % alignment == 0, f"an algorithm for multiples of {alignment} was given {place:#x}"
        one, zero = (np.frombuffer(host(x, width), dtype)[0] for x in (alpha, beta))
        assert (one, zero) == (1, 0)
        ending, batches = product[7], layouts[2].get(5, 1)
        calls.append((ending, m, n, k, batches))

        def run() -> None:
            for i in range(batches):
                x, y = matrix(a, layouts[0], i), matrix(b, layouts[1], i)
                x, y = x.T if product[3] else x, y.T if product[4] else y
                if ending == BGRADA:
                    bytes_at(vector, m * width).view(dtype)[...] = x.sum(1)
                elif ending == BGRADB:
                    bytes_at(vector, n * width).view(dtype)[...] = y.sum(0)
                x, y = (rounded(x), rounded(y)) if product["compute"] == TF32 else (x, y)
                found = x @ y
                if ending & BIAS:
                    found = found + bytes_at(vector, m * width).view(dtype)[:, None]
                if ending & RELU:
                    found = np.fmax(found, 0)  # nobody says what becomes of NaN
                matrix(d, layouts[2], i)[...] = found

        fake_streams.at(stream).put(run)

    return {
        "cublasLtMatmulDescCreate": (_product, "pii"),
        "cublasLtMatmulDescDestroy": (_destroy("product"), "p"),
        "cublasLtMatmulDescSetAttribute": (_set("product"), "pipl"),
        "cublasLtMatrixLayoutCreate": (_layout, "pilll"),
        "cublasLtMatrixLayoutDestroy": (_destroy("layout"), "p"),
        "cublasLtMatrixLayoutSetAttribute": (_set("layout"), "pipl"),
        "cublasLtMatmulPreferenceCreate": (lambda target: _create("preference", target), "p"),
        "cublasLtMatmulPreferenceDestroy": (_destroy("preference"), "p"),
        "cublasLtMatmulPreferenceSetAttribute": (_set("preference"), "pipl"),
        "cublasLtMatmulAlgoGetHeuristic": (_heuristic, "pppppppipp"),
        "cublasLtMatmul": (multiply, "ppppppppppppp" + "plp"),
    }
