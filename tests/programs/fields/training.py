"""Training: optimizers, learning rates that change, losses and metrics, with loops of one's own."""

import numpy as np


def _fit(tf, function, optimizer, steps=6):
    """Where a curve and a matrix stand after some steps, and after which number of them."""
    curve = tf.Variable([0.5, 0.1, -0.3])
    matrix = tf.Variable([[0.2], [1.5]])

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((curve - tf.constant([1.0, -2.0, 3.0])) ** 2)
            loss += tf.reduce_sum(tf.sin(matrix)) * tf.reduce_sum(curve) + tf.reduce_sum(matrix**2)
        weights = [curve, matrix]
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    losses = [step() for _ in range(steps)]
    return {"curve": curve, "matrix": matrix, "losses": losses, "iterations": optimizer.iterations}


def _each(tf, function, optimizers):
    return {
        f"{name}_{key}": value
        for name, optimizer in optimizers.items()
        for key, value in _fit(tf, function, optimizer).items()
    }


def adam_and_its_kin(tf, function):
    kin = tf.keras.optimizers
    return _each(
        tf,
        function,
        {
            "adam": kin.Adam(0.05),
            "amsgrad": kin.Adam(learning_rate=0.3, amsgrad=True),
            "adamw": kin.AdamW(0.05, weight_decay=0.1),
            "adamax": kin.Adamax(0.05),
            "nadam": kin.Nadam(0.05),
            "lion": kin.Lion(0.05),
        },
    )


def squares_of_gradients(tf, function):
    kin = tf.keras.optimizers
    return _each(
        tf,
        function,
        {
            "adagrad": kin.Adagrad(0.5),
            "adadelta": kin.Adadelta(1.0),
            "rmsprop": kin.RMSprop(0.05),
            "rmsprop_centered": kin.RMSprop(0.05, rho=0.8, momentum=0.9, centered=True),
        },
    )


def follow_the_leader(tf, function):
    """Eagerly only: in a function TensorFlow's numbers depend on the order in which it reads the slots."""
    penalties = {
        "l1_regularization_strength": 0.01,
        "l2_regularization_strength": 0.02,
        "l2_shrinkage_regularization_strength": 0.03,
        "beta": 0.1,
    }
    found = _fit(tf, lambda step: step, tf.keras.optimizers.Ftrl(0.5, **penalties))
    plain = _fit(tf, lambda step: step, tf.keras.optimizers.Ftrl(0.5))
    return {**found, **{f"plain_{key}": value for key, value in plain.items()}}


def limits_and_decay(tf, function):
    kin = tf.keras.optimizers
    return _each(
        tf,
        function,
        {
            "norm": kin.SGD(0.1, clipnorm=0.5),
            "value": kin.SGD(0.1, momentum=0.5, clipvalue=0.2),
            "global_norm": kin.Adam(0.1, global_clipnorm=0.3),
            "decay": kin.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        },
    )


def schedules(tf, function):
    rates = tf.keras.optimizers.schedules

    class Warmup(rates.LearningRateSchedule):
        """Grows, then falls with the root of the step."""

        def __init__(self, width, warm):
            super().__init__()
            self.width, self.warm = tf.cast(width, tf.float32), warm

        def __call__(self, step):
            step = tf.cast(step, tf.float32) + 1.0
            return tf.math.rsqrt(self.width) * tf.minimum(tf.math.rsqrt(step), step * self.warm**-1.5)

    made = {
        "exponential": rates.ExponentialDecay(0.2, 4, 0.5),
        "stairs": rates.ExponentialDecay(0.2, 4, 0.5, staircase=True),
        "inverse": rates.InverseTimeDecay(0.2, 4, 0.5),
        "inverse_stairs": rates.InverseTimeDecay(0.2, 4, 0.5, staircase=True),
        "polynomial": rates.PolynomialDecay(0.2, 5, 0.01, power=2.0),
        "cycle": rates.PolynomialDecay(0.2, 5, 0.01, power=0.5, cycle=True),
        "cosine": rates.CosineDecay(0.2, 6, alpha=0.1),
        "warm_cosine": rates.CosineDecay(0.02, 6, alpha=0.1, warmup_target=0.3, warmup_steps=3),
        "restarts": rates.CosineDecayRestarts(0.2, 3),
        "even_restarts": rates.CosineDecayRestarts(0.2, 3, t_mul=1.0, m_mul=0.8, alpha=0.05),
        "pieces": rates.PiecewiseConstantDecay([2, 5], [1.0, 0.5, 0.1]),
        "own": Warmup(16, 4.0),
    }
    found = {}
    for name, rate in made.items():
        called = function(rate)
        found[name] = [called(tf.constant(step, tf.int64)) for step in range(12)]
    found["trained"] = _fit(tf, function, tf.keras.optimizers.SGD(made["pieces"]))["curve"]
    found["trained_own"] = _fit(tf, function, tf.keras.optimizers.Adam(made["own"], 0.9, 0.98, 1e-9))["curve"]
    return found


