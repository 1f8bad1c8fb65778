"""Recursions along time, space and sequences: waves, flows, alignments, smoothed states, exposures, ratings."""

import numpy as np


def shallow_water(tf, function):
    """A hump of water spreads over a periodic basin: heights and two velocities by differences of rolled arrays."""
    x = np.linspace(-1.0, 1.0, 12)
    height = tf.constant(1.0 + 0.1 * np.exp(-20.0 * (x[:, None] ** 2 + x[None, :] ** 2)))

    def slope(a, axis):
        return 0.5 * (tf.roll(a, -1, axis) - tf.roll(a, 1, axis))

    @function
    def flow(h, steps):
        u, v, dt = tf.zeros_like(h), tf.zeros_like(h), 0.02
        mass = tf.TensorArray(tf.float64, steps)
        for k in tf.range(steps):
            along, across = slope(h, 0), slope(h, 1)
            u, v = (
                u - dt * (u * slope(u, 0) + v * slope(u, 1) + 9.8 * along),
                v - dt * (u * slope(v, 0) + v * slope(v, 1) + 9.8 * across),
            )
            h = h - dt * (slope(h * u, 0) + slope(h * v, 1))
            mass = mass.write(k, tf.reduce_sum(h))
        return h, u, mass.stack()

    results = [flow(height, tf.constant(n)) for n in (20, 20, 35)]
    return {"height": results[-1][0], "velocity": results[-1][1], "mass": results[0][2]}


def speed_from_echoes(tf, function):
    """The speed of waves at each place is fitted to what one receiver recorded, through all time steps."""
    size, steps = 24, 40
    pulse = tf.constant(np.exp(-0.1 * (np.arange(steps) - 10.0) ** 2))
    source = tf.one_hot(4, size, dtype=tf.float64)

    def record(speed):
        before, now = tf.zeros_like(speed), tf.zeros_like(speed)
        heard = tf.TensorArray(tf.float64, steps)
        for t in tf.range(steps):
            inner = now[2:] - 2.0 * now[1:-1] + now[:-2]
            bent = tf.concat([now[1:2] - 2.0 * now[:1], inner, now[-2:-1] - 2.0 * now[-1:]], 0)
            before, now = now, 2.0 * now - before + speed * bent + pulse[t] * source
            heard = heard.write(t, now[15])
        return heard.stack()

    wanted = record(tf.constant(0.2 + 0.1 * (np.arange(size) > 12)))
    speed = tf.Variable(np.full(size, 0.2))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((record(speed) - wanted) ** 2)
        slope = tape.gradient(loss, speed)
        speed.assign(tf.clip_by_value(speed - 2e-5 * slope, 0.05, 0.9))
        return loss

    return {"losses": [step() for _ in range(6)], "speed": speed}


def labels_without_alignment(tf, function):
    """The probability of a short text for a long row of scores, over all alignments with blanks, and its gradient."""
    rng = np.random.default_rng(3)
    text = tf.constant([1, 3, 3, 2])

    @function
    def loss_and_slope(scores, text):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            logs = tf.nn.log_softmax(scores)
            states = tf.concat([tf.reshape(tf.stack([tf.zeros_like(text), text], 1), [-1]), [0]], 0)
            count = tf.size(states)
            never = tf.constant(-1e30, tf.float64)
            jumps = tf.logical_and(states[2:] != 0, states[2:] != states[:-2])
            jumps = tf.concat([[False, False], jumps], 0)
            alpha = tf.where(tf.range(count) < 2, tf.gather(logs[0], states), never)
            for t in tf.range(1, tf.shape(logs)[0]):
                one = tf.concat([[never], alpha[:-1]], 0)
                two = tf.where(jumps, tf.concat([[never, never], alpha[:-2]], 0), never)
                alpha = tf.reduce_logsumexp(tf.stack([alpha, one, two]), 0) + tf.gather(logs[t], states)
            loss = -tf.reduce_logsumexp(alpha[-2:])
        return loss, tape.gradient(loss, scores)

    found = [loss_and_slope(tf.constant(rng.normal(size=(n, 5))), text) for n in (9, 12, 9)]
    return {"losses": [loss for loss, _ in found], "slope": found[1][1]}


