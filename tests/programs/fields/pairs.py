"""Networks that learn from each other or from pairs: images of images, student and teacher, near and far, actor and critics."""

import numpy as np


def _drawn(r, *shape):
    return r.randn(*shape).astype(np.float32)


def _settle(variables, seed, scale=0.3):
    """Weights that both libraries have; biases and scales keep their zeros and ones."""
    r = np.random.RandomState(seed)
    for v in variables:
        if len(v.shape) > 1:
            v.assign(scale * _drawn(r, *v.shape))


def image_to_image(tf, function):
    """A network with skips makes an image of an image; another one judges the pairs in patches, and both learn."""
    layers, r = tf.keras.layers, np.random.RandomState(0)

    def block(made, *more):
        return tf.keras.Sequential([made, layers.BatchNormalization(), *more])

    class Generator(tf.keras.Model):
        def __init__(self):
            super().__init__()
            options = {"strides": 2, "padding": "same", "use_bias": False}
            self.down = [block(layers.Conv2D(4, 3, **options), layers.LeakyReLU()) for _ in range(2)]
            self.larger = layers.UpSampling2D(interpolation="bilinear")
            self.narrow = block(layers.Conv2D(4, 3, padding="same", activation="relu"))
            self.together = layers.Concatenate()
            self.last = layers.Conv2DTranspose(2, 4, strides=2, padding="same", activation="tanh")

        def call(self, x, training=False):
            skips = []
            for down in self.down:
                x = down(x, training=training)
                skips.append(x)
            x = self.narrow(self.larger(x), training=training)
            return self.last(self.together([x, skips[0]]))

    class Judge(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.edges = layers.ZeroPadding2D()
            self.first = layers.Conv2D(4, 3, strides=2)
            self.out = layers.Conv2D(1, 3)

        def call(self, pair):
            x = self.first(self.edges(layers.concatenate(pair)))
            return self.out(tf.nn.leaky_relu(x))

    given, wanted = (tf.constant(np.tanh(_drawn(r, 2, 8, 8, 2))) for _ in range(2))
    generator, judge = Generator(), Judge()
    judge([given, generator(given)])
    _settle(generator.trainable_variables, 1)
    _settle(judge.trainable_variables, 2)
    entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = [tf.keras.optimizers.Adam(0.01, beta_1=0.5) for _ in range(2)]

    @function
    def step():
        with tf.GradientTape() as tape, tf.GradientTape() as other:
            made = generator(given, training=True)
            real, false = judge([given, wanted]), judge([given, made])
            distance = tf.reduce_mean(tf.abs(wanted - made))
            loss = entropy(tf.ones_like(false), false) + 10.0 * distance
            judged = entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(false), false)
        for optimizer, t, y, model in (
            (optimizers[0], tape, loss, generator),
            (optimizers[1], other, judged, judge),
        ):
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(t.gradient(y, weights), weights, strict=True))
        return tf.stack([loss, judged, distance])

    losses = [step() for _ in range(4)]
    return {"losses": losses, "image": generator(given), "patches": judge([given, wanted])}


def distilled_student(tf, function):
    """A small network learns the softened answers of a larger one that is frozen, and the labels."""
    layers, keras, r = tf.keras.layers, tf.keras, np.random.RandomState(3)

    def network(units, **options):
        hidden = layers.Dense(units, activation="mish", **options)
        return keras.Sequential([keras.Input(shape=(6,)), hidden, layers.Dense(4)])

    class Pair(keras.Model):
        def __init__(self):
            super().__init__()
            self.teacher, self.student = network(32), network(5, kernel_regularizer="l2")
            self.teacher.trainable = False

    pair, warm = Pair(), 4.0
    _settle(pair.teacher.weights, 4, 0.6)
    _settle(pair.student.weights, 5)
    x, labels = tf.constant(_drawn(r, 24, 6)), tf.constant(r.randint(0, 4, 24))
    apart = keras.losses.KLDivergence()
    right = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.AdamW(0.02, weight_decay=0.01)
    metrics = [keras.metrics.SparseCategoricalAccuracy(), keras.metrics.KLDivergence()]

    @function
    def step():
        taught = pair.teacher(x, training=False)
        with tf.GradientTape() as tape:
            found = pair.student(x, training=True)
            soft = apart(tf.nn.softmax(taught / warm), tf.nn.softmax(found / warm)) * warm**2
            loss = 0.2 * right(labels, found) + 0.8 * soft + tf.add_n(pair.student.losses)
        weights = pair.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        metrics[0].update_state(labels, found)
        metrics[1].update_state(tf.nn.softmax(taught), tf.nn.softmax(found))
        return tf.stack([loss, soft])

    losses = [step() for _ in range(5)]
    trained = np.array(len(pair.trainable_variables))
    return {"losses": losses, "metrics": [m.result() for m in metrics], "trained": trained}


