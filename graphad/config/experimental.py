"""Settings of devices under the names that programs call at their top."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
