# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run continues from its checkpoints, whatever happens to other files.

`benchmarks/faults.py` damages every file of runs of every kind.
"""

import os

import gin
import pytest

from rnd_agents import errors
from rnd_agents.archive import exploration
from tests.archive import toys

gin.external_configurable(
    toys.Drift, 'DamagedDrift', module='damaged_files_test'
)


def _explore(root_dir, num_env_steps=100, seed=0):
  gin.clear_config()
  gin.parse_config([
      'load_environment.env = @DamagedDrift',
      'load_environment.max_episode_steps = 30',
      'explore.num_environments = 1',
      'explore.steps_per_visit = 10',
      'explore.log_interval_env_steps = 10',
  ])
  return exploration.explore(
      os.fspath(root_dir), seed=seed, num_env_steps=num_env_steps
  )


@pytest.mark.parametrize(
    'content', [None, '', 'null', '{"settings": null}', '{"starts": 3}', 'seed']
)
def test_settings_are_compared_with_those_of_the_checkpoint(
    tmp_path, caplog, content
):
  _explore(tmp_path)
  path = tmp_path / 'run.json'
  if content == 'seed':  # As if it had had the other one from the beginning.
    content = path.read_text().replace('"--seed": "0"', '"--seed": "1"')
  path.unlink()
  if content is not None:
    path.write_text(content)
  with pytest.raises(errors.SetupError, match='--seed was 0 and is now 1'):
    _explore(tmp_path, 200, seed=1)
  assert _explore(tmp_path, 200).finished
  assert f'{path} has changed' in caplog.text


def test_rows_that_were_deleted_come_back(tmp_path, caplog):
  for name, lengths in (('whole', [200]), ('broken', [100, 200])):
    for num_env_steps in lengths:
      path = tmp_path / name / 'metrics.csv'
      path.unlink(missing_ok=True)
      _explore(tmp_path / name, num_env_steps)
  assert path.read_bytes() == (tmp_path / 'whole/metrics.csv').read_bytes()
  assert f'{path} has changed' in caplog.text


@pytest.mark.parametrize('name', ['metrics.csv', 'run.json', 'status.json'])
@pytest.mark.parametrize('is_new', [True, False])
def test_a_directory_in_the_place_of_a_file(tmp_path, name, is_new):
  if not is_new:
    _explore(tmp_path)
    (tmp_path / name).unlink()
  (tmp_path / name).mkdir()
  with pytest.raises(errors.SetupError, match=f'{name} is a directory'):
    _explore(tmp_path, 200)
