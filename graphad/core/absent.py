"""What is said of a public name that graphad does not have: its path, the nearest name that there is, and whether it is out of
scope, planned, or called otherwise here.

Imported when such a name is asked for.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from graphad.core.late import places_of

_ROOT = "graphad"

# Names of TensorFlow's that graphad leaves out, by what they are for. One of a subject need not be listed with it;
# a path stands for a name that is elsewhere.
_SUBJECTS = {
    "graphad computes with numbers; strings stay in Python, and tf.print takes them":
        "strings string as_string edit_distance fingerprint",
    "tensors are rectangular; pad the rows, or keep a list of tensors":
        "ragged RaggedTensor RaggedTensorSpec ragged_fill_empty_rows ragged_fill_empty_rows_grad",
    "sparse tensors are made of numbers": "sparse_placeholder graphad.sparse.cross cross_hashed sampled_addmm",
    "a frozen dataclass is an argument and a result of functions, loops and gradients as it is":
        "ExtensionType BatchableExtensionType",
    "there are no quantised numbers": "quantization qint8 qint16 qint32 quint8 quint16",
    "input pipelines are left to other packages; data.Dataset takes what is in memory": "queue lookup feature_column",
    "files, pictures and sound are left to other packages":
        "io gfile audio load_library load_op_library decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg "
        "decode_jxl decode_png decode_webp encode_jpeg encode_png extract_jpeg_shape is_jpeg adjust_jpeg_quality "
        "random_jpeg_quality stateless_random_jpeg_quality",
    "slices of the image, random_crop and non_max_suppression serve":
        "extract_glimpse generate_bounding_box_proposals sample_distorted_bounding_box stateless_sample_distorted_bounding_box",
    "programs run on one device": "distribute dtensor tpu DeviceSpec",
    "models are saved by `saved_model` alone": "lite mlir make_ndarray make_tensor_proto",
    "events are left to other packages": "summary profiler",
    "there are no graphs to build by hand and no sessions; `function` traces":
        "Graph Operation Session InteractiveSession ConfigProto placeholder get_default_graph "
        "reset_default_graph global_variables_initializer local_variables_initializer get_variable variable_scope "
        "get_collection add_to_collection import_graph_def graph_util raw_ops variable_creator_scope "
        "disable_eager_execution disable_v2_behavior",
    "it left TensorFlow with its second version": "contrib flags app python_io estimator",
    "conv2d and its kin serve, and tapes for their derivatives": "conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2",
    "identity does the same": "guarantee_const",
    "it is about the memory of devices": "check_pinned",
    "calls are not gathered into batches": "nondifferentiable_batch_function",
    "arguments of functions are described by TensorSpec and SparseTensorSpec":
        "IndexedSlicesSpec NoneTensorSpec OptionalSpec TensorArraySpec",
    "it is about how TensorFlow was built": "security sysconfig tools xla",
    "cells of recurrent networks are modules of one's own":
        "RNNCellDeviceWrapper RNNCellDropoutWrapper RNNCellResidualWrapper",
    "placement is said by device and config.set_default_device": "get_log_device_placement set_log_device_placement",
    "dtypes narrower than 8 bits, and floats of 8, are left out":
        "float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int2 int4 uint2 uint4",
    "LinearOperatorCirculant of one axis and LinearOperatorBlockDiag are there, others are made as subclasses of LinearOperator":
        "LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorBlockLowerTriangular",
    "its counts would be hidden in the op; fixed_unigram_candidate_sampler takes them": "learned_unigram_candidate_sampler",
    "there are no resources besides variables": "resource variant CriticalSection",
}  # fmt: skip
# What namespaces leave out, but for the names that they list: a reason for whatever else is asked of them.
_SPACES = {
    "compat.v1": "what TensorFlow 2 has too is called by its name and arguments there",
    "compat": "forward compatibility has no dates here",
    "compat.v1.logging": "get_logger gives a logger of Python's, which does the rest",
    "config": "a program runs in one process on the devices of one machine",
    "config.experimental": "a program runs in one process on the devices of one machine",
    "data": "data sets are made of what is in memory",
    "data.experimental": "data sets are made of what is in memory",
    "debugging": "what checks numbers and shapes is there",
    "dtypes": "dtypes of numbers are there",
    "experimental": "numpy is what is there",
    "initializers": "a function of (shape, dtype) is an initializer as it is",
    "keras": "layers, losses, metrics, optimizers, initializers and activations are what is there",
    "keras.activations": "a function of tensors is an activation as it is",
    "keras.backend": "the functions of graphad's root, math and nn serve",
    "keras.initializers": "a function of (shape, dtype) is an initializer as it is",
    "keras.layers": "most layers of Keras are left out; modules of one's own over graphad.nn serve",
    "keras.losses": "a function of (labels, predictions) is a loss as it is",
    "keras.metrics": "a subclass of metrics.Metric serves",
    "keras.optimizers": "a subclass of optimizers.Optimizer serves",
    "keras.optimizers.schedules": "a subclass of LearningRateSchedule, or any function of the step, serves",
    "losses": "a function of (labels, predictions) is a loss as it is",
    "metrics": "a subclass of metrics.Metric serves",
    "numpy": "what NumPy 2 has is there, but for what writes into arrays and what is not of numbers",
    "numpy.random": "graphad.random has the rest",
    "optimizers": "a subclass of optimizers.Optimizer serves",
    "optimizers.schedules": "a subclass of LearningRateSchedule, or any function of the step, serves",
    "saved_model": "models are saved in a format of graphad's own",
    "test": "unittest and pytest serve",
    "train": "what saves and restores is there",
    "types.experimental": "the types of what users pass and get are there",
    "version": "VERSION is what is there",
}
_REASONS = {name: reason for reason, names in _SUBJECTS.items() for name in names.split()}

# Names of TensorFlow's that are to come, by what serves until then.
_LATER: dict[str, str] = {}
_PLANNED = {name: cure for cure, names in _LATER.items() for name in names.split()}

# What users of NumPy, JAX, PyTorch and autograd type at the root, by where it is here.
_ELSEWHERE = {
    "constant": "array tensor",
    "convert_to_tensor": "asarray as_tensor from_numpy",
    "Tensor": "ndarray DeviceArray FloatTensor",
    "Variable": "Parameter",
    "range": "arange",
    "concat": "concatenate cat hstack vstack",
    "reduce_sum": "sum",
    "reduce_mean": "mean average",
    "reduce_max": "max amax",
    "reduce_min": "min amin",
    "reduce_prod": "prod",
    "reduce_any": "any",
    "reduce_all": "all",
    "math.reduce_std": "std",
    "math.reduce_variance": "var",
    "tensordot": "dot inner",
    "clip_by_value": "clip clamp",
    "function": "jit compile",
    "stop_gradient": "detach no_grad inference_mode",
    "GradientTape": "autograd backward requires_grad",
    "jacrev": "jacobian",
    "vjp": "make_vjp",
    "jvp": "make_jvp",
    "hvp": "hessian_vector_product make_hvp",
    "custom_gradient": "custom_vjp custom_jvp primitive",
    "explain": "make_jaxpr",
    "nest": "tree tree_util",
    "nest.map_structure": "tree_map",
    "scan": "lax",
    "while_loop": "fori_loop",
    "random.Generator": "PRNGKey",
    "random.set_seed": "manual_seed",
    "keras.layers.Dense": "Linear",
    "optimizers": "optim",
    "saved_model.save": "save",
    "saved_model.load": "load",
}
_COUNTERPARTS = {name: place for place, names in _ELSEWHERE.items() for name in names.split()}


_listed = cache(places_of)


@cache
def refusal(package: str, name: str) -> str:
    """The sentence for `package.name`, which is not there."""
    path = f"{package}.{name}"
    reason = _REASONS.get(path) or _REASONS.get(name)
    if reason is not None:
        return f"{path}: not part of graphad, out of scope: {reason}."
    cure = _PLANNED.get(path) or _PLANNED.get(name)
    if cure is not None:
        return f"{path}: not part of graphad yet, planned; {cure} until then."
    if package in (_ROOT, f"{_ROOT}.nn") and name in _COUNTERPARTS:
        return f"{path}: not part of graphad under this name; there is {_ROOT}.{_COUNTERPARTS[name]}."
    paths = [f"{space}.{listed}" for space in [package, *_namespaces()] for listed in _listed(space)]
    same = [found for found in paths if found.endswith(f".{name}")]
    if same:
        return f"{path}: not part of graphad; there is {min(same, key=_depth)}."
    left_out = _SPACES.get(package.removeprefix(f"{_ROOT}."))
    if left_out is not None:
        near_names = get_close_matches(name, _listed(package), 1)
        near_name = f"; the nearest name is {package}.{near_names[0]}" if near_names else ""
        return f"{path}: not part of graphad; {left_out}{near_name}."
    names = get_close_matches(name, _listed(package), 1) or get_close_matches(name, map(_last, paths), 1)
    if names:
        near = next(found for found in paths if _last(found) == names[0])
        return f"{path}: not part of graphad; the nearest name is {near}."
    return f"{path}: not part of graphad; dir({package}) lists what is."


def reason_of(package: str, name: str) -> str | None:
    """Why `package.name` is left out, as far as that is said of it or of its namespace."""
    path = f"{package}.{name}"
    return _REASONS.get(path) or _REASONS.get(name) or _SPACES.get(package.removeprefix(f"{_ROOT}."))


@cache
def _namespaces(package: str = _ROOT) -> list[str]:
    """The public namespaces."""
    inside = [f"{package}.{name}" for name, (place, _) in _listed(package).items() if place == package]
    return [package, *(deeper for space in inside for deeper in _namespaces(space))]


def _depth(path: str) -> int:
    return path.count(".")


def _last(path: str) -> str:
    return path.rpartition(".")[2]
