"""Checks that run with the program: `graphad.debugging.assert_equal` and its relatives, and `check_numerics`; which lines a
traceback shows."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
