"""Compiled functions in the steady state: call overhead, fused loops and their gradient, a network's training gradient.

NumPy runs the same formula unfused; PyTorch, where installed, runs it eagerly. `first` is the time to the first result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import Workload, peer, report

import graphad as gd

torch = peer("torch")


def call_overhead() -> dict[str, Workload]:
    x, y = gd.constant(0.3), gd.constant(0.7)
    f = gd.function(lambda a, b: a * b + gd.sin(a), jit_compile=True)
    a, b = np.float32(0.3), np.float32(0.7)
    return {"graphad": lambda: f(x, y), "numpy": lambda: a * b + np.sin(a)}


def fused(n: int) -> dict[str, Workload]:
    a = np.random.default_rng(0).uniform(-1, 1, n).astype(np.float32)
    x = gd.constant(a)
    f = gd.function(
        lambda v: gd.reduce_sum(gd.tanh(v) * gd.exp(-v * v) + gd.math.log1p(gd.abs(v))), jit_compile=True
    )
    found: dict[str, Workload] = {
        "graphad": lambda: f(x),
        "numpy": lambda: (np.tanh(a) * np.exp(-a * a) + np.log1p(np.abs(a))).sum(),
    }
    if torch is not None:
        t = torch.tensor(a)
        found["torch"] = lambda: (torch.tanh(t) * torch.exp(-t * t) + torch.log1p(torch.abs(t))).sum()
    return found


def fused_gradient(n: int) -> dict[str, Workload]:
    a = np.random.default_rng(0).uniform(-1, 1, n).astype(np.float32)
    x = gd.constant(a)

    @gd.function(jit_compile=True)
    def value_and_gradient(v: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(v)
            y = gd.reduce_sum(gd.tanh(v) * gd.exp(-v * v) + gd.math.log1p(gd.abs(v)))
        return y, tape.gradient(y, v)

    found: dict[str, Workload] = {"graphad": lambda: value_and_gradient(x)}
    if torch is not None:
        t = torch.tensor(a, requires_grad=True)

        def pytorch() -> object:
            return torch.autograd.grad(
                (torch.tanh(t) * torch.exp(-t * t) + torch.log1p(torch.abs(t))).sum(), t
            )

        found["torch"] = pytorch
    return found


def network(batch: int = 32, sizes: tuple[int, ...] = (16, 32, 32, 4)) -> dict[str, Workload]:
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, 0.3, shape).astype(np.float32) for shape in zip(sizes, sizes[1:])]
    inputs = rng.normal(0, 1, (batch, sizes[0])).astype(np.float32)
    variables, x = [gd.Variable(w) for w in weights], gd.constant(inputs)

    @gd.function(jit_compile=True)
    def value_and_gradient(h: Any) -> Any:
        with gd.GradientTape() as tape:
            for w in variables:
                h = gd.tanh(gd.matmul(h, w))
            loss = gd.reduce_mean(h * h)
        return loss, tape.gradient(loss, variables)

    found: dict[str, Workload] = {"graphad": lambda: value_and_gradient(x)}
    if torch is not None:
        parameters = [torch.tensor(w, requires_grad=True) for w in weights]
        tensor = torch.tensor(inputs)

        def pytorch() -> object:
            h = tensor
            for w in parameters:
                h = torch.tanh(h @ w)
            return torch.autograd.grad((h * h).mean(), parameters)

        found["torch"] = pytorch
    return found


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
