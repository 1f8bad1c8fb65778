"""Recurrent cells, attention and embeddings from their formulas."""

import numpy as np


def lstm_sum(tf, function):
    """An LSTM cell in a tensor loop learns the sum of its inputs; gradients are clipped together."""
    r = np.random.RandomState(0)
    x = tf.constant(r.rand(6, 7, 1), tf.float32)
    y = tf.reduce_sum(x, axis=[1, 2])
    kernel, bias = tf.Variable(r.randn(5, 16) * 0.4, dtype=tf.float32), tf.Variable(tf.zeros([16]))
    head = tf.Variable(r.randn(4, 1), dtype=tf.float32)

    @function
    def step():
        with tf.GradientTape() as tape:
            h = c = tf.zeros([6, 4])
            for t in tf.range(tf.shape(x)[1]):
                gates = tf.concat([x[:, t], h], axis=1) @ kernel + bias
                i, f, o, new = tf.split(gates, 4, axis=1)
                c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(new)
                h = tf.sigmoid(o) * tf.tanh(c)
            loss = tf.reduce_mean((tf.squeeze(h @ head, 1) - y) ** 2)
        variables = [kernel, bias, head]
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        for v, g in zip(variables, gradients, strict=True):
            v.assign_sub(0.1 * g)
        return tf.stack([loss, norm])

    return {"losses": [step() for _ in range(8)]}


def gru_of_unequal_lengths(tf, function):
    """Rows stop at their own length under tf.where; outputs are masked; the other direction runs over reversed rows."""
    r = np.random.RandomState(1)
    x, lengths = tf.constant(r.randn(3, 5, 2)), tf.constant([5, 3, 4])
    wz, wr, wh = (tf.constant(r.randn(5, 3) * 0.5) for _ in range(3))

    @function
    def run(x):
        h = tf.zeros([3, 3], tf.float64)
        states = []
        for t in range(5):
            both = tf.concat([x[:, t], h], -1)
            z, reset = tf.sigmoid(both @ wz), tf.sigmoid(both @ wr)
            new = tf.tanh(tf.concat([x[:, t], reset * h], -1) @ wh)
            h = tf.where((t < lengths)[:, None], (1.0 - z) * h + z * new, h)
            states.append(h)
        mask = tf.sequence_mask(lengths, 5, dtype=tf.float64)
        return h, tf.stack(states, axis=1) * mask[..., None]

    forward, states = run(x)
    backward, _ = run(tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0))
    return {"forward": forward, "backward": backward, "states": states}


def attention(tf, function):
    """Two heads with a causal mask, layer normalisation and a residual; cross-entropy of integer labels."""
    r = np.random.RandomState(2)
    table = tf.Variable(r.randn(11, 8) * 0.3, dtype=tf.float32)
    wqkv, wo = (tf.Variable(r.randn(*s) * 0.3, dtype=tf.float32) for s in ((8, 24), (8, 8)))
    tokens = tf.constant(r.randint(0, 11, size=(2, 6)))

    def split(x):
        return tf.transpose(tf.reshape(x, [2, -1, 2, 4]), perm=[0, 2, 1, 3])

    def logits_of(ids):
        x = tf.nn.embedding_lookup(table, ids)
        n = tf.shape(ids)[1]
        q, k, v = (split(part) for part in tf.split(x @ wqkv, 3, axis=-1))
        scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(4.0)
        allowed = tf.linalg.band_part(tf.ones([n, n]), -1, 0)
        weights = tf.nn.softmax(scores + (1.0 - allowed) * -1e9, axis=-1)
        mixed = tf.reshape(tf.transpose(weights @ v, [0, 2, 1, 3]), [2, n, 8])
        x = x + tf.einsum("bnd,de->bne", mixed, wo)
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        x = tf.nn.batch_normalization(x, mean, variance, None, None, 1e-5)
        return tf.matmul(x, table, transpose_b=True)

    optimizer = tf.keras.optimizers.Adam(0.01, beta_1=0.9, beta_2=0.98, epsilon=1e-9)

    @function
    def step(ids):
        with tf.GradientTape() as tape:
            logits = logits_of(ids[:, :-1])
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:, 1:], logits=logits)
            )
        variables = [table, wqkv, wo]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        right = tf.cast(tf.argmax(logits, axis=-1) == tf.cast(ids[:, 1:], tf.int64), tf.float32)
        return tf.stack([loss, tf.reduce_mean(right)])

    return {"losses": [step(tokens) for _ in range(8)]}


def word_vectors(tf, function):
    """Skip-grams with negative samples: sparse gradients of gathered rows through SGD."""
    r = np.random.RandomState(3)
    inside, outside = (tf.Variable(r.randn(12, 4) * 0.1, dtype=tf.float32) for _ in range(2))
    centre, context = tf.constant(r.randint(0, 12, 10)), tf.constant(r.randint(0, 12, (10, 3)))
    labels = tf.one_hot(tf.zeros([10], tf.int32), 3)
    optimizer = tf.keras.optimizers.SGD(0.5)

    @function
    def step():
        with tf.GradientTape() as tape:
            a, b = tf.gather(inside, centre), tf.gather(outside, context)
            dots = tf.einsum("be,bce->bc", a, b)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=dots))
        gradients = tape.gradient(loss, [inside, outside])
        optimizer.apply_gradients(zip(gradients, [inside, outside], strict=True))
        return loss

    return {"losses": [step() for _ in range(8)], "inside": inside}


def beam_search(tf, function):
    """The likeliest paths through a fixed transition matrix, by top_k over a flattened table and integer division."""
    log_p = tf.nn.log_softmax(tf.constant(np.random.RandomState(4).randn(5, 5)))

    @function
    def search(start):
        scores = tf.constant([0.0, -np.inf, -np.inf], tf.float64)
        last = tf.fill([3], start)
        paths = tf.fill([3, 1], start)
        for _ in range(4):
            table = scores[:, None] + tf.gather(log_p, last)
            scores, flat = tf.math.top_k(tf.reshape(table, [-1]), k=3)
            last = flat % 5
            paths = tf.concat([tf.gather(paths, flat // 5), last[:, None]], axis=1)
        return paths, scores

    paths, scores = search(tf.constant(0))
    return {"paths": paths, "scores": scores}


def viterbi_and_forward(tf, function):
    """A hidden Markov model: likelihood by foldl, the best path by argmax and a walk back."""
    r = np.random.RandomState(5)
    change, emit = (tf.nn.log_softmax(tf.constant(r.randn(3, n))) for n in (3, 4))
    seen = tf.constant([0, 2, 3, 1, 1, 0])

    @function
    def run():
        first = emit[:, seen[0]]
        total = tf.foldl(
            lambda a, o: tf.reduce_logsumexp(a[:, None] + change, 0) + emit[:, o], seen[1:], initializer=first
        )
        best, backs = first, []
        for o in tf.unstack(seen)[1:]:
            scores = best[:, None] + change
            backs.append(tf.argmax(scores, 0, output_type=tf.int32))
            best = tf.reduce_max(scores, 0) + emit[:, o]
        path = [tf.argmax(best, output_type=tf.int32)]
        for back in backs[::-1]:
            path.insert(0, back[path[0]])
        return tf.reduce_logsumexp(total), tf.stack(path)

    likelihood, path = run()
    return {"likelihood": likelihood, "path": path}
