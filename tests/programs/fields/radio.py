"""Symbols over antennas: soft bits of a constellation, and what an equaliser of least error makes of them."""

import numpy as np


def _constellation():
    """The sixteen points of a square constellation with unit power, and the bits of each point."""
    bits = (np.arange(16)[:, None] >> np.arange(4)[::-1]) & 1
    signs = 1 - 2 * bits
    sides = signs[:, :2] * (2 - signs[:, 2:])
    points = sides[:, 0] + 1j * sides[:, 1]
    return (points / np.sqrt(np.mean(np.abs(points) ** 2))).astype(np.complex64), bits


def soft_bits_after_equalisation(tf, function):
    """Log ratios of bits after an equaliser, and how their information depends on the noise and on the channel."""
    rng = np.random.default_rng(81)
    points, bits = _constellation()
    sent = rng.integers(0, 16, (12, 3))
    channel = rng.normal(size=(12, 5, 3, 2)) @ np.array([1, 1j]) / np.sqrt(2)
    noise = rng.normal(size=(12, 5, 2)) @ np.array([1, 1j]) * 0.1
    received = (np.einsum("nij,nj->ni", channel, points[sent]) + noise).astype(np.complex64)
    ones, zeros = (tf.constant(np.where(bits.T ^ k, -np.inf, 0.0), tf.float32) for k in (1, 0))
    labels = tf.constant(bits[sent], tf.float32)

    def equalised(y, h, power):
        gram = tf.linalg.matmul(h, h, adjoint_a=True)
        filtered = tf.linalg.solve(
            gram + tf.cast(power, h.dtype) * tf.eye(3, dtype=h.dtype), tf.linalg.adjoint(h)
        )
        gain = tf.linalg.diag_part(filtered @ h)
        x = tf.linalg.matvec(filtered, y) / gain
        return x, tf.math.real(1 / gain) - 1.0

    def bits_of(x, power):
        distance = -(tf.abs(x[..., None] - points) ** 2) / power[..., None]
        one, zero = (tf.reduce_logsumexp(distance[..., None, :] + mask, -1) for mask in (ones, zeros))
        return one - zero

    @function
    def information(y, h, power):
        with tf.GradientTape() as tape:
            tape.watch((h, power))
            ratios = bits_of(*equalised(y, h, power))
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=ratios)
            rate = 1.0 - tf.reduce_mean(losses) / tf.math.log(2.0)
        return ratios, rate, *tape.gradient(rate, (h, power))

    y, h = tf.constant(received), tf.constant(channel.astype(np.complex64))
    ratios, rate, by_channel, by_power = information(y, h, tf.constant(0.05))
    wrong = np.sum((np.sign(ratios) > 0) != (labels > 0.5))
    return {
        "rate": rate,
        "by_channel": [tf.math.real(by_channel), tf.math.imag(by_channel)],
        "by_power": by_power,
        "errors": np.float64(wrong / 2.0),
    }
