"""On a CUDA device: fused loops against its memory's bandwidth, what a launch costs, and steps of networks beside JAX.

    python tests/benchmarks/gpu.py [bandwidth] [launches] [MLP] [attention] [convolution] [embedding]

Each row has the bar that it is to meet. Every workload ends with a wait for the device; times are medians, in turn with the
others. Without arguments everything is measured; `GRAPHAD_PEERS=JAX` leaves PyTorch out, whose compiler takes half a minute.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from timing import Workload, measure, peer

import graphad as gd
from graphad.devices.library import library, require

DTYPE = np.float32
PEERS = os.environ.get("GRAPHAD_PEERS", "JAX,PyTorch").split(",")


def waited(run: Workload) -> Workload:
    """A workload that ends when the device does."""

    def whole() -> Any:
        y = run()
        library().cuda.runtime.deviceSynchronize()
        return y

    return whole


def formula(x: Any) -> Any:
    return gd.tanh(x) * gd.exp(-x * x) + x


def bandwidth(n: int = 100_000_000) -> list[tuple[str, float, float]]:
    """Shares of the bandwidth that a copy of the device's own reaches: a map, its gradient, a sum."""
    x = gd.constant(np.random.default_rng(0).normal(size=n).astype(DTYPE))
    cupy = library()
    source, target = cupy.ones(n, DTYPE), cupy.empty(n, DTYPE)
    f = gd.function(formula, jit_compile=True)

    @gd.function(jit_compile=True)
    def gradient(x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = formula(x)
        return tape.gradient(y, x)

    total = gd.function(gd.reduce_sum, jit_compile=True)
    found = measure(
        {
            "copy": waited(lambda: cupy.copyto(target, source)),
            "map": waited(lambda: f(x)),
            "gradient": waited(lambda: gradient(x)),
            "sum": waited(lambda: total(x)),
            "CuPy's map": waited(lambda: cupy.tanh(source) * cupy.exp(-source * source) + source),
        }
    )
    rate = 2 * 4 * n / found["copy"][1]
    moved = {"map": 8 * n, "gradient": 8 * n, "sum": 4 * n}
    return [
        *[
            (f"{name} of {n:.0e}, of a copy's rate", moved[name] / found[name][1] / rate, 0.8)
            for name in moved
        ],
        (f"map of {n:.0e}, of CuPy's time", found["map"][1] / found["CuPy's map"][1], 1.0),
    ]


def launches() -> list[tuple[str, float, float]]:
    """Microseconds of a call whose work is nothing: until it returns, and of the native call within it."""
    x = gd.constant(np.ones(16, DTYPE))
    f = gd.function(lambda x: gd.sin(x) * 2.0 + 1.0, jit_compile=True)
    # Several launches, with the same addresses each time: a graph from the third call on.
    g = gd.function(lambda x: gd.nn.softmax(gd.tanh(x @ x) @ x), jit_compile=True)
    square = gd.constant(np.ones((16, 16), DTYPE))
    cupy, source, held = library(), library().ones(16, DTYPE), library().ones((16, 16), DTYPE)
    runs = {
        "plan": lambda: f(x),
        "graph": lambda: g(square),
        "CuPy's sin": lambda: cupy.sin(source),
        "CuPy's product": lambda: cupy.matmul(held, held),
    }
    runs |= _peers_of_a_launch()
    found = measure(runs)
    library().cuda.runtime.deviceSynchronize()
    us = {name: found[name][1] * 1e6 for name in runs}
    rows = [
        ("a plan of one launch, us", us["plan"], 20.0),
        ("a plan of five launches as a graph, us", us["graph"], 20.0),
    ]
    return [
        *rows,
        *[(f"for comparison, {name}, us", us[name], float("inf")) for name in runs if " " in name],
    ]


def _peers_of_a_launch() -> dict[str, Workload]:
    runs: dict[str, Workload] = {}
    jax = peer("jax") if "JAX" in PEERS else None
    if jax is not None:
        import jax.numpy as jnp

        x, square = jnp.ones(16, DTYPE), jnp.ones((16, 16), DTYPE)
        f = jax.jit(lambda x: jnp.sin(x) * 2.0 + 1.0)
        g = jax.jit(lambda x: jax.nn.softmax(jnp.tanh(x @ x) @ x))
        runs |= {"JAX's one launch": lambda: f(x), "JAX's softmax of products": lambda: g(square)}
    return runs


def step_of(loss: Any, weights: list[Any]) -> Any:
    """A compiled training step by gradient descent."""

    @gd.function(jit_compile=True)
    def step(*inputs: Any) -> Any:
        with gd.GradientTape() as tape:
            value = loss(weights, *inputs)
        for w, g in zip(weights, tape.gradient(value, weights), strict=True):
            w.assign_sub(0.01 * gd.convert_to_tensor(g))
        return value

    return step


def mlp(tanh: Any, mean: Any) -> Any:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        h = x
        for w in weights[:-1]:
            h = tanh(h @ w)
        return mean((h @ weights[-1] - y) ** 2)

    return loss


def attention(transpose: Any, softmax: Any, mean: Any) -> Any:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        q, k, v = (x @ w for w in weights[:3])
        scores = softmax(q @ transpose(k) * 0.125)
        return mean((scores @ v @ weights[3] - y) ** 2)

    return loss


def convolution(convolve: Any, mean: Any) -> Any:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        return mean((convolve(x, weights[0]) - y) ** 2)

    return loss


def embedding(look_up: Any, entropy: Any) -> Any:
    def loss(weights: Any, ids: Any, labels: Any) -> Any:
        return entropy(labels, look_up(weights[0], ids) @ weights[1])

    return loss


def entropy_by_jax(jax: Any, jnp: Any) -> Any:
    def entropy(labels: Any, logits: Any) -> Any:
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))

    return entropy


