"""Tensors taken apart, and optimisation on curved sets."""

import numpy as np


def canonical_polyadic(tf, function):
    """Alternating least squares for a sum of three outer products: unfoldings, Khatri-Rao products, one solve for each factor."""
    r = np.random.RandomState(0)
    a, b, c = (r.rand(n, 3) for n in (4, 5, 6))
    tensor = tf.einsum("ir,jr,kr->ijk", *map(tf.constant, (a, b, c)))
    start = [tf.constant(r.rand(n, 3)) for n in (4, 5, 6)]

    def unfold(x, mode):
        order = [mode, *(k for k in range(3) if k != mode)]
        return tf.reshape(tf.transpose(x, order), [x.shape[mode], -1])

    def khatri_rao(x, y):
        return tf.reshape(x[:, None, :] * y[None, :, :], [-1, x.shape[1]])

    @function
    def sweep(factors):
        for mode in range(3):
            x, y = (factors[k] for k in range(3) if k != mode)
            gram = tf.matmul(x, x, transpose_a=True) * tf.matmul(y, y, transpose_a=True)
            right = tf.matmul(unfold(tensor, mode), khatri_rao(x, y))
            solved = tf.transpose(
                tf.linalg.solve(gram + 1e-9 * tf.eye(3, dtype=tf.float64), tf.transpose(right))
            )
            factors = [solved if k == mode else f for k, f in enumerate(factors)]
        found = tf.einsum("ir,jr,kr->ijk", *factors)
        return factors, tf.norm(found - tensor) / tf.norm(tensor)

    factors, errors = start, []
    for _ in range(6):
        factors, error = sweep(factors)
        errors.append(error)
    return {"errors": errors, "weights": tf.norm(factors[0], axis=0) * tf.norm(factors[1], axis=0)}


def tensor_train(tf, function):
    """Cores by one singular value decomposition after the other; the contracted train and its gradient to the cores."""
    x = tf.constant(np.random.RandomState(1).rand(3, 4, 3, 2))

    @function
    def decompose(x):
        cores, rank, rest = [], 1, x
        for n in x.shape[:-1]:
            s, u, v = tf.linalg.svd(tf.reshape(rest, [rank * n, -1]))
            keep = min(3, s.shape[0])
            cores.append(tf.reshape(u[:, :keep], [rank, n, keep]))
            rest = tf.matmul(tf.linalg.diag(s[:keep]), v[:, :keep], adjoint_b=True)
            rank = keep
        return [*cores, rest[:, :, None]]

    def contract(cores):
        out = cores[0]
        for core in cores[1:]:
            out = tf.tensordot(out, core, axes=[[-1], [0]])
        return tf.squeeze(out, axis=[0, -1])

    cores = decompose(x)
    with tf.GradientTape() as tape:
        tape.watch(cores)
        misfit = tf.reduce_sum((contract(cores) - x) ** 2)
    gradients = tape.gradient(misfit, cores)
    return {"near": contract(cores), "misfit": misfit, "sizes": [tf.norm(g) for g in gradients]}


def rayleigh_on_sphere(tf, function):
    """The largest eigenvalue by conjugate gradients on a sphere: projections, retractions, transported directions."""
    half = np.random.RandomState(2).randn(6, 6)
    matrix = tf.constant(half + half.T)

    def cost(x):
        return -tf.tensordot(x, tf.linalg.matvec(matrix, x), axes=1)

    def project(x, v):
        return v - tf.tensordot(x, v, axes=1) * x

    @function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cost(x)
        return y, project(x, tape.gradient(y, x))

    x = tf.math.l2_normalize(tf.ones([6], tf.float64))
    y, g = slope(x)
    d, costs = -g, []
    for _ in range(8):
        step = tf.constant(0.2, tf.float64)
        new = tf.math.l2_normalize(x + step * d)
        while cost(new) > y + 1e-4 * step * tf.tensordot(g, d, axes=1):
            step = step / 2.0
            new = tf.math.l2_normalize(x + step * d)
        new_y, new_g = slope(new)
        beta = tf.maximum(0.0, tf.reduce_sum(new_g * (new_g - project(new, g))) / tf.reduce_sum(g * g))
        d = -new_g + beta * project(new, d)
        if tf.tensordot(new_g, d, axes=1) > 0.0:
            d = -new_g  # no direction of descent: the search along it would not end
        x, y, g = new, new_y, new_g
        costs.append(y)
    return {"costs": costs, "x": x}


def principal_axes_by_numpy(tf, function):
    """NumPy's functions on tensors beside graphad's: their results are arrays, which are multiplied, written to and converted."""
    r = np.random.RandomState(5)
    x = tf.constant(r.randn(12, 4) * [3.0, 1.0, 0.5, 0.1], tf.float32)
    centred = x - np.mean(x, axis=0)
    covariance = np.cov(np.transpose(centred))
    values, vectors = np.linalg.eigh(covariance)
    axes = np.abs(vectors[:, ::-1][:, :2])
    wide = tf.convert_to_tensor(np.atleast_2d(centred), dtype=tf.float64)
    corner = np.maximum(x, 0.1)
    corner[0] = 0.0

    @function
    def project(wide):
        return tf.matmul(wide, axes)

    return {
        "spread": values[::-1].copy(),
        "share": np.mean(x, 0, keepdims=True) @ tf.transpose(x),
        "projected": project(wide),
        "corner": corner.sum(axis=1),
    }
