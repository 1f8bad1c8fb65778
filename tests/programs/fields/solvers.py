"""Matrix-free solvers, states of quantum systems, motions by partition, and alternating directions."""

import numpy as np


def matrix_free_inverse_problem(tf, function):
    """A smoothed signal is recovered by conjugate gradients on an operator that is known by its product alone; the strength of
    the smoothing is fitted through it."""
    rng = np.random.default_rng(40)

    class Smoother(tf.linalg.LinearOperator):
        def __init__(self, strength, n):
            self._strength, self._n = strength, n
            super().__init__(
                dtype=strength.dtype, is_self_adjoint=True, is_positive_definite=True, name="smoother"
            )

        def _shape(self):
            return tf.TensorShape([self._n, self._n])

        def _shape_tensor(self):
            return tf.constant([self._n, self._n])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            x = tf.linalg.adjoint(x) if adjoint_arg else x
            wide = tf.pad(x, [[1, 1], [0, 0]])
            return x + self._strength * (2.0 * x - wide[2:] - wide[:-2])

    n = 12
    data = tf.constant(rng.normal(size=n))
    target = tf.constant(rng.normal(size=n) * 0.1)
    strength = tf.Variable(0.7, dtype=tf.float64)

    @function
    def step():
        with tf.GradientTape() as tape:
            smooth = Smoother(tf.identity(strength), n)
            x = smooth.solvevec(data)
            loss = tf.reduce_sum((x - target) ** 2) + 0.1 * smooth.log_abs_determinant()
        slope = tape.gradient(loss, strength)
        strength.assign_sub(0.05 * slope)
        found = tf.linalg.experimental.conjugate_gradient(smooth, data, max_iter=40, tol=1e-12)
        return loss, slope, x, found.x, smooth.trace()

    losses = []
    for _ in range(4):
        loss, slope, x, again, trace = step()
        losses.append(loss)
    return {
        "losses": losses, "slope": slope, "x": x, "again": again, "trace": trace, "strength": strength,
        "product": Smoother(tf.identity(strength), n) @ tf.eye(n, dtype=tf.float64)[:, :3],
    }  # fmt: skip


