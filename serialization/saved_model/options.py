"""Options of `save` and `load`."""

from __future__ import annotations

from typing import Any


class SaveOptions:
    """Options of `save`.

    Args:
      experimental_custom_gradients: Save custom gradients as graphs, so that the loaded model can be differentiated in
        every process. Their functions must be traceable then.
      durable: Flush everything to the disk in order, so that a power failure leaves the old model or the new one.
    """

    def __init__(self, experimental_custom_gradients: bool = True, durable: bool = True) -> None:
        self.experimental_custom_gradients = bool(experimental_custom_gradients)
        self.durable = durable


class LoadOptions:
    """Options of `load`.

    Args:
      verify: "lazy" checks large payloads when they are first read, True everything now, False none of their bytes.
      limits: Bounds on sizes and counts, see `serialization.wire.limits.Limits`.
    """

    def __init__(self, verify: Any = "lazy", limits: Any = None) -> None:
        self.verify = verify
        self.limits = limits
