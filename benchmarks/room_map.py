# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the policy of a run goes in Montezuma's first room, and why.

    python -m benchmarks.room_map --root_dir=RUN [--root_dir=ANOTHER] --out=FILE

Plays with the policy and the curiosity of each run's newest checkpoint and
draws, cell by cell: the share of the steps, the mean normalised bonus and the
mean intrinsic value. Prints how often a reward was found, and what a lost life
costs: the intrinsic value where the next life begins, beside that of all steps.
24,000 steps of a run take a minute of a core.
"""

import collections
import os
from typing import NamedTuple

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
import gin
import numpy as np
import tensorflow as tf

from rnd_agents import files
from rnd_agents.collecting import local
from rnd_agents.curiosity import transitions
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers
from rnd_agents.plotting import drawing
from rnd_agents.plotting import heat_maps
from rnd_agents.training import experiment
from rnd_agents.training import run_directory

# Bytes of the console's memory: where the player is. y grows upwards.
_X_ADDRESS, _Y_ADDRESS = 42, 43
_FIRST_ROOM = 1
_X_RANGE, _Y_RANGE, _CELL = (0, 160), (130, 270), 10
_NUM_ENVIRONMENTS = 16


class PlayerPosition(wrappers.InfoWrapper):
  """Adds the player's position in the room to the info."""

  def _told(self, begins):
    del begins
    ram = self.unwrapped.ale.getRAM()
    return {'x': int(ram[_X_ADDRESS]), 'y': int(ram[_Y_ADDRESS])}


class Steps(NamedTuple):
  """What happened at each step, arrays [T, B]."""

  x: np.ndarray
  y: np.ndarray
  room: np.ndarray
  lives: np.ndarray
  reward: np.ndarray  # That led to the step.
  bonus: np.ndarray  # Normalised.
  intrinsic_value: np.ndarray

  @property
  def begins_life(self):
    """Whether a life begins with the step, but for the first of a game."""
    begins = np.zeros_like(self.lives, bool)
    now, before = self.lives[1:], self.lives[:-1]
    begins[1:] = (0 < now) & (now < before)
    return begins


def play(root_dir, num_env_steps, seed):
  """Plays with the newest checkpoint of a run of RND-PPO; returns `Steps`."""
  # Listed only: the run may go on meanwhile.
  snapshots = files.NumberedFolders(
      os.path.join(root_dir, 'checkpoints'), 'iteration'
  )
  if not snapshots.numbers():
    raise app.UsageError(f'{root_dir} is no run with a checkpoint.')
  gin.clear_config()
  gin.parse_config_file(os.path.join(root_dir, run_directory.CONFIG_FILE))
  config = experiment.Experiment(root_dir='')  # Writes nothing.
  with gin.config_scope('eval'):  # Whole games, however the run trains.
    env = loaders.load_environment(
        num_environments=_NUM_ENVIRONMENTS,
        vectorization='sync',
        wrappers=[wrappers.RoomsVisited, PlayerPosition],
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
    return _play(env, agent, num_env_steps // _NUM_ENVIRONMENTS)
  finally:
    env.close()


def _play(env, agent, num_rows):
  judge = tf.function(_judgement(agent))
  rows = collections.defaultdict(list)
  time_step = env.reset()
  for _ in range(num_rows):
    action, bonus, value = judge(
        tf.nest.map_structure(tf.convert_to_tensor, time_step)
    )
    info = env.get_info()
    for name in ('x', 'y', 'room', 'lives'):  # The last is ALE's own.
      rows[name].append(info[name])
    rows['reward'].append(time_step.reward)
    rows['bonus'].append(bonus.numpy())
    rows['intrinsic_value'].append(value.numpy())
    time_step = env.step(action.numpy())
  return Steps(**{name: np.array(row) for name, row in rows.items()})


def _judgement(agent):
  curiosity = agent.curiosity

  def judge(time_step):
    observation = time_step.observation
    values, _ = agent._value_net.value_net(observation, time_step.step_type)
    bonus = curiosity.bonus(transitions.Transitions(observation))
    return (
        agent.collect_policy.action(time_step).action,
        curiosity.normalize_bonus(bonus),
        values[..., -1],  # The extrinsic stream is the first.
    )

  return judge


def mean_map(x, y, values):
  """Means of values in cells of the room; NaN where there are none.

  Args:
    x: Positions in the units of the console's memory, [N].
    y: The same, upwards.
    values: [N].

  Returns:
    (means, counts), floats [rows, columns], the lowest row first.
  """
  edges = [np.arange(a, b + 1, _CELL) for a, b in (_Y_RANGE, _X_RANGE)]
  counts = np.histogram2d(y, x, edges)[0]
  sums = np.histogram2d(y, x, edges, weights=values)[0]
  with np.errstate(invalid='ignore'):
    return sums / counts, counts


def _say(name, steps):
  begins = steps.begins_life
  print(
      f'{name}: {begins.size} steps; {(steps.reward > 0).sum()} rewards, up to'
      f' {steps.reward.max():.0f}; {begins.sum()} deaths before the last'
      f' of a game; mean bonus {steps.bonus.mean():.4f}; mean intrinsic value'
      f' {steps.intrinsic_value.mean():.3f}, where the next life begins'
      f' {steps.intrinsic_value[begins].mean():.3f}',
      flush=True,
  )


def _draw(runs, out):
  """Draws a row of three maps for each (name, `Steps`)."""
  fig = drawing.new_figure((13, 3.6 * len(runs)))
  grid = fig.subplots(len(runs), 3, squeeze=False)
  for row, (name, steps) in zip(grid, runs):
    here = steps.room == _FIRST_ROOM
    at = steps.x[here], steps.y[here]
    bonus, counts = mean_map(*at, steps.bonus[here])
    value, _ = mean_map(*at, steps.intrinsic_value[here])
    counts[counts == 0] = np.nan
    maps = {
        'share of the steps, %': 100 * counts / steps.x.size,
        'mean normalised bonus': bonus,
        'mean intrinsic value': value,
    }
    for axes, (title, cells) in zip(row, maps.items()):
      image = axes.imshow(
          cells, origin='lower', extent=(*_X_RANGE, *_Y_RANGE), aspect='auto'
      )
      axes.set_facecolor(heat_maps.BACKGROUND)
      axes.set_title(f'{name}: {title}', fontsize=9)
      fig.colorbar(image, ax=axes)
  drawing.save(fig, out)


def main(argv):
  del argv
  runs = []
  for root_dir in flags.FLAGS.root_dir:
    name = os.path.basename(os.path.normpath(root_dir))
    steps = play(root_dir, flags.FLAGS.num_env_steps, flags.FLAGS.seed)
    _say(name, steps)
    runs.append((name, steps))
  _draw(runs, flags.FLAGS.out)


if __name__ == '__main__':
  flags.DEFINE_multi_string('root_dir', None, 'Folder of a run.', required=True)
  flags.DEFINE_string('out', None, 'Picture to write.', required=True)
  flags.DEFINE_integer('num_env_steps', 24_000, 'Of all environments.')
  flags.DEFINE_integer('seed', 0, 'Of environments and actions.')
  app.run(main)
