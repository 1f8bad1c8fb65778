"""What TensorFlow 1 and 2 have in common, and the switches that ask for TensorFlow 2."""

from graphad import AggregationMethod as AggregationMethod
from graphad import Assert as Assert
from graphad import DType as DType
from graphad import GradientTape as GradientTape
from graphad import IndexedSlices as IndexedSlices
from graphad import Module as Module
from graphad import Operation as Operation
from graphad import RaggedTensor as RaggedTensor
from graphad import RegisterGradient as RegisterGradient
from graphad import SparseTensor as SparseTensor
from graphad import SparseTensorSpec as SparseTensorSpec
from graphad import Tensor as Tensor
from graphad import TensorArray as TensorArray
from graphad import TensorShape as TensorShape
from graphad import TensorSpec as TensorSpec
from graphad import TypeSpec as TypeSpec
from graphad import UnconnectedGradients as UnconnectedGradients
from graphad import Variable as Variable
from graphad import VariableAggregation as VariableAggregation
from graphad import VariableSynchronization as VariableSynchronization
from graphad import abs as abs
from graphad import acos as acos
from graphad import acosh as acosh
from graphad import add as add
from graphad import add_n as add_n
from graphad import approx_top_k as approx_top_k
from graphad import argsort as argsort
from graphad import as_dtype as as_dtype
from graphad import asin as asin
from graphad import asinh as asinh
from graphad import atan as atan
from graphad import atan2 as atan2
from graphad import atanh as atanh
from graphad import autograph as autograph
from graphad import bfloat16 as bfloat16
from graphad import bitcast as bitcast
from graphad import bitwise as bitwise
from graphad import bool as bool
from graphad import broadcast_dynamic_shape as broadcast_dynamic_shape
from graphad import broadcast_static_shape as broadcast_static_shape
from graphad import broadcast_to as broadcast_to
from graphad import cast as cast
from graphad import clip_by_global_norm as clip_by_global_norm
from graphad import clip_by_norm as clip_by_norm
from graphad import clip_by_value as clip_by_value
from graphad import complex as complex
from graphad import complex64 as complex64
from graphad import complex128 as complex128
from graphad import concat as concat
from graphad import config as config
from graphad import constant as constant
from graphad import control_dependencies as control_dependencies
from graphad import cos as cos
from graphad import cosh as cosh
from graphad import cumsum as cumsum
from graphad import custom_gradient as custom_gradient
from graphad import device as device
from graphad import divide as divide
from graphad import double as double
from graphad import dtypes as dtypes
from graphad import dynamic_partition as dynamic_partition
from graphad import dynamic_stitch as dynamic_stitch
from graphad import einsum as einsum
from graphad import ensure_shape as ensure_shape
from graphad import equal as equal
from graphad import errors as errors
from graphad import exp as exp
from graphad import extract_volume_patches as extract_volume_patches
from graphad import eye as eye
from graphad import fftnd as fftnd
from graphad import fill as fill
from graphad import float16 as float16
from graphad import float32 as float32
from graphad import float64 as float64
from graphad import floor as floor
from graphad import foldl as foldl
from graphad import foldr as foldr
from graphad import function as function
from graphad import get_static_value as get_static_value
from graphad import grad_pass_through as grad_pass_through
from graphad import gradients as gradients
from graphad import greater as greater
from graphad import greater_equal as greater_equal
from graphad import group as group
from graphad import half as half
from graphad import hessians as hessians
from graphad import histogram_fixed_width as histogram_fixed_width
from graphad import histogram_fixed_width_bins as histogram_fixed_width_bins
from graphad import identity as identity
from graphad import identity_n as identity_n
from graphad import ifftnd as ifftnd
from graphad import init_scope as init_scope
from graphad import int8 as int8
from graphad import int16 as int16
from graphad import int32 as int32
from graphad import int64 as int64
from graphad import irfftnd as irfftnd
from graphad import is_symbolic_tensor as is_symbolic_tensor
from graphad import is_tensor as is_tensor
from graphad import keras as keras
from graphad import less as less
from graphad import less_equal as less_equal
from graphad import linspace as linspace
from graphad import logical_and as logical_and
from graphad import logical_not as logical_not
from graphad import logical_or as logical_or
from graphad import map_fn as map_fn
from graphad import matmul as matmul
from graphad import matrix_square_root as matrix_square_root
from graphad import maximum as maximum
from graphad import meshgrid as meshgrid
from graphad import minimum as minimum
from graphad import multiply as multiply
from graphad import negative as negative
from graphad import nest as nest
from graphad import newaxis as newaxis
from graphad import no_gradient as no_gradient
from graphad import no_op as no_op
from graphad import not_equal as not_equal
from graphad import numpy_function as numpy_function
from graphad import one_hot as one_hot
from graphad import ones as ones
from graphad import parallel_stack as parallel_stack
from graphad import pow as pow
from graphad import print as print
from graphad import py_function as py_function
from graphad import quantization as quantization
from graphad import random_index_shuffle as random_index_shuffle
from graphad import range as range
from graphad import rank as rank
from graphad import raw_ops as raw_ops
from graphad import realdiv as realdiv
from graphad import recompute_grad as recompute_grad
from graphad import repeat as repeat
from graphad import required_space_to_batch_paddings as required_space_to_batch_paddings
from graphad import reshape as reshape
from graphad import reverse as reverse
from graphad import rfftnd as rfftnd
from graphad import roll as roll
from graphad import round as round
from graphad import saturate_cast as saturate_cast
from graphad import scalar_mul as scalar_mul
from graphad import scan as scan
from graphad import scatter_nd as scatter_nd
from graphad import searchsorted as searchsorted
from graphad import sequence_mask as sequence_mask
from graphad import sets as sets
from graphad import shape_n as shape_n
from graphad import sigmoid as sigmoid
from graphad import sign as sign
from graphad import signal as signal
from graphad import sin as sin
from graphad import sinh as sinh
from graphad import slice as slice
from graphad import sort as sort
from graphad import space_to_batch_nd as space_to_batch_nd
from graphad import split as split
from graphad import sqrt as sqrt
from graphad import square as square
from graphad import stack as stack
from graphad import stop_gradient as stop_gradient
from graphad import strided_slice as strided_slice
from graphad import subtract as subtract
from graphad import switch_case as switch_case
from graphad import tan as tan
from graphad import tanh as tanh
from graphad import tensor_scatter_nd_add as tensor_scatter_nd_add
from graphad import tensor_scatter_nd_max as tensor_scatter_nd_max
from graphad import tensor_scatter_nd_min as tensor_scatter_nd_min
from graphad import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from graphad import tensor_scatter_nd_update as tensor_scatter_nd_update
from graphad import tensordot as tensordot
from graphad import test as test
from graphad import tile as tile
from graphad import timestamp as timestamp
from graphad import truediv as truediv
from graphad import truncatediv as truncatediv
from graphad import truncatemod as truncatemod
from graphad import type_spec_from_value as type_spec_from_value
from graphad import uint8 as uint8
from graphad import uint16 as uint16
from graphad import uint32 as uint32
from graphad import uint64 as uint64
from graphad import unique as unique
from graphad import unique_with_counts as unique_with_counts
from graphad import unravel_index as unravel_index
from graphad import unstack as unstack
from graphad import variable_creator_scope as variable_creator_scope
from graphad import vectorized_map as vectorized_map
from graphad import version as version
from graphad import zeros as zeros
from graphad.compat.v1 import debugging as debugging
from graphad.compat.v1 import image as image
from graphad.compat.v1 import initializers as initializers
from graphad.compat.v1 import linalg as linalg
from graphad.compat.v1 import logging as logging
from graphad.compat.v1 import losses as losses
from graphad.compat.v1 import math as math
from graphad.compat.v1 import nn as nn
from graphad.compat.v1 import random as random
from graphad.compat.v1 import train as train
from graphad.core.dimension import Dimension as Dimension
from graphad.core.dimension import dimension_at_index as dimension_at_index
from graphad.core.dimension import dimension_value as dimension_value
from graphad.core.enabled import enable_control_flow_v2 as enable_control_flow_v2
from graphad.core.enabled import enable_eager_execution as enable_eager_execution
from graphad.core.enabled import enable_resource_variables as enable_resource_variables
from graphad.core.enabled import enable_tensor_equality as enable_tensor_equality
from graphad.core.enabled import enable_v2_behavior as enable_v2_behavior
from graphad.core.enabled import enable_v2_tensorshape as enable_v2_tensorshape
from graphad.core.enabled import executing_eagerly_outside_functions as executing_eagerly_outside_functions
from graphad.core.enabled import global_variables_initializer as global_variables_initializer
from graphad.core.enabled import local_variables_initializer as local_variables_initializer
from graphad.core.enabled import tables_initializer as tables_initializer
from graphad.core.enabled import variables_initializer as variables_initializer
from graphad.core.logs import get_logger as get_logger
from graphad.core.names import get_current_name_scope as get_current_name_scope
from graphad.core.names import named_by_default
from graphad.core.scopes import executing_eagerly as executing_eagerly
from graphad.core.scopes import get_default_graph as get_default_graph
from graphad.core.version import GIT_VERSION as GIT_VERSION
from graphad.core.version import VERSION as VERSION
from graphad.debugging import assert_integer as assert_integer
from graphad.debugging import assert_proper_iterable as assert_proper_iterable
from graphad.debugging import assert_same_float_dtype as assert_same_float_dtype
from graphad.debugging import assert_type as assert_type
from graphad.debugging import check_numerics as check_numerics
from graphad.debugging import is_numeric_tensor as is_numeric_tensor
from graphad.eager.assigned import assign as assign
from graphad.eager.assigned import assign_add as assign_add
from graphad.eager.assigned import assign_sub as assign_sub
from graphad.errors import OpError as OpError
from graphad.image import random_crop as random_crop
from graphad.layers.older import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    UniformUnitScaling,
    VarianceScaling,
    Zeros,
)
from graphad.layers.variable_scopes import AUTO_REUSE as AUTO_REUSE
from graphad.layers.variable_scopes import GraphKeys as GraphKeys
from graphad.layers.variable_scopes import VariableScope as VariableScope
from graphad.layers.variable_scopes import get_variable as get_variable
from graphad.layers.variable_scopes import get_variable_scope as get_variable_scope
from graphad.layers.variable_scopes import variable_scope as variable_scope
from graphad.linalg import cholesky as cholesky
from graphad.linalg import cholesky_solve as cholesky_solve
from graphad.linalg import cross as cross
from graphad.linalg import global_norm as global_norm
from graphad.linalg import matrix_transpose as matrix_transpose
from graphad.linalg import qr as qr
from graphad.linalg import svd as svd
from graphad.linalg import trace as trace
from graphad.math import accumulate_n as accumulate_n
from graphad.math import angle as angle
from graphad.math import betainc as betainc
from graphad.math import ceil as ceil
from graphad.math import conj as conj
from graphad.math import cumprod as cumprod
from graphad.math import digamma as digamma
from graphad.math import erf as erf
from graphad.math import erfc as erfc
from graphad.math import expm1 as expm1
from graphad.math import floordiv as floordiv
from graphad.math import floormod as floormod
from graphad.math import igamma as igamma
from graphad.math import igammac as igammac
from graphad.math import imag as imag
from graphad.math import invert_permutation as invert_permutation
from graphad.math import is_finite as is_finite
from graphad.math import is_inf as is_inf
from graphad.math import is_nan as is_nan
from graphad.math import is_non_decreasing as is_non_decreasing
from graphad.math import is_strictly_increasing as is_strictly_increasing
from graphad.math import lbeta as lbeta
from graphad.math import lgamma as lgamma
from graphad.math import log as log
from graphad.math import log1p as log1p
from graphad.math import log_sigmoid as log_sigmoid
from graphad.math import logical_xor as logical_xor
from graphad.math import mod as mod
from graphad.math import polygamma as polygamma
from graphad.math import real as real
from graphad.math import reciprocal as reciprocal
from graphad.math import rint as rint
from graphad.math import rsqrt as rsqrt
from graphad.math import segment_max as segment_max
from graphad.math import segment_mean as segment_mean
from graphad.math import segment_min as segment_min
from graphad.math import segment_prod as segment_prod
from graphad.math import segment_sum as segment_sum
from graphad.math import squared_difference as squared_difference
from graphad.math import unsorted_segment_max as unsorted_segment_max
from graphad.math import unsorted_segment_mean as unsorted_segment_mean
from graphad.math import unsorted_segment_min as unsorted_segment_min
from graphad.math import unsorted_segment_prod as unsorted_segment_prod
from graphad.math import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from graphad.math import unsorted_segment_sum as unsorted_segment_sum
from graphad.math import zeta as zeta
from graphad.ops.array.placeholder import placeholder_with_default as placeholder_with_default
from graphad.ops.older import Print as Print
from graphad.ops.older import arg_max as arg_max
from graphad.ops.older import arg_min as arg_min
from graphad.ops.older import argmax as argmax
from graphad.ops.older import argmin as argmin
from graphad.ops.older import case as case
from graphad.ops.older import cond as cond
from graphad.ops.older import div as div
from graphad.ops.older import expand_dims as expand_dims
from graphad.ops.older import reduce_all as reduce_all
from graphad.ops.older import reduce_any as reduce_any
from graphad.ops.older import reduce_logsumexp as reduce_logsumexp
from graphad.ops.older import reduce_max as reduce_max
from graphad.ops.older import reduce_mean as reduce_mean
from graphad.ops.older import reduce_min as reduce_min
from graphad.ops.older import reduce_prod as reduce_prod
from graphad.ops.older import reduce_sum as reduce_sum
from graphad.ops.older import squeeze as squeeze
from graphad.ops.older import to_bfloat16 as to_bfloat16
from graphad.ops.older import to_complex64 as to_complex64
from graphad.ops.older import to_complex128 as to_complex128
from graphad.ops.older import to_double as to_double
from graphad.ops.older import to_float as to_float
from graphad.ops.older import to_int32 as to_int32
from graphad.ops.older import to_int64 as to_int64
from graphad.ops.older import where as where
from graphad.ops.older import while_loop as while_loop
from graphad.ops.older_arguments import assert_equal as assert_equal
from graphad.ops.older_arguments import assert_greater as assert_greater
from graphad.ops.older_arguments import assert_greater_equal as assert_greater_equal
from graphad.ops.older_arguments import assert_less as assert_less
from graphad.ops.older_arguments import assert_less_equal as assert_less_equal
from graphad.ops.older_arguments import assert_near as assert_near
from graphad.ops.older_arguments import assert_negative as assert_negative
from graphad.ops.older_arguments import assert_non_negative as assert_non_negative
from graphad.ops.older_arguments import assert_non_positive as assert_non_positive
from graphad.ops.older_arguments import assert_none_equal as assert_none_equal
from graphad.ops.older_arguments import assert_positive as assert_positive
from graphad.ops.older_arguments import assert_rank as assert_rank
from graphad.ops.older_arguments import assert_rank_at_least as assert_rank_at_least
from graphad.ops.older_arguments import assert_rank_in as assert_rank_in
from graphad.ops.older_arguments import assert_scalar as assert_scalar
from graphad.ops.older_arguments import batch_gather as batch_gather
from graphad.ops.older_arguments import bincount as bincount
from graphad.ops.older_arguments import boolean_mask as boolean_mask
from graphad.ops.older_arguments import confusion_matrix as confusion_matrix
from graphad.ops.older_arguments import convert_to_tensor as convert_to_tensor
from graphad.ops.older_arguments import (
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
)
from graphad.ops.older_arguments import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from graphad.ops.older_arguments import count_nonzero as count_nonzero
from graphad.ops.older_arguments import gather as gather
from graphad.ops.older_arguments import gather_nd as gather_nd
from graphad.ops.older_arguments import norm as norm
from graphad.ops.older_arguments import ones_like as ones_like
from graphad.ops.older_arguments import pad as pad
from graphad.ops.older_arguments import reverse_sequence as reverse_sequence
from graphad.ops.older_arguments import shape as shape
from graphad.ops.older_arguments import size as size
from graphad.ops.older_arguments import transpose as transpose
from graphad.ops.older_arguments import zeros_like as zeros_like
from graphad.ops.older_names import diag as diag
from graphad.ops.older_names import diag_part as diag_part
from graphad.ops.older_names import div_no_nan as div_no_nan
from graphad.ops.older_names import floor_div as floor_div
from graphad.ops.older_names import lin_space as lin_space
from graphad.ops.older_names import matrix_band_part as matrix_band_part
from graphad.ops.older_names import matrix_determinant as matrix_determinant
from graphad.ops.older_names import matrix_diag as matrix_diag
from graphad.ops.older_names import matrix_diag_part as matrix_diag_part
from graphad.ops.older_names import matrix_inverse as matrix_inverse
from graphad.ops.older_names import matrix_set_diag as matrix_set_diag
from graphad.ops.older_names import matrix_solve as matrix_solve
from graphad.ops.older_names import matrix_solve_ls as matrix_solve_ls
from graphad.ops.older_names import matrix_triangular_solve as matrix_triangular_solve
from graphad.ops.older_names import random_gamma as random_gamma
from graphad.ops.older_names import random_normal as random_normal
from graphad.ops.older_names import random_shuffle as random_shuffle
from graphad.ops.older_names import random_uniform as random_uniform
from graphad.ops.older_names import reverse_v2 as reverse_v2
from graphad.ops.older_names import self_adjoint_eig as self_adjoint_eig
from graphad.ops.older_names import self_adjoint_eigvals as self_adjoint_eigvals
from graphad.ops.older_names import sparse_fill_empty_rows as sparse_fill_empty_rows
from graphad.ops.older_names import sparse_mask as sparse_mask
from graphad.ops.older_names import sparse_maximum as sparse_maximum
from graphad.ops.older_names import sparse_minimum as sparse_minimum
from graphad.ops.older_names import sparse_reorder as sparse_reorder
from graphad.ops.older_names import sparse_reset_shape as sparse_reset_shape
from graphad.ops.older_names import sparse_reshape as sparse_reshape
from graphad.ops.older_names import sparse_retain as sparse_retain
from graphad.ops.older_names import sparse_slice as sparse_slice
from graphad.ops.older_names import sparse_softmax as sparse_softmax
from graphad.ops.older_names import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from graphad.ops.older_names import sparse_tensor_to_dense as sparse_tensor_to_dense
from graphad.ops.older_names import sparse_to_indicator as sparse_to_indicator
from graphad.ops.older_names import sparse_transpose as sparse_transpose
from graphad.ops.older_names import tensor_scatter_add as tensor_scatter_add
from graphad.ops.older_names import tensor_scatter_sub as tensor_scatter_sub
from graphad.ops.older_names import tensor_scatter_update as tensor_scatter_update
from graphad.ops.older_names import where_v2 as where_v2
from graphad.ops.older_nn import depth_to_space as depth_to_space
from graphad.ops.older_nn import space_to_depth as space_to_depth
from graphad.ops.older_state import clip_by_average_norm as clip_by_average_norm
from graphad.ops.older_state import multinomial as multinomial
from graphad.ops.older_state import random_poisson as random_poisson
from graphad.ops.older_state import scatter_add as scatter_add
from graphad.ops.older_state import scatter_div as scatter_div
from graphad.ops.older_state import scatter_max as scatter_max
from graphad.ops.older_state import scatter_min as scatter_min
from graphad.ops.older_state import scatter_mul as scatter_mul
from graphad.ops.older_state import scatter_nd_add as scatter_nd_add
from graphad.ops.older_state import scatter_nd_sub as scatter_nd_sub
from graphad.ops.older_state import scatter_nd_update as scatter_nd_update
from graphad.ops.older_state import scatter_sub as scatter_sub
from graphad.ops.older_state import scatter_update as scatter_update
from graphad.ops.older_state import sparse_to_dense as sparse_to_dense
from graphad.ops.older_state import tuple as tuple
from graphad.ops.older_tensors import batch_to_space as batch_to_space
from graphad.ops.older_tensors import extract_image_patches as extract_image_patches
from graphad.ops.older_tensors import setdiff1d as setdiff1d
from graphad.ops.older_tensors import space_to_batch as space_to_batch
from graphad.ops.older_tensors import sparse_add as sparse_add
from graphad.ops.older_tensors import sparse_concat as sparse_concat
from graphad.ops.older_tensors import sparse_reduce_max as sparse_reduce_max
from graphad.ops.older_tensors import sparse_reduce_max_sparse as sparse_reduce_max_sparse
from graphad.ops.older_tensors import sparse_reduce_sum as sparse_reduce_sum
from graphad.ops.older_tensors import sparse_reduce_sum_sparse as sparse_reduce_sum_sparse
from graphad.ops.random.generator import set_seed
from graphad.ops.sparse.tensor import SparseTensorValue as SparseTensorValue
from graphad.optimizers.older import reset_default_graph as reset_default_graph
from graphad.quantization import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from graphad.quantization import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from graphad.quantization import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from graphad.quantization import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from graphad.quantization import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from graphad.quantization import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from graphad.random import truncated_normal as truncated_normal
from graphad.signal import fft as fft
from graphad.signal import fft2d as fft2d
from graphad.signal import fft3d as fft3d
from graphad.signal import ifft as ifft
from graphad.signal import ifft2d as ifft2d
from graphad.signal import ifft3d as ifft3d

set_random_seed = set_seed

__git_version__: str
__version__: str
constant_initializer = Constant
glorot_normal_initializer = GlorotNormal
glorot_uniform_initializer = GlorotUniform
ones_initializer = Ones
orthogonal_initializer = Orthogonal
random_normal_initializer = RandomNormal
random_uniform_initializer = RandomUniform
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
zeros_initializer = Zeros
name_scope = named_by_default
py_func = numpy_function
NoGradient = no_gradient
NotDifferentiable = no_gradient
