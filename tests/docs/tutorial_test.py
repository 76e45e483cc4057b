# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/tutorial.md literally, with short runs."""

import os
import re
import shlex
import subprocess
import sys

from absl import flags
import gin
import pytest

from rnd_agents.environments import check
from rnd_agents.plotting import report
from rnd_agents.training import experiment
from tests import command_lines
from tests.docs import pages
from train import evaluate
from train import train_eval

_PAGE = 'docs/tutorial.md'
def _train(*argv):
  """Trains as the command says, but for the length."""
  values = flags.FlagValues()
  train_eval.define_flags(values)
  values(['train_eval', *argv])
  (path,) = values['gin_file'].value
  name = path.removesuffix('.gin')
  short = dict(
      pages.SHORT,
      **{'train_eval.save_policies': 'ppo' not in name,
         'create_networks.conv_layers': ((4, 8, 8),),
         'create_rnd_networks.conv_layers': ((4, 8, 8),)},
  )
  experiment.train_files(f'runs/{name}/seed_0', [path], short, seed=0)


def _call(program):
  def call(*argv):
    assert command_lines.call(program, *argv) == 0

  return call


_COMMANDS = {
    'rnd-check': _call(check),
    'rnd-evaluate': _call(evaluate),
    'rnd-report': _call(report),
    'rnd-train': _train,
}


def test_tutorial(tmp_path, monkeypatch, capsys):
  pytest.importorskip('plotly')
  pytest.importorskip('imageio_ffmpeg')
  registered = pages.registered()
  pages.write_files(_PAGE, tmp_path, monkeypatch)
  pages.run_eagerly(monkeypatch)
  shown = []
  for block in pages.blocks(_PAGE):
    if block.language == 'sh' and block.comment.get('run'):
      for command in pages.commands(block):
        name, *argv = shlex.split(command)
        _COMMANDS[name](*argv)
    elif block.language == 'text':
      shown.append(block.code)
    elif block.language == 'python' and block.comment.get('run'):
      # Literally: in a process that has not imported this package.
      ran = subprocess.run(
          [sys.executable, '-c', block.code],
          env={k: v for k, v in os.environ.items() if k[:4] != 'TF_U'},
          capture_output=True,
          text=True,
      )
      assert ran.returncode == 0, ran.stderr
      assert re.match(r'tf.Tensor\(\[[0-3]\], shape=\(1,\)', ran.stdout)
  pages.forget_files(tmp_path, registered)
  gin.clear_config()
  out = capsys.readouterr().out
  assert shown[0] in out  # What the checker prints.
  assert 'best.mp4' in os.listdir() and 'report.html' in os.listdir()
  with open('report.html', encoding='utf-8') as file:
    assert 'key_room_ppo' in file.read()
