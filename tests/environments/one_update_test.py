# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RNDPPOAgent makes one update on one environment of every family.

Classic control and Deep Sea are in tests/training/digests_test.py.
"""

import functools

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.replay_buffers import tf_uniform_replay_buffer

from rnd_agents import agents
from rnd_agents import networks
from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_family
from rnd_agents.environments import wrappers

NUM_ENVIRONMENTS = 2
NUM_STEPS = 8


class Hybrid(gymnasium.Env):
  """A kind of action and its parameters; pays for a small first parameter."""

  observation_space = spaces.Dict(
      here=spaces.Box(-1, 1, (3,), np.float32), turn=spaces.Discrete(2)
  )
  action_space = spaces.Dict(
      kind=spaces.Discrete(3), parameters=spaces.Box(-1, 1, (2,), np.float32)
  )

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    return self._observation(), {}

  def step(self, action):
    assert self.action_space.contains(action)
    reward = -abs(float(action['parameters'][0]))
    return self._observation(), reward, self._observed % 5 == 0, False, {}

  def _observation(self):
    self._observed = getattr(self, '_observed', -1) + 1
    here = self.np_random.uniform(-1, 1, 3).astype(np.float32)
    return {'here': here, 'turn': np.int64(self._observed % 2)}


def load(env, **kwargs):
  return loaders.load_environment(env, NUM_ENVIRONMENTS, seed=0, **kwargs)


CONV = {'conv_layers': ((4, 8, 8),)}
FAMILIES = {
    'continuous': (lambda: load('Pendulum-v1'), None, {}),
    'Box2D': (lambda: load('LunarLander-v3'), 'Box2D', {}),
    'MuJoCo': (lambda: load('HalfCheetah-v5'), 'mujoco', {}),
    'ALE': (
        lambda: load(
            'ALE/MontezumaRevenge-v5', vectorization='vector_entry_point'
        ),
        'ale_py',
        CONV,
    ),
    'MiniGrid': (lambda: load('MiniGrid-DoorKey-5x5-v0'), 'minigrid', {}),
    'dict observation': (
        lambda: minigrid_family.load_minigrid(
            'MiniGrid-DoorKey-5x5-v0',
            NUM_ENVIRONMENTS,
            seed=0,
            observation='dict',
        ),
        'minigrid',
        {},
    ),
    'previous action and reward': (
        lambda: load(
            'MountainCar-v0', wrappers=[wrappers.PreviousActionReward]
        ),
        None,
        {},
    ),
    'dict action': (lambda: load(Hybrid), None, {}),
}


@pytest.mark.parametrize('family', list(FAMILIES))
def test_one_update(family):
  make, module, network_kwargs = FAMILIES[family]
  if module is not None:
    pytest.importorskip(module, reason=f'{family} needs {module}')
  tf.keras.utils.set_random_seed(0)
  pyenv = make()
  env = tf_py_environment.TFPyEnvironment(pyenv)
  nets = networks.create_networks(
      env.observation_spec(),
      env.action_spec(),
      fc_layer_params=(8,),
      rnd_networks_fn=functools.partial(
          networks.create_rnd_networks,
          fc_layer_params=(8,),
          target_fc_layer_params=(8,),
          output_size=4,
          **network_kwargs,
      ),
      **network_kwargs,
  )
  agent = agents.RNDPPOAgent(
      env.time_step_spec(),
      env.action_spec(),
      tf.keras.optimizers.Adam(1e-3),
      normalize_observations=True,
      num_epochs=1,
      num_minibatches=1,
      **nets._asdict(),
  )
  agent.initialize()
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec, NUM_ENVIRONMENTS, max_length=4 * NUM_STEPS
  )
  dynamic_step_driver.DynamicStepDriver(
      env,
      agent.collect_policy,
      [buffer.add_batch],
      num_steps=NUM_ENVIRONMENTS * NUM_STEPS,
  ).run()
  policy = nets.actor_net.trainable_variables
  predictor = nets.rnd_network.trainable_variables
  target = nets.target_rnd_network.variables
  before = [[v.numpy() for v in part] for part in (policy, predictor, target)]
  info = agent.train(buffer.gather_all())
  after = [[v.numpy() for v in part] for part in (policy, predictor, target)]
  assert np.isfinite(info.loss) and info.extra.bonus_mean > 0
  for i, changes in enumerate((True, True, False)):
    moved = [
        np.abs(a - b).max() for a, b in zip(after[i], before[i], strict=True)
    ]
    assert np.isfinite(moved).all()
    # Adam's first step moves what it moves by its learning rate.
    np.testing.assert_allclose(max(moved), 1e-3 * changes, rtol=0.05)
  pyenv.close()
