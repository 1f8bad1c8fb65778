"""Small programs with fixed numbers: tapes, custom gradients, Jacobians, saved models, layers.

Each takes the library as `tf` and returns named results: tensors, None, or plain tuples such as shapes. They follow the topics
of TensorFlow's guide to advanced automatic differentiation, with fixed weights where the guide draws random ones, and then
those of layers, losses, metrics and optimizers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Results = dict[str, Any]


def pattern(*shape: int, scale: float = 1.0, shift: float = 0.0) -> np.ndarray:
    """Fixed float32 numbers without structure: fractional parts of multiples of the golden ratio, in [-scale, scale)."""
    steps = np.arange(1, int(np.prod(shape)) + 1, dtype=np.float64) * 0.6180339887498949 + shift
    return ((steps % 1.0) * 2 - 1).astype(np.float32).reshape(shape) * np.float32(scale)


def dense(tf: Any, units: int, inputs: int, activation: Any, shift: float) -> Any:
    layer = tf.keras.layers.Dense(units, activation=activation)
    layer.build((None, inputs))
    layer.kernel.assign(pattern(inputs, units, shift=shift))
    layer.bias.assign(pattern(units, scale=0.3, shift=2 * shift))
    return layer


# ---- what a tape records


def stop_recording(tf: Any) -> Results:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        x_squared = x * x
        with tape.stop_recording():
            y_squared = y * y
        z = x_squared + y_squared
    gradients = tape.gradient(z, {"x": x, "y": y})
    return {"z": z, "x": gradients["x"], "y": gradients["y"]}


def reset(tf: Any) -> Results:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y_squared = y * y
        tape.reset()
        z = x * x + y_squared
    gradients = tape.gradient(z, {"x": x, "y": y})
    return {"z": z, "x": gradients["x"], "y": gradients["y"]}


def stop_gradient(tf: Any) -> Results:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = x**2 + tf.stop_gradient(y**2)
    gradients = tape.gradient(z, {"x": x, "y": y})
    return {"z": z, "x": gradients["x"], "y": gradients["y"]}


def two_tapes(tf: Any) -> Results:
    a, b = tf.constant(0.0), tf.constant(0.0)
    with tf.GradientTape() as first, tf.GradientTape() as second:
        first.watch(a)
        second.watch(b)
        total = tf.reduce_sum(tf.math.sin(a) + tf.nn.sigmoid(b))
    return {"a": first.gradient(total, a), "b": second.gradient(total, b)}


def variable_reassigned(tf: Any) -> Results:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        x.assign(5.0)
        z = y + x
    return {"z": z, "gradient": tape.gradient(z, x), "now": x.numpy()}


def several_targets(tf: Any) -> Results:
    x, y = tf.constant(2.0), tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        a, b = x * x, x * y
    return {
        "targets": tape.gradient([a, b], x),
        "repeated": tape.gradient([a, a], x),
        "target_is_source": tape.gradient([x, a], x),
        "none": tape.gradient(a, y),
        "zero": tape.gradient(a, y, unconnected_gradients="zero"),
        "output_gradients": tape.gradient([a, b], [x, y], output_gradients=[3.0, tf.constant([0.5, -1.0])])[
            0
        ],
    }


def gather_gradient(tf: Any) -> Results:
    table = tf.Variable(pattern(5, 2))
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [3, 0, 3])
        total = tf.reduce_sum(rows * rows)
    return {"gradient": tf.convert_to_tensor(tape.gradient(total, table))}


# ---- custom gradients


def clipping(tf: Any, limit: float = 0.5) -> Callable[[Any], Any]:
    @tf.custom_gradient
    def clip_gradients(y: Any) -> Any:
        def backward(dy: Any) -> Any:
            return tf.clip_by_norm(dy, limit)

        return y, backward

    return clip_gradients


def custom_gradient(tf: Any) -> Results:
    clip_gradients = clipping(tf)
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        output = clip_gradients(v * v)
    return {"output": output, "gradient": tape.gradient(output, v)}


def custom_gradient_second_order(tf: Any) -> Results:
    @tf.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = tf.constant([-2.0, 0.5, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = log1pexp(x)
        g = inner.gradient(y, x)
    return {"y": y, "g": g, "h": outer.gradient(g, x)}


def saved_custom_gradient(tf: Any) -> Results:
    clip_gradients = clipping(tf)

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None)])
        def call_custom_grad(self, x: Any) -> Any:
            return clip_gradients(x)

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
        tf.saved_model.save(Model(), path, options=options)
        loaded = tf.saved_model.load(path)
        v = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            output = loaded.call_custom_grad(v * v)
        gradient = tape.gradient(output, v)
    return {"output": output, "gradient": gradient}


# ---- higher order


def second_derivative(tf: Any) -> Results:
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        g = inner.gradient(y, x)
    return {"g": g, "h": outer.gradient(g, x)}


def input_gradient_regularization(tf: Any) -> Results:
    x = tf.constant(pattern(7, 5))
    layer = dense(tf, 10, 5, tf.nn.relu, 0.25)
    with tf.GradientTape() as outer:
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(x)
            y = layer(x)
            out = tf.reduce_sum(layer(x) ** 2)
        g = inner.gradient(out, x)
        size = tf.norm(g)
    by_weights = outer.gradient(size, layer.trainable_variables)
    return {"y": y, "g": g, "size": size, "kernel": by_weights[0], "bias": by_weights[1]}


# ---- Jacobians


def jacobian_of_scalar(tf: Any) -> Results:
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    delta = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + delta)
    j = tape.jacobian(y, delta)
    return {"y": y, "j": j, "shape": tuple(j.shape)}


def jacobian_of_layer(tf: Any) -> Results:
    x = tf.constant(pattern(7, 5))
    layer = dense(tf, 10, 5, tf.nn.relu, 0.4)
    with tf.GradientTape(persistent=True) as tape:
        y = layer(x)
    j = tape.jacobian(y, layer.kernel)
    g = tape.gradient(y, layer.kernel)
    return {"shape": tuple(j.shape), "sum": tf.reduce_sum(j, axis=[0, 1]), "g": g, "row": j[2, 3]}


def hessian_and_newton_step(tf: Any) -> Results:
    x = tf.constant(pattern(7, 5))
    first, second = dense(tf, 8, 5, tf.nn.relu, 0.1), dense(tf, 6, 8, tf.nn.relu, 0.7)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean(second(first(x)) ** 2)
        g = inner.gradient(loss, first.kernel)
    h = outer.jacobian(g, first.kernel)
    parameters = tf.reduce_prod(first.kernel.shape)
    g_vector, h_matrix = tf.reshape(g, [parameters, 1]), tf.reshape(h, [parameters, parameters])
    # A larger shift than a real step would take keeps the solution well conditioned in float32.
    update = tf.linalg.solve(h_matrix + tf.eye(h_matrix.shape[0]) * 0.1, g_vector)
    first.kernel.assign_sub(tf.reshape(update, first.kernel.shape))
    return {
        "shape": tuple(h.shape),
        "loss": loss,
        "g": g,
        "h": h_matrix,
        "limit": tf.reduce_max(abs(h_matrix)),
        "kernel": first.kernel.numpy(),
    }


def batch_jacobian(tf: Any) -> Results:
    x = tf.constant(pattern(7, 5))
    first, second = dense(tf, 8, 5, tf.nn.elu, 0.15), dense(tf, 6, 8, tf.nn.elu, 0.65)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = second(first(x))
    j = tape.jacobian(y, x)
    # The image of all (batch, batch) patches that the guide plots.
    limit = tf.reduce_max(abs(j))
    patches = tf.transpose(j, [1, 0, 3, 2])
    patches = tf.pad(patches, [[0, 0], [1, 1], [0, 0], [1, 1]], constant_values=-limit)
    s = patches.shape
    return {
        "y": y,
        "shape": tuple(j.shape),
        "slice": j[:, 0, :, 0],
        "image": tf.reshape(patches, [s[0] * s[1], s[2] * s[3]]),
        "sum": tf.reduce_sum(j, axis=2),
        "select": tf.einsum("bxby->bxy", j),
        "batch": tape.batch_jacobian(y, x),
        "batch_by_loop": tape.batch_jacobian(y, x, experimental_use_pfor=False),
    }


def batch_jacobian_of_square(tf: Any) -> Results:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return {"batch": tape.batch_jacobian(y, x)}


def jacobian_through_batch_normalization(tf: Any) -> Results:
    x = tf.constant(pattern(7, 5))
    first, second = dense(tf, 8, 5, tf.nn.elu, 0.35), dense(tf, 6, 8, tf.nn.elu, 0.85)
    normalize = tf.keras.layers.BatchNormalization()
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = second(normalize(first(x), training=True))
    j = tape.jacobian(y, x)
    return {"y": y, "j": j, "shape": tuple(j.shape)}


# ---- functions and control flow


def function_with_loop(tf: Any) -> Results:
    @tf.function
    def newton(x: Any, n: Any) -> Any:
        y = x
        for _ in tf.range(n):
            y = 0.5 * (y + x / y)
        return y

    x = tf.constant([2.0, 9.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = newton(x, tf.constant(6))
    return {"y": y, "g": tape.gradient(y, x)}


def function_with_branches(tf: Any) -> Results:
    @tf.function
    def f(x: Any) -> Any:
        if x > 1.0:
            y = x * x
        elif x < -1.0:
            y = -x
        else:
            y = 2.0 * x
        while y > 10.0:
            y = y / 3.0
        return y

    results = {}
    for number in (-2.0, 0.5, 2.0, 7.0):
        x = tf.constant(number)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        results[f"y({number})"], results[f"g({number})"] = y, tape.gradient(y, x)
    return results


def loop_ops(tf: Any) -> Results:
    x = tf.constant(pattern(4, 3))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        scanned = tf.scan(lambda carry, row: tf.tanh(carry) + row, x, initializer=tf.zeros([3]))
        mapped = tf.map_fn(lambda row: tf.reduce_sum(row * row), x)
        _, looped = tf.while_loop(
            lambda i, y: i < 4, lambda i, y: (i + 1, y * x[i] + 1.0), [tf.constant(0), x[0]]
        )
        chosen = tf.cond(tf.reduce_sum(x) > 100.0, lambda: x * 3.0, lambda: x * x)
    values = {"scan": scanned, "map": mapped, "while": looped, "cond": chosen}
    return {**values, **{f"{name}_gradient": tape.gradient(y, x) for name, y in values.items()}}


# ---- layers


def dense_layer(tf: Any) -> Results:
    x = tf.constant(pattern(4, 3))
    layer = dense(tf, 2, 3, tf.nn.tanh, 0.5)
    plain = tf.keras.layers.Dense(2, use_bias=False)
    plain.build((None, 3))
    plain.kernel.assign(pattern(3, 2, shift=0.9))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x) * plain(x)
    gradients = tape.gradient(y, [x, *layer.trainable_variables, *plain.trainable_variables])
    return {"y": y, **{f"g{i}": g for i, g in enumerate(gradients)}}


def dense_layer_higher_rank(tf: Any) -> Results:
    layer = dense(tf, 4, 3, None, 0.2)
    return {"y": layer(tf.constant(pattern(2, 5, 3)))}


def batch_normalization_layer(tf: Any) -> Results:
    layer = tf.keras.layers.BatchNormalization()
    layer.build((None, 3))
    layer.gamma.assign([1.5, -0.5, 1.0])
    layer.beta.assign([0.1, 0.2, 0.3])
    x = tf.constant(pattern(6, 3, scale=2.0))
    results: Results = {}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
        loss = tf.reduce_sum(y * pattern(6, 3, shift=0.4))
    gradients = tape.gradient(loss, [x, layer.gamma, layer.beta])
    results |= {"train": y, "train_x": gradients[0], "train_gamma": gradients[1], "train_beta": gradients[2]}
    results |= {"mean_1": layer.moving_mean.numpy(), "variance_1": layer.moving_variance.numpy()}
    for _ in range(3):
        layer(x + 1.0, training=True)
    results |= {"mean_4": layer.moving_mean.numpy(), "variance_4": layer.moving_variance.numpy()}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=False)
        loss = tf.reduce_sum(y * pattern(6, 3, shift=0.4))
    gradients = tape.gradient(loss, [x, layer.gamma, layer.beta])
    results |= {"infer": y, "infer_x": gradients[0], "infer_gamma": gradients[1], "infer_beta": gradients[2]}
    return {**results, "default": layer(x)}


def batch_normalization_options(tf: Any) -> Results:
    layer = tf.keras.layers.BatchNormalization(axis=1, momentum=0.5, epsilon=0.1, center=False, scale=False)
    x = tf.constant(pattern(4, 2, 5))
    y = layer(x, training=True)
    return {"y": y, "mean": layer.moving_mean.numpy(), "variance": layer.moving_variance.numpy()}


def frozen_batch_normalization(tf: Any) -> Results:
    layer = tf.keras.layers.BatchNormalization(trainable=False)
    y = layer(tf.constant(pattern(4, 2)), training=True)
    return {"y": y, "mean": layer.moving_mean.numpy(), "variance": layer.moving_variance.numpy()}


def sequential_model(tf: Any) -> Results:
    model = tf.keras.Sequential(
        [tf.keras.layers.Flatten(), tf.keras.layers.Dense(3, "tanh"), tf.keras.layers.Dropout(1.0)]
    )
    model.build((None, 2, 2))
    model.set_weights([pattern(4, 3), pattern(3, shift=0.3)])
    x = tf.constant(pattern(5, 2, 2))
    return {"infer": model(x), "train": model(x, training=True), "kernel": model.get_weights()[0]}


def activations_by_name(tf: Any) -> Results:
    names = (
        "elu",
        "exponential",
        "gelu",
        "leaky_relu",
        "log_softmax",
        "relu",
        "selu",
        "sigmoid",
        "softmax",
        "softplus",
    )
    results: Results = {}
    for name in (*names, "swish", "silu", "tanh", "linear"):
        layer = dense(tf, 3, 2, name, 0.7)
        results[name] = layer(tf.constant(pattern(4, 2, scale=3.0)))
    return results


# ---- losses and metrics


def _with_gradient(tf: Any, loss: Any, y_pred: Any, **options: Any) -> list[Any]:
    x = tf.constant(y_pred)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(x, **options)
    return [y, tape.gradient(y, x)]


def losses(tf: Any) -> Results:
    made = tf.keras.losses
    real, labels = pattern(4, 3), np.array([0, 2, 1, 2])
    hot = np.eye(3, dtype=np.float32)[labels]
    logits = pattern(4, 3, scale=3.0, shift=0.4)
    odds = np.exp(logits)  # they do not sum to 1
    sharp = np.array([[1, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5], [0, 0.5, 0.5]], np.float32)
    cases = {
        "square": (lambda p, **o: made.MeanSquaredError(**o), real, logits),
        "absolute": (lambda p, **o: made.MeanAbsoluteError(**o), real, logits),
        "square_column": (lambda p, **o: made.MeanSquaredError(**o), real[:, 0], logits[:, :1]),
        "absolute_column": (lambda p, **o: made.MeanAbsoluteError(**o), real[:, :1], logits[:, 0]),
        "sparse_logits": (
            lambda p, **o: made.SparseCategoricalCrossentropy(from_logits=True, **o),
            labels,
            logits,
        ),
        "sparse_column": (lambda p, **o: made.SparseCategoricalCrossentropy(**o), labels[:, None], odds),
        "sparse_sharp": (
            lambda p, **o: made.SparseCategoricalCrossentropy(**o),
            labels.astype(np.float32),
            sharp,
        ),
        "hot_logits": (lambda p, **o: made.CategoricalCrossentropy(from_logits=True, **o), hot, logits),
        "hot_sharp": (lambda p, **o: made.CategoricalCrossentropy(**o), hot, sharp),
        "smooth": (lambda p, **o: made.CategoricalCrossentropy(label_smoothing=0.2, **o), hot, odds),
        "smooth_logits": (lambda p, **o: made.CategoricalCrossentropy(True, 0.1, **o), hot, logits),
    }
    weights = np.array([1.0, 0.0, 2.0, 0.5], np.float32)
    results: Results = {}
    for name, (make, y_true, y_pred) in cases.items():
        for reduction in ("sum_over_batch_size", "sum", "none"):
            for kind, sample_weight in (
                ("plain", None),
                ("weights", weights),
                ("column", weights[:, None]),
                ("all", 3.0),
            ):
                loss = make(None, reduction=reduction)
                found = _with_gradient(
                    tf, lambda p, l=loss, t=y_true, w=sample_weight: l(t, p, sample_weight=w), y_pred
                )
                key = f"{name}_{reduction}_{kind}"
                results |= {key: found[0], f"{key}_gradient": found[1]}
    integers = made.MeanSquaredError()(np.array([[1, 2]]), np.array([[1, 3]]))
    return {**results, "integers": integers}


def metrics(tf: Any) -> Results:
    made, predictions, labels = tf.keras.metrics, pattern(2, 4, 3), np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
    results: Results = {}
    mean = made.Mean()
    results["nothing"] = mean.result()
    updates = {"one": (pattern(3), None), "two": (2.0, None), "weights": (pattern(2, 3), pattern(2, 3, shift=0.3)),
               "rows": (pattern(2, 3), np.array([1.0, 3.0], np.float32)), "all": (pattern(2, 3), 0.5),
               "column": (pattern(3), np.ones((3, 1), np.float32))}  # fmt: skip
    for name, (values, weights) in updates.items():
        mean.update_state(values, sample_weight=weights)
        results[name] = mean.result()
    mean.reset_state()
    results["reset"] = mean.result()
    accuracy = made.SparseCategoricalAccuracy()
    rows = {"flat": (labels[0], predictions[0], None), "column": (labels[0][:, None], predictions[0], None),
            "floats": (labels[0].astype(np.float32), predictions[0], None), "steps": (labels, predictions, None),
            "weights": (labels[0], predictions[0], np.array([1.0, 0.0, 2.0, 3.0], np.float32)),
            "of_rows": (labels, predictions, np.array([1.0, 3.0], np.float32))}  # fmt: skip
    for name, (y_true, y_pred, weights) in rows.items():
        accuracy.update_state(y_true, y_pred, sample_weight=weights)
        results[f"accuracy_{name}"] = accuracy.result()
    return {**results, "variables": np.array([v.numpy() for v in accuracy.variables])}


# ---- optimizers


def optimizer_steps(tf: Any) -> Results:
    made = tf.keras.optimizers
    optimizers = {
        "sgd": made.SGD(), "sgd_rate": made.SGD(learning_rate=0.3), "momentum": made.SGD(0.1, momentum=0.9),
        "nesterov": made.SGD(0.1, momentum=0.8, nesterov=True), "nesterov_alone": made.SGD(0.1, nesterov=True),
        "adam": made.Adam(), "adam_options": made.Adam(0.05, beta_1=0.7, beta_2=0.9, epsilon=1e-2),
    }  # fmt: skip
    results: Results = {}
    for name, optimizer in optimizers.items():
        variables = [tf.Variable(pattern(2, 3)), tf.Variable(0.5), tf.Variable(pattern(4, 2))]
        for step in range(5):
            with tf.GradientTape() as tape:
                a, b, table = variables
                loss = tf.reduce_sum(tf.exp(a) * b) + tf.reduce_sum(tf.gather(table, [0, 2]) ** 2) + b * b
            pairs = zip(tape.gradient(loss, variables), variables, strict=True)
            optimizer.apply_gradients(pairs)
            results |= {f"{name}_{step}_{k}": v.numpy() for k, v in enumerate(variables)}
        results[f"{name}_iterations"] = optimizer.iterations.numpy()
    return results


PROGRAMS: dict[str, Callable[[Any], Results]] = {
    f.__name__: f
    for f in (
        stop_recording, reset, stop_gradient, two_tapes, variable_reassigned, several_targets, gather_gradient,
        custom_gradient, custom_gradient_second_order, saved_custom_gradient,
        second_derivative, input_gradient_regularization,
        jacobian_of_scalar, jacobian_of_layer, hessian_and_newton_step, batch_jacobian, batch_jacobian_of_square,
        jacobian_through_batch_normalization,
        function_with_loop, function_with_branches, loop_ops,
        dense_layer, dense_layer_higher_rank, batch_normalization_layer, batch_normalization_options,
        frozen_batch_normalization, sequential_model, activations_by_name, losses, metrics, optimizer_steps,
    )
}  # fmt: skip


def to_plain(value: Any) -> Any:
    """A result as NumPy holds it; tuples of sizes as integers."""
    if value is None:
        return None
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)
