"""The device settings that programs make at their start: one CPU, under any number of names, and the CUDA devices.

Settings that the CPU cannot fulfil are refused; settings without effect (memory growth without a GPU) do nothing.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from graphad.core.errors import FailedPreconditionError, InvalidArgumentError
from graphad.core.flags import ALWAYS, AUTO, flags
from graphad.core.logs import get_logger
from graphad.devices import library

PhysicalDevice = namedtuple("PhysicalDevice", "name device_type")
LogicalDevice = namedtuple("LogicalDevice", "name device_type")
LogicalDeviceConfiguration = namedtuple(
    "LogicalDeviceConfiguration",
    "memory_limit experimental_priority experimental_device_ordinal",
    defaults=(None, None, None),
)
PhysicalDevice.__doc__ = """A device of the machine.

Args:
  name: "/physical_device:CPU:0".
  device_type: "CPU".
Raises: TypeError: more or fewer arguments.
"""
LogicalDevice.__doc__ = """A name under which programs run ops on a device; see `set_logical_device_configuration`.

Args:
  name: "/device:CPU:0", and further numbers.
  device_type: "CPU".
Raises: TypeError: more or fewer arguments.
"""
LogicalDeviceConfiguration.__doc__ = """The configuration of one device name of the CPU; its fields have no effect.

Args:
  memory_limit, experimental_priority, experimental_device_ordinal: Accepted for compatibility.
Raises: TypeError: other arguments.
"""
VirtualDeviceConfiguration = LogicalDeviceConfiguration

_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


def list_physical_devices(device_type: str | None = None) -> list[Any]:
    """The devices of the machine on which ops can run: one CPU, and the GPUs with CUDA, which take CuPy and a driver.

    Where there is no GPU although the question includes them, a warning in the log says once what is missing and how to get it.

    Args:
      device_type: "CPU" or "GPU"; all kinds by default.
    Returns: A list of devices.
    Raises: Nothing.
    Example:
      >>> config.list_physical_devices("CPU")
      [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    found = [_CPU] if device_type in (None, "CPU") else []
    if device_type in (None, "GPU"):
        found += [PhysicalDevice(f"/physical_device:GPU:{k}", "GPU") for k in range(library.count())]
        _tell_what_is_missing()
    return found


_told: set[str] = set()


def _tell_what_is_missing() -> None:
    missing = library.why_none()
    if missing is not None and missing not in _told:
        _told.add(missing)
        get_logger().warning("config.list_physical_devices: no GPU is listed: %s", missing)


def list_logical_devices(device_type: str | None = None) -> list[Any]:
    """The devices on which `device` runs ops: the names of the CPU; see `set_logical_device_configuration`.

    Args:
      device_type: A kind such as "CPU"; all kinds by default.
    Returns: A list of devices.
    Raises: Nothing.
    """
    found = list(map(_logical_cpu, range(flags.logical_cpus))) if device_type in (None, "CPU") else []
    if device_type in (None, "GPU"):
        found += [LogicalDevice(f"/device:GPU:{k}", "GPU") for k in range(library.count())]
    return found


def get_visible_devices(device_type: str | None = None) -> list[Any]:
    """The devices that programs see: all of them.

    Args:
      device_type: A kind such as "CPU"; all kinds by default.
    Returns: A list of devices.
    Raises: Nothing.
    """
    return list_physical_devices(device_type)


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice] | None, device_type: str | None = None
) -> None:
    """Say which devices the program sees. It must see the CPU, which is the only one.

    Args:
      devices: A list of devices.
      device_type: Which kind they are of.
    Raises: InvalidArgumentError (a ValueError): a device that is not there, or no CPU.
    """
    wanted = [devices] if isinstance(devices, PhysicalDevice) else list(devices or [])
    for device in wanted:
        _require(device)
        if device_type not in (None, device.device_type):
            raise InvalidArgumentError(f"set_visible_devices: {device} is not a {device_type}.")
    if not wanted and device_type in (None, "CPU"):
        raise InvalidArgumentError("set_visible_devices: ops run on the CPU, which cannot be hidden.")


