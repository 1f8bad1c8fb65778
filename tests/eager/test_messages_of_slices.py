"""Errors of ops that write slices name the function that the user called."""

from __future__ import annotations

import pytest

import graphad as gd
from graphad.core.bind import bind
from graphad.ops.state.slices import AssignSlices


def test_a_quotient_of_integers_is_refused_in_the_name_of_scatter_div():
    v = gd.Variable([4, 6])
    with pytest.raises(gd.errors.DTypeError, match=r"^scatter_div: int32 has no 'div'"):
        bind(AssignSlices("div"), v, gd.constant([[0]]), gd.constant([2]))
