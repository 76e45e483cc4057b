# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the reference of settings."""

import re

import gin

from rnd_agents.training import gin_files
from train import settings


def test_the_reference_has_everything_that_gin_can_set():
  page = settings.as_markdown()
  for name in gin_files.configurables():
    introduction, *_ = page.split(f'\n### {name}\n')[1].split('\n| parameter')
    for row in settings.parameters(name):
      assert f'| `{name}.{row.name}` |' in page
      # A reader learns of each what it is.
      assert row.description or row.name in introduction, (name, row.name)
  assert {'train_eval', 'RNDPPOAgent', 'explore', 'ReplayTraining'} <= set(
      re.findall('^### (.*)$', page, re.M)
  )
  gin.clear_config()


def test_rows():
  rows = {row.name: row for row in settings.parameters('train_eval')}
  assert 'root_dir' not in rows  # Gin may not bind it.
  assert rows['num_env_steps'].type == 'int'
  assert rows['num_env_steps'].default == '500000'
  assert rows['stop_at_success_rate'].type == 'float or None'
  assert rows['warm_up_env_steps'].description.startswith('Uniformly random')
  rows = {row.name: row for row in settings.parameters('RNDPPOAgent')}
  assert 'optimizer' not in rows
  assert rows['discount_factor'].type == 'Float'
  rows = settings.parameters('create_rnd_ppo_agent')
  assert ('@create_networks', 'Callable[..., Networks]') in [
      (row.default, row.type) for row in rows
  ]


def test_command(capsys):
  assert settings.main(['', 'NovelD', 'LSTMCore']) == 0
  out = capsys.readouterr().out
  assert re.findall('^#.*', out, re.M) == ['### NovelD', '### LSTMCore']
  assert '| `NovelD.alpha` | `float` | `0.5` |' in out
  assert settings.main(['', 'NoSuch']) == 2
  assert 'NovelD' in capsys.readouterr().err
