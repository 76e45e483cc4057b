# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for recurrent_cores: the equations in NumPy, one step after another."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.networks import recurrent_cores
from tests import tensors

_FIRST, _MID, _LAST = (
    int(ts.StepType.FIRST), int(ts.StepType.MID), int(ts.StepType.LAST)
)
_UNITS = 3
# Three rows: one that begins in the second step and ends, one that begins
# twice, one that never does and has padding.
_STEP_TYPES = np.int32([
    [_MID, _FIRST, _MID, _LAST, _FIRST],
    [_FIRST, _FIRST, _MID, _MID, _MID],
    [_MID, _MID, _LAST, _MID, _MID],
])


def _sigmoid(x):
  return 1 / (1 + np.exp(-x))


def _lstm_step(x, state, kernel, recurrent, bias):
  """Hochreiter and Schmidhuber's cell with forget gates; (output, cell)."""
  h, c = state
  i, f, candidate, o = np.split(x @ kernel + h @ recurrent + bias, 4)
  c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(candidate)
  h = _sigmoid(o) * np.tanh(c)
  return h, (h, c)


def _norm(x, scale, offset=0.0):
  return scale * (x - x.mean()) / np.sqrt(x.var() + 1e-3) + offset


def _layer_norm_lstm_step(
    x, state, kernel, recurrent, bias, kernel_scale, recurrent_scale,
    cell_scale, cell_offset,
):
  """Ba's cell with one bias; (output, cell)."""
  h, c = state
  sums = _norm(x @ kernel, kernel_scale) + _norm(h @ recurrent, recurrent_scale)
  i, f, candidate, o = np.split(sums + bias, 4)
  c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(candidate)
  h = _sigmoid(o) * np.tanh(_norm(c, cell_scale, cell_offset))
  return h, (h, c)


def _gru_step(x, state, kernel, recurrent, bias):
  """Cho's cell; its update gate z keeps, its reset gate r forgets."""
  (h,) = state
  w_z, w_r, w_h = np.split(kernel, 3, axis=1)
  u_z, u_r, u_h = np.split(recurrent, 3, axis=1)
  b_z, b_r, b_h = np.split(bias, 3)
  z = _sigmoid(x @ w_z + h @ u_z + b_z)
  r = _sigmoid(x @ w_r + h @ u_r + b_r)
  candidate = np.tanh(x @ w_h + (r * h) @ u_h + b_h)
  h = z * h + (1 - z) * candidate
  return h, (h,)


_CORES = {
    'lstm': (recurrent_cores.LSTMCore, _lstm_step, 2, 4),
    'layer_norm_lstm': (
        recurrent_cores.LayerNormLSTMCore, _layer_norm_lstm_step, 2, 4
    ),
    'gru': (recurrent_cores.GRUCore, _gru_step, 1, 3),
}


class _Case:
  """A core with weights of the order of 1, and its slow twin."""

  def __init__(self, name, seed=3):
    core_class, self._step, self.num_states, self.num_gates = _CORES[name]
    self.core = core_class(_UNITS)
    self._rng = np.random.default_rng(seed)
    self.core(tf.zeros([1, 2]))
    for variable in self.core.variables:
      variable.assign(self._rng.normal(0, 0.8, size=variable.shape))

  def features(self, *shape):
    return self._rng.normal(size=[*shape, 2]).astype(np.float32)

  def flat_states(self, batch_size):
    """Arrays [B, units], one for each tensor of a state."""
    return [
        self._rng.normal(size=[batch_size, _UNITS]).astype(np.float32)
        for _ in range(self.num_states)
    ]

  def pack(self, flat_states):
    return tuple(flat_states) if self.num_states > 1 else flat_states[0]

  def call(self, features, step_types, *flat_states):
    """The core, and its new state as a list."""
    state = self.pack(flat_states) if flat_states else ()
    outputs, state = self.core(features, step_types, state)
    return outputs, tf.nest.flatten(state)

  def by_hand(self, features, step_types=None, flat_states=None):
    """The same row for row and step for step, in float64."""
    weights = [v.numpy().astype(np.float64) for v in self.core.variables]
    outputs, finals = np.zeros([*features.shape[:2], _UNITS]), []
    for b, row in enumerate(features):
      zeros = (np.zeros(_UNITS),) * self.num_states
      state = zeros
      if flat_states is not None:
        state = tuple(x[b].astype(np.float64) for x in flat_states)
      for t, x in enumerate(row.astype(np.float64)):
        if step_types is not None and step_types[b, t] == _FIRST:
          state = zeros
        outputs[b, t], new_state = self._step(x, state, *weights)
        if step_types is None or step_types[b, t] != _LAST:
          state = new_state
      finals.append(state)
    return outputs, [np.stack(x) for x in zip(*finals)]


@pytest.fixture(name='case', params=list(_CORES))
def _case(request):
  return _Case(request.param)


