"""Whole programs on a device: tapes, functions, loops, training, saving; the same numbers as on the CPU."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.tensor import EagerTensor, guard_of
from graphad.devices.array import DeviceArray
from graphad.devices.library import library
from graphad.devices.tensor import DeviceTensor

CUDA = pytest.mark.parametrize("place", ["cpu", "cuda"])


def _data() -> tuple[Any, Any]:
    numbers = np.random.default_rng(3)
    return numbers.normal(size=(16, 4)).astype(np.float32), numbers.normal(size=(16, 1)).astype(np.float32)


def _of_old_cupy(x: Any) -> Any:
    raise ValueError(f"Unsupported dtype {x.dtype}")


class Net(tf.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        numbers = np.random.default_rng(5)
        self.w1 = tf.Variable(numbers.normal(size=(4, 8)).astype(np.float32))
        self.b1 = tf.Variable(tf.zeros([8]))
        self.w2 = tf.Variable(numbers.normal(size=(8, 1)).astype(np.float32))

    @tf.function
    def __call__(self, x: Any) -> Any:
        return tf.tanh(x @ self.w1 + self.b1) @ self.w2


def _train(place: str, steps: int, optimizer: Any, compiled: bool) -> tuple[list[float], Net]:
    with tf.device(place):
        x, y = map(tf.constant, _data())
        net = Net()
        rule = optimizer()

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(x) - y))
            rule.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
            return loss

        run = tf.function(step) if compiled else step
        losses = [run(x, y) for _ in range(steps)]
    assert {loss.location for loss in losses} == {f"{place}:0"}
    assert {v.location for v in net.variables} == {f"{place}:0"}
    return [float(loss) for loss in losses], net


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9),
        lambda: tf.keras.optimizers.Adam(0.05),
    ],
    ids=["momentum", "adam"],
)
def test_training_gives_the_losses_of_the_cpu(optimizer: Any, compiled: bool) -> None:
    there, _ = _train("cuda", 8, optimizer, compiled)
    here, _ = _train("cpu", 8, optimizer, compiled)
    np.testing.assert_allclose(there, here, rtol=2e-6)
    assert here[-1] < here[0]


@CUDA
def test_the_block_decides_where_things_are_made(place: str) -> None:
    with tf.device(place):
        made = [
            tf.constant([1.0, 2.0]),
            tf.zeros([3]),
            tf.ones([2, 2], tf.float64),
            tf.range(4),
            tf.eye(3),
            tf.linspace(0.0, 1.0, 5),
            tf.random.normal([4]),
            tf.convert_to_tensor(np.arange(3.0)),
            tf.one_hot([0, 2], 3),
            tf.Variable([1.0]).value(),
        ]
    assert {x.location for x in made} == {f"{place}:0"}
    assert all(isinstance(x, DeviceTensor if place == "cuda" else EagerTensor) for x in made)


def test_ops_run_where_their_operands_are() -> None:
    with tf.device("cuda:1"):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for y in (
        x * 2.0,
        tf.exp(x),
        x @ x,
        x[0],
        x + np.ones(2, np.float32),
        tf.reduce_sum(x),
        tf.transpose(x),
        1.0 - x,
    ):
        assert y.location == "cuda:1"
    assert tf.shape(x).location == "cpu:0"  # sizes are for Python and for ops that take sizes
    assert tf.reshape(x, tf.shape(x)[::-1]).location == "cuda:1"
    assert tf.gather(x, [1, 0]).location == "cuda:1"


def test_operands_on_two_devices_are_refused_with_both_names() -> None:
    here = tf.constant([1.0, 2.0])
    with tf.device("cuda"):
        there = tf.constant([1.0, 2.0])
        v = tf.Variable([1.0, 2.0])
    w = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"add: operand 0 is on 'cpu:0' and operand 1 on 'cuda:0'"):
        here + there
    with pytest.raises(ValueError, match=r"'cuda:0'.*'cuda:1'"):
        there * there.gpu(1)
    with pytest.raises(ValueError, match=r"'cuda:0'.*'cpu:0'"):
        v.assign(here)
    with pytest.raises(ValueError, match=r"'cpu:0'.*'cuda:0'"):
        w.assign(there)
    with tf.device("cuda"):
        for refused in (
            lambda: here * there.gpu(1),
            lambda: there * there.gpu(1),
            lambda: v.assign(here.gpu(1)),
        ):
            with pytest.raises(ValueError, match=r"'cpu:0'.*'cuda:[01]'|'cuda:0'.*'cuda:1'"):
                refused()
    assert (here.gpu() + there).location == "cuda:0"
    assert isinstance(there.cpu() + here, EagerTensor)


def test_a_variable_of_the_cpu_takes_values_in_a_block() -> None:
    """Lists and arrays are put on the block's device before it is known that the variable is elsewhere."""
    w, start = tf.Variable([1.0, 2.0]), tf.constant([0.5, 0.5])
    with tf.device("cuda"):
        w.assign([3.0, 4.0])
        w.assign_add(np.array([1.0, 1.0], np.float32))
        w.assign_sub(start)
        w.assign_add(tf.exp(tf.zeros([2])))
    assert isinstance(w.data, np.ndarray)
    np.testing.assert_array_equal(w, [4.5, 5.5])


