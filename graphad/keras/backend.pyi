"""Settings of layers and losses."""

from graphad.core.floatx import clear_session as clear_session
from graphad.core.floatx import epsilon as epsilon
from graphad.core.floatx import floatx as floatx
from graphad.core.floatx import set_epsilon as set_epsilon
from graphad.core.floatx import set_floatx as set_floatx
