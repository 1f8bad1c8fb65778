"""Functions that only had another name in TensorFlow 1; `compat.v1` lists them under that name."""

from __future__ import annotations

from graphad.ops import array, linalg, math, random, sparse

lin_space = array.linspace
reverse_v2 = array.reverse
tensor_scatter_add = array.tensor_scatter_nd_add
tensor_scatter_sub = array.tensor_scatter_nd_sub
tensor_scatter_update = array.tensor_scatter_nd_update
diag = linalg.tensor_diag
diag_part = linalg.tensor_diag_part
matrix_band_part = linalg.band_part
matrix_determinant = linalg.det
matrix_diag = linalg.diag
matrix_diag_part = linalg.diag_part
matrix_inverse = linalg.inv
matrix_set_diag = linalg.set_diag
matrix_solve = linalg.solve
matrix_solve_ls = linalg.lstsq
matrix_triangular_solve = linalg.triangular_solve
self_adjoint_eig = linalg.eigh
self_adjoint_eigvals = linalg.eigvalsh
div_no_nan = math.divide_no_nan
floor_div = math.floordiv
where_v2 = math.where
random_gamma = random.gamma
random_normal = random.normal
random_shuffle = random.shuffle
random_uniform = random.uniform
sparse_fill_empty_rows = sparse.fill_empty_rows
sparse_mask = sparse.mask
sparse_maximum = sparse.maximum
sparse_minimum = sparse.minimum
sparse_reorder = sparse.reorder
sparse_reset_shape = sparse.reset_shape
sparse_reshape = sparse.reshape
sparse_retain = sparse.retain
sparse_slice = sparse.slice
sparse_softmax = sparse.softmax
sparse_tensor_dense_matmul = sparse.sparse_dense_matmul
sparse_tensor_to_dense = sparse.to_dense
sparse_to_indicator = sparse.to_indicator
sparse_transpose = sparse.transpose