def set_memory_growth(device: PhysicalDevice | LogicalDevice, enable: bool) -> None:
    """Whether memory of a GPU is taken as it is needed. It always is, so that this allows it and changes nothing.

    Args:
      device: A GPU.
      enable: True.
    Raises: InvalidArgumentError (a ValueError): for the CPU, for a device that is not there, and for `enable=False`.
    """
    if _is_gpu(device):
        if not enable:
            raise InvalidArgumentError(
                "set_memory_growth: memory of a GPU is taken as it is needed; there is no other way."
            )
        return
    _require(device)
    raise InvalidArgumentError(
        "set_memory_growth: Cannot set memory growth on non-GPU and non-Pluggable devices"
    )


def get_memory_growth(device: PhysicalDevice | LogicalDevice) -> bool:
    """Whether memory of a GPU is taken as it is needed: True.

    Args: device: A GPU.
    Returns: True.
    Raises: InvalidArgumentError (a ValueError): for the CPU, and for a device that is not there.
    """
    if _is_gpu(device):
        return True
    _require(device)
    raise InvalidArgumentError(
        "get_memory_growth: the CPU's memory is taken as it is needed; there is nothing to set."
    )


def get_logical_device_configuration(device: PhysicalDevice | LogicalDevice) -> list[Any] | None:
    """What `set_logical_device_configuration` was given; None where it was not called.

    Args:
      device: A physical device.
    Returns: A list, or None.
    Raises: Nothing.
    """
    _require(device)
    return [LogicalDeviceConfiguration()] * flags.logical_cpus if flags.logical_cpus > 1 else None


