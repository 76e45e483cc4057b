# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Long short-term memory of single steps and of whole sequences.

    i, f, g, o = split(W x_t + U h_(t-1) + b)
    c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g)
    h_t = sigmoid(o) tanh(c_t)

(Hochreiter and Schmidhuber, 1997; Gers et al., 2000.) The gradient of a
sequence is written by hand: TensorFlow's own adds up the gradient of U step by
step, and here it is one product of all steps, as that of W.
"""

from collections.abc import Callable, Sequence
import contextlib
import functools
from typing import Any, NamedTuple

import tensorflow as tf

# Registered once: `tf.custom_gradient` registers a name for each graph, and so
# keeps each graph for good.
_GRADIENT = 'RndAgentsLstm'


class Weights(NamedTuple):
  """Weights of an LSTM, for its gates in the order above.

  Attributes:
    kernel: W [F, 4 * units].
    recurrent_kernel: U [units, 4 * units].
    bias: b [4 * units].
  """

  kernel: tf.Tensor
  recurrent_kernel: tf.Tensor
  bias: tf.Tensor


class State(NamedTuple):
  """State of an LSTM: output h and cell c, [B, units]."""

  output: tf.Tensor
  cell: tf.Tensor


def step(
    features: tf.Tensor,
    weights: Weights,
    state: State,
    resets: tf.Tensor,
    holds: tf.Tensor,
    compute_dtype: tf.DType = tf.float32,
) -> tuple[tf.Tensor, State]:
  """Takes one step.

  Args:
    features: Float32 tensor x [B, F].
    weights: Float32 tensors.
    state: State before the step.
    resets: Boolean tensor [B, 1]: where that state is 0.
    holds: Boolean tensor [B, 1]: where the state is after the step what it was
      before it.
    compute_dtype: Type that the products compute in; sums, gates and states are
      float32.

  Returns:
    A tuple (output [B, units], state after the step).
  """
  kernel, recurrent_kernel, bias = weights
  old = _reset(state, resets)
  sums = _product(features, tf.cast(kernel, compute_dtype)) + bias
  sums += _product(old.output, tf.cast(recurrent_kernel, compute_dtype))
  new = _next_state(_gates(sums), old.cell)
  return new.output, _held(old, new, holds)


def unroll(
    features: tf.Tensor,
    weights: Weights,
    state: State,
    resets: tf.Tensor,
    holds: tf.Tensor,
    compute_dtype: tf.DType = tf.float32,
) -> tuple[tf.Tensor, State]:
  """Takes the steps of a sequence.

  It has a first gradient and no second one.

  Args:
    features: Float32 tensor x [B, T, F].
    weights: As for `step`.
    state: State before the first step.
    resets: Boolean tensor [B, T, 1], as for each `step`.
    holds: Boolean tensor [B, T, 1], as for each `step`.
    compute_dtype: As for `step`.

  Returns:
    A tuple (outputs [B, T, units], state after the last step).
  """
  kernel, recurrent_kernel, bias = weights
  inputs = _product(
      _swap_batch_and_time(features), tf.cast(kernel, compute_dtype)
  )
  outputs, *last = _with_gradient(compute_dtype)(
      inputs + bias,
      tf.convert_to_tensor(recurrent_kernel),
      *state,
      _swap_batch_and_time(resets),
      _swap_batch_and_time(holds),
  )
  batch_size, num_steps = features.shape[:2]
  units = recurrent_kernel.shape[0]
  outputs = tf.ensure_shape(
      _swap_batch_and_time(outputs), [batch_size, num_steps, units]
  )
  return outputs, State(
      *(tf.ensure_shape(x, [batch_size, units]) for x in last)
  )


@functools.cache
def _with_gradient(compute_dtype: tf.DType) -> Callable[..., list[tf.Tensor]]:
  """Returns `_forward` as a function with `_gradient`, for any shapes."""

  # A tape ignores the override in its own graph
  # (findings/tf_gradient_override_map_is_ignored_by_inner_tapes.sh).
  @tf.function(
      autograph=False,
      input_signature=[
          tf.TensorSpec([None, None, None], name='inputs'),
          *(
              tf.TensorSpec([None, None], name=name)
              for name in ('recurrent_kernel', 'output', 'cell')
          ),
          *(
              tf.TensorSpec([None, None, 1], tf.bool, name)
              for name in ('resets', 'holds')
          ),
      ],
  )
  def lstm(
      inputs: tf.Tensor,
      recurrent_kernel: tf.Tensor,
      output: tf.Tensor,
      cell: tf.Tensor,
      resets: tf.Tensor,
      holds: tf.Tensor,
  ) -> list[tf.Tensor]:
    computing = tf.cast(recurrent_kernel, compute_dtype)
    results, saved = _forward(inputs, computing, output, cell, resets, holds)
    graph = tf.compat.v1.get_default_graph()
    with graph.gradient_override_map({'IdentityN': _GRADIENT}):
      # Arrays by their handles, and so without a copy.
      identity = tf.identity_n([
          *results, inputs, recurrent_kernel, output, cell, computing, resets,
          holds, *(array.flow for array in saved),
      ])
    return identity[: len(results)]

  return lstm


def _forward(
    inputs: tf.Tensor,
    recurrent_kernel: tf.Tensor,
    output: tf.Tensor,
    cell: tf.Tensor,
    resets: tf.Tensor,
    holds: tf.Tensor,
) -> tuple[list[tf.Tensor], list[tf.TensorArray]]:
  """Takes the steps of a sequence, without a gradient.

  Args:
    inputs: W x + b, [T, B, 4 * units].
    recurrent_kernel: U in the type that products compute in.
    output: [B, units].
    cell: [B, units].
    resets: [T, B, 1].
    holds: [T, B, 1].

  Returns:
    A tuple ([outputs [T, B, units], last output, last cell], what `_gradient`
    needs of each step, [B, units]: its gates, and output and cell before it).
  """
  num_steps = tf.shape(inputs)[0]
  rows = [_steps_of(x) for x in (inputs, resets, holds)]

  def take_step(
      t: tf.Tensor, output: tf.Tensor, cell: tf.Tensor, *written: Any
  ) -> tuple[Any, ...]:
    from_input, is_reset, is_held = (x.read(t) for x in rows)
    old = _reset(State(output, cell), is_reset)
    gates = _gates(from_input + _product(old.output, recurrent_kernel))
    new = _next_state(gates, old.cell)
    rows_of_step = new.output, *gates, *old
    return (
        t + 1,
        *_held(old, new, is_held),
        *(a.write(t, x) for a, x in zip(written, rows_of_step, strict=True)),
    )

  # Outputs, four gates, outputs and cells before each step.
  arrays = [_steps_like(output, num_steps) for _ in range(7)]
  _, output, cell, outputs, *saved = tf.while_loop(
      lambda t, *_: t < num_steps, take_step, (0, output, cell, *arrays)
  )
  return [outputs.stack(), output, cell], saved


def _gradient(
    op: tf.Operation, *gradients: tf.Tensor
) -> list[tf.Tensor | None]:
  """Returns the gradients of the inputs of `identity_n` in `_with_gradient`."""
  d_outputs, d_output, d_cell = gradients[:3]
  inputs, *_, recurrent_kernel, resets, holds = op.inputs[3:10]
  num_steps = tf.shape(inputs)[0]
  *gates, outputs, cells = (
      tf.TensorArray(tf.float32, flow=flow) for flow in op.inputs[10:]
  )
  rows = [*map(_steps_of, (d_outputs, resets, holds)), *gates, cells]

  def take_step_back(
      t: tf.Tensor, d_output: tf.Tensor, d_cell: tf.Tensor, d_inputs: Any
  ) -> tuple[Any, ...]:
    d_new_output, is_reset, is_held, *saved = (x.read(t) for x in rows)
    # The shape of what is read is not known.
    in_gate, forget_gate, candidate, out_gate, cell = (
        tf.ensure_shape(x, d_cell.shape) for x in saved
    )
    tanh = tf.tanh(forget_gate * cell + in_gate * candidate)
    d_new_output += tf.where(is_held, 0.0, d_output)
    d_new_cell = tf.where(is_held, 0.0, d_cell)
    d_new_cell += d_new_output * out_gate * (1.0 - tanh**2)
    d_sums = tf.concat(
        [
            d_new_cell * candidate * in_gate * (1.0 - in_gate),
            d_new_cell * cell * forget_gate * (1.0 - forget_gate),
            d_new_cell * in_gate * (1.0 - candidate**2),
            d_new_output * tanh * out_gate * (1.0 - out_gate),
        ],
        axis=-1,
    )
    d_output = tf.where(is_held, d_output, 0.0)
    d_output += _product(d_sums, recurrent_kernel, transpose_b=True)
    d_cell = tf.where(is_held, d_cell, 0.0) + d_new_cell * forget_gate
    return (
        t - 1,
        tf.where(is_reset, 0.0, d_output),
        tf.where(is_reset, 0.0, d_cell),
        d_inputs.write(t, d_sums),
    )

  _, d_output, d_cell, d_inputs = tf.while_loop(
      lambda t, *_: t >= 0,
      take_step_back,
      (num_steps - 1, d_output, d_cell, _steps_like(inputs, num_steps)),
  )
  d_inputs = d_inputs.stack()
  d_sums = tf.reshape(d_inputs, [-1, tf.shape(d_inputs)[-1]])
  d_recurrent_kernel = _product(
      outputs.concat(),
      tf.cast(d_sums, recurrent_kernel.dtype),
      transpose_a=True,
  )
  own = [d_inputs, d_recurrent_kernel, d_output, d_cell]
  return [None] * 3 + own + [None] * (len(op.inputs) - 7)


with contextlib.suppress(KeyError):  # The module was loaded before.
  tf.RegisterGradient(_GRADIENT)(_gradient)


def _gates(sums: tf.Tensor) -> tuple[tf.Tensor, ...]:
  """Returns (input gate, forget gate, candidate, output gate)."""
  in_gate, forget_gate, candidate, out_gate = tf.split(sums, 4, axis=-1)
  return (
      tf.sigmoid(in_gate),
      tf.sigmoid(forget_gate),
      tf.tanh(candidate),
      tf.sigmoid(out_gate),
  )


def _next_state(gates: Sequence[tf.Tensor], cell: tf.Tensor) -> State:
  """Returns the state after a step, from its gates and the cell before it."""
  in_gate, forget_gate, candidate, out_gate = gates
  cell = forget_gate * cell + in_gate * candidate
  return State(out_gate * tf.tanh(cell), cell)


def _reset(state: State, resets: tf.Tensor) -> State:
  return State(*(tf.where(resets, 0.0, x) for x in state))


def _held(old: State, new: State, holds: tf.Tensor) -> State:
  return State(*(tf.where(holds, x, y) for x, y in zip(old, new, strict=True)))


def _product(x: tf.Tensor, weights: tf.Tensor, **transposed: bool) -> tf.Tensor:
  """Multiplies in the type of the weights; the result is float32."""
  return tf.cast(
      tf.matmul(tf.cast(x, weights.dtype), weights, **transposed), tf.float32
  )


def _steps_of(x: tf.Tensor) -> tf.TensorArray:
  """Returns an array of the T parts [B, N] of a tensor [T, B, N]."""
  return _steps_like(x, tf.shape(x)[0]).unstack(x)


def _steps_like(x: tf.Tensor, size: tf.Tensor) -> tf.TensorArray:
  """Returns an array for parts [B, N] like those of a tensor [..., B, N]."""
  return tf.TensorArray(x.dtype, size, element_shape=x.shape[-2:])


def _swap_batch_and_time(x: tf.Tensor) -> tf.Tensor:
  return tf.transpose(x, [1, 0, 2])