def test_in_a_block_what_is_on_the_cpu_comes_to_the_device() -> None:
    """Also where an op before has brought another operand, so that functions of several ops give what they give elsewhere."""
    here = tf.constant([[3.0, 1.0], [2.0, 4.0]])

    def f(x: Any) -> Any:
        return tf.sort(tf.exp(x) * x, 0) @ x + tf.where(x > 2.0, x, 0.0)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, output_gradients=tf.ones_like(here))

    with tf.device("cuda"):
        v = tf.Variable(tf.zeros([2, 2]))
        found = [f(here), slope(here), tf.vmap(f)(tf.stack([here, here]))[1], v.assign_add(f(here)).value()]
        found += [tf.function(lambda: v + here)() - here]
    for y, z in zip(found, [f(here), slope(here), *[f(here)] * 3], strict=True):
        assert y.location == "cuda:0"
        np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-6)


def test_copies_pass_derivatives_on() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = (x.gpu() ** 2).cpu() * x
    g = tape.gradient(y, x)
    assert g.location == "cpu:0"
    np.testing.assert_allclose(g, 3 * x.numpy() ** 2)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x.gpu(1) ** 3)
        first = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(first, x), 6 * x.numpy())


def test_operands_that_are_elsewhere_come_into_the_block() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.device("cuda"):
            y = tf.reduce_sum(tf.exp(x))
    assert y.location == "cuda:0"
    g = tape.gradient(y, x)
    assert g.location == "cpu:0"
    np.testing.assert_allclose(g, np.exp([1.0, 2.0]), rtol=1e-6)
    with tf.device("cuda"):
        there = tf.constant(1.0)
        with tf.device("cpu"):
            assert tf.identity(there).location == "cpu:0"
            assert tf.constant(2.0).location == "cpu:0"
        assert tf.constant(2.0).location == "cuda:0"


def test_tapes_in_blocks() -> None:
    with tf.device("cuda"):
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
            with tape.stop_recording():
                assert tf.constant(1.0).location == "cuda:0"
                jacobian = tape.jacobian(y, x)
            z = y * x
        rows = tf.reshape(tf.range(6.0), [2, 3])
        with tf.GradientTape() as batch:
            batch.watch(rows)
            w = tf.sin(rows) * rows
    np.testing.assert_allclose(jacobian, np.diag([2.0, 4.0]))
    assert tape.gradient(z, x).location == "cuda:0"
    np.testing.assert_allclose(tape.gradient(z, x), [3.0, 12.0])
    found = batch.batch_jacobian(w, rows)
    assert found.location == "cuda:0" and found.shape == (2, 3, 3)
    with tf.device("cuda"), tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as forward:
        y = x**3
    np.testing.assert_allclose(forward.jvp(y), [3.0, 0.0])


