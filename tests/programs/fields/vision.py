"""Boxes from the maps of a detector, graphs whose edges are sparse, trees, images made of noise, labels of sounds, and tastes."""

import numpy as np


def _drawn(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def boxes_of_a_detector(tf, function):
    """Two maps of cells become boxes, scores and classes; what overlaps is dropped, for all classes at once and one by one."""
    anchors = np.array([[0.1, 0.15], [0.3, 0.2], [0.5, 0.6], [0.8, 0.7]], np.float32)
    classes = 3

    def decoded(head, sizes):
        batch, grid = tf.shape(head)[0], tf.shape(head)[1]
        head = tf.reshape(head, (batch, grid, grid, len(sizes), 5 + classes))
        center, size, there, kind = tf.split(head, (2, 2, 1, classes), axis=-1)
        columns, rows = tf.meshgrid(tf.range(grid), tf.range(grid))
        corner = tf.expand_dims(tf.stack([columns, rows], axis=-1), axis=2)
        center = (tf.sigmoid(center) + tf.cast(corner, tf.float32)) / tf.cast(grid, tf.float32)
        size = tf.exp(tf.clip_by_value(size, -2.0, 2.0)) * sizes
        box = tf.concat([center - size / 2, center + size / 2], axis=-1)
        flat = (batch, -1, tf.shape(box)[-1])
        scores = tf.sigmoid(there) * tf.nn.softmax(kind)
        return tf.reshape(box, flat), tf.reshape(scores, (batch, -1, classes))

    @function
    def detect(coarse, fine):
        parts = [decoded(coarse, anchors[2:]), decoded(fine, anchors[:2])]
        boxes, scores = (tf.concat(part, axis=1) for part in zip(*parts, strict=True))
        return (
            tf.image.combined_non_max_suppression(
                boxes=tf.expand_dims(boxes, 2),
                scores=scores,
                max_output_size_per_class=4,
                max_total_size=6,
                iou_threshold=0.4,
                score_threshold=0.2,
            ),
            boxes,
            scores,
        )

    @function
    def class_by_class(boxes, scores):
        kept, labels = [], []
        for kind in range(classes):
            is_likely = scores[:, kind] > 0.3
            of_kind = tf.boolean_mask(boxes, is_likely)
            value = tf.boolean_mask(scores[:, kind], is_likely)
            chosen = tf.image.non_max_suppression(of_kind, value, 3, iou_threshold=0.5)
            kept.append(tf.concat([tf.gather(of_kind, chosen), tf.gather(value, chosen)[:, None]], 1))
            labels.append(tf.fill([tf.shape(chosen)[0]], kind))
        return tf.concat(kept, 0), tf.concat(labels, 0)

    found, boxes, scores = detect(
        tf.constant(_drawn(0, 2, 3, 3, 2 * 8)), tf.constant(_drawn(1, 2, 6, 6, 2 * 8))
    )
    best, labels = class_by_class(boxes[0], scores[0])
    return {
        "boxes": found.nmsed_boxes,
        "scores": found.nmsed_scores,
        "kinds": found.nmsed_classes,
        "valid": found.valid_detections,
        "best": best,
        "labels": labels,
    }


def targets_of_a_detector(tf, function):
    """True boxes are written into the cells that hold their centers, and the loss by overlaps differentiates."""
    anchors = tf.constant([[0.2, 0.2], [0.6, 0.5]])

    @function
    def targets(boxes, grid):
        size = boxes[..., 2:4] - boxes[..., 0:2]
        both = tf.minimum(size[:, :, None, :], anchors)
        common = both[..., 0] * both[..., 1]
        area = size[..., 0] * size[..., 1]
        overlap = common / (area[:, :, None] + anchors[:, 0] * anchors[:, 1] - common)
        nearest = tf.cast(tf.argmax(overlap, axis=-1), tf.int32)
        out = tf.zeros((tf.shape(boxes)[0], grid, grid, 2, 5))
        places = tf.TensorArray(tf.int32, 1, dynamic_size=True)
        values = tf.TensorArray(tf.float32, 1, dynamic_size=True)
        count = 0
        for i in tf.range(tf.shape(boxes)[0]):
            for j in tf.range(tf.shape(boxes)[1]):
                if tf.equal(boxes[i][j][2], 0):
                    continue
                box = boxes[i][j][0:4]
                cell = tf.cast((box[0:2] + box[2:4]) / 2 * tf.cast(grid, tf.float32), tf.int32)
                places = places.write(count, [i, cell[1], cell[0], nearest[i, j]])
                values = values.write(count, tf.concat([box, [1.0]], 0))
                count += 1
        return tf.tensor_scatter_nd_update(out, places.stack(), values.stack())

    def overlap_loss(a, b):
        """1 minus the overlap, with the distance of the centers and the proportions."""
        inside = tf.maximum(tf.minimum(a[..., 2:], b[..., 2:]) - tf.maximum(a[..., :2], b[..., :2]), 0.0)
        around = tf.maximum(a[..., 2:], b[..., 2:]) - tf.minimum(a[..., :2], b[..., :2])
        size_a, size_b = a[..., 2:] - a[..., :2], b[..., 2:] - b[..., :2]
        common = tf.reduce_prod(inside, -1)
        union = tf.reduce_prod(size_a, -1) + tf.reduce_prod(size_b, -1) - common
        iou = tf.math.divide_no_nan(common, union)
        moved = tf.reduce_sum(((a[..., :2] + a[..., 2:]) - (b[..., :2] + b[..., 2:])) ** 2, -1) / 4
        skew = tf.atan2(size_a[..., 0], size_a[..., 1]) - tf.atan2(size_b[..., 0], size_b[..., 1])
        v = 4 / np.pi**2 * skew**2
        alpha = tf.stop_gradient(v / (1 - iou + v + 1e-7))
        return 1 - iou + moved / tf.reduce_sum(around**2, -1) + alpha * v

    boxes = np.array(
        [
            [[0.1, 0.1, 0.3, 0.35], [0.4, 0.5, 0.9, 0.95], [0, 0, 0, 0]],
            [[0.6, 0.1, 0.8, 0.2], [0, 0, 0, 0], [0, 0, 0, 0]],
        ],
        np.float32,
    )
    wanted = targets(tf.constant(boxes), tf.constant(4))
    guess = tf.Variable(boxes[:, :2] + 0.1 * np.abs(_drawn(2, 2, 2, 4)))

    @function
    def step():
        with tf.GradientTape() as tape:
            mask = tf.cast(boxes[:, :2, 2] > 0, tf.float32)
            loss = tf.reduce_sum(mask * overlap_loss(guess, boxes[:, :2]))
        slope = tape.gradient(loss, guess)
        guess.assign_sub(0.02 * slope)
        return loss

    return {
        "losses": [step() for _ in range(4)],
        "guess": guess,
        "written": tf.where(wanted[..., 4] > 0),
        "sum": wanted[..., :4],
    }


def convolution_on_a_sparse_graph(tf, function):
    """Node labels from the features of neighbours, through a normalised sparse matrix, and by attention along its edges."""
    n = 8
    r = np.random.RandomState(5)
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i < j and r.rand() < 0.4])
    edges = np.concatenate([pairs, pairs[:, ::-1], np.stack([np.arange(n)] * 2, 1)])
    adjacency = tf.sparse.reorder(tf.SparseTensor(edges, np.ones(len(edges), np.float32), [n, n]))
    degree = tf.sparse.reduce_sum(adjacency, axis=1)
    root = tf.math.rsqrt(degree)
    rows, columns = adjacency.indices[:, 0], adjacency.indices[:, 1]
    smooth = adjacency.with_values(adjacency.values * tf.gather(root, rows) * tf.gather(root, columns))
    x = tf.constant(_drawn(6, n, 5))
    labels, known = tf.one_hot([0, 1, 2, 0, 1, 2, 0, 1], 3), tf.constant([1, 1, 0, 1, 0, 1, 1, 0], tf.float32)
    weights = [tf.Variable(0.5 * _drawn(7 + k, *s)) for k, s in enumerate([(5, 4), (4, 3), (4, 1), (4, 1)])]
    optimizer = tf.keras.optimizers.Adam(0.05)

    def attended(h):
        """What the neighbours say, weighted by a softmax over the edges of each node."""
        score = tf.gather(h @ weights[2], rows) + tf.gather(h @ weights[3], columns)
        share = tf.sparse.softmax(adjacency.with_values(tf.nn.leaky_relu(score[:, 0], 0.2)))
        return tf.sparse.sparse_dense_matmul(share, h)

    def logits():
        h = tf.nn.elu(tf.sparse.sparse_dense_matmul(smooth, x @ weights[0]))
        return tf.sparse.sparse_dense_matmul(smooth, attended(h) @ weights[1])

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits())
            loss = tf.reduce_sum(loss * known) / tf.reduce_sum(known) + 5e-4 * tf.nn.l2_loss(weights[0])
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    losses = [step() for _ in range(6)]
    both = tf.sparse.add(smooth, tf.sparse.transpose(smooth))
    twice = tf.sparse.to_dense(tf.sparse.slice(both, [1, 2], [4, 5]))
    return {"losses": losses, "logits": logits(), "attention": weights[2], "degree": degree, "twice": twice}


