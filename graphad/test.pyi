"""What programs ask of the machine before their tests."""

from graphad.tools.devices import gpu_device_name as gpu_device_name
from graphad.tools.devices import is_built_with_cuda as is_built_with_cuda
from graphad.tools.devices import is_built_with_gpu_support as is_built_with_gpu_support
from graphad.tools.devices import is_built_with_rocm as is_built_with_rocm
from graphad.tools.devices import is_built_with_xla as is_built_with_xla
from graphad.tools.devices import is_gpu_available as is_gpu_available
from graphad.tools.jacobians import compute_gradient as compute_gradient
from graphad.tools.testing import TestCase as TestCase
from graphad.tools.testing import main as main
