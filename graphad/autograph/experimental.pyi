"""Options for the conversion of control flow."""

from graphad.autograph.directives import Feature as Feature
from graphad.autograph.directives import do_not_convert as do_not_convert
from graphad.autograph.directives import set_loop_options as set_loop_options
