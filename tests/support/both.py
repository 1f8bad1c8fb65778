"""The same body run eagerly and inside a traced function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphad as tf


def eagerly(body: Callable[..., Any], *args: Any) -> Any:
    return body(*args)


def traced(body: Callable[..., Any], *args: Any) -> Any:
    return tf.function(body)(*args)


# Decorator of tests: `run(body, *args)` calls the body eagerly in one case, as a traced function in the other.
in_both = pytest.mark.parametrize("run", [eagerly, traced])
