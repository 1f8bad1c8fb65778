"""Cells of recurrent networks: one step, from an input and states to an output and new states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape
from graphad.core.tensor import Tensor
from graphad.layers import activations, initializers
from graphad.layers.masks import DroppingCell, product
from graphad.layers.sizes import whole
from graphad.ops.array.create import zeros
from graphad.ops.array.join import concat, split
from graphad.ops.linalg import matmul

_Make = Callable[..., Any] | str


class _Cell(DroppingCell):
    """What cells share.

    Attributes:
      state_size: The size of the state, or of each.
      output_size: The size of the output.
    """

    _gates = 1

    _weights_told: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "recurrent": "recurrent_kernel",
        "bias": "bias",
    }

    def __init__(
        self,
        units: int,
        activation: Callable[..., Any] | str | None,
        use_bias: bool,
        kernel_initializer: _Make,
        recurrent_initializer: _Make,
        bias_initializer: _Make,
        dropout: float,
        recurrent_dropout: float,
        seed: int | None,
        options: dict[str, Any],
    ) -> None:
        super().__init__(**options)
        units = whole(units)
        if not isinstance(units, int) or units <= 0:
            raise InvalidArgumentError(
                f"{type(self).__name__}: units is {units!r}; it must be a positive integer."
            )
        self.units = units
        self.use_bias = bool(use_bias)
        self.activation = activations.get(activation)
        self._set_dropout(dropout, recurrent_dropout, seed)
        self.state_size: int | list[int] = units
        self.output_size = units
        self._graphad_initializers = (kernel_initializer, recurrent_initializer, bias_initializer)

    def _bias_shape(self) -> tuple[int, ...]:
        return (self._gates * self.units,)

    def build(self, input_shape: TensorShape) -> None:
        self.require_axis(input_shape, -1, None, 2)
        size = None if input_shape.rank is None else input_shape[-1]
        if size is None:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the last size of the input {input_shape} must be known to make the kernel of "
                f"{self.name!r}."
            )
        kernel, recurrent, bias = self._graphad_initializers
        width = self._gates * self.units
        self.kernel = self.add_weight((size, width), kernel, name="kernel")
        self.recurrent_kernel = self.add_weight((self.units, width), recurrent, name="recurrent_kernel")
        self.bias: Any = self.add_weight(self._bias_shape(), bias, name="bias") if self.use_bias else None

    _cast = DroppingCell._cast_any  # integers and bools too

    def _one_state(self, inputs: Tensor, states: Any) -> tuple[Tensor, bool]:
        """The state of a cell that has one, and whether it was in a list, after a look at the input."""
        self.require_axis(inputs.shape, -1, self.kernel.shape[0], 2)
        is_nested = isinstance(states, list | tuple)
        return lift(states[0] if is_nested else states), is_nested

    def get_initial_state(self, batch_size: int | Tensor | None = None) -> list[Tensor]:
        """Zeros [batch, units], one for each state."""
        if batch_size is None:
            raise InvalidArgumentError(f"{type(self).__name__}.get_initial_state: batch_size is missing.")
        sizes = self.state_size if isinstance(self.state_size, list) else [self.state_size]
        return [zeros([batch_size, size], self._graphad_dtype) for size in sizes]


class SimpleRNNCell(_Cell):
    """h = activation(x @ kernel + h @ recurrent_kernel + bias).

    Args:
      units: Size of the state and of the output.
      activation: A function or its name; None is linear.
      use_bias: Add a bias.
      kernel_initializer, recurrent_initializer, bias_initializer: Names or functions of (shape, dtype).
      dropout, recurrent_dropout: The part of the input, and of the state, that is dropped in training, the same one in all steps
        until `reset_dropout_mask()` and `reset_recurrent_dropout_mask()`.
      seed: A number with which the draws are the same in each run.
      options: Those of `Layer`.
    Call: (x [batch, inputs], states): h [batch, units], or a list of it, gives h and the new state in the form of the old one.
      Weights: kernel [inputs, units], recurrent_kernel [units, units], bias.
    Raises: InvalidArgumentError (a ValueError): units is not positive; the input has another size than before.
    Source: Elman, Finding structure in time, 1990.
    Example:
      >>> h, states = keras.layers.SimpleRNNCell(3)(ones([2, 4]), [zeros([2, 3])])
      >>> h.shape, len(states)
      (TensorShape([2, 3]), 1)
    """

    def __init__(
        self,
        units: int,
        activation: Callable[..., Any] | str | None = "tanh",
        use_bias: bool = True,
        kernel_initializer: _Make = "glorot_uniform",
        recurrent_initializer: _Make = "orthogonal",
        bias_initializer: _Make = "zeros",
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            dropout,
            recurrent_dropout,
            seed,
            options,
        )

    def call(self, inputs: Tensor, states: Any, training: bool | None = None) -> tuple[Tensor, Any]:
        before, is_nested = self._one_state(inputs, states)
        y = product(self._dropped("dropout", inputs, training), self.kernel)
        if self.bias is not None:
            y = y + self.bias
        kept = self._dropped("recurrent_dropout", before, training)
        h: Tensor = self.activation(y + product(kept, self.recurrent_kernel))
        return h, [h] if is_nested else h


class GRUCell(_Cell):
    """A step of a gated recurrent unit.

    z = recurrent_activation(x K_z + h R_z + b_z), r likewise; the new h is z h + (1 - z) n with n = activation(x K_n + b_n + r
    (h R_n + c_n)), or with `reset_after=False` activation(x K_n + b_n + (r h) R_n).

    Args:
      units: Size of the state and of the output.
      activation: A function or its name; None is linear.
      recurrent_activation: That of the two gates.
      use_bias: Add biases.
      kernel_initializer, recurrent_initializer, bias_initializer: Names or functions of (shape, dtype).
      dropout, recurrent_dropout: The part of the input, and of the state, that is dropped in training, the same one in all steps
        until `reset_dropout_mask()` and `reset_recurrent_dropout_mask()`; of the state, each gate has its own.
      seed: A number with which the draws are the same in each run.
      reset_after: Whether the gate r is applied after the product.
      options: Those of `Layer`.
    Call: (x [batch, inputs], states): h [batch, units], or a list of it, gives h and the new state in the form of the old one.
      Weights, in the order z, r, n: kernel [inputs, 3 units], recurrent_kernel [units, 3 units], bias [2, 3 units], or [3 units]
      with `reset_after=False`.
    Raises: InvalidArgumentError (a ValueError): units is not positive; the input has another size than before.
    Source: Cho et al., Learning phrase representations using RNN encoder-decoder for statistical machine translation, 2014.
    Example:
      >>> h, states = keras.layers.GRUCell(3)(ones([2, 4]), [zeros([2, 3])])
      >>> h.shape, len(states)
      (TensorShape([2, 3]), 1)
    """

    _gates = _masks_per_input = 3

    def __init__(
        self,
        units: int,
        activation: Callable[..., Any] | str | None = "tanh",
        recurrent_activation: Callable[..., Any] | str | None = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Make = "glorot_uniform",
        recurrent_initializer: _Make = "orthogonal",
        bias_initializer: _Make = "zeros",
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            dropout,
            recurrent_dropout,
            seed,
            options,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = bool(reset_after)

    def _bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs: Tensor, states: Any, training: bool | None = None) -> tuple[Tensor, Any]:
        before, is_nested = self._one_state(inputs, states)
        ours = product(self._dropped("dropout", inputs, training), self.kernel)
        if self.bias is not None:
            ours = ours + (self.bias[0] if self.reset_after else self.bias)
        x_z, x_r, x_n = split(ours, 3, -1)
        gate, n = self.recurrent_activation, self.activation
        kept = self._dropped("recurrent_dropout", before, training)
        if self.reset_after:
            theirs = product(kept, self.recurrent_kernel)
            if self.bias is not None:
                theirs = theirs + self.bias[1]
            h_z, h_r, h_n = split(theirs, 3, -1)
            z = gate(x_z + h_z)
            new = n(x_n + gate(x_r + h_r) * h_n)
        else:
            kernel = self.recurrent_kernel
            of_gates, of_new = (kept[:2], kept[2]) if isinstance(kept, list) else (kept, kept)
            h_z, h_r = split(product(of_gates, kernel[:, : 2 * self.units]), 2, -1)
            z = gate(x_z + h_z)
            new = n(x_n + matmul(gate(x_r + h_r) * of_new, kernel[:, 2 * self.units :]))
        h: Tensor = z * before + (1.0 - z) * new
        return h, [h] if is_nested else h


class LSTMCell(_Cell):
    """A step of a long short-term memory.

    With the gates i, f and o, recurrent_activation(x K + h R + b): the new c is f c + i activation(x K_c + h R_c + b_c), and the
    new h is o activation(c).

    Args:
      units: Size of the states and of the output.
      activation: A function or its name; None is linear.
      recurrent_activation: That of the three gates.
      use_bias: Add a bias.
      kernel_initializer, recurrent_initializer, bias_initializer: Names or functions of (shape, dtype).
      unit_forget_bias: Whether the bias of the gate f begins with ones.
      dropout, recurrent_dropout: The part of the input, and of the state, that is dropped in training, the same one in all steps
        until `reset_dropout_mask()` and `reset_recurrent_dropout_mask()`; of the state, each gate has its own.
      seed: A number with which the draws are the same in each run.
      options: Those of `Layer`.
    Call: (x [batch, inputs], states): [h, c], each [batch, units], gives h and the new [h, c]. Weights, in the order i, f, c, o:
      kernel [inputs, 4 units], recurrent_kernel [units, 4 units], bias.
    Raises: InvalidArgumentError (a ValueError): units is not positive; the input has another size than before.
    Source: Hochreiter and Schmidhuber, Long short-term memory, 1997; Gers, Schmidhuber and Cummins, Learning to forget, 2000.
    Example:
      >>> h, states = keras.layers.LSTMCell(3)(ones([2, 4]), [zeros([2, 3]), zeros([2, 3])])
      >>> h.shape, len(states)
      (TensorShape([2, 3]), 2)
    """

    _gates = _masks_per_input = 4

    def __init__(
        self,
        units: int,
        activation: Callable[..., Any] | str | None = "tanh",
        recurrent_activation: Callable[..., Any] | str | None = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Make = "glorot_uniform",
        recurrent_initializer: _Make = "orthogonal",
        bias_initializer: _Make = "zeros",
        unit_forget_bias: bool = True,
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        make = initializers.get(bias_initializer) or initializers.Zeros()
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            _ForgetBias(make, units) if unit_forget_bias else make,
            dropout,
            recurrent_dropout,
            seed,
            options,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = bool(unit_forget_bias)
        self.state_size = [units, units]

    def call(
        self, inputs: Tensor, states: Sequence[TensorLike], training: bool | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        self.require_axis(inputs.shape, -1, self.kernel.shape[0], 2)
        if not isinstance(states, list | tuple) or len(states) != 2:
            raise InvalidArgumentError("LSTMCell: states must be the two tensors [h, c].")
        h, c = lift(states[0]), lift(states[1])
        kept = self._dropped("recurrent_dropout", h, training)
        all_gates = product(self._dropped("dropout", inputs, training), self.kernel)
        all_gates = all_gates + product(kept, self.recurrent_kernel)
        if self.bias is not None:
            all_gates = all_gates + self.bias
        i, f, new, o = split(all_gates, 4, -1)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(new)
        h = gate(o) * self.activation(c)
        return h, [h, c]


class _ForgetBias:
    """Initial biases of an LSTM, ones for the gate that forgets."""

    def __init__(self, others: Callable[..., Any], units: int) -> None:
        self._others, self._units = others, units

    def __call__(self, shape: ShapeLike, dtype: DType) -> Tensor:
        n = self._units
        return concat(
            [self._others([n], dtype), initializers.Ones()([n], dtype), self._others([2 * n], dtype)], 0
        )
