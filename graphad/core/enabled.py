"""The switches by which TensorFlow 1 programs turn on what TensorFlow 2 always does, and the first values that its variables
always have; calling them changes nothing.
"""

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


def global_variables_initializer() -> None:
    """Does nothing: variables have their first values when they are made."""


def local_variables_initializer() -> None:
    """Does nothing: variables have their first values when they are made."""


def variables_initializer(var_list: object, name: str = "init") -> None:
    """Does nothing: variables have their first values when they are made."""


def tables_initializer(name: str = "init_all_tables") -> None:
    """Does nothing: there are no tables."""
