"""Fields on grids: diffraction by layers, particles that attract each other, chains of spins, spectra at scattered places."""

import numpy as np


def fourier_modal(tf, function):
    """Light on a grating: eigenmodes of a layer, whose derivative is broadened where they coincide, and scattering matrices."""
    orders = 5
    index = np.arange(orders) - orders // 2
    incident = np.zeros(orders)
    incident[orders // 2] = 1.0
    along = tf.constant(0.3 + 0.8 * index, tf.complex128)
    below, above = (tf.sqrt(n**2 - along**2 + 0j) for n in (1.0, 1.45))
    one = tf.eye(orders, dtype=tf.complex128)

    @tf.custom_gradient
    def modes(matrix):
        values, vectors = tf.linalg.eig(matrix)

        def back(value_bar, vector_bar):
            apart = tf.math.conj(values)[..., None, :] - tf.math.conj(values)[..., :, None]
            inverse = apart / (apart * apart + 1e-12)
            inner = inverse * tf.matmul(vectors, vector_bar, adjoint_a=True) + tf.linalg.diag(value_bar)
            adjoint = tf.linalg.adjoint(vectors)
            return tf.linalg.solve(adjoint, tf.matmul(inner, adjoint))

        return (values, vectors), back

    def permittivity(fill):
        order = tf.constant(index[:, None] - index[None, :], tf.float64)
        away = tf.where(tf.equal(order, 0.0), tf.ones_like(order), order)
        part = tf.where(tf.equal(order, 0.0), fill, tf.sin(np.pi * order * fill) / (np.pi * away))
        return tf.cast(part * (2.1**2 - 1.0), tf.complex128) + one

    def star(a, b):
        # (r_left, t_right, t_left, r_right) of a slab behind another one
        d = tf.linalg.inv(one - tf.matmul(b[0], a[3]))
        f = tf.linalg.inv(one - tf.matmul(a[3], b[0]))
        return (
            a[0] + a[2] @ d @ b[0] @ a[1],
            b[1] @ f @ a[1],
            a[2] @ d @ b[2],
            b[3] + b[1] @ f @ a[3] @ b[2],
        )

    def interface(w, v, w_next, v_next):
        p, q = tf.linalg.solve(w_next, w), tf.linalg.solve(v_next, v)
        plus, minus = 0.5 * (p + q), 0.5 * (p - q)
        forth = plus - minus @ tf.linalg.solve(plus, minus)
        return (
            -tf.linalg.solve(plus, minus),
            forth,
            tf.linalg.inv(plus),
            minus @ tf.linalg.inv(plus),
        )

    @function
    def efficiencies(fill, depth):
        values, vectors = modes(permittivity(fill) - tf.linalg.diag(along * along))
        root = tf.sqrt(values)
        root = tf.where(tf.math.imag(root) < 0.0, -root, root)
        spread = tf.linalg.diag(tf.exp(1j * root * tf.cast(depth, tf.complex128)))
        zero = tf.zeros_like(one)
        v = vectors @ tf.linalg.diag(root)
        slab = star(interface(one, tf.linalg.diag(below), vectors, v), (zero, spread, spread, zero))
        whole = star(slab, interface(vectors, v, one, tf.linalg.diag(above)))
        start = tf.constant(incident[:, None], tf.complex128)
        flow = tf.math.real(below[orders // 2])
        back, on = (tf.abs(matrix @ start)[:, 0] ** 2 for matrix in whole[:2])
        return back * tf.math.real(below) / flow, on * tf.math.real(above) / flow

    fill, depth = tf.constant(0.4, tf.float64), tf.constant(2.5, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([fill, depth])
        back, on = efficiencies(fill, depth)
        first = on[orders // 2 - 1]
    return {
        "back": back,
        "on": on,
        "sum": tf.reduce_sum(back) + tf.reduce_sum(on),
        "slopes": list(tape.gradient(first, [fill, depth])),
    }


def particle_mesh(tf, function):
    """Particles on a grid, their potential by Fourier transforms, kicks and drifts; the derivative to where they began."""
    n = 4
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3)
    waves = 2.0 * np.pi * np.fft.fftfreq(n)
    square = sum(k**2 for k in np.meshgrid(waves, waves, waves, indexing="ij"))
    inverse = np.where(square == 0.0, 0.0, -1.0 / np.where(square == 0.0, 1.0, square))
    gradients = [1j * k * inverse for k in np.meshgrid(waves, waves, waves, indexing="ij")]
    corners = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), -1).reshape(1, 8, 3)

    def shares(x):
        low = tf.floor(x)
        near = low[:, None, :] + tf.constant(corners, tf.float64)
        share = tf.reduce_prod(1.0 - tf.abs(x[:, None, :] - near), axis=-1)
        return tf.math.floormod(tf.cast(near, tf.int32), n), share

    def paint(x):
        cells, share = shares(x)
        return tf.tensor_scatter_nd_add(tf.zeros([n, n, n], tf.float64), cells, share)

    def force(x):
        spectrum = tf.signal.fft3d(tf.cast(paint(x) - 1.0, tf.complex128))
        cells, share = shares(x)
        parts = []
        for slope in gradients:
            field = tf.math.real(tf.signal.ifft3d(spectrum * tf.constant(slope)))
            parts.append(tf.reduce_sum(tf.gather_nd(field, cells) * share, axis=1))
        return -tf.stack(parts, axis=-1)

    @function
    def evolve(x, v):
        for step in tf.range(3):
            h = 0.2 / (1.0 + tf.cast(step, tf.float64))
            v = v + 0.5 * h * force(x)
            x = x + h * v
            v = v + 0.5 * h * force(x)
        return x, v

    start = tf.constant(grid + 0.3 * np.random.RandomState(0).rand(n**3, 3))
    with tf.GradientTape() as tape:
        tape.watch(start)
        x, v = evolve(start, tf.zeros_like(start))
        density = paint(x)
        lumps = tf.reduce_sum(density**2)
    return {"density": density, "speed": tf.norm(v), "lumps": lumps, "slope": tape.gradient(lumps, start)}


def matrix_product_state(tf, function):
    """The energy of a chain of spins as a product of small tensors, lowered by gradients; the chain is made orthogonal by QR."""
    r = np.random.RandomState(3)
    sites, bond = 5, 3
    sizes = [1, *[bond] * (sites - 1), 1]
    cores = [tf.Variable(r.randn(sizes[k], 2, sizes[k + 1])) for k in range(sites)]
    flip, up = (
        tf.constant([[0.0, 1.0], [1.0, 0.0]], tf.float64),
        tf.constant([[1.0, 0.0], [0.0, -1.0]], tf.float64),
    )

    def expectation(chain, operators):
        left = tf.ones([1, 1], tf.float64)
        for k, core in enumerate(chain):
            other = tf.einsum("asb,st->atb", core, operators[k]) if k in operators else core
            left = tf.einsum("ac,asb,csd->bd", left, core, other)
        return left[0, 0]

    def orthogonal(chain):
        out, rest = [], tf.ones([1, 1], tf.float64)
        for core in chain:
            core = tf.tensordot(rest, core, axes=1)
            a, s, b = core.shape
            q, rest = tf.linalg.qr(tf.reshape(core, [a * s, b]))
            out.append(tf.reshape(q, [a, s, -1]))
        return out

    def energy(chain):
        terms = [expectation(chain, {k: up, k + 1: up}) for k in range(sites - 1)]
        terms += [0.7 * expectation(chain, {k: flip}) for k in range(sites)]
        return -tf.add_n(terms) / expectation(chain, {})

    @function
    def step():
        with tf.GradientTape() as tape:
            y = energy(orthogonal(cores))
        for core, slope in zip(cores, tape.gradient(y, cores), strict=True):
            core.assign_sub(0.1 * slope)
        return y

    energies = [step() for _ in range(6)]
    chain = orthogonal(cores)
    return {
        "energies": energies,
        "norm": expectation(chain, {}),
        "magnets": tf.stack([expectation(chain, {k: flip}) for k in range(sites)]),
    }


def scattered_frequencies(tf, function):
    """A picture from its spectrum at scattered places: a finer grid whose sizes are tensors, and a rule for the adjoint; the
    places move too. Logarithms are summed by segment, some of which hold -inf alone."""
    r = np.random.RandomState(4)
    size, fine = tf.constant([6, 5]), tf.constant([12, 10])
    places = r.uniform(-0.5, 0.5, (1, 2, 9))
    spectrum = tf.constant(r.randn(1, 9) + 1j * r.randn(1, 9))

    def on_the_grid(x):
        edges = [(0, 0), (0, fine[0] - size[0]), (0, fine[1] - size[1])]
        padded = tf.signal.fft2d(tf.pad(x, edges))
        assert padded.shape[1:] == (12, 10)
        return tf.reshape(padded, [-1, tf.reduce_prod(fine)]) / tf.cast(tf.sqrt(120.0), tf.complex128)

    def weights(at):
        steps = [tf.cast(tf.range(n), tf.float64) for n in (fine[0], fine[1])]
        apart = [
            tf.abs(
                tf.math.floormod(
                    at[:, k, :, None] * tf.cast(fine[k], tf.float64) - steps[k] + 3.0, 12.0 - 2 * k
                )
                - 3.0
            )
            for k in range(2)
        ]
        near = [tf.maximum(1.0 - away / 2.0, 0.0) for away in apart]
        return tf.cast(tf.reshape(near[0][..., None] * near[1][..., None, :], [-1, 9, 120]), tf.complex128)

    @function
    @tf.custom_gradient
    def spread(x, at):
        table = weights(at)

        def rule(bar):
            back = tf.reshape(tf.einsum("bpk,bp->bk", table, bar), tf.concat([[-1], fine], 0))
            back = tf.signal.ifft2d(back) * tf.cast(tf.sqrt(120.0), tf.complex128)
            return back[:, : size[0], : size[1]], None

        return tf.einsum("bpk,bk->bp", table, on_the_grid(x)), rule

    def sums_by_segment(x, ids, n):
        top = tf.math.unsorted_segment_max(x, ids, n)
        return top + tf.math.log(tf.math.unsorted_segment_sum(tf.exp(x - tf.gather(top, ids)), ids, n))

    picture, at = tf.zeros([1, 6, 5], tf.complex128), tf.constant(places)
    errors = []
    for _ in range(4):
        with tf.GradientTape() as tape:
            tape.watch(picture)
            error = tf.reduce_sum(tf.abs(spread(picture, at) - spectrum) ** 2)
        picture = picture - 0.2 * tape.gradient(error, picture)
        errors.append(error)
    logs = tf.math.log(tf.maximum(tf.math.real(picture[0, :, 0]), 0.0))
    return {
        "errors": errors,
        "picture": tf.abs(picture),
        "by segment": tf.exp(sums_by_segment(tf.where(logs > -3.0, logs, -np.inf), [0, 1, 2, 0, 2, 1], 4)),
    }


def light_in_two_modes(tf, function):
    """Two modes of light, by their numbers of photons, are squeezed, shifted, mixed and bent until one photon is in each."""
    n = 5
    lower = np.diag(np.sqrt(np.arange(1.0, n)), 1)
    one = np.eye(n)
    a, b = (tf.constant(np.kron(lower, one) + 0j), tf.constant(np.kron(one, lower) + 0j))
    photons = tf.constant(np.arange(n) + 0.0)
    wanted = tf.constant(np.eye(n * n)[:, n + 1] + 0j)
    angles = tf.Variable([0.3, -0.2, 0.4, 0.1, 0.7, 0.2], dtype=tf.float64)

    def moved(generator):
        return tf.linalg.expm(generator - tf.linalg.adjoint(generator))

    def state_of(angles):
        squeeze, shift, mix, phase, bend, turn = tf.unstack(angles)
        if tf.executing_eagerly() and any(
            np.iscomplex(np.real_if_close(each)).any() for each in (squeeze, shift)
        ):
            raise ValueError("squeezing and shift are real")
        c = [tf.cast(each, tf.complex128) for each in (squeeze, shift, mix)]
        state = moved(0.5 * c[0] * (a @ a - b @ b))[:, 0]
        state = tf.linalg.matvec(moved(c[1] * tf.linalg.adjoint(a)), state)
        kerr = tf.exp(tf.complex(tf.zeros_like(photons), bend * photons**2 + turn * photons))
        state = tf.reshape(kerr[:, None] * tf.reshape(state, [n, n]), [-1])
        angle = tf.exp(tf.complex(tf.zeros_like(phase), phase))
        return tf.linalg.matvec(moved(c[2] * angle * tf.linalg.adjoint(a) @ b), state)

    @function
    def step():
        with tf.GradientTape() as tape:
            state = state_of(angles)
            overlap = tf.abs(tf.reduce_sum(tf.math.conj(wanted) * state)) ** 2
        slope = tape.gradient(overlap, angles)
        angles.assign_add(0.2 * slope)
        return overlap, slope

    overlaps, slopes = zip(*[step() for _ in range(6)], strict=True)
    chances = tf.reshape(tf.abs(state_of(angles)) ** 2, [n, n])
    return {
        "overlaps": overlaps,
        "slope": slopes[-1],
        "mean": [tf.reduce_sum(chances * photons[:, None]), tf.reduce_sum(chances * photons)],
        "angles": angles,
    }
