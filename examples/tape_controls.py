"""What a tape records, and how to steer it: pausing, starting over, cutting one path, several tapes, higher orders."""

import graphad as tf


def pause() -> None:
    """A metric computed on the way costs nothing when the tape is paused."""
    weight, bias = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        squared = weight * weight
        with tape.stop_recording():
            metric = bias * bias
        loss = squared + metric
    slopes = tape.gradient(loss, {"weight": weight, "bias": bias})
    print("paused:       d loss/d weight =", slopes["weight"].numpy(), " d loss/d bias =", slopes["bias"])


def start_over() -> None:
    """`reset` forgets what was recorded, and goes on."""
    weight, bias = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        first = bias * bias
        tape.reset()
        loss = weight * weight + first
    slopes = tape.gradient(loss, [weight, bias])
    print("reset:        d loss/d weight =", slopes[0].numpy(), " d loss/d bias =", slopes[1])


def cut_one_path() -> None:
    """`stop_gradient` cuts one path and leaves the tape alone."""
    weight, bias = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = weight**2 + tf.stop_gradient(bias**2)
    print(
        "cut:          d loss/d weight =",
        tape.gradient(loss, weight).numpy(),
        " d loss/d bias =",
        tape.gradient(loss, bias),
    )
    print("              why None?      ", tape.why_none(loss, bias))


def several_tapes() -> None:
    """Each tape follows its own tensors."""
    angle, score = tf.constant(0.0), tf.constant(0.0)
    with tf.GradientTape() as of_angle, tf.GradientTape() as of_score:
        of_angle.watch(angle)
        of_score.watch(score)
        total = tf.reduce_sum(tf.sin(angle) + tf.nn.sigmoid(score))
    print(
        "two tapes:    cos(0) =",
        of_angle.gradient(total, angle).numpy(),
        " sigmoid'(0) =",
        of_score.gradient(total, score).numpy(),
    )


def higher_order() -> None:
    """A gradient computed under a tape is recorded like anything else."""
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            cube = x * x * x
        slope = inner.gradient(cube, x)
    print("higher order: 3x^2 =", slope.numpy(), " 6x =", outer.gradient(slope, x).numpy())


def input_gradient_regularisation() -> None:
    """The size of the gradient by the input, differentiated by the weights: a guard against adversarial inputs."""
    x = tf.random.normal([7, 5])
    layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
    with tf.GradientTape() as by_weights:
        with tf.GradientTape(watch_accessed_variables=False) as by_input:
            by_input.watch(x)
            energy = tf.reduce_sum(layer(x) ** 2)
        size = tf.norm(by_input.gradient(energy, x))
    slopes = by_weights.gradient(size, layer.trainable_variables)
    print("regularised:  shapes of the gradients:", [tuple(slope.shape) for slope in slopes])


if __name__ == "__main__":
    tf.random.set_seed(7)
    pause()
    start_over()
    cut_one_path()
    several_tapes()
    higher_order()
    input_gradient_regularisation()
