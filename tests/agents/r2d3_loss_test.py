# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What R2D3's loss depends on, and what may not matter."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.replay import episode_cutter
from rnd_agents.replay import sequences
from tests.agents import slow_r2d3


def _loss_of(agent, experience, states=None, **kwargs):
  return float(agent.loss(experience, network_state=states, **kwargs).loss)


def test_states_before_the_first_frames():
  agent = slow_r2d3.build_agent()
  spec = agent._q_network.state_spec
  experience = slow_r2d3.sequences()
  flat = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  stored = _loss_of(agent, experience, tf.nest.pack_sequence_as(spec, flat))
  for same in (tuple(flat), flat):
    assert _loss_of(agent, experience, same) == stored
  zeros = _loss_of(agent, experience, tuple(map(tf.zeros_like, flat)))
  assert abs(zeros - stored) > 1e-3
  assert _loss_of(agent, experience) == zeros
  twin = slow_r2d3.build_agent(recurrent_state_init='zero')
  slow_r2d3.copy_networks(
      (agent._q_network, agent._target_q_network),
      (twin._q_network, twin._target_q_network),
  )
  assert _loss_of(twin, experience, tuple(flat)) == zeros
  # Where an episode begins, nothing was before.
  fresh = slow_r2d3.sequences(['FMMMMMMM'] * 5)
  assert _loss_of(agent, fresh, flat) == _loss_of(agent, fresh)
  # Output and cell are not each other.
  assert abs(_loss_of(agent, experience, flat[::-1]) - stored) > 1e-3


def test_whitened_observations():
  agent = slow_r2d3.build_agent()
  nets = agent._q_network, agent._target_q_network
  whitening = slow_r2d3.build_agent(normalize_observations=True)
  slow_r2d3.copy_networks(
      nets, (whitening._q_network, whitening._target_q_network)
  )
  experience = slow_r2d3.sequences()
  far = experience.replace(
      observation=1e4 + 3.0 * experience.observation
  )
  row = tf.nest.map_structure(lambda x: x[:, 0], far)
  mask = tf.constant([True, False, True, True, True])
  for _ in range(2):  # As observers are called, row by row.
    whitening.update_statistics(row, mask)
  seen = row.observation.numpy()[mask.numpy()].astype(np.float64)
  moments = whitening.observation_normalizer._flat_moments[0]
  np.testing.assert_allclose(moments.mean, seen.mean(0), rtol=1e-4)
  moments.mean.assign([1e4] * 3)
  moments.variance.assign([9.0] * 3)
  expected = _loss_of(
      agent, experience.replace(observation=(far.observation - 1e4) / 3.0)
  )
  assert abs(_loss_of(agent, far) - expected) > 1e-3
  np.testing.assert_allclose(_loss_of(whitening, far), expected, rtol=1e-4)
  # Acting whitens, too, with variables that a saved policy has.
  for policy in (whitening.policy, whitening.collect_policy):
    names = [id(variable) for variable in policy.variables()]
    assert id(moments.mean) in names and id(moments.variance) in names


def _garbage(experience, mask, observation):
  """Frames [B, L] where the mask is True hold nothing that makes sense."""
  mask = tf.constant(mask)

  def spoil(x, value):
    value = tf.cast(value, x.dtype)
    return tf.where(
        tf.reshape(mask, mask.shape + [1] * (x.shape.rank - 2)), value, x
    )

  return experience.replace(
      action=spoil(experience.action, 2),
      reward=spoil(experience.reward, np.nan),
      discount=spoil(experience.discount, np.nan),
      observation=spoil(experience.observation, observation),
  )


def _loss_and_gradients(agent, experience, states):
  with tf.GradientTape() as tape:
    loss, info = agent.loss(
        experience,
        weights=tf.constant(slow_r2d3.WEIGHTS),
        network_state=states,
        is_demonstration=tf.constant(slow_r2d3.DEMONSTRATIONS),
    )
  gradients = tape.gradient(loss, agent._q_network.trainable_variables)
  return [loss, *info, *map(tf.convert_to_tensor, gradients)]


