"""`tf.linalg.experimental`: systems solved by products alone."""

from graphad.ops.linalg.iterative import conjugate_gradient as conjugate_gradient