def ground_state_in_imaginary_time(tf, function):
    """A spin chain is cooled by gates of a Trotter step; the state is divided by its norm after each, and the energy
    differentiated by the field."""
    rng = np.random.default_rng(41)
    sites = 4
    flips = np.array([[0.0, 1.0], [1.0, 0.0]])
    signs = np.diag([1.0, -1.0])
    pair = tf.constant(np.kron(signs, signs), tf.complex128)
    field = tf.constant(np.kron(flips, np.eye(2)) + np.kron(np.eye(2), flips), tf.complex128)
    start = tf.constant(rng.normal(size=[2] * sites) + 1j * rng.normal(size=[2] * sites))

    def applied(gate, psi, k):
        psi = tf.tensordot(tf.reshape(gate, [2, 2, 2, 2]), psi, [[2, 3], [k, k + 1]])
        rest = [axis + 2 if axis < k else axis for axis in range(sites) if axis not in (k, k + 1)]
        order = rest[:k] + [0, 1] + rest[k:]
        return tf.transpose(psi, order)

    @function
    def cooled(h, psi, steps):
        local = -pair - tf.cast(h, tf.complex128) * field * 0.5
        gate = tf.linalg.expm(-0.1 * local)
        for _ in tf.range(steps):
            for k in range(sites - 1):
                psi = applied(gate, psi, k)
            psi = psi / tf.norm(psi)
        energy = tf.add_n(
            [
                tf.math.real(tf.reduce_sum(tf.math.conj(psi) * applied(local, psi, k)))
                for k in range(sites - 1)
            ]
        )
        return psi, energy

    h = tf.constant(0.8, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(h)
        psi, energy = cooled(h, start, tf.constant(5))
    unit, length = tf.linalg.normalize(tf.reshape(start, [4, 4]), axis=1)

    def parts(z):
        return tf.stack([tf.math.real(z), tf.math.imag(z)])

    return {
        "psi": parts(psi), "energy": energy, "force": tape.gradient(energy, h), "unit": parts(unit),
        "length": parts(length), "norms": parts(tf.norm(start, axis=[0, 1])),
        "largest": tf.norm(tf.reshape(start, [-1]), ord=np.inf),
    }  # fmt: skip


def links_of_a_chain(tf, function):
    """Joints turn or slide; each kind has its formula, and the transforms come back in order while the chain is multiplied in a
    loop that knows their size only by it."""
    rng = np.random.default_rng(42)
    axes = tf.constant(rng.normal(size=(5, 3)))
    kinds = tf.constant([0, 1, 0, 0, 1])

    def motions(angles):
        which = tf.dynamic_partition(tf.range(5), kinds, 2)
        turned, slid = tf.dynamic_partition(axes * angles[:, None], kinds, 2)
        zero = tf.zeros_like(turned[:, 0])
        skew = tf.reshape(
            tf.stack(
                [zero, -turned[:, 2], turned[:, 1], turned[:, 2], zero, -turned[:, 0], -turned[:, 1], turned[:, 0], zero], 1
            ),
            [-1, 3, 3],
        )  # fmt: skip
        size = tf.norm(turned, axis=1)[:, None, None]
        eye = tf.eye(3, dtype=tf.float64)[None]
        rotation = eye + tf.sin(size) / size * skew + (1.0 - tf.cos(size)) / size**2 * skew @ skew
        last = tf.constant([[[0.0, 0.0, 0.0, 1.0]]], tf.float64)

        def rigid(turn, shift):
            count = tf.shape(shift)[0]
            return tf.concat([tf.concat([turn, shift[:, :, None]], 2), tf.tile(last, [count, 1, 1])], 1)

        still = tf.tile(eye, tf.stack([tf.shape(slid)[0], 1, 1]))
        return tf.dynamic_stitch(which, [rigid(rotation, turned * 0.1), rigid(still, slid)])

    @function
    def pose(angles):
        moved = motions(angles)
        at = tf.eye(4, dtype=tf.float64)
        for k in tf.range(5):
            at = at @ moved[k]
        for _ in tf.range(2):
            moved = tf.matmul(moved, motions(angles * 0.5))
        return at, moved

    angles = tf.constant(rng.normal(size=5))
    with tf.GradientTape() as tape:
        tape.watch(angles)
        at, moved = pose(angles)
        place = at[:3, 3]
    return {"at": at, "moved": moved, "jacobian": tape.jacobian(place, angles)}


def option_on_two_assets_by_alternating_directions(tf, function):
    """The price of a basket by one explicit and two implicit half steps a time step, each a stack of tridiagonal systems; the
    price at the centre is differentiated by both volatilities."""
    n, steps, dt = 11, 4, 0.05
    grid = tf.constant(np.linspace(0.0, 2.0, n))
    dx = 2.0 / (n - 1)

    def diagonals(vol):
        inner = tf.constant(np.r_[0.0, np.ones(n - 2), 0.0])
        spread = 0.5 * (vol * grid / dx) ** 2 * inner
        return spread, -2.0 * spread, spread

    def implicit(values, parts):
        above, middle, below = (tf.tile(-dt * part[None], [n, 1]) for part in parts)
        return tf.linalg.tridiagonal_solve(
            (above, 1.0 + middle, below), values, diagonals_format="sequence", partial_pivoting=False
        )

    @function
    def priced(vols):
        across, along = diagonals(vols[0]), diagonals(vols[1])
        values = tf.nn.relu((grid[:, None] + grid[None]) / 2.0 - 0.9)
        for _ in tf.range(steps):
            half = tf.transpose(implicit(tf.transpose(values), across))
            values = implicit(half, along)
        return values

    vols = tf.constant([0.3, 0.45], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(vols)
        values = priced(vols)
        price = values[n // 2, n // 2]
    return {"values": values, "vegas": tape.gradient(price, vols)}
