# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the chunks of rollouts, and of the states that they begin with."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders
from rnd_agents.networks import recurrent_cores
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import sequences
from tests import tensors

_FIRST, _MID = int(ts.StepType.FIRST), int(ts.StepType.MID)


def _settings(unroll_length=None, burn_in_length=0, remainder='pad'):
  return sequences.SequenceSettings(
      unroll_length, burn_in_length, remainder=remainder
  )


def _cut(num_steps, *args, **kwargs):
  """Chunks as NumPy arrays."""
  return tf.nest.map_structure(
      np.asarray, sequences.cut(num_steps, _settings(*args, **kwargs))
  )


def _slow_chunks(num_steps, settings):
  """Chunks as lists, one step after another."""
  length = settings.unroll_length or num_steps
  result = sequences.Chunks([], [], [], [])
  counted = set()
  start = 0
  while len(counted) < num_steps:
    missing = max(start + length - num_steps, 0)
    if missing and settings.remainder == 'drop':
      break
    if missing and settings.remainder == 'shift':
      start = max(num_steps - length, 0)
    steps = list(range(start, min(start + length, num_steps)))
    weights = [float(step not in counted) for step in steps]
    counted.update(steps)
    missing = length - len(steps)
    if missing and settings.remainder == 'fill':
      weights[-1] += missing
    before = range(start - settings.burn_in_length, start)
    result.steps.append(steps + [steps[-1]] * missing)
    result.weights.append(weights + [0.0] * missing)
    result.burn_in.append([max(step, 0) for step in before])
    result.has_burn_in.append(all(step >= 0 for step in before))
    start += length
  return result


def _assert_chunks(found, num_steps, settings):
  """Compares with the lists of `_slow_chunks`."""
  expected = _slow_chunks(num_steps, settings)
  num_chunks = len(expected.steps)
  length = settings.unroll_length or num_steps
  for name, shape in (
      ('steps', [num_chunks, length]),
      ('weights', [num_chunks, length]),
      ('burn_in', [num_chunks, settings.burn_in_length]),
      ('has_burn_in', [num_chunks]),
  ):
    np.testing.assert_array_equal(
        getattr(found, name), np.reshape(getattr(expected, name), shape), name
    )
  assert [x.dtype for x in found] == [np.int32, np.float32, np.int32, np.bool_]


# ------------------------------------------------------------------------ cut
@pytest.mark.parametrize(
    'num_steps, unroll_length, remainder, expected',
    [
        (6, 4, 'fill', [[1, 2, 3, 4], [5, 6, 6, 6]]),
        (6, 4, 'drop', [[1, 2, 3, 4]]),
        (6, 4, 'pad', [[1, 2, 3, 4], [5, 6, 6, 6]]),
        (6, 4, 'shift', [[1, 2, 3, 4], [3, 4, 5, 6]]),
        (2, 4, 'fill', [[1, 2, 2, 2]]),
        (2, 4, 'drop', []),
        (2, 4, 'pad', [[1, 2, 2, 2]]),
        (2, 4, 'shift', [[1, 2, 2, 2]]),
        *itertools.chain.from_iterable(
            (
                (6, 3, remainder, [[1, 2, 3], [4, 5, 6]]),
                (3, 1, remainder, [[1], [2], [3]]),
                (6, None, remainder, [[1, 2, 3, 4, 5, 6]]),
                (1, None, remainder, [[1]]),
            )
            for remainder in sequences.REMAINDERS
        ),
    ],
)
def test_steps_of_the_documentation(
    num_steps, unroll_length, remainder, expected
):
  steps = _cut(num_steps, unroll_length, remainder=remainder).steps
  assert (steps + 1).tolist() == expected
  assert steps.shape == (len(expected), unroll_length or num_steps)


@pytest.mark.parametrize(
    'remainder, expected',
    [
        # x6 stands three times and counts for all three at its own place.
        ('fill', [[1, 1, 1, 1], [1, 3, 0, 0]]),
        ('drop', [[1, 1, 1, 1]]),
        ('pad', [[1, 1, 1, 1], [1, 1, 0, 0]]),
        # x3 and x4 have counted in the chunk before.
        ('shift', [[1, 1, 1, 1], [0, 0, 1, 1]]),
    ],
)
def test_weights(remainder, expected):
  assert _cut(6, 4, remainder=remainder).weights.tolist() == expected
  assert _cut(6, 3, remainder=remainder).weights.tolist() == [[1] * 3] * 2
  assert _cut(6, remainder=remainder).weights.tolist() == [[1] * 6]


