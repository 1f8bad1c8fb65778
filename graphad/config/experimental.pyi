"""Settings of devices under the names that programs call at their top."""

from graphad.tools.devices import VirtualDeviceConfiguration as VirtualDeviceConfiguration
from graphad.tools.devices import enable_op_determinism as enable_op_determinism
from graphad.tools.devices import enable_tensor_float_32_execution as enable_tensor_float_32_execution
from graphad.tools.devices import get_device_details as get_device_details
from graphad.tools.devices import get_logical_device_configuration, set_logical_device_configuration
from graphad.tools.devices import get_memory_growth as get_memory_growth
from graphad.tools.devices import get_memory_info as get_memory_info
from graphad.tools.devices import get_synchronous_execution as get_synchronous_execution
from graphad.tools.devices import get_visible_devices as get_visible_devices
from graphad.tools.devices import list_logical_devices as list_logical_devices
from graphad.tools.devices import list_physical_devices as list_physical_devices
from graphad.tools.devices import set_memory_growth as set_memory_growth
from graphad.tools.devices import set_synchronous_execution as set_synchronous_execution
from graphad.tools.devices import set_visible_devices as set_visible_devices
from graphad.tools.devices import tensor_float_32_execution_enabled as tensor_float_32_execution_enabled

get_virtual_device_configuration = get_logical_device_configuration
set_virtual_device_configuration = set_logical_device_configuration
