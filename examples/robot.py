# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A robot of two levels: goals off-policy, movements on-policy.

    python -m examples.robot --root_dir=runs/robot

The example of PARL's design document: one policy sets a goal where the last one
was reached or given up, and learns from a replay; another one moves at every
step, and learns from rollouts. Each has its own data and its own period.
"""

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
from absl import logging
import gin
import gymnasium
from gymnasium import spaces
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import hierarchy
from rnd_agents.training import experiment

# Goals are the cells of 4 x 4: the parcel is fetched in one corner's cell and
# delivered in the opposite one's, so goals say what the task needs.
_SIDE = 4
_CORNER = 1.0 - 2.0 / _SIDE


@gin.configurable(module='examples')
class Robot(gymnasium.Env):
  """Fetches a parcel from one corner and brings it to the opposite one.

  It sees its position and whether it has the parcel; the action is how far it
  moves. The parcel pays 1 where it is delivered, which ends the episode.
  """

  metadata = {'render_modes': []}

  def __init__(self, limit_env_steps=100, render_mode=None):
    del render_mode
    self.observation_space = spaces.Box(-1.0, 1.0, [3], np.float32)
    self.action_space = spaces.Box(-0.2, 0.2, [2], np.float32)
    self._limit_env_steps = limit_env_steps

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._position = self.np_random.uniform(-0.3, 0.3, 2)
    self._has_parcel, self._num_steps = False, 0
    return self._observation(), {}

  def _observation(self):
    return np.array([*self._position, self._has_parcel], np.float32)

  def step(self, action):
    moved = self._position + np.clip(action, -0.2, 0.2)
    self._position = np.clip(moved, -1.0, 1.0)
    self._has_parcel |= bool(np.all(self._position > _CORNER))
    delivered = self._has_parcel and bool(np.all(self._position < -_CORNER))
    self._num_steps += 1
    cut = not delivered and self._num_steps >= self._limit_env_steps
    info = dict(is_success=delivered) if delivered or cut else {}
    return self._observation(), float(delivered), delivered, cut, info


@gin.configurable(module='examples', denylist=['observation_spec'])
class Cells(hierarchy.Goals):
  """Goal i: to be in cell i."""

  def __init__(self, observation_spec):
    goal = tensor_spec.BoundedTensorSpec([], tf.int64, 0, _SIDE**2 - 1, 'goal')
    super().__init__(observation_spec, goal)

  @property
  def lower_observation_spec(self):
    centre = tensor_spec.BoundedTensorSpec([2], tf.float32, -1, 1, 'centre')
    return dict(observation=self.observation_spec, goal=centre)

  def observe(self, observation, goal):
    # Where the cell is, so that what is learned of one helps with the others.
    cell = tf.stack([goal // _SIDE, goal % _SIDE], axis=-1)
    centre = (tf.cast(cell, tf.float32) + 0.5) * 2.0 / _SIDE - 1.0
    return dict(observation=observation, goal=centre)

  def reached(self, observation, goal):
    cell = tf.floor((observation[..., :2] + 1.0) * 0.5 * _SIDE)
    cell = tf.cast(tf.clip_by_value(cell, 0, _SIDE - 1), tf.int64)
    return tf.equal(cell[..., 0] * _SIDE + cell[..., 1], goal)


SETTINGS = """
load_environment.env = @Robot
train_eval.num_env_steps = 60_000
train_eval.num_environments = 16
train_eval.warm_up_env_steps = 2_000
train_eval.eval_interval_env_steps = 10_000
train_eval.record_video = False

train_eval.training = @TwoLevelTraining()
TwoLevelTraining.goals_fn = @OpenGoals  # Not the cell where the robot is.
OpenGoals.goals_fn = @Cells
TwoLevelTraining.goal_length = 15
TwoLevelTraining.discount_factor = 0.98

# The goal policy: an update for 16 steps of the robot.
TwoLevelTraining.upper = @upper/ReplayTraining()
upper/ReplayTraining.rollout_length = 64
upper/ReplayTraining.collect_length = 8
upper/ReplayTraining.env_steps_per_update = 16
upper/ReplayTraining.unroll_length = 4
upper/ReplayTraining.epsilon_fn = @linear_epsilon
upper/linear_epsilon.num_env_steps = 30_000
upper/R2D3Agent.discount_factor = 0.98
upper/R2D3Agent.n_step = 2
upper/R2D3Agent.target_update_period_train_steps = 100
upper/PrioritizedReplay.max_sequences = 20_000
upper/PrioritizedReplay.min_sequences = 50
create_q_networks.fc_layer_params = (64,)

# The policy that moves: an update for 64 steps of each environment.
TwoLevelTraining.lower = @lower/OnPolicyTraining()
lower/OnPolicyTraining.rollout_length = 64
lower/RNDPPOAgent.discount_factor = 0.95
lower/RNDPPOAgent.intrinsic_advantage_coefficient = 0.0
lower/RNDPPOAgent.normalize_advantages = True
lower/create_rnd_ppo_agent.learning_rate = 1e-3
create_networks.fc_layer_params = (64,)
create_networks.value_fc_layer_params = (64,)
"""


def train(root_dir, *bindings, seed=0):
  """Trains the robot; a run found in `root_dir` goes on.

  Args:
    root_dir: The run's folder.
    *bindings: More settings, which win.
    seed: Of the run.

  Returns:
    A `runs.Outcome`.
  """
  return experiment.train_files(
      root_dir, [], [*SETTINGS.splitlines(), *bindings], seed=seed
  )


def main(argv):
  del argv
  logging.set_verbosity(logging.INFO)
  result = train(flags.FLAGS.root_dir, seed=flags.FLAGS.seed)
  logging.info('Return of the last evaluation: %s', result.eval_return)


if __name__ == '__main__':
  flags.DEFINE_string('root_dir', 'runs/robot', 'Folder of the run.')
  flags.DEFINE_integer('seed', 0, 'Seed of the run.')
  app.run(main)
