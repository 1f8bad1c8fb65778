"""The error message for a public name that graphad does not have: why it is left out, or which name to use instead.

Imported only when such a name is used.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from graphad.core.late import places_of

_ROOT = "graphad"

# TensorFlow names that graphad leaves out, by reason. A full path means the name in that namespace alone.
_SUBJECTS = {
    "graphad computes with numbers; strings stay in Python, and tf.print takes them":
        "strings string as_string edit_distance fingerprint",
    "tensors are rectangular; pad the rows, or keep a list of tensors":
        "ragged RaggedTensor RaggedTensorSpec ragged_fill_empty_rows ragged_fill_empty_rows_grad",
    "sparse tensors hold numbers only": "sparse_placeholder graphad.sparse.cross cross_hashed sampled_addmm",
    "ops take tensors; call them with the fields, or define operators and methods in the class":
        "dispatch_for_api dispatch_for_unary_elementwise_apis dispatch_for_binary_elementwise_apis "
        "dispatch_for_binary_elementwise_assert_apis unregister_dispatch_for",
    "there are no quantised dtypes": "qint8 qint16 qint32 quint8 quint16",
    "input pipelines are left to other packages; data.Dataset reads from memory": "queue lookup feature_column",
    "reading files, images and audio is left to other packages":
        "io gfile graphad.audio load_library load_op_library decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg "
        "decode_jxl decode_png decode_webp encode_jpeg encode_png extract_jpeg_shape is_jpeg adjust_jpeg_quality "
        "random_jpeg_quality stateless_random_jpeg_quality "
        "graphad.train.Example graphad.train.SequenceExample graphad.train.Feature graphad.train.Features "
        "graphad.train.FeatureList graphad.train.FeatureLists graphad.train.BytesList graphad.train.FloatList "
        "graphad.train.Int64List",
    "data sets read from memory; keep their arrays in a file of saved_model or of NumPy":
        "graphad.data.experimental.load graphad.data.experimental.save",
    "use slices of the image, random_crop or non_max_suppression":
        "extract_glimpse generate_bounding_box_proposals sample_distorted_bounding_box stateless_sample_distorted_bounding_box",
    "programs run on one device": "dtensor tpu DeviceSpec",
    "models are saved by `saved_model` alone":
        "lite mlir make_ndarray make_tensor_proto graphad.keras.layers.serialize graphad.keras.layers.deserialize",
    "event logs and traces are left to other packages":
        "profiler create_file_writer trace_export trace_off trace_on graphad.compat.v1.summary graphad.summary.graph",
    "there are no sessions and no graphs built by hand; `function` traces a graph":
        "Graph Operation Session InteractiveSession ConfigProto placeholder "
        "graphad.reset_default_graph graphad.get_variable graphad.variable_scope "
        "get_collection add_to_collection import_graph_def graph_util "
        "disable_eager_execution disable_v2_behavior",
    "TensorFlow 2 removed it": "contrib flags app python_io estimator",
    "use conv2d and its relatives, and a tape for their derivatives": "conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2",
    "identity does the same": "guarantee_const",
    "it concerns TensorFlow's device memory": "check_pinned",
    "calls are not collected into batches": "nondifferentiable_batch_function",
    "arguments of functions are described by TensorSpec and SparseTensorSpec":
        "IndexedSlicesSpec NoneTensorSpec OptionalSpec TensorArraySpec",
    "it concerns how TensorFlow was built": "security sysconfig tools xla",
    "write the cell of a recurrent network as a module":
        "RNNCellDeviceWrapper RNNCellDropoutWrapper RNNCellResidualWrapper",
    "call a cell, keras.layers.LSTMCell or a module of your own, in a loop over tf.range, and write into a TensorArray":
        "dynamic_rnn static_rnn raw_rnn bidirectional_dynamic_rnn static_bidirectional_rnn static_state_saving_rnn",
    "use device and config.set_default_device to place ops": "get_log_device_placement set_log_device_placement",
    "integers below 8 bits and floats of 8 bits or fewer are left out":
        "float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int2 int4 uint2 uint4",
    "its counts would be hidden state of the op; pass them to fixed_unigram_candidate_sampler":
        "learned_unigram_candidate_sampler",
    "variables are the only resources": "resource variant CriticalSection",
}  # fmt: skip
# Why a namespace leaves out every other name that it does not list.
_SPACES = {
    "compat.v1": "use the TensorFlow 2 name and arguments",
    "compat.v1.losses": "losses are not collected",
    "compat": "graphad has no forward compatibility dates",
    "compat.v1.train": "optimizers, rates, the global step and checkpoints are included",
    "compat.v1.logging": "use the methods of the Python logger that get_logger returns",
    "config": "a program runs in one process on one machine",
    "config.experimental": "a program runs in one process on one machine",
    "data": "data sets read from memory",
    "data.experimental": "data sets read from memory",
    "debugging": "only checks of numbers and shapes are included",
    "distribute": "a program runs as one replica on one device",
    "dtypes": "only numeric dtypes are included",
    "experimental": "only numpy, extension types and Optional are included",
    "initializers": "any function of (shape, dtype) can be an initializer",
    "keras": "only layers, losses, metrics, optimizers, initializers, regularizers, constraints, activations and a few utils are "
    "included",
    "keras.backend": "Keras' functions of arrays are included, its recurrent loop and its switches are not",
    "keras.initializers": "any function of (shape, dtype) can be an initializer",
    "keras.layers": "most Keras layers are left out; write a module with graphad.nn",
    "keras.losses": "any function of (labels, predictions) can be a loss",
    "keras.metrics": "subclass metrics.Metric",
    "keras.optimizers": "subclass optimizers.Optimizer",
    "keras.optimizers.schedules": "subclass LearningRateSchedule, or use any function of the step",
    "keras.constraints": "any function of a tensor can be a constraint",
    "keras.models": "write a loop of a few lines, and save by saved_model or a checkpoint",
    "keras.regularizers": "any function of a tensor can be a regularizer",
    "keras.utils": "only labels and seeds are included",
    "losses": "any function of (labels, predictions) can be a loss",
    "metrics": "subclass metrics.Metric",
    "numpy": "functions that write into arrays or do not concern numbers are left out",
    "numpy.random": "use graphad.random",
    "optimizers": "subclass optimizers.Optimizer",
    "optimizers.schedules": "subclass LearningRateSchedule, or use any function of the step",
    "quantization": "there are no quantised dtypes; what rounds to their values is included",
    "saved_model": "graphad saves models in its own format",
    "test": "use unittest or pytest",
    "train": "only checkpoints are included",
    "types.experimental": "only the types of public arguments and results are included",
    "version": "only VERSION is included",
}
# The same for methods of classes.
_METHODS = {
    "data.Dataset": {
        "names of files are strings, which stay in Python; use sorted(glob.glob(pattern)), in from_generator for instance":
            "list_files",
        "data sets read from memory; keep their arrays in a file of saved_model or of NumPy": "fingerprint load save snapshot",
        "tensors are rectangular; use padded_batch": "ragged_batch",
        "use batch, or padded_batch for elements of several sizes": "sparse_batch",
    },
}  # fmt: skip
_REASONS = {name: reason for reason, names in _SUBJECTS.items() for name in names.split()}

# Names of NumPy, JAX, PyTorch and autograd, by graphad's name for the same thing.
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
def reason_of_space(package: str) -> str | None:
    """Why a namespace, or one that it lies in, leaves out the names that it does not list."""
    space = package.removeprefix(f"{_ROOT}.")
    while space and space not in _SPACES:
        space = space.rpartition(".")[0]
    return _SPACES.get(space)


def refusal(package: str, name: str) -> str:
    """The error message for `package.name`, which does not exist."""
    path = f"{package}.{name}"
    reason = _REASONS.get(path) or _REASONS.get(name)
    if reason is not None:
        return f"{path}: not part of graphad, out of scope: {reason}."
    if package in (_ROOT, f"{_ROOT}.nn") and name in _COUNTERPARTS:
        return f"{path}: not part of graphad under this name; use {_ROOT}.{_COUNTERPARTS[name]}."
    paths = [f"{space}.{listed}" for space in [package, *_namespaces()] for listed in _listed(space)]
    left_out = reason_of_space(package)
    same = [found for found in paths if found.endswith(f".{name}")]
    # a namespace inside another one may share its name with a TensorFlow namespace of another subject
    is_other = (
        left_out is not None
        and not package.startswith(f"{_ROOT}.compat.")
        and name in map(_last, _namespaces())
    )
    if same and not is_other:
        return f"{path}: not part of graphad; use {min(same, key=_depth)}."
    if left_out is not None:
        near_names = get_close_matches(name, _listed(package), 1)
        near_name = f"; the nearest name is {package}.{near_names[0]}" if near_names else ""
        return f"{path}: not part of graphad; {left_out}{near_name}."
    own = get_close_matches(name, _listed(package), 1)
    names = own or get_close_matches(name, map(_last, paths), 1)
    if names:
        near = f"{package}.{names[0]}"
        if not own:
            near = min((found for found in paths if _last(found) == names[0]), key=_depth)
        return f"{path}: not part of graphad; the nearest name is {near}."
    return f"{path}: not part of graphad; dir({package}) lists what is."


def refusal_of_member(path: str, name: str, members: list[str]) -> str:
    """The error message for `name` of the class at `path`, which has these members."""
    for reason, names in _METHODS.get(path, {}).items():
        if name in names.split():
            return f"{_ROOT}.{path}.{name}: not part of graphad; {reason}."
    near = get_close_matches(name, members, 1)
    nearest = f"the nearest name is {near[0]}" if near else f"dir({_ROOT}.{path}) lists what is"
    return f"{_ROOT}.{path}.{name}: not part of graphad; {nearest}."


@cache
def _namespaces(package: str = _ROOT) -> list[str]:
    """The public namespaces."""
    inside = [f"{package}.{name}" for name, (place, _) in _listed(package).items() if place == package]
    return [package, *(deeper for space in inside for deeper in _namespaces(space))]


def _depth(path: str) -> int:
    return path.count(".")


def _last(path: str) -> str:
    return path.rpartition(".")[2]
