"""Decays of particles: amplitudes of resonances that interfere, fitted to events without bins."""

import numpy as np


def resonances_that_interfere(tf, function):
    """The likelihood of events in two angular momenta, batch by batch, with its gradient and second derivatives."""
    rng = np.random.default_rng(82)
    mass, angle = rng.uniform(1.0, 3.0, 240), rng.uniform(-1.0, 1.0, 240)
    flat = rng.uniform(1.0, 3.0, 400), rng.uniform(-1.0, 1.0, 400)
    names = ["m0", "w0", "m1", "w1", "size", "phase"]
    start = [1.5, 0.2, 2.2, 0.3, 0.8, 0.4]
    values = [tf.Variable(x, dtype=tf.float64, name=name) for name, x in zip(names, start, strict=True)]

    def resonance(m, centre, width):
        return 1.0 / tf.complex(centre**2 - m**2, -centre * width * tf.ones_like(m))

    def density(m, z):
        m0, w0, m1, w1, size, phase = values
        factor = tf.complex(size * tf.cos(phase), size * tf.sin(phase))
        both = resonance(m, m0, w0) + factor * resonance(m, m1, w1) * tf.cast(z, tf.complex128)
        return tf.math.real(both * tf.math.conj(both))

    @function
    def sums(m, z):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.math.log(density(m, z)))
        return total, tape.gradient(total, values)

    @function
    def norm(m, z):
        with tf.GradientTape() as tape:
            total = tf.reduce_mean(density(m, z))
        return total, tape.gradient(total, values)

    @function
    def curvature():
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                cost = -tf.reduce_sum(tf.math.log(density(mass, angle)))
                cost += 240.0 * tf.math.log(tf.reduce_mean(density(*flat)))
            slopes = inner.gradient(cost, values)
        return tf.stack([tf.stack(outer.gradient(slope, values)) for slope in slopes])

    events = tf.data.Dataset.from_tensor_slices((mass, angle)).batch(100)
    parts = [sums(m, z) for m, z in events]
    cost = -sum(part[0] for part in parts)
    slopes = [-sum(column) for column in zip(*[part[1] for part in parts], strict=True)]
    size, by_size = norm(*map(tf.constant, flat))
    gradient = tf.stack(slopes) + 240.0 * tf.stack(by_size) / size
    return {"cost": cost + 240.0 * tf.math.log(size), "gradient": gradient, "curvature": curvature()}
