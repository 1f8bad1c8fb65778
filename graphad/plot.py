"""Pictures with matplotlib, imported when the first is drawn: graphs, Jacobians and Hessians with their blocks, curves."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
