"""Control flow from Python source: `if`, `while` and `for` on tensors become `cond` and `loop` while a function is traced.

`source.py` finds the syntax tree of a function, `jumps.py` replaces break, continue and return by flags, `names.py` finds the
variables of each branch and loop, `rewrite.py` turns branches and bodies into functions, `convert.py` compiles and binds the
result. The converted code calls `operators.py`, which stages what tensors decide in `branches.py` and `loops.py`. All of it is
imported at first use.
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
