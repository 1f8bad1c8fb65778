"""Networks of layers: images and sequences, attacks on them, pairs that play against each other, agents that act."""

import numpy as np


def _settled(model, seed):
    """The model with weights that both libraries have."""
    r = np.random.RandomState(seed)
    model.set_weights(
        [
            r.uniform(0.5, 1.5, w.shape)
            if "gamma" in v.name or "variance" in v.name
            else 0.3 * r.randn(*w.shape)
            for w, v in zip(model.get_weights(), model.weights, strict=True)
        ]
    )
    return model


def _images(tf, seed=0):
    r = np.random.RandomState(seed)
    return tf.constant(r.rand(6, 8, 8, 2), tf.float32), tf.constant(r.randint(0, 3, 6), tf.int32)


def _classifier(tf):
    layers = tf.keras.layers

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Conv2D(4, 3, padding="same", activation="relu")
            self.pool = layers.MaxPooling2D()
            self.second = layers.Conv2D(5, (3, 2), strides=(2, 1), use_bias=False)
            self.norm = layers.BatchNormalization()
            self.mean = layers.GlobalAveragePooling2D()
            self.out = layers.Dense(3)

        def features(self, x, training=False):
            return tf.nn.elu(self.norm(self.second(self.pool(self.first(x))), training=training))

        def call(self, x, training=False):
            return self.out(self.mean(self.features(x, training=training)))

    net = Net()
    net(tf.zeros([1, 8, 8, 2]))
    return _settled(net, 1)


def convolutional_classifier(tf, function):
    """A subclassed model with convolutions, a pool and batch norm learns labels; its moving averages follow."""
    x, labels = _images(tf)
    net = _classifier(tf)
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)

    @function
    def step():
        with tf.GradientTape() as tape:
            logits = net(x, training=True)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses = [step() for _ in range(5)]
    return {
        "losses": losses,
        "logits": net(x),
        "mean": net.norm.moving_mean,
        "kernel": net.first.kernel[0, 0],
        "layers": np.array(len(net.layers)),
    }


def class_activation_map(tf, function):
    """Which places of the last maps speak for a class, and which pixels, by one persistent tape; smoothed over noisy copies."""
    x, labels = _images(tf)
    net = _classifier(tf)

    @function
    def explain(x, labels):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            maps = net.features(x)
            logits = net.out(net.mean(maps))
            score = tf.gather(logits, labels, axis=1, batch_dims=1)
        weights = tf.reduce_mean(tape.gradient(score, maps), axis=(1, 2))
        cam = tf.nn.relu(tf.einsum("bhwc,bc->bhw", maps, weights))
        cam /= tf.reduce_max(cam, axis=[1, 2], keepdims=True) + 1e-8
        return cam, tf.reduce_max(tf.abs(tape.gradient(score, x)), axis=-1)

    cam, pixels = explain(x, labels)
    noise = np.random.RandomState(3).randn(4, *x.shape).astype(np.float32)
    smooth = tf.add_n([explain(x + 0.05 * n, labels)[1] for n in noise]) / 4.0
    resized = tf.image.resize(cam[..., tf.newaxis], (8, 8))
    return {"cam": cam, "pixels": pixels[0], "smooth": smooth[1], "resized": resized[0, :, :, 0]}


def adversarial_attacks(tf, function):
    """One step by the sign of a gradient, several projected ones in a loop, and one whose length stops when the class changes."""
    x, labels = _images(tf)
    net = _classifier(tf)

    def loss_of(x):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=net(x))

    @function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = loss_of(x)
        return tape.gradient(loss, x)

    @function
    def projected(x, steps):
        moved = x
        for _ in tf.range(steps):
            moved = moved + 0.02 * tf.sign(slope(moved))
            moved = tf.clip_by_value(x + tf.clip_by_value(moved - x, -0.05, 0.05), 0.0, 1.0)
        return moved

    @function
    def until_wrong(x):
        size, count = tf.zeros([]), tf.constant(0)
        direction = slope(x)
        direction /= tf.norm(tf.reshape(direction, [6, -1]), axis=1)[:, None, None, None] + 1e-12
        while tf.reduce_any(tf.argmax(net(x + size * direction), 1, output_type=tf.int32) == labels):
            size += 0.5
            count += 1
            if count > 8:
                break
        return size, count

    fast = tf.clip_by_value(x + 0.03 * tf.sign(slope(x)), 0.0, 1.0)
    size, count = until_wrong(x)
    return {
        "before": loss_of(x),
        "fast": loss_of(fast),
        "projected": loss_of(projected(x, tf.constant(4))),
        "size": size,
        "count": count,
    }


