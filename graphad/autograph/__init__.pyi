"""Control flow from Python source: `if`, `while` and `for` on tensors become `cond` and `loop` while a function is traced."""

from graphad.autograph import experimental as experimental
from graphad.autograph.inspection import to_code as to_code
from graphad.autograph.inspection import to_graph as to_graph
from graphad.autograph.verbosity import set_verbosity as set_verbosity
from graphad.autograph.verbosity import trace as trace
