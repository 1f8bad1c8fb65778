"""The switches by which TensorFlow 1 programs turn on what TensorFlow 2 always does; calling them changes nothing."""

from __future__ import annotations


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Does nothing: ops always run eagerly."""


def enable_v2_behavior() -> None:
    """Does nothing: the behaviour is always that of TensorFlow 2."""


def enable_resource_variables() -> None:
    """Does nothing: variables are always read when they are used."""


def enable_v2_tensorshape() -> None:
    """Does nothing: entries of shapes are always integers."""


def enable_tensor_equality() -> None:
    """Does nothing: `==` always compares elements."""


def enable_control_flow_v2() -> None:
    """Does nothing: branches and loops are always functions."""


def executing_eagerly_outside_functions() -> bool:
    """Whether ops outside functions run eagerly: always True."""
    return True