def generator_against_critic(tf, function):
    """Images grow by transposed convolutions, a critic judges them: two tapes in one step, two optimizers."""
    layers = tf.keras.layers
    maker = tf.keras.Sequential(
        [
            layers.Dense(2 * 2 * 6, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape((2, 2, 6)),
            layers.Conv2DTranspose(4, 3, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(0.2),
            layers.Conv2DTranspose(1, (5, 5), strides=(2, 2), padding="same", activation="tanh"),
        ]
    )
    critic = tf.keras.Sequential(
        [
            layers.Conv2D(4, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.0),
            layers.Conv2D(6, 3, strides=2, padding="same"),
            layers.ReLU(negative_slope=0.1),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    r = np.random.RandomState(5)
    noise, real = (
        tf.constant(r.randn(5, 3), tf.float32),
        tf.constant(np.tanh(r.randn(5, 8, 8, 1)), tf.float32),
    )
    critic(maker(noise))
    _settled(maker, 2)
    _settled(critic, 3)
    entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    for_maker, for_critic = tf.keras.optimizers.SGD(0.2), tf.keras.optimizers.SGD(0.1)

    @function
    def step(noise, real):
        with tf.GradientTape() as of_maker, tf.GradientTape() as of_critic:
            made = maker(noise, training=True)
            yes, no = critic(real, training=True), critic(made, training=True)
            maker_loss = entropy(tf.ones_like(no), no)
            critic_loss = entropy(tf.ones_like(yes), yes) + entropy(tf.zeros_like(no), no)
        slopes = of_maker.gradient(maker_loss, maker.trainable_variables)
        for_maker.apply_gradients(zip(slopes, maker.trainable_variables, strict=True))
        slopes = of_critic.gradient(critic_loss, critic.trainable_variables)
        for_critic.apply_gradients(zip(slopes, critic.trainable_variables, strict=True))
        return maker_loss, critic_loss

    losses = [tf.stack(step(noise, real)) for _ in range(4)]
    return {"losses": losses, "image": maker(noise)[0, :, :, 0]}


def penalised_critic(tf, function):
    """A critic whose slope between real and made images is pulled towards length 1: a gradient of a gradient through layers."""
    layers = tf.keras.layers
    critic = tf.keras.Sequential(
        [layers.Conv2D(3, 3, strides=2, activation="softplus"), layers.Flatten(), layers.Dense(1)]
    )
    r = np.random.RandomState(6)
    real, made = (tf.constant(r.rand(4, 7, 7, 1), tf.float32) for _ in range(2))
    critic(real)
    _settled(critic, 4)
    part = tf.constant(r.rand(4, 1, 1, 1), tf.float32)

    @function
    def step():
        with tf.GradientTape() as outer:
            between = part * real + (1.0 - part) * made
            with tf.GradientTape() as inner:
                inner.watch(between)
                judged = critic(between)
            slope = inner.gradient(judged, between)
            length = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=[1, 2, 3]))
            loss = tf.reduce_mean(critic(made)) - tf.reduce_mean(critic(real))
            loss += 10.0 * tf.reduce_mean((length - 1.0) ** 2)
        for v, g in zip(
            critic.trainable_variables[:-1], outer.gradient(loss, critic.trainable_variables), strict=False
        ):
            v.assign_sub(0.02 * g)
        return loss

    return {"losses": [step() for _ in range(5)], "kernel": critic.layers[0].kernel[:, :, 0]}


def actor_and_critic(tf, function):
    """An agent acts in an environment of NumPy within a traced loop: states of unknown shape, arrays that grow, an early end."""
    layers = tf.keras.layers

    class Agent(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.common = layers.Dense(6, activation="relu")
            self.actor = layers.Dense(2)
            self.critic = layers.Dense(1)

        def call(self, inputs):
            x = self.common(inputs)
            return self.actor(x), self.critic(x)

    agent = Agent()
    agent(tf.zeros([1, 3]))
    _settled(agent, 8)
    place = {"state": None}

    def act(action):
        x, v, t = place["state"]
        v = v + 0.1 * (2.0 * float(action) - 1.0)
        x, t = x + 0.3 * v, t + 1.0
        place["state"] = np.array([x, v, t], np.float32)
        return (
            place["state"] / 3.0,
            np.array(1.0 - abs(x), np.float32),
            np.array(t > 6 or abs(x) > 0.5, np.int32),
        )

    def environment(action):
        return tf.numpy_function(act, [action], [tf.float32, tf.float32, tf.int32])

    def episode(start, most):
        chances = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        values = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        rewards = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        state, form = start, start.shape
        for t in tf.range(most):
            logits, value = agent(tf.expand_dims(state, 0))
            action = tf.argmax(logits, 1)[0]
            values = values.write(t, tf.squeeze(value))
            chances = chances.write(t, tf.nn.softmax(logits)[0, action])
            state, reward, done = environment(action)
            state.set_shape(form)
            rewards = rewards.write(t, reward)
            if tf.cast(done, tf.bool):
                break
        return chances.stack(), values.stack(), rewards.stack()

    def returns_of(rewards):
        n = tf.shape(rewards)[0]
        returns = tf.TensorArray(tf.float32, size=n)
        backwards = tf.cast(rewards[::-1], tf.float32)
        total = tf.constant(0.0)
        form = total.shape
        for i in tf.range(n):
            total = backwards[i] + 0.9 * total
            total.set_shape(form)
            returns = returns.write(i, total)
        returns = returns.stack()[::-1]
        return (returns - tf.math.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-6)

    huber = tf.keras.losses.Huber(reduction="sum")

    @function
    def step(start, most):
        with tf.GradientTape() as tape:
            chances, values, rewards = episode(start, most)
            returns = returns_of(rewards)
            chances, values, returns = (tf.expand_dims(x, 1) for x in (chances, values, returns))
            loss = -tf.reduce_sum(tf.math.log(chances) * (returns - values)) + huber(values, returns)
        slopes = tape.gradient(loss, agent.trainable_variables)
        for v, g in zip(agent.trainable_variables, slopes, strict=True):
            v.assign_sub(0.02 * g)
        return loss, tf.reduce_sum(rewards)

    results = []
    for _ in range(4):
        place["state"] = np.array([0.1, -0.2, 0.0], np.float32)
        results.append(tf.stack(step(tf.constant(place["state"]) / 3.0, 9)))
    return {"results": results, "kernel": agent.actor.kernel}


def clipped_policy(tf, function):
    """A policy of normal actions is improved with clipped ratios over minibatches until it has moved too far."""
    layers = tf.keras.layers
    policy = tf.keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(2)])
    value = tf.keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(1)])
    r = np.random.RandomState(9)
    states = tf.constant(r.randn(24, 3), tf.float32)
    policy(states), value(states)
    _settled(policy, 10)
    _settled(value, 11)
    spread = tf.Variable(tf.fill([2], -0.5))
    actions = policy(states) + tf.exp(spread) * tf.constant(r.randn(24, 2), tf.float32)
    rewards = tf.constant(r.randn(24), tf.float32)

    def log_chance(states, actions):
        z = (actions - policy(states)) / tf.exp(spread)
        return tf.reduce_sum(-0.5 * z**2 - spread - 0.5 * np.log(2.0 * np.pi), axis=-1)

    @function
    def advantages():
        values = tf.squeeze(value(states), -1)
        after = tf.concat([values[1:], [0.0]], 0)
        errors = rewards + 0.95 * after - values
        summed = tf.scan(lambda a, d: d + 0.95 * 0.9 * a, errors, initializer=tf.constant(0.0), reverse=True)
        return (summed - tf.reduce_mean(summed)) / (tf.math.reduce_std(summed) + 1e-8), summed + values

    optimizer = tf.keras.optimizers.Adam(0.01)
    gain, targets = advantages()
    old = log_chance(states, actions)

    @function
    def epoch(rounds):
        moved, used = tf.constant(0.0), tf.constant(0)
        for k in tf.range(rounds):
            rows = tf.range(8) * 3 + k % 3
            with tf.GradientTape() as tape:
                now = log_chance(tf.gather(states, rows), tf.gather(actions, rows))
                ratio = tf.exp(now - tf.gather(old, rows))
                a = tf.gather(gain, rows)
                clipped = tf.where(a > 0, 1.1 * a, 0.9 * a)
                loss = -tf.reduce_mean(tf.minimum(ratio * a, clipped))
                guess = tf.squeeze(value(tf.gather(states, rows)), -1)
                loss += 0.5 * tf.reduce_mean((tf.gather(targets, rows) - guess) ** 2)
            variables = [*policy.trainable_variables, spread, *value.trainable_variables]
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            moved = tf.reduce_mean(old - log_chance(states, actions))
            used += 1
            if moved > 0.1:
                break
        return moved, used

    moved, used = epoch(tf.constant(6))
    return {"gain": gain, "moved": moved, "used": used, "spread": spread}