def trees(tf, function):
    """Sums up a tree from its leaves, a soft decision tree that learns, and parameters in nests."""
    parents = tf.constant([0, 0, 0, 1, 1, 2, 4, 4, 6])
    depths = tf.constant([0, 1, 1, 2, 2, 2, 3, 3, 4])

    @function
    def below(values):
        """What hangs under each node, itself included, level by level."""
        level = tf.reduce_max(depths)
        while level > 0:
            here = tf.where(depths == level)[:, 0]
            up = tf.gather(parents, here)
            values = tf.tensor_scatter_nd_add(values, up[:, None], tf.gather(values, here))
            level -= 1
        return values

    nodes = {
        "split": tf.Variable(_drawn(1, 3, 2)),
        "at": [tf.Variable(_drawn(2, 3)), tf.Variable(_drawn(3, 4))],
    }
    slow = tf.nest.map_structure(lambda v: tf.Variable(v, trainable=False), nodes)
    x = tf.constant(_drawn(4, 20, 2))
    wanted = tf.cast(x[:, 0] * x[:, 1] > 0, tf.float32)

    @function
    def step(rate):
        with tf.GradientTape() as tape:
            right = tf.sigmoid(2.0 * (x @ tf.transpose(nodes["split"]) - nodes["at"][0]))
            paths = tf.ones([20, 1])
            for depth in range(2):
                first = 2**depth - 1
                turn = right[:, first : 2 * first + 1]
                paths = tf.reshape(tf.stack([paths * (1 - turn), paths * turn], -1), [20, -1])
            chance = tf.reduce_sum(paths * tf.sigmoid(nodes["at"][1]), -1)
            loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(wanted[:, None], chance[:, None]))
        slopes = tape.gradient(loss, nodes)
        tf.nest.map_structure(lambda v, g: v.assign_sub(rate * g), nodes, slopes)
        tf.nest.map_structure(lambda s, v: s.assign(0.9 * s + 0.1 * v), slow, nodes)
        return loss

    values = tf.constant(_drawn(5, 9, 2))
    with tf.GradientTape() as tape:
        tape.watch(values)
        root = below(values)[0]
    losses = [step(0.5) for _ in range(5)]
    flat = tf.nest.flatten(slow)
    packed = tf.nest.pack_sequence_as(nodes, [tf.reduce_sum(v) for v in flat])
    return {
        "below": below(values),
        "slope": tape.gradient(root, values),
        "losses": losses,
        "slow": tf.concat([tf.reshape(v, [-1]) for v in flat], 0),
        "sums": [packed["at"][0], packed["at"][1], packed["split"]],
    }


