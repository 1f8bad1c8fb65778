"""Idioms of libraries of modules: metaclasses, parameters of their own, methods that are traced late, codebooks, attacks."""

import functools

import numpy as np


def scoped_modules(tf, function):
    """A metaclass runs every method in the module's scope; variables are made at the first call."""

    def in_scope(method):
        @functools.wraps(method)
        def wrapper(self, *args, **kwargs):
            scope = getattr(self, "_name_scope", None)
            if scope is None:
                return method(self, *args, **kwargs)
            with scope:
                return method(self, *args, **kwargs)

        return wrapper

    class Scoped(type(tf.Module)):
        def __new__(mcs, name, bases, attributes):
            for key, value in attributes.items():
                if callable(value) and (key == "__call__" or not key.startswith("__")):
                    attributes[key] = in_scope(value)
            return super().__new__(mcs, name, bases, attributes)

    def wave(shape):
        return tf.reshape(tf.cos(tf.range(np.prod(shape), dtype=tf.float32)) * 0.4, shape)

    class Linear(tf.Module, metaclass=Scoped):
        def __init__(self, size, name=None):
            super().__init__(name=name)
            self.size, self.w = size, None

        def build(self, x):
            if self.w is None:
                self.w = tf.Variable(wave([x.shape[-1], self.size]), name="w")
                self.b = tf.Variable(tf.zeros([self.size]), name="b")

        def __call__(self, x):
            self.build(x)
            return x @ self.w + self.b

    class Stack(tf.Module, metaclass=Scoped):
        def __init__(self, sizes, name="stack"):
            super().__init__(name=name)
            with self.name_scope:
                self.parts = [Linear(size, name=f"linear_{i}") for i, size in enumerate(sizes)]

        def __call__(self, x):
            for part in self.parts[:-1]:
                x = tf.nn.relu(part(x))
            return self.parts[-1](x)

    stack = Stack([5, 4, 2])
    x = tf.constant(np.random.RandomState(0).randn(8, 3), tf.float32)

    @function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((stack(x) - tf.stack([x[:, 0], x[:, 1] * x[:, 2]], axis=1)) ** 2)
        variables = stack.trainable_variables
        for v, g in zip(variables, tape.gradient(loss, variables), strict=True):
            v.assign_sub(0.2 * g)
        return loss

    losses = [step(x) for _ in range(5)]
    names = [v.name for v in stack.trainable_variables]
    return {
        "losses": losses,
        "y": stack(x),
        "names": np.array([len(name) for name in names]),
        "scoped": np.array([name.startswith("stack/linear_") for name in names]),
    }


def parameters_of_their_own(tf, function):
    """A Gaussian process: hyperparameters are objects, converted where a tensor is asked for."""

    class Parameter(tf.Module):
        def __init__(self, value, positive=True):
            super().__init__()
            value = np.float64(value)
            self.positive = positive
            self.free = tf.Variable(np.log(np.expm1(value)) if positive else value)

        @property
        def value(self):
            return tf.math.softplus(self.free) if self.positive else tf.identity(self.free)

        @property
        def dtype(self):
            return self.free.dtype

    tf.register_tensor_conversion_function(
        Parameter, lambda x, dtype=None, name=None, as_ref=False: tf.convert_to_tensor(x.value, dtype)
    )

    class Process(tf.Module):
        def __init__(self):
            super().__init__()
            self.variance, self.length, self.noise = Parameter(1.3), Parameter(0.6), Parameter(0.05)
            self.mean = Parameter(0.2, positive=False)

        def covariance(self, a, b):
            square = tf.square((a[:, None] - b[None, :]) / self.length)
            return tf.multiply(self.variance, tf.exp(-0.5 * square))

        def log_likelihood(self, x, y):
            n = tf.shape(x)[0]
            noise = tf.fill([n], tf.convert_to_tensor(self.noise))
            k = self.covariance(x, x)
            factor = tf.linalg.cholesky(tf.linalg.set_diag(k, tf.linalg.diag_part(k) + noise))
            rest = tf.linalg.triangular_solve(factor, tf.subtract(y, self.mean)[:, None])
            log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
            return -0.5 * tf.reduce_sum(rest**2) - log_det - 0.5 * tf.cast(n, tf.float64) * np.log(2 * np.pi)

    process = Process()
    x = tf.constant(np.linspace(0.0, 3.0, 12))
    y = tf.sin(2.0 * x) + 0.1 * tf.cos(17.0 * x)

    class Fitter:
        """The step is traced when it is first asked for, as a function of a method."""

        def __init__(self, model):
            self.model = model

        def objective(self, x, y):
            return -self.model.log_likelihood(x, y)

        @functools.cached_property
        def compiled(self):
            return function(self.objective)

        def step(self, x, y):
            with tf.GradientTape() as tape:
                loss = self.compiled(x, y)
            variables = self.model.trainable_variables
            for v, g in zip(variables, tape.gradient(loss, variables), strict=True):
                v.assign_sub(0.02 * g)
            return loss

    fitter = Fitter(process)
    losses = [fitter.step(x, y) for _ in range(6)]
    stacked = tf.stack([process.variance, process.length, process.noise, process.mean])
    return {"losses": losses, "parameters": stacked, "k": process.covariance(x[:3], x)}