def slow_targets(tf, function):
    """An actor and a critic with slow copies of both, learned from a buffer of transitions."""
    layers = tf.keras.layers

    def actor():
        return tf.keras.Sequential([layers.Dense(6, activation="relu"), layers.Dense(1, activation="tanh")])

    class Critic(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.of_state = layers.Dense(5, activation="relu")
            self.of_both = layers.Dense(6, activation="relu")
            self.out = layers.Dense(1)

        def call(self, inputs):
            state, action = inputs
            return self.out(self.of_both(tf.concat([self.of_state(state), action], axis=-1)))

    r = np.random.RandomState(12)
    state, after = (tf.constant(r.randn(10, 1), tf.float32) for _ in range(2))
    action, reward = (tf.constant(r.uniform(-1.0, 1.0, [10, 1]), tf.float32) for _ in range(2))
    acts, slow_acts, judges, slow_judges = actor(), actor(), Critic(), Critic()
    for a in (acts, slow_acts):
        a(state)
    for c in (judges, slow_judges):
        c([state, action])
    _settled(acts, 13)
    _settled(judges, 14)
    slow_acts.set_weights(acts.get_weights())
    slow_judges.set_weights(judges.get_weights())
    for_actor, for_critic = tf.keras.optimizers.Adam(0.01), tf.keras.optimizers.Adam(0.02)

    @function
    def update():
        with tf.GradientTape() as tape:
            wanted = reward + 0.9 * slow_judges([after, slow_acts(after, training=True)], training=True)
            loss = tf.reduce_mean(tf.square(wanted - judges([state, action], training=True)))
        slopes = tape.gradient(loss, judges.trainable_variables)
        for_critic.apply_gradients(zip(slopes, judges.trainable_variables, strict=True))
        with tf.GradientTape() as tape:
            gain = -tf.reduce_mean(judges([state, acts(state, training=True)], training=True))
        slopes = tape.gradient(gain, acts.trainable_variables)
        for_actor.apply_gradients(zip(slopes, acts.trainable_variables, strict=True))
        return loss, gain

    @function
    def follow():
        for slow, quick in ((slow_acts, acts), (slow_judges, judges)):
            for s, q in zip(slow.variables, quick.variables, strict=True):
                s.assign(0.1 * q + 0.9 * s)

    results = []
    for _ in range(4):
        results.append(tf.stack(update()))
        follow()
    return {"results": results, "slow": slow_judges.out.kernel}


def cells_in_time(tf, function):
    """Two kinds of recurrent cells run over a sequence whose length a tensor gives; outputs are collected in an array."""
    layers = tf.keras.layers
    memory, gated, plain = layers.LSTMCell(4), layers.GRUCell(4), layers.SimpleRNNCell(3)
    r = np.random.RandomState(15)
    x = tf.constant(r.randn(2, 6, 3), tf.float32)
    memory(x[:, 0], [tf.zeros([2, 4]), tf.zeros([2, 4])])
    gated(tf.zeros([2, 4]), [tf.zeros([2, 4])])
    plain(tf.zeros([2, 4]), [tf.zeros([2, 3])])
    for k, cell in enumerate((memory, gated, plain)):
        _settled(cell, 16 + k)

    @function
    def run(x, length):
        states = memory.get_initial_state(batch_size=2)
        h, c = states[0], states[1]
        g, p = tf.zeros([2, 4]), tf.zeros([2, 3])
        outputs = tf.TensorArray(tf.float32, size=length)
        for t in tf.range(length):
            y, (h, c) = memory(x[:, t], [h, c])
            y, [g] = gated(y, [g])
            y, [p] = plain(y, [p])
            outputs = outputs.write(t, y)
        return tf.transpose(outputs.stack(), [1, 0, 2])

    variables = [*memory.trainable_variables, *gated.trainable_variables, *plain.trainable_variables]
    with tf.GradientTape() as tape:
        y = run(x, tf.constant(5))
        loss = tf.reduce_sum(y**2)
    slopes = tape.gradient(loss, variables)
    return {"y": y, "slopes": tf.stack([tf.reduce_sum(g * g) for g in slopes]), "bias": slopes[2]}


def attention_over_embeddings(tf, function):
    """Numbers of words become rows of a table, attend to each other and are normalised; the table learns from its rows."""
    layers = tf.keras.layers

    class Block(layers.Layer):
        def __init__(self, size, heads):
            super().__init__()
            self.size, self.heads = size, heads
            self.embed = layers.Embedding(11, size)
            self.project = layers.Dense(3 * size)
            self.out = layers.Dense(size)
            self.first, self.second = layers.LayerNormalization(epsilon=1e-6), layers.LayerNormalization()

        def call(self, tokens):
            x = self.embed(tokens)
            n, d = tf.shape(x)[1], self.size // self.heads
            q, k, v = (
                tf.transpose(tf.reshape(part, [-1, n, self.heads, d]), [0, 2, 1, 3])
                for part in tf.split(self.project(x), 3, axis=-1)
            )
            scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(d)
            scores += (1.0 - tf.linalg.band_part(tf.ones([n, n]), -1, 0)) * -1e9
            mask = tf.cast(tf.equal(tokens, 0), tf.float32)[:, None, None, :]
            y = tf.matmul(tf.nn.softmax(scores + mask * -1e9), v)
            x = self.first(x + self.out(tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [-1, n, self.size])))
            return tf.matmul(self.second(x), self.embed.embeddings, transpose_b=True)

    tokens = tf.constant([[1, 4, 2, 7, 0], [3, 3, 9, 10, 5]])
    block = Block(6, 2)
    block(tokens)
    _settled(block, 20)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @function
    def step():
        with tf.GradientTape() as tape:
            logits = block(tokens[:, :-1])
            loss = loss_of(tokens[:, 1:], logits)
            mask = tf.cast(tokens[:, 1:] != 0, loss.dtype)
            loss = tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)
        for v, g in zip(
            block.trainable_variables, tape.gradient(loss, block.trainable_variables), strict=True
        ):
            v.assign_sub(0.1 * tf.convert_to_tensor(g))
        return loss

    losses = [step() for _ in range(4)]
    return {"losses": losses, "logits": block(tokens)[0], "rows": block.embed.embeddings}


