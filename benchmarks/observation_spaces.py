# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of kinds of spaces in docs/environments.md.

    python -m benchmarks.observation_spaces

Checks an environment that shows samples of each space, trains RND-PPO on it for
some updates, and says what networks see of it. Whether it learns from bytes:

    python -m train.train_eval --gin_file=cartpole.gin --seed=S --gin_bindings=\
        "load_environment.env = 'benchmarks.observation_spaces:byte_cart_pole'"
"""

import copy
import tempfile
import warnings

from absl import app
import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors
from rnd_agents.environments import check
from rnd_agents.training import experiment
from rnd_agents.training import gin_files

_INF = np.inf


def _box(low, high, shape, dtype):
  name = np.dtype(dtype).name
  return (
      f'`Box({low}, {high}, {shape}, {name})`'.replace('inf', '∞'),
      spaces.Box(low, high, shape, dtype),
  )


# (what it is, its name, the space).
SPACES = (
    ('numbers', *_box(-_INF, _INF, (4,), np.float32)),
    ('numbers', *_box(0, 1, (10, 10), np.float64)),
    ('a choice', '`Discrete(6, start=1)`', spaces.Discrete(6, start=1)),
    ('of many', '`Discrete(5000)`', spaces.Discrete(5000)),
    ('choices', '`MultiDiscrete([5, 3])`', spaces.MultiDiscrete([5, 3])),
    ('of many', '`MultiDiscrete([9000, 2])`', spaces.MultiDiscrete([9000, 2])),
    ('bits', '`MultiBinary(5)`', spaces.MultiBinary(5)),
    ('bits', *_box(0, 1, (5,), np.bool_)),
    ('memory', *_box(0, 255, (128,), np.uint8)),
    ('counters', *_box(0, 40, (3,), np.int32)),
    ('counters', *_box(0, 200, (3,), np.int32)),
    ('statistics', *_box(-(2**31), 2**31 - 1, (27,), np.int64)),
    ('picture', *_box(0, 255, (40, 40, 3), np.uint8)),
    ('channels first', *_box(0, 255, (3, 40, 40), np.uint8)),
    ('grey', *_box(0, 255, (40, 40), np.uint8)),
    ('frames', *_box(0, 255, (4, 84, 84), np.uint8)),
    ('colour frames', *_box(0, 255, (4, 40, 40, 3), np.uint8)),
    ('picture', *_box(0, 255, (40, 40, 3), np.float32)),
    ('picture', *_box(0.0, 1.0, (40, 40, 3), np.float32)),
    ('planes', *_box(0, 1, (7, 7, 20), np.uint8)),
    ('kinds', *_box(0, 10, (7, 7, 3), np.uint8)),
    ('map', *_box(0, 3, (8, 9), np.int64)),
    ('glyphs', *_box(0, 5976, (21, 79), np.int16)),
    ('nest', '`Dict`, `Tuple` of the above', spaces.Dict(
        a=spaces.Discrete(3), b=spaces.Tuple([spaces.MultiBinary(2)]))),
    ('text alone', '`Text(9)`', spaces.Text(9)),
    ('lists', '`Sequence(Discrete(2))`', spaces.Sequence(spaces.Discrete(2))),
)
_SETTINGS = (
    'load_environment.env = @Samples',
    'train_eval.num_env_steps = 120',
    'train_eval.num_environments = 4',
    'train_eval.warm_up_env_steps = 40',
    'train_eval.num_eval_episodes = 1',
    'train_eval.record_video = False',
    'train_eval.save_policies = False',
    'OnPolicyTraining.rollout_length = 16',
    'RNDPPOAgent.num_epochs = 1',
)

@gin.configurable(module='observation_spaces')
class Samples(gymnasium.Env):
  """Shows samples of a space, eight to an episode."""

  space = SPACES[0][-1]
  action_space = spaces.Discrete(2)

  def __init__(self):
    self.observation_space = copy.deepcopy(self.space)  # Its own generator.

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    if seed is not None:
      self.observation_space.seed(seed)
    self._num_steps = 0
    return self.observation_space.sample(), {}

  def step(self, action):
    self._num_steps += 1
    observation = self.observation_space.sample()
    return observation, float(action), False, self._num_steps == 8, {}


def byte_cart_pole():
  """Returns CartPole with its four numbers as bytes."""
  largest = np.array([2.4, 3.0, 0.21, 3.0])

  def to_bytes(observation):
    shares = np.clip(observation / largest, -1, 1) / 2 + 0.5
    return np.round(255 * shares).astype(np.uint8)

  return gymnasium.wrappers.TransformObservation(
      gymnasium.make('CartPole-v1'),
      to_bytes,
      spaces.Box(0, 255, (4,), np.uint8),
  )


def _trains():
  """Returns whether RND-PPO trains on `Samples`, or why not."""
  gin.clear_config()
  gin_files.parse((), _SETTINGS)
  with tempfile.TemporaryDirectory() as folder:
    try:
      experiment.train_eval(folder, seed=0)
    except errors.UserError as error:
      return f'no: {errors.message_of(error).partition(",")[0]}'
  return 'yes'


def row(what, name, space):
  """Returns a row of the table."""
  Samples.space = space
  report = check.examine_environment(Samples, num_episodes=2)
  seen = '; '.join(
      line.split(': ', 2)[2].replace(' (whitened with normalize_obs', ' (¹')
      for line in report.observations
  ).replace('¹ervations', '¹')
  checks = 'yes' if not report.faults else report.faults[0].rule
  return f'| {what}: {name} | {checks} | {_trains()} | {seen or "—"} |'


def main(unused_argv):
  warnings.simplefilter('ignore')
  print('| space | checks | trains | networks see |\n|---|---|---|---|')
  for each in SPACES:
    print(row(*each), flush=True)


if __name__ == '__main__':
  app.run(main)
