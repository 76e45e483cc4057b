# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A collector in another process gives the bytes that a local one gives."""

import numpy as np
import tensorflow as tf

from rnd_agents.collecting import local
from rnd_agents.replay import sequences
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import run
from tests.collecting import process_collector

_REPLAY = (
    'train_eval.num_environments = 3',
    'ReplayTraining.unroll_length = 4',
    'ReplayTraining.burn_in_length = 2',
    'ReplayTraining.demonstrations = None',
    'ReplayTraining.demonstration_ratio = 0.0',
    'create_q_networks.fc_layer_params = (8,)',
    'LSTMCore.units = 4',
)


def _windows(create, config, seeds, variables):
  """Windows cut from what a collector gives, as flat lists of arrays."""
  found = []
  with_collector = create(experiment.recipe(config, seeds, 0))
  specs = with_collector.specs
  cutter = sequences.BatchCutter(
      config.num_environments, config.training.window, found.append
  )
  with_collector.reset()
  for step in range(40):
    rollout = with_collector.collect(None if step % 3 else variables, 1)
    rows = rollout.trajectory
    for t in range(rollout.num_old_rows, 2):
      cutter(tf.nest.map_structure(lambda x, t=t: x[:, t], rows))
  with_collector.close()
  return specs, [tf.nest.flatten(window) for window in found]


def test_replayed_windows_are_the_same_from_another_process():
  gin_files.parse(['cue_lock_r2d3'], _REPLAY)
  config = experiment.Experiment('unused', seed=5)
  seeds = run.Seeds(5)
  tf.keras.utils.set_random_seed(seeds.networks)
  probe = local.LocalCollector(experiment.recipe(config, seeds, 0))
  agent = config.training.build_agent(probe.specs, config.num_environments)
  # Half of the actions are the network's, so that the variables matter.
  agent.collect_policy.epsilon.assign([0.5] * config.num_environments)
  variables = local.as_numpy(list(agent.collect_policy.variables()))
  probe.close()

  here = _windows(local.LocalCollector, config, seeds, variables)
  there = _windows(
      lambda recipe: process_collector.ProcessCollector(recipe, 1),
      config,
      seeds,
      variables,
  )
  others = [-v if v.ndim > 1 else v for v in variables]
  changed = _windows(local.LocalCollector, config, seeds, others)

  assert here[0] == there[0]
  assert len(here[1]) == len(there[1]) > 10
  for ours, theirs in zip(here[1], there[1], strict=True):
    for a, b in zip(ours, theirs, strict=True):
      assert a.dtype == b.dtype
      np.testing.assert_array_equal(a, b)
  assert any(
      not np.array_equal(a, b)
      for ours, theirs in zip(here[1], changed[1])
      for a, b in zip(ours, theirs, strict=True)
  )
