"""Ops run at once: one op, a small expression, and gradients by a tape, beside NumPy and PyTorch where installed."""

from __future__ import annotations

import numpy as np
from timing import Workload, peer, report

import graphad as gd

torch = peer("torch")


def one_op(*shape: int) -> dict[str, Workload]:
    a = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    x = gd.constant(a)
    found: dict[str, Workload] = {"graphad": lambda: x * x, "numpy": lambda: a * a}
    if torch is not None:
        t = torch.tensor(a)
        found["torch"] = lambda: t * t
    return found


def expression(*shape: int) -> dict[str, Workload]:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(2))
    x, y = gd.constant(a), gd.constant(b)
    found: dict[str, Workload] = {"graphad": lambda: x * y + gd.sin(x), "numpy": lambda: a * b + np.sin(a)}
    if torch is not None:
        s, t = torch.tensor(a), torch.tensor(b)
        found["torch"] = lambda: s * t + torch.sin(s)
    return found


def expression_gradient(*shape: int) -> dict[str, Workload]:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(2))
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


def network_gradient(batch: int = 32, sizes: tuple[int, ...] = (16, 32, 32, 4)) -> dict[str, Workload]:
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, 0.3, shape).astype(np.float32) for shape in zip(sizes, sizes[1:])]
    inputs = rng.normal(0, 1, (batch, sizes[0])).astype(np.float32)
    variables, x = [gd.Variable(w) for w in weights], gd.constant(inputs)

    def graphad() -> object:
        with gd.GradientTape() as tape:
            h = x
            for w in variables:
                h = gd.tanh(gd.matmul(h, w))
            loss = gd.reduce_mean(h * h)
        return tape.gradient(loss, variables)

    found: dict[str, Workload] = {"graphad": graphad}
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