def convolutional_pair(tf, function):
    """Images are made from noise by transposed convolutions and judged by strided ones; both learn in one step."""
    layers = tf.keras.layers
    maker = tf.keras.Sequential(
        [
            layers.Dense(2 * 2 * 6, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape((2, 2, 6)),
            layers.Conv2DTranspose(4, (3, 3), strides=(1, 1), padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(1, (5, 5), strides=(2, 2), padding="same", activation="tanh"),
        ]
    )
    judge = tf.keras.Sequential(
        [
            layers.Conv2D(4, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.0),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    noise = tf.constant(_drawn(0, 5, 3))
    images = tf.constant(np.tanh(_drawn(1, 5, 4, 4, 1)))
    judge(maker(noise))
    for seed, model in ((2, maker), (3, judge)):
        r = np.random.RandomState(seed)
        model.set_weights(
            [
                np.abs(0.5 * r.randn(*w.shape)) + 0.1 if w.ndim == 1 else 0.3 * r.randn(*w.shape)
                for w in model.get_weights()
            ]
        )
    entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = tf.keras.optimizers.Adam(1e-2), tf.keras.optimizers.Adam(1e-2)

    @function
    def step(images, noise):
        with tf.GradientTape() as of_maker, tf.GradientTape() as of_judge:
            made = maker(noise, training=True)
            true, false = judge(images, training=True), judge(made, training=True)
            loss = entropy(tf.ones_like(false), false)
            doubt = entropy(tf.ones_like(true), true) + entropy(tf.zeros_like(false), false)
        slopes = of_maker.gradient(loss, maker.trainable_variables)
        optimizers[0].apply_gradients(zip(slopes, maker.trainable_variables, strict=True))
        slopes = of_judge.gradient(doubt, judge.trainable_variables)
        optimizers[1].apply_gradients(zip(slopes, judge.trainable_variables, strict=True))
        return loss, doubt

    losses = [tf.stack(step(images, noise)) for _ in range(4)]
    return {"losses": losses, "made": maker(noise, training=False)[0, :, :, 0], "judged": judge(images)}


def labels_of_sounds(tf, function):
    """A recurrent net learns label sequences without alignments, by CTC; the best path and beams are read off."""
    sounds, lengths = tf.constant(_drawn(0, 3, 7, 4)), tf.constant([7, 6, 5])
    labels, sizes = tf.constant([[0, 1, 2], [2, 2, 0], [1, 0, 0]]), tf.constant([3, 2, 1])
    cell = tf.keras.layers.GRUCell(6)
    cell.build([3, 4])
    cell.set_weights([0.4 * _drawn(k + 1, *w.shape) for k, w in enumerate(cell.get_weights())])
    out = tf.Variable(0.4 * _drawn(9, 6, 4))
    variables = [*cell.trainable_variables, out]

    def logits():
        state, steps = [tf.zeros([3, 6])], []
        for x in tf.unstack(sounds, axis=1):
            y, state = cell(x, state)
            steps.append(y @ out)
        return tf.stack(steps)  # time first

    @function
    def step():
        with tf.GradientTape() as tape:
            losses = tf.nn.ctc_loss(labels, logits(), sizes, lengths, logits_time_major=True, blank_index=3)
            loss = tf.reduce_mean(losses)
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        for v, g in zip(variables, gradients, strict=True):
            v.assign_sub(0.5 * g)
        return loss, norm

    steps = [tf.stack(step()) for _ in range(5)]
    (best,), score = tf.nn.ctc_greedy_decoder(logits(), lengths)
    (beam,), _ = tf.nn.ctc_beam_search_decoder(logits(), lengths, beam_width=6, top_paths=1)
    return {
        "steps": steps,
        "best": tf.sparse.to_dense(best, default_value=-1),
        "score": score,
        "beam": tf.sparse.to_dense(beam, default_value=-1),
    }


def tastes(tf, function):
    """Ratings as products of factors of people and things, in batches of pairs; what to recommend that is not yet known."""
    people, things = 5, 7
    r = np.random.RandomState(3)
    given = np.stack([r.randint(0, people, 24), r.randint(0, things, 24)], 1).astype(np.int32)
    rating = r.randint(1, 6, 24).astype(np.float32)
    factors = [tf.Variable(0.3 * _drawn(k, n, 3)) for k, n in enumerate((people, things))]
    leanings = [tf.Variable(tf.zeros([n])) for n in (people, things)]
    mean = tf.reduce_mean(rating)
    optimizer = tf.keras.optimizers.SGD(0.3)
    batches = tf.data.Dataset.from_tensor_slices((given, rating)).batch(8)

    def predicted(pairs):
        who, what = tf.unstack(pairs, axis=1)
        product = tf.nn.embedding_lookup(factors[0], who) * tf.nn.embedding_lookup(factors[1], what)
        return mean + tf.reduce_sum(product, 1) + tf.gather(leanings[0], who) + tf.gather(leanings[1], what)

    @function
    def step(pairs, rating):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.squared_difference(predicted(pairs), rating))
            loss += 0.01 * tf.add_n([tf.nn.l2_loss(v) for v in factors])
        variables = factors + leanings
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses = [step(*batch) for _ in range(3) for batch in batches]
    known = tf.scatter_nd(given, tf.ones(24), [people, things]) > 0
    scores = tf.where(known, -np.inf, tf.matmul(factors[0], factors[1], transpose_b=True) + leanings[1])
    top = tf.math.top_k(scores, 2)
    return {"losses": losses, "people": factors[0], "things": factors[1], "top": top.indices}


def turned_until_it_fits(tf, function):
    """The turn, scale and place of a picture within another, by differences of the picture seen through maps of the plane."""
    y, x = np.mgrid[:16, :18].astype(np.float32)
    picture = np.exp(-(((x - 7) / 4) ** 2) - ((y - 9) / 2.5) ** 2) + 0.5 * np.exp(
        -((x - 12) ** 2) - (y - 4) ** 2
    )
    picture = tf.constant(picture[None, :, :, None], tf.float32)

    def rows_of(parameters):
        """The coefficients of the maps that turn, scale and move about the centre, one a row."""
        turn, scale, right, down = tf.unstack(parameters, axis=1)
        c, s = tf.cos(turn) * scale, tf.sin(turn) * scale
        zero = tf.zeros_like(turn)
        return tf.stack(
            [c, -s, 8.5 - 8.5 * c + 7.5 * s + right, s, c, 7.5 - 8.5 * s - 7.5 * c + down, zero, zero], axis=1
        )

    def seen(parameters, interpolation="BILINEAR", mode="CONSTANT"):
        rows = rows_of(parameters)
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=tf.repeat(picture, tf.shape(rows)[0], axis=0),
            transforms=rows,
            output_shape=[16, 18],
            fill_value=0.0,
            interpolation=interpolation,
            fill_mode=mode,
        )

    truth = tf.constant([[0.25, 1.1, 0.8, -0.6]])
    target = seen(truth)
    width = 0.05

    @function
    def step(at):
        tries = at + tf.concat([tf.zeros([1, 4]), width * tf.eye(4), -width * tf.eye(4)], 0)
        views = tf.reshape(seen(tries), [9, -1])
        slopes = tf.transpose(views[1:5] - views[5:]) / (2.0 * width)
        rest = tf.reshape(target, [-1]) - views[0]
        normal = tf.matmul(slopes, slopes, transpose_a=True) + 1e-3 * tf.eye(4)
        change = tf.linalg.solve(normal, tf.linalg.matvec(slopes, rest, transpose_a=True)[:, None])
        return at + tf.transpose(change), tf.reduce_sum(rest**2)

    at, losses = tf.constant([[0.0, 1.0, 0.0, 0.0]]), []
    for _ in range(5):
        at, loss = step(at)
        losses.append(loss)
    modes = [
        tf.reduce_mean(seen(truth * 2.5, mode=mode)) for mode in ("CONSTANT", "NEAREST", "REFLECT", "WRAP")
    ]
    return {"losses": losses[:3], "at": at, "modes": modes, "nearest": seen(truth, "NEAREST")[0, ::3, ::3, 0]}
