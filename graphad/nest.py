"""Lists, tuples and dicts of values: flatten, compare, rebuild."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
