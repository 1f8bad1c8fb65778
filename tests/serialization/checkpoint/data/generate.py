"""Writes the files of this folder, and `expected.json` with what is in them. It needs TensorFlow and tf_keras; the tests do not:

python tests/serialization/checkpoint/data/generate.py
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import cases

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128".split()


def place(*names: str) -> str:
    return os.path.join(HERE, *names)


def plain(x: Any) -> Any:
    """A value as JSON holds it: numbers of every dtype as text of their parts."""
    array = np.asarray(x)
    if np.iscomplexobj(array):
        return [array.real.tolist(), array.imag.tolist()]
    return array.astype(np.float64).tolist() if array.dtype.kind not in "biu" else array.tolist()


def dtypes() -> Any:
    start = tf.constant([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0]])
    variables = {name: tf.Variable(tf.cast(start, getattr(tf, name))) for name in DTYPES}
    checkpoint = tf.train.Checkpoint(
        **variables,
        empty=tf.Variable(tf.zeros([0, 3])),
        text=tf.Variable("a text"),
        large=tf.Variable(np.arange(1000.0)),
    )
    checkpoint.write(place("dtypes"))
    return {name: plain(variable) for name, variable in variables.items()}


class Net(tf.Module):
    """Shared, cyclic, in lists, dicts and tuples; one name with a slash."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0])
        self.same = self.w
        self.parts = [tf.Variable(3.0), {"a/b.c": tf.Variable(4.0)}]
        self.pair = (tf.Variable(5), tf.Variable([6.0]))
        self.own = self
        self.generator = tf.random.Generator.from_seed(1)


def module() -> Any:
    checkpoint = tf.train.Checkpoint(net=Net(), step=tf.Variable(7, dtype=tf.int64))
    manager = tf.train.CheckpointManager(checkpoint, place("module"), max_to_keep=2)
    for _ in range(3):
        manager.save()
    return tf.train.list_variables(manager.latest_checkpoint)


def train(net: Any, optimizer: Any, steps: int) -> None:
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2))
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


def weights(net: Any) -> Any:
    return [plain(value) for value in net.get_weights()]


def sequential() -> Any:
    """A Keras Sequential with Adam: in the middle of a training, and three steps later; its weights in Keras' own files."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    net = keras.Sequential(
        [
            layers.Input((2,)),
            layers.Dense(4, activation="tanh", name="first"),
            layers.BatchNormalization(),
            keras.Sequential([layers.Dense(3, activation="relu"), layers.Dense(2, use_bias=False)]),
            layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.Adam(0.1)
    train(net, optimizer, 3)
    net.layers[1].moving_mean.assign([0.1, 0.2, 0.3, 0.4])
    tf.train.Checkpoint(net=net, optimizer=optimizer, step=tf.Variable(3)).save(place("sequential"))
    net.save_weights(place("sequential.weights.h5"))
    net.save(place("sequential.keras"))
    net.save(place("sequential.h5"))
    import h5py
    from keras.src.legacy.saving import legacy_h5_format

    with h5py.File(place("weights_alone.h5"), "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, net)
    before = weights(net)
    train(net, optimizer, 3)
    return {"before": before, "after": weights(net)}


def compiled() -> Any:
    """A model with an optimizer of its own, a layer without weights, and one kind of number more."""
    keras.utils.set_random_seed(4)
    layers = keras.layers
    net = keras.Sequential(
        [layers.Input((3,)), layers.Dense(2), layers.Dropout(0.5), layers.Flatten(), layers.Dense(1)]
    )
    net.compile("adam", "mse", metrics=["mae"])
    net.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    net.save_weights(place("compiled.weights.h5"))
    net.save(place("compiled.keras"))
    return weights(net)


def plain_hdf5() -> None:
    """Data sets of every dtype, in both forms of groups; and what Keras does not write."""
    import h5py

    for name, version in (("earliest", "earliest"), ("latest", "latest")):
        with h5py.File(place(f"{name}.h5"), "w", libver=version) as file:
            for dtype in DTYPES:
                if dtype != "bfloat16":  # in groups: the newest form keeps more than eight links elsewhere
                    file[f"{dtype[:3]}/{dtype}"] = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
            file["scalar"], file["empty"] = np.float32(2.5), np.zeros((0, 3))
    with h5py.File(place("odd.h5"), "w") as file:
        file.create_dataset("chunked/x", data=np.arange(100.0), chunks=(10,))
        file.create_dataset("packed/x", data=np.arange(100.0), compression="gzip")
        file["big_endian/x"] = np.arange(3.0).astype(">f4")
        file["text/x"] = "a text"
        file["record/x"] = np.zeros(2, [("a", "i4"), ("b", "f4")])
        for i in range(200):
            file[f"many/{i:03}"] = np.float32(i)
        file["loop/again"] = file["loop"] if "loop" in file else file.create_group("loop")
        file["soft"] = h5py.SoftLink("/many")
        file["linked/other"] = h5py.ExternalLink("other.h5", "/x")
        file["linked/x"] = np.float32(1.0)


class Small(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.first = keras.layers.Dense(3, activation="tanh")
        self.last = keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.last(self.first(x))


class Model(keras.Model):
    """With a list of layers, which checkpoints of TensorFlow find only through the optimizer, and Keras' own files by name."""

    def __init__(self) -> None:
        super().__init__()
        self.first = keras.layers.Dense(3, activation="tanh")
        self.blocks = [keras.layers.Dense(3), keras.layers.Dense(3)]
        self.last = keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def subclassed() -> Any:
    keras.utils.set_random_seed(2)
    net = Small()
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
    train(net, optimizer, 3)
    tf.train.Checkpoint(net=net, optimizer=optimizer).save(place("subclassed"))
    before = weights(net.first) + weights(net.last)
    train(net, optimizer, 3)
    return {"before": before, "after": weights(net.first) + weights(net.last)}


