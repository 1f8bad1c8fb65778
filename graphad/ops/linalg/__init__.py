"""Matrix products, Einstein sums, linear systems, factorisations, norms."""

from typing import TYPE_CHECKING

from graphad.core.late import late_names
from graphad.ops.array.create import eye
from graphad.ops.array.transpose import matrix_transpose
from graphad.ops.linalg.matmul import matmul, matvec

if TYPE_CHECKING:
    from graphad.ops.linalg.contraction import einsum, tensordot
    from graphad.ops.linalg.diagonal import band_part, trace
    from graphad.ops.linalg.diagonals import diag, diag_part, set_diag
    from graphad.ops.linalg.eigen import adjoint, eigh, eigvalsh, svd
    from graphad.ops.linalg.norms import (
        clip_by_global_norm,
        clip_by_norm,
        cross,
        global_norm,
        l2_normalize,
        norm,
    )
    from graphad.ops.linalg.systems import (
        cholesky,
        cholesky_solve,
        det,
        inv,
        logdet,
        slogdet,
        solve,
        triangular_solve,
    )
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "graphad.ops.linalg.contraction": "einsum tensordot",
            "graphad.ops.linalg.diagonal": "band_part trace",
            "graphad.ops.linalg.diagonals": "diag diag_part set_diag",
            "graphad.ops.linalg.eigen": "adjoint eigh eigvalsh svd",
            "graphad.ops.linalg.norms": "clip_by_global_norm clip_by_norm cross global_norm l2_normalize norm",
            "graphad.ops.linalg.systems": "cholesky cholesky_solve det inv logdet slogdet solve triangular_solve",
        },
    )

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "clip_by_global_norm",
    "clip_by_norm",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensordot",
    "trace",
    "triangular_solve",
]
