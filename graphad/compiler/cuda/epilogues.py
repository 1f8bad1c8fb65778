"""Products with an ending, as calls of cuBLASLt: a vector added to each row, the larger one of that and 0, sums of an operand.

cuBLASLt wants descriptions of a product and of its matrices, and the algorithm that it is to use. The algorithms are asked for
once for each product: for addresses that are multiples of 16 and for others, in full precision and in TF32. If there is none of
one kind, there is no such product. Like cuBLAS it is column-major, so the operands are exchanged, and the rows of the result are
its columns: the vector that it adds to each of them is the one that is wanted.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from graphad.compiler.backend import Walk
from graphad.compiler.cuda import products
from graphad.compiler.endings import SUM_A, Ending
from graphad.core import forks
from graphad.devices.library import address_of, library
from graphad.devices.streams import WORKSPACE_BYTES, on

A, B, C, VECTOR, KIND, WIDE, M, N, K, TURN_A, TURN_B, LEAD_A, LEAD_B, LEAD_C = range(14)
COUNT, STEP_A, STEP_B, STEP_C = range(14, 18)  # of one batch axis
PLACES = (A, B, C, VECTOR)
ALIGNED = 16  # bytes
# The names of the header, `cublasLt.h` and `cublas_api.h`.
BIAS, RELU, BGRADA, BGRADB = 4, 2, 256, 512
TRANSA, TRANSB, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
BATCH_COUNT, STRIDED_BATCH_OFFSET = 5, 6
MAX_WORKSPACE_BYTES, MIN_ALIGNMENT_BYTES = 1, (5, 6, 7, 8)
COMPUTE_32F, COMPUTE_32F_FAST_TF32, COMPUTE_64F = 68, 77, 70
R_32F, R_64F = 0, 1
NOT_SUPPORTED, INVALID_VALUE = (
    15,
    7,
)  # of which the second is also said of what is larger than the library takes


def words_of(dtype: str, a: Walk, b: Walk, c: Walk, ending: Ending) -> list[int] | None:
    """The words of a product with an ending, None if it is not one call."""
    found = products.words_of(dtype, a, b, c)
    if (
        found is None
        or found[products.WIDE] > 1
        or found[products.AXES] != 1
        or not all(found[products.M : products.TURN_A])
    ):
        return None
    if ending.sums:
        kind = BGRADB if ending.sums == SUM_A else BGRADA
    else:
        kind = (BIAS if ending.vector is not None else 0) | (RELU if ending.is_limited else 0)
    words = [0, 0, 0, 0, kind, *found[products.WIDE : products.AXES], *found[products.AXES + 1 :]]
    return None if ending.sums and words[COUNT] != 1 else words


class _Result(ctypes.Structure):
    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int32),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int32 * 4),
    ]


_KINDS = {"p": ctypes.c_void_p, "i": ctypes.c_int32, "l": ctypes.c_int64}
# How the header declares what is called from here: pointers, numbers of 32 bits and of 64.
DECLARED = {
    "cublasLtMatmulDescCreate": "pii",
    "cublasLtMatmulDescDestroy": "p",
    "cublasLtMatmulDescSetAttribute": "pipl",
    "cublasLtMatrixLayoutCreate": "pilll",
    "cublasLtMatrixLayoutDestroy": "p",
    "cublasLtMatrixLayoutSetAttribute": "pipl",
    "cublasLtMatmulPreferenceCreate": "p",
    "cublasLtMatmulPreferenceDestroy": "p",
    "cublasLtMatmulPreferenceSetAttribute": "pipl",
    "cublasLtMatmulAlgoGetHeuristic": "pppppppipp",
}


@functools.cache
def _function(name: str, address: int) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[_KINDS[kind] for kind in DECLARED[name]])(address)


def _named(name: str) -> Any:
    return _function(name, address_of(name))


def _call(name: str, *given: Any) -> None:
    status = _named(name)(*given)
    if status:
        library().cuda.cublas.check_status(status)


class _Described:
    """Something of cuBLASLt's with attributes; it is destroyed when nobody refers to it."""

    def __init__(self, what: str, *given: Any) -> None:
        self._what, held = what, ctypes.c_void_p()
        self.place, self._destroy = 0, _named(f"cublasLt{what}Destroy")
        _call(f"cublasLt{what}Create", ctypes.byref(held), *given)
        self.place = held.value or 0

    def set(self, attribute: int, value: Any) -> None:
        _call(
            f"cublasLt{self._what}SetAttribute",
            self.place,
            attribute,
            ctypes.byref(value),
            ctypes.sizeof(value),
        )

    def __del__(self) -> None:
        if self.place:
            with suppress(Exception):  # at the end of the process the library may be gone
                self._destroy(self.place)


