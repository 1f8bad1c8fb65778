"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling."""

from graphad.ops.linalg import l2_normalize as l2_normalize
from graphad.ops.math import log_sigmoid as log_sigmoid
from graphad.ops.math import sigmoid as sigmoid
from graphad.ops.math import softplus as softplus
from graphad.ops.math import softsign as softsign
from graphad.ops.math import tanh as tanh
from graphad.ops.nn.activation import elu as elu
from graphad.ops.nn.activation import gelu as gelu
from graphad.ops.nn.activation import leaky_relu as leaky_relu
from graphad.ops.nn.activation import relu as relu
from graphad.ops.nn.activation import relu6 as relu6
from graphad.ops.nn.activation import selu as selu
from graphad.ops.nn.activation import silu as silu
from graphad.ops.nn.blocks import space_to_batch as space_to_batch
from graphad.ops.nn.blocks import with_space_to_batch as with_space_to_batch
from graphad.ops.nn.composed import compute_average_loss as compute_average_loss
from graphad.ops.nn.composed import crelu as crelu
from graphad.ops.nn.composed import depth_to_space as depth_to_space
from graphad.ops.nn.composed import in_top_k as in_top_k
from graphad.ops.nn.composed import local_response_normalization as local_response_normalization
from graphad.ops.nn.composed import log_poisson_loss as log_poisson_loss
from graphad.ops.nn.composed import scale_regularization_loss as scale_regularization_loss
from graphad.ops.nn.composed import space_to_depth as space_to_depth
from graphad.ops.nn.composed import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from graphad.ops.nn.composed import weighted_moments as weighted_moments
from graphad.ops.nn.convolutions import atrous_conv2d as atrous_conv2d
from graphad.ops.nn.convolutions import atrous_conv2d_transpose as atrous_conv2d_transpose
from graphad.ops.nn.convolutions import conv1d as conv1d
from graphad.ops.nn.convolutions import conv1d_transpose as conv1d_transpose
from graphad.ops.nn.convolutions import conv2d as conv2d
from graphad.ops.nn.convolutions import conv2d_transpose as conv2d_transpose
from graphad.ops.nn.convolutions import conv3d as conv3d
from graphad.ops.nn.convolutions import conv3d_transpose as conv3d_transpose
from graphad.ops.nn.convolutions import conv_transpose as conv_transpose
from graphad.ops.nn.convolutions import convolution as convolution
from graphad.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from graphad.ops.nn.cross_entropy import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from graphad.ops.nn.cross_entropy import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from graphad.ops.nn.ctc import collapse_repeated as collapse_repeated
from graphad.ops.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from graphad.ops.nn.ctc import ctc_loss as ctc_loss
from graphad.ops.nn.ctc_beams import ctc_beam_search_decoder as ctc_beam_search_decoder
from graphad.ops.nn.ctc_beams import ctc_unique_labels as ctc_unique_labels
from graphad.ops.nn.depthwise import depthwise_conv2d as depthwise_conv2d
from graphad.ops.nn.depthwise import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from graphad.ops.nn.depthwise import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from graphad.ops.nn.depthwise import separable_conv2d as separable_conv2d
from graphad.ops.nn.embeddings import approx_max_k as approx_max_k
from graphad.ops.nn.embeddings import approx_min_k as approx_min_k
from graphad.ops.nn.embeddings import embedding_lookup_sparse as embedding_lookup_sparse
from graphad.ops.nn.embeddings import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from graphad.ops.nn.fractional import fractional_avg_pool as fractional_avg_pool
from graphad.ops.nn.fractional import fractional_max_pool as fractional_max_pool
from graphad.ops.nn.isotonic import isotonic_regression as isotonic_regression
from graphad.ops.nn.morphology import dilation2d as dilation2d
from graphad.ops.nn.morphology import erosion2d as erosion2d
from graphad.ops.nn.normalize import batch_normalization as batch_normalization
from graphad.ops.nn.normalize import bias_add as bias_add
from graphad.ops.nn.normalize import dropout as dropout
from graphad.ops.nn.normalize import embedding_lookup as embedding_lookup
from graphad.ops.nn.normalize import l2_loss as l2_loss
from graphad.ops.nn.normalize import moments as moments
from graphad.ops.nn.own_moments import group_normalization as group_normalization
from graphad.ops.nn.own_moments import instance_normalization as instance_normalization
from graphad.ops.nn.own_moments import layer_normalization as layer_normalization
from graphad.ops.nn.pools import avg_pool as avg_pool
from graphad.ops.nn.pools import avg_pool1d as avg_pool1d
from graphad.ops.nn.pools import avg_pool2d as avg_pool2d
from graphad.ops.nn.pools import avg_pool3d as avg_pool3d
from graphad.ops.nn.pools import max_pool as max_pool
from graphad.ops.nn.pools import max_pool1d as max_pool1d
from graphad.ops.nn.pools import max_pool2d as max_pool2d
from graphad.ops.nn.pools import max_pool3d as max_pool3d
from graphad.ops.nn.pools import max_pool_with_argmax as max_pool_with_argmax
from graphad.ops.nn.pools import pool as pool
from graphad.ops.nn.sampled import nce_loss as nce_loss
from graphad.ops.nn.sampled import sampled_softmax_loss as sampled_softmax_loss
from graphad.ops.nn.softmaxes import log_softmax as log_softmax
from graphad.ops.nn.softmaxes import softmax as softmax
from graphad.ops.nn.statistics import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
)
from graphad.ops.nn.statistics import normalize_moments as normalize_moments
from graphad.ops.nn.statistics import sufficient_statistics as sufficient_statistics
from graphad.ops.random.candidates import all_candidate_sampler as all_candidate_sampler
from graphad.ops.random.candidates import compute_accidental_hits as compute_accidental_hits
from graphad.ops.random.candidates import (
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
)

lrn = local_response_normalization
swish = silu
