# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole runs with action masks; `Lamps` fails at a forbidden action."""

import math
import os

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import saved_policy
from rnd_agents.replay import demonstrations
from tests import masked_environments
from tests import tiny_runs

gin.external_configurable(masked_environments.Lamps, module='tests')

_MASKED = (
    'load_environment.env = @tests.Lamps',
    "load_environment.action_mask_key = 'legal'",
)
_OBSERVED = (*_MASKED, "Lamps.place = 'observation'")
_REPLAY, _R2D3 = (
    [x for x in tiny_runs.without_memory(settings) if 'ecall' not in x]
    for settings in (tiny_runs.DEMO_SETTINGS, tiny_runs.R2D3_SETTINGS)
)


def test_a_recurrent_policy_is_saved(tmp_path):
  result = tiny_runs.train(
      tmp_path,
      320,
      *_MASKED,
      'create_networks.core = @LSTMCore()',
      'create_networks.value_fc_layer_params = None',
      'LSTMCore.units = 6',
      'RNDPPOAgent.unroll_length = 5',
      'train_eval.save_policies = True',
      settings=tiny_runs.PPO_SETTINGS,
      seed=3,
  )
  rows = tiny_runs.rows(tmp_path, 'train')
  entropies = [float(row['entropy']) for row in rows]
  # Two of four actions are allowed, and the first policy is nearly uniform.
  np.testing.assert_allclose(entropies[0], math.log(2), atol=0.02)
  assert max(entropies) <= math.log(2) + 1e-6

  # The saved policy gets the mask with the observation.
  folder = os.path.join(tmp_path, 'policies', 'policy')
  policy = saved_policy.SavedPolicy(folder)
  tiny_runs.parse(320, *_MASKED)
  environment = loaders.load_environment(num_environments=2)
  policy.check_fits(environment)
  first = int(np.random.SeedSequence(3).generate_state(3)[2]) % 2**30
  episodes = evaluator.Evaluator(environment, policy, [first, first + 1]).run()
  assert np.mean([e.return_ for e in episodes]) == result.eval_return


def test_a_replay_with_demonstrations_resumes(tmp_path):
  tiny_runs.parse(640, *_OBSERVED)
  environment = loaders.load_environment(num_environments=1)
  specs = local.specs_of(environment)
  path = os.fspath(tmp_path / 'lamps.tfrecord')
  demonstrations.write_episodes(
      path,
      demonstrations.trajectory_spec(specs.time_step.observation, specs.action),
      [
          found.trajectory
          for found in demonstration_recorder.record(
              environment, actors.ExpertActor(environment), range(3)
          )
      ],
  )

  for run in (tiny_runs.prepare, tiny_runs.train):  # The first is killed.
    run(
        tmp_path / 'run',
        80,
        *_OBSERVED,
        f"ReplayTraining.demonstrations = '{path}'",
        'ReplayTraining.demonstration_ratio = 0.5',
        'create_r2d3_agent.curiosity_fn = @create_rnd',
        'create_rnd_networks.fc_layer_params = (6,)',
        'create_rnd_networks.target_fc_layer_params = (6,)',
        settings=_REPLAY,
        seed=3,
    )
  row = tiny_runs.rows(tmp_path / 'run', 'train')[-1]
  for name in ('td_loss', 'margin_loss', 'q_mean', 'target_mean'):
    assert math.isfinite(float(row[name])), name


@pytest.fixture
def _checked_numerics():
  tf.debugging.enable_check_numerics()
  yield
  tf.debugging.disable_check_numerics()


@pytest.mark.parametrize('settings', [tiny_runs.PPO_SETTINGS, _R2D3])
def test_healthy_runs_hold_no_infinity(tmp_path, settings, _checked_numerics):
  tiny_runs.train(tmp_path, 160, *_MASKED, settings=settings, seed=3)


def test_a_demonstrated_action_that_the_mask_forbids():
  spec = demonstrations.trajectory_spec(
      action_masks.ObservationWithMask(
          tf.TensorSpec([1]), tf.TensorSpec([3], tf.uint8)
      ),
      tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2),
  )
  observation = action_masks.ObservationWithMask(
      np.zeros([3, 1], np.float32),
      np.uint8([[1, 0, 1], [1, 0, 1], [0, 1, 0]]),
  )
  episode = trajectory.Trajectory(
      np.int32([0, 1, 2]), observation, np.int64([2, 1, 0]), (),
      np.int32([1, 2, 0]), *np.ones([2, 3], np.float32),
  )
  with pytest.raises(errors.InvalidValue, match='forbids the action of step 1'):
    demonstrations.write_episodes('nowhere', spec, [episode])


def test_two_levels_take_no_masks(tmp_path):
  with pytest.raises(errors.InvalidValue, match='action_mask_key'):
    tiny_runs.train(
        tmp_path, 640, *_MASKED, settings=tiny_runs.TWO_LEVELS
    )