def edit_distance(tf, function):
    """How many letters differ between words: a row of the table at a time, the last letter by an inner loop."""

    @function
    def distance(first, second):
        width = tf.size(second) + 1
        row = tf.range(width)
        for i in tf.range(tf.size(first)):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(row, tf.TensorShape([None]))])
            swapped = row[:-1] + tf.cast(second != first[i], tf.int32)
            least = tf.minimum(row[1:] + 1, swapped)
            cells, cell = tf.TensorArray(tf.int32, width), i + 1
            cells = cells.write(0, cell)
            for j in tf.range(width - 1):
                cell = tf.minimum(cell + 1, least[j])
                cells = cells.write(j + 1, cell)
            row = cells.stack()
        return row[-1]

    words = [np.array([ord(letter) for letter in word]) for word in ("kitten", "mitten", "sitting")]
    pairs = [(a, b) for a in words for b in words]
    return {"distances": [distance(tf.constant(a), tf.constant(b)) for a, b in pairs]}


def smoothed_states(tf, function):
    """A position and its speed behind noisy measurements, by a filter forwards and a smoother backwards."""
    rng = np.random.default_rng(4)
    motion = tf.constant([[1.0, 0.1], [0.0, 1.0]], tf.float64)
    seen = tf.constant([[1.0, 0.0]], tf.float64)
    jitter, noise = 0.01 * tf.eye(2, dtype=tf.float64), tf.constant([[0.2]], tf.float64)

    @function
    def smooth(measured):
        count = tf.shape(measured)[0]
        means, spreads = tf.TensorArray(tf.float64, count), tf.TensorArray(tf.float64, count)
        ahead, ahead_spreads = tf.TensorArray(tf.float64, count), tf.TensorArray(tf.float64, count)
        mean, spread = tf.zeros([2, 1], tf.float64), tf.eye(2, dtype=tf.float64)
        for t in tf.range(count):
            mean, spread = motion @ mean, motion @ spread @ tf.transpose(motion) + jitter
            ahead, ahead_spreads = ahead.write(t, mean), ahead_spreads.write(t, spread)
            gain = spread @ tf.transpose(seen) @ tf.linalg.inv(seen @ spread @ tf.transpose(seen) + noise)
            mean = mean + gain @ (measured[t][:, None] - seen @ mean)
            spread = (tf.eye(2, dtype=tf.float64) - gain @ seen) @ spread
            means, spreads = means.write(t, mean), spreads.write(t, spread)
        m, p, m_ahead, p_ahead = means.stack(), spreads.stack(), ahead.stack(), ahead_spreads.stack()
        path = tf.TensorArray(tf.float64, count).write(count - 1, mean)
        for k in tf.range(count - 1):
            t = count - 2 - k
            gain = p[t] @ tf.transpose(motion) @ tf.linalg.inv(p_ahead[t + 1])
            mean = m[t] + gain @ (mean - m_ahead[t + 1])
            spread = p[t] + gain @ (spread - p_ahead[t + 1]) @ tf.transpose(gain)
            path = path.write(t, mean)
        return path.stack()[..., 0], spread

    found = [smooth(tf.constant(np.cumsum(rng.normal(size=(n, 1)), 0))) for n in (12, 20)]
    return {"short": found[0][0], "long": found[1][0], "spread": found[1][1]}


def exposure_to_a_partner(tf, function):
    """What a partner's default is expected to cost on a few swaps, along simulated rates, and its slope by the fixed rates."""
    rng = np.random.default_rng(5)

    @function
    def adjustment(shocks, fixed):
        with tf.GradientTape() as tape:
            tape.watch(fixed)
            rate = 0.03 * tf.ones_like(shocks[0])
            discount, total = tf.ones_like(rate), tf.zeros_like(rate)
            for t in tf.range(tf.shape(shocks)[0]):
                rate = rate + 0.025 * (0.03 - rate) + 0.005 * shocks[t]
                discount = discount * tf.exp(-0.25 * rate)
                left = 5.0 - 0.25 * tf.cast(t + 1, tf.float64)
                annuity = (1.0 - tf.exp(-0.1 * left)) / 0.1
                worth = tf.reduce_sum((rate[:, None] - fixed) * annuity, 1)
                total += 0.6 * 0.02 * 0.25 * discount * tf.nn.relu(worth)
            cost = tf.reduce_mean(total)
        return cost, tape.gradient(cost, fixed)

    fixed = tf.constant([0.02, 0.025, 0.03, 0.035], tf.float64)
    found = [adjustment(tf.constant(rng.normal(size=(16, paths))), fixed) for paths in (30, 40, 40)]
    return {"costs": [cost for cost, _ in found], "slopes": [slope for _, slope in found]}
