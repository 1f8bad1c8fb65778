"""TensorFlow's ops of several diagonals under the names of its kernels; version 2 pads shorter ones at their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.ops import linalg

_ENDS = "LEFT_LEFT"

DIAGONALS: dict[str, Callable[..., Any]] = {
    "MatrixDiagPartV2": lambda input, k, padding_value: linalg.diag_part(
        input, k=k, padding_value=padding_value, align=_ENDS
    ),
    "MatrixDiagPartV3": lambda input, k, padding_value, align="RIGHT_LEFT": linalg.diag_part(
        input, k=k, padding_value=padding_value, align=align
    ),
    "MatrixDiagV2": lambda diagonal, k, num_rows, num_cols, padding_value: linalg.diag(
        diagonal, k=k, num_rows=num_rows, num_cols=num_cols, padding_value=padding_value, align=_ENDS
    ),
    "MatrixDiagV3": lambda diagonal, k, num_rows, num_cols, padding_value, align="RIGHT_LEFT": linalg.diag(
        diagonal, k=k, num_rows=num_rows, num_cols=num_cols, padding_value=padding_value, align=align
    ),
    "MatrixSetDiagV2": lambda input, diagonal, k: linalg.set_diag(input, diagonal, k=k, align=_ENDS),
    "MatrixSetDiagV3": lambda input, diagonal, k, align="RIGHT_LEFT": linalg.set_diag(
        input, diagonal, k=k, align=align
    ),
}
