# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A memory of decisions against a loop over one environment at a time."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import hierarchy
from rnd_agents import networks
from tests.agents import agent_test_utils as utils

_FIRST, _MID, _LAST = ts.StepType.FIRST, ts.StepType.MID, ts.StepType.LAST
_NUM_ENVIRONMENTS = 5
_NUM_STEPS = 8
_NUM_ROLLOUTS = 3


class _Goals(hierarchy.Goals):
  """Goals that observations make old, so that they are of all lengths."""

  def __init__(self, observation_spec):
    super().__init__(observation_spec, utils.DISCRETE)

  def reached(self, observation, goal):
    return observation[..., 0] > 0.8


def _upper(core, **settings):
  return utils.stir(
      utils.build_agent(
          sizes=dict(core=core(4)),
          discount_factor=0.9,
          num_epochs=1,
          num_minibatches=1,
          normalize_advantages=False,
          intrinsic_advantage_coefficient=0.0,
          optimizer=tf.keras.optimizers.SGD(0.5),
          **settings,
      )
  )


def _two_levels(core, **settings):
  goals = _Goals(utils.FLAT)
  lower = utils.build_agent(goals.lower_observation_spec, utils.DISCRETE)
  return hierarchy.TwoLevelAgent(
      ts.time_step_spec(utils.FLAT),
      utils.DISCRETE,
      _upper(core, **settings),
      lower,
      goals,
      goal_length=4,
      discount_factor=0.9,
  )


def _step_types(rng):
  """(step types, discounts) of an environment, with ends and time limits."""
  step_types, discounts = [], []
  while len(step_types) < _NUM_ROLLOUTS * _NUM_STEPS + 1:
    length = rng.integers(1, 14)
    step_types += [_FIRST] + [_MID] * (length - 1) + [_LAST]
    discounts += [1.0] * (length - 1) + [float(rng.random() < 0.5), 1.0]
  number = _NUM_ROLLOUTS * _NUM_STEPS + 1
  return np.array(step_types[:number], np.int32), np.float32(discounts[:number])


def _collected(agent):
  """Rows [B, all of them] as the agent collects them, step by step."""
  rng = np.random.default_rng(29)
  step_types, discounts = map(
      np.stack, zip(*[_step_types(rng) for _ in range(_NUM_ENVIRONMENTS)])
  )
  observations = rng.normal(size=[*step_types.shape, 3]).astype(np.float32)
  # Which row it is.
  observations[..., 2] = 0.01 * np.arange(step_types.shape[1])
  act = tf.function(agent.collect_policy.action, autograph=False)
  state = agent.collect_policy.get_initial_state(_NUM_ENVIRONMENTS)
  rows = []
  for t, step_type in enumerate(step_types.T):
    zeros, ones = tf.zeros_like(discounts[:, t]), tf.ones_like(discounts[:, t])
    observation = tf.constant(observations[:, t])
    step = act(
        ts.TimeStep(tf.constant(step_type), zeros, ones, observation), state
    )
    state = step.state
    rows.append(
        trajectory.Trajectory(
            step_type=tf.constant(step_type),
            observation=observation,
            action=step.action,
            policy_info=step.info,
            next_step_type=tf.constant(step_type),
            reward=tf.constant(rng.normal(size=len(ones)), tf.float32),
            discount=tf.constant(discounts[:, t]),
        )
    )
  return tf.nest.map_structure(lambda *x: tf.stack(x, axis=1), *rows)


def _rollouts(rows):
  """[B, T+1]: the last row of each is the first one of the next."""
  for i in range(_NUM_ROLLOUTS):
    start = i * _NUM_STEPS
    yield tf.nest.map_structure(
        lambda x, start=start: x[:, start : start + _NUM_STEPS + 1], rows
    )


def _slow_outputs(upper, rows):
  """{(environment, row): (logits, values, state before)} of the upper level.

  Each environment by itself, a decision after the other, as a network without
  batch, time or padding would have it.
  """
  network, found = upper.actor_net.actor_critic, {}
  for b in range(_NUM_ENVIRONMENTS):
    state = network.get_initial_state(batch_size=1)
    for t, step_type in enumerate(rows.step_type[b].numpy()):
      is_decision = rows.policy_info['is_decision'][b, t]
      if step_type == _FIRST:
        state = network.get_initial_state(batch_size=1)
      if not is_decision and step_type != _LAST:
        continue
      (distribution, values), new_state = network(
          rows.observation[b : b + 1, t], tf.constant([_MID]), state
      )
      flat = [x.numpy()[0] for x in tf.nest.flatten(state)]
      found[b, t] = distribution.logits[0], values[0], flat
      if is_decision:
        state = new_state
  return found


