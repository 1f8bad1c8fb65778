"""Which functions ran on the CPU for arrays of a device, and how often."""

from __future__ import annotations

import threading

from graphad.core.logs import get_logger

runs_on_host: dict[str, int] = {}


class _Notes(threading.local):
    """How many functions have run on the CPU for arrays of a device in this thread."""

    count = 0


notes = _Notes()


def noted(name: str) -> None:
    """Record that a function ran on the CPU for arrays of a device; the first time is logged."""
    if name not in runs_on_host:
        get_logger().info("devices: NumPy's %s runs on the CPU, with copies of the device's arrays", name)
    runs_on_host[name] = runs_on_host.get(name, 0) + 1
    notes.count += 1
