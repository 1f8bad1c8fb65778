"""The names of `tf.math.special`."""

from graphad.ops.math.bessel import bessel_i0 as bessel_i0
from graphad.ops.math.bessel import bessel_i0e as bessel_i0e
from graphad.ops.math.bessel import bessel_i1 as bessel_i1
from graphad.ops.math.bessel import bessel_i1e as bessel_i1e
from graphad.ops.math.bessel import bessel_j0 as bessel_j0
from graphad.ops.math.bessel import bessel_j1 as bessel_j1
from graphad.ops.math.bessel import bessel_k0 as bessel_k0
from graphad.ops.math.bessel import bessel_k0e as bessel_k0e
from graphad.ops.math.bessel import bessel_k1 as bessel_k1
from graphad.ops.math.bessel import bessel_k1e as bessel_k1e
from graphad.ops.math.bessel import bessel_y0 as bessel_y0
from graphad.ops.math.bessel import bessel_y1 as bessel_y1
from graphad.ops.math.bessel import dawsn as dawsn
from graphad.ops.math.bessel import expint as expint
from graphad.ops.math.bessel import fresnel_cos as fresnel_cos
from graphad.ops.math.bessel import fresnel_sin as fresnel_sin
from graphad.ops.math.bessel import spence as spence