def entropy_by_graphad(labels: Any, logits: Any) -> Any:
    return gd.reduce_mean(gd.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def stepped_by_jax(loss: Any, weights: list[Any], inputs: list[Any]) -> Workload | None:
    """The same step by JAX, in full precision; None where it is not installed."""
    jax = peer("jax")
    if jax is None:
        return None
    import jax.numpy as jnp

    def descend(weights: Any, *inputs: Any) -> Any:
        value, gradients = jax.value_and_grad(loss(jax, jnp))(weights, *inputs)
        return value, [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]

    run, placed = jax.jit(descend), [jnp.asarray(x) for x in inputs]
    held = [[jnp.asarray(w) for w in weights]]

    def step() -> Any:
        with jax.default_matmul_precision("highest"):
            value, held[0] = jax.block_until_ready(run(held[0], *placed))
        return value

    return step


def stepped_by_torch(
    loss: Any, weights: list[Any], inputs: list[Any], place: str = "cuda"
) -> Workload | None:
    """The same step by PyTorch, compiled, in full precision; None where it is not installed."""
    torch = peer("torch")
    if torch is None or (place == "cuda" and not torch.cuda.is_available()):
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    held = [torch.tensor(w, device=place, requires_grad=True) for w in weights]
    placed = [torch.tensor(x.astype(np.int64) if x.dtype.kind == "i" else x, device=place) for x in inputs]
    value_of = loss(torch)
    run = torch.compile(value_of) if place == "cuda" else value_of

    def step() -> Any:
        value = run(held, *placed)
        with torch.no_grad():
            for w, g in zip(held, torch.autograd.grad(value, held), strict=True):
                w -= 0.01 * g
        if place == "cuda":
            torch.cuda.synchronize()
        return value.detach()

    return step


def convolved_by_torch(torch: Any) -> Any:
    """A convolution of images whose channels come last."""

    def convolve(x: Any, w: Any) -> Any:
        y = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding="same")
        return y.permute(0, 2, 3, 1)

    return convolve


def made(*shape: int) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).normal(size=shape) / np.sqrt(shape[-2])).astype(DTYPE)


def numbers_below(limit: int, count: int) -> np.ndarray:
    return np.random.default_rng(limit).integers(0, limit, count).astype(np.int32)