def _times(rollout):
  """Number of the row in which each decision was made, [B, N+1]."""
  return np.rint(100 * rollout.observation[..., 2].numpy()).astype(int)


@pytest.mark.parametrize(
    ('core', 'settings'),
    [
        (networks.LSTMCore, {}),
        (networks.GRUCore, dict(unroll_length=3, burn_in_length=2)),
    ],
)
def test_memory_is_that_of_each_environment_by_itself(core, settings):
  agent = _two_levels(core, **settings)
  upper, rows = agent.upper, _collected(agent)
  expected = _slow_outputs(upper, rows)
  num_padded = num_samples = 0
  for rollout in _rollouts(rows):
    decided, is_complete = agent.upper_experience(rollout)
    times, is_complete = _times(decided), is_complete.numpy()
    num_own = is_complete.sum(axis=1) + 1
    own = np.arange(times.shape[1]) >= times.shape[1] - num_own[:, np.newaxis]
    assert np.all(decided.step_type.numpy()[~own] == _LAST)
    num_padded += np.sum(
        (decided.step_type.numpy() == _MID) & ~np.roll(own, 1, axis=1) & own
    )
    for b, n in np.argwhere(is_complete & (decided.step_type != _LAST)):
      logits, _, state = expected[b, times[b, n]]
      info = decided.policy_info
      np.testing.assert_allclose(
          info['dist_params']['logits'][b, n], logits, atol=1e-5
      )
      if decided.step_type[b, n] != _FIRST:  # There it does not matter.
        for x, y in zip(info['network_state'], state, strict=True):
          np.testing.assert_allclose(x[b, n], y, atol=1e-5)
    # What an update makes of it: values of the whole rollout, and chunks.
    values = upper._values(decided)
    for b, n in np.argwhere(own):
      np.testing.assert_allclose(
          values[b, n], expected[b, times[b, n]][1], atol=1e-5
      )
    update_rows, _ = utils.rows_of(upper, decided)
    chunks = utils.sampler_of(upper, decided)
    minibatch, _ = chunks.minibatch(update_rows, chunks.indices)
    distribution, _ = upper.collect_policy.distribution_and_values(
        minibatch.observation, minibatch.step_type, minibatch.network_state
    )
    steps = tf.gather(chunks.steps, chunks.indices).numpy()
    for i, j in np.argwhere(minibatch.counts > 0):
      b, n = divmod(steps[i, j], times.shape[1])
      np.testing.assert_allclose(
          distribution.logits[i, j], expected[b, times[b, n]][0], atol=1e-5
      )
      num_samples += 1
  # Padding came before rows in mid-episode.
  assert num_padded > 2 and num_samples > 30


def test_an_update_is_the_mean_of_those_of_each_environment():
  agent = _two_levels(networks.GRUCore)
  upper, alone = agent.upper, _upper(networks.GRUCore)
  for rollout in _rollouts(_collected(agent)):
    decided, is_complete = agent.upper_experience(rollout)
    before = [v.numpy() for v in upper._ppo_variables]
    changes, counts = [], []
    for b in range(_NUM_ENVIRONMENTS):
      first = int(np.argmax(is_complete[b]))
      count = np.sum(
          is_complete[b].numpy() & (decided.step_type[b].numpy() != _LAST)
      )
      if not count:
        continue
      utils.copy_variables(upper, alone)
      alone.train(
          tf.nest.map_structure(
              lambda x, b=b, first=first: x[b : b + 1, first:], decided
          )
      )
      counts.append(count)
      changes.append([
          v.numpy() - old
          for v, old in zip(alone._ppo_variables, before, strict=True)
      ])
    upper.train(decided)
    assert len(set(counts)) > 1
    num_changed = 0
    for variable, old, *each in zip(
        upper._ppo_variables, before, *changes, strict=True
    ):
      expected = np.average(each, axis=0, weights=counts)
      num_changed += np.abs(expected).max() > 1e-5
      np.testing.assert_allclose(
          variable.numpy() - old, expected, rtol=1e-3, atol=1e-6
      )
    # All but the head of intrinsic values.
    assert num_changed == len(before) - 2