class Mixed(keras.Model):
    """Attributes before and after `layers` in the alphabet, a dict, a model inside, one layer under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.net = keras.Sequential([keras.layers.Dense(2)])
        self.my_dense = keras.layers.Dense(2)
        self.again = self.my_dense
        self.table = {"b": keras.layers.Dense(1), "a": keras.layers.Dense(1)}
        self.head = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        x = self.again(self.net(self.my_dense(x)))
        return self.table["a"](self.head(x)) + self.table["b"](x)


def mixed() -> Any:
    keras.utils.set_random_seed(5)
    net = Mixed()
    net(tf.zeros([1, 2]))
    net.save_weights(place("mixed.weights.h5"))
    layers = (net.net.layers[0], net.my_dense, net.table["a"], net.table["b"], net.head)
    return [value for layer in layers for value in weights(layer)]


def with_list() -> Any:
    keras.utils.set_random_seed(3)
    net = Model()
    net(tf.zeros([1, 2]))
    net.save_weights(place("with_list.weights.h5"))
    return [value for layer in (net.first, *net.blocks, net.last) for value in weights(layer)]


def saved_model() -> None:
    net = tf.Module()
    net.w = tf.Variable([1.0, 2.0])
    net.inner = tf.Module()
    net.inner.v = tf.Variable([[3.0]])
    tf.saved_model.save(net, place("saved_model"))
    for name in ("assets", "fingerprint.pb", "saved_model.pb"):  # the tests need its variables alone
        path = place("saved_model", name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def by_name() -> None:
    """As version 1 of TensorFlow saved: names and no objects; one variable in slices."""
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("scope/w", initializer=[1.0, 2.0], use_resource=True)
        v1.get_variable(
            "sliced",
            shape=[4, 2],
            initializer=v1.ones_initializer(),
            partitioner=v1.fixed_size_partitioner(2),
            use_resource=True,
        )
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, place("by_name"), write_meta_graph=False, write_state=False)


def optimizers() -> Any:
    """Every kind of optimizer in the middle of a training of its own variables, and their values two steps later."""
    nets = {name: tf.Module() for name in cases.OPTIMIZERS}
    made = {
        name: getattr(keras.optimizers, name.split("_")[0])(0.1, **options)
        for name, options in cases.OPTIMIZERS.items()
    }
    for net in nets.values():
        net.v, net.w = tf.Variable([1.0, -2.0]), tf.Variable(3.0)

    def steps(count: int) -> None:
        for name, net in nets.items():
            for _ in range(count):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(net.v**2 * net.w) + net.w**2
                pairs = zip(tape.gradient(loss, [net.v, net.w]), [net.v, net.w])
                made[name].apply_gradients(pairs)

    steps(2)
    tf.train.Checkpoint(nets=nets, optimizers=made).write(place("optimizers"))
    steps(2)
    return {name: [net.v.numpy().tolist(), float(net.w.numpy())] for name, net in nets.items()}


def steps() -> Any:
    """Optimizers with averages and with sums of gradients, in the middle of a training and of a step, and the values later."""
    results = {}
    nets, made = {}, {}
    for name, options in cases.STEPS.items():
        net = nets[name] = tf.Module()
        net.m, net.v = tf.Variable([[1.0, -2.0], [0.5, 4.0], [3.0, 1.0]]), tf.Variable([2.0, -1.0])
        made[name] = getattr(keras.optimizers, name.split("_")[0])(0.1, **options)
        cases.train_pair(tf, net, made[name], 5)
    tf.train.Checkpoint(nets=nets, optimizers=made).write(place("steps"))
    for name, net in nets.items():
        cases.train_pair(tf, net, made[name], 3)
        made[name].finalize_variable_values([net.m, net.v])
        results[name] = [net.m.numpy().tolist(), net.v.numpy().tolist()]
    return results


def keras_2() -> Any:
    """Optimizers of Keras 2, of both its kinds, in the middle of a training, and the losses' variables later."""
    import tf_keras

    results, nets, made = {}, {}, {}
    for name, options in cases.KERAS_2.items():
        net = nets[name] = tf.Module()
        net.m, net.v = tf.Variable([[1.0, -2.0], [0.5, 4.0], [3.0, 1.0]]), tf.Variable([2.0, -1.0])
        kind, _, legacy = name.partition("_")
        kinds = tf_keras.optimizers.legacy if legacy else tf_keras.optimizers
        made[name] = getattr(kinds, kind)(0.01, **options)
        cases.train_pair(tf, net, made[name], 5)
    tf.train.Checkpoint(nets=nets, optimizers=made).write(place("keras_2"))
    for name, net in nets.items():
        cases.train_pair(tf, net, made[name], 3)
        results[name] = [net.m.numpy().tolist(), net.v.numpy().tolist()]
    return results


