"""Ops that hold sub-graphs, and the functions that make them: cond, while_loop, scan and their relatives.

The package imports none of its modules: functions and tapes need `call`, few programs need the others.

The modules by subject:

    calls                 call, custom
    branches              branch, cond, either, axes, in_line, predicates
    loops                 while_loop, again, scan, loop, stacks, invariant
    arrays in them        tensor_array, varied, written
    derivatives           layers, loop_layer, duals
    rows of a batch       rows, loop_rows
    for all of them       parts, operands, segments, kinds
"""
