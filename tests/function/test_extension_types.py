"""Extension types: fields that are converted and checked, and values that go wherever tensors go."""

from __future__ import annotations

import copy
import pickle
import re
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf

OPTIONAL = re.escape(str(typing.Optional[str]))  # noqa: UP045 -- from Python 3.14 it is printed as "str | None"


class Masked(tf.experimental.ExtensionType):
    """Numbers, some of which count."""

    values: tf.Tensor
    mask: tf.Tensor
    scale: int = 3
    label: typing.Optional[str] = None  # noqa: UP045 -- both spellings are taken

    def __validate__(self) -> None:
        self.values.shape.assert_is_compatible_with(self.mask.shape)

    @property
    def shape(self) -> tf.TensorShape:
        return self.values.shape

    def total(self) -> tf.Tensor:
        return tf.reduce_sum(tf.where(self.mask, self.values, tf.zeros_like(self.values))) * float(self.scale)


class Outer(tf.experimental.ExtensionType):
    """Its fields are of a class that stands below."""

    first: Inner
    rest: tuple[Inner, ...]

    def total(self) -> tf.Tensor:
        return self.first.x + sum([part.x for part in self.rest])


class Inner(tf.experimental.ExtensionType):
    """A number."""

    x: tf.Tensor


SPEC = Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool), scale=3, label=None)


def masked(**other: Any) -> Masked:
    return Masked([1.0, 2.0], [True, False], **other)


