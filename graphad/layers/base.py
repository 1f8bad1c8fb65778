"""`Layer`: a module that makes its variables at the first call, from the shape of its input."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import os
import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from graphad.autograph.convert import converted_here
from graphad.core.annotations import Array, DTypeLike, NestLike, ShapeLike, TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.nest import leaves_of, map_leaves
from graphad.core.refusal import members
from graphad.core.shapes import TensorShape, format_dims
from graphad.core.sparse import Sparse
from graphad.core.tensor import Tensor
from graphad.core.tracebacks import of_call
from graphad.core.trackable import PRIVATE, arrived, settle
from graphad.eager.variable import Variable, VariableSynchronization
from graphad.layers import initializers
from graphad.layers.constraints import get as get_constraint
from graphad.layers.regularizers import get as get_regularizer
from graphad.module import Module, parts_of
from graphad.ops import array
from graphad.ops.math.cast import cast

# What Keras' models have besides layers.
_OF_MODELS = ("compile", "fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
LOSSES = PRIVATE + "losses"
_PARTS = (Variable, Module, list, tuple, dict)  # types of values that may hold variables
_NOT_GIVEN: Any = object()
_made: Counter[str] = Counter()


# Options of a weight, by the end of the argument's name.
_GET: dict[str, Callable[..., Any]] = {"regularizer": get_regularizer, "constraint": get_constraint}


class _Calls(threading.local):
    """The calls of layers that a thread is in."""

    depth = 0


_calls = _Calls()
# The layers that hold losses, by id, of all threads.
_with_losses: dict[int, weakref.ref[Layer]] = {}


class Layer(Configured, Module):
    """Base class of layers. Subclasses define `build(input_shape)` and `call(inputs, ...)`.

    Args:
      trainable: Whether its weights are trained.
      name: Name; numbered by class if not given.
      dtype: Dtype of the weights, by default that of `keras.backend.floatx`; inputs are cast to it.
      input_shape: The shape of an input without the batch, for a first layer whose weights are to be made with the model.
      input_dim: The only size of such a shape.
      autocast: With False floating-point inputs keep their dtypes.
      activity_regularizer: A function of a tensor or its name; its values for the results, divided by the batch size, are
        among the `losses`.
      about_weights: `kernel_regularizer`, `bias_regularizer` and so on, for the weights that the layer has: functions of a
        tensor or their names, whose results are among the `losses`; and `kernel_constraint` and so on: functions that give what
        optimizers make of the weight after each update.
    Raises: ArgumentTypeError (a TypeError): no such argument, or no dtype.
    """

    _weights_told: ClassVar[dict[str, str]] = {}  # names of weights, by the beginning of the argument's name

    def __init__(
        self,
        *,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        input_shape: Any = None,
        input_dim: int | None = None,
        autocast: bool = True,
        activity_regularizer: Callable[..., Any] | str | None = None,
        **about_weights: Any,
    ) -> None:
        if name is None:
            kind = kind_in_snake_case(type(self).__name__)
            count = _made[kind]
            _made[kind] += 1
            name = kind if not count else f"{kind}_{count}"
        super().__init__(name)
        self._graphad_trainable = bool(trainable)
        self.built = False
        self._graphad_building = False
        self._graphad_dtype = floatx_dtype() if dtype is None else as_dtype(dtype)
        self._graphad_autocast = bool(autocast)
        self.activity_regularizer = get_regularizer(activity_regularizer)
        if input_dim is not None:
            input_shape = (input_dim,)
        self._graphad_input_shape = None
        if input_shape is not None:
            sizes = members(type(self).__name__, "input_shape", input_shape, "give a list of sizes")
            self._graphad_input_shape = TensorShape([None, *sizes])
        self._graphad_told = {
            self._weight_of(argument): _GET[argument.rpartition("_")[2]](given)
            for argument, given in about_weights.items()
        }
        self._graphad_penalties: list[tuple[Callable[..., Any], Variable]] = []
        # Created by `add_weight` or assigned, in this order; and those that are trained unless the layer is frozen.
        self._graphad_weights: list[Variable] = []
        self._graphad_trained: list[Variable] = []

    @classmethod
    def _check_name(cls, name: object) -> None:
        if not isinstance(name, str) or "/" in name:
            raise InvalidArgumentError(f"{cls.__name__}: name is {name!r}; a string without '/' is needed.")

    def base_config(self) -> dict[str, Any]:
        """The name, whether the layer is trained, and the dtype."""
        return {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}

    def _weight_of(self, argument: str) -> tuple[str, str]:
        """The weight, and what is told of it. Raises: ArgumentTypeError: the layer has no such argument."""
        begin, _, what = argument.rpartition("_")
        weight = self._weights_told.get(begin)
        if weight is None or what not in _GET:
            known = [
                name
                for name, x in inspect.signature(type(self)).parameters.items()
                if x.kind is not x.VAR_KEYWORD
            ]
            known += [f"{name}_{what}" for what in _GET for name in self._weights_told]
            known += ["trainable", "name", "dtype"]
            raise ArgumentTypeError(
                f"{type(self).__name__}: there is no argument {argument!r}; it takes {', '.join(dict.fromkeys(known))}."
            )
        return weight, what

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "build" in cls.__dict__:
            cls.build = _as_built(cls.__dict__["build"])  # type: ignore[method-assign]

    # Hidden from type checkers, which otherwise would accept any name of an attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is said of an attribute that is not there: before the first call it may only not be there yet."""
            if "_graphad_told" not in vars(self):
                text = f"{type(self).__name__}: its __init__ must call super().__init__() before all else"
                raise AttributeError(f"{text}; there is no {name!r} yet.", name=name, obj=self)
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in _OF_MODELS:
                text += (
                    ". Keras' training is not part of graphad: take gradients from a tf.GradientTape in a loop of your own "
                    "and apply them by optimizer.apply_gradients"
                )
            elif not name.startswith("_") and self.__dict__.get("built") is False:
                text += (
                    f". The layer {self.name!r} is not built yet: if it is a weight, it is made by the first call, or by "
                    "build(input_shape)"
                )
            raise AttributeError(f"{text}.", name=name, obj=self)

    @property
    def dtype(self) -> str:
        return self._graphad_dtype.name

    @property
    def compute_dtype(self) -> str:
        """The dtype to which inputs are cast: that of the weights."""
        return self._graphad_dtype.name

    @property
    def variable_dtype(self) -> str:
        """The dtype of the weights."""
        return self._graphad_dtype.name

    @property
    def trainable(self) -> bool:
        """Whether tapes follow the weights by themselves; set it to freeze or thaw the layer and those inside it."""
        return self._graphad_trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        for layer in self._with_inner_layers():
            layer._graphad_trainable = bool(value)
            for variable in layer._graphad_trained:
                variable.follow_by_default(bool(value))

    # `Any`, since subclasses expect a TensorShape, a nest of them, or None if they are called without inputs.
    def build(self, input_shape: Any) -> None:
        """Make the weights for inputs of this shape. The first call does it; it may also be called before, with a tuple."""

    # `Any`, since subclasses choose the arguments of their `call`.
    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The layer's function."""
        raise InvalidArgumentError(f"{type(self).__name__}: a layer must define call(inputs).")

    def _called(self, inputs: Any = _NOT_GIVEN, *args: NestLike, **kwargs: Any) -> Any:
        if inputs is _NOT_GIVEN:
            inputs = self._first_of(kwargs)
        is_without = inputs is None and self._first_parameter().default is None
        inputs = None if is_without else self._cast(inputs)
        settle()
        if not self.built:
            shapes: Any = None if is_without else _shapes_of(inputs)
            self.build(shapes)
            self.built = True
        if "training" in kwargs and not _takes_training(type(self).call):
            kwargs.pop("training")  # a model hands it to every layer
        depth = _calls.depth
        if _with_losses and not depth:
            self._forget_losses()
        _calls.depth = depth + 1
        try:
            results = converted_here(self.call)(inputs, *args, **kwargs)
        finally:
            _calls.depth = depth
        if self.activity_regularizer is not None:
            for result in leaves_of(results):
                self.add_loss(self.activity_regularizer(result) / cast(array.shape(result)[0], result.dtype))
        return results

    # For type checkers the first argument is required; subclasses say what it is.
    if TYPE_CHECKING:

        def __call__(self, inputs: NestLike, *args: NestLike, **kwargs: Any) -> Any: ...

    else:
        # Errors find the layer by a frame of this name.
        def __call__(self, inputs: Any = _NOT_GIVEN, *args: Any, **kwargs: Any) -> Any:
            try:
                return self._called(inputs, *args, **kwargs)
            except Exception as error:  # raised again, with the layer's name
                raise of_call(error)  # noqa: B904 - it is the same error

    def _first_of(self, arguments: dict[str, Any]) -> Any:
        """Takes the first argument of `call` out of those that are given by name. Raises: ArgumentTypeError: it is missing."""
        first = self._first_parameter()
        if first.name not in arguments and first.default is not None:
            raise ArgumentTypeError(f"{type(self).__name__}: missing a required argument: {first.name!r}.")
        return arguments.pop(first.name, None)

    def _first_parameter(self) -> inspect.Parameter:
        """The parameter of `call` for the inputs; None as its default says that the layer may do without."""
        positional = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return next(iter(inspect.signature(self.call).parameters.values()), positional)

    def _cast(self, inputs: TensorLike) -> Any:
        """The inputs as `call` gets them: tensors, the float ones in the layer's dtype; integers and bools stay."""
        if isinstance(inputs, list | tuple | dict):
            if any(_is_array(x) for x in leaves_of(inputs)):  # several tensors
                return map_leaves(lambda x: self._cast_float(x) if _is_array(x) else x, inputs)
        return self._cast_float(inputs)

    def _cast_float(self, inputs: Any) -> Any:
        x: Any = inputs if isinstance(inputs, Sparse) else lift(inputs)
        if isinstance(inputs, Sparse):
            return cast(x, self._graphad_dtype) if x.dtype.is_floating and self._graphad_autocast else x
        return self._cast_any(x) if x.dtype.is_floating and self._graphad_autocast else x

    def _cast_any(self, inputs: TensorLike) -> Tensor:
        """One tensor in the layer's dtype; complex numbers, whose imaginary parts a real dtype would lose, stay."""
        x = lift(inputs)
        is_kept = x.dtype is self._graphad_dtype or (
            x.dtype.is_complex and not self._graphad_dtype.is_complex
        )
        return x if is_kept else cast(x, self._graphad_dtype)

    def add_weight(
        self,
        shape: ShapeLike = (),
        initializer: Callable[..., Any] | str | None = None,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        name: str | None = None,
        regularizer: Callable[..., Any] | str | None = None,
        constraint: Callable[..., Any] | str | None = None,
        aggregation: object = "none",
        synchronization: object = "auto",
    ) -> Variable:
        """A new variable of this layer, by default of numbers of "glorot_uniform", of zeros for a dtype that is not floating;
        a `regularizer`, a function of a tensor or its name, adds to the `losses`, and a
        `constraint`, one too, gives what optimizers make of the variable after each update. There is one replica, whose values
        `aggregation` and Keras 2's `synchronization` leave as they are; a variable that is synchronized ON_READ is not trained.
        """
        trainable = trainable and not _is_read_by_replicas(synchronization)
        wanted = self._graphad_dtype if dtype is None else as_dtype(dtype)
        if initializer is None:
            initializer = "glorot_uniform" if wanted.is_floating else "zeros"
        make: Callable[..., Any] = initializers.get(initializer) or initializers.Zeros()
        sizes = tuple(TensorShape(shape))  # as in Keras, so that an initializer may add a tuple to it
        made = Variable(
            lambda: make(sizes, wanted),
            trainable=trainable and self.trainable,
            name=name or "weight",
            dtype=wanted,
            constraint=get_constraint(constraint) or self._graphad_told.get((name or "weight", "constraint")),
        )
        penalty = get_regularizer(regularizer) or self._graphad_told.get((name or "weight", "regularizer"))
        if penalty is not None:
            self._graphad_penalties.append((penalty, made))
        self._graphad_weights.append(made)
        if trainable:
            self._graphad_trained.append(made)
        return made

    def __setattr__(self, name: str, value: TensorLike) -> None:
        old = vars(self).get(name)
        super().__setattr__(name, value)
        if old is not value and isinstance(old, _PARTS):
            vars(self)[name] = vars(self).pop(name)  # a replacement comes last in the order of assignment
            self._forget(old)
        known = vars(self).get("_graphad_weights")
        if isinstance(value, Variable) and known is not None and not any(v is value for v in known):
            known.append(value)
            if value.trainable:
                self._graphad_trained.append(value)

    def __delattr__(self, name: str) -> None:
        old = vars(self).get(name)
        super().__delattr__(name)
        self._forget(old)

    def _forget(self, old: Any) -> None:
        """Drop variables that are no longer attributes."""
        if isinstance(old, Variable):
            for known in (self._graphad_weights, self._graphad_trained):
                known[:] = [variable for variable in known if variable is not old]

    def _graphad_state(self) -> Iterator[tuple[str, Any]]:
        """The attributes, and a list of the weights that are not attributes."""
        yield from super()._graphad_state()
        if not self._graphad_building:  # while it builds, some are not assigned yet
            attributes = [value for name, value in vars(self).items() if not name.startswith(PRIVATE)]
            listed = {id(part) for value in attributes for part in parts_of(value, iter)}
            unnamed = [variable for variable in self._graphad_weights if id(variable) not in listed]
            if unnamed:
                yield "unnamed_weights", unnamed

    def _graphad_parts(self) -> Iterable[Variable | Module]:
        """The layer's own variables, the trained ones first, then its layers: as they were made and assigned."""
        attributes = [value for name, value in vars(self).items() if not name.startswith(PRIVATE)]
        listed = [part for value in attributes for part in parts_of(value, iter)]
        own = [*self._graphad_weights, *[part for part in listed if isinstance(part, Variable)]]
        trained = {id(variable) for variable in self._graphad_trained}
        own.sort(key=lambda variable: not (variable.trainable or id(variable) in trained))
        return [*own, *[part for part in listed if isinstance(part, Module)]]

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All variables: the layer's own, trained ones before others, then those of its layers in the order of assignment."""
        return list(super().variables)

    @property
    def weights(self) -> list[Variable]:
        """The same as `variables`."""
        return self.variables

    @property
    def trainable_weights(self) -> list[Variable]:
        return [v for v in self.weights if v.trainable]

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return [v for v in self.weights if not v.trainable]

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        return self.non_trainable_weights

    def add_loss(self, loss: TensorLike) -> None:
        """In `call`: a scalar that belongs to the loss of the model, such as a divergence; see `losses`."""
        vars(self).setdefault(LOSSES, []).append(lift(loss))
        key = id(self)
        _with_losses[key] = weakref.ref(self, lambda _: _with_losses.pop(key, None))

    @property
    def losses(self) -> list[Tensor]:
        """What the layer and those inside it have added in the last call that no other layer made, then what the regularizers
        of trained weights give now."""
        layers = self._with_inner_layers()
        added = [loss for layer in layers for loss in vars(layer).get(LOSSES, ())]
        pairs = [pair for layer in layers for pair in layer._graphad_penalties]
        return [*added, *[lift(penalty(weight)) for penalty, weight in pairs if weight.trainable]]

    def _forget_losses(self) -> None:
        for layer in self._with_inner_layers():
            if vars(layer).pop(LOSSES, None) is not None:
                _with_losses.pop(id(layer), None)

    def _with_inner_layers(self) -> list[Layer]:
        return [self, *[part for part in self.submodules if isinstance(part, Layer)]]

    def count_params(self) -> int:
        """The number of elements of all variables. Raises: InvalidArgumentError (a ValueError): there are none yet."""
        if not self.built:
            raise InvalidArgumentError(
                f"count_params: the layer {self.name!r} is not built yet; call it, or build(input_shape), first."
            )
        return sum(math.prod(variable.data.shape) for variable in self.weights)

    def get_weights(self) -> list[Array]:
        """The values of all variables as arrays."""
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights: Sequence[TensorLike]) -> None:
        """Give all variables new weights, in the order of `weights`. If one does not fit, nothing is changed."""
        variables = self.weights
        if len(weights) != len(variables):
            raise InvalidArgumentError(
                f"{self.name}: set_weights got {len(weights)} arrays for {len(variables)} weights."
            )
        values = [lift(value, variable.dtype) for variable, value in zip(variables, weights, strict=True)]
        for variable, value in zip(variables, values, strict=True):
            if not variable.shape.is_compatible_with(value.shape):
                raise InvalidArgumentError(
                    f"{self.name}: set_weights got an array of shape {format_dims(value.dims)} for {variable.name!r} of shape "
                    f"{variable.shape}; nothing was set."
                )
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)

    def save_weights(
        self, filepath: str | os.PathLike[str], overwrite: bool = True, options: object = None
    ) -> None:
        """Write the values of all variables to a directory, as a checkpoint of this layer.

        Args:
          filepath: The directory; no name of a file of Keras, which are only read.
          overwrite: Replace the weights that are there.
          options: See `tf.train.CheckpointOptions`.
        """
        _files().save_weights(self, filepath, overwrite, options)

    def load_weights(
        self,
        filepath: str | os.PathLike[str],
        options: object = None,
        *,
        skip_mismatch: bool = False,
        by_name: bool = False,
    ) -> Any:
        """Give the variables the values of a file.

        Args:
          filepath: What `save_weights` has written, or a checkpoint, of this library or of TensorFlow; or a `.weights.h5`,
            `.keras` or `.h5` file of Keras, for which the layer must be built.
          options: See `tf.train.CheckpointOptions`.
          skip_mismatch: Load what fits of a file of Keras, and warn of the rest.
          by_name: Load what an older `.h5` file has for layers of the same names, and leave the others.
        Returns: For checkpoints, the status that `tf.train.Checkpoint.read` gives; layers that are built later are restored then.
        Raises: InvalidArgumentError (a ValueError): the values do not fit; the message lists both sides.
        """
        return _files().load_weights(self, filepath, options, skip_mismatch, by_name)

    def require_axis(self, shape: TensorShape, axis: int, size: int | None, least_rank: int) -> None:
        """Raise unless an input of this shape fits what the layer was built for."""
        if shape.rank is None:
            return
        if shape.rank < least_rank:
            raise InvalidArgumentError(
                f'Input 0 of layer "{self.name}" is incompatible with the layer: expected min_ndim={least_rank}, found '
                f"ndim={shape.rank}. Full shape received: {shape}; an example alone gets its batch axis by x[tf.newaxis, ...]."
            )
        if size is not None and shape[axis] is not None and shape[axis] != size:
            raise InvalidArgumentError(
                f'Input 0 of layer "{self.name}" is incompatible with the layer: expected axis {axis} of input shape to '
                f"have value {size}, but received input with shape {shape}"
            )


