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
        "random_jpeg_quality stateless_random_jpeg_quality draw_bounding_boxes",
    "non_max_suppression of one class and image at a time, and slices of the image, serve":
        "combined_non_max_suppression non_max_suppression_padded non_max_suppression_overlaps extract_glimpse "
        "generate_bounding_box_proposals sample_distorted_bounding_box stateless_sample_distorted_bounding_box",
    "programs run on one device": "distribute dtensor tpu DeviceSpec",
    "models are saved by `saved_model` alone": "lite mlir make_ndarray make_tensor_proto",
    "events are left to other packages": "summary profiler",
    "there are no graphs to build by hand and no sessions; `function` traces":
        "Graph Operation Session InteractiveSession ConfigProto placeholder get_default_graph "
        "reset_default_graph global_variables_initializer local_variables_initializer get_variable variable_scope "
        "get_collection add_to_collection import_graph_def graph_util raw_ops variable_creator_scope "
        "disable_eager_execution disable_v2_behavior",
    "it left TensorFlow with its second version": "contrib flags app python_io estimator",
    "LinearOperatorCirculant of one axis and LinearOperatorBlockDiag are there, others are made as subclasses of LinearOperator":
        "LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorBlockLowerTriangular",
    "there are no resources besides variables": "resource variant CriticalSection",
}  # fmt: skip
_REASONS = {name: reason for reason, names in _SUBJECTS.items() for name in names.split()}

# Names of TensorFlow's that are to come, by what serves until then.
_LATER = {
    "nn.ctc_greedy_decoder serves": "ctc_beam_search_decoder",
    "ctc_loss takes labels as they are": "ctc_unique_labels",
    "random.uniform and math.top_k serve, and the losses of all classes":
        "all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler log_uniform_candidate_sampler "
        "uniform_candidate_sampler compute_accidental_hits nce_loss sampled_softmax_loss",
    "nn.pool with a whole ratio serves": "fractional_avg_pool fractional_max_pool",
    "SciPy's isotonic_regression serves outside of functions": "isotonic_regression",
}  # fmt: skip
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
    if package == _ROOT and name in _COUNTERPARTS:
        return f"{path}: not part of graphad under this name; there is {_ROOT}.{_COUNTERPARTS[name]}."
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