def set_logical_device_configuration(
    device: PhysicalDevice | LogicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Give the CPU several names, "CPU:0", "CPU:1", ..., for programs that are written for several devices.

    Ops run on the same CPU under each of them, and share its memory and its threads.

    Args:
      device: The CPU, from `list_physical_devices`.
      logical_devices: One `LogicalDeviceConfiguration` for each name.
    Raises: InvalidArgumentError (a ValueError): none, or a limit of memory, which the CPU's devices do not have.
    """
    _require(device)
    parts = list(logical_devices)
    if not parts or any(part.memory_limit is not None for part in parts):
        raise InvalidArgumentError(
            f"set_logical_device_configuration: the CPU's devices share its memory, got {parts}; give one "
            "LogicalDeviceConfiguration() without a limit for each."
        )
    flags.logical_cpus = len(parts)


def get_device_details(device: PhysicalDevice | LogicalDevice) -> dict[str, Any]:
    """What is known of a device besides its name: nothing of the CPU.

    Args: device: What `list_physical_devices` or `list_logical_devices` gives.
    Returns: A dict.
    Raises: Nothing.
    """
    _require(device)
    return {}


def get_memory_info(device: str) -> dict[str, int]:
    """Memory in use on a GPU.

    Args: device: The name of the device.
    Returns: A dict of numbers of bytes.
    Raises: InvalidArgumentError (a ValueError): always, since the CPU's is the process's, which the operating system
      counts.
    """
    raise InvalidArgumentError(
        f"get_memory_info: graphad does not count the memory of {device!r}; `resource` and `tracemalloc` of Python do."
    )


def get_soft_device_placement() -> bool:
    """False: an op runs where `device` says, or not at all.

    Returns: True or False.
    """
    return False


def set_soft_device_placement(enabled: bool) -> None:
    """Allow ops to run elsewhere than `device` says. There is nowhere else; a device that is not there is refused.

    Args:
      enabled: True or False.
    Raises: Nothing.
    """


def get_intra_op_parallelism_threads() -> int:
    """How many threads share the work of compiled kernels; 0 says as many as there are processors.

    Returns: A number, 0 for as many as there are processors.
    """
    return flags.threads


def get_inter_op_parallelism_threads() -> int:
    """How many ops run at once; 1, in the program's order.

    Returns: A number, 0 for as many as there are processors.
    """
    return 1


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """How many threads share the work of compiled kernels, 0 for as many as there are processors. It changes no result.

    The threads of NumPy's matrix products are not among them; environment variables of its BLAS limit those.

    Args:
      num_threads: A number, of which no more than 1024 are started; 0 for as many as there are processors.
    Raises:
      InvalidArgumentError (a ValueError): no whole number from 0.
      FailedPreconditionError (a RuntimeError): the threads have been started.
    """
    if type(num_threads) is not int or num_threads < 0:
        raise InvalidArgumentError(
            f"set_intra_op_parallelism_threads: {num_threads!r} is not a number of threads; give a whole number from 0."
        )
    if num_threads != flags.threads:
        from graphad.compiler.cpu.runtime.pool import is_started  # importing graphad needs no compiler

        if is_started():
            raise FailedPreconditionError(
                "set_intra_op_parallelism_threads: Intra op parallelism cannot be modified after initialization: the threads "
                "of compiled kernels have been started; set it before the first function is compiled."
            )
        flags.threads = num_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """How many ops run at once: one, in the program's order, so that this allows more and never needs them.

    Args:
      num_threads: A number, 0 for as many as there are processors.
    Raises: Nothing.
    """


def enable_op_determinism() -> None:
    """Make results the same at every run of a program, on the same kind of machine, from the first call of each function.

    Sums of floats, small matrix products and functions such as `exp` differ in their last bits between NumPy and compiled code,
    and when a function's compiled code arrives depends on time. So functions wait for it in their first call, as by
    `graphad.config.set_jit("always")`; those that are never compiled have the bits of NumPy at each call.

    Raises: Nothing.
    """
    if flags.jit == AUTO:
        flags.jit = ALWAYS


def tensor_float_32_execution_enabled() -> bool:
    """Whether products of float32 on CUDA devices may be computed in TF32; False unless it was enabled.

    Returns: True or False.
    """
    return flags.tensor_float_32


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allow products of float32 on CUDA devices in TF32: operands are rounded to 10 bits behind the point, sums stay float32.

    Newer GPUs are several times as quick with it. The CPU's products, and those of other dtypes, are the same either way.

    Args:
      enabled: True or False.
    Raises: Nothing.
    """
    flags.tensor_float_32 = bool(enabled)
    library.set_precision()


def get_synchronous_execution() -> bool:
    """True: an op has run when its function returns.

    Returns: True or False.
    """
    return True


def set_synchronous_execution(enable: bool) -> None:
    """Whether an op has run when its function returns. It has, always; False allows otherwise and changes nothing.

    Args: enable: True or False.
    Raises: Nothing.
    """


def get_autoclustering() -> str:
    """TensorFlow's setting for its own compiler; "" says that none was asked for. `config.jit` is graphad's setting.

    Returns: A string.
    """
    return ""


def set_autoclustering(enabled: object) -> None:
    """Ask for TensorFlow's compiler. Functions are compiled as `config.set_jit` says, and give the same results either way.

    Args: enabled: Anything; it changes nothing.
    Raises: Nothing.
    """


def get_experimental_options() -> dict[str, Any]:
    """The options of TensorFlow's graph optimizer that were set: none.

    Returns: An empty dict.
    """
    return {}


def set_experimental_options(options: dict[str, Any]) -> None:
    """Set options of TensorFlow's graph optimizer. graphad's passes change no result and are not set one by one.

    Args: options: Names and values; they change nothing.
    Raises: Nothing.
    """


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Whether there is a CUDA device on which `device("cuda")` runs ops.

    Args:
      cuda_only: Is taken as TensorFlow takes it: there are no other GPUs.
      min_cuda_compute_capability: Is taken as TensorFlow takes it.
    Returns: A bool of Python's.
    Raises: Nothing: what is missing is an answer.
    """
    return library.count() > 0


def is_built_with_cuda() -> bool:
    """Whether ops can run on CUDA devices here; the same as `is_gpu_available`, since nothing is built for them.

    Returns: True or False.
    """
    return is_gpu_available()


def is_built_with_gpu_support() -> bool:
    """The same as `is_built_with_cuda`.

    Returns: True or False.
    """
    return is_gpu_available()


def is_built_with_rocm() -> bool:
    """Whether ops can run on ROCm devices: never.

    Returns: False.
    """
    return False


def is_built_with_xla() -> bool:
    """Whether XLA compiles functions: never, Numba does.

    Returns: False.
    """
    return False


def gpu_device_name() -> str:
    """The name of the first GPU, "" where there is none.

    Returns: A name, "" where there is none.
    """
    return "/device:GPU:0" if is_gpu_available() else ""


def _logical_cpu(index: int) -> Any:
    return LogicalDevice(f"/device:CPU:{index}", "CPU")


def _is_gpu(device: object) -> bool:
    return isinstance(device, PhysicalDevice | LogicalDevice) and device in [
        *list_physical_devices("GPU"),
        *list_logical_devices("GPU"),
    ]


def _require(device: object) -> None:
    if _is_gpu(device):
        return
    if device != _CPU and device not in list_logical_devices():
        raise InvalidArgumentError(f"config: there is no device {device!r}; there is {_CPU!r}.")