@pytest.mark.parametrize('core', ['lstm', 'none'])
def test_nothing_after_the_end_matters(core):
  agent = slow_r2d3.build_agent(
      core=core,
      one_step_weight=1.0,
      margin_weight=1.0,
      priorities_from='losses',
  )
  states = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  experience = slow_r2d3.sequences([
      'FMMTLLLL', 'MMMMLLLL', 'MLLLLLLL', 'MMMMMMMT', 'FMMMMTLL',
  ])
  is_last = experience.step_type.numpy() == slow_r2d3.LAST
  padding = np.cumsum(is_last, 1) > 1
  expected = _loss_and_gradients(agent, experience, states)
  assert expected[0] > 0.1
  # Of the frame that ends an episode the observation matters, nothing else.
  spoiled = _garbage(experience, padding, 1e3)
  spoiled = spoiled.replace(
      reward=_garbage(experience, is_last, 0).reward,
      discount=_garbage(experience, is_last, 0).discount,
      action=_garbage(experience, is_last, 0).action,
      next_step_type=tf.ones_like(experience.next_step_type),
  )
  found = _loss_and_gradients(agent, spoiled, states)
  for x, y in zip(expected, found, strict=True):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
  at_the_end = _garbage(experience, is_last & ~padding, 0).observation
  moved = experience.replace(observation=at_the_end)
  assert abs(_loss_of(agent, moved, states) - _loss_of(
      agent, experience, states
  )) > 1e-4


def _cut(episode, unroll_length, remainder):
  """The sequences of an episode [1, T+1], a `Trajectory` [C, L]."""
  found = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(unroll_length, remainder=remainder),
      lambda some: found.append(some.trajectory),
  )
  cutter(episode)
  return tf.nest.map_structure(lambda *x: tf.concat(x, axis=0), *found)


@pytest.mark.parametrize('end', 'TL')
@pytest.mark.parametrize('mean_over_time', [False, True])
def test_a_filled_sequence_is_its_steps(end, mean_over_time):
  agent = slow_r2d3.build_agent(
      core='none',
      n_step=1,
      burn_in_length=0,
      margin_weight=1.0,
      mean_over_time=mean_over_time,
  )

  def info(experience):
    flags = tf.fill(experience.step_type.shape[:1], True)
    return agent.loss(experience, is_demonstration=flags)

  episode = slow_r2d3.sequences([f'FMMMMM{end}'])
  alone = _cut(episode, 1, 'pad')
  steps = []
  for t in range(6):
    one = tf.nest.map_structure(lambda x, t=t: x[t : t + 1], alone)
    steps.append(float(info(one).loss))
  assert len(set(np.round(steps, 3))) == 6
  expected = np.mean([sum(steps[:4]), steps[4] + 3 * steps[5]])
  filled = info(_cut(episode, 4, 'fill'))
  np.testing.assert_allclose(
      filled.loss, expected / (4 if mean_over_time else 1), rtol=1e-5
  )
  # Priorities and metrics see a step once.
  padded = info(_cut(episode, 4, 'pad'))
  assert abs(float(padded.loss) - float(filled.loss)) > 1e-3
  for name, value in padded.extra._asdict().items():
    np.testing.assert_allclose(getattr(filled.extra, name), value, rtol=1e-6)


def test_shapes_need_not_be_known():
  agent = slow_r2d3.build_agent(core='gru', margin_weight=1.0)
  states = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  experience = slow_r2d3.sequences()
  arguments = experience, states, tf.constant(slow_r2d3.WEIGHTS), tf.constant(
      slow_r2d3.DEMONSTRATIONS
  )
  signature = tf.nest.map_structure(
      lambda x: tf.TensorSpec(
          [None] * min(x.shape.rank, 2) + x.shape[2:].as_list(), x.dtype
      ),
      arguments,
  )
  signature[1][:] = [tf.TensorSpec([None, *x.shape[1:]]) for x in states]

  @tf.function(input_signature=signature, autograph=False)
  def run(experience, states, weights, is_demonstration):
    return agent.loss(
        experience,
        weights=weights,
        network_state=states,
        is_demonstration=is_demonstration,
    )

  expected = agent.loss(
      experience,
      weights=arguments[2],
      network_state=states,
      is_demonstration=arguments[3],
  )
  for x, y in zip(*map(tf.nest.flatten, (expected, run(*arguments)))):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
