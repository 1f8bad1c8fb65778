"""Settings of this process."""

from graphad.tools.settings import empty_pool as empty_pool
from graphad.tools.settings import functions_run_eagerly as functions_run_eagerly
from graphad.tools.settings import jacobian_budget as jacobian_budget
from graphad.tools.settings import jit as jit
from graphad.tools.settings import pool_budget as pool_budget
from graphad.tools.settings import relaxed_arithmetic as relaxed_arithmetic
from graphad.tools.settings import run_functions_eagerly as run_functions_eagerly
from graphad.tools.settings import set_jacobian_budget as set_jacobian_budget
from graphad.tools.settings import set_jit as set_jit
from graphad.tools.settings import set_pool_budget as set_pool_budget
from graphad.tools.settings import set_relaxed_arithmetic as set_relaxed_arithmetic
