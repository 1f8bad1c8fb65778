"""Losses: functions of (labels, predictions), and classes that average them."""

from graphad.losses import *
