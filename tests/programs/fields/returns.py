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


def optimistic_choices(tf, function):
    """A linear bandit: each arm's reward by ridge regression, updated rank by rank, and the arm whose upper bound is largest."""
    arms, features, rounds, width = 3, 4, 12, 0.8
    contexts = tf.constant(np.random.RandomState(4).normal(size=[rounds, 2, features]).astype(np.float32))
    truths = tf.constant(np.random.RandomState(5).normal(size=[arms, features]).astype(np.float32))
    inverses = tf.Variable(tf.eye(features, batch_shape=[arms]))
    sums = tf.Variable(tf.zeros([arms, features]))

    def conjugate_gradients(matrix, right):
        """Solves matrix x = right for one column after another, as long as a residual is left."""
        x, rest = tf.zeros_like(right), right
        way, size = rest, tf.reduce_sum(rest * rest, axis=0)
        step = tf.constant(0)
        while step < 2 * features and tf.reduce_max(size) > 1e-10:
            along = tf.matmul(matrix, way)
            rate = tf.math.divide_no_nan(size, tf.reduce_sum(way * along, axis=0))
            x, rest = x + rate * way, rest - rate * along
            new = tf.reduce_sum(rest * rest, axis=0)
            way, size, step = rest + tf.math.divide_no_nan(new, size) * way, new, step + 1
        return x

    @function
    def play(context):
        means = tf.einsum("bf,afg,ag->ba", context, inverses, sums)
        spread = tf.sqrt(tf.einsum("bf,afg,bg->ba", context, inverses, context))
        chosen = tf.argmax(means + width * spread, axis=1, output_type=tf.int32)
        rewards = tf.reduce_sum(context * tf.gather(truths, chosen), axis=1)
        for arm in tf.range(arms):
            is_chosen = tf.equal(chosen, arm)
            rows, gains = tf.boolean_mask(context, is_chosen), tf.boolean_mask(rewards, is_chosen)
            old = inverses[arm]
            gain = tf.linalg.solve(tf.eye(tf.shape(rows)[0]) + rows @ old @ tf.transpose(rows), rows @ old)
            inverses.scatter_nd_update([[arm]], [old - old @ tf.transpose(rows) @ gain])
            sums.scatter_nd_add([[arm]], [tf.linalg.matvec(rows, gains, transpose_a=True)])
        return chosen, tf.reduce_sum(rewards)

    chosen, rewards = zip(*[play(context) for context in tf.unstack(contexts)], strict=True)
    solve = function(conjugate_gradients)
    return {
        "chosen": chosen,
        "rewards": rewards,
        "weights": tf.linalg.matvec(inverses, sums),
        "solved": solve(tf.linalg.inv(inverses[0]), sums[0][:, None]),
    }
