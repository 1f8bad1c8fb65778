"""Inference with matrices: processes with parameters that are objects, kernels, fields of labels, mixtures, memories."""

import numpy as np


def sparse_process(tf, function):
    """A sparse Gaussian process for classes, trained in batches; positive parameters are objects that become tensors."""

    class Positive(tf.Module):
        def __init__(self, value):
            super().__init__()
            self.raw = tf.Variable(np.log(np.expm1(value)))

        def value(self):
            return tf.math.softplus(self.raw)

    tf.register_tensor_conversion_function(Positive, lambda p, dtype=None, name=None, as_ref=False: p.value())

    class Model(tf.Module):
        def __init__(self, places):
            super().__init__()
            self.width, self.height = Positive(np.array([0.5, 0.7])), Positive(1.2)
            self.places = tf.Variable(places)
            self.mean = tf.Variable(tf.zeros([len(places), 1], tf.float64))
            self.root = tf.Variable(np.eye(len(places)))

        def kernel(self, a, b=None):
            a = tf.divide(a, self.width)
            b = a if b is None else tf.divide(b, self.width)
            squares = (
                tf.reduce_sum(a**2, -1)[:, None] + tf.reduce_sum(b**2, -1)[None] - 2.0 * a @ tf.transpose(b)
            )
            return tf.multiply(self.height, tf.exp(-0.5 * tf.maximum(squares, 0.0)))

        def bound(self, x, y, scale):
            lower = tf.linalg.cholesky(
                self.kernel(self.places) + 1e-6 * tf.eye(self.places.shape[0], dtype=tf.float64)
            )
            a = tf.linalg.triangular_solve(lower, self.kernel(self.places, x))
            root = tf.linalg.band_part(self.root, -1, 0)
            mean = tf.matmul(a, self.mean, transpose_a=True)
            variance = (
                self.height.value()
                - tf.reduce_sum(a**2, 0)
                + tf.reduce_sum(tf.square(tf.transpose(root) @ a), 0)
            )
            at, weights = np.polynomial.hermite.hermgauss(8)
            f = mean + tf.sqrt(2.0 * tf.maximum(variance, 1e-9))[:, None] * at
            likely = tf.reduce_sum(tf.math.log_sigmoid((2.0 * y - 1.0) * f) * (weights / np.sqrt(np.pi)))
            log_root = tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(root))))
            divergence = 0.5 * (
                tf.reduce_sum(root**2) + tf.reduce_sum(self.mean**2) - self.places.shape[0] - log_root
            )
            return scale * likely - divergence

    r = np.random.RandomState(0)
    x = r.rand(24, 2)
    y = (x[:, :1] > x[:, 1:]).astype(float)
    model = Model(x[:5].copy())
    optimizer = tf.keras.optimizers.SGD(0.01)

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = -model.bound(x, y, 3.0)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    losses = [step(tf.constant(x[k : k + 8]), tf.constant(y[k : k + 8])) for k in (0, 8, 16, 0)]
    return {"losses": losses, "width": model.width.value(), "mean": model.mean}


def conditional_field(tf, function):
    """Likelihoods of label sequences of unequal lengths: the forward sums run in a scan, the best labels come backwards."""
    r = np.random.RandomState(1)
    scores = tf.constant(r.randn(3, 6, 4), tf.float32)
    labels, lengths = tf.constant(r.randint(0, 4, (3, 6))), tf.constant([6, 4, 2])
    moves = tf.Variable(tf.constant(0.3 * r.randn(4, 4), tf.float32))

    @function
    def likelihoods(scores):
        mask = tf.sequence_mask(lengths, 6, tf.float32)
        single = tf.reduce_sum(tf.gather(scores, labels, axis=2, batch_dims=2) * mask, 1)
        pairs = tf.gather_nd(moves, tf.stack([labels[:, :-1], labels[:, 1:]], -1))
        pairs = tf.reduce_sum(pairs * mask[:, 1:], 1)

        def forward(state, now):
            score, here = now
            found = tf.reduce_logsumexp(state[:, :, None] + moves[None], 1) + score
            return tf.where(here[:, None] > 0.0, found, state)

        over = tf.transpose(scores, [1, 0, 2])
        sums = tf.scan(forward, (over[1:], tf.transpose(mask)[1:]), initializer=over[0])
        return single + pairs - tf.reduce_logsumexp(sums[-1], -1)

    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = -tf.reduce_mean(likelihoods(scores))
    of_scores, of_moves = tape.gradient(loss, [scores, moves])
    return {"loss": loss, "of_scores": of_scores, "of_moves": of_moves}


