"""The NumPy namespace: `import graphad.numpy as np`.

NumPy's names, arguments and dtypes over graphad's ops, so that all is recorded, differentiated, traced and compiled; it follows
the Python array API standard. What makes tensors makes float64 and int64, as NumPy does. Tensors are immutable:
`x.at[key].set(y)` stands for `x[key] = y`, and no function takes `out=`.
"""

from graphad.core.late import attach

e = 2.718281828459045
euler_gamma = 0.5772156649015329
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

__getattr__, __dir__ = attach(__name__)
