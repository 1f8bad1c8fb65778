"""Derivatives: tapes, gradient graphs, forward mode, Jacobians, custom gradients.

The modules by subject:

    tapes                 tape, recorder, backward, ones, held, unconnected, notes,
                          explain_none
    graphs                reverse, transforms, of_graph, closing
    forward mode          forward
    Jacobians             jacobian, jacobian_plan, jacobian_rows, independence
    rules of users        custom, recompute, host, registry, rules_in_process, function_key
"""
