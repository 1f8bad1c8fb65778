"""Returns of actions that another policy chose, and sets of nodes of several sizes."""

import numpy as np


def corrected_returns(tf, function):
    """Importance weights, cut at 1, carried backwards through time; a policy's slope; how often the best action was chosen."""
    rng = np.random.default_rng(83)
    steps, rows, actions = 9, 4, 3
    target, behaviour = (tf.constant(rng.normal(size=(steps, rows, actions)), tf.float32) for _ in range(2))
    chosen = tf.constant(rng.integers(0, actions, (steps, rows)))
    rewards, values = (tf.constant(rng.normal(size=(steps, rows)), tf.float32) for _ in range(2))
    discounts = tf.constant(rng.choice([0.0, 0.95, 0.95, 0.95], (steps, rows)), tf.float32)

    def log_probability(logits):
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=chosen, logits=logits)

    @function
    def corrected(target, values):
        weights = tf.exp(log_probability(target) - log_probability(behaviour))
        cut = tf.minimum(weights, 1.0)
        following = tf.concat([values[1:], tf.zeros_like(values[:1])], 0)
        errors = cut * (rewards + discounts * following - values)
        back = tf.scan(
            lambda total, x: x[0] + x[1] * x[2] * total,
            (errors, discounts, cut),
            initializer=tf.zeros([rows]),
            reverse=True,
        )
        wanted = tf.stop_gradient(back + values)
        after = tf.concat([wanted[1:], tf.zeros_like(wanted[:1])], 0)
        return wanted, tf.stop_gradient(cut * (rewards + discounts * after - values))

    with tf.GradientTape() as tape:
        tape.watch([target, values])
        wanted, advantages = corrected(target, values)
        loss = -tf.reduce_sum(advantages * log_probability(target)) + tf.reduce_sum((wanted - values) ** 2)
    by_logits, by_values = tape.gradient(loss, [target, values])
    best = np.sum(np.argmax(target, -1) == chosen.numpy())
    return {
        "wanted": wanted,
        "by_logits": by_logits,
        "by_values": by_values,
        "best": 100.0 * best / (steps * rows),
    }


def edges_of_complete_graphs(tf, function):
    """The pairs of nodes of each graph, a list each in an array of elements of several sizes, joined; messages along them."""
    sizes = [3, 1, 4, 2]
    nodes = tf.constant(np.random.default_rng(84).normal(size=(sum(sizes), 2)), tf.float32)
    starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)

    def pairs(k, senders, receivers):
        count = tf.constant(sizes)[k]
        own = tf.range(count) + tf.constant(starts)[k]
        first, second = (tf.reshape(x, [-1]) for x in tf.meshgrid(own, own, indexing="ij"))
        apart = tf.not_equal(first, second)
        return k + 1, senders.write(k, first[apart]), receivers.write(k, second[apart])

    arrays = [tf.TensorArray(tf.int32, size=len(sizes), infer_shape=False) for _ in range(2)]
    _, senders, receivers = tf.while_loop(lambda k, *_: k < len(sizes), pairs, (0, *arrays), back_prop=False)
    senders, receivers = senders.concat(), receivers.concat()

    @function
    def messages(nodes, senders, receivers):
        with tf.GradientTape() as tape:
            tape.watch(nodes)
            sent = tf.tanh(tf.gather(nodes, senders) - tf.gather(nodes, receivers))
            gathered = tf.math.unsorted_segment_mean(sent, receivers, tf.shape(nodes)[0])
            energy = tf.reduce_sum(gathered**2)
        return gathered, tape.gradient(energy, nodes)

    gathered, slope = messages(nodes, senders, receivers)
    return {
        "senders": senders,
        "receivers": receivers,
        "gathered": gathered,
        "slope": tf.convert_to_tensor(slope),
    }