class TestFields:
    def test_values_are_converted(self) -> None:
        m = masked()
        assert isinstance(m.values, tf.Tensor) and m.mask.dtype == tf.bool and m.scale == 3
        assert repr(m).startswith("Masked(values=<tf.Tensor") and repr(m).endswith("scale=3, label=None)")

    def test_kinds(self) -> None:
        class Kinds(tf.experimental.ExtensionType):
            parts: tuple[tf.Tensor, ...]
            named: Mapping[str, tf.Tensor]
            inner: Masked
            size: int | float | tf.Tensor = 1
            shape: tf.TensorShape = (2, None)
            dtype: tf.DType = "float32"
            pair: tuple[int, str] = (1, "a")

        k = Kinds([1.0, 2], {"a": 3}, masked(), size=[2.5])
        assert [part.dtype.name for part in k.parts] == ["float32", "int32"]
        assert k.named["a"].numpy() == 3 and k.size.numpy().tolist() == [2.5]
        assert k.shape == tf.TensorShape([2, None]) and k.dtype is tf.float32 and k.pair == (1, "a")
        assert Kinds([], {}, masked(), size=2).size == 2
        with pytest.raises(TypeError, match="cannot be changed"):
            k.named["b"] = 2
        with pytest.raises(TypeError, match="inner: expected 'Masked', got 'int'"):
            Kinds([], {}, 3)
        with pytest.raises(TypeError, match="pair: expected"):
            Kinds([], {}, masked(), pair=(1, "a", 2))
        with pytest.raises(TypeError, match=r"pair\[1\]: expected 'str', got 'int'"):
            Kinds([], {}, masked(), pair=(1, 2))

    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            (lambda: Masked([1.0]), TypeError, "Masked: missing a required argument: 'mask'"),
            (lambda: masked(scale=2.5), TypeError, "scale: expected 'int', got 'float'"),
            (lambda: masked(label=3), TypeError, f"label: expected '{OPTIONAL}', got 'int'"),
            (lambda: masked(other=3), TypeError, "unexpected keyword argument 'other'"),
            (lambda: Masked([1.0], [True, False]), ValueError, r"Shapes \(1,\) and \(2,\) are incompatible"),
            (lambda: Masked("abc", True), TypeError, "values: expected a Tensor, got 'abc'"),
            (lambda: setattr(masked(), "scale", 4), AttributeError, "Cannot mutate attribute `scale`"),
            (lambda: setattr(masked(), "size", 4), AttributeError, "Masked has no field 'size'"),
            (lambda: delattr(masked(), "scale"), AttributeError, "Cannot mutate attribute `scale`"),
            (lambda: hash(masked()), TypeError, "unhashable"),
            (
                lambda: Masked.Spec(tf.TensorSpec([])),
                TypeError,
                r"Masked.Spec: missing a required argument: 'mask'",
            ),
        ],
    )
    def test_errors_name_the_field(
        self, wrong: Callable[[], Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            wrong()

    @pytest.mark.parametrize(
        ("annotations", "defaults", "error", "message"),
        [
            ({"t": list}, {}, TypeError, "In field 't': Unsupported type annotation 'list'"),
            ({"t": Any}, {}, TypeError, "In field 't': Unsupported type annotation 'Any'"),
            ({"t": int}, {"t": "a"}, TypeError, "default value for t: expected 'int', got 'str'"),
            ({"t": int}, {"x": 3}, ValueError, "Field x is missing a type annotation"),
            ({"t": int}, {"t": lambda self: 3}, ValueError, "t is a field and a method"),
            ({"Spec": int}, {}, ValueError, "Field 'Spec' is reserved"),
            ({"t": int, "self": int}, {}, ValueError, "Field 'self' is reserved"),
            ({"is_compatible_with": bool}, {}, ValueError, "Field 'is_compatible_with' is reserved"),
        ],
    )
    def test_wrong_classes(
        self, annotations: dict[str, Any], defaults: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            type(tf.experimental.ExtensionType)(
                "Wrong", (tf.experimental.ExtensionType,), {"__annotations__": annotations, **defaults}
            )

    def test_annotations_may_name_what_is_defined_later(self) -> None:
        assert float(Outer(Inner(2.0), [Inner(1.0)]).total()) == 3.0
        traced = tf.function(lambda x: x.total())
        assert float(traced(Outer(Inner(4.0), ()))) == 4.0
        spec = Outer.Spec(Inner.Spec(tf.TensorSpec([])), ())
        assert spec.is_compatible_with(Outer(Inner(2.0), ()))
        with pytest.raises(TypeError, match="first: expected 'Inner', got 'float'"):
            Outer(1.0, ())

    def test_names_that_are_never_defined_are_told_when_they_are_needed(self) -> None:
        class Wrong(tf.experimental.ExtensionType):
            t: Nowhere  # noqa: F821

        with pytest.raises(TypeError, match="In field 't': name 'Nowhere' is not defined"):
            Wrong(1.0)

    def test_own_constructor(self) -> None:
        class Sum(tf.experimental.ExtensionType):
            x: tf.Tensor
            y: tf.Tensor

            def __init__(self, a: Any, b: Any, forget: bool = False) -> None:
                self.x = a + b
                if not forget:
                    self.y = a

        class More(Sum):
            z: tf.Tensor

            def __init__(self, a: float) -> None:
                super().__init__(a, a)
                self.z = 2.0

        assert Sum(1.0, 2.0).x.numpy() == 3.0
        assert [float(v) for v in (More(4.0).x, More(4.0).y, More(4.0).z)] == [8.0, 4.0, 2.0]
        with pytest.raises(ValueError, match=r"Missing required fields: {'y'}"):
            Sum(1.0, 2.0, forget=True)

    def test_subclasses_add_fields(self) -> None:
        class Weighted(Masked):
            weight: tf.Tensor = 2.0

        w = Weighted([1.0, 2.0], [True, True], weight=[5.0, 6.0])
        assert isinstance(w, Masked) and w.total().numpy() == 9.0 and w.weight.numpy().tolist() == [5.0, 6.0]
        assert (w == masked()) is False

    def test_annotations_name_what_stands_around_the_class(self) -> None:
        class Inner(tf.experimental.ExtensionType):
            x: tf.Tensor

        class Outer(tf.experimental.ExtensionType):
            inner: Inner
            parent: Outer | None = None

        outer = Outer(Inner(1.0))
        assert Outer(Inner(2.0), outer).parent is outer

    def test_values_of_the_class_are_no_fields(self) -> None:
        class Unit(tf.experimental.ExtensionType):
            scale: typing.ClassVar[float] = 2.0
            x: tf.Tensor

        assert Unit.scale == 2.0 and list(Unit([1.0]).__graphad_fields__) == ["x"]

    def test_comparison(self) -> None:
        assert bool(masked() == masked()) and not bool(masked() != masked())
        assert not bool(masked() == Masked([1.0, 3.0], [True, False]))
        assert (masked() == masked(scale=4)) is False and (masked() == 3) is False
        assert (masked() == Masked([1.0], [True])) is False

    def test_copies_and_pickles(self) -> None:
        for again in (copy.deepcopy(masked()), copy.copy(masked()), pickle.loads(pickle.dumps(masked()))):
            assert bool(again == masked())
        assert pickle.loads(pickle.dumps(SPEC)) == SPEC


class TestSpecs:
    def test_a_spec_describes_values(self) -> None:
        spec = tf.type_spec_from_value(masked())
        assert repr(spec) == (
            "Masked.Spec(values=TensorSpec(shape=(2,), dtype=tf.float32, name=None), "
            "mask=TensorSpec(shape=(2,), dtype=tf.bool, name=None), scale=3, label=None)"
        )
        assert spec.value_type is Masked and isinstance(spec, tf.TypeSpec) and spec.values.shape == [2]
        assert spec == tf.type_spec_from_value(masked()) and hash(spec) == hash(
            tf.type_spec_from_value(masked())
        )
        assert SPEC.is_compatible_with(masked()) and not SPEC.is_compatible_with(masked(scale=4))
        assert spec.is_subtype_of(SPEC) and not SPEC.is_subtype_of(spec)
        assert spec.most_specific_common_supertype([SPEC]) == SPEC
        assert SPEC.most_specific_compatible_type(spec) == SPEC
        assert SPEC.most_specific_common_supertype([tf.type_spec_from_value(masked(scale=4))]) is None

    def test_own_spec(self) -> None:
        class Vector(tf.experimental.ExtensionType):
            x: tf.Tensor

            class Spec:
                def size(self) -> Any:
                    return self.x.shape[0]  # type: ignore[attr-defined]

        assert tf.type_spec_from_value(Vector([1.0, 2.0])).size() == 2

    def test_signatures(self) -> None:
        @tf.function(input_signature=[SPEC])
        def total(x: Masked) -> tf.Tensor:
            return x.total()

        assert total(masked()).numpy() == 3.0 and total(Masked([4.0], [True])).numpy() == 12.0
        assert total.experimental_get_tracing_count() == 1
        with pytest.raises(TypeError, match="Can not cast 4 to"):
            total(masked(scale=4))
        with pytest.raises(TypeError, match=r"Can not cast 3 to the structure Masked\.Spec"):
            total(3)


class TestWhereTensorsGo:
    def test_functions(self) -> None:
        @tf.function
        def doubled(x: Masked) -> Masked:
            return Masked(x.values * 2.0, x.mask, scale=x.scale + 1)

        once, twice = doubled(masked()), doubled(doubled(masked()))
        assert isinstance(once, Masked) and once.values.numpy().tolist() == [2.0, 4.0] and twice.scale == 5
        assert doubled.experimental_get_tracing_count() == 2

    def test_control_flow(self) -> None:
        @tf.function
        def counted(m: Masked, n: tf.Tensor) -> Masked:
            for _ in tf.range(n):
                m = Masked(m.values + 1.0, m.mask)
            if n > 2:
                m = Masked(-m.values, m.mask)
            return m

        assert counted(masked(), tf.constant(3)).values.numpy().tolist() == [-4.0, -5.0]
        chosen = tf.cond(tf.constant(True), masked, lambda: Masked([3.0, 4.0], [True, True]))
        assert bool(chosen == masked())
        _, last = tf.while_loop(
            lambda i, m: i < 2, lambda i, m: (i + 1, Masked(m.values * 2.0, m.mask)), [0, masked()]
        )
        assert last.values.numpy().tolist() == [4.0, 8.0]

    def test_gradients(self) -> None:
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = Masked(x * x, [True, True]).total()
        np.testing.assert_array_equal(tape.gradient(y, x), [6.0, 12.0])

    def test_maps_and_data_sets(self) -> None:
        class Pair(tf.experimental.BatchableExtensionType):
            a: tf.Tensor
            b: tf.Tensor

        pairs = Pair([1.0, 2.0, 3.0], [3.0, 4.0, 5.0])
        product = tf.map_fn(lambda p: p.a * p.b, pairs, fn_output_signature=tf.float32)
        assert product.numpy().tolist() == [3.0, 8.0, 15.0]
        one = tf.TensorSpec([])
        made = tf.map_fn(lambda x: Pair(x, -x), tf.range(3.0), fn_output_signature=Pair.Spec(one, one))
        assert isinstance(made, Pair) and made.b.numpy().tolist() == [0.0, -1.0, -2.0]
        rows = tf.data.Dataset.from_tensor_slices(pairs)
        assert rows.element_spec == Pair.Spec(one, one)
        assert [float(p.a) for p in rows] == [1.0, 2.0, 3.0]
        batch = next(iter(rows.map(lambda p: Pair(p.b, p.a)).batch(2)))
        assert isinstance(batch, Pair) and batch.a.numpy().tolist() == [3.0, 4.0]

    def test_nests(self) -> None:
        m = masked()
        assert tf.nest.flatten([m]) == [m] or tf.nest.flatten([m])[0] is m
        assert len(tf.nest.flatten(m, expand_composites=True)) == 2

    def test_saved_functions(self, tmp_path: Path) -> None:
        module = tf.Module()

        @tf.function(input_signature=[SPEC])
        def more(x: Masked) -> Masked:
            return Masked(x.values + 1.0, x.mask, scale=x.scale)

        module.more = more
        tf.saved_model.save(module, str(tmp_path))
        result = tf.saved_model.load(str(tmp_path)).more(masked())
        assert result.values.numpy().tolist() == [2.0, 3.0] and result.scale == 3


class Described(tf.experimental.ExtensionType):
    """A value with the spec of something else."""

    values: tf.Tensor
    form: tf.TensorSpec


def test_a_field_that_holds_a_spec_passes_through_functions_as_it_is():
    seen = []

    @tf.function
    def doubled(x):
        seen.append(x.form)
        return Described(x.values * 2.0, x.form)

    form = tf.TensorSpec([3])
    x = Described([1.0, 2.0], form)
    assert doubled(x).form is form and doubled(x).values.numpy().tolist() == [2.0, 4.0]
    assert len(seen) == 1
    doubled(Described([1.0, 2.0], tf.TensorSpec([4])))
    assert seen == [form, tf.TensorSpec([4])]
    spec = tf.type_spec_from_value(x)
    assert spec == Described.Spec(tf.TensorSpec([2]), form) and spec.form is form
    assert doubled.get_concrete_function(spec)(x).form is form


class Marked(tf.experimental.BatchableExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    class Spec:
        def __init__(self, shape, dtype=tf.float32):
            self.values = tf.TensorSpec(shape, dtype)
            self.mask = tf.TensorSpec(shape, tf.bool)

        @property
        def shape(self):
            return self.values.shape


def test_a_spec_may_have_a_constructor_of_its_own() -> None:
    x = Marked([1.0, 2.0], [True, False])
    assert Marked.Spec([2]) == tf.type_spec_from_value(x) and Marked.Spec([None]).is_compatible_with(x)
    double = tf.function(lambda x: x.values * 2, input_signature=[Marked.Spec([None])])
    assert double(x).numpy().tolist() == [2.0, 4.0]
    rows = tf.data.Dataset.from_generator(lambda: iter([x]), output_signature=Marked.Spec([2]))
    assert next(iter(rows)).mask.numpy().tolist() == [True, False] and rows.element_spec.shape == (2,)
    with pytest.raises(AttributeError, match="Cannot mutate attribute `values`"):
        Marked.Spec([2]).values = 1


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({}, ValueError, "Missing required fields: {'x'}"),
        ({"x": tf.TensorSpec([]), "z": 3}, AttributeError, "Cannot mutate attribute `z`"),
        ({"x": 3}, TypeError, "x: expected a TensorSpec, got 3"),
    ],
)
def test_what_a_constructor_of_a_spec_assigns_is_checked(fields, error, message) -> None:
    class Number(tf.experimental.ExtensionType):
        x: tf.Tensor

        class Spec:
            def __init__(self):
                for name, value in fields.items():
                    setattr(self, name, value)

    with pytest.raises(error, match=message):
        Number.Spec()


class Network(tf.experimental.BatchableExtensionType):
    shape: tf.TensorShape
    work: tf.Tensor
    others: tuple[tf.TensorShape, ...]

    def __init__(self, work, others=()):
        self.work = tf.convert_to_tensor(work)
        self.shape = self.work.shape[:-1]
        self.others = others


def test_shapes_in_fields_follow_slices_and_stacks() -> None:
    networks = Network([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [tf.TensorShape([3, 7])])
    slices = tf.data.Dataset.from_tensor_slices({"a": networks})
    (first, *_) = [element["a"] for element in slices]
    assert first.shape == () and first.others == (tf.TensorShape([7]),)
    assert slices.element_spec["a"].shape == ()
    batches = slices.batch(2)
    assert [element["a"].shape.as_list() for element in batches] == [[2], [1]]
    assert batches.element_spec["a"].shape.as_list() == [None]
    assert slices.batch(3, drop_remainder=True).element_spec["a"].shape == (3,)
    assert next(iter(batches.unbatch()))["a"].shape == () == batches.unbatch().element_spec["a"].shape
    assert [element["a"].shape for element in slices.padded_batch(3)] == [(3,)]

    def further(network):
        assert network.shape == ()
        return Network(network.work + 1)

    for call in (
        lambda x: tf.map_fn(further, x),
        tf.function(lambda x: tf.map_fn(further, x)),
        lambda x: tf.vectorized_map(further, x),
    ):
        out = call(networks)
        assert out.shape == (3,) and out.work.numpy().tolist() == [[2, 3], [4, 5], [6, 7]]