def test_chunks_that_overlap_count_each_step_once():
  chunks = sequences.cut(7, sequences.SequenceSettings(4, 0, 2))
  assert chunks.steps.numpy().tolist() == [
      [0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 6]
  ]
  assert chunks.weights.numpy().tolist() == [
      [1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0]
  ]


def test_burn_in():
  chunks = _cut(8, 2, burn_in_length=3)
  assert chunks.has_burn_in.tolist() == [False, False, True, True]
  assert chunks.burn_in.tolist()[2:] == [[1, 2, 3], [3, 4, 5]]
  assert chunks.steps.tolist()[2:] == [[4, 5], [6, 7]]
  # Just long enough.
  chunks = _cut(6, 2, burn_in_length=2)
  assert chunks.has_burn_in.tolist() == [False, True, True]
  assert chunks.burn_in.tolist()[1:] == [[0, 1], [2, 3]]
  # All of the steps are learned from none the less.
  assert chunks.weights.tolist() == [[1, 1]] * 3
  assert _cut(6, 2).burn_in.shape == (3, 0)


def test_burn_in_longer_than_the_rollout_can_be_gathered():
  # What a chunk has not got is step 0, never one behind the rollout.
  chunks = _cut(3, 2, burn_in_length=5)
  assert chunks.has_burn_in.tolist() == [False, False]
  assert chunks.burn_in.tolist() == [[0] * 5, [0, 0, 0, 0, 1]]


@pytest.mark.parametrize('remainder', sequences.REMAINDERS)
def test_random_lengths_against_a_slow_loop(remainder):
  rng = np.random.default_rng(sequences.REMAINDERS.index(remainder))
  cases = [
      (int(rng.integers(1, 20)), int(rng.integers(1, 9)), int(rng.integers(7)))
      for _ in range(30)
  ]
  for num_steps, *lengths in [*cases, (11, None, 0)]:
    settings = _settings(*lengths, remainder=remainder)
    _assert_chunks(
        tf.nest.map_structure(np.asarray, sequences.cut(num_steps, settings)),
        num_steps,
        settings,
    )


def _graph_cut(settings, dtype):
  return tf.function(
      lambda num_steps: sequences.cut(num_steps, settings),
      [tf.TensorSpec([], dtype)],
      autograph=False,
  )


@pytest.mark.parametrize('remainder', sequences.REMAINDERS)
@pytest.mark.parametrize('dtype', [tf.int32, tf.int64])
def test_length_known_only_to_the_graph(remainder, dtype):
  for lengths in ((4, 3), (None, 0), (np.int64(1), 1)):
    settings = _settings(*lengths, remainder=remainder)
    cut = _graph_cut(settings, dtype)
    for num_steps in (1, 4, 6):
      _assert_chunks(
          tf.nest.map_structure(np.asarray, cut(tf.constant(num_steps, dtype))),
          num_steps,
          settings,
      )


def test_a_known_length_is_known_to_the_graph():
  # Networks are unrolled by the static shape.
  shapes = []

  @tf.function(autograph=False)
  def trace():
    chunks = sequences.cut(6, _settings(4, 2))
    shapes.extend(part.shape.as_list() for part in chunks)
    return chunks

  trace()
  assert shapes == [[2, 4], [2, 4], [2, 2], [2]]