def test_control_flow_in_functions() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        total = tf.zeros_like(x)
        for _ in tf.range(n):
            if tf.reduce_sum(total) > 2.0:
                total = total - x
            else:
                total = total + x
        while tf.reduce_sum(total) < 1.0:
            total = total + tf.tanh(x)
        return total, tf.map_fn(lambda row: row * 2.0, x)

    data = np.array([0.25, 0.5], np.float32)
    want = f(tf.constant(data), tf.constant(5))
    with tf.device("cuda"):
        x = tf.constant(data)
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = f(x, tf.constant(5))
        g = tape.gradient(found[0], x)
    for y, z in zip(found, want):
        assert y.location == "cuda:0"
        np.testing.assert_allclose(y, z, rtol=1e-6)
    assert g.location == "cuda:0" and np.all(np.isfinite(g))
    assert f(x, 5)[0].location == "cuda:0"  # without a block: where its arguments are


def test_random_numbers_are_those_of_the_cpu() -> None:
    drawn = {}
    for place in ("cpu", "cuda"):
        with tf.device(place):
            tf.random.set_seed(7)
            generator = tf.random.Generator.from_seed(3)
            drawn[place] = [
                tf.random.normal([5]),
                tf.random.stateless_uniform([4], seed=[1, 2]),
                generator.normal([3]),
                tf.random.shuffle(tf.range(9)),
            ]
    for a, b in zip(drawn["cpu"], drawn["cuda"]):
        assert (a.location, b.location) == ("cpu:0", "cuda:0")
        assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("saved_on, loaded_on", [("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")])
def test_saved_on_one_device_and_loaded_on_another(tmp_path: Path, saved_on: str, loaded_on: str) -> None:
    _, net = _train(saved_on, 2, lambda: tf.keras.optimizers.SGD(0.1), True)
    x, _ = _data()
    with tf.device(saved_on):
        want = net(tf.constant(x)).numpy()
        tf.saved_model.save(net, tmp_path / "model")
        tf.train.Checkpoint(net=net).write(tmp_path / "checkpoint")
    with tf.device(loaded_on):
        loaded = tf.saved_model.load(tmp_path / "model")
        other = Net()
        tf.train.Checkpoint(net=other).read(tmp_path / "checkpoint").assert_consumed()
        for model in (loaded, other):
            y = model(tf.constant(x))
            assert y.location == f"{loaded_on}:0"
            np.testing.assert_allclose(y, want, rtol=1e-5)
            assert {v.location for v in (model.w1, model.b1)} == {f"{loaded_on}:0"}
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(loaded(tf.constant(x)))
        g = tape.gradient(loss, loaded.w1)
        assert g.location == f"{loaded_on}:0"
        loaded.w1.assign_sub(0.1 * g)


