# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each example as its user starts it: does every flag reach the loop?"""

import importlib.util
import re

import pytest

from tests import source_tree
from tests.train import binaries


def _run(name, *arguments):
  """Runs an example; returns what it says."""
  result = binaries.run(source_tree.ROOT, f'examples.{name}', *arguments)
  said = result.stdout + result.stderr
  assert result.returncode == 0, said
  return said


def test_classic_loop(tmp_path):
  said = _run(
      'classic_loop', f'--root_dir={tmp_path}', '--num_iterations=1',
      '--driver=episode',
  )
  # The time limit of a whole episode: with the step driver none would be over.
  assert 'Iteration 1: average return -200.0' in said
  assert (tmp_path / 'policy' / 'saved_model.pb').exists()


def test_curiosity_for_any_agent():
  said = _run(
      'curiosity_for_any_agent', '--env_name=MountainCar-v0',
      '--num_iterations=500', '--bonus_weight=0.5',
  )
  assert 'Iteration 500: average return -200.0' in said


def test_serve_policy():
  said = _run('serve_policy', '--num_rollouts=2', '--num_simulators=3')
  returns = re.findall(r'Rollout (\d): average return ([\d.]+), loss', said)
  assert [number for number, _ in returns][:2] == ['1', '2']
  # A pole falls after 8 steps at the earliest, and untrained after some 20.
  assert all(9 < float(mean) < 60 for _, mean in returns[:2])


def test_ppo_learner_reverb(tmp_path):
  pytest.importorskip(
      'reverb', reason='needs Reverb: pip install "rnd_agents[reverb]"'
  )
  _run(
      'ppo_learner_reverb', f'--root_dir={tmp_path}', '--num_iterations=0',
      '--env_name=CartPole-v1',
  )
  policy = tmp_path / 'policies' / 'policy' / 'policy_specs.pbtxt'
  assert 'size: 4' in policy.read_text()  # CartPole's observation.


def test_stable_baselines3_ppo():
  # Not imported here: PyTorch's Triton ends a process that has TensorFlow.
  if importlib.util.find_spec('stable_baselines3') is None:
    pytest.skip('needs stable-baselines3')
  said = _run('stable_baselines3_ppo', '--size=4', '--num_env_steps=40000')
  share, steps = re.search(r': ([\d.]+) of .* after (\d+) steps', said).groups()
  assert float(share) >= 0.9 and int(steps) < 40_000
