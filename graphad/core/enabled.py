"""The switches by which programs of TensorFlow 1 ask for what TensorFlow 2 always does: calling them changes nothing."""

from __future__ import annotations


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Ask for ops that run at once, as they do."""


def enable_v2_behavior() -> None:
    """Ask for the behaviour of TensorFlow 2, which is graphad's."""


def enable_resource_variables() -> None:
    """Ask for variables that are read when they are used, as they are."""


def enable_v2_tensorshape() -> None:
    """Ask for shapes whose entries are integers, as they are."""


def enable_tensor_equality() -> None:
    """Ask for `==` that compares elements, as it does."""


def enable_control_flow_v2() -> None:
    """Ask for branches and loops that are functions, as they are."""


def executing_eagerly_outside_functions() -> bool:
    """Whether ops outside of functions run at once, which they do."""
    return True
