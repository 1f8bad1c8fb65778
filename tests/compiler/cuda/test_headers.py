"""Numbers, structures and calls agree with the toolkit's headers, where these are installed; no device is needed."""

from __future__ import annotations

import ctypes
import re

import pytest

from graphad.compiler.cuda import epilogues, plans, routines, shared, walk
from graphad.devices import faults
from tests.devices import fake_cublaslt, fake_driver
from tests.support import cuda_headers

pytestmark = pytest.mark.skipif(not cuda_headers.texts(), reason="the toolkit's headers are not installed")

NUMBERS = {
    "CUBLASLT_EPILOGUE_BIAS": epilogues.BIAS,
    "CUBLASLT_EPILOGUE_RELU": epilogues.RELU,
    "CUBLASLT_EPILOGUE_BGRADA": epilogues.BGRADA,
    "CUBLASLT_EPILOGUE_BGRADB": epilogues.BGRADB,
    "CUBLASLT_MATMUL_DESC_TRANSA": epilogues.TRANSA,
    "CUBLASLT_MATMUL_DESC_TRANSB": epilogues.TRANSB,
    "CUBLASLT_MATMUL_DESC_EPILOGUE": epilogues.EPILOGUE,
    "CUBLASLT_MATMUL_DESC_BIAS_POINTER": epilogues.BIAS_POINTER,
    "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": epilogues.BATCH_COUNT,
    "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": epilogues.STRIDED_BATCH_OFFSET,
    "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": epilogues.MAX_WORKSPACE_BYTES,
    "CUBLAS_COMPUTE_32F": epilogues.COMPUTE_32F,
    "CUBLAS_COMPUTE_32F_FAST_TF32": epilogues.COMPUTE_32F_FAST_TF32,
    "CUBLAS_COMPUTE_64F": epilogues.COMPUTE_64F,
    "CUDA_R_32F": epilogues.R_32F,
    "CUDA_R_64F": epilogues.R_64F,
    "CUBLAS_STATUS_NOT_SUPPORTED": epilogues.NOT_SUPPORTED,
    "CUBLAS_STATUS_INVALID_VALUE": epilogues.INVALID_VALUE,
    "CUBLAS_FILL_MODE_UPPER": routines.UPPER,
    "CUBLAS_OP_N": routines.PLAIN,
    "CUBLAS_OP_T": 1,  # what `products` and `epilogues` say of a transposed operand
    "CUBLAS_TF32_TENSOR_OP_MATH": plans.TF32,
    "CUBLAS_DEFAULT_MATH": fake_driver.CUBLAS_DEFAULT_MATH,
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": shared.MAX_DYNAMIC_SHARED_SIZE_BYTES,
    "cudaStreamCaptureModeThreadLocal": fake_driver.RUNTIME["streamCaptureModeThreadLocal"],
    **{
        f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{letter}_BYTES": number
        for letter, number in zip("ABCD", epilogues.MIN_ALIGNMENT_BYTES, strict=True)
    },
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_the_headers(name: str) -> None:
    assert NUMBERS[name] == cuda_headers.number(name)


# The errors after which a context is of no use, of those that a kernel of this library can cause.
LOST = (
    "ILLEGAL_ADDRESS LAUNCH_TIMEOUT ASSERT HARDWARE_STACK_ERROR ILLEGAL_INSTRUCTION MISALIGNED_ADDRESS "
    "INVALID_ADDRESS_SPACE INVALID_PC LAUNCH_FAILED"
).split()


def test_faults_are_the_headers() -> None:
    assert {cuda_headers.number(f"CUDA_ERROR_{name}") for name in LOST} == faults.FAULTS
    assert cuda_headers.number("CUDA_ERROR_LAUNCH_FAILED") == fake_driver.FAULT
    assert cuda_headers.number("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") == fake_driver.REFUSED


SIZES = {"size_t": 8, "float": 4, "int": 4, "cublasStatus_t": 4, "uint64_t": 8}


def test_the_result_of_cublaslt_has_the_headers_fields() -> None:
    (algorithm,) = cuda_headers.fields("cublasLtMatmulAlgo_t") or ()
    words = re.fullmatch(r"data\[(\d+)\]", algorithm[1])
    assert algorithm[0] == "uint64_t" and words is not None
    size = int(words.group(1)) * SIZES["uint64_t"]
    place = 0
    declared = cuda_headers.fields("cublasLtMatmulHeuristicResult_t") or []
    for (kind, name), mine in zip(declared, epilogues._Result._fields_, strict=True):
        field = getattr(epilogues._Result, mine[0])
        many = re.search(r"\[(\d+)\]", name)
        count = int(many.group(1)) if many else 1
        each = size if kind == "cublasLtMatmulAlgo_t" else SIZES[kind]
        assert (field.offset, field.size) == (place, each * count), name
        place += each * count
    assert ctypes.sizeof(epilogues._Result) == place


# What the printed walk calls by address, by its functions, in the order of their texts; Python's own have no header here.
CALLED = {
    "launch": ["cuLaunchKernel"],
    "replay": ["cuGraphLaunch"],
    "stream": ["cublasSetStream_v2", "cublasSetWorkspace_v2"],
    "product": ["cublasSgemmStridedBatched"],
    "ended": ["cublasLtMatmulDescSetAttribute", "cublasLtMatmul"],
    "answer": ["cuMemcpyDtoHAsync", "cuStreamSynchronize", "cuMemsetD32Async"],
    "branch": ["cuMemcpyDtoHAsync", "cuStreamSynchronize"],
    "loop": [
        "cuMemcpyDtoHAsync",
        "cuStreamSynchronize",
        *[""] * 3,
        "cuMemcpyDtoHAsync",
        "cuStreamSynchronize",
        "cuMemsetD32Async",
        "cuMemcpyDtoHAsync",
        "cuStreamSynchronize",
        "cuMemsetD32Async",
    ],
}
WIDTHS = {"p": 64, "l": 64, "i": 32}


@pytest.mark.parametrize("name", CALLED)
def test_the_printed_walk_passes_parameters_of_the_headers_widths(name: str) -> None:
    """A number of 32 bits where C reads 64 would have anything in its upper half."""
    body = re.search(rf"@graphad_cuda_{name}\(.*?\n\}}", walk.text(), re.DOTALL)
    assert body is not None
    calls = re.findall(r"call (?:i32|void) %\S+?\((.*?)\)", body.group(0))
    assert len(calls) == len(CALLED[name])
    for function, call in zip(CALLED[name], calls, strict=True):
        if function:
            widths = [64 if part.split()[0] in ("ptr", "i64") else 32 for part in call.split(", ")]
            assert widths == [WIDTHS[kind] for kind in cuda_headers.parameters(function) or ""], function


def test_products_of_all_dtypes_have_the_same_parameters() -> None:
    (found,) = {cuda_headers.parameters(name) for name in walk.GEMMS}
    assert found is not None


@pytest.mark.parametrize("letter", ["S", "D"])
def test_a_routine_takes_no_more_words_than_a_call_has(letter: str) -> None:
    for name in ("potrf", "getrf", "getrs"):
        declared = cuda_headers.parameters(f"cusolverDn{letter}{name}")
        assert declared and declared[0] == "p" and len(declared) <= routines.ARGUMENTS


def test_the_fake_cublaslt_has_the_headers_numbers() -> None:
    assert {fake_cublaslt.BIAS, fake_cublaslt.RELU, fake_cublaslt.BGRADA, fake_cublaslt.BGRADB} == {
        epilogues.BIAS,
        epilogues.RELU,
        epilogues.BGRADA,
        epilogues.BGRADB,
    }
    assert set(fake_cublaslt.COMPUTES) == {
        epilogues.COMPUTE_32F,
        epilogues.COMPUTE_32F_FAST_TF32,
        epilogues.COMPUTE_64F,
    }
