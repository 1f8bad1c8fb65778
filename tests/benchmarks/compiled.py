"""Compiled functions in the steady state: call overhead, fused loops and their gradient, gradients of a network and of
convolutions.

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


def convolution(transposed: bool) -> dict[str, Workload]:
    """The gradient of a convolution of a generative network, by images and filters."""
    image, filters, result = (32, 7, 7, 128), (5, 5, 64, 128), (32, 14, 14, 64)
    if not transposed:
        image, result = result, image
    x, kernel, g = (
        numbers(*shape, seed=k).astype("float32") for k, shape in enumerate((image, filters, result))
    )

    def gradients(x: Any, kernel: Any, g: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch([x, kernel])
            y = (
                gd.nn.conv2d_transpose(x, kernel, result, 2, "SAME")
                if transposed
                else gd.nn.conv2d(x, kernel, 2, "SAME")
            )
        return tape.gradient(y, [x, kernel], g)

    f, given = gd.function(gradients), [gd.constant(value) for value in (x, kernel, g)]
    found: dict[str, Workload] = {"graphad": lambda: f(*given), "graphad eager": lambda: gradients(*given)}
    if torch is not None:
        images, bars = (torch.tensor(value).permute(0, 3, 1, 2) for value in (x, g))
        weights = torch.tensor(np.ascontiguousarray(kernel.transpose(3, 2, 0, 1)), requires_grad=True)
        images.requires_grad_()
        convolve = (
            (lambda: torch.nn.functional.conv_transpose2d(images, weights, None, 2, 2, 1))
            if transposed
            else (lambda: torch.nn.functional.conv2d(images, weights, None, 2, 2))
        )
        found["torch"] = lambda: torch.autograd.grad(convolve(), [images, weights], bars)
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
            "convolution's gradient": convolution(False),
            "transposed one's gradient": convolution(True),
        },
        repeats=9,
    )
