"""Matrix products, Einstein sums, linear systems, factorisations, norms."""

from graphad.linalg import experimental as experimental
from graphad.ops.linalg import *
from graphad.ops.linalg.circulant import LinearOperatorCirculant as LinearOperatorCirculant
from graphad.ops.linalg.circulant import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from graphad.ops.linalg.circulant import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from graphad.ops.linalg.identities import LinearOperatorIdentity as LinearOperatorIdentity
from graphad.ops.linalg.identities import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from graphad.ops.linalg.identities import LinearOperatorZeros as LinearOperatorZeros
from graphad.ops.linalg.low_rank import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from graphad.ops.linalg.operator_products import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from graphad.ops.linalg.operator_products import (
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
)
from graphad.ops.linalg.operator_products import LinearOperatorKronecker as LinearOperatorKronecker
from graphad.ops.linalg.operators import LinearOperator as LinearOperator
from graphad.ops.linalg.operators import LinearOperatorAdjoint as LinearOperatorAdjoint
from graphad.ops.linalg.operators import LinearOperatorComposition as LinearOperatorComposition
from graphad.ops.linalg.operators import LinearOperatorInversion as LinearOperatorInversion
from graphad.ops.linalg.operators import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from graphad.ops.linalg.structured import LinearOperatorDiag as LinearOperatorDiag
from graphad.ops.linalg.structured import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from graphad.ops.linalg.structured import LinearOperatorHouseholder as LinearOperatorHouseholder
from graphad.ops.linalg.structured import LinearOperatorPermutation as LinearOperatorPermutation
from graphad.ops.linalg.structured import LinearOperatorToeplitz as LinearOperatorToeplitz
from graphad.ops.linalg.structured import LinearOperatorTridiag as LinearOperatorTridiag
