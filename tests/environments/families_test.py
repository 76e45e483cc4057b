# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family of environments by its id: loads, steps, seeds both ways."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.specs import array_spec

from rnd_agents import agents
from rnd_agents import networks
from rnd_agents.environments import check
from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_family
from rnd_agents.environments import wrappers
from tests import environments_for_tests
from tests.environments import known

# (ids, the package without which they are skipped, shape and dtype observed)
FAMILIES = {
    'classic_control': (
        [
            'CartPole-v1',
            'MountainCar-v0',
            'MountainCarContinuous-v0',
            'Acrobot-v1',
            'Pendulum-v1',
        ],
        None,
    ),
    'toy_text': (['FrozenLake-v1', 'Blackjack-v1'], None),
    'box2d': (['LunarLander-v3', 'BipedalWalker-v3', 'CarRacing-v3'], 'Box2D'),
    'mujoco': (['HalfCheetah-v5', 'Hopper-v5', 'Ant-v5'], 'mujoco'),
    'ale': (
        [
            'ALE/MontezumaRevenge-v5',
            'ALE/Pitfall-v5',
            'ALE/Freeway-v5',
        ],
        'ale_py',
    ),
    'minigrid': (
        [
            'MiniGrid-Empty-Random-5x5-v0',
            'MiniGrid-DoorKey-5x5-v0',
            'MiniGrid-MultiRoom-N2-S4-v0',
            'MiniGrid-KeyCorridorS3R1-v0',
            'MiniGrid-ObstructedMaze-1Dl-v0',
            'MiniGrid-MemoryS7-v0',
        ],
        'minigrid',
    ),
    'deep_sea': (['rnd_agents/DeepSea-v0'], None),
}
IDS = [
    pytest.param(env_id, module, id=env_id)
    for ids, module in FAMILIES.values()
    for env_id in ids
]
NUM_ENVIRONMENTS = 2
# A step of CarRacing draws a picture; of the games, which are one class, the
# first one plays long.
NUM_STEPS = {
    'CarRacing-v3': 15,
    **dict.fromkeys(FAMILIES['ale'][0][1:], 60),
}
# Without wind, all seeds of Deep Sea are alike.
ENV_KWARGS = {'rnd_agents/DeepSea-v0': {'deterministic': False}}


# Steps that the checker may take where they are slow.
CHECKED_STEPS = {
    'ale': 30,
    'box2d': 100,
    'classic_control': 250,
    'minigrid': 100,
    'mujoco': 100,
    'CarRacing-v3': 10,
}


def load(env_id, module, seed):
  """Returns two environments, or skips the test, naming what is missing."""
  if module is not None:
    pytest.importorskip(module, reason=f'{env_id} needs {module}')
  return loaders.load_environment(
      env_id, NUM_ENVIRONMENTS, seed=seed, env_kwargs=ENV_KWARGS.get(env_id)
  )


def play(env, num_steps):
  """The time steps of random actions, the same each time."""
  rng = np.random.RandomState(0)
  spec = array_spec.add_outer_dims_nest(env.action_spec(), (NUM_ENVIRONMENTS,))
  steps = [env.reset()]
  for _ in range(num_steps):
    steps.append(env.step(array_spec.sample_spec_nest(spec, rng)))
  return steps


def as_bytes(steps):
  return [[a.tobytes() for a in tf.nest.flatten(step)] for step in steps]


def _check_steps(env, steps):
  """Their types, and the episodes that the environment tells of them."""
  spec = array_spec.add_outer_dims_nest(
      env.observation_spec(), (NUM_ENVIRONMENTS,)
  )
  previous = np.full(NUM_ENVIRONMENTS, known.LAST)
  returns = np.zeros(NUM_ENVIRONMENTS)
  expected = []
  for step in steps:
    assert array_spec.check_arrays_nest(step.observation, spec)
    # FIRST after LAST, and only then.
    np.testing.assert_array_equal(
        step.step_type == known.FIRST, previous == known.LAST
    )
    first = step.step_type == known.FIRST
    assert not step.reward[first].any() and step.discount[first].all()
    assert step.discount[step.step_type == known.MID].all()
    returns[first] = 0.0
    returns += step.reward
    for i in np.flatnonzero(step.step_type == known.LAST):
      expected.append((i, returns[i], step.discount[i] == 0.0))
    previous = step.step_type
  episodes = env.pop_episodes()
  assert [(e.environment_index, e.terminated) for e in episodes] == [
      (i, terminated) for i, _, terminated in expected
  ]
  np.testing.assert_allclose(
      [e.return_ for e in episodes], [e[1] for e in expected], rtol=1e-4,
      atol=1e-3,
  )


@pytest.mark.parametrize('env_id, module', IDS)
def test_random_steps_and_seeds_both_ways(env_id, module):
  env = load(env_id, module, seed=3)
  steps = play(env, NUM_STEPS.get(env_id, 300))  # Of each of the two.
  _check_steps(env, steps)
  num_steps = 12 if env_id in NUM_STEPS else 50
  one = as_bytes(steps[: num_steps + 1])
  # The same object, seeded anew, and another one.
  env.seed(3)
  assert as_bytes(play(env, num_steps)) == one
  env.close()
  env = load(env_id, module, seed=3)
  assert as_bytes(play(env, num_steps)) == one
  env.seed(4)
  assert as_bytes(play(env, num_steps)) != one
  env.close()


# Of the games, which are one class, the first one.
@pytest.mark.parametrize(
    'env_id, module',
    [each for each in IDS if each.id not in FAMILIES['ale'][0][1:]],
)
def test_checker(env_id, module):
  if module is not None:
    pytest.importorskip(module, reason=f'{env_id} needs {module}')
  (family,) = [name for name, (ids, _) in FAMILIES.items() if env_id in ids]
  report = check.check_environment(
      check.find_callable(env_id, ENV_KWARGS.get(env_id, {})),
      num_episodes=2,
      max_steps=CHECKED_STEPS.get(env_id, CHECKED_STEPS.get(family, 700)),
      tries_agent=False,  # `test_one_update` does.
  )
  # What is left is what the few steps do not reach, or no fault at all.
  # MiniGrid's missions are text.
  assert {found.rule for found in report.findings} <= {'episode-end', 'text'}


# One update of RNDPPOAgent on nests of observations and actions.
NUM_UPDATED = 8  # Steps.


UPDATED = {
    'dict observation': (
        lambda: minigrid_family.load_minigrid(
            'MiniGrid-DoorKey-5x5-v0',
            NUM_ENVIRONMENTS,
            seed=0,
            observation='dict',
        ),
        'minigrid',
    ),
    'previous action and reward': (
        lambda: loaders.load_environment(
            'MountainCar-v0',
            NUM_ENVIRONMENTS,
            seed=0,
            wrappers=[wrappers.PreviousActionReward],
        ),
        None,
    ),
    'dict action': (
        lambda: loaders.load_environment(
            environments_for_tests.Hybrid, NUM_ENVIRONMENTS, seed=0
        ),
        None,
    ),
}


@pytest.mark.parametrize('family', list(UPDATED))
def test_one_update(family):
  make, module = UPDATED[family]
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
      ),
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
      agent.collect_data_spec, NUM_ENVIRONMENTS, max_length=4 * NUM_UPDATED
  )
  dynamic_step_driver.DynamicStepDriver(
      env,
      agent.collect_policy,
      [buffer.add_batch],
      num_steps=NUM_ENVIRONMENTS * NUM_UPDATED,
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
