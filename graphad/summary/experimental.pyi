"""The step of summaries, and scopes of their tags."""

from graphad.tools.unrecorded import get_step as get_step
from graphad.tools.unrecorded import set_step as set_step
from graphad.tools.unrecorded import summary_scope as summary_scope
from graphad.tools.unrecorded import write_raw_pb as write_raw_pb