# ----------------------------------------------------------- SequenceSettings
@pytest.mark.parametrize(
    'arguments, error, message',
    [
        ({'unroll_length': 0}, ValueError, 'unroll_length .*got 0'),
        ({'unroll_length': 4.0}, TypeError, 'unroll_length .*integer.*4.0'),
        ({'unroll_length': True}, TypeError, 'unroll_length .*integer.*True'),
        ({'burn_in_length': -1}, ValueError, 'burn_in_length .*got -1'),
        ({'burn_in_length': None}, TypeError, 'burn_in_length .*integer.*None'),
        ({'unroll_length': None, 'burn_in_length': 2}, ValueError,
         'burn_in_length=2 needs Owner.unroll_length'),
        ({'period': 0}, ValueError, 'every .*got 0'),
        ({'period': 1.5}, TypeError, 'every .*integer'),
        ({'period': 5}, ValueError, 'every=5 .*Owner.unroll_length=4'),
        ({'remainder': 'last'}, ValueError, "rest .*'shift'.*'last'"),
        ({'remainder': None}, ValueError, "rest .*'shift'.*None"),
    ],
)
def test_settings_that_cut_nothing(arguments, error, message):
  settings = sequences.SequenceSettings(**{'unroll_length': 4, **arguments})
  with pytest.raises(error, match=f'Owner.{message}'):
    settings.check('Owner', True, period='every', remainder='rest')
  with pytest.raises(error, match=r'^SequenceSettings\.'):
    sequences.cut(6, settings)  # In their own name.
  with pytest.raises((TypeError, ValueError), match=r'^SequenceSettings\.'):
    episode_cutter.EpisodeCutter(settings, print)


@pytest.mark.parametrize('remainder', sequences.REMAINDERS)
def test_settings_that_cut(remainder):
  for lengths in ((1, 0), (np.int64(4), np.int32(9)), (None, 0)):
    _settings(*lengths, remainder=remainder).check(of_rollouts=True)


def test_an_episode_is_cut():
  settings = _settings(None)
  settings.check('Owner', of_rollouts=True)
  with pytest.raises(TypeError, match='unroll_length must be an int.*None'):
    settings.check('Owner')


def test_a_rollout_has_steps():
  with pytest.raises(ValueError, match='at least 1 step, got 0'):
    sequences.cut(0, _settings(4))


# -------------------------------------------------------------------- warm_up
def _running_sum(observations, step_types, states):
  """Unrolls s <- s / 2 + x, and s <- x where an episode begins."""
  states = dict(states)
  for t in range(observations['x'].shape[1]):
    keeps = 1.0 - tf.cast(step_types[:, t] == _FIRST, tf.float32)
    decayed = states['sum'] * keeps[:, tf.newaxis] / 2
    states['sum'] = decayed + observations['x'][:, t]
    states['count'] = states['count'] * tf.cast(keeps, tf.int32) + 1
  return states


@tensors.in_every_mode
def test_states_after_a_burn_in(run):
  def warm(x, step_types, before, count, stored, stored_count, has_burn_in):
    x = tf.ensure_shape(x, [None, 3, 1])
    return sequences.warm_up(
        _running_sum,
        {'x': x},
        step_types,
        {'sum': before, 'count': count},
        {'sum': stored, 'count': stored_count},
        has_burn_in,
    )

  states = run(
      warm,
      np.float32([[[1], [2], [3]]] * 4),
      np.int32([[_MID] * 3, [_MID] * 3, [_MID, _FIRST, _MID], [_FIRST] * 3]),
      np.float32([[8], [8], [8], [8]]),
      np.int32([10, 10, 10, 10]),
      np.float32([[-1], [-2], [-3], [-4]]),
      np.int32([-10, -20, -30, -40]),
      np.array([True, False, True, False]),
  )
  # 8 -> 5 -> 4.5 -> 5.25; from the second step on 2 -> 4.
  np.testing.assert_array_equal(states['sum'], [[5.25], [-2], [4], [-4]])
  np.testing.assert_array_equal(states['count'], [13, -20, 2, -40])


def _network(core):
  spec = tf.TensorSpec([2], tf.float32)
  return actor_critic_network.ActorCriticNetwork(
      spec,
      encoders.discrete_spec(3),
      encoders.create_encoder(spec, (4,)),
      core=core,
      policy_init_gain=1.0,
      value_init_gain=1.0,
  )


