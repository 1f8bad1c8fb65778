"""NumPy's functions, by NumPy's names and rules, put together from graphad's ops: what `graphad.numpy` shows, what NumPy's own
functions find for a tensor, and what the methods of tensors call.

A function is said once, here; it has no rules of its own. Nothing of this is imported before it is first used.
"""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
