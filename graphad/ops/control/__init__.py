"""Ops that hold sub-graphs: call, cond, while_loop, scan."""
