# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of policies that remember."""

import os
import shutil

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.environments import loaders
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import saved_policy
from rnd_agents.training import checkpoints
from tests import tiny_runs

# Episodes of CartPole are longer than a rollout of 16 steps, so that what the
# policy remembers has to pass from one to the next.
_RECURRENT = (
    'create_networks.core = @LSTMCore()',
    'create_networks.value_fc_layer_params = None',
    'LSTMCore.units = 6',
    'RNDPPOAgent.unroll_length = 5',
    'RNDPPOAgent.burn_in_length = 2',
    'RNDPPOAgent.intrinsic_advantage_coefficient = 0.0',
    'load_environment.wrappers = [@SomeEntries]',
    'SomeEntries.entries = (0, 2)',
)


def _run(root_dir, num_env_steps, *bindings):
  return tiny_runs.train(
      root_dir, num_env_steps, *_RECURRENT, *bindings, seed=3
  )


@pytest.fixture(name='runs', scope='module')
def _runs(tmp_path_factory):
  """A run.

  Its (folder, `Result`, folder as a kill would have left it, (step types,
  stored states) of each rollout).
  """
  folder = tmp_path_factory.mktemp('whole')
  killed = tmp_path_factory.mktemp('killed') / 'run'
  save = checkpoints.Checkpoints.save

  def copying(self, iteration, state):
    save(self, iteration, state)
    if iteration == 3:
      self.wait()
      shutil.copytree(folder, killed)

  seen, train = [], rnd_ppo_agent.RNDPPOAgent.train

  def watching(agent, experience):
    tf.numpy_function(
        lambda *arrays: seen.append(arrays) or np.int32(0),
        [experience.step_type, experience.policy_info['network_state'][0]],
        tf.int32,
    )
    return train(agent, experience)

  with pytest.MonkeyPatch.context() as context:
    context.setattr(checkpoints.Checkpoints, 'save', copying)
    context.setattr(rnd_ppo_agent.RNDPPOAgent, 'train', watching)
    result = _run(
        folder,
        64 + 64 * 6,
        'train_eval.save_policies = True',
        'train_eval.checkpoint_interval_iterations = 3',
    )
  return folder, result, killed, seen


def test_a_resumed_run_is_the_run_that_went_through(runs):
  whole, _, broken, _ = runs
  assert tiny_runs.iterations(broken) == (3, 3)
  _run(broken, 64 + 64 * 6)
  assert len(tiny_runs.rows(whole, 'train')) >= 6
  tiny_runs.assert_same_run(broken, whole)
  _, variables = tiny_runs.checkpoint(whole)
  assert sum('_ppo_variables' in name for name in variables) == 11


def test_what_is_remembered_passes_from_rollout_to_rollout(runs):
  *_, seen = runs
  assert len(seen) >= 4
  goes_on = 0
  for (_, before), (step_types, after) in zip(seen[:-1], seen[1:], strict=True):
    # The row that two rollouts share.
    np.testing.assert_array_equal(before[:, -1], after[:, 0])
    # The one after it remembers, unless an episode begins.
    remembers = np.abs(after[:, 1]).max(axis=-1) > 1e-6
    np.testing.assert_array_equal(remembers, step_types[:, 1] != 0)
    goes_on += remembers.sum()
  assert goes_on > len(seen)


def test_a_saved_policy_plays_what_the_run_evaluated(runs):
  folder, result, *_ = runs
  policy = saved_policy.SavedPolicy(os.path.join(folder, 'policies', 'policy'))
  gin.parse_config(tiny_runs.SETTINGS)
  gin.parse_config(_RECURRENT)
  # The evaluation's seeds: the third number that the run draws, and those
  # after it.
  first = int(np.random.SeedSequence(3).generate_state(3)[2]) % 2**30
  with gin.config_scope('eval'):
    environment = loaders.load_environment(num_environments=2)
  policy.check_fits(environment)
  player = _Watched(policy)
  episodes = evaluator.Evaluator(environment, player, [first, first + 1]).run()
  assert np.mean([e.return_ for e in episodes]) == result.eval_return
  # It was asked with what it remembered: nothing at first, and more later.
  assert player.sizes[0] == 0 and min(player.sizes[1:]) > 1e-3


class _Watched:
  """A policy; `sizes` of the states that it was handed."""

  def __init__(self, policy):
    self._policy = policy
    self.get_initial_state = policy.get_initial_state
    self.sizes = []

  def action(self, time_step, state):
    size = tf.numpy_function(
        lambda x: self.sizes.append(np.abs(x).max()) or np.int32(0),
        [tf.nest.flatten(state)[0]],
        tf.int32,
    )
    with tf.control_dependencies([size]):
      return self._policy.action(time_step, state)


@pytest.mark.parametrize(
    ('bindings', 'match'),
    [
        (
            [
                'RNDPPOAgent.unroll_length = None',
                'RNDPPOAgent.burn_in_length = 0',
                'RNDPPOAgent.num_minibatches = 5',
            ],
            '4 chunks .*too few',
        ),
        (['RNDPPOAgent.burn_in_length = 16'], 'no chunk .*burn-in'),
    ],
)
def test_what_cannot_run_says_so_before_the_first_step(
    bindings, match, tmp_path
):
  with pytest.raises(errors.UserError, match=match):
    _run(tmp_path, 1_000, *bindings)