@pytest.mark.parametrize(
    'core_class', [recurrent_cores.LSTMCore, recurrent_cores.GRUCore]
)
def test_chunks_after_their_burn_in_are_the_whole_sequence(core_class):
  tf.random.set_seed(1)
  network = _network(core_class(3))
  rng = np.random.default_rng(0)
  observations = tf.constant(rng.normal(size=[1, 8, 2]), tf.float32)
  step_types = tf.constant([[_MID, _MID, _MID, _FIRST, _MID, _MID, _MID, _MID]])
  (_, values), _ = network(observations, step_types)
  # Stored with each step by an older network, or by none.
  shapes = tf.nest.flatten(core_class(3).state_spec)
  stored = tf.nest.pack_sequence_as(
      network.state_spec,
      [tf.constant(rng.normal(size=[8, 3]), tf.float32) for _ in shapes],
  )
  chunks = sequences.cut(8, _settings(2, 4))

  def at(steps, nest):
    return tf.nest.map_structure(lambda x: tf.gather(x, steps), nest)

  chunk_observations = tf.gather(observations[0], chunks.steps)
  chunk_step_types = tf.gather(step_types[0], chunks.steps)
  # The third chunk's burn-in begins with the sequence, in a state of zeros; in
  # the fourth's, steps 2 to 5, an episode begins.
  zeros = tf.nest.map_structure(tf.zeros_like, at(chunks.burn_in[:, 0], stored))
  states = sequences.warm_up(
      lambda x, s, state: network(x, s, state)[1],
      tf.gather(observations[0], chunks.burn_in),
      tf.gather(step_types[0], chunks.burn_in),
      zeros,
      at(chunks.steps[:, 0], stored),
      chunks.has_burn_in,
  )
  tf.nest.assert_same_structure(states, stored)
  for state, store in zip(tf.nest.flatten(states), tf.nest.flatten(stored)):
    np.testing.assert_array_equal(state[:2], store.numpy()[[0, 2]])
    assert np.abs(state[2:] - store.numpy()[[4, 6]]).min() > 1e-4
  (_, found), _ = network(chunk_observations, chunk_step_types, states)
  for chunk in (2, 3):
    np.testing.assert_allclose(
        found[chunk], values[0, 2 * chunk : 2 * chunk + 2], atol=1e-6
    )
  # Without a burn-in the stored states change what follows.
  assert np.abs(found[0] - values[0, :2]).max() > 1e-3


@pytest.mark.parametrize(
    'core_class', [recurrent_cores.LSTMCore, recurrent_cores.GRUCore]
)
def test_no_gradient_flows_through_a_burn_in(core_class):
  tf.random.set_seed(1)
  network = _network(core_class(3))
  rng = np.random.default_rng(0)

  def normal(*shape):
    return tf.constant(rng.normal(size=shape), tf.float32)

  def state():
    return tf.nest.map_structure(lambda _: normal(3, 3), network.state_spec)

  burn_in, chunk = normal(3, 4, 2), normal(3, 2, 2)
  before, stored = state(), state()
  has_burn_in = tf.constant([True, False, True])

  def warm():
    return sequences.warm_up(
        lambda x, s, state: network(x, s, state)[1],
        burn_in,
        tf.fill([3, 4], _MID),
        before,
        stored,
        has_burn_in,
    )

  def loss(states):
    (_, values), _ = network(chunk, tf.fill([3, 2], _MID), states)
    return tf.reduce_sum(tf.square(values))

  variables = network.trainable_variables
  with tf.GradientTape(persistent=True) as tape:
    tape.watch((burn_in, before, stored))
    states = warm()
    total = tf.add_n([tf.reduce_sum(x) for x in tf.nest.flatten(states)])
    result = loss(states)
  inputs = tf.nest.flatten((burn_in, before, stored))
  for gradient in (
      *tape.gradient(total, variables),
      *tape.gradient(total, inputs),
      *tape.gradient(result, inputs),
  ):
    assert gradient is None or not np.any(gradient)
  # The chunk's own steps teach as if its state were a number.
  numbers = tf.nest.map_structure(lambda x: tf.constant(x.numpy()), states)
  with tf.GradientTape() as plain:
    expected_result = loss(numbers)
  expected = plain.gradient(expected_result, variables)
  found = tape.gradient(result, variables)
  assert [x is None for x in found] == [x is None for x in expected]
  taught = [(x, y) for x, y in zip(found, expected) if x is not None]
  # Trunk, core and two value heads; the policy head is not asked.
  assert len(taught) == 2 + 3 + 4
  for x, y in taught:
    assert np.abs(y).max() > 1e-3
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
