"""The public names of `graphad.optimize`."""

from graphad.optimize.implicit import fixed_point as fixed_point
from graphad.optimize.implicit import root as root
from graphad.optimize.initial_values import solve_ivp as solve_ivp
from graphad.optimize.solvers import least_squares as least_squares
from graphad.optimize.solvers import minimize as minimize