def style_and_content(tf, function):
    """An image is changed until its Gram matrices are those of one picture and its features those of another."""
    net = _classifier(tf)
    r = np.random.RandomState(21)
    style, content = (tf.constant(r.rand(1, 8, 8, 2), tf.float32) for _ in range(2))

    def features(x):
        first = net.first(x)
        return first, net.second(net.pool(first))

    def gram(maps):
        summed = tf.linalg.einsum("bijc,bijd->bcd", maps, maps)
        sizes = tf.shape(maps)
        return summed / tf.cast(sizes[1] * sizes[2], tf.float32)

    grams = [gram(maps) for maps in features(style)]
    wanted = features(content)[1]
    image = tf.Variable(content, constraint=lambda x: tf.clip_by_value(x, 0.0, 1.0))

    @function
    def step(image):
        with tf.GradientTape() as tape:
            maps = features(image)
            loss = tf.add_n([tf.reduce_mean((gram(m) - g) ** 2) for m, g in zip(maps, grams, strict=True)])
            loss += 0.01 * tf.reduce_mean((maps[1] - wanted) ** 2)
            loss += 0.001 * tf.reduce_sum(tf.image.total_variation(image))
        image.assign(tf.clip_by_value(image - 0.2 * tape.gradient(loss, image), 0.0, 1.0))
        return loss

    losses = [step(image) for _ in range(6)]
    return {"losses": losses, "image": image[0, :, :, 0]}