def _batch():
    draw = np.random.RandomState(3)
    scores = draw.rand(6, 4).astype(np.float32)
    return {
        "real": draw.rand(6, 4).astype(np.float32),
        "scores": scores,
        "shares": scores / scores.sum(-1, keepdims=True),
        "logits": (4 * scores - 2).astype(np.float32),
        "whole": draw.randint(0, 4, 6),
        "other": draw.randint(0, 4, 6),
        "binary": (draw.rand(6, 4) > 0.5).astype(np.float32),
        "weights": draw.rand(6).astype(np.float32),
    }


def losses_and_slopes(tf, function):
    batch, kin = _batch(), tf.keras.losses
    one_hot = np.eye(4, dtype=np.float32)[batch["whole"]]

    class Relative(kin.Loss):
        """A loss of one's own."""

        def call(self, y_true, y_pred):
            return tf.reduce_mean(tf.square(y_true - y_pred) / (1.0 + tf.abs(y_true)), axis=-1)

    cases = {
        "squared": (kin.MeanSquaredError(), batch["real"], batch["scores"]),
        "absolute": (kin.MeanAbsoluteError(), batch["real"], batch["scores"]),
        "percentage": (kin.MeanAbsolutePercentageError(), batch["real"], batch["scores"]),
        "logarithmic": (kin.MeanSquaredLogarithmicError(), batch["real"], batch["scores"]),
        "log_cosh": (kin.LogCosh(), batch["real"], batch["scores"]),
        "poisson": (kin.Poisson(), batch["real"], batch["scores"]),
        "cosine": (kin.CosineSimilarity(), batch["real"], batch["scores"]),
        "huber": (kin.Huber(0.3), batch["real"], batch["scores"]),
        "hinge": (kin.Hinge(), batch["binary"], batch["logits"]),
        "squared_hinge": (kin.SquaredHinge(), 2 * batch["binary"] - 1, batch["logits"]),
        "categorical_hinge": (kin.CategoricalHinge(), one_hot, batch["logits"]),
        "binary": (kin.BinaryCrossentropy(label_smoothing=0.1), batch["binary"], batch["scores"]),
        "focal": (kin.BinaryFocalCrossentropy(), batch["binary"], batch["scores"]),
        "balanced_focal": (
            kin.BinaryFocalCrossentropy(apply_class_balancing=True, from_logits=True, label_smoothing=0.1),
            batch["binary"],
            batch["logits"],
        ),
        "categorical_focal": (kin.CategoricalFocalCrossentropy(), one_hot, batch["shares"]),
        "categorical_focal_logits": (
            kin.CategoricalFocalCrossentropy(alpha=0.3, gamma=1.5, from_logits=True, label_smoothing=0.1),
            one_hot,
            batch["logits"],
        ),
        "own": (Relative(), batch["whole"][:, None], batch["scores"]),
        "own_sum": (Relative(reduction="sum", name="relative"), batch["real"], batch["scores"]),
    }
    found = {}
    for name, (loss, labels, predictions) in cases.items():

        @function
        def slopes(x, loss=loss, labels=labels):
            with tf.GradientTape() as tape:
                tape.watch(x)
                value = loss(labels, x)
            return value, tape.gradient(value, x), loss(labels, x, sample_weight=batch["weights"])

        found[name], found[f"{name}_slope"], found[f"{name}_weighted"] = slopes(tf.constant(predictions))
    return found


