# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chunks as trajectories, and the states that they begin with."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders
from rnd_agents.networks import recurrent_cores
from rnd_agents.replay import sequences
from tests import tensors

_FIRST, _MID, _LAST = (
    int(ts.StepType.FIRST), int(ts.StepType.MID), int(ts.StepType.LAST)
)


# ----------------------------------------------------------------------- take
def _trajectory(batch_size=1):
  """x1 to x6 with rewards 10 to 60, of which x6 is done; then 110 to 160."""
  steps = np.arange(6) + 10 * np.arange(batch_size)[:, np.newaxis]  # [B, 6]
  ends = steps % 10 == 5
  rewards = np.float32(10 * (steps + 1))
  return trajectory.Trajectory(
      step_type=np.where(steps % 10 == 0, _FIRST, _MID).astype(np.int32),
      observation={
          'image': np.uint8(np.tile(steps[..., np.newaxis, np.newaxis],
                                    [1, 1, 2, 3])),
          'number': np.int64(steps + 1),
      },
      action=np.float32(np.stack([steps, -steps], axis=-1)),
      policy_info={'value': np.float32(rewards / 4)},
      next_step_type=np.where(ends, _LAST, _MID).astype(np.int32),
      reward=rewards,
      discount=np.where(ends, 0, 1).astype(np.float32),
  )


def _take(run, batch_size, *args, **kwargs):
  """Chunks of `_trajectory`."""
  whole = _trajectory(batch_size)

  def take(*flat):
    return tf.nest.flatten(
        sequences.take(
            tf.nest.pack_sequence_as(whole, list(flat)),
            sequences.cut(6, *args, **kwargs),
        )
    )

  return tf.nest.pack_sequence_as(whole, run(take, *tf.nest.flatten(whole)))


@tensors.in_every_mode
def test_padding_is_done(run):
  taken = _take(run, 1, 4)
  np.testing.assert_array_equal(
      taken.reward, [[10, 20, 30, 40], [50, 60, 0, 0]]
  )
  np.testing.assert_array_equal(
      taken.step_type, [[_FIRST, _MID, _MID, _MID], [_MID, _MID, _LAST, _LAST]]
  )
  np.testing.assert_array_equal(
      taken.next_step_type,
      [[_MID, _MID, _MID, _MID], [_MID, _LAST, _FIRST, _FIRST]],
  )
  # Done from x6 on.
  np.testing.assert_array_equal(taken.discount, [[1, 1, 1, 1], [1, 0, 0, 0]])
  # No step of the padding is one of an episode.
  np.testing.assert_array_equal(
      taken.is_boundary(), [[False] * 4, [False, False, True, True]]
  )
  assert taken.step_type.dtype == taken.next_step_type.dtype == np.int32
  assert taken.reward.dtype == taken.discount.dtype == np.float32


@pytest.mark.parametrize('is_done', [False, True])
def test_padding_after_an_episode_that_goes_on(is_done):
  # Where the sequence ends inside an episode padding is done all the same.
  whole = _trajectory().replace(
      discount=np.ones([1, 6], np.float32),
      next_step_type=np.int32([[_MID] * 5 + [_LAST if is_done else _MID]]),
  )
  taken = sequences.take(
      tf.nest.map_structure(tf.constant, whole), sequences.cut(6, 4)
  )
  np.testing.assert_array_equal(taken.discount[1], [1, 1, 0, 0])
  np.testing.assert_array_equal(
      taken.next_step_type[1],
      [_MID, _LAST if is_done else _MID, _FIRST, _FIRST],
  )
  np.testing.assert_array_equal(taken.step_type[1], [_MID, _MID, _LAST, _LAST])


def test_filling_repeats_all_of_the_last_step():
  taken = _take(tensors.eager, 1, 4, remainder='fill')
  np.testing.assert_array_equal(taken.reward[1], [50, 60, 60, 60])
  np.testing.assert_array_equal(taken.discount[1], [1, 0, 0, 0])
  np.testing.assert_array_equal(taken.step_type[1], [_MID] * 4)
  np.testing.assert_array_equal(
      taken.next_step_type[1], [_MID, _LAST, _LAST, _LAST]
  )
  np.testing.assert_array_equal(taken.observation['number'][1], [5, 6, 6, 6])


@tensors.in_every_mode
def test_two_sequences_and_all_that_a_step_holds(run):
  taken = _take(run, 2, 4)
  # The chunks of a sequence follow on each other.
  np.testing.assert_array_equal(
      taken.reward,
      [
          [10, 20, 30, 40],
          [50, 60, 0, 0],
          [110, 120, 130, 140],
          [150, 160, 0, 0],
      ],
  )
  np.testing.assert_array_equal(
      taken.step_type[2:],
      [[_FIRST, _MID, _MID, _MID], [_MID, _MID, _LAST, _LAST]],
  )
  steps = np.array(
      [[0, 1, 2, 3], [4, 5, 5, 5], [10, 11, 12, 13], [14, 15, 15, 15]]
  )
  is_step = np.array([[1, 1, 1, 1], [1, 1, 0, 0]] * 2, bool)
  for found, expected in (
      (taken.observation['number'], steps + 1),
      (taken.observation['image'][..., 0, 0], steps),
      (taken.observation['image'][..., 1, 2], steps),
      (taken.action[..., 0], steps),
      (taken.action[..., 1], -steps),
      (taken.policy_info['value'], 2.5 * (steps + 1)),
  ):
    assert found.shape == (4, 4)
    np.testing.assert_array_equal(found[is_step], expected[is_step])
  assert taken.observation['image'].shape == (4, 4, 2, 3)
  assert taken.observation['image'].dtype == np.uint8
  assert taken.observation['number'].dtype == np.int64


def test_nothing_to_take():
  taken = _take(tensors.eager, 2, 8, remainder='drop')
  assert taken.reward.shape == (0, 8)
  assert taken.observation['image'].shape == (0, 8, 2, 3)


def test_one_chunk_is_the_sequence():
  whole, taken = _trajectory(2), _take(tensors.eager, 2)
  tf.nest.map_structure(np.testing.assert_array_equal, taken, whole)


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
  chunks = sequences.cut(8, 2, burn_in_length=4)

  def at(steps, nest):
    return tf.nest.map_structure(lambda x: tf.gather(x, steps), nest)

  chunk_observations = tf.gather(observations[0], chunks.steps)
  chunk_step_types = tf.gather(step_types[0], chunks.steps)
  # The third chunk's burn-in begins with the sequence, in a state of zeros; in
  # the fourth's, steps 2 to 5, an episode begins.
  zeros = tf.nest.map_structure(
      tf.zeros_like, at(chunks.burn_in[:, 0], stored)
  )
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