class TensorLayer(Layer):
    """The base of layers that are called with one tensor and give one."""

    if TYPE_CHECKING:

        def __call__(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor: ...


def kind_in_snake_case(name: str) -> str:
    """A class name as Keras spells it in names and paths; unlike for modules, Conv2D is conv2d."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


@functools.lru_cache(maxsize=256)
def _takes_training(call: Callable[..., Any]) -> bool:
    parameters = inspect.signature(call).parameters
    return "training" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _shapes_of(inputs: Any) -> Any:
    """The shape of a tensor, dense or sparse, the nest of shapes of several; of anything else it is unknown."""
    if isinstance(inputs, Tensor | Sparse):
        return inputs.shape
    leaves = leaves_of(inputs) if isinstance(inputs, list | tuple | dict) else []
    if leaves and all(isinstance(x, Tensor | Sparse) for x in leaves):
        return map_leaves(lambda x: x.shape, inputs)
    return TensorShape(None)


def _as_shapes(given: Any) -> Any:
    """A shape in any form as a TensorShape, and each shape of a nest of them."""
    if isinstance(given, dict):
        return {name: _as_shapes(shape) for name, shape in given.items()}
    if isinstance(given, list | tuple) and any(
        isinstance(x, list | tuple | dict | TensorShape) for x in given
    ):
        return type(given)([_as_shapes(shape) for shape in given])
    return TensorShape(given)


def _is_read_by_replicas(synchronization: object) -> bool:
    """Whether a variable is one that replicas change on their own, which Keras 2 does not train."""
    known = {None: VariableSynchronization.AUTO} | {
        name: kind for kind in VariableSynchronization for name in (kind, kind.name.lower())
    }
    if not isinstance(synchronization, Hashable) or synchronization not in known:
        raise InvalidArgumentError(
            f"add_weight: {synchronization!r} is not a VariableSynchronization, AUTO, NONE, ON_WRITE or ON_READ."
        )
    return known[synchronization] is VariableSynchronization.ON_READ


def _is_array(x: object) -> bool:
    return isinstance(x, Tensor | Variable | Sparse) or hasattr(x, "__array__")


def _files() -> Any:
    # by name, since file formats are on a higher floor
    return importlib.import_module("serialization.checkpoint.weights")


def _as_built(build: Callable[..., None]) -> Callable[..., None]:
    """A `build` that takes any form of shape, works in the layer's name scope and is not repeated by the first call."""

    asks_no_shape = len(inspect.signature(build).parameters) == 1

    @functools.wraps(build)
    def wrapped(self: Layer, input_shape: ShapeLike | None = None) -> None:
        shapes = () if asks_no_shape else (_as_shapes(input_shape),)
        if self._graphad_building:  # a subclass's build calls that of its base
            build(self, *shapes)
            return
        self._graphad_building = True
        try:
            with self.name_scope:
                build(self, *shapes)
        finally:
            self._graphad_building = False
        self.built = True
        arrived(self)

    return wrapped
