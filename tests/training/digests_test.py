# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds refactorings to the numbers that were recorded before them.

Floating-point sums differ between processors and versions of TensorFlow. On a
machine of a recorded kind a run has to give the recorded metrics.csv byte for
byte, everywhere else the recorded first row within a tolerance. A change that
is meant to change numbers records them anew, on each machine in turn:

    python -m tests.training.digests_test --record
"""

import csv
import hashlib
import json
import os
import sys
import tempfile

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.networks import precision
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import run_directory

_RECORD = os.path.join(os.path.dirname(__file__), 'recorded', 'digests.json')
_SMALL = (
    'train_eval.num_environments = 4',
    'train_eval.num_eval_episodes = 2',
    'train_eval.record_video = False',
    'train_eval.save_policies = False',
)
# Warm-up of 64 steps, then three iterations and an evaluation.
_SHORT = _SMALL + (
    'train_eval.warm_up_env_steps = 64',
    'train_eval.num_env_steps = 400',
    'OnPolicyTraining.rollout_length = 32',
)
_RUNS = {
    'mountain_car': _SHORT,
    'cartpole_masked': _SHORT,
    'mountain_car_ppo': _SHORT,
    'recall_r2d2': _SMALL + (
        'train_eval.warm_up_env_steps = 64',
        'train_eval.num_env_steps = 400',
        'ReplayTraining.rollout_length = 32',
        'ReplayTraining.batch_size = 4',
        'PrioritizedReplay.min_sequences = 4',
    ),
    # One update.
    'montezuma_revenge_cpu': _SMALL + (
        'train_eval.warm_up_env_steps = 16',
        'train_eval.num_env_steps = 40',
        'OnPolicyTraining.rollout_length = 8',
        'eval/load_environment.max_episode_steps = 20',
        'COMPUTE_DTYPE = "float32"',
    ),
}


def _machine():
  """What the last bits of a run depend on, besides its settings."""
  kinds = [
      flag
      for flag in precision.cpu_flags()
      if flag.startswith(('avx', 'amx', 'fma'))
  ]
  return ', '.join([
      f'TensorFlow {tf.__version__}',
      f'NumPy {np.__version__}',
      str(run_directory.processor()),
      # Clouds give several processors one name; products are cut into blocks
      # by the sizes of caches.
      *(
          f'{what} {precision.cpu_info(what)}'
          for what in ('model', 'stepping', 'cache size')
      ),
      f'{os.cpu_count()} processors',
      ' '.join(sorted(kinds)),
  ])


def _run(name, root_dir):
  """Returns (digest of metrics.csv, numbers of its first row by name)."""
  gin.clear_config()
  gin_files.parse([name], _RUNS[name])
  experiment.train_eval(root_dir, seed=0)
  with open(os.path.join(root_dir, 'metrics.csv'), 'rb') as file:
    content = file.read()
  row = next(csv.DictReader(content.decode().splitlines()))
  first = {k: float(v) for k, v in row.items() if v and k != 'phase'}
  return hashlib.sha256(content).hexdigest(), first


def _read():
  with open(_RECORD, encoding='utf-8') as file:
    return json.load(file)


@pytest.mark.usefixtures('optimized_graphs')
@pytest.mark.parametrize('name', _RUNS)
def test_numbers_are_those_that_were_recorded(name, tmp_path):
  if name == 'montezuma_revenge_cpu':
    pytest.importorskip('ale_py')
  record = _read()
  digest, first = _run(name, os.fspath(tmp_path))
  recorded = record['digests'].get(_machine())
  if recorded is not None:
    assert digest == recorded[name]
  assert first.keys() == record['first_rows'][name].keys()
  for key, value in record['first_rows'][name].items():
    assert first[key] == pytest.approx(value, rel=1e-2, abs=1e-4), key


def _record():
  record = _read() if os.path.exists(_RECORD) else dict(digests={})
  with tempfile.TemporaryDirectory() as folder:
    found = {name: _run(name, os.path.join(folder, name)) for name in _RUNS}
  record['digests'][_machine()] = {
      name: digest for name, (digest, _) in found.items()
  }
  record['first_rows'] = {name: first for name, (_, first) in found.items()}
  with open(_RECORD, 'w', encoding='utf-8') as file:
    json.dump(record, file, indent=1)
    file.write('\n')


if __name__ == '__main__':
  if sys.argv[1:] != ['--record']:
    sys.exit(__doc__)
  _record()