def near_and_far(tf, function):
    """Points on a sphere: pairs of one class come near, those of others go away, by three losses."""
    layers, r = tf.keras.layers, np.random.RandomState(6)
    image = tf.constant(r.rand(8, 10, 10, 1), tf.float32)
    labels = tf.constant(r.randint(0, 3, 8), tf.int32)
    net = tf.keras.Sequential(
        [
            layers.Conv2D(6, 3, activation="relu"),
            layers.MaxPool2D(),
            layers.Conv2D(6, 3),
            layers.ELU(),
            layers.GlobalMaxPool2D(),
            layers.Dense(5),
        ]
    )
    net(image)
    _settle(net.trainable_variables, 7, 0.5)

    def of_pairs(a, b, same):
        far = tf.norm(a - b + 1e-6, axis=1)
        return tf.reduce_mean(same * far**2 + (1.0 - same) * tf.maximum(1.0 - far, 0.0) ** 2)

    def of_hardest(z):
        size = tf.reduce_sum(z**2, 1)
        d = tf.sqrt(tf.maximum(size[:, None] - 2.0 * tf.matmul(z, z, transpose_b=True) + size, 1e-12))
        same = tf.equal(labels[:, None], labels[None, :])
        other = tf.logical_and(same, ~tf.cast(tf.eye(tf.shape(labels)[0]), tf.bool))
        farthest = tf.reduce_max(tf.where(other, d, 0.0), axis=1)
        nearest = tf.reduce_min(tf.where(same, tf.reduce_max(d), d), axis=1)
        return tf.reduce_mean(tf.nn.relu(farthest - nearest + 0.3))

    def of_views(a, b, warm=0.2):
        count = tf.shape(a)[0]
        hidden = 1e9 * tf.one_hot(tf.range(count), count)
        inside, across = a @ tf.transpose(a) / warm - hidden, a @ tf.transpose(b) / warm
        logits, wanted = tf.concat([across, inside], 1), tf.one_hot(tf.range(count), 2 * count)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=wanted, logits=logits))

    optimizer = tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.CosineDecay(0.1, 10), momentum=0.9)

    @function
    def step():
        with tf.GradientTape() as tape:
            z = tf.nn.l2_normalize(net(image, training=True), axis=-1)
            a, b = z[::2], z[1::2]
            same = tf.cast(labels[::2] == labels[1::2], tf.float32)
            losses = tf.stack([of_pairs(a, b, same), of_hardest(z), of_views(a, b) + of_views(b, a)])
        weights = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(losses, weights), weights, strict=True))
        return losses

    losses = [step() for _ in range(5)]
    return {"losses": losses, "points": tf.nn.l2_normalize(net(image), axis=-1)}


def soft_actor_and_critics(tf, function):
    """A squashed Gaussian policy, two critics with slow copies, and the price of entropy, from one persistent tape."""
    layers, r = tf.keras.layers, np.random.RandomState(8)

    def network(*units):
        hidden = [layers.Dense(n, activation="relu") for n in units[:-1]]
        return tf.keras.Sequential([*hidden, layers.Dense(units[-1])])

    class Actor(tf.Module):
        def __init__(self):
            super().__init__(name="actor")
            self.body, self.mean = network(12, 12), layers.Dense(2)
            self.spread = layers.Dense(2, activation=tf.tanh)

        @tf.Module.with_name_scope
        def __call__(self, state, noise):
            h = tf.nn.relu(self.body(state))
            mean, spread = self.mean(h), 0.5 * (self.spread(h) - 1.0)
            raw = mean + noise * tf.exp(spread)
            density = -0.5 * (((raw - mean) / (tf.exp(spread) + 1e-8)) ** 2 + 2 * spread + np.log(2 * np.pi))
            squash = 2.0 * (np.log(2.0) - raw - tf.nn.softplus(-2.0 * raw))
            return tf.tanh(raw), tf.reduce_sum(density - squash, axis=1)

    actor, critics, slow = Actor(), [network(12, 1) for _ in range(2)], [network(12, 1) for _ in range(2)]
    actor(tf.zeros([1, 3]), tf.zeros([1, 2]))
    for k, (critic, copy) in enumerate(zip(critics, slow, strict=True)):
        critic(tf.zeros([1, 5]))
        copy(tf.zeros([1, 5]))
        _settle(critic.trainable_variables, 10 + k)
        copy.set_weights(critic.get_weights())
    own = [v for part in (actor.body, actor.mean, actor.spread) for v in part.trainable_variables]
    _settle(own, 9)
    theirs = critics[0].trainable_variables + critics[1].trainable_variables
    price = tf.Variable(0.0)
    optimizers = [tf.keras.optimizers.Adam(0.01) for _ in range(3)]

    def value(networks, state, action):
        pair = tf.concat([state, action], axis=-1)
        return [tf.squeeze(network(pair), axis=1) for network in networks]

    @function
    def step(state, action, reward, after, noise, later):
        with tf.GradientTape(persistent=True) as tape:
            alpha = tf.exp(price)
            chosen, chance = actor(state, noise)
            next_action, next_chance = actor(after, later)
            future = tf.minimum(*value(slow, after, next_action)) - alpha * next_chance
            target = tf.stop_gradient(reward + 0.95 * future)
            errors = tf.add_n([tf.reduce_mean((target - q) ** 2) for q in value(critics, state, action)])
            advice = tf.reduce_mean(alpha * chance - tf.minimum(*value(critics, state, chosen)))
            entropy = -tf.reduce_mean(price * tf.stop_gradient(chance - 2.0))
        for optimizer, loss, weights in zip(
            optimizers, (advice, errors, entropy), (own, theirs, [price]), strict=True
        ):
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        del tape
        for critic, copy in zip(critics, slow, strict=True):
            for v, w in zip(critic.trainable_variables, copy.trainable_variables, strict=True):
                w.assign(0.9 * w + 0.1 * v)
        return tf.stack([advice, errors, entropy])

    sizes = [(10, 3), (10, 2), (10,), (10, 3), (10, 2), (10, 2)]
    losses = [step(*[tf.constant(_drawn(r, *size)) for size in sizes]) for _ in range(4)]
    return {"losses": losses, "price": price, "slow": slow[1].trainable_variables[0]}


