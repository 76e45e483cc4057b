# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How much of a run's novelty comes from screens that stand still.

    python -m benchmarks.frozen_screens --root_dir=RUN [--out=FILE]

Plays an Atari game with the policy and the curiosity of a run's newest
checkpoint. Prints which share of the steps shows the screen of the step before,
and which share of the novelty is theirs; and what a death brings, where the
screen stands still before the life is taken. Draws the novelty of the first
game. 12,000 steps take a minute of a core.
"""

import os

from absl import app
from absl import flags
import numpy as np

from benchmarks import checkpoint_play
from rnd_agents.plotting import drawing

_NUM_DRAWN = 240
_NUM_SCREENS = 6


def repeats(screens):
  """Whether each step shows the screen of the step before.

  Args:
    screens: [T, B, H, W].

  Returns:
    Booleans [T, B].
  """
  same = np.zeros(screens.shape[:2], bool)
  same[1:] = (screens[1:] == screens[:-1]).all((2, 3))
  return same


def stands_still_before(same, deaths):
  """The steps that a death takes: the repeats that end with it.

  Args:
    same: Booleans [T, B], of `repeats`.
    deaths: Booleans [T, B]: steps with a life less than the one before.

  Returns:
    Booleans [T, B].
  """
  taken = np.zeros_like(same)
  ends = np.zeros_like(same[0])
  for t in range(len(same) - 1, -1, -1):
    taken[t] = ends & same[t]
    ends = deaths[t] | taken[t]
  return taken


def _look(time_step, info):
  return dict(screen=time_step.observation[..., -1].copy(), lives=info['lives'])


def _say(name, steps, same, taken, deaths):
  bonus = steps['bonus']
  print(
      f'{name}: {same.size} steps, {(steps["reward"] > 0).sum()} rewards.'
      f' {100 * same.mean():.1f} % show the screen before and have'
      f' {100 * bonus[same].sum() / bonus.sum():.1f} % of the novelty: mean'
      f' {bonus[same].mean():.4f}, others {bonus[~same].mean():.4f}.'
  )
  num_deaths = deaths.sum()
  if num_deaths:
    print(
        f'{name}: {num_deaths} deaths, each after'
        f' {taken.sum() / num_deaths:.0f} steps of one screen, with a novelty'
        f' of {bonus[taken].sum() / num_deaths:.3f} altogether; as many other'
        f' steps have {bonus[~taken].mean() * taken.sum() / num_deaths:.3f}.'
    )


def _draw(name, steps, same, out):
  """Draws screens of the first game over its novelty, step by step."""
  bonus, screens = steps['bonus'][:_NUM_DRAWN, 0], steps['screen'][:, 0]
  fig = drawing.new_figure((13, 5))
  grid = fig.add_gridspec(2, _NUM_SCREENS)
  shown = np.linspace(0, len(bonus) - 1, _NUM_SCREENS).astype(int)
  for i, t in enumerate(shown):
    axes = fig.add_subplot(grid[0, i])
    axes.imshow(screens[t], cmap='gray')
    axes.set_title(f'step {t}: {bonus[t]:.3f}', fontsize=9)
    axes.set_axis_off()
  axes = fig.add_subplot(grid[1, :])
  axes.plot(bonus)
  axes.fill_between(
      np.arange(len(bonus)),
      0,
      bonus,
      where=same[: len(bonus), 0],
      alpha=0.4,
      label='the screen of the step before',
  )
  axes.set_xlabel('step of a game')
  axes.set_ylabel('normalised novelty')
  axes.set_title(name, fontsize=9)
  axes.legend()
  drawing.save_figure(fig, out)


def main(argv):
  del argv
  root_dir = flags.FLAGS.root_dir
  steps = checkpoint_play.play(
      root_dir, flags.FLAGS.num_env_steps, flags.FLAGS.seed, (), _look
  )
  same = repeats(steps['screen'])
  deaths = checkpoint_play.lost_lives(steps['lives'])
  name = os.path.basename(os.path.normpath(root_dir))
  _say(name, steps, same, stands_still_before(same, deaths), deaths)
  if flags.FLAGS.out:
    _draw(name, steps, same, flags.FLAGS.out)


if __name__ == '__main__':
  flags.DEFINE_string('root_dir', None, 'Folder of a run.', required=True)
  flags.DEFINE_string('out', None, 'Picture to write.')
  flags.DEFINE_integer('num_env_steps', 12_000, 'Of all environments.')
  flags.DEFINE_integer('seed', 0, 'Of environments and actions.')
  app.run(main)
