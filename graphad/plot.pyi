"""Pictures with matplotlib: graphs, Jacobians and Hessians with their blocks, curves of training."""

from graphad.tools.plots import graph as graph
from graphad.tools.plots import hessian as hessian
from graphad.tools.plots import history as history
from graphad.tools.plots import jacobian as jacobian
