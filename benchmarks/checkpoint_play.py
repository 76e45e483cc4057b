# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays with the policy and the curiosity of a run's newest checkpoint."""

import collections
import os

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
import gin
import numpy as np
import tensorflow as tf

from rnd_agents import files
from rnd_agents.collecting import local
from rnd_agents.curiosity import transitions
from rnd_agents.environments import loaders
from rnd_agents.training import experiment
from rnd_agents.training import run_directory

_NUM_ENVIRONMENTS = 16


def play(root_dir, num_env_steps, seed, wrappers, look):
  """Plays whole games, however the run trains.

  Args:
    root_dir: Of a run of RND-PPO; it may go on meanwhile.
    num_env_steps: Of 16 environments together.
    seed: Of environments and actions.
    wrappers: Of each environment, as for `load_environment`.
    look: Function from a `TimeStep` and the infos to what is kept of each
      step, a dict of arrays [16, ...].

  Returns:
    A dict of arrays [T, 16, ...]: what `look` returns and

    * `reward`: that led to the step;
    * `bonus`: the normalised novelty of the step's observation;
    * `intrinsic_value`: of the step.
  """
  snapshots = files.NumberedFolders(
      os.path.join(root_dir, 'checkpoints'), 'iteration'
  )
  if not snapshots.numbers():
    raise app.UsageError(f'{root_dir} is no run with a checkpoint.')
  gin.clear_config()
  gin.parse_config_file(os.path.join(root_dir, run_directory.CONFIG_FILE))
  config = experiment.Experiment(root_dir='')  # Writes nothing.
  with gin.config_scope('eval'):
    env = loaders.load_environment(
        num_environments=_NUM_ENVIRONMENTS,
        vectorization='sync',
        wrappers=wrappers,
        seed=seed,
    )
  try:
    tf.keras.utils.set_random_seed(seed)
    agent = config.training.build_agent(
        local.specs_of(env), _NUM_ENVIRONMENTS
    )
    tf.train.Checkpoint(agent=agent).read(
        os.path.join(snapshots.path(snapshots.numbers()[-1]), 'variables')
    ).expect_partial()
    return _play(env, agent, num_env_steps // _NUM_ENVIRONMENTS, look)
  finally:
    env.close()


def lost_lives(lives):
  """Returns which steps have a life less than the one before, [T, B]."""
  lost = np.zeros_like(lives, bool)
  lost[1:] = lives[1:] < lives[:-1]
  return lost


def _play(env, agent, num_rows, look):
  judge = tf.function(_judgement(agent))
  rows = collections.defaultdict(list)
  time_step = env.reset()
  for _ in range(num_rows):
    action, bonus, value = judge(
        tf.nest.map_structure(tf.convert_to_tensor, time_step)
    )
    row = dict(
        look(time_step, env.get_info()),
        reward=time_step.reward,
        bonus=bonus.numpy(),
        intrinsic_value=value.numpy(),
    )
    for name, array in row.items():
      rows[name].append(array)
    time_step = env.step(action.numpy())
  return {name: np.array(arrays) for name, arrays in rows.items()}


def _judgement(agent):
  curiosity = agent.curiosity
  # Of NovelD, whose own bonus depends on the episode so far.
  novelty = getattr(curiosity, 'novelty', curiosity)

  def judge(time_step):
    observation = time_step.observation
    values, _ = agent._value_net.value_net(observation, time_step.step_type)
    bonus = novelty.bonus(transitions.Transitions(observation))
    return (
        agent.collect_policy.action(time_step).action,
        curiosity.normalize_bonus(bonus),
        values[..., -1],  # The extrinsic stream is the first.
    )

  return judge
