"""graphad: automatic differentiation of numerical Python, eager, compiled and saved.

Names and behaviour are TensorFlow's where a name is TensorFlow's: `import graphad as tf`. The public names are listed in the stub
beside this file, `__init__.pyi`; those whose modules are not imported here are imported when they are first used.
"""

import warnings

from graphad.core.collector import held, settle

with held:  # classes and functions stay
    # What every program needs, in the order of the floors.
    import graphad.core.device
    import graphad.core.indexed_slices
    import graphad.core.names
    import graphad.core.pages
    import graphad.ops.array
    import graphad.ops.math
    import graphad.ops.linalg.matmul
    import graphad.eager.variable
    import graphad.function.decorator

    settle()

from graphad.core.guests import when_imported
from graphad.core.late import attach
from graphad.core.registry import register_later

newaxis = None

__getattr__, __dir__ = attach(__name__)

# The modules of ops that programs may do without.
register_later(
    "graphad.ops.array.combine",
    "graphad.ops.array.indicators",
    "graphad.ops.array.padding",
    "graphad.ops.array.sorting",
    "graphad.ops.array.tiling",
    "graphad.ops.control.call",
    "graphad.ops.control.cond",
    "graphad.ops.control.custom",
    "graphad.ops.control.either",
    "graphad.ops.control.loop",
    "graphad.ops.image.boxes",
    "graphad.ops.image.suppression",
    "graphad.ops.linalg.banded",
    "graphad.ops.linalg.contraction",
    "graphad.ops.linalg.eigen",
    "graphad.ops.linalg.factors",
    "graphad.ops.linalg.functions",
    "graphad.ops.linalg.tridiagonal",
    "graphad.ops.math.bessel",
    "graphad.ops.math.beta_density",
    "graphad.ops.math.digits",
    "graphad.ops.math.gamma",
    "graphad.ops.math.incomplete",
    "graphad.ops.math.parameter_slopes",
    "graphad.ops.math.polynomial",
    "graphad.ops.math.position",
    "graphad.ops.math.search",
    "graphad.ops.math.segment",
    "graphad.ops.math.segment_extremes",
    "graphad.ops.math.special",
    "graphad.ops.math.statistics",
    "graphad.ops.math.sum_of_products",
    "graphad.ops.math.trigonometric",
    "graphad.ops.math.truncated",
    "graphad.ops.nn",
    "graphad.ops.nn.ctc_beams",
    "graphad.ops.nn.isotonic",
    "graphad.ops.random",
    "graphad.ops.random.candidates",
    "graphad.ops.random.index_shuffle",
    "graphad.ops.signal.cosine",
    "graphad.ops.signal.fourier",
    "graphad.ops.sparse.products",
    "graphad.ops.state.checks",
    "graphad.ops.state.clock",
    "graphad.ops.state.effects",
    "graphad.ops.state.slices",
    "graphad.vectorize.vectorize_graph",
)

# NumPy warns where IEEE arithmetic gives infinities or NaN (1/0, log(0)); graphad computes many of those on purpose in
# branches that are not taken. Warnings of NumPy calls in the user's own modules are left alone.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"graphad\.")

when_imported("einops._backends", "graphad.ops.einops")
