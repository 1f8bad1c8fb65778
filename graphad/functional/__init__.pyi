"""The public names of `graphad.functional`."""

from graphad.functional.batching import vmap as vmap
from graphad.functional.derivatives import checkpoint as checkpoint
from graphad.functional.derivatives import grad as grad
from graphad.functional.derivatives import hessian as hessian
from graphad.functional.derivatives import hvp as hvp
from graphad.functional.derivatives import jacfwd as jacfwd
from graphad.functional.derivatives import jacrev as jacrev
from graphad.functional.derivatives import value_and_grad as value_and_grad
from graphad.functional.products import jvp as jvp
from graphad.functional.products import linearize as linearize
from graphad.functional.products import vjp as vjp