def mixture_by_expectation(tf, function):
    """A mixture of normal distributions by expectation and maximisation, in a while loop with an early end."""
    r = np.random.RandomState(2)
    data = tf.constant(np.concatenate([r.randn(15, 2) - 2.0, 0.5 * r.randn(10, 2) + 1.5]))

    @function
    def fit(means):
        shares, spreads = (
            tf.fill([2], tf.constant(0.5, tf.float64)),
            tf.eye(2, batch_shape=[2], dtype=tf.float64),
        )
        last, gain = tf.constant(-1e9, tf.float64), tf.constant(1.0, tf.float64)
        count = tf.constant(0)
        while gain > 1e-6 and count < 40:
            roots = tf.linalg.cholesky(spreads)
            away = tf.linalg.triangular_solve(roots, tf.transpose(data[None] - means[:, None], [0, 2, 1]))
            logs = (
                -0.5 * tf.reduce_sum(away**2, 1)
                - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(roots)), 1)[:, None]
            )
            logs += tf.math.log(shares)[:, None]
            total = tf.reduce_logsumexp(logs, 0)
            parts = tf.exp(logs - total)
            weight = tf.reduce_sum(parts, 1)
            shares = weight / tf.reduce_sum(weight)
            means = parts @ data / weight[:, None]
            from_mean = data[None] - means[:, None]
            spreads = tf.einsum("kn,kni,knj->kij", parts, from_mean, from_mean) / weight[:, None, None]
            spreads += 1e-6 * tf.eye(2, dtype=tf.float64)
            gain, last = tf.abs(tf.reduce_sum(total) - last), tf.reduce_sum(total)
            count += 1
        return means, shares, last, count

    means, shares, likelihood, count = fit(tf.constant([[-1.0, 0.0], [1.0, 0.0]], tf.float64))
    return {"means": means, "shares": shares, "likelihood": likelihood, "count": count}


def associative_memory(tf, function):
    """A Hopfield memory recalls patterns from damaged ones; its modern form recalls by attention."""
    r = np.random.RandomState(3)
    patterns = tf.constant(np.sign(r.randn(2, 16)), tf.float32)
    damaged = patterns * tf.constant([-1.0] * 3 + [1.0] * 13)
    weights = tf.linalg.set_diag(tf.matmul(patterns, patterns, transpose_a=True) / 16.0, tf.zeros(16))

    @function
    def recall(state):
        for i in tf.range(16):
            new = tf.where(tf.reduce_sum(state * weights[i], 1) >= 0.0, 1.0, -1.0)
            state = tf.tensor_scatter_nd_update(state, [[0, i], [1, i]], new)
        return state, -0.5 * tf.reduce_sum(state * (state @ weights), 1)

    @function
    def attend(state):
        for _ in range(3):
            state = tf.nn.softmax(2.0 * state @ tf.transpose(patterns) / 4.0) @ patterns
        return state

    state, energy = recall(damaged)
    return {"state": state, "energy": energy, "attended": attend(damaged)}


def boltzmann_machine(tf, function):
    """A restricted Boltzmann machine by contrastive divergence with momentum; the uniform numbers are given."""
    r = np.random.RandomState(4)
    data = tf.constant((r.rand(20, 8) > 0.5).astype(np.float32))
    weights = tf.Variable(0.1 * r.randn(8, 4).astype(np.float32))
    visible, hidden = tf.Variable(tf.zeros(8)), tf.Variable(tf.zeros(4))
    momentum = tf.Variable(tf.zeros([8, 4]))

    @function
    def step(x, noise):
        up = tf.nn.sigmoid(x @ weights + hidden)
        drawn = tf.nn.relu(tf.sign(up - noise))
        down = tf.nn.sigmoid(drawn @ tf.transpose(weights) + visible)
        again = tf.nn.sigmoid(down @ weights + hidden)
        momentum.assign(0.9 * momentum + 0.05 * (tf.transpose(x) @ up - tf.transpose(down) @ again) / 20.0)
        weights.assign_add(momentum)
        visible.assign_add(0.05 * tf.reduce_mean(x - down, 0))
        hidden.assign_add(0.05 * tf.reduce_mean(up - again, 0))
        return tf.reduce_mean(tf.square(x - down))

    errors = [step(data, tf.constant(r.rand(20, 4).astype(np.float32))) for _ in range(5)]
    return {"errors": errors, "weights": weights, "visible": visible}


def support_vectors(tf, function):
    """The dual of a support vector machine by projected gradients, in NumPy's names."""
    np_ = tf.experimental.numpy
    r = np.random.RandomState(5)
    x = tf.constant(r.randn(16, 2))
    y = tf.sign(x[:, 0] * x[:, 1])
    distances = np_.sum(np_.square(np_.expand_dims(x, 1) - np_.expand_dims(x, 0)), axis=-1)
    gram = np_.exp(-0.5 * distances) * np_.outer(y, y)

    @function
    def solve(steps):
        alpha = tf.zeros_like(y)
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch(alpha)
                gain = np_.sum(alpha) - 0.5 * np_.tensordot(alpha, np_.matmul(gram, alpha), 1)
            alpha = tf.clip_by_value(alpha + 0.1 * tape.gradient(gain, alpha), 0.0, 2.0)
        return alpha, gain

    alpha, gain = solve(tf.constant(30))
    first = np_.take(alpha, indices=[0, 3], axis=0)
    return {"alpha": alpha, "gain": gain, "first": first, "scores": np_.matmul(gram, alpha) * y}
