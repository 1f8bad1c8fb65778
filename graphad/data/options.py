"""Options of pipelines that TensorFlow has."""

from __future__ import annotations

from types import SimpleNamespace


class Options(SimpleNamespace):
    """Options of pipelines of threads and machines, to be set and handed on; here they change nothing.

    Example:
      >>> options = data.Options()
      >>> options.deterministic = False
      >>> options.threading.private_threadpool_size = 4
      >>> len(data.Dataset.range(3).with_options(options))
      3
    """

    def __init__(self) -> None:
        super().__init__(
            autotune=SimpleNamespace(),
            deterministic=None,
            experimental_distribute=SimpleNamespace(),
            experimental_optimization=SimpleNamespace(),
            threading=SimpleNamespace(),
        )
