"""Functions on a device run as plans there: launches of kernels, products and loops, in the device's own memory."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler import cache, service
from graphad.compiler.backend import host_code
from graphad.compiler.cuda import build, walk
from graphad.compiler.plan.executable import executable_of
from graphad.core.dtypes import float32
from graphad.devices import notes, streams
from graphad.devices.library import library, set_library
from graphad.devices.tensor import DeviceTensor
from graphad.kernels import forms
from graphad.kernels.collapse import collapse
from graphad.kernels.forms import Kernel
from tests.compiler.test_backend import CASES
from tests.devices import fake_cupy, fake_driver


def there(x: Any, place: str = "cuda") -> Any:
    with tf.device(place):
        return tf.constant(x)


def plans_of(concrete: Any, place: str = "cuda:0") -> list[Any]:
    """The native plans of a concrete function on a device."""
    return [sizes.bound for sizes in executable_of(concrete.graph, place)._sizes.values() if sizes.bound]


def close(found: Any, want: Any, rtol: float = 2e-5) -> None:
    assert isinstance(found, DeviceTensor)
    np.testing.assert_allclose(found.numpy(), want, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_plan_gives_what_the_cpu_gives(name: str) -> None:
    function, values = CASES[name]
    f = tf.function(lambda *xs: function(*xs), jit_compile=True)
    want = tf.nest.flatten(f(*map(tf.constant, values)))
    given = [there(x) for x in values]
    for _ in range(2):  # the second with the memory of the first
        fake_driver.launches.clear()
        for mine, other in zip(tf.nest.flatten(f(*given)), want, strict=True):
            assert mine.dtype == other.dtype
            close(mine, other.numpy())
    assert fake_driver.launches


@pytest.mark.parametrize("threads", [(4, 2)])
@pytest.mark.parametrize("name", ["a map and sums", "a normalisation", "rows of a softmax"])
def test_blocks_of_several_threads_give_the_same(
    name: str, threads: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: threads if y > 1 else (threads[0], 1))
    function, values = CASES[name]
    values = [x[:3, :70] if x.ndim == 2 else x[:70] for x in values]
    f = tf.function(lambda *xs: function(*xs), jit_compile=True)
    want = f(*map(tf.constant, values))
    for mine, other in zip(f(*[there(x) for x in values]), want, strict=True):
        close(mine, other.numpy())


class Net(tf.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        numbers = np.random.default_rng(5)
        self.w1 = tf.Variable(numbers.normal(size=(4, 8)).astype(np.float32))
        self.b1 = tf.Variable(tf.zeros([8]))
        self.w2 = tf.Variable(numbers.normal(size=(8, 3)).astype(np.float32))

    def __call__(self, x: Any) -> Any:
        return tf.tanh(x @ self.w1 + self.b1) @ self.w2


def trained(place: str, optimizer: Any) -> tuple[list[float], Any]:
    numbers = np.random.default_rng(3)
    x = numbers.normal(size=(6, 4)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 1, 2]]
    with tf.device(place):
        net, rule = Net(), optimizer()

        @tf.function(jit_compile=True)
        def step(x: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, net(x)))
            gradients = tape.gradient(loss, net.trainable_variables)
            rule.apply_gradients(zip(gradients, net.trainable_variables))
            return loss

        x, labels = tf.constant(x), tf.constant(labels)
        losses = [float(step(x, labels)) for _ in range(6)]
        return losses, step.get_concrete_function(x, labels)


@pytest.mark.parametrize(
    "optimizer",
    [lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), lambda: tf.keras.optimizers.Adam(0.05)],
    ids=["momentum", "adam"],
)
def test_a_training_step_is_one_plan_on_the_device(optimizer: Any) -> None:
    here, _ = trained("cpu", optimizer)
    before = dict(notes.runs_on_host)
    found, concrete = trained("cuda", optimizer)
    np.testing.assert_allclose(found, here, rtol=1e-5)
    (bound,) = plans_of(concrete)
    assert all(unit.kind != "host" for unit in bound.partition.units), "no step in Python"
    assert fake_driver.products and notes.runs_on_host == before


def test_a_product_over_nothing_is_zeros() -> None:
    f = tf.function(lambda a, b: tf.matmul(a, b) + 1.0, jit_compile=True)
    for shape, other in (((3, 0), (0, 2)), ((2, 3, 0), (2, 0, 2)), ((0, 4), (4, 2))):
        a, b = np.ones(shape, np.float32), np.ones(other, np.float32)
        np.testing.assert_array_equal(f(there(a), there(b)).numpy(), a @ b + 1)


def test_long_reductions_are_cut_into_parts_that_the_last_block_adds_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: (4, 2) if y > 1 else (4, 1))
    x = np.random.default_rng(0).normal(size=(3, 9000)).astype(np.float32)
    tall = np.ascontiguousarray(x.reshape(-1, 3)[:700])
    f = tf.function(
        lambda x, y: (tf.reduce_sum(x), tf.reduce_max(x, 1), tf.reduce_sum(y, 0)), jit_compile=True
    )
    for _ in range(2):  # counters are 0 again
        total, most, columns = f(there(x), there(tall))
        close(total, x.sum(dtype=np.float64), 1e-5)
        close(most, x.max(1))
        close(columns, tall.sum(0, dtype=np.float64))


def test_steps_wait_for_nothing_and_copy_nothing() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.nn.softmax(x @ x)) + tf.reduce_mean(x, 0)

    x = there(np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32))
    f(x)
    fake_driver.copies.clear()
    fake_cupy.calls.clear()
    f(x)
    assert not fake_driver.copies
    assert set(fake_cupy.calls) <= {"empty", "reshape"}, "memory for results is all that CuPy is asked for"


def test_jacobians_and_hessians() -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.sin(x) * x**3)
            g = inner.gradient(y, x)
        return g, outer.jacobian(g, x)

    x = np.array([0.5, -1.0, 2.0], np.float32)
    compiled = tf.function(f, jit_compile=True)
    want = compiled(tf.constant(x))
    for mine, other in zip(compiled(there(x)), want, strict=True):
        close(mine, other.numpy())
    assert fake_driver.launches


def test_gradients_through_a_call_are_plans_too() -> None:
    f = tf.function(lambda x: tf.reduce_sum(tf.tanh(x) * tf.exp(-x * x)), jit_compile=True)
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    found = {}
    for place in ("cpu", "cuda"):
        given = there(x, place)
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = f(given)
        fake_driver.launches.clear()
        found[place] = tape.gradient(y, given)
    assert fake_driver.launches
    close(found["cuda"], found["cpu"].numpy())


def test_control_flow_assignments_and_random_numbers() -> None:
    def make() -> Any:
        total = tf.Variable(tf.zeros([3]))

        @tf.function(jit_compile=True)
        def f(x: Any, n: Any) -> Any:
            for i in tf.range(n):
                x = tf.sin(x) + tf.cast(i, tf.float32) * 0.1
            if tf.reduce_sum(x) > 0:
                y = tf.exp(x)
            else:
                y = x * x
            total.assign_add(y)
            noise = tf.random.stateless_normal([3], seed=[1, 2])
            return y + noise, total * 2.0, tf.random.stateless_uniform([4], seed=[3, 4])

        return f

    x = np.array([0.1, 0.2, 0.3], np.float32)
    found = {}
    for place in ("cpu", "cuda"):
        with tf.device(place):
            f = make()
            f(tf.constant(x), tf.constant(3))
            found[place] = f(tf.constant(-x), tf.constant(2))
    for mine, other in zip(found["cuda"], found["cpu"], strict=True):
        close(mine, other.numpy())
    assert found["cuda"][2].numpy().tobytes() == found["cpu"][2].numpy().tobytes()
    assert fake_driver.launches


def test_a_scan_and_its_gradient_run_in_one_plan() -> None:
    def f(x: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch((x, w))
            states = tf.scan(lambda h, row: tf.tanh(h @ w + row), x, initializer=tf.zeros((2, 3)))
            y = tf.reduce_sum(tf.sin(states))
        return [y, *tape.gradient(y, (x, w))]

    numbers = np.random.default_rng(2)
    values = [numbers.normal(size=s).astype(np.float32) for s in ((4, 2, 3), (3, 3))]
    compiled = tf.function(f, jit_compile=True)
    want = compiled(*map(tf.constant, values))
    fake_driver.products.clear()
    for mine, other in zip(compiled(*[there(x) for x in values]), want, strict=True):
        close(mine, other.numpy())
    assert len(fake_driver.products) >= 4 * 3


def test_what_is_hot_is_compiled_behind_the_first_calls() -> None:
    import time

    f = tf.function(lambda x: tf.sin(x) * 2.0 + tf.cos(x))
    x = there(np.arange(5, dtype=np.float32))
    concrete = f.get_concrete_function(x)
    found = [f(x) for _ in range(4)]
    deadline = time.monotonic() + 600
    while not plans_of(concrete) and time.monotonic() < deadline:
        time.sleep(0.01)
        found.append(f(x))
    assert plans_of(concrete) and fake_driver.launches
    for y in found:
        close(y, np.sin(np.arange(5)) * 2 + np.cos(np.arange(5)))


def test_each_device_has_plans_of_its_own() -> None:
    f = tf.function(lambda x: tf.exp(x) + 1.0, jit_compile=True)
    x = np.arange(3, dtype=np.float32)
    for place in ("cuda:0", "cuda:1", "cpu"):
        assert f(there(x, place)).location == (place if place != "cpu" else "cpu:0")
    concrete = f.get_concrete_function(there(x))
    assert plans_of(concrete, "cuda:0") and plans_of(concrete, "cuda:1")
    assert plans_of(concrete, "cuda:0")[0].backend is not plans_of(concrete, "cuda:1")[0].backend


def test_a_view_and_a_number_of_the_cpu_are_arguments_too() -> None:
    f = tf.function(lambda x, s: tf.sin(x) * s, jit_compile=True)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for _ in range(2):
        close(f(tf.transpose(there(x)), tf.constant(2.0)), np.sin(x.T) * 2)
    v = tf.Variable(x)
    with tf.device("cuda"):
        w = tf.Variable(x)
        w.assign(tf.reshape(tf.transpose(tf.constant(x.reshape(3, 2))), (2, 3)))
    g = tf.function(lambda: w * 2.0, jit_compile=True)
    close(g(), w.numpy() * 2)
    assert v.location == "cpu:0"


def test_a_refused_launch_names_its_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch")

    f = tf.function(lambda x: tf.tanh(x) * 3.0, jit_compile=True)
    x = there(np.ones(4, np.float32))
    monkeypatch.setattr(fake_driver, "launchKernel", refuse)
    with pytest.raises(RuntimeError, match=r"tanh, mul: the device refused the step \(CUDA_ERROR_LAUNCH"):
        f(x)


@pytest.mark.fake_device  # a real one is lost with such a fault
def test_an_address_of_the_host_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphad.compiler.cuda.backend import Cuda

    kept = np.arange(3, dtype=np.float32)
    monkeypatch.setattr(Cuda, "constant", lambda self, array: (kept.ctypes.data, kept))
    f = tf.function(lambda x: tf.sin(x) + kept, jit_compile=True)
    with pytest.raises(RuntimeError, match="which is the host's"):
        f(there(np.ones(3, np.float32)))


def test_a_model_saved_from_the_device_runs_as_a_plan_again(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    with tf.device("cuda"):
        net = Net()
        net.call = tf.function(lambda x: net(x), input_signature=[tf.TensorSpec([None, 4], tf.float32)])
        want = net(tf.constant(x)).numpy()
        tf.saved_model.save(net, tmp_path / "model")
        loaded = tf.saved_model.load(tmp_path / "model")
        again = tf.function(lambda x: loaded.call(x), jit_compile=True)
        fake_driver.launches.clear()
        close(again(tf.constant(x)), want)
    assert fake_driver.launches
    np.testing.assert_allclose(tf.saved_model.load(tmp_path / "model").call(tf.constant(x)), want, rtol=1e-5)


def tanh_kernel() -> Kernel:
    return collapse(forms.call("tanh", [float32]), (9,), [(9,)]).kernel


def test_cubins_are_kept_by_processor_and_width() -> None:
    kernel = tanh_kernel()
    keys = {build.key_of(kernel, processor, narrow) for processor in ("80", "90") for narrow in (True, False)}
    assert len(keys) == 4


@pytest.mark.fake_device  # whose memory of cubins is emptied before each test
@pytest.mark.parametrize("payload", [b"", b"kernel", b"\xff\xfe\nrest", b"\nrest"])
def test_a_damaged_cached_cubin_is_compiled_again(payload: bytes) -> None:
    kernel, store = tanh_kernel(), cache.default_cache()
    key = build.key_of(kernel, "90")
    store.put(key, payload)
    assert build.find(kernel, "90") is None and store.get(key) is None
    address = build.build(kernel, "90")
    assert build.find(kernel, "90") == address and store.get(key) not in (None, payload)


def test_a_damaged_cubin_of_the_worker_is_reported_and_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tanh_kernel()
    monkeypatch.setattr(
        service, "request", lambda key, text, callback, target: callback(key, b"\xff", None) or True
    )
    answers: list[Any] = []
    assert build.request(kernel, "90", lambda *answer: answers.append(answer))
    assert answers == [(None, "cuda: the cubin of a kernel is damaged")]
    assert cache.default_cache().get(build.key_of(kernel, "90")) is None


def test_a_plan_is_one_native_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    entry = walk.entry()
    monkeypatch.setattr(walk, "entry", lambda: lambda place: (calls.append(place), entry(place))[1])

    def f(x: Any, n: Any) -> Any:
        y, k = tf.nn.softmax(x @ x), 0
        while k < n:
            y, k = tf.tanh(y @ x), k + 1
        return y, tf.reduce_sum(y)

    f = tf.function(f, jit_compile=True)
    x = there(np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32))
    f(x, there(np.int32(3)))
    calls.clear()
    fake_driver.launches.clear()
    f(x, there(np.int32(3)))
    assert len(calls) == 1 and len(fake_driver.launches) > 3


def test_a_thread_without_a_context_gets_one() -> None:
    f = tf.function(lambda x: tf.sin(x) + 1.0, jit_compile=True)
    x = there(np.ones(3, np.float32))
    f(x)
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(f(x).numpy())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    np.testing.assert_allclose(found[0], np.sin(np.ones(3)) + 1, rtol=1e-6)


def test_a_refused_launch_names_the_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tf.function(lambda x: tf.reduce_sum(tf.tanh(x) @ x), jit_compile=True)
    x = there(np.ones((4, 4), np.float32))
    f(x)
    monkeypatch.setattr(fake_driver, "OFFSET", 1 << 60)  # every address is another one's from now on
    monkeypatch.setattr(streams._thread, "workspaces", {})
    with pytest.raises(
        RuntimeError, match=r"tanh: the device refused the step .*CUDA_LAUNCH_BLOCKING=1"
    ) as caught:
        f(x)
    assert any("test_plans.py" in note for note in caught.value.__notes__)


LAUNCH = fake_driver.launchKernel


def refusing(word: str) -> Any:
    """A driver that refuses launches of kernels whose text has a word."""

    def refuse(function: int, *given: Any) -> None:
        if word in fake_driver._functions[function - 1][1]:
            raise RuntimeError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch")
        LAUNCH(function, *given)

    return refuse


def test_a_refused_launch_in_a_loop_names_its_ops_and_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, n: Any) -> Any:
        y, k = x, 0
        while k < n:
            y = tf.nn.softmax(x @ y)
            for _ in tf.range(3):
                y = tf.tanh(y) * 2.0  # the line
            k = k + 1
        return y

    f = tf.function(f, jit_compile=True)
    given = there(np.ones((3, 3), np.float32)), there(np.int32(2))
    f(*given)
    monkeypatch.setattr(fake_driver, "launchKernel", refusing("exp_f32"))
    with pytest.raises(RuntimeError, match=r"exp.* in loop: the device refused the step") as caught:
        f(*given)
    monkeypatch.setattr(fake_driver, "launchKernel", refusing("tanh_f32"))
    with pytest.raises(RuntimeError, match=r"tanh, mul in loop in loop: the device refused") as caught:
        f(*given)
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(source, 1) if text.endswith("# the line"))
    assert any(f"test_plans.py:{line}" in note.replace('", line ', ":") for note in caught.value.__notes__)


def test_a_fault_that_comes_to_light_in_a_copy_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(RuntimeError):
        status = 700

    def fail(_: Any) -> None:
        raise Lost("cudaErrorIllegalAddress: an illegal memory access was encountered")

    x = there(np.ones(3, np.float32))
    monkeypatch.setattr(library(), "asnumpy", fail)
    with pytest.raises(RuntimeError, match=r"cuda:0: .*IllegalAddress.*run with CUDA_LAUNCH_BLOCKING=1"):
        x.numpy()
    with pytest.raises(
        RuntimeError, match=r"is lost since the fault that was reported before .*a new process"
    ):
        x.numpy()


def test_products_are_in_tf32_only_if_that_is_asked_for() -> None:
    x = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    f = tf.function(lambda x: tf.tanh(x @ x), jit_compile=True)
    given, found = there(x), {}
    want = np.tanh(x @ x)
    assert not tf.config.experimental.tensor_float_32_execution_enabled()
    try:
        for is_enabled in (False, True, False):
            tf.config.experimental.enable_tensor_float_32_execution(is_enabled)
            assert fake_cupy.precision["float32"] == (7 if is_enabled else 1), "CuPy's own products too"
            for _ in range(4):  # the last two as graphs, if addresses come again
                found[is_enabled] = np.abs(f(given).numpy() - want).max()
            assert found[is_enabled] > 1e-5 if is_enabled else found[is_enabled] < 1e-6
            assert fake_driver.modes.get(1, 0) == 0, "CuPy's handle is as it was"
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(False)


ENDLESS = """
define i32 @graphad_nothing() {
  ret i32 0
}
define i32 @graphad_one(ptr %target) {
  store i8 1, ptr %target
  ret i32 0
}
"""


def test_a_long_loop_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a driver that is native too: no Python runs before the loop itself looks for signals."""
    nothing, one = host_code(ENDLESS, ["graphad_nothing", "graphad_one"]).values()
    set_library(library(), lambda name: one if "DtoH" in name else nothing)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        while tf.reduce_sum(x) > 0.0:
            x = x + 1.0
        return x

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError("enough")

    signal.signal(signal.SIGALRM, stop)
    x = there(np.float32(1.0))
    entry = walk.entry()

    def armed(place: int) -> int:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        status: int = entry(place)
        return status

    monkeypatch.setattr(walk, "entry", lambda: armed)
    try:
        with pytest.raises(TimeoutError, match="enough"):
            f(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