def pools_of_graphs(tf, function):
    """Nodes of several graphs are put into few groups by a relaxed cut; readouts by sums, means, extremes and shares."""
    r = np.random.RandomState(8)
    nodes, groups = 9, 3
    links = (r.uniform(size=[nodes, nodes]) > 0.6).astype(np.float32)
    links = np.maximum(links, links.T) * (1 - np.eye(nodes, dtype=np.float32))
    graph_of = tf.constant([0, 0, 0, 1, 1, 1, 1, 2, 2])
    features = tf.constant(r.normal(size=[nodes, 4]).astype(np.float32))
    weights = [
        tf.Variable(0.5 * r.normal(size=shape).astype(np.float32)) for shape in ((4, groups), (4, 5), (5, 1))
    ]
    links = tf.constant(links)
    places = tf.where(links > 0)
    sparse = tf.sparse.SparseTensor(places, tf.gather_nd(links, places), links.shape)

    def cut(shares):
        degrees = tf.linalg.diag(tf.sparse.reduce_sum(sparse, axis=1))
        inside = tf.linalg.trace(
            tf.matmul(shares, tf.sparse.sparse_dense_matmul(sparse, shares), transpose_a=True)
        )
        whole = tf.linalg.trace(tf.matmul(shares, degrees @ shares, transpose_a=True))
        overlap = tf.matmul(shares, shares, transpose_a=True)
        even = tf.eye(groups) / np.sqrt(groups)
        return -inside / whole + tf.norm(overlap / tf.norm(overlap) - even)

    def readouts(hidden):
        score = tf.squeeze(hidden @ weights[2], 1)
        largest = tf.gather(tf.math.segment_max(score, graph_of), graph_of)
        share = tf.exp(score - tf.stop_gradient(largest))
        share /= tf.gather(tf.math.segment_sum(share, graph_of), graph_of)
        parts = [
            pool(hidden, graph_of)
            for pool in (tf.math.segment_sum, tf.math.segment_mean, tf.math.segment_max)
        ]
        return tf.concat([*parts, tf.math.segment_sum(share[:, None] * hidden, graph_of)], axis=1)

    @function
    def step():
        with tf.GradientTape() as tape:
            shares = tf.nn.softmax(features @ weights[0])
            hidden = tf.nn.elu(tf.sparse.sparse_dense_matmul(sparse, features) @ weights[1])
            pooled = tf.matmul(shares, tf.sparse.sparse_dense_matmul(sparse, shares), transpose_a=True)
            pooled = tf.linalg.set_diag(pooled, tf.zeros([groups]))
            root = tf.sqrt(tf.reduce_sum(pooled, 1))[:, None] + 1e-7
            pooled = pooled / root / tf.transpose(root)
            loss = cut(shares) + 0.1 * tf.reduce_mean(readouts(hidden) ** 2) + 0.1 * tf.reduce_sum(pooled**3)
        for variable, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            variable.assign_sub(0.3 * slope)
        return loss, pooled

    losses, pooled = zip(*[step() for _ in range(4)], strict=True)
    return {"losses": losses, "pooled": pooled[-1], "of_groups": weights[0], "of_scores": weights[2]}