def quantised_codes(tf, function):
    """A codebook: nearest codes, gradients straight through them, and codes that follow running means."""
    r = np.random.RandomState(1)
    codes = tf.Variable(r.randn(4, 6).astype("float32"), trainable=False)
    sizes = tf.Variable(tf.zeros([6]), trainable=False)
    sums = tf.Variable(codes)
    encoder = tf.Variable(r.randn(5, 4).astype("float32") * 0.5)
    x = tf.constant(r.randn(16, 5).astype("float32"))

    @function
    def step(x):
        with tf.GradientTape() as tape:
            z = tf.tanh(x @ encoder)
            distances = (
                tf.reduce_sum(z**2, 1, keepdims=True)
                - 2 * tf.matmul(z, codes)
                + tf.reduce_sum(codes**2, 0, keepdims=True)
            )
            index = tf.argmax(-distances, 1)
            chosen = tf.nn.embedding_lookup(tf.transpose(codes, [1, 0]), index)
            commitment = tf.reduce_mean((tf.stop_gradient(chosen) - z) ** 2)
            straight = z + tf.stop_gradient(chosen - z)
            loss = tf.reduce_mean((straight @ tf.transpose(encoder) - x) ** 2) + 0.25 * commitment
        g = tape.gradient(loss, encoder)
        encoder.assign_sub(0.3 * g)
        hot = tf.one_hot(index, 6)
        sizes.assign(0.9 * sizes + 0.1 * tf.reduce_sum(hot, 0))
        sums.assign(0.9 * sums + 0.1 * tf.matmul(z, hot, transpose_a=True))
        total = tf.reduce_sum(sizes)
        codes.assign(sums / ((sizes + 1e-5) / (total + 6e-5) * total)[None, :])
        return loss, g, index

    results = [step(x) for _ in range(3)]
    return {"losses": [q[0] for q in results], "g": results[-1][1], "index": results[-1][2], "codes": codes}


def momentum_attack(tf, function):
    """Directions averaged over steps, each projected onto the ball and the box around the picture, in one loop of the graph."""
    r = np.random.RandomState(2)
    w = tf.constant(r.randn(8, 6), tf.float32)
    v = tf.constant(r.randn(6, 3), tf.float32)
    x, label = tf.constant(r.rand(5, 8), tf.float32), tf.constant([0, 1, 2, 1, 0])

    def logits(x):
        return tf.nn.relu(x @ w) @ v

    def unit(g, norm):
        axes = list(range(1, len(g.shape)))
        if norm == np.inf:
            return tf.sign(g)
        if norm == 1:
            return g / tf.maximum(1e-12, tf.reduce_sum(tf.abs(g), axes, keepdims=True))
        return g * tf.math.rsqrt(tf.maximum(1e-12, tf.reduce_sum(tf.square(g), axes, keepdims=True)))

    def project(eta, norm, radius):
        if norm == np.inf:
            return tf.clip_by_value(eta, -radius, radius)
        length = tf.sqrt(tf.maximum(1e-12, tf.reduce_sum(tf.square(eta), 1, keepdims=True)))
        return eta * tf.minimum(1.0, tf.math.divide(radius, length))

    @function
    def attack(x, radius, norm, steps):
        momentum, moved = tf.zeros_like(x), x
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch(moved)
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits(moved))
            momentum = 0.9 * momentum + unit(tape.gradient(loss, moved), 1)
            moved = moved + 0.05 * unit(momentum, norm)
            moved = tf.clip_by_value(x + project(moved - x, norm, radius), 0.0, 1.0)
        return moved

    box = attack(x, tf.constant(0.1), np.inf, tf.constant(7))
    ball = attack(x, tf.constant(0.2), 2, tf.constant(7))
    return {"box": box, "ball": ball, "changed": tf.argmax(logits(ball), 1) - tf.argmax(logits(x), 1)}


def normalised_by_its_spectrum(tf, function):
    """A wrapper around a layer that divides its kernel by the largest singular value, of one step of a power iteration."""
    r = np.random.RandomState(12)
    x, y = tf.constant(r.randn(8, 3), tf.float32), tf.constant(r.randn(8, 2), tf.float32)
    first, start = r.randn(3, 4) * 0.7, r.randn(1, 4)

    class Normalised(tf.keras.layers.Wrapper):
        def build(self, input_shape):
            super().build(input_shape)
            self.kernel = self.layer.kernel
            self.u = self.add_weight(
                shape=(1, self.kernel.shape[-1]),
                initializer=lambda shape, dtype=None: tf.constant(start, dtype),
                trainable=False,
                name="u",
            )

        def call(self, inputs, training=None):
            if training:
                w = tf.reshape(self.kernel, [-1, self.kernel.shape[-1]])
                v = tf.math.l2_normalize(tf.matmul(self.u, w, transpose_b=True))
                u = tf.math.l2_normalize(tf.matmul(v, w))
                self.u.assign(u)
                self.kernel.assign(self.kernel / tf.matmul(tf.matmul(v, w), u, transpose_b=True))
            return self.layer(inputs)

    inner = tf.keras.layers.Dense(4, kernel_initializer=lambda shape, dtype=None: tf.constant(first, dtype))
    layer = Normalised(inner)
    head = tf.Variable(r.randn(4, 2), dtype=tf.float32)
    layer(x)
    variables = [*layer.trainable_variables, head]

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(layer(x, training=True)) @ head - y))
        for v, g in zip(variables, tape.gradient(loss, variables), strict=True):
            v.assign_sub(0.1 * g)
        return loss

    losses = [step() for _ in range(8)]
    counts = [len(layer.trainable_variables), len(layer.non_trainable_variables), len(layer.weights)]
    return {"losses": losses, "u": layer.u, "kernel": layer.layer.kernel, "counts": counts}
