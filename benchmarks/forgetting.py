# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains on after a task is solved, and prints how far returns fall.

    python -m benchmarks.forgetting [--seeds=3] [--out=runs/forgetting]

The task: ten times an episode, guess which half of a noisy grey picture is a
little brighter. 10 is the best return, 5 that of chance. Compares `default.gin`
with what bounds its updates, and without.
"""

import argparse
import os
import subprocess
import sys

import gymnasium
import numpy as np

from rnd_agents import run_files
from rnd_agents import tables

_SIDE = 40
_SOLVED = 9.9
_SETTINGS = {
    'default.gin': (),
    'without dual_clip': ('RNDPPOAgent.dual_clip = None',),
    'without dual_clip and target_kl': (
        'RNDPPOAgent.dual_clip = None',
        'RNDPPOAgent.target_kl = None',
    ),
}


class BrightHalf(gymnasium.Env):
  """Ten guesses an episode: is the left (0) or the right half (1) brighter?"""

  observation_space = gymnasium.spaces.Box(0, 255, (_SIDE, _SIDE, 1), np.uint8)
  action_space = gymnasium.spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._num_guesses = 0
    return self._picture(), {}

  def step(self, action):
    reward = float(action == self._bright)
    self._num_guesses += 1
    return self._picture(), reward, False, self._num_guesses == 10, {}

  def _picture(self):
    self._bright = int(self.np_random.integers(2))
    picture = self.np_random.integers(100, 157, (_SIDE, _SIDE, 1), np.uint8)
    columns = slice(self._bright * _SIDE // 2, (self._bright + 1) * _SIDE // 2)
    picture[:, columns] += 12  # Under the noise: only sums tell.
    return picture


gymnasium.register('BrightHalf-v0', BrightHalf)


def main():
  """Trains what is not finished, and prints a table."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--seeds', type=int, default=3)
  parser.add_argument('--num_env_steps', type=int, default=60_000)
  parser.add_argument('--out', default=os.path.join('runs', 'forgetting'))
  arguments = parser.parse_args()
  rows = []
  for name, bindings in _SETTINGS.items():
    for seed in range(arguments.seeds):
      folder = os.path.join(arguments.out, name.replace(' ', '_'), f'{seed}')
      settings = (
          *bindings,
          "load_environment.env = 'benchmarks.forgetting:BrightHalf-v0'",
          f'train_eval.num_env_steps = {arguments.num_env_steps}',
          'train_eval.num_environments = 8',
          'train_eval.warm_up_env_steps = 500',
          'train_eval.record_video = False',
      )
      if run_files.read_status(folder).get('state') != 'finished':
        subprocess.run(
            [
                sys.executable,
                '-m',
                'train.train_eval',
                '--gin_file=default.gin',
                f'--root_dir={folder}',
                f'--seed={seed}',
                *(f'--gin_bindings={binding}' for binding in settings),
            ],
            check=True,
        )
      rows.append((name, str(seed), *_returns(folder)))
  header = ('settings', 'seed', 'solved after', 'lowest after that', 'end')
  print(tables.aligned([header, *rows]))


def _returns(folder):
  """(environment steps until solved, lowest return after that, last one)."""
  points = [
      (row.env_steps, row.values['return_mean'])
      for row in run_files.read_rows(folder)
      if row.phase == 'train' and 'return_mean' in row.values
  ]
  solved = [steps for steps, mean in points if mean >= _SOLVED]
  if not solved:
    return '-', '-', f'{points[-1][1]:.1f}'
  after = [mean for steps, mean in points if steps >= solved[0]]
  return f'{solved[0]:,}', f'{min(after):.1f}', f'{after[-1]:.1f}'


if __name__ == '__main__':
  main()
