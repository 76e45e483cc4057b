# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs on every kind of observation at once, by both agents."""

import os

from absl import logging
import gymnasium
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_runs

_SPACE = spaces.Dict({
    'ram': spaces.Box(0, 255, (16,), np.uint8),
    'clock': spaces.Box(0, 2**62, (1,), np.int64),
    'frames': spaces.Box(0, 255, (4, 20, 20), np.uint8),
    'pair': spaces.MultiDiscrete([5, 3], start=[0, 1]),
    'far': spaces.Box(-np.inf, np.inf, (2,), np.float32),
})


class Everything(gymnasium.Env):
  """Shows samples of a space, and counts from far away."""

  observation_space = _SPACE
  action_space = spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.observation_space.seed(seed)
    self._step = 0
    return self._shown(), {}

  def step(self, action):
    self._step += 1
    return self._shown(), float(action), False, self._step == 8, {}

  def _shown(self):
    return dict(
        self.observation_space.sample(),
        clock=np.full([1], 2**40 + self._step),
        far=np.full([2], 10_000 + self._step, np.float32),
    )


gymnasium.register('observations_run_test/Everything-v0', Everything)


@pytest.mark.parametrize('agent', ['RNDPPOAgent', 'R2D3Agent'])
def test_every_kind_of_observation(agent, tmp_path, monkeypatch):
  lines = []
  monkeypatch.setattr(logging, 'info', lambda m, *a: lines.append(m % a))
  warnings = []
  monkeypatch.setattr(logging, 'warning', lambda m, *a: warnings.append(m % a))
  normalizes = agent == 'R2D3Agent'
  tiny_runs.train(
      tmp_path,
      150,
      "load_environment.env = 'observations_run_test/Everything-v0'",
      f'{agent}.normalize_observations = {normalizes}',
      f'train_eval.save_policies = {normalizes}',
      settings=(
          [
              line
              for line in tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS)
              if 'Recall' not in line
          ]
          if normalizes
          else tiny_runs.PPO_SETTINGS
      ),
  )
  said = {
      line.split("'")[1].removeprefix('observation/'): line.split(': ', 2)[2]
      for line in lines
      if line.startswith('observation ')
  }
  whitened = 'whitened by running moments, dense'
  assert said == {
      'ram': whitened if normalizes else 'divided by 255, dense',
      'clock': whitened,
      'frames': 'divided by 255, a picture [20, 20, 4]',
      'pair': 'one-hot of 5, dense',
      'far': whitened if normalizes else 'as it is, dense',
  }
  if not normalizes:
    features = 16 + 1 + 4 * 4 * 32 + 2 * 5 + 2
    convolutions = (4 * 4 * 4 + 1) * 16 + (3 * 3 * 16 + 1) * 32
    trunk = convolutions + (features + 1) * 8
    heads = (8 + 1) * (2 + 1 + 1)  # Two actions, two values.
    assert f'{2 * trunk + heads:,} weights' in '\n'.join(lines)
  told = [line for line in warnings if 'normalize_observations = True' in line]
  assert len(told) == (0 if normalizes else 1)
  # The moments of the clock are part of checkpoints and of saved policies.
  folders = [tmp_path / 'checkpoints']
  if normalizes:
    folders.append(tmp_path / 'policies/policy')
  for folder in folders:
    (path,) = list(folder.rglob('variables*.index'))[-1:]
    reader = tf.train.load_checkpoint(os.fspath(path.with_suffix('')))
    means = [
        reader.get_tensor(name)
        for name, shape in reader.get_variable_to_shape_map().items()
        if shape == [1] and 'VARIABLE_VALUE' in name
    ]
    assert any(2**40 <= mean[0] <= 2**40 + 8 for mean in means)
