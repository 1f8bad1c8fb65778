"""Settings of this process."""

from graphad.config import experimental as experimental
from graphad.config import optimizer as optimizer
from graphad.config import threading as threading
from graphad.devices.level import get_default_device as get_default_device
from graphad.devices.level import set_default_device as set_default_device
from graphad.tools.devices import LogicalDevice as LogicalDevice
from graphad.tools.devices import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from graphad.tools.devices import PhysicalDevice as PhysicalDevice
from graphad.tools.devices import get_logical_device_configuration as get_logical_device_configuration
from graphad.tools.devices import get_soft_device_placement as get_soft_device_placement
from graphad.tools.devices import get_visible_devices as get_visible_devices
from graphad.tools.devices import list_logical_devices as list_logical_devices
from graphad.tools.devices import list_physical_devices as list_physical_devices
from graphad.tools.devices import set_logical_device_configuration as set_logical_device_configuration
from graphad.tools.devices import set_soft_device_placement as set_soft_device_placement
from graphad.tools.devices import set_visible_devices as set_visible_devices
from graphad.tools.settings import empty_pool as empty_pool
from graphad.tools.settings import functions_run_eagerly as functions_run_eagerly
from graphad.tools.settings import jacobian_budget as jacobian_budget
from graphad.tools.settings import jit as jit
from graphad.tools.settings import pool_budget as pool_budget
from graphad.tools.settings import progress as progress
from graphad.tools.settings import relaxed_arithmetic as relaxed_arithmetic
from graphad.tools.settings import run_functions_eagerly as run_functions_eagerly
from graphad.tools.settings import set_jacobian_budget as set_jacobian_budget
from graphad.tools.settings import set_jit as set_jit
from graphad.tools.settings import set_pool_budget as set_pool_budget
from graphad.tools.settings import set_progress as set_progress
from graphad.tools.settings import set_relaxed_arithmetic as set_relaxed_arithmetic

experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly
