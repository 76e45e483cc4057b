# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers between a trunk and its heads: LSTMs and GRU."""

import abc
import inspect
import numbers
from typing import Any

import gin
import tensorflow as tf
from tf_agents.keras_layers import dynamic_unroll_layer
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision
from rnd_agents.ops import lstm


class RecurrentCore(tf.keras.layers.Layer, abc.ABC):
  """Maps features and a state to features and the next state.

  The state is 0 wherever an episode begins, also inside a sequence: a row of
  step type FIRST resets the state. A row of step type LAST leaves it unchanged:
  nothing of its episode follows, and padding before rows in mid-episode is also
  LAST (`hierarchy.decisions`).

  Attributes:
    units: Number of output features.
    state_spec: Nest of tensor specs of one state.
  """

  def __init__(self, units: int, state_spec: types.NestedTensorSpec, name: str):
    """Creates the core.

    Args:
      units: Number of output features.
      state_spec: Nest of tensor specs of one state.
      name: Name of the layer.
    """
    super().__init__(name=name)
    self.units = units
    self.state_spec = state_spec
    self._unroll = dynamic_unroll_layer.DynamicUnroll(
        _HoldingCell(self._create_cell())
    )

  @abc.abstractmethod
  def _create_cell(self) -> tf.keras.layers.Layer:
    """Returns a Keras cell of `self.units`."""

  def fresh(self) -> 'RecurrentCore':
    """Returns a core like this one, with weights of its own.

    Raises:
      InvalidType: If the constructor takes more than `units` and `name`; such
        a class must override this method.
    """
    taken = inspect.signature(type(self).__init__).parameters
    more = [name for name in taken if name not in ('self', 'units', 'name')]
    if more:
      name = type(self).__name__
      raise errors.InvalidType(
          f'A Q network and its target need equal cores, and {name} takes more'
          f' than its units: {", ".join(more)}. Override {name}.fresh() to'
          ' return a core with equal arguments.'
      )
    kind: Any = type(self)
    return kind(self.units)

  def call(
      self,
      features: tf.Tensor,
      step_type: tf.Tensor | None = None,
      state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    """Unrolls the core over a sequence, or takes one step.

    Args:
      features: A float tensor [B, T, F], or [B, F] for one step.
      step_type: Integer tensor [B, T] or [B]; None where no episode begins.
      state: Nest of tensors [B, ...] of `state_spec`; () for 0.
      training: Whether the output is used for training.

    Returns:
      A tuple (outputs [B, T, units] or [B, units], state after the last step).
    """
    resets = holds = tf.zeros_like(features[..., :1], tf.bool)
    if step_type is not None:
      step_type = step_type[..., tf.newaxis]
      resets = tf.equal(step_type, ts.StepType.FIRST)
      holds = tf.equal(step_type, ts.StepType.LAST)
    cell_state = None
    if state is not None and len(tf.nest.flatten(state)):
      # The state of Keras's LSTM is a list, which Reverb's tables refuse.
      cell_state = _repacked(state, self._unroll.state_size)
    outputs, cell_state = self._take_steps(
        features, resets, holds, cell_state, training
    )
    return outputs, _repacked(cell_state, self.state_spec)

  def _take_steps(
      self,
      features: tf.Tensor,
      resets: tf.Tensor,
      holds: tf.Tensor,
      state: types.NestedTensor | None,
      training: bool,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    """Unrolls the cell over a sequence, or takes one step.

    Args:
      features: A float tensor [B, T, F], or [B, F] for one step.
      resets: Boolean tensor [B, T, 1] or [B, 1]: steps before which the state
        is 0.
      holds: The same: steps that leave the state as it is.
      state: State of the cell; None for 0.
      training: Whether the output is used for training.

    Returns:
      A tuple (outputs, state of the cell).
    """
    is_sequence = features.shape.rank == 3
    return self._unroll(
        (features, holds),
        initial_state=state,
        reset_mask=resets[..., 0] if is_sequence else resets,
        training=training,
    )


class _HoldingCell(tf.keras.layers.Layer):
  """A Keras cell on (features [B, F], booleans [B, 1]: states to keep)."""

  def __init__(self, cell: tf.keras.layers.Layer):
    super().__init__(name=cell.name)
    self.cell = cell

  @property
  def state_size(self) -> Any:
    return self.cell.state_size

  @property
  def output_size(self) -> Any:
    return self.cell.output_size

  def get_initial_state(self, *args: Any, **kwargs: Any) -> types.NestedTensor:
    return self.cell.get_initial_state(*args, **kwargs)

  def build(self, input_shape: Any) -> None:
    self.cell.build(input_shape[0])
    super().build(input_shape)

  def call(
      self,
      inputs: tuple[tf.Tensor, tf.Tensor],
      states: types.NestedTensor,
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    features, holds = inputs
    outputs, new_states = self.cell(features, states, training=training)
    flat = [
        tf.where(holds, old, new)
        for old, new in zip(
            tf.nest.flatten(states), tf.nest.flatten(new_states), strict=True
        )
    ]
    return outputs, tf.nest.pack_sequence_as(new_states, flat)


@gin.configurable(module='rnd_agents')
class LSTMCore(RecurrentCore):
  """Long short-term memory (Hochreiter and Schmidhuber, 1997): `ops.lstm`.

  Its state is a tuple (output, cell). Forget gates start with a bias of 1.
  """

  def __init__(
      self,
      units: int = 128,
      compute_dtype: str = precision.FLOAT32,
      name: str = 'LSTMCore',
  ):
    """Creates the core.

    Args:
      units: Number of output features.
      compute_dtype: Type that the products compute in, 'float32', 'bfloat16' or
        'auto', as in `precision.layer_policy`. Weights, sums, gates and states
        are float32.
      name: Name of the layer.
    """
    policy = precision.layer_policy(compute_dtype)
    spec = _state_spec('LSTMCore', units)
    super().__init__(units, (spec, spec), name)
    self._computes_in = tf.as_dtype(policy.compute_dtype)

  def fresh(self) -> 'LSTMCore':
    """Returns a core like this one, with weights of its own."""
    if type(self).__init__ is not LSTMCore.__init__:
      return super().fresh()
    return type(self)(self.units, self._computes_in.name)

  def _create_cell(self) -> tf.keras.layers.Layer:
    return tf.keras.layers.LSTMCell(
        self.units,
        kernel_initializer=keras_layers.FreshOrthogonal(),
        recurrent_initializer=keras_layers.FreshOrthogonal(),
    )

  def build(self, input_shape: tf.TensorShape) -> None:
    """Creates the weights, those of Keras's cell."""
    self._unroll.build([input_shape])
    super().build(input_shape)

  def _take_steps(
      self,
      features: tf.Tensor,
      resets: tf.Tensor,
      holds: tf.Tensor,
      state: types.NestedTensor | None,
      training: bool,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    cell = self._unroll.cell.cell
    weights = lstm.Weights(cell.kernel, cell.recurrent_kernel, cell.bias)
    if state is None:
      state = [tf.zeros([tf.shape(features)[0], self.units])] * 2
    take = lstm.unroll if features.shape.rank == 3 else lstm.step
    return take(
        features, weights, lstm.State(*state), resets, holds, self._computes_in
    )


class _LayerNormLSTMCell(tf.keras.layers.LSTMCell):
  """An LSTM cell that normalizes its sums over the units."""

  def __init__(self, units: int, **kwargs: Any):
    super().__init__(units, **kwargs)
    # The bias of the cell is their offset.
    self._kernel_norm = tf.keras.layers.LayerNormalization(center=False)
    self._recurrent_norm = tf.keras.layers.LayerNormalization(center=False)
    self._cell_norm = tf.keras.layers.LayerNormalization()

  def build(self, input_shape: Any) -> None:
    super().build(input_shape)
    for norm in (self._kernel_norm, self._recurrent_norm):
      norm.build([None, 4 * self.units])
    self._cell_norm.build([None, self.units])

  def call(
      self,
      inputs: tf.Tensor,
      states: types.NestedTensor,
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    output, cell = states
    sums = (
        self._kernel_norm(tf.matmul(inputs, self.kernel))
        + self._recurrent_norm(tf.matmul(output, self.recurrent_kernel))
        + self.bias
    )
    in_gate, forget_gate, candidate, out_gate = tf.split(sums, 4, axis=-1)
    cell = tf.sigmoid(forget_gate) * cell
    cell += tf.sigmoid(in_gate) * tf.tanh(candidate)
    output = tf.sigmoid(out_gate) * tf.tanh(self._cell_norm(cell))
    return output, [output, cell]


@gin.configurable(module='rnd_agents')
class LayerNormLSTMCore(RecurrentCore):
  """Long short-term memory with layer normalization (Ba et al., 2016).

      sums = norm(W x) + norm(U output) + bias,   output = o tanh(norm(cell))

  (arXiv 1607.06450, supplementary equations 20 to 22, with one bias.) Features
  and states of any scale leave the gates in the range where they learn. Its
  state and biases are those of `LSTMCore`.
  """

  def __init__(self, units: int = 128, name: str = 'LayerNormLSTMCore'):
    """Creates the core; `units` is the number of output features."""
    spec = _state_spec('LayerNormLSTMCore', units)
    super().__init__(units, (spec, spec), name)

  def _create_cell(self) -> tf.keras.layers.Layer:
    return _LayerNormLSTMCell(
        self.units,
        kernel_initializer=keras_layers.FreshOrthogonal(),
        recurrent_initializer=keras_layers.FreshOrthogonal(),
    )


@gin.configurable(module='rnd_agents')
class GRUCore(RecurrentCore):
  """Gated recurrent unit (Cho et al., 2014), as in the RND authors' policy.

  The reset gate acts before the recurrent product and all biases start at 0.
  """

  def __init__(self, units: int = 128, name: str = 'GRUCore'):
    """Creates the core; `units` is the number of output features."""
    super().__init__(units, _state_spec('GRUCore', units), name)

  def _create_cell(self) -> tf.keras.layers.Layer:
    return tf.keras.layers.GRUCell(
        self.units,
        reset_after=False,
        kernel_initializer=keras_layers.FreshOrthogonal(),
        recurrent_initializer=keras_layers.FreshOrthogonal(),
    )


def _repacked(
    state: types.NestedTensor, structure: types.NestedTensor
) -> types.NestedTensor:
  flat = [tf.convert_to_tensor(x) for x in tf.nest.flatten(state)]
  return tf.nest.pack_sequence_as(structure, flat)


def _state_spec(name: str, units: Any) -> tf.TensorSpec:
  is_integer = isinstance(units, numbers.Integral)
  if isinstance(units, bool) or not is_integer or units < 1:
    raise errors.InvalidValue(
        f'{name}.units must be an integer from 1, got {units!r}.'
    )
  return tf.TensorSpec([units], tf.float32, 'state')
