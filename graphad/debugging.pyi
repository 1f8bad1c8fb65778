"""Checks that run with the program: `graphad.debugging.assert_equal` and its relatives, and `check_numerics`."""

from graphad.ops.state.checks import assert_all_finite as assert_all_finite
from graphad.ops.state.checks import assert_equal as assert_equal
from graphad.ops.state.checks import assert_greater as assert_greater
from graphad.ops.state.checks import assert_greater_equal as assert_greater_equal
from graphad.ops.state.checks import assert_integer as assert_integer
from graphad.ops.state.checks import assert_less as assert_less
from graphad.ops.state.checks import assert_less_equal as assert_less_equal
from graphad.ops.state.checks import assert_near as assert_near
from graphad.ops.state.checks import assert_negative as assert_negative
from graphad.ops.state.checks import assert_non_negative as assert_non_negative
from graphad.ops.state.checks import assert_non_positive as assert_non_positive
from graphad.ops.state.checks import assert_none_equal as assert_none_equal
from graphad.ops.state.checks import assert_positive as assert_positive
from graphad.ops.state.checks import assert_rank as assert_rank
from graphad.ops.state.checks import assert_rank_at_least as assert_rank_at_least
from graphad.ops.state.checks import assert_scalar as assert_scalar
from graphad.ops.state.checks import assert_shapes as assert_shapes
from graphad.ops.state.checks import assert_type as assert_type
from graphad.ops.state.checks import check_numerics as check_numerics
from graphad.ops.state.checks import is_numeric_tensor as is_numeric_tensor
from graphad.ops.state.effects import Assert as Assert
from graphad.tools.settings import disable_traceback_filtering as disable_traceback_filtering
from graphad.tools.settings import enable_traceback_filtering as enable_traceback_filtering
from graphad.tools.settings import is_traceback_filtering_enabled as is_traceback_filtering_enabled
