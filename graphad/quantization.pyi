"""Rounding to the values of integers of few bits."""

from graphad.ops.math.fake_quantisation import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from graphad.ops.math.fake_quantisation import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from graphad.ops.math.fake_quantisation import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from graphad.ops.math.fake_quantisation import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from graphad.ops.math.fake_quantisation import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from graphad.ops.math.fake_quantisation import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