def _assert_close(found, expected):
  """Compares (outputs, flat states)."""
  np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)
  assert len(found[1]) == len(expected[1])
  for x, y in zip(found[1], expected[1]):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------- the two equations
@tensors.in_every_mode
def test_unroll_by_hand(run, case):
  features, states = case.features(3, 5), case.flat_states(3)
  _assert_close(
      run(case.call, features, _STEP_TYPES, *states),
      case.by_hand(features, _STEP_TYPES, states),
  )


@tensors.in_every_mode
def test_sequences_of_one_step_by_hand(run, case):
  features, states = case.features(3, 1), case.flat_states(3)
  found = run(case.call, features, _STEP_TYPES[:, :1], *states)
  assert found[0].shape == (3, 1, _UNITS)
  _assert_close(found, case.by_hand(features, _STEP_TYPES[:, :1], states))


@tensors.in_every_mode
def test_single_steps_by_hand(run, case):
  features, states = case.features(3, 1), case.flat_states(3)
  found = run(case.call, features[:, 0], _STEP_TYPES[:, 0], *states)
  outputs, finals = case.by_hand(features, _STEP_TYPES[:, :1], states)
  _assert_close(found, (outputs[:, 0], finals))
  # Each row was reset or kept by its own step type.
  kept = case.by_hand(features, None, states)[0][:, 0]
  differs = np.abs(found[0] - kept).max(axis=1) > 1e-3
  assert differs.tolist() == [False, True, False]


# --------------------------------------------------------------------- states
def test_no_step_type_resets_nothing(case):
  features, states = case.features(3, 5), case.flat_states(3)
  found = case.call(features, None, *states)
  _assert_close(found, case.by_hand(features, None, states))
  mid = case.call(features, np.full([3, 5], _MID, np.int32), *states)
  np.testing.assert_allclose(found[0], mid[0], atol=1e-6)


@pytest.mark.parametrize('nothing', [(), None])
def test_no_state_is_zero(case, nothing):
  features = case.features(3, 5)
  zeros = case.by_hand(
      features, None, [np.zeros([3, _UNITS])] * case.num_states
  )
  outputs, state = case.core(features, None, nothing)
  _assert_close((outputs, tf.nest.flatten(state)), zeros)
  step, _ = case.core(features[:, 0], None, nothing)
  np.testing.assert_allclose(step, zeros[0][:, 0], rtol=1e-5, atol=1e-6)


def test_state_is_what_the_spec_says(case):
  spec = case.core.state_spec
  assert spec == case.pack(
      [tf.TensorSpec([_UNITS], tf.float32, 'state')] * case.num_states
  )
  # Reverb's tables refuse lists, wrapped ones too.
  for step_types in (None, _STEP_TYPES):
    _, state = case.core(case.features(3, 5), step_types)
    if case.num_states == 2:
      assert type(spec) is tuple and type(state) is tuple
    for leaf, leaf_spec in zip(tf.nest.flatten(state), tf.nest.flatten(spec)):
      assert leaf_spec.is_compatible_with(leaf[0])


def test_output_is_the_first_of_an_lstms_state():
  case = _Case('lstm')
  outputs, (h, c) = case.core(case.features(3, 5))
  np.testing.assert_array_equal(outputs[:, -1], h)
  assert np.abs(h - c).max() > 0.05


# -------------------------------------------------------------------- weights
def test_first_weights(case):
  tf.random.set_seed(1)
  core = type(case.core)(_UNITS)
  core(tf.zeros([1, 2]))
  kernel, recurrent, bias = [v.numpy() for v in core.variables[:3]]
  width = case.num_gates * _UNITS
  assert kernel.shape == (2, width)
  # Rows of length 1 at right angles.
  np.testing.assert_allclose(kernel @ kernel.T, np.eye(2), atol=1e-5)
  np.testing.assert_allclose(recurrent @ recurrent.T, np.eye(_UNITS), atol=1e-5)
  # Forget gates are the second of an LSTM's four.
  expected = np.zeros(width)
  if case.num_gates == 4:
    expected[_UNITS : 2 * _UNITS] = 1
  np.testing.assert_array_equal(bias, expected)


def test_two_cores_start_with_weights_of_their_own(case):
  def weights():
    core = type(case.core)(_UNITS)
    core(tf.zeros([1, 2]))
    return [v.numpy() for v in core.variables[:2]]

  tf.random.set_seed(7)
  first, second = weights(), weights()
  tf.random.set_seed(7)
  again = weights()
  for x, y, z in zip(first, second, again):
    assert np.abs(x - y).max() > 0.05
    np.testing.assert_array_equal(x, z)
  # Input and recurrent weights of one size are no copies of each other.
  square = type(case.core)(_UNITS)
  square(tf.zeros([1, _UNITS]))
  kernel, recurrent, *_ = [v.numpy() for v in square.variables]
  assert np.abs(kernel - recurrent).max() > 0.05


