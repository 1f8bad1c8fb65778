"""Control flow from Python source: `if`, `while` and `for` on tensors become `cond` and `loop` while a function is traced.

`scan.py` asks the bytecode whether there is anything to convert. `source.py` finds the syntax tree of a function, `jumps.py`
replaces break, continue and return by flags, `names.py` finds the variables of each branch and loop, `rewrite.py` turns branches
and bodies into functions, `convert.py` compiles and binds the result. The converted code calls `operators.py`, which stages what
tensors decide in `branches.py` and `loops.py`. All of it is imported at first use.

The modules by subject:

    what is converted     scan, call, convert, source, directives, inspection, verbosity, experimental
    the syntax tree       nodes, names, shared, generated, jumps, rewrite
    converted code        operators, branches, loops, state, journal, acting, counting, streamed, lists, builtins
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
