"""Small programs that save, change and restore, as functions of the library: what they give on TensorFlow is stored.

Each gives values, and for each status what its three questions answer: None, or the name of the exception.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

# Optimizers whose slots have all the names that there are, with what their constructors take besides the rate.
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "Adam": {},
    "Adam_amsgrad": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "Nadam": {},
    "Lion": {},
    "SGD": {"momentum": 0.9},
    "SGD_nesterov": {"momentum": 0.9, "nesterov": True},
    "RMSprop": {},
    "RMSprop_all": {"momentum": 0.5, "centered": True},
    "Adagrad": {},
    "Adadelta": {},
    "Ftrl": {},
}
_MEANS = {"use_ema": True, "ema_momentum": 0.8}
_SUMS = {"gradient_accumulation_steps": 2}
STEPS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, **_MEANS},
    "Adam": {**_SUMS},
    "RMSprop": {**_MEANS, **_SUMS, "ema_overwrite_frequency": 3},
    "Adafactor": {},
    "Adafactor_all": {**_MEANS, **_SUMS},
}

KERAS_2: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Nadam": {},
    "Adamax_legacy": {},
}


def train_pair(tf: Any, net: Any, optimizer: Any, count: int) -> None:
    """Steps of a training of a matrix and a vector."""
    for _ in range(count):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(net.m, net.v[:, None]) ** 2) + tf.reduce_sum(net.v**2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [net.m, net.v]), [net.m, net.v], strict=True))


def model_of_blocks(keras: Any, deep: bool) -> Any:
    """A model whose layers are private attributes, in lists and dicts, under two names, and in blocks; with a weight of its own.

    Args:
      deep: Whether a list is inside of a list.
    """
    layers = keras.layers

    class Block(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self._first = layers.Dense(3)
            self.two = [layers.Dense(3), layers.Dense(3)]
            self.again = self.two[1]
            self.table = {"b": layers.Dense(3)}

        def call(self, x: Any) -> Any:
            return self.table["b"](self.two[1](self.two[0](self._first(x))))

    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self._one = layers.Dense(2)
            self.pair = [layers.Dense(2), [layers.Dense(2)] if deep else layers.Dense(2)]
            self._blocks = [Block(), Block()]
            self.net = keras.Sequential([layers.Dense(3), layers.Dense(2)])
            self.Last = layers.Dense(1)
            self.scale = self.add_weight(shape=(1,), initializer="ones", name="scale")

        def call(self, x: Any) -> Any:
            x = self.pair[0](self._one(x))
            x = (self.pair[1][0] if deep else self.pair[1])(x)
            for block in self._blocks:
                x = block(x)
            return self.Last(self.net(x)) * self.scale

    return Model()


POINTS = [[1.0, 2.0], [-3.0, 0.5]]


class Program:
    """One run of all cases on one library."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0

    def run(self) -> dict[str, Any]:
        """What each case gives, by its name."""
        with self.folder:
            return {name: plain(case(self)) for name, case in CASES.items()}

    def v(self, value: Any, **options: Any) -> Any:
        return self.tf.Variable(value, **options)

    def m(self, **children: Any) -> Any:
        module = self.tf.Module()
        for name, child in children.items():
            setattr(module, name, child)
        return module

    def place(self) -> str:
        self.count += 1
        return os.path.join(self.folder.name, str(self.count), "x")

    def save(self, *root: Any, **objects: Any) -> str:
        return self.tf.train.Checkpoint(*root, **objects).write(self.place())

    def read(self, path: str, *root: Any, **objects: Any) -> Any:
        return self.tf.train.Checkpoint(*root, **objects).read(path)