def metrics(tf, function):
    batch, kin = _batch(), tf.keras.metrics
    one_hot = np.eye(4, dtype=np.float32)[batch["whole"]]

    class Hits(kin.Metric):
        """A metric of one's own."""

        def __init__(self, name="hits", **options):
            super().__init__(name=name, **options)
            self.hits = self.add_weight(name="hits", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            both = tf.logical_and(tf.cast(y_true, tf.bool), y_pred > 0.5)
            self.hits.assign_add(tf.reduce_sum(tf.cast(both, self.dtype)))

        def result(self):
            return self.hits

    real, decisions = (batch["real"], batch["scores"]), (batch["binary"], batch["scores"])
    classes, signs = (batch["whole"], batch["shares"]), (batch["binary"], batch["logits"])
    cases = {
        "accuracy": (kin.Accuracy(), (batch["whole"], batch["other"])),
        "binary_accuracy": (kin.BinaryAccuracy(), decisions),
        "categorical_accuracy": (kin.CategoricalAccuracy(), (one_hot, batch["shares"])),
        "sparse_accuracy": (kin.SparseCategoricalAccuracy(), classes),
        "top_accuracy": (kin.TopKCategoricalAccuracy(k=2), (one_hot, batch["shares"])),
        "sparse_top_accuracy": (kin.SparseTopKCategoricalAccuracy(k=2), classes),
        "squared": (kin.MeanSquaredError(), real),
        "root": (kin.RootMeanSquaredError(), real),
        "absolute": (kin.MeanAbsoluteError(), real),
        "percentage": (kin.MeanAbsolutePercentageError(), real),
        "logarithmic": (kin.MeanSquaredLogarithmicError(), real),
        "cosine": (kin.CosineSimilarity(), real),
        "log_cosh": (kin.LogCoshError(), real),
        "divergence": (kin.KLDivergence(), real),
        "poisson": (kin.Poisson(), real),
        "hinge": (kin.Hinge(), signs),
        "squared_hinge": (kin.SquaredHinge(), signs),
        "categorical_hinge": (kin.CategoricalHinge(), (one_hot, batch["logits"])),
        "binary": (kin.BinaryCrossentropy(), decisions),
        "categorical": (kin.CategoricalCrossentropy(), (one_hot, batch["shares"])),
        "sparse": (kin.SparseCategoricalCrossentropy(), classes),
        "precision": (kin.Precision(), decisions),
        "precision_at": (kin.Precision(thresholds=[0.2, 0.5, 0.8]), decisions),
        "recall": (kin.Recall(class_id=1), decisions),
        "true_positives": (kin.TruePositives(), decisions),
        "false_positives": (kin.FalsePositives(), decisions),
        "true_negatives": (kin.TrueNegatives(), decisions),
        "false_negatives": (kin.FalseNegatives(), decisions),
        "overlap": (kin.MeanIoU(num_classes=5), (batch["whole"], batch["other"])),
        "own": (Hits(), decisions),
        **{
            f"area_{curve}_{method}": (kin.AUC(curve=curve, summation_method=method), decisions)
            for curve in ("ROC", "PR")
            for method in ("interpolation", "majoring", "minoring")
        },
    }
    found = {}
    for name, (metric, (labels, predictions)) in cases.items():
        update = function(metric.update_state)
        update(labels, predictions)
        found[f"{name}_first"] = metric.result()
        update(labels[:3], predictions[:3])
        if name not in ("own", "overlap"):
            update(labels, predictions, sample_weight=batch["weights"])
        found[name] = metric.result()
        metric.reset_state()
        found[f"{name}_reset"] = metric.result()
    total, mean = kin.Sum(), kin.Mean()
    total.update_state(batch["real"], sample_weight=batch["weights"])
    mean.update_state(batch["real"])
    mean.update_state(3.0)
    return {**found, "sum": total.result(), "mean": mean.result()}
