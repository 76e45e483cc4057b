# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures the share of bsuite's Deep Seas that are solved by its own rule.

    pip install bsuite
    python -m benchmarks.bsuite_deep_sea --gin_file=deep_sea_counts.gin

Plays bsuite's own environments of its `deep_sea` experiment (sizes 10, 12, up
to 50; Osband et al., 2019, arXiv 1908.03568) for 10,000 episodes each, all
environments of a batch together, and gives what they report to bsuite's own
analysis. A size is solved if at some episode the share of bad episodes so far,
those that have left the way to the treasure, is below 0.9. A run ends there:
what follows does not count. `--seed` is the seed of each run. The same command
after a kill or a signal plays the sizes that are not finished.
"""

import os
import shutil
import sys
import time

from absl import flags
from bsuite.experiments.deep_sea import analysis
from bsuite.experiments.deep_sea import deep_sea
from bsuite.experiments.deep_sea import sweep
import gin
import gymnasium
from gymnasium import spaces
import numpy as np
import pandas as pd

from benchmarks import programs
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.training import gin_files

_GIN_FILE = flags.DEFINE_string('gin_file', 'deep_sea_counts.gin', 'Agent.')
_BINDINGS = flags.DEFINE_multi_string('gin_bindings', [], 'On top of it.')
_SIZES = flags.DEFINE_list('sizes', [], 'Sizes. Default: all 21.')
_SEED = flags.DEFINE_integer('seed', 0, 'Seed of each run.')
_OUT = flags.DEFINE_string('out', 'runs/bsuite_deep_sea', 'Folder of runs.')

_SOLVED_SHARE = 0.9  # The default `thresh` of bsuite's `find_solution`.


@gin.configurable(module='benchmarks')
class BsuiteDeepSea(gymnasium.Env):
  """bsuite's environment; `is_success` is what bsuite calls not bad."""

  ends_by_itself = True

  def __init__(self, **kwargs):
    self._env = deep_sea.load(**kwargs)
    shape = self._env.observation_spec().shape
    self.observation_space = spaces.Box(0.0, 1.0, shape, np.float32)
    self.action_space = spaces.Discrete(self._env.action_spec().num_values)

  def _num_bad(self):
    return self._env.bsuite_info()['total_bad_episodes']

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._num_bad_before = self._num_bad()
    return self._env.reset().observation.astype(np.float32), {}

  def step(self, action):
    step = self._env.step(action)
    info = {}
    if step.last():
      info['is_success'] = self._num_bad() == self._num_bad_before
    observation = step.observation.astype(np.float32)
    return observation, float(step.reward), step.last(), False, info


class _Rule(callbacks.Callback):
  """Counts bad episodes, and stops the run once bsuite's rule is met.

  Attributes:
    num_bad: Number of bad episodes so far, after each episode.
  """

  def __init__(self):
    self.num_bad = []

  @property
  def is_met(self):
    is_played = bool(self.num_bad)
    return is_played and self.num_bad[-1] < _SOLVED_SHARE * len(self.num_bad)

  def after_iteration(self, run, iteration):
    for episode in iteration.episodes:
      before = self.num_bad[-1] if self.num_bad else 0
      self.num_bad.append(before + (not episode.success))
    if self.is_met:
      run.stop('the rule')


def _table(setting):
  """Returns the table of a run, which is played if it is not there."""
  size = setting['size']
  folder = os.path.join(_OUT.value, f'size_{size}', f'seed_{_SEED.value}')
  path = os.path.join(folder, 'bsuite.csv')
  if os.path.exists(path):
    return pd.read_csv(path)
  shutil.rmtree(folder, ignore_errors=True)  # It was killed amid the run.
  gin.clear_config()
  gin_files.parse(
      [_GIN_FILE.value],
      [
          f'DEEP_SEA_SIZE = {size}',
          'load_environment.env = @BsuiteDeepSea',
          f'load_environment.env_kwargs = {setting}',
          "load_environment.vectorization = 'sync'",
          f'train_eval.num_env_steps = {analysis.NUM_EPISODES * size}',
          f'train_eval.eval_interval_env_steps = {10**9}',
          'train_eval.record_video = False',
          'train_eval.save_policies = False',
          f'train_eval.checkpoint_interval_iterations = {10**6}',
          *_BINDINGS.value,
      ],
  )
  rule = _Rule()
  outcome = experiment.train_eval(folder, seed=_SEED.value, callbacks=[rule])
  if not (outcome.finished or rule.is_met):
    sys.exit('Stopped by a signal: the same command plays this size again.')
  table = pd.DataFrame(
      dict(
          size=size,
          episode=np.arange(len(rule.num_bad)) + 1,
          total_bad_episodes=rule.num_bad,
      )
  )
  # Up to two gigabytes of replay, of no more use.
  shutil.rmtree(os.path.join(folder, 'checkpoints'))
  table.to_csv(path, index=False)
  return table


def main(argv):
  """Runs the sizes and prints bsuite's score."""
  del argv
  # pandas has none any more; bsuite's analysis calls it.
  pd.Series.append = lambda self, other: pd.concat([self, other])
  tables = []
  for setting in sweep.SETTINGS:
    if _SIZES.value and str(setting['size']) not in _SIZES.value:
      continue
    begun = time.monotonic()
    tables.append(_table(setting))
    last = tables[-1].iloc[-1]
    print(
        f'size {last["size"]}: {last["total_bad_episodes"]} of'
        f' {last["episode"]} episodes bad, {time.monotonic() - begun:.0f} s',
        flush=True,
    )
  table = pd.concat(tables)
  solved = analysis.find_solution(table)
  print(solved[['size', 'solved', 'episode']].to_string(index=False))
  print(f'score {analysis.score(table):.3f} of {len(solved)} sizes')


if __name__ == '__main__':
  programs.run(main)
