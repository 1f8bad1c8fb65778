"""Images, optics and signals."""

import numpy as np


def convolutional_classifier(tf, function):
    """Filters, pooling, dropout that is off, and a module whose weights are made in its first call."""
    r = np.random.RandomState(0)
    images = tf.constant(r.rand(6, 8, 8, 1), tf.float32)
    labels = tf.constant([0, 1, 2, 0, 1, 2])

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.made = False

        def __call__(self, x, training=False):
            if not self.made:
                self.k1 = tf.Variable(r.randn(3, 3, 1, 4) * 0.4, dtype=tf.float32)
                self.k2 = tf.Variable(r.randn(3, 3, 4, 4) * 0.2, dtype=tf.float32)
                self.w = tf.Variable(r.randn(16, 3) * 0.3, dtype=tf.float32)
                self.b = tf.Variable(tf.zeros([3]))
                self.made = True
            x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, self.k1, 1, "SAME")), 2, 2, "SAME")
            x = tf.nn.avg_pool(
                tf.nn.relu(tf.nn.conv2d(x, self.k2, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], 2, "VALID"
            )
            x = tf.reshape(x, [tf.shape(x)[0], -1])
            if training:
                x = tf.nn.dropout(x, rate=0.0)
            return x @ self.w + self.b

    net = Net()

    @function
    def step():
        with tf.GradientTape() as tape:
            logits = net(images, training=True)
            loss = tf.reduce_mean(
                tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
            )
        for v, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables), strict=True):
            v.assign_sub(0.5 * g)
        return loss

    losses = [step() for _ in range(6)]
    return {"losses": losses, "in": tf.math.in_top_k(labels, net(images), 1)}


def style_of_image(tf, function):
    """Gram matrices of filtered images and total variation, minimised over the pixels themselves."""
    r = np.random.RandomState(1)
    kernel = tf.constant(r.randn(3, 3, 3, 4) * 0.3, tf.float32)
    style, image = (
        tf.constant(r.rand(1, 8, 8, 3), tf.float32),
        tf.Variable(r.rand(1, 8, 8, 3), dtype=tf.float32),
    )

    def gram(x):
        f = tf.nn.relu(tf.nn.conv2d(x, kernel, strides=1, padding="VALID"))
        result = tf.linalg.einsum("bijc,bijd->bcd", f, f)
        return result / tf.cast(tf.shape(f)[1] * tf.shape(f)[2], tf.float32)

    wanted = gram(style)

    @function
    def step(image):
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_mean((gram(image) - wanted) ** 2)])
            across, down = image[:, :, 1:] - image[:, :, :-1], image[:, 1:] - image[:, :-1]
            loss += 0.001 * (tf.reduce_sum(tf.abs(across)) + tf.reduce_sum(tf.abs(down)))
        g = tape.gradient(loss, image)
        image.assign(tf.clip_by_value(image - 0.1 * g, 0.0, 1.0))
        return loss

    return {"losses": [step(image) for _ in range(6)], "image": image}


def thin_film(tf, function):
    """Reflection of a stack of layers by products of complex matrices; thicknesses are optimised."""
    wavelengths = tf.constant(np.linspace(0.5, 0.7, 6))
    indices = [1.0, 1.38, 2.1, 1.52]
    thickness = tf.Variable([0.1, 0.06], dtype=tf.float64)

    @function
    def step():
        with tf.GradientTape() as tape:
            total = tf.eye(2, batch_shape=[6], dtype=tf.complex128)
            for k in range(2):
                n = indices[k + 1]
                phase = 2.0 * np.pi * n * thickness[k] / wavelengths
                c = tf.cast(tf.cos(phase), tf.complex128)
                s = tf.complex(tf.zeros_like(phase), tf.sin(phase))
                layer = tf.stack([tf.stack([c, s / n], -1), tf.stack([s * n, c], -1)], -2)
                total = tf.linalg.matmul(total, layer)
            b, h = tf.unstack(
                tf.linalg.matvec(total, tf.constant([1.0, indices[-1]], tf.complex128)), axis=-1
            )
            reflected = tf.reduce_mean(tf.abs((b - h) / (b + h)) ** 2)
        thickness.assign_sub(0.005 * tape.gradient(reflected, thickness))
        return reflected

    return {"reflected": [step() for _ in range(8)], "thickness": thickness}


def sound_synthesis(tf, function):
    """Sines from cumulated frequencies; amplitudes are fitted to a recording."""
    frequencies = tf.constant([220.0, 440.0, 660.0])
    phase = tf.cumsum(tf.ones([100, 1]) * (2.0 * np.pi * frequencies / 4000.0), axis=0)
    wanted = tf.reduce_sum(tf.sin(phase) * [0.5, 0.3, 0.1], axis=-1)
    logits = tf.Variable(tf.zeros([3]))

    @function
    def step():
        with tf.GradientTape() as tape:
            made = tf.reduce_sum(tf.sin(phase) * tf.nn.sigmoid(logits), axis=-1)
            loss = tf.reduce_mean(tf.abs(made - wanted))
        logits.assign_sub(2.0 * tape.gradient(loss, logits))
        return loss

    return {"losses": [step() for _ in range(10)], "logits": logits}