def test_gradient_goes_through_time_and_stops_where_an_episode_begins(case):
  features, states = case.features(3, 5), case.flat_states(3)

  def last_outputs(features, *states):
    outputs, _ = case.call(features, _STEP_TYPES, *states)
    return tf.reduce_sum(outputs[:, 3])

  by_features, *by_states = tensors.gradient(last_outputs, features, *states)
  reached = np.abs(by_features).max(axis=-1) > 1e-7
  np.testing.assert_array_equal(
      reached,
      np.array([
          [False, True, True, True, False],
          [False, True, True, True, False],
          [True, True, False, True, False],
      ]),
  )
  for gradient in by_states:
    np.testing.assert_array_equal(
        np.abs(gradient).max(axis=-1) > 1e-7, [False, False, True]
    )


def test_an_lstm_in_bfloat16_rounds_its_products():
  case = _Case('lstm')
  features, states = case.features(3, 5), case.flat_states(3)
  exact = case.by_hand(features, _STEP_TYPES, states)
  case.core = _with_weights_of(
      case.core, recurrent_cores.LSTMCore(_UNITS, 'bfloat16')
  )
  for core in (case.core, _with_weights_of(case.core, case.core.fresh())):
    case.core = core
    assert {v.dtype for v in core.variables} == {tf.float32}
    outputs, finals = case.call(features, _STEP_TYPES, *states)
    assert outputs.dtype == finals[0].dtype == tf.float32
    for x, y in zip((outputs, *finals), (exact[0], *exact[1]), strict=True):
      assert 1e-4 < np.abs(x - y).max() < 0.05
    # Steps one by one, with the states of the steps before.
    state = states
    for t in range(5):
      output, state = case.call(features[:, t], _STEP_TYPES[:, t], *state)
      np.testing.assert_allclose(output, outputs[:, t], atol=1e-2)
      assert t or np.abs(output - exact[0][:, 0]).max() > 1e-5


def _with_weights_of(core, other):
  """Returns the other core with the weights of the first one."""
  other(tf.zeros([1, 2]))
  for mine, theirs in zip(other.variables, core.variables, strict=True):
    mine.assign(theirs)
  return other


# ------------------------------------------------------------------ arguments
def test_compute_dtype_that_cannot_be():
  with pytest.raises(ValueError, match="compute_dtype must be .*'float16'"):
    recurrent_cores.LSTMCore(3, 'float16')


@pytest.mark.parametrize('name', list(_CORES))
@pytest.mark.parametrize('units', [0, -2, 2.0, '8', True, None])
def test_units_that_cannot_be(name, units):
  core_class = _CORES[name][0]
  with pytest.raises(
      ValueError, match=f'{core_class.__name__}.units .*integer'
  ):
    core_class(units)


class _SumCell(tf.keras.layers.Layer):
  """Adds up what it sees."""

  def __init__(self, units):
    super().__init__()
    self.state_size = self.output_size = units

  def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
    return tf.zeros([batch_size, self.state_size], dtype)

  def call(self, inputs, states, training=False):
    total = states + inputs
    return total, total


class _SumCore(recurrent_cores.RecurrentCore):

  def __init__(self, units):
    super().__init__(units, tf.TensorSpec([units], tf.float32), 'SumCore')

  def _create_cell(self):
    return _SumCell(self.units)


class _ScaledCore(_SumCore):

  def __init__(self, units, scale=1.0):
    self.scale = scale
    super().__init__(units)


class _OwnScaledCore(_ScaledCore):

  def fresh(self):
    return _OwnScaledCore(self.units, self.scale)


def test_a_fresh_core_is_like_the_one_before():
  for core in (
      recurrent_cores.LSTMCore(3, name='Other'),
      recurrent_cores.GRUCore(3),
      _SumCore(3),
  ):
    fresh = core.fresh()
    assert fresh is not core and type(fresh) is type(core)
    assert fresh.units == 3 and fresh.state_spec == core.state_spec
  # What only its class knows must not fall back to a default.
  with pytest.raises(TypeError, match='scale'):
    _ScaledCore(3, scale=2.0).fresh()
  assert _OwnScaledCore(3, scale=2.0).fresh().scale == 2.0


def test_a_core_of_ones_own():
  outputs, state = _SumCore(1)(
      tf.constant([[[1.0], [2.0], [4.0], [16.0], [8.0]]]),
      tf.constant([[_MID, _MID, _FIRST, _LAST, _MID]]),
      tf.constant([[100.0]]),
  )
  np.testing.assert_array_equal(outputs[0, :, 0], [101, 103, 4, 20, 12])
  np.testing.assert_array_equal(state, [[12]])
  with pytest.raises(TypeError, match='_create_cell'):
    recurrent_cores.RecurrentCore(3, tf.TensorSpec([3]), 'Core')
