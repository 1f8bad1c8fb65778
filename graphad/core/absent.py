"""What is said of a public name that graphad does not have: its path, the nearest name that there is, and why it is missing.

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
    "tensors are dense; scatter_nd and segment sums serve sparse data, and IndexedSlices sparse gradients":
        "sparse SparseTensor SparseTensorSpec sparse_placeholder sets",
    "a frozen dataclass is an argument and a result of functions, loops and gradients as it is":
        "ExtensionType BatchableExtensionType",
    "what is tried out there has no place here; a frozen dataclass serves as ExtensionType": "graphad.experimental",
    "there are no quantised numbers": "quantization qint8 qint16 qint32 quint8 quint16",
    "input pipelines are left to other packages; slice NumPy arrays": "data queue lookup feature_column",
    "files, pictures and sound are left to other packages": "io gfile image audio load_library load_op_library",
    "programs run on one device": "distribute dtensor tpu DeviceSpec",
    "models are saved by `saved_model` alone": "lite mlir make_ndarray make_tensor_proto",
    "events are left to other packages": "summary profiler",
    "there are no graphs to build by hand and no sessions; `function` traces":
        "Graph Operation Session InteractiveSession ConfigProto placeholder placeholder_with_default get_default_graph "
        "reset_default_graph global_variables_initializer local_variables_initializer get_variable variable_scope "
        "get_collection add_to_collection import_graph_def graph_util raw_ops variable_creator_scope "
        "disable_eager_execution disable_v2_behavior",
    "it left TensorFlow with its second version": "contrib flags app python_io estimator",
    "there are no resources besides variables": "resource variant CriticalSection",
}  # fmt: skip
_REASONS = {name: reason for reason, names in _SUBJECTS.items() for name in names.split()}


_listed = cache(places_of)


@cache
def refusal(package: str, name: str) -> str:
    """The sentence for `package.name`, which is not there."""
    path = f"{package}.{name}"
    reason = _REASONS.get(path) or _REASONS.get(name)
    if reason is not None:
        return f"{path}: not part of graphad, out of scope: {reason}."
    paths = [f"{space}.{listed}" for space in [package, *_namespaces()] for listed in _listed(space)]
    same = [found for found in paths if found.endswith(f".{name}")]
    if same:
        return f"{path}: not part of graphad; there is {min(same, key=_depth)}."
    names = get_close_matches(name, _listed(package), 1) or get_close_matches(name, map(_last, paths), 1)
    if names:
        near = next(found for found in paths if _last(found) == names[0])
        return f"{path}: not part of graphad; the nearest name is {near}."
    return f"{path}: not part of graphad; dir({package}) lists what is."


@cache
def _namespaces(package: str = _ROOT) -> list[str]:
    """The public namespaces."""
    inside = [f"{package}.{name}" for name, (place, _) in _listed(package).items() if place == package]
    return [package, *(deeper for space in inside for deeper in _namespaces(space))]


def _depth(path: str) -> int:
    return path.count(".")


def _last(path: str) -> str:
    return path.rpartition(".")[2]
