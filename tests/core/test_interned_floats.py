"""Ops whose attribute is a float are found as quickly as others, and 0.0, -0.0 and NaN stay apart."""

from __future__ import annotations

import math

import graphad as tf
from graphad.ops.nn.activation import LeakyRelu


def test_an_op_of_a_float_is_found_by_its_first_look_up():
    made = LeakyRelu(0.3)
    assert LeakyRelu(0.3) is made
    assert LeakyRelu._quickly.get((0.3, float)) is made


def test_zeros_of_both_signs_are_two_ops():
    above, below = LeakyRelu(0.0), LeakyRelu(-0.0)
    assert above is not below and LeakyRelu(0.0) is above and LeakyRelu(-0.0) is below
    assert [math.copysign(1, op.alpha) for op in (above, below)] == [1, -1]
    assert (0.0, float) not in LeakyRelu._quickly


def test_what_is_found_quickly_computes_the_same():
    for _ in range(3):
        assert tf.nn.leaky_relu([-2.0, 2.0], 0.5).numpy().tolist() == [-1.0, 2.0]
        assert tf.nn.leaky_relu([-2.0, 2.0], 1).numpy().tolist() == [-2.0, 2.0]
