"""What of the neural networks of TensorFlow 1 has the same meaning in TensorFlow 2."""

from graphad.nn import all_candidate_sampler as all_candidate_sampler
from graphad.nn import approx_max_k as approx_max_k
from graphad.nn import approx_min_k as approx_min_k
from graphad.nn import atrous_conv2d as atrous_conv2d
from graphad.nn import atrous_conv2d_transpose as atrous_conv2d_transpose
from graphad.nn import avg_pool1d as avg_pool1d
from graphad.nn import avg_pool3d as avg_pool3d
from graphad.nn import batch_normalization as batch_normalization
from graphad.nn import bias_add as bias_add
from graphad.nn import collapse_repeated as collapse_repeated
from graphad.nn import compute_accidental_hits as compute_accidental_hits
from graphad.nn import compute_average_loss as compute_average_loss
from graphad.nn import conv1d_transpose as conv1d_transpose
from graphad.nn import conv_transpose as conv_transpose
from graphad.nn import ctc_greedy_decoder as ctc_greedy_decoder
from graphad.nn import ctc_unique_labels as ctc_unique_labels
from graphad.nn import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from graphad.nn import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from graphad.nn import elu as elu
from graphad.nn import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from graphad.nn import l2_loss as l2_loss
from graphad.nn import leaky_relu as leaky_relu
from graphad.nn import local_response_normalization as local_response_normalization
from graphad.nn import log_poisson_loss as log_poisson_loss
from graphad.nn import lrn as lrn
from graphad.nn import max_pool1d as max_pool1d
from graphad.nn import max_pool2d as max_pool2d
from graphad.nn import max_pool3d as max_pool3d
from graphad.nn import normalize_moments as normalize_moments
from graphad.nn import relu as relu
from graphad.nn import relu6 as relu6
from graphad.nn import scale_regularization_loss as scale_regularization_loss
from graphad.nn import selu as selu
from graphad.nn import sigmoid as sigmoid
from graphad.nn import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from graphad.nn import silu as silu
from graphad.nn import softplus as softplus
from graphad.nn import softsign as softsign
from graphad.nn import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from graphad.nn import swish as swish
from graphad.nn import tanh as tanh
from graphad.nn import top_k as top_k
from graphad.nn import with_space_to_batch as with_space_to_batch
from graphad.nn import zero_fraction as zero_fraction
from graphad.ops.older_arguments import dropout as dropout
from graphad.ops.older_arguments import fused_batch_norm as fused_batch_norm
from graphad.ops.older_arguments import in_top_k as in_top_k
from graphad.ops.older_arguments import l2_normalize as l2_normalize
from graphad.ops.older_arguments import log_softmax as log_softmax
from graphad.ops.older_arguments import moments as moments
from graphad.ops.older_arguments import softmax as softmax
from graphad.ops.older_arguments import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from graphad.ops.older_arguments import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
