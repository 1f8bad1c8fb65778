"""Random numbers on a device: the CPU's bits, by steps on arrays, by kernels and in plans, and nothing on the host."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.core.dtypes import as_dtype
from graphad.devices import notes
from graphad.devices.array import device_array
from graphad.devices.library import library
from graphad.ops.random import blocks
from graphad.ops.random.draw import Draw
from tests.devices import fake_cupy, fake_driver
from tests.support.devices import IS_REAL

KINDS = [
    *[(kind, dtype) for kind in ("uniform", "normal", "truncated_normal") for dtype in ("float16", "float32", "float64")],
    *[("bits", dtype) for dtype in ("int8", "int32", "int64", "uint8", "uint64")],
    *[("integers", dtype) for dtype in ("int32", "int64", "uint8")],
]  # fmt: skip
KEYS = {
    "one": np.array([3, -9]),
    "narrow": np.array([3, -9], np.int32),
    "a stack": np.random.default_rng(0).integers(-9, 9, (2, 3, 2)),
    "none": np.zeros((0, 2), np.int64),
}


def _draw(kind: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return Draw(kind, shape, as_dtype(dtype))


def _is_drawn(found: Any, want: Any, kind: Any = "normal") -> bool:
    """The same bits; on real hardware the logarithm and the cosine of normal numbers differ in the last digits."""
    if IS_REAL and "normal" in str(kind) and found.dtype.kind == "f":
        return bool(np.allclose(found, want, 1e-5, 1e-6))
    return bool(found.tobytes() == want.tobytes())


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("kind, dtype", KINDS)
def test_steps_on_arrays_give_the_bits_of_the_cpu(kind: Any, dtype: str, keys: str) -> None:
    limits = (np.array(3, dtype), np.array(11, dtype)) if kind == "integers" else ()
    for shape in ((7,), (3, 5), (0,), (), (1001,)):
        op, before = _draw(kind, shape, dtype), dict(notes.runs_on_host)
        with np.errstate(all="ignore"):
            want, found = op.eval(KEYS[keys], *limits), op.eval(device_array(KEYS[keys], 0), *limits)
        assert notes.runs_on_host == before
        assert found.dtype == want.dtype and found.shape == want.shape
        assert _is_drawn(found.host(), want, kind)


@pytest.mark.parametrize("kind, dtype, keys", [
    ("uniform", "float32", "one"), ("uniform", "float64", "narrow"), ("uniform", "float16", "one"),
    ("normal", "float32", "a stack"), ("normal", "float64", "one"), ("normal", "float16", "one"),
    ("bits", "int64", "one"), ("bits", "uint8", "a stack"),
])  # fmt: skip
def test_kernels_give_the_bits_of_the_cpu(kind: Any, dtype: str, keys: str) -> None:
    for shape in ((13,), (2, 3)):
        op = Draw(kind, shape, as_dtype(dtype))
        want = op.eval(KEYS[keys])
        f = tf.function(lambda key, op=op: tf.identity(bind(op, key)), jit_compile=True)
        with tf.device("cuda"):
            key = tf.constant(KEYS[keys])
            f(key)
            fake_driver.launches.clear()
            fake_cupy.calls.clear()
            before = dict(notes.runs_on_host)
            found = f(key)
        assert any("mulhigh_u64" in text for text in fake_driver.launches)
        assert "right_shift" not in fake_cupy.calls and notes.runs_on_host == before
        assert found.location == "cuda:0" and found.numpy().tobytes() == np.asarray(want).tobytes()


def test_a_long_draw_has_rows_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_WIDTH", 3)
    op = Draw("uniform", (57,), as_dtype("float32"))
    with tf.device("cuda"):
        found = tf.function(lambda key: bind(op, key), jit_compile=True)(tf.constant(KEYS["one"]))
    assert found.numpy().tobytes() == op.eval(KEYS["one"]).tobytes()


def test_a_draw_that_is_made_often_is_compiled() -> None:
    generators = [tf.random.Generator.from_seed(5), tf.random.Generator.from_seed(5)]
    with tf.device("cuda"):
        before = dict(notes.runs_on_host)
        end = time.monotonic() + 600  # until a hang counts as one
        while not fake_driver.launches and time.monotonic() < end:
            found = generators[0].uniform([9])
            assert found.location == "cuda:0"
            assert found.numpy().tobytes() == _on_cpu(lambda: generators[1].uniform([9])).tobytes()
            time.sleep(0.01)
    assert any("mulhigh_u64" in text for text in fake_driver.launches)
    assert notes.runs_on_host == before


def _on_cpu(draw: Any) -> Any:
    with tf.device("cpu"):
        return draw().numpy()


def _drawn(generator: Any) -> list[Any]:
    ours, seed = tf.random, tf.constant([1, 2])
    generator.skip(3)
    return [
        ours.normal([5]), ours.uniform([5], 2.0, 3.0), ours.uniform([4], 0, 9, tf.int32), ours.truncated_normal([40]),
        ours.shuffle(tf.range(9)), generator.normal([3]), generator.uniform_full_int([3]), generator.truncated_normal([3]),
        ours.stateless_uniform([4], seed), ours.stateless_normal([4], seed, dtype=tf.float64),
        ours.stateless_truncated_normal([60], seed), ours.stateless_uniform([4], seed, 0, 10, tf.int64),
        ours.categorical(tf.math.log([[0.2, 0.3, 0.5]]), 6), ours.stateless_categorical(tf.zeros([2, 3]), 4, seed),
        ours.split(seed, 3), ours.fold_in(seed, 4), ours.experimental.stateless_shuffle(tf.range(7), seed),
        tf.nn.dropout(tf.ones([9]), 0.5), tf.keras.initializers.GlorotUniform(3)([3, 4]),
        tf.keras.initializers.TruncatedNormal(seed=3)([3, 4]),
        tf.vectorized_map(lambda x: x + tf.random.uniform([2]), tf.zeros([3, 2])),
    ]  # fmt: skip


@pytest.mark.parametrize("is_compiled", [False, True])
def test_what_programs_draw_is_drawn_on_the_device(is_compiled: bool) -> None:
    generator = tf.random.Generator.from_seed(3)
    run: Any = (
        tf.function(lambda: _drawn(generator), jit_compile=True) if is_compiled else lambda: _drawn(generator)
    )
    tf.random.set_seed(7)
    want, before = run(), dict(notes.runs_on_host)
    with tf.device("cuda"):
        tf.random.set_seed(7)
        generator.reset_from_seed(3)
        found = run()
    assert notes.runs_on_host == before
    for k, (y, z) in enumerate(zip(found, want, strict=True)):
        assert y.location == "cuda:0", k
        assert _is_drawn(y.numpy(), z.numpy()), k


def test_the_same_numbers_are_drawn_again_whatever_the_last_bits_of_functions_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A device's logarithm and cosine may differ from NumPy's by an ulp or two; one number drawn again or not moves all later
    ones.
    """
    lib = library()

    def above(name: str) -> Any:
        right = getattr(lib, name)

        def run(x: Any) -> Any:
            y = right(x)
            return lib.nextafter(lib.nextafter(y, y.dtype.type(np.inf)), y.dtype.type(np.inf))

        return run

    for name in ("log", "cos", "sin"):
        monkeypatch.setattr(lib, name, above(name))
    for dtype, most in (("float16", 2.0**-9), ("float32", 2.0**-20), ("float64", 2.0**-48)):
        for seed in range(8):
            key, op = np.array([seed, 1]), _draw("truncated_normal", (30_000,), dtype)
            want, found = op.eval(key), op.eval(device_array(key, 0)).host()
            assert np.abs(found.astype(float) - want.astype(float)).max() < most