def plain(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def refusal(call: Callable[[], Any]) -> str | None:
    """What a call raises: the most general of the classes that say something."""
    try:
        call()
    except (AssertionError, ValueError, TypeError) as error:
        return next(
            kind.__name__ for kind in (AssertionError, ValueError, TypeError) if isinstance(error, kind)
        )
    except Exception as error:
        return "ValueError" if type(error).__name__ == "InvalidArgumentError" else type(error).__name__
    return None


def asked(status: Any) -> list[str | None]:
    return [
        refusal(status.assert_consumed),
        refusal(status.assert_existing_objects_matched),
        refusal(status.assert_nontrivial_match),
    ]


CASES: dict[str, Callable[[Program], Any]] = {}


def case(function: Callable[[Program], Any]) -> Callable[[Program], Any]:
    CASES[function.__name__] = function
    return function


@case
def a_list_that_is_shorter(p: Program) -> Any:
    path = p.save(m=p.m(l=[p.v(1.0), p.v(2.0), p.v(3.0)]))
    m = p.m(l=[p.v(0.0), p.v(0.0)])
    status = p.read(path, m=m)
    return list(m.l), asked(status)


@case
def a_list_that_is_longer(p: Program) -> Any:
    path = p.save(m=p.m(l=[p.v(1.0), p.v(2.0)]))
    m = p.m(l=[p.v(0.0), p.v(0.0), p.v(9.0)])
    status = p.read(path, m=m)
    return list(m.l), asked(status)


@case
def a_key_that_comes_later(p: Program) -> Any:
    path = p.save(m=p.m(d={"a": p.v(1.0), "b": p.v(2.0)}))
    m = p.m(d={"b": p.v(0.0)})
    status = p.read(path, m=m)
    before = asked(status)
    m.d["a"] = p.v(0.0)
    after = asked(status)
    return m.d["a"], m.d["b"], before, after


@case
def a_tuple_that_became_a_list(p: Program) -> Any:
    path = p.save(m=p.m(t=(p.v(1.0), p.v(2.0))))
    m = p.m(t=[p.v(0.0), p.v(0.0)])
    status = p.read(path, m=m)
    return list(m.t), asked(status)


@case
def one_object_that_became_two(p: Program) -> Any:
    shared = p.v(1.0)
    a, b = p.v(0.0), p.v(0.0)
    status = p.read(p.save(a=shared, b=shared), a=a, b=b)
    return a, b, asked(status)


@case
def two_objects_that_became_one(p: Program) -> Any:
    shared = p.v(0.0)
    status = p.read(p.save(a=p.v(1.0), b=p.v(2.0)), a=shared, b=shared)
    return shared, asked(status)


@case
def an_attribute_that_comes_later(p: Program) -> Any:
    m = p.m()
    status = p.read(p.save(m=p.m(w=p.v(1.0))), m=m)
    before = asked(status)
    m.w = p.v(0.0)
    return before, m.w, asked(status)


@case
def an_attribute_that_is_replaced(p: Program) -> Any:
    m = p.m(w=p.v(0.0))
    status = p.read(p.save(m=p.m(w=p.v(1.0))), m=m)
    m.w = p.v(7.0)
    return m.w, asked(status)


@case
def two_restores_before_the_attribute_comes(p: Program) -> Any:
    m = p.m()
    first = p.read(p.save(m=p.m(w=p.v(1.0))), m=m)
    second = p.read(p.save(m=p.m(w=p.v(2.0))), m=m)
    m.w = p.v(0.0)
    return m.w, asked(first), asked(second)


@case
def another_shape_and_another_dtype(p: Program) -> Any:
    path = p.save(m=p.m(w=p.v([1.0, 2.0])))
    return (
        refusal(lambda: p.read(path, m=p.m(w=p.v([0.0, 0.0, 0.0])))),
        refusal(lambda: p.read(path, m=p.m(w=p.v([0, 0])))),
    )


@case
def a_variable_that_became_a_module(p: Program) -> Any:
    m = p.m(w=p.m(x=p.v(0.0)))
    status = p.read(p.save(m=p.m(w=p.v(1.0))), m=m)
    return m.w.x, asked(status)


@case
def a_module_that_became_a_variable(p: Program) -> Any:
    m = p.m(w=p.v(0.0))
    status = p.read(p.save(m=p.m(w=p.m(x=p.v(1.0)))), m=m)
    return m.w, asked(status)


@case
def a_cycle_with_an_attribute_that_comes_later(p: Program) -> Any:
    inner = p.m()
    m = p.m(inner=inner)
    inner.up = m
    status = p.read(p.save(m=p.m(inner=p.m(w=p.v(1.0)))), m=m)
    inner.w = p.v(0.0)
    return inner.w, asked(status)


@case
def a_shared_module_with_an_attribute_that_comes_later(p: Program) -> Any:
    a, b = p.m(w=p.v(1.0)), p.m()
    status = p.read(p.save(x=a, y=a), x=b, y=b)
    b.w = p.v(0.0)
    return b.w, asked(status)


@case
def items_with_attributes_that_come_later(p: Program) -> Any:
    m = p.m(l=[])
    status = p.read(p.save(m=p.m(l=[p.m(w=p.v(1.0)), p.m(w=p.v(2.0))])), m=m)
    for _ in range(2):
        item = p.m()
        m.l.append(item)
        item.w = p.v(0.0)
        len(m.variables)
    return [item.w for item in m.l], asked(status)


@case
def a_part_of_a_checkpoint(p: Program) -> Any:
    s = p.v(0)
    status = p.read(p.save(m=p.m(w=p.v(1.0)), s=p.v(3)), s=s)
    return s, asked(status)


@case
def what_may_be_given(p: Program) -> Any:
    checkpoint = p.tf.train.Checkpoint
    root, w = p.m(w=p.v(1.0)), p.v(2.0)
    return (
        refusal(lambda: checkpoint(a=None)),
        refusal(lambda: checkpoint(a="x")),
        refusal(lambda: checkpoint(a=5)),
        refusal(lambda: checkpoint(a=[1, 2])),
        refusal(lambda: checkpoint(a={"x": 1})),
        refusal(lambda: checkpoint([p.v(1.0)])),
        refusal(lambda: checkpoint(p.v(1.0))),
        refusal(lambda: checkpoint(root, w=w)),
        refusal(lambda: checkpoint(root, w=root.w)),
    )


@case
def attributes_of_the_checkpoint_itself(p: Program) -> Any:
    checkpoint = p.tf.train.Checkpoint(a=p.v(1.0))
    checkpoint.b = p.v(2.0)
    checkpoint.note = "text"
    a, b = p.v(0.0), p.v(0.0)
    status = p.read(checkpoint.write(p.place()), a=a, b=b)
    other = p.tf.train.Checkpoint()
    later = other.read(p.save(a=p.v(4.0)))
    other.a = p.v(0.0)
    return a, b, asked(status), other.a, asked(later)


@case
def a_variable_without_a_shape(p: Program) -> Any:
    w = p.v([0.0], shape=p.tf.TensorShape([None]))
    status = p.read(p.save(v=p.v([1.0, 2.0, 3.0])), v=w)
    return w, asked(status)


@case
def empty_lists_and_dicts_in_the_file(p: Program) -> Any:
    return asked(p.read(p.save(m=p.m(w=p.v(1.0), e=[], f={})), m=p.m(w=p.v(0.0))))


@case
def numbers_of_saves(p: Program) -> Any:
    checkpoint, place = p.tf.train.Checkpoint(a=p.v(1.0)), p.place()
    first = checkpoint.save(place)
    checkpoint.a.assign(5.0)
    checkpoint.save(place)
    checkpoint.restore(first)
    third = checkpoint.save(place)
    latest = p.tf.train.latest_checkpoint(os.path.dirname(place))
    return checkpoint.a, checkpoint.save_counter, os.path.basename(third), latest == third


@case
def a_root_and_its_children(p: Program) -> Any:
    path = p.save(p.m(w=p.v(1.0)), extra=p.m(w=p.v(2.0)))
    root, extra = p.m(w=p.v(0.0)), p.m(w=p.v(0.0))
    status = p.read(path, root, extra=extra)
    whole = p.m(w=p.v(0.0), extra=p.m(w=p.v(0.0)))
    other = p.read(path, whole)
    return root.w, extra.w, asked(status), whole.w, whole.extra.w, asked(other)


@case
def what_write_and_save_have_made(p: Program) -> Any:
    a = p.v(0.0)
    checkpoint = p.tf.train.Checkpoint(a=a)
    written, saved = p.save(a=p.v(1.0)), p.tf.train.Checkpoint(a=p.v(2.0)).save(p.place())
    return [
        [asked(getattr(checkpoint, how)(path)), float(a)]
        for path in (written, saved)
        for how in ("read", "restore")
    ]


@case
def names_of_attributes(p: Program) -> Any:
    path = p.save(m=p.m(_p=p.v(1.0), d={"a/b.c": p.v(2.0)}, l=[p.v(3.0), [p.v(4.0)]]))
    return [key for key, _ in p.tf.train.list_variables(path) if not key.startswith("_CHECKPOINTABLE")]


@case
def a_manager_of_two(p: Program) -> Any:
    place = os.path.dirname(p.place())
    step = p.v(0)
    checkpoint = p.tf.train.Checkpoint(step=step)
    manager = p.tf.train.CheckpointManager(checkpoint, place, 2, step_counter=step, checkpoint_interval=2)
    found = []
    for number in range(7):
        step.assign(number)
        path = manager.save()
        found.append([path and os.path.basename(path), [os.path.basename(x) for x in manager.checkpoints]])
    again = p.tf.train.CheckpointManager(checkpoint, place, 1)
    found.append(os.path.basename(again.restore_or_initialize()))
    found.append(
        [os.path.basename(again.save(checkpoint_number=30)), [os.path.basename(x) for x in again.checkpoints]]
    )
    return found, step, checkpoint.save_counter