def test_variables() -> None:
    with tf.device("cuda"):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
    assert isinstance(v, tf.Variable) and v.location == "cuda:0"
    v.assign_add([[1.0, 1.0], [1.0, 1.0]])
    v[0].assign([7.0, 8.0])
    v.scatter_nd_update([[1]], [[5.0, 6.0]])
    np.testing.assert_array_equal(v.numpy(), [[7.0, 8.0], [5.0, 6.0]])
    assert v.assign(v * 2.0).location == "cuda:0"
    v.assign([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(v), [[1.0, 2.0], [3.0, 4.0]])
    assert len(v) == 2 and v.shape == (2, 2) and "device='cuda:0'" in repr(v)
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign([1.0])
    for again in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert again.location == "cuda:0" and again.name == "v:0"
        again.assign_sub(again)
    np.testing.assert_array_equal(v.numpy(), [[1.0, 2.0], [3.0, 4.0]])


def test_what_python_and_numpy_get() -> None:
    with tf.device("cuda"):
        x = tf.constant([1.5, 2.5])
        one = tf.constant(3)
    assert str(x) == "tf.Tensor([1.5 2.5], shape=(2,), dtype=float32, device=cuda:0)"
    assert repr(one) == "<tf.Tensor: shape=(), dtype=int32, numpy=3, device='cuda:0'>"
    assert (int(one), float(x[0]), bool(x[0] > 1), f"{x[1]:.2f}", one.item(), x.tolist()) == (
        3,
        1.5,
        True,
        "2.50",
        3,
        [1.5, 2.5],
    )
    assert [0, 1, 2, 3][one] == 3 and len(x) == 2 and [float(item) for item in x] == [1.5, 2.5]
    array = x.numpy()
    array[0] = 9.0
    assert float(x[0]) == 1.5
    np.testing.assert_array_equal(np.asarray(x), [1.5, 2.5])
    assert copy.copy(x) is x and pickle.loads(pickle.dumps(x)).location == "cuda:0"
    assert "<" in x._repr_html_()
    lib = library()
    with tf.device("cuda"):
        assert tf.constant([1.0], tf.bfloat16).numpy() == 1.0
        with pytest.raises(ValueError, match="bfloat16"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(lib, "asarray", _of_old_cupy)
            tf.constant([1.0], tf.bfloat16)


def test_the_default_device() -> None:
    assert tf.config.get_default_device() == "cpu:0"
    tf.config.set_default_device("cuda:1")
    try:
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * tf.ones([2]))
        with tf.device("cpu"):
            assert tf.constant(1.0).location == "cpu:0"
        assert (x.location, y.location, tape.gradient(y, x).location) == ("cuda:1",) * 3
        assert tf.config.get_default_device() == "cuda:1"
        with tf.device("cuda:0"), pytest.raises(RuntimeError, match="set_default_device"):
            tf.config.set_default_device("cpu")
    finally:
        tf.config.set_default_device(None)
    assert tf.constant(1.0).location == "cpu:0"


def test_devices_are_listed() -> None:
    assert [d.name for d in tf.config.list_physical_devices("GPU")] == [
        "/physical_device:GPU:0",
        "/physical_device:GPU:1",
    ]
    assert [d.name for d in tf.config.list_logical_devices()] == [
        "/device:CPU:0",
        "/device:GPU:0",
        "/device:GPU:1",
    ]
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    assert tf.test.is_gpu_available() and tf.test.gpu_device_name() == "/device:GPU:0"
    with tf.device("/GPU:1"):
        assert tf.constant(1.0).location == "cuda:1"
    with pytest.raises(RuntimeError, match=r"no 'cuda:2'; there are 2"):
        with tf.device("cuda:2"):
            pass


def test_nothing_of_a_compiled_function_runs_on_the_cpu_unseen() -> None:
    """A function whose arguments or variables are on a device is not given to code that reads the CPU's memory."""
    with tf.device("cuda"):
        v = tf.Variable(2.0)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        return x * v

    with tf.device("cuda"):
        for _ in range(3):
            y = f(tf.constant([1.0, 2.0]))
    assert y.location == "cuda:0"
    for _ in range(3):
        z = f(tf.constant(3.0))  # a scalar of the CPU beside a variable of the device
        assert z.location == "cuda:0" and float(z) == 6.0
    assert isinstance(y.array, DeviceArray)


@pytest.mark.parametrize("order", [1, 2])
def test_tangents_of_what_comes_into_a_block_come_with_it(order: int) -> None:
    x, v = tf.constant([1.0, 2.0], tf.float64), tf.constant([0.5, -1.0], tf.float64)

    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.sin(tf.exp(x)))

    def slope(x: Any) -> Any:
        return tf.jvp(f, (x,), (v,))[1]

    g = slope if order == 1 else lambda x: tf.jvp(slope, (x,), (v,))[1]
    want = g(x)
    with tf.device("cuda"):
        found = [g(x)]
        if order == 1:
            with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
                y = f(x)
            found += [accumulator.jvp(y), tf.linearize(f, x)[1](v)]
            assert tf.vjp(tf.exp, x)[1](v)[0].device.endswith("GPU:0")
    for each in found:
        assert isinstance(each, DeviceTensor)
        np.testing.assert_allclose(each.numpy(), want.numpy(), rtol=1e-12)


