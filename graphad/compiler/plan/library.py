"""Rows of units that a device's library runs: products with their endings, and routines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler.backend import MASK, RESULTS, WORK
from graphad.compiler.plan.calls import call
from graphad.compiler.plan.places import ARENA, FIXED, Made, Place
from graphad.compiler.units import Unit
from graphad.core.errors import UnavailableError
from graphad.kernels import forms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphad.compiler.backend import Walk
    from graphad.compiler.endings import Ending
    from graphad.compiler.plan.steps import Scope
    from graphad.kernels.sites import Site


def products(scope: Scope, unit: Unit, target: Site, workspace: Place | None, is_inside: bool) -> list[Made]:
    """The row of a product; where the library has none with its ending, one without it and the loop that stands for it."""
    if unit.ending is None:
        return _product(scope, unit, target, is_inside)
    made = _ended(scope, unit, unit.ending, target, is_inside)
    if made is not None:
        return [made]
    (loop,) = unit.stages
    if unit.ending.inner is not None:
        # The loop reads each element of the product where it then stores its own.
        scope.places[unit.ending.inner] = scope.place(target)
    return [*_product(scope, unit, target, is_inside), scope.loop(loop, workspace, is_inside)]


def _product(scope: Scope, unit: Unit, target: Site, is_inside: bool) -> list[Made]:
    sites = [*unit.reads[:2], target]
    a, b, c = (scope.strided(site) for site in sites)
    dtype = scope.part.specs[target.root].dtype.name
    if scope.checks is None:
        steps = scope.backend.products(dtype, a, b, c, scope.is_shared)
    else:
        steps = scope.backend.products(dtype, a, b, c, False, has_sizes=True)
    if not steps:
        raise UnavailableError("plan: no BLAS takes this matrix product")
    places = _places(scope, sites, target, is_inside)
    work = _nanoseconds(a, c) / len(steps)
    return [scope.step(step, [places[k].shifted(at) for k, at in found], work) for step, found, _ in steps]


def _ended(scope: Scope, unit: Unit, ending: Ending, target: Site, is_inside: bool) -> Made | None:
    """The row of a product with its ending; None where the library has none for these numbers."""
    sites = [*unit.reads[:2], target]
    a, b, c = (scope.strided(site) for site in sites)
    step = scope.backend.ended(scope.part.specs[target.root].dtype.name, a, b, c, ending)
    if step is None:
        return None
    sites += [*unit.reads[2:], *[scope.part.sites[value] for value in unit.writes[1:]]]
    return scope.step(step, _places(scope, sites, target, is_inside), _nanoseconds(a, c))


def _places(scope: Scope, sites: Sequence[Site], target: Site, is_inside: bool) -> list[Place]:
    itemsize = scope.part.specs[target.root].dtype.itemsize
    return [
        scope.place(site) if is_inside else scope.checked(site, scope.strided(site), itemsize)
        for site in sites
    ]


def _nanoseconds(a: Walk, c: Walk) -> float:
    """An estimate of the time that a product takes."""
    return 300 + 0.04 * a[0][-1] * math.prod(c[0])


def _mask(scope: Scope, size: int) -> Place:
    """Where a triangle of true is."""
    address, kept = scope.backend.constant(np.tri(size, dtype=np.bool_))
    scope.binding.keep.append(kept)
    return Place.of(FIXED, address, 0, kept.nbytes)


def routine(scope: Scope, unit: Unit, workspace: Place | None) -> list[Made]:
    """The rows of a routine, none where there is nothing to do."""
    sites = [*unit.reads, *[scope.part.sites[value] for value in unit.writes]]
    dtypes = [scope.part.specs[site.root].dtype for site in sites]
    walks = [scope.strided(site) for site in sites]
    form = unit.routine
    assert form is not None
    steps = scope.backend.routine(form, [dtype.name for dtype in dtypes], walks, scope.is_shared)
    if steps is None:
        return [call(scope, unit)]
    if not steps:
        return []
    found = {
        k if k < len(unit.reads) else RESULTS[k - len(unit.reads)]: scope.checked(site, walk, dtype.itemsize)
        if 0 not in walk[0]
        else scope.place(site)
        for k, (site, walk, dtype) in enumerate(zip(sites, walks, dtypes, strict=True))
    }
    found[WORK] = workspace or Place.of(ARENA, 0, 0, 0)  # an empty one where the arrays are
    if any(k == MASK for part in steps for k, _ in part.places):
        found[MASK] = scope.once((MASK, walks[-1][0][0]), lambda: _mask(scope, walks[-1][0][0]))
    work = sum([float(math.prod(shape)) for shape, _ in walks])
    if isinstance(form, forms.Library | forms.Factorised | forms.Pivoted):
        work *= walks[0][0][-1]
    if isinstance(form, forms.Convolved):
        work = 300 + 0.02 * form.operations([shape for shape, _ in walks]) / len(steps)
    made = []
    for step, places, apart in steps:
        each = scope.step(step, [found[k].shifted(at) for k, at in places], work)
        each.apart = apart
        made.append(each)
    return made
