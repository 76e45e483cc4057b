# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""CleanRL's RND, which `atari_speed` compares with, and its phases.

    RIVAL_PYTHON benchmarks/atari_rivals.py SCRIPT OUT.json [FLAG...]

Runs a user's copy of CleanRL's `ppo_rnd_envpool.py` as it is, on envpool's new
API, and writes the seconds of each of its updates by phase. The script is not
changed: what it calls tells the phases apart, see `Phases`.

This file imports nothing of this package: the Python that runs it has PyTorch
and no TensorFlow.
"""

import argparse
import json
import runpy
import sys
import time


class Phases:
  """Seconds of each phase of each update of CleanRL's script.

  Its networks are called without gradients where it acts and bootstraps, and
  with them for the bonus (of which it then drops them) and in learning. So

  *   environment: within `step`;
  *   bonus: from there to the next call without gradients, which is that of the
      next action or, after the last step, of the bootstrap;
  *   acting: from such a call to the next `step`;
  *   gae: from the bootstrap to the next call with gradients: advantages and
      statistics of observations;
  *   learning: from there to the next call without gradients, or the end.
  """

  NAMES = ('environment', 'acting', 'bonus', 'gae', 'learning')

  def __init__(self):
    self.updates = []
    self._phase = None  # None before the first action: random steps.
    self._since = 0.0

  def _enter(self, phase, counted_as=None):
    now = time.perf_counter()
    if self._phase is not None:
      name = counted_as or self._phase
      self.updates[-1][name] += now - self._since
    self._phase, self._since = phase, now

  def begin_step(self):
    if self._phase is not None:
      self._enter('environment')

  def end_step(self):
    if self._phase is not None:
      self._enter('bonus')

  def call(self, with_gradients):
    """A network is about to be called."""
    if with_gradients:
      if self._phase == 'acting':
        self._enter('learning', counted_as='gae')
    elif self._phase != 'acting':
      new = self._phase in (None, 'learning')
      self._enter('acting')
      if new:
        self.updates.append(dict.fromkeys(self.NAMES, 0.0))

  def end(self):
    self._enter(None)


class OldApi:
  """An envpool of version 1 as older versions, and gym's wrappers, had it."""

  def __init__(self, pool, phases):
    from gym import spaces

    self._pool = pool
    self._phases = phases
    self.action_space = spaces.Discrete(int(pool.action_space.n))
    self.observation_space = pool.observation_space

  def reset(self):
    return self._pool.reset()[0]

  def step(self, actions):
    self._phases.begin_step()
    observations, rewards, terminated, truncated, infos = self._pool.step(
        actions
    )
    self._phases.end_step()
    return observations, rewards, terminated | truncated, infos

  def close(self):
    self._phases.end()
    self._pool.close()


def run_cleanrl(script, out, arguments):
  """Runs the script; writes {'versions': ..., 'updates': [...]}."""
  import envpool
  import torch

  phases = Phases()
  make = envpool.make
  envpool.make = lambda *args, **kwargs: OldApi(make(*args, **kwargs), phases)
  torch.nn.modules.module.register_module_forward_pre_hook(
      lambda module, inputs: phases.call(torch.is_grad_enabled())
  )
  sys.argv = [script, *arguments]
  runpy.run_path(script, run_name='__main__')
  versions = (
      f'PyTorch {torch.__version__}, {torch.get_num_threads()} threads, envpool'
      f' {envpool.__version__}'
  )
  with open(out, 'w', encoding='utf-8') as file:
    json.dump(dict(versions=versions, updates=phases.updates), file)


def main():
  parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
  parser.add_argument('script')
  parser.add_argument('out')
  args, others = parser.parse_known_args()
  run_cleanrl(args.script, args.out, others)


if __name__ == '__main__':
  main()
