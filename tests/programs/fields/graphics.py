"""Rotations, curves, and images made of rays."""

import numpy as np


def pose_from_points(tf, function):
    """A unit quaternion and a shift are fitted to moved points seen by a camera, Gauss-Newton steps with a Jacobian."""
    r = np.random.RandomState(0)
    points = tf.constant(r.randn(12, 3))

    def rotate(q, p):
        q = tf.math.l2_normalize(q, axis=-1)
        axis, w = tf.broadcast_to(q[:3], tf.shape(p)), q[3]
        turned = tf.linalg.cross(axis, p)
        return p + 2.0 * (w * turned + tf.linalg.cross(axis, turned))

    def seen(state):
        p = rotate(state[:4], points) + state[4:] + tf.constant([0.0, 0.0, 6.0], tf.float64)
        x, y, z = tf.unstack(p, axis=-1)
        return tf.stack([2.0 * x / z, 2.0 * y / z], axis=-1)

    wanted = seen(tf.constant([0.1, -0.2, 0.3, 0.9, 0.3, -0.1, 0.4], tf.float64))
    state = tf.Variable([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], dtype=tf.float64)

    @function
    def step():
        with tf.GradientTape() as tape:
            misfit = tf.reshape(seen(state) - wanted, [-1])
        j = tape.jacobian(misfit, state)
        normal = tf.matmul(j, j, transpose_a=True) + 1e-4 * tf.eye(7, dtype=tf.float64)
        state.assign_sub(tf.linalg.matvec(tf.linalg.inv(normal) @ tf.transpose(j), misfit))
        state.assign(tf.concat([tf.nn.l2_normalize(state[:4], axis=0), state[4:]], axis=0))
        return tf.reduce_sum(misfit**2)

    return {"losses": [step() for _ in range(5)], "state": state}


def cubic_curve(tf, function):
    """Control points of a B-spline are fitted to samples; its speed, by forward mode, is a penalty."""
    places = np.linspace(0.0, 4.999, 20)
    samples = tf.constant(np.stack([np.cos(places), np.sin(1.3 * places)], 1))
    knot = tf.constant(np.floor(places).astype("int32"))
    u = tf.constant(places - np.floor(places))
    control = tf.Variable(np.zeros((8, 2)))

    def weights(u):
        return (
            tf.stack(
                [
                    (1.0 - u) ** 3,
                    3.0 * u**3 - 6.0 * u**2 + 4.0,
                    -3.0 * u**3 + 3.0 * u**2 + 3.0 * u + 1.0,
                    u**3,
                ],
                axis=-1,
            )
            / 6.0
        )

    def curve(u):
        around = tf.gather(control, knot[:, tf.newaxis] + tf.range(4))
        return tf.einsum("nk,nkd->nd", weights(u), around)

    optimizer = tf.keras.optimizers.SGD(0.5, momentum=0.5)

    @function
    def step():
        with tf.GradientTape() as outer:
            with tf.autodiff.ForwardAccumulator(u, tf.ones_like(u)) as accumulator:
                at = curve(u)
            speed = accumulator.jvp(at)
            loss = tf.reduce_mean((at - samples) ** 2) + 1e-3 * tf.reduce_mean(speed**2)
        gradient = outer.gradient(loss, [control])
        optimizer.apply_gradients(zip(gradient, [control], strict=True))
        return loss

    return {"losses": [step() for _ in range(8)], "control": control}


