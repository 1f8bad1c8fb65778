"""The fake device for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphad.devices.library import set_library
from tests.devices import fake_cupy


@pytest.fixture(autouse=True)
def fake_device() -> Iterator[None]:
    """`cuda:0` and `cuda:1` are NumPy behind CuPy's names."""
    before = set_library(fake_cupy.module())
    fake_cupy.calls.clear()
    yield
    set_library(before)