def causal_convolutions(tf, function):
    """Gated convolutions that do not look ahead, wider from layer to layer, with skips; no value depends on a later one."""
    layers = tf.keras.layers

    class Wave(tf.Module):
        def __init__(self):
            super().__init__()
            self.filters = [layers.Conv1D(4, 2, padding="causal", dilation_rate=2**k) for k in range(3)]
            self.gates = [layers.Conv1D(4, 2, padding="causal", dilation_rate=2**k) for k in range(3)]
            self.skips = [layers.Conv1D(4, 1) for _ in range(3)]
            self.out = layers.Conv1D(1, 1)

        def __call__(self, x):
            total = 0.0
            for f, g, s in zip(self.filters, self.gates, self.skips, strict=True):
                y = s(tf.tanh(f(x)) * tf.sigmoid(g(x)))
                x, total = x + y, total + y
            return self.out(tf.nn.relu(total))

    wave = Wave()
    x = tf.constant(np.random.RandomState(22).randn(2, 12, 4), tf.float32)
    wave(x)
    for k, layer in enumerate([*wave.filters, *wave.gates, *wave.skips, wave.out]):
        _settled(layer, 30 + k)

    @function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = wave(x)
            fifth = tf.reduce_sum(y[:, 5])
        return y, tape.gradient(fifth, x)

    y, slope = run(x)
    return {"y": y[..., 0], "ahead": tf.reduce_max(tf.abs(slope[:, 6:])), "slope": slope[0, :6]}