SIDES = ("NHWC", "HWIO", "NHWC")
# By name: the loss in graphad, in JAX and in PyTorch, shapes of weights and of inputs, or these themselves.
NETWORKS: dict[str, tuple[Any, Any, Any, list[Any], list[Any]]] = {
    "MLP": (
        mlp(gd.tanh, gd.reduce_mean),
        lambda jax, jnp: mlp(jnp.tanh, jnp.mean),
        lambda torch: mlp(torch.tanh, torch.mean),
        [(1024, 4096), (4096, 4096), (4096, 1024)],
        [(512, 1024), (512, 1024)],
    ),
    "attention": (
        attention(lambda k: gd.transpose(k, [0, 2, 1]), gd.nn.softmax, gd.reduce_mean),
        lambda jax, jnp: attention(lambda k: jnp.swapaxes(k, 1, 2), jax.nn.softmax, jnp.mean),
        lambda torch: attention(lambda k: k.transpose(1, 2), lambda s: torch.softmax(s, -1), torch.mean),
        [(512, 512)] * 4,
        [(16, 512, 512), (16, 512, 512)],
    ),
    "convolution": (
        convolution(lambda x, w: gd.nn.conv2d(x, w, 1, "SAME"), gd.reduce_mean),
        lambda jax, jnp: convolution(
            lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=SIDES), jnp.mean
        ),
        lambda torch: convolution(convolved_by_torch(torch), torch.mean),
        [(3, 3, 64, 64)],
        [(32, 32, 32, 64), (32, 32, 32, 64)],
    ),
    "embedding": (
        embedding(gd.gather, entropy_by_graphad),
        lambda jax, jnp: embedding(lambda table, ids: table[ids], entropy_by_jax(jax, jnp)),
        lambda torch: embedding(
            lambda table, ids: table[ids], lambda y, x: torch.nn.functional.cross_entropy(x, y)
        ),
        [(32000, 512), (512, 1000)],
        [numbers_below(32000, 8192), numbers_below(1000, 8192)],
    ),
}


def network(name: str) -> list[tuple[str, float, float]]:
    """A training step, as a multiple of JAX's and PyTorch's; the losses of all have to agree, the CPU's too."""
    mine, by_jax, by_torch, shapes, given = NETWORKS[name]
    weights, inputs = (
        [made(*shape) for shape in shapes],
        [x if isinstance(x, np.ndarray) else made(*x) for x in given],
    )
    others = {
        "JAX": stepped_by_jax(by_jax, weights, inputs) if "JAX" in PEERS else None,
        "PyTorch": stepped_by_torch(by_torch, weights, inputs) if "PyTorch" in PEERS else None,
    }
    with gd.device("cpu"):
        here = [gd.constant(x) for x in inputs]
        want = float(mine([gd.constant(w) for w in weights], *here))
    step, placed = step_of(mine, [gd.Variable(w) for w in weights]), [gd.constant(x) for x in inputs]
    loss = float(step(*placed))
    assert abs(loss - want) < 1e-3 * max(1.0, abs(want)), (name, loss, want)
    runs = {"graphad": waited(lambda: step(*placed))}
    for other, run in others.items():
        if run is None:
            print(f"no row of {name} beside {other}", file=sys.stderr)
            continue
        assert abs(loss - float(run())) < 1e-3, (name, other)
        runs[other] = run
    found = measure(runs)
    print(f"{name} step: {found['graphad'][1] * 1e3:.3f} ms", file=sys.stderr)
    return [
        (f"{name} step, of {other}", found["graphad"][1] / found[other][1], 1.0)
        for other in runs
        if other != "graphad"
    ]


PARTS = {
    "bandwidth": bandwidth,
    "launches": launches,
    **{name: lambda name=name: network(name) for name in NETWORKS},
}


def rows_of(names: list[str]) -> Iterator[tuple[str, float, float]]:
    """The rows of some parts, as they are measured."""
    for name in names:
        with gd.device("cuda"):
            yield from PARTS[name]()


def main() -> None:
    require(0)
    for name, value, bar in rows_of(sys.argv[1:] or list(PARTS)):
        holds = value >= bar if "rate" in name else value <= bar
        verdict = "" if bar == float("inf") else f"bar {bar:6.2f}   {'holds' if holds else 'does not hold'}"
        print(f"{name:42} {value:8.2f}   {verdict}", flush=True)


if __name__ == "__main__":
    main()