class Description:
    """The description of a product for cuBLASLt.

    Attributes:
      products: The product in full precision, and in TF32.
      layouts: Of its first operand, its second and its result, as it counts them.
    """

    def __init__(self, words: Sequence[int]) -> None:
        m, n, k = words[M:TURN_A]
        kind = R_64F if words[WIDE] else R_32F
        computes = [COMPUTE_64F] * 2 if words[WIDE] else [COMPUTE_32F, COMPUTE_32F_FAST_TF32]
        self.products = [_Described("MatmulDesc", compute, kind) for compute in computes]
        for product in self.products:
            product.set(TRANSA, ctypes.c_int32(words[TURN_B]))
            product.set(TRANSB, ctypes.c_int32(words[TURN_A]))
            product.set(EPILOGUE, ctypes.c_uint32(words[KIND]))
        shapes = [(k, n) if words[TURN_B] else (n, k), (m, k) if words[TURN_A] else (k, m), (n, m)]
        leads = words[LEAD_B], words[LEAD_A], words[LEAD_C]
        steps = words[STEP_B], words[STEP_A], words[STEP_C]
        self.layouts = []
        for shape, lead, step in zip(shapes, leads, steps, strict=True):
            layout = _Described("MatrixLayout", kind, *shape, lead)
            layout.set(BATCH_COUNT, ctypes.c_int32(words[COUNT]))
            layout.set(STRIDED_BATCH_OFFSET, ctypes.c_int64(step))
            self.layouts.append(layout)


_lock = forks.lock()


def algorithms(index: int, words: Sequence[int]) -> Sequence[Any] | None:
    """The algorithms of a product on a device: in full precision with aligned addresses and with others, then in TF32."""
    with _lock:
        return _algorithms(index, (0, 0, 0, 0, *words[KIND:]), address_of("cublasLtMatmul"))


@functools.lru_cache(maxsize=1024)
def _algorithms(index: int, words: tuple[int, ...], matmul: int) -> Sequence[Any] | None:
    described, preference = Description(words), _Described("MatmulPreference")
    preference.set(MAX_WORKSPACE_BYTES, ctypes.c_size_t(WORKSPACE_BYTES))
    found = []
    with on(index):
        handle = library().cuda.device.get_cublas_handle()
        for product in described.products:
            for alignment in (ALIGNED, 8 if words[WIDE] else 4):
                for attribute in MIN_ALIGNMENT_BYTES:
                    preference.set(attribute, ctypes.c_uint32(alignment))
                # The library takes the alignment of the bias from its address.
                product.set(BIAS_POINTER, ctypes.c_void_p(alignment))
                a, b, c = (layout.place for layout in described.layouts)
                result, count = _Result(), ctypes.c_int32()
                name = "cublasLtMatmulAlgoGetHeuristic"
                asked = handle, product.place, a, b, c, c, preference.place, 1
                status = _function(name, address_of(name))(*asked, ctypes.byref(result), ctypes.byref(count))
                if status in (NOT_SUPPORTED, INVALID_VALUE) or (
                    not status and (count.value < 1 or result.state)
                ):
                    return None
                if status:
                    library().cuda.cublas.check_status(status)
                kept = (ctypes.c_uint64 * 8)(*result.algorithm)
                found.append(kept)
    return found
