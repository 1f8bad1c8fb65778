"""Ops run at once: one op, a small expression, and gradients by a tape, beside NumPy and PyTorch where installed."""

from __future__ import annotations

import numpy as np
from formulas import network_value_and_gradient, network_weights, numbers, torch, torch_network
from timing import Workload, report

import graphad as gd


def one_op(*shape: int) -> dict[str, Workload]:
    a = numbers(*shape)
    x = gd.constant(a)
    found: dict[str, Workload] = {"graphad": lambda: x * x, "numpy": lambda: a * a}
    if torch is not None:
        t = torch.tensor(a)
        found["torch"] = lambda: t * t
    return found


def expression(*shape: int) -> dict[str, Workload]:
    a, b = numbers(*shape), numbers(*shape, seed=1)
    x, y = gd.constant(a), gd.constant(b)
    found: dict[str, Workload] = {"graphad": lambda: x * y + gd.sin(x), "numpy": lambda: a * b + np.sin(a)}
    if torch is not None:
        s, t = torch.tensor(a), torch.tensor(b)
        found["torch"] = lambda: s * t + torch.sin(s)
    return found


def expression_gradient(*shape: int) -> dict[str, Workload]:
    a, b = numbers(*shape), numbers(*shape, seed=1)
    x, y = gd.constant(a), gd.constant(b)

    def graphad() -> object:
        with gd.GradientTape() as tape:
            tape.watch(x)
            tape.watch(y)
            z = x * y + gd.sin(x)
        return tape.gradient(z, [x, y])

    found: dict[str, Workload] = {"graphad": graphad}
    if torch is not None:
        s, t = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
        found["torch"] = lambda: torch.autograd.grad((s * t + torch.sin(s)).sum(), [s, t])
    return found


def network_gradient() -> dict[str, Workload]:
    inputs = numbers(32, 16, seed=9)
    variables, x = [gd.Variable(w) for w in network_weights()], gd.constant(inputs)
    return {"graphad": lambda: network_value_and_gradient(gd, variables, x), **torch_network(inputs)}


if __name__ == "__main__":
    report(
        "eager",
        {
            "one op, scalar": one_op(),
            "one op, 10 elements": one_op(10),
            "x * y + sin(x), scalar": expression(),
            "its gradient, scalar": expression_gradient(),
            "its gradient, 10 elements": expression_gradient(10),
            "network gradient": network_gradient(),
        },
    )
