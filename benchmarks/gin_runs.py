# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of `train_eval`, built from gin and measured in parts."""

from collections.abc import Callable, Sequence
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
import gin
import tensorflow as tf

from rnd_agents import run_files
from rnd_agents.collecting import local
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import runs


def timings(gin_file: str, bindings: Sequence[str]) -> list[run_files.Row]:
  """Makes a whole run in a process; returns its iterations' rows of timings."""
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run(
        [
            sys.executable,
            '-m',
            'train.train_eval',
            f'--gin_file={gin_file}',
            f'--root_dir={folder}/run',
            *[f'--gin_bindings={line}' for line in bindings],
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows = run_files.read_rows(f'{folder}/run', run_files.TIMINGS_FILE)
  return [row for row in rows if row.phase == 'train']


class Built(NamedTuple):
  """A run that has not begun.

  Attributes:
    config: the `experiment.Experiment`.
    seeds: `runs.Seeds`.
    shards: the collectors.
    agent: the agent.
  """

  config: Any
  seeds: Any
  shards: Any
  agent: Any

  def collect(self, num_steps: int):
    """Returns a rollout [B, num_steps + 1] of the agent's present policy."""
    variables = local.as_numpy(list(self.agent.collect_policy.variables()))
    return self.shards.collect(lambda _: variables, num_steps)

  def iterations(self):
    """Returns the iterations of the run, after the first, which traces."""
    run = runs.Run(self.config, self.seeds, self.agent, self.shards, None)
    run.checkpoints = checkpoints.Checkpoints(run.path('checkpoints'))
    loop = self.config.training.build_loop(run)
    loop.begin()
    iterations = loop.iterations()
    next(iterations)  # Also builds the policies, while gin is as it was.
    return iterations


def build(
    gin_file: str,
    bindings: Sequence[str] = (),
    make_shards: Callable[..., Any] | None = None,
    root_dir: str = '',
) -> Built:
  """Builds the environments and the agent of a run.

  Args:
    gin_file: its gin file.
    bindings: gin bindings on top.
    make_shards: as for `experiment.run`.
    root_dir: folder of the run. Nothing is written to it here.
  """
  gin.clear_config()
  gin_files.parse([gin_file], bindings)
  config = experiment.Experiment(root_dir=root_dir)
  seeds = runs.Seeds(config.seed)
  tf.keras.utils.set_random_seed(seeds.networks)
  make_shards = make_shards or experiment.local_shards
  shards = make_shards(config, seeds, experiment.recipes(config, seeds))
  agent = config.training.build_agent(shards.specs, config.num_environments)
  return Built(config, seeds, shards, agent)
