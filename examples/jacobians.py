"""Jacobians: by a scalar, by a tensor, second derivatives with a Newton step, and one small Jacobian per row of a batch."""

import warnings

import graphad as tf
from plotting import pyplot, save


def by_a_scalar() -> None:
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    delta = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + delta)
    dy = tape.jacobian(y, delta)
    print("by a scalar: ", y.shape, dy.shape)
    pyplot.title("A function and its derivative at every point, by one scalar")
    pyplot.plot(x.numpy(), y, label="y = sigmoid(x)")
    pyplot.plot(x.numpy(), dy, label="dy/dx")
    pyplot.legend()
    pyplot.xlabel("x")
    save("sigmoid")


def by_a_kernel() -> None:
    x = tf.random.normal([7, 5])
    layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
    with tf.GradientTape(persistent=True) as tape:
        y = layer(x)
    j = tape.jacobian(y, layer.kernel)
    g = tape.gradient(y, layer.kernel)
    gap = tf.reduce_max(abs(g - tf.reduce_sum(j, axis=[0, 1])))
    print(
        "by a kernel: ",
        y.shape,
        layer.kernel.shape,
        "->",
        j.shape,
        " summed against gradient:",
        f"{gap.numpy():.1e}",
    )


def newton_step() -> None:
    x = tf.random.normal([7, 5])
    first = tf.keras.layers.Dense(8, activation=tf.nn.relu)
    second = tf.keras.layers.Dense(6, activation=tf.nn.relu)

    def loss() -> tf.Tensor:
        return tf.reduce_mean(second(first(x)) ** 2)

    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            before = loss()
        g = inner.gradient(before, first.kernel)
    h = outer.jacobian(g, first.kernel)
    size = tf.reduce_prod(first.kernel.shape)
    vector, matrix = tf.reshape(g, [size, 1]), tf.reshape(h, [size, size])
    print(
        "Hessian:     ",
        h.shape,
        " asymmetry:",
        f"{tf.reduce_max(abs(matrix - tf.transpose(matrix))).numpy():.1e}",
    )
    centred_picture(matrix)
    pyplot.title("Hessian of the loss by the 5 x 8 weights of the first layer")
    save("hessian")
    damping = tf.eye(matrix.shape[0]) * 1e-3
    step = tf.linalg.solve(matrix + damping, vector)
    first.kernel.assign_sub(tf.reshape(step, first.kernel.shape))
    print("Newton step:  loss", f"{before.numpy():.5f} -> {loss().numpy():.5f}")


def centred_picture(image, limit=None, **options) -> None:
    """An image whose colour scale has zero in its middle; what is not a number is grey."""
    limit = tf.reduce_max(abs(image)) if limit is None else limit
    colours = pyplot.get_cmap("seismic").with_extremes(bad="lightgrey")
    pyplot.imshow(image, vmin=-limit, vmax=limit, cmap=colours, **options)
    pyplot.colorbar()


def as_patches(j) -> None:
    """A Jacobian [batch, outputs, batch, inputs] as a wall of (batch, batch) tiles with a grey joint."""
    limit = tf.reduce_max(abs(j))
    j = tf.transpose(j, [1, 0, 3, 2])
    j = tf.pad(j, [[0, 0], [1, 1], [0, 0], [1, 1]], constant_values=float("nan"))
    s = j.shape
    wall = tf.reshape(j, [s[0] * s[1], s[2] * s[3]])
    centred_picture(wall, limit, extent=[-0.5, s[2] - 0.5, s[0] - 0.5, -0.5])
    pyplot.xlabel("input")
    pyplot.ylabel("output")


def row_by_row() -> None:
    x = tf.random.normal([7, 5])
    layers = [tf.keras.layers.Dense(8, activation=tf.nn.elu), tf.keras.layers.Dense(6, activation=tf.nn.elu)]
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = layers[1](layers[0](x))
    full = tape.jacobian(y, x)
    picked = tf.einsum("bxby->bxy", full)
    per_row = tape.batch_jacobian(y, x)
    gap = tf.reduce_max(abs(per_row - tf.reduce_sum(full, axis=2)))
    print(
        "batch:       ", full.shape, "->", picked.shape, per_row.shape, " difference:", f"{gap.numpy():.1e}"
    )
    as_patches(full)
    pyplot.title("Independent rows: every tile is diagonal")
    save("independent_rows")


def mixed_rows() -> None:
    x = tf.random.normal([7, 5])
    first = tf.keras.layers.Dense(8, activation=tf.nn.elu)
    normalise = tf.keras.layers.BatchNormalization()
    second = tf.keras.layers.Dense(6, activation=tf.nn.elu)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = second(normalise(first(x), training=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        per_row = tape.batch_jacobian(y, x)
    print("mixed rows:  ", per_row.shape, " warning:", str(caught[0].message)[:79], "...")
    as_patches(tape.jacobian(y, x))
    pyplot.title("Batch normalisation mixes rows")
    save("mixed_rows")


if __name__ == "__main__":
    tf.random.set_seed(3)
    by_a_scalar()
    by_a_kernel()
    newton_step()
    row_by_row()
    mixed_rows()
