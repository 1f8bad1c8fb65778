"""Compiled functions in the steady state: call overhead, fused loops and their gradient, a network's training gradient.

NumPy runs the same formula unfused; PyTorch, where installed, runs it eagerly. `first` is the time to the first result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from formulas import network_value_and_gradient, network_weights, numbers, torch, torch_network
from timing import Workload, report

import graphad as gd


def call_overhead() -> dict[str, Workload]:
    x, y = gd.constant(0.3), gd.constant(0.7)
    f = gd.function(lambda a, b: a * b + gd.sin(a), jit_compile=True)
    a, b = np.float32(0.3), np.float32(0.7)
    return {"graphad": lambda: f(x, y), "numpy": lambda: a * b + np.sin(a)}


def formula(v: Any) -> Any:
    return gd.reduce_sum(gd.tanh(v) * gd.exp(-v * v) + gd.math.log1p(gd.abs(v)))


def torch_formula(t: Any) -> Any:
    return (torch.tanh(t) * torch.exp(-t * t) + torch.log1p(torch.abs(t))).sum()


def fused(n: int) -> dict[str, Workload]:
    a = numbers(n)
    x, f = gd.constant(a), gd.function(formula, jit_compile=True)
    found: dict[str, Workload] = {
        "graphad": lambda: f(x),
        "numpy": lambda: (np.tanh(a) * np.exp(-a * a) + np.log1p(np.abs(a))).sum(),
    }
    if torch is not None:
        t = torch.tensor(a)
        found["torch"] = lambda: torch_formula(t)
    return found


def fused_gradient(n: int) -> dict[str, Workload]:
    a = numbers(n)
    x = gd.constant(a)

    @gd.function(jit_compile=True)
    def value_and_gradient(v: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(v)
            y = formula(v)
        return y, tape.gradient(y, v)

    found: dict[str, Workload] = {"graphad": lambda: value_and_gradient(x)}
    if torch is not None:
        t = torch.tensor(a, requires_grad=True)
        found["torch"] = lambda: torch.autograd.grad(torch_formula(t), t)
    return found


def network() -> dict[str, Workload]:
    inputs = numbers(32, 16, seed=9)
    variables, x = [gd.Variable(w) for w in network_weights()], gd.constant(inputs)
    f = gd.function(lambda x: network_value_and_gradient(gd, variables, x), jit_compile=True)
    return {"graphad": lambda: f(x), **torch_network(inputs)}


if __name__ == "__main__":
    report(
        "compiled",
        {
            "scalar call": call_overhead(),
            "fused sum, 1e3": fused(1_000),
            "fused sum, 1e6": fused(1_000_000),
            "fused gradient, 1e6": fused_gradient(1_000_000),
            "network value and gradient": network(),
        },
        repeats=9,
    )
