"""Sets in the rows of tensors."""

from graphad.ops.sparse.sets import difference as difference
from graphad.ops.sparse.sets import intersection as intersection
from graphad.ops.sparse.sets import size as size
from graphad.ops.sparse.sets import union as union
