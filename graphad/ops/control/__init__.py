"""Ops that hold sub-graphs, and the functions that make them: cond, while_loop, scan and their relatives."""

from graphad.ops.control.branch import case, cond, switch_case
from graphad.ops.control.scan import foldl, foldr, map_fn, scan
from graphad.ops.control.while_loop import while_loop

__all__ = ["case", "cond", "foldl", "foldr", "map_fn", "scan", "switch_case", "while_loop"]