def models_of_keras_2() -> Any:
    """The layers of a model in lists and a dict, in the older form; and a compiled model, whose metrics are in the newer one."""
    import tf_keras

    layers = tf_keras.layers

    class Model(tf_keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.table = {"b": layers.Dense(1), "a": layers.Dense(3)}
            self.blocks = [layers.Dense(3), [layers.Dense(3)]]
            self.last = layers.BatchNormalization()

        def call(self, x: Any) -> Any:
            x = self.blocks[1][0](self.blocks[0](self.table["a"](x)))
            return self.table["b"](self.last(x))

    tf_keras.utils.set_random_seed(6)
    net = Model()
    net(np.ones((1, 2), np.float32))
    net.save_weights(place("lists_of_keras_2.h5"))
    made = tf_keras.Sequential([layers.Input((2,)), layers.Dense(2), layers.Dense(1)])
    made.compile("adam", "mse", metrics=["mae"])
    made.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
    made.save(place("compiled_of_keras_2.keras"))
    points = np.array(cases.POINTS, np.float32)
    return [net(points).numpy().tolist(), made(points).numpy().tolist()]


def blocks() -> Any:
    """The same model of Keras 3 and of Keras 2, which visit attributes in other orders."""
    import tf_keras

    results, points = {}, np.array(cases.POINTS, np.float32)
    for name, library, forms in (
        ("blocks", keras, ["weights.h5"]),
        ("blocks_of_keras_2", tf_keras, ["weights.h5", "h5"]),
    ):
        library.utils.set_random_seed(7)
        net = cases.model_of_blocks(library, deep=library is keras)
        net(points)
        net.set_weights([x + 0.25 for x in net.get_weights()])
        for form in forms:
            net.save_weights(place(f"{name}.{form}"))
            results[f"{name}.{form}"] = net(points).numpy().tolist()
    return results


def cut() -> None:
    """Several data files, and values that are cut along an axis: some keep what belongs to their size in two of them."""
    from tensorflow.python.checkpoint.sharding import sharding_policies

    root = tf.Module()
    root.matrix = tf.Variable(np.arange(600, dtype=np.float64).reshape(200, 3))
    root.vector = tf.Variable(np.arange(1000, dtype=np.int16))
    root.small = [tf.Variable(np.full((2, 2), i, np.complex64)) for i in range(5)]
    options = tf.train.CheckpointOptions(
        experimental_sharding_callback=sharding_policies.MaxShardSizePolicy(1500)
    )
    tf.train.Checkpoint(root=root).write(place("cut"), options=options)


def bfloat16() -> Any:
    keras.utils.set_random_seed(6)
    layers = keras.layers
    net = keras.Sequential(
        [layers.Input((2,)), layers.Dense(3, dtype="bfloat16"), layers.Dense(2, dtype="float16")]
    )
    net.save_weights(place("bfloat16.weights.h5"))
    return weights(net)


def main() -> None:
    for name in os.listdir(HERE):
        if name != os.path.basename(__file__):
            path = place(name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    expected = {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "dtypes": dtypes(),
        "cases": cases.Program(tf).run(),
        "module": module(),
        "sequential": sequential(),
        "compiled": compiled(),
        "subclassed": subclassed(),
        "with_list": with_list(),
        "mixed": mixed(),
        "optimizers": optimizers(),
        "steps": steps(),
        "keras_2": keras_2(),
        "models_of_keras_2": models_of_keras_2(),
        "blocks": blocks(),
        "bfloat16": bfloat16(),
    }
    cut()
    saved_model()
    by_name()
    plain_hdf5()
    if os.path.exists(place("checkpoint")):
        os.unlink(place("checkpoint"))  # of the saves without a directory of their own
    with open(place("expected.json"), "w") as file:
        json.dump(expected, file, indent=None)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