@pytest.mark.parametrize("options", [None, {}, {"jit_compile": True}], ids=["eager", "traced", "compiled"])
def test_a_variable_of_the_cpu_stays_there(options: Any) -> None:
    """What a function of the device's tensors assigns to it is copied; whole arrays are refused in eager code."""
    w, total, count = tf.Variable([1.0, 2.0]), tf.Variable(1.0), tf.Variable(0)
    with tf.device("cuda"):
        x = tf.constant([1.0, 2.0])
        v, steps = tf.Variable([0.0, 0.0]), tf.Variable(1.0)

    def step(x: Any) -> Any:
        steps.assign(7.0)
        count.assign_add(1)
        total.assign_add(x[0])
        v.assign_add(x)
        if options is not None:
            w.assign(x * 3.0)
        return x * 2.0

    run = step if options is None else tf.function(step, **options)
    for _ in range(2):
        assert run(x).location == "cuda:0"
    assert all(isinstance(y.data, np.ndarray | np.generic) for y in (w, total, count))
    assert (float(total), int(count), v.location) == (3.0, 2, "cuda:0")
    assert isinstance(steps.place.data, DeviceArray) and steps.numpy() == 7.0
    np.testing.assert_array_equal(w, [1.0, 2.0] if options is None else [3.0, 6.0])
    np.testing.assert_array_equal(v.numpy(), [2.0, 4.0])
    with pytest.raises(ValueError, match="assign: operand 0 is on 'cpu:0' and operand 1 on 'cuda:0'"):
        w.assign(x)


def _clipped(w: Any) -> Any:
    return tf.clip_by_value(w, -1.0, 1.0)


def test_a_variable_of_a_device_has_the_guard_of_its_place_and_copies_have_its_options() -> None:
    """Ops and compiled calls take that of the place, methods the variable's: two of them would lose what threads add."""
    for first in (lambda v: v, lambda v: v.place):
        with tf.device("cuda"):
            v = tf.Variable(
                [0.5], constraint=_clipped, aggregation=tf.VariableAggregation.MEAN, trainable=False
            )
        guard = guard_of(first(v))
        assert guard is guard_of(v) is guard_of(v.place)
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert (other.constraint, other.aggregation) == (_clipped, tf.VariableAggregation.MEAN)
        assert guard_of(other) is not guard_of(v)
        assert other.location == "cuda:0" and not other.trainable


def test_numbers_stand_beside_tensors_of_the_device_in_traces() -> None:
    with tf.device("cuda"):
        x, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
        number = tf.constant(2.0)

    @tf.function
    def f(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            y = 0.5 * b + number * 3.0
        else:
            y = b - 1.0
        return x * y + 2.0 * b + np.ones(2, np.float32) * number

    np.testing.assert_allclose(f(x).numpy(), [1 * 7.5 + 6 + 2, 2 * 8 + 8 + 2])
    np.testing.assert_allclose(f(-x).numpy(), [-1 * 2 + 6 + 2, -2 * 3 + 8 + 2])


def test_unwritten_elements_are_where_the_others_are() -> None:
    with tf.device("cuda"):
        x = tf.constant([1.0, 2.0])
    array = tf.TensorArray(tf.float32, size=3).write(1, x)
    np.testing.assert_array_equal(array.stack().numpy(), [[0, 0], [1, 2], [0, 0]])


def test_a_variable_made_of_an_argument_in_the_first_call() -> None:
    made: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(x * 2.0))
        return made[0] * x

    with tf.device("cuda"):
        x = tf.constant([1.0, 2.0])
        for _ in range(2):
            np.testing.assert_array_equal(f(x).numpy(), [2.0, 8.0])
    assert made[0].location == "cuda:0"


