"""Control flow from Python source: `if`, `while` and `for` on tensors become `cond` and `loop` while a function is traced.

The journey: `source.py` finds the syntax tree of a function, `jumps.py` writes break, continue and return with flags, `names.py`
tells which variables go through a branch or loop, `rewrite.py` makes functions of branches and bodies, `convert.py` compiles
and binds the result; `operators.py` is what it calls when it runs, and stages what tensors decide in `branches.py` and
`loops.py`. All of it is imported when it is first needed.
"""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
