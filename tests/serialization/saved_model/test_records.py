"""Objects whose fields are tensors as arguments and results of saved functions."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import graphad as gd
from serialization.convert.living import living
from serialization.convert.values import restored_tuple
from serialization.errors import SaveError
from serialization.saved_model import save
from tests.serialization.saved_model.generations import reloaded


def module(**attributes):
    made = gd.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


class Interval(gd.experimental.ExtensionType):
    """An extension type with a field that is no tensor."""

    low: gd.Tensor
    high: gd.Tensor
    unit: str = "m"


def test_functions_of_extension_types_are_called_with_their_values_after_loading():
    def width(interval):
        return interval.high - interval.low

    spec = Interval.Spec(gd.TensorSpec([None]), gd.TensorSpec([None]), "m")
    saved = module(by_spec=gd.function(width), by_value=gd.function(width))
    saved.by_signature = gd.function(width, input_signature=[spec])
    value = Interval([1.0, 2.0], [4.0, 6.0])
    saved.by_spec.get_concrete_function(spec)
    saved.by_value(value)
    loaded = reloaded(saved, 2)
    for name in ("by_spec", "by_value", "by_signature"):
        assert getattr(loaded, name)(value).numpy().tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        loaded.by_spec(Interval([1.0], [2.0], "km"))


@dataclasses.dataclass
class Pair:
    """An object whose class tells its parts and what else makes it, which no file holds."""

    x: Any
    by: int

    def __tf_flatten__(self):
        return (self.by,), (self.x,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*components, *metadata)


def test_objects_that_flatten_themselves_are_refused_by_name(tmp_path):
    f = gd.function(lambda pair: pair.x * pair.by)
    f(Pair(gd.constant(1.0), 2))
    with pytest.warns(
        UserWarning, match="a trace for a Pair, whose __tf_flatten__ names no fields as argument"
    ):
        loaded = reloaded(module(f=f))
    assert loaded.f.concrete_functions == []
    made = gd.function(lambda x: Pair(x, 2), input_signature=[gd.TensorSpec([])])
    with pytest.raises(
        SaveError, match="returns a Pair, whose __tf_flatten__ names no fields, which a file cannot hold"
    ):
        save(module(f=made), tmp_path / "m")


class Named(gd.experimental.ExtensionType):
    """An extension type under a name of its own, which holds another one."""

    __name__ = "tests.Named"

    inner: Interval
    k: int


def test_results_are_of_the_classes_that_the_program_has():
    def shifted(named):
        inner = Interval(named.inner.low + 1.0, named.inner.high, "km")
        return {
            "all": [Named(inner, named.k)],
            "scale": gd.linalg.LinearOperatorDiag(inner.low, is_self_adjoint=True),
        }

    saved = module(f=gd.function(shifted))
    value = Named(Interval([1.0], [4.0]), 3)
    saved.f(value)
    loaded = reloaded(saved, 2)
    found = loaded.f(value)
    again = found["all"][0]
    assert (
        type(again) is Named and type(again.inner) is Interval and again.inner.unit == "km" and again.k == 3
    )
    assert type(found["scale"]) is gd.linalg.LinearOperatorDiag and found["scale"].is_self_adjoint
    assert isinstance(loaded.f.concrete_functions[0].structured_outputs["all"][0], Named.Spec)
    x = gd.constant([5.0])
    with gd.GradientTape() as tape:
        tape.watch(x)
        scale = gd.function(lambda x: loaded.f(Named(Interval(x, [9.0]), 3))["scale"].matvec([2.0]))(x)
    assert scale.numpy() == [12.0] and tape.gradient(scale, x).numpy() == [2.0]


def test_operators_of_operators_are_made_and_saved_again():
    def blocks(x):
        return gd.linalg.LinearOperatorBlockDiag(
            [gd.linalg.LinearOperatorDiag(x), gd.linalg.LinearOperatorIdentity(1)]
        )

    spec = gd.TensorSpec([2])
    found = reloaded(module(f=gd.function(blocks, input_signature=[spec])), 2).f([2.0, 3.0])
    assert type(found) is gd.linalg.LinearOperatorBlockDiag
    assert found.to_dense().numpy().tolist() == [[2, 0, 0], [0, 3, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("name", "fields"),
    [("Adjoint", ["operator"]), ("Inversion", ["operator"]), ("LowRankUpdate", ["base_operator", "u"])],
)
def test_arguments_of_which_no_operator_is_made_stay_a_named_tuple(name, fields):
    held = restored_tuple("LinearOperator" + name, tuple(fields), [None] * len(fields))
    assert living(held) == held


def test_a_class_of_other_fields_is_not_that_of_the_file():
    class Span(gd.experimental.ExtensionType):
        low: gd.Tensor
        unit: str

    saved = module(f=gd.function(lambda x: Span(x, "m"), input_signature=[gd.TensorSpec([])]))
    loaded = reloaded(saved, 1)
    assert type(loaded.f(1.0)) is Span

    class Span(gd.experimental.ExtensionType):
        low: gd.Tensor
        unit: int

    found = loaded.f(1.0)
    assert isinstance(found, tuple) and found._fields == ("low", "unit") and found.unit == "m"