@pytest.mark.fake_device  # a real one has too much memory
def test_a_device_without_memory_is_told_at_the_op_and_at_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    class OutOfMemoryError(MemoryError):
        """As CuPy's."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OutOfMemoryError("Out of memory allocating 4,096 bytes")

    with tf.device("cuda"):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    f = tf.function(lambda x: tf.nn.softmax(x @ x) + 1.0, jit_compile=True)
    want = f(x).numpy()
    lib = library()
    with monkeypatch.context() as patch:
        for name in ("asarray", "exp", "ndarray"):
            patch.setattr(
                lib,
                name,
                refuse if name != "ndarray" else type("ndarray", (lib.ndarray,), {"__init__": refuse}),
            )
        for use, words in (
            (lambda: tf.exp(x), "^exp: Out of memory"),
            (lambda: f(x), "^matmul: .*Out of memory"),
            (lambda: tf.constant([1.0, 2.0]).gpu(), r"^device: 'cuda:0' has no room .*\(2,\).*Out of memory"),
        ):
            with pytest.raises(tf.errors.ResourceExhaustedError, match=words):
                use()
    np.testing.assert_array_equal(f(x).numpy(), want)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_numbers_of_two_bytes_are_computed_in_plans_as_on_the_cpu(dtype: Any) -> None:
    """`round` among them, whose name is not that of the rounding to the dtype."""

    def f(x: Any, w: Any) -> Any:
        y = tf.tanh(x @ w) * 2.5 + tf.cast(0.1, dtype)
        return tf.round(x * 3.0), y, tf.reduce_sum(y, 0), tf.nn.softmax(y), tf.floor(y)

    numbers = np.random.default_rng(4)
    given = [tf.cast(numbers.normal(size=shape), dtype) for shape in ((5, 4), (4, 3))]
    want = f(*given)
    for run in (f, tf.function(f, jit_compile=True)):
        with tf.device("cuda"):
            found = run(*[tf.constant(x) for x in given])
        for y, z in zip(found, want, strict=True):
            assert y.location == "cuda:0" and y.dtype == dtype
            np.testing.assert_allclose(
                tf.cast(y, tf.float32).numpy(), tf.cast(z, tf.float32).numpy(), rtol=0.02, atol=0.02
            )
    np.testing.assert_array_equal(found[0].numpy(), want[0].numpy())


def test_places_of_splits_may_be_tensors_of_the_device() -> None:
    from graphad import numpy as gnp

    x, few, one = np.arange(12.0).reshape(3, 4), np.array([0, 2]), np.array(1)
    calls: dict[str, tuple[Any, Any]] = {
        "delete": (gnp.delete, np.delete),
        "insert": (
            lambda y, i, axis: gnp.insert(y, i, 7.0, axis),
            lambda y, i, axis: np.insert(y, i, 7.0, axis),
        ),
        "array_split": (gnp.array_split, np.array_split),
        "split": (gnp.split, np.split),
        "hsplit": (lambda y, i, axis: gnp.hsplit(y, i), lambda y, i, axis: np.hsplit(y, i)),
    }
    with tf.device("cuda"):
        y = tf.constant(x)
        for own, numpys in calls.values():
            for places in (few, one):
                found, want = own(y, tf.constant(places), 1), numpys(x, places, 1)
                if not isinstance(found, list):
                    found, want = [found], [want]
                assert all(part.location == "cuda:0" for part in found)
                for part, values in zip(found, want, strict=True):
                    np.testing.assert_array_equal(part, values)
        (first, _) = gnp.split(y, [tf.constant(2)], 1)  # a list of tensors too
        np.testing.assert_array_equal(first, x[:, :2])
        np.testing.assert_array_equal(np.add.reduceat(y, tf.constant(few), 1), np.add.reduceat(x, few, 1))


def test_a_loop_of_the_device_runs_there_though_its_rounds_are_pythons() -> None:
    seen: list[Any] = []

    def noted(x: Any) -> Any:
        seen.append(x.location)
        return x

    def f(x: Any) -> Any:
        for _ in tf.range(20):
            x = tf.ensure_shape(tf.py_function(noted, [x * 0.5], tf.float64), [2]) + 1.0
        return x

    x = np.array([1.0, 2.0])
    with tf.device("cuda"):
        y = tf.function(f)(tf.constant(x))
    assert seen == ["cuda:0"] * 20 and y.location == "cuda:0"
    for _ in range(20):
        x = x * 0.5 + 1.0
    np.testing.assert_array_equal(y, x)