def graph_network(tf, function):
    """Messages along edges, gathered, summed by segment, with degrees; node labels where they are known."""
    r = np.random.RandomState(2)
    source, target = tf.constant(r.randint(0, 7, 16)), tf.constant(r.randint(0, 7, 16))
    x, w = tf.constant(r.randn(7, 4)), tf.Variable(r.randn(4, 3) * 0.3)
    labels, known = tf.constant(r.randint(0, 3, 7)), tf.constant([True, True, False, True, False, True, True])

    @function
    def step():
        degree = tf.math.unsorted_segment_sum(tf.ones([16], tf.float64), target, 7)
        with tf.GradientTape() as tape:
            messages = tf.gather(x @ w, source)
            summed = tf.math.unsorted_segment_sum(messages, target, num_segments=7)
            logits = tf.math.divide_no_nan(summed, degree[:, None])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(tf.boolean_mask(losses, known))
        w.assign_sub(tape.gradient(loss, w))
        return loss

    return {"losses": [step() for _ in range(6)], "counts": tf.math.bincount(target, minlength=7)}


def warp(tf, function):
    """Bilinear sampling at moved places: floor, clip, gather_nd; a shift is found by descent."""
    rows, columns = np.meshgrid(np.arange(10.0), np.arange(10.0), indexing="ij")
    picture = tf.constant(np.exp(-((rows - 5) ** 2 + (columns - 4) ** 2) / 8.0))
    wanted = tf.constant(np.exp(-((rows - 4.2) ** 2 + (columns - 4.6) ** 2) / 8.0))
    grid = tf.stack(tf.meshgrid(tf.range(10.0), tf.range(10.0), indexing="ij"), axis=-1)
    shift = tf.Variable([0.1, 0.1], dtype=tf.float64)

    @function
    def step():
        with tf.GradientTape() as tape:
            places = tf.clip_by_value(tf.cast(grid, tf.float64) + shift, 0.0, 8.999)
            low = tf.floor(places)
            rest = places - low
            at = tf.cast(low, tf.int32)
            total = 0.0
            for i in (0, 1):
                for j in (0, 1):
                    weight = (rest[..., 0] if i else 1.0 - rest[..., 0]) * (
                        rest[..., 1] if j else 1.0 - rest[..., 1]
                    )
                    total += weight * tf.gather_nd(picture, at + [i, j])
            loss = tf.reduce_sum((total - wanted) ** 2)
        shift.assign_sub(0.1 * tape.gradient(loss, shift))
        return loss

    return {"losses": [step() for _ in range(12)], "shift": shift}


def rearranged_blocks(tf, function):
    """Functions of images that move, normalise and weigh: blocks and channels, neighbouring channels, counted elements."""
    r = np.random.RandomState(3)
    x = tf.constant(r.randn(2, 4, 4, 4), tf.float32)
    depthwise, pointwise = (
        tf.constant(r.randn(3, 3, 4, 2), tf.float32),
        tf.constant(r.randn(1, 1, 8, 3), tf.float32),
    )

    @function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            blocks = tf.nn.space_to_depth(x, 2)
            back = tf.nn.depth_to_space(blocks, 2)
            local = tf.nn.local_response_normalization(back, depth_radius=1, bias=1.5, alpha=0.2, beta=0.7)
            mixed = tf.nn.separable_conv2d(local, depthwise, pointwise, [1, 1, 1, 1], "SAME")
            loss = tf.reduce_sum(tf.nn.crelu(mixed) ** 2)
        mean, variance = tf.nn.weighted_moments(x, [1, 2], tf.abs(x))
        return blocks, local, loss, tape.gradient(loss, x), mean, variance

    return dict(zip("abcdef", run(x), strict=True))


def scores_of_predictions(tf, function):
    """Losses and counts that judge predictions."""
    r = np.random.RandomState(4)
    logits, z = tf.constant(r.randn(6, 4), tf.float32), tf.constant((r.rand(6, 4) > 0.5).astype("float32"))
    labels, said = tf.constant([0, 1, 2, 2, 1, 0]), tf.constant([0, 2, 2, 2, 1, 1])
    counts, losses = tf.constant([0.0, 1.0, 3.0, 6.0]), tf.keras.losses

    @function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            weighted = tf.nn.weighted_cross_entropy_with_logits(z, x, 3.0)
            total = tf.reduce_sum(weighted) + losses.binary_crossentropy(z[0], tf.sigmoid(x[0]))
            total += losses.Huber(delta=0.5)(z, x) + losses.KLDivergence()(tf.nn.softmax(z), tf.nn.softmax(x))
        return (
            weighted, total, tape.gradient(total, x), tf.math.confusion_matrix(labels, said),
            tf.nn.log_poisson_loss(counts, tf.math.log1p(counts), compute_full_loss=True),
            losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.2)(z, x), tf.nn.compute_average_loss(x[:, 0]),
            tf.math.lbeta(tf.exp(x)), tf.math.polyval([1.0, -2.0, x], x), tf.math.xlog1py(z, tf.abs(x)),
            tf.math.reciprocal_no_nan(z), tf.math.invert_permutation([2, 0, 1]), tf.math.is_non_decreasing([1, 1, 2]),
        )  # fmt: skip

    return dict(zip("abcdefghijklm", run(logits), strict=True))
