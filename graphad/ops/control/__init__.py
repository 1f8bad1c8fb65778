"""Ops that hold sub-graphs, and the functions that make them: cond, while_loop, scan and their relatives.

The package imports none of its modules: functions and tapes need `call`, few programs need the others.
"""
