"""Networks trained to satisfy differential equations: derivatives of the output with respect to inputs stand in the loss."""

import itertools

import numpy as np


class Network:
    """Dense layers with tanh between them."""

    def __init__(self, tf, widths, seed=0, dtype="float64"):
        r = np.random.RandomState(seed)
        self.tf = tf
        self.weights = [
            tf.Variable(r.randn(a, b) / np.sqrt(a), dtype=dtype) for a, b in itertools.pairwise(widths)
        ]
        self.biases = [tf.Variable(tf.zeros([b], dtype)) for b in widths[1:]]

    @property
    def trainable_variables(self):
        return self.weights + self.biases

    def __call__(self, x):
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.tf.tanh(self.tf.matmul(x, w) + b)
        return x @ self.weights[-1] + self.biases[-1]


def oscillator(tf, function):
    """u'' = -4 u with u(0) = 1 and u'(0) = 0; two nested tapes give u''."""
    net = Network(tf, [1, 8, 1])
    t = tf.reshape(tf.linspace(tf.constant(0.0, tf.float64), 1.0, 12), [-1, 1])

    @function
    def loss_and_gradients():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as second:
                second.watch(t)
                with tf.GradientTape() as first:
                    first.watch(t)
                    u = net(t)
                du = first.gradient(u, t)
            ddu = second.gradient(du, t)
            loss = tf.reduce_mean(tf.square(ddu + 4.0 * u)) + (u[0, 0] - 1.0) ** 2 + du[0, 0] ** 2
        return loss, outer.gradient(loss, net.trainable_variables)

    losses = []
    for _ in range(15):
        loss, gradients = loss_and_gradients()
        for v, g in zip(net.trainable_variables, gradients, strict=True):
            v.assign_sub(0.01 * g)
        losses.append(loss)
    return {"losses": losses, "u": net(t)}


def burgers(tf, function):
    """u_t + u u_x = nu u_xx: one persistent tape for both first derivatives, and Adam."""
    net = Network(tf, [2, 10, 10, 1], seed=1, dtype="float32")
    r = np.random.RandomState(2)
    inside = tf.constant(r.uniform([0, -1], [1, 1], size=(20, 2)), tf.float32)
    start = tf.constant(np.stack([np.zeros(10), np.linspace(-1, 1, 10)], 1), tf.float32)
    wanted = -tf.sin(np.pi * start[:, 1:2])
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)

    def residual(points):
        t, x = points[:, 0:1], points[:, 1:2]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(t)
            tape.watch(x)
            u = net(tf.stack([t[:, 0], x[:, 0]], axis=1))
            u_x = tape.gradient(u, x)
        u_t, u_xx = tape.gradient(u, t), tape.gradient(u_x, x)
        del tape
        return u_t + u * u_x - (0.01 / np.pi) * u_xx

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(start) - wanted)) + tf.reduce_mean(
                tf.square(residual(inside))
            )
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        return loss

    return {"losses": [step() for _ in range(12)]}


def heat_parameter(tf, function):
    """An inverse problem: the conductivity in u_t = k u_xx is found from measured values, its logarithm being trained."""
    log_k = tf.Variable(0.0, dtype=tf.float64, name="log_k")
    x = tf.linspace(tf.constant(0.0, tf.float64), np.pi, 16)
    data = tf.exp(tf.constant(-0.3 * 0.5, tf.float64)) * tf.sin(x)

    @function
    def step(rate):
        with tf.GradientTape() as tape:
            u = tf.exp(-tf.exp(log_k) * 0.5) * tf.sin(x)
            loss = tf.reduce_sum((u - data) ** 2)
        log_k.assign_sub(rate * tape.gradient(loss, log_k))
        return loss

    losses = [step(tf.constant(0.5, tf.float64)) for _ in range(25)]
    return {"losses": losses, "k": tf.exp(log_k)}


def jacobian_of_field(tf, function):
    """Divergence and curl of a vector field from batch Jacobians."""
    net = Network(tf, [3, 6, 3], seed=4)
    points = tf.constant(np.random.RandomState(5).randn(7, 3))

    @function
    def operators(points):
        with tf.GradientTape() as tape:
            tape.watch(points)
            field = net(points)
        j = tape.batch_jacobian(field, points)
        curl = tf.stack([j[:, 2, 1] - j[:, 1, 2], j[:, 0, 2] - j[:, 2, 0], j[:, 1, 0] - j[:, 0, 1]], axis=-1)
        return tf.linalg.trace(j), curl

    divergence, curl = operators(points)
    return {"divergence": divergence, "curl": curl}