def test_numbers_whose_words_depend_on_parameters_are_drawn_on_the_cpu_and_logged() -> None:
    seed = [5, 6]

    def drawn() -> list[Any]:
        ours = tf.random
        return [
            ours.stateless_gamma([4], seed, [0.5, 2.0, 3.0, 9.0]), ours.stateless_poisson([3], seed, [1.0, 5.0, 50.0]),
            ours.stateless_binomial([3], seed, 10.0, 0.3),
        ]  # fmt: skip

    want, before = drawn(), dict(notes.runs_on_host)
    with tf.device("cuda"):
        found = drawn()
    ran = {name for name, n in notes.runs_on_host.items() if n != before.get(name)}
    assert ran == {f"random.Generator.{kind}" for kind in ("standard_gamma", "poisson", "binomial")}
    for y, z in zip(found, want, strict=True):
        assert y.location == "cuda:0" and y.numpy().tobytes() == z.numpy().tobytes()


def test_dropout_trains_in_a_plan_with_the_masks_of_the_cpu() -> None:
    losses = {}
    for place in ("cpu", "cuda"):
        tf.random.set_seed(11)
        with tf.device(place):
            x = tf.constant(np.linspace(-1, 1, 24).reshape(6, 4).astype(np.float32))
            w = tf.Variable(np.linspace(0, 1, 8).reshape(4, 2).astype(np.float32))

            @tf.function(jit_compile=True)
            def step(x: Any, w: Any = w) -> Any:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(tf.nn.dropout(tf.tanh(x @ w), 0.5)))
                w.assign_sub(0.3 * tape.gradient(loss, w))
                return loss

            fake_driver.launches.clear()
            losses[place] = [float(step(x)) for _ in range(3)]
    assert any("mulhigh_u64" in text for text in fake_driver.launches)
    np.testing.assert_allclose(losses["cuda"], losses["cpu"], rtol=1e-6)
    assert len(set(losses["cpu"])) == 3
