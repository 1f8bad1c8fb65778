"""Objects whose fields are tensors as arguments and results of saved functions."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import graphad as gd
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