def radiance_field(tf, function):
    """Colours along rays: sines of places, a small network, opacities from running products, a finer second set of places."""
    r = np.random.RandomState(1)
    sizes = ((15, 12), (12, 4))
    weights = [tf.Variable(r.randn(*s) * 0.4, dtype=tf.float32) for s in sizes]
    origins = tf.constant(np.tile([0.0, 0.0, -2.0], (6, 1)), tf.float32)
    towards = tf.constant(
        np.stack([r.uniform(-0.3, 0.3, 6), r.uniform(-0.3, 0.3, 6), np.ones(6)], 1), tf.float32
    )
    colours = tf.constant(r.rand(6, 3), tf.float32)

    def encode(x):
        parts = [x]
        for k in range(2):
            for f in (tf.sin, tf.cos):
                parts.append(f(2.0**k * x))
        return tf.concat(parts, axis=-1)

    def render(z):
        points = origins[..., None, :] + towards[..., None, :] * z[..., :, None]
        flat = encode(tf.reshape(points, [-1, 3]))
        out = tf.reshape(tf.nn.relu(flat @ weights[0]) @ weights[1], [*points.shape[:-1], 4])
        density, rgb = tf.nn.softplus(out[..., 3]), tf.sigmoid(out[..., :3])
        gaps = tf.concat([z[..., 1:] - z[..., :-1], tf.broadcast_to([1e10], z[..., :1].shape)], -1)
        alpha = 1.0 - tf.exp(-density * gaps)
        w = alpha * tf.math.cumprod(1.0 - alpha + 1e-10, -1, exclusive=True)
        return tf.reduce_sum(w[..., None] * rgb, -2), tf.reduce_sum(w * z, -1), w

    def finer(z, w):
        middle = 0.5 * (z[..., 1:] + z[..., :-1])
        w = w[..., 1:-1] + 1e-5
        cdf = tf.cumsum(w / tf.reduce_sum(w, -1, keepdims=True), -1)
        cdf = tf.concat([tf.zeros_like(cdf[..., :1]), cdf], -1)
        u = tf.broadcast_to(tf.linspace(0.05, 0.95, 5), [6, 5])
        after = tf.searchsorted(cdf, u, side="right")
        below, above = tf.maximum(0, after - 1), tf.minimum(cdf.shape[-1] - 1, after)
        pairs = tf.stack([below, above], -1)
        c = tf.gather(cdf, pairs, axis=-1, batch_dims=len(pairs.shape) - 2)
        b = tf.gather(middle, pairs, axis=-1, batch_dims=len(pairs.shape) - 2)
        span = c[..., 1] - c[..., 0]
        span = tf.where(span < 1e-5, tf.ones_like(span), span)
        return tf.stop_gradient(b[..., 0] + (u - c[..., 0]) / span * (b[..., 1] - b[..., 0]))

    @function
    def step():
        z = tf.broadcast_to(tf.linspace(1.0, 4.0, 8), [6, 8])
        with tf.GradientTape() as tape:
            coarse, _, w = render(z)
            z = tf.sort(tf.concat([z, finer(z, w)], -1), -1)
            fine, depth, _ = render(z)
            loss = tf.reduce_mean(tf.square(coarse - colours)) + tf.reduce_mean(tf.square(fine - colours))
        for v, g in zip(weights, tape.gradient(loss, weights), strict=True):
            v.assign_sub(0.5 * g)
        return loss, depth

    losses = []
    for _ in range(5):
        loss, depth = step()
        losses.append(loss)
    return {"losses": losses, "depth": depth}


def depth_buffer(tf, function):
    """Points on a raster: in each pixel the nearest counts, and pixels darken with depth; the camera is turned by gradients."""
    r = np.random.RandomState(7)
    points = tf.constant(r.uniform(-1.0, 1.0, (40, 3)) * [1.0, 1.0, 0.4])

    def cells(p):
        depth = 2.5 + p[:, 2]
        flat = 3.0 + 6.0 * p[:, :2] / depth[:, None]
        return tf.cast(tf.clip_by_value(tf.floor(flat), 0.0, 5.0), tf.int32), depth

    @function
    def render(angle):
        c, s, zero, one = tf.cos(angle), tf.sin(angle), tf.zeros_like(angle), tf.ones_like(angle)
        turn = tf.reshape(tf.stack([c, zero, s, zero, one, zero, -s, zero, c]), [3, 3])
        places, depth = cells(tf.linalg.matmul(points, turn, transpose_b=True))
        nearest = tf.tensor_scatter_nd_min(tf.fill([6, 6], tf.constant(9.0, tf.float64)), places, depth)
        glow = tf.tensor_scatter_nd_max(tf.zeros([6, 6], tf.float64), places, tf.exp(-depth))
        return tf.where(nearest < 9.0, tf.exp(-0.5 * nearest), tf.zeros_like(nearest)), nearest, glow

    wanted = render(tf.constant(0.3, tf.float64))[0]
    angle = tf.Variable(0.25, dtype=tf.float64)
    losses, slopes = [], []
    for _ in range(4):
        with tf.GradientTape() as tape:
            image, nearest, glow = render(angle)
            loss = tf.reduce_sum((image - wanted) ** 2) + 0.01 * tf.reduce_sum(glow)
        slope = tape.gradient(loss, angle)
        angle.assign_sub(0.02 * slope)
        losses.append(loss)
        slopes.append(slope)
    return {"losses": losses, "slopes": slopes, "nearest": nearest, "angle": angle}
