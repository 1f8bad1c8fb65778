"""Formulas that more than one benchmark times: once for a library with TensorFlow's names, once for PyTorch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from timing import Workload, peer

torch = peer("torch")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def network_weights(sizes: tuple[int, ...] = (16, 32, 32, 4)) -> list[np.ndarray]:
    return [numbers(*shape, seed=i) * np.float32(0.5) for i, shape in enumerate(pairwise(sizes))]


def network_value_and_gradient(gd: Any, variables: list[Any], x: Any) -> tuple[Any, list[Any]]:
    """Mean square of a small tanh network, and its gradient by the weights."""
    with gd.GradientTape() as tape:
        for w in variables:
            x = gd.tanh(gd.matmul(x, w))
        loss = gd.reduce_mean(x * x)
    return loss, tape.gradient(loss, variables)


def torch_network(inputs: np.ndarray) -> dict[str, Workload]:
    """The same on PyTorch, or nothing where it is not installed."""
    if torch is None:
        return {}
    parameters = [torch.tensor(w, requires_grad=True) for w in network_weights()]
    x = torch.tensor(inputs)

    def pytorch() -> object:
        h = x
        for w in parameters:
            h = torch.tanh(h @ w)
        return torch.autograd.grad((h * h).mean(), parameters)

    return {"torch": pytorch}
