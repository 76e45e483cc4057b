#!/usr/bin/env bash
# torchrl 0.14.1: for the first ten thousands of steps `VecNormV2` divides by about the
# distance of an observation from zero, and not by its standard deviation.
#
# The transform keeps moving averages of the values and of their squares, which begin at zero
# and are divided by the share of the weight that is there so far, b = 1 - decay^count. The
# square of the mean is subtracted before that division. What is left is the variance plus
# (1 - b) mean^2: with the default decay of 0.9999 b is 0.05 after 500 steps, and 0.63 after
# 10000.
#
# * Draws with a standard deviation of 1 and means of 0, 10 and 100, after 500 steps: the
#   scales are 1.0, 9.8 and 98, and the "normalized" values have deviations of 1.0, 0.1 and
#   0.01. What is normalized depends on where its zero is: degrees Celsius and Kelvin differ.
# * Random play of MountainCar: the scale of the position is eight times its deviation.
# * `scale`, `denorm` and `to_observation_norm`, and with it a policy that is deployed, have
#   the same, and so has `VecNorm` with `new_api=True`. Statistics that are frozen stay so.
#
# One would guess: "normalizing vectorized observations", to a deviation of 1 after a
# few hundred steps, and that `decay` says only how fast old steps are forgotten; each of the
# two averages alone is right without bias. Means are: the normalized values are around 0. Later
# the scale comes down by itself, so that what a policy sees for the same state goes on to
# change (the second column is 0.77 once 50000 steps have passed, by the formula).
#
# Controls: the moments that the transform itself stores, each divided by b before the square
# is taken; NumPy's deviation; `decay=1.0`, which has no such division; `VecNorm`, the
# first version.
#
# Source: torchrl/envs/transforms/vecnorm.py (`VecNormV2._norm`, `VecNormV2._get_loc_scale`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torchrl==0.14.1' 'tensordict==0.14.3' 'torch==2.13.0' 'gymnasium==1.4.0' 'numpy==2.3.5'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
import torch
from torchrl.envs import GymWrapper
from torchrl.envs import TransformedEnv
from torchrl.envs import VecNorm
from torchrl.envs import VecNormV2

STEPS = 500
MEANS = np.array([0.0, 10.0, 100.0])
as_described = True
torch.set_num_threads(1)


class Draws(gymnasium.Env):
  """Observations that do not depend on anything."""

  observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
  action_space = gymnasium.spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    return self.np_random.normal(MEANS), {}

  def step(self, action):
    return self.np_random.normal(MEANS), 0.0, False, False, {}


def play(env, transform):
  """Returns the observations, and the normalized ones of the last half."""
  env = TransformedEnv(GymWrapper(env), transform)
  env.set_seed(0)
  torch.manual_seed(0)
  start = env.reset()
  steps = env.rollout(STEPS, auto_reset=False, tensordict=start, break_when_any_done=False)
  seen = torch.cat([start['observation'][None], steps['next', 'observation']]).numpy()
  return seen, steps['next', 'normed'][STEPS // 2:].numpy()


def keys(**settings):
  return {'in_keys': ['observation'], 'out_keys': ['normed'], **settings}


for name, transform, divides_by_the_mean in (
    ('VecNormV2', VecNormV2(**keys()), True),
    ('VecNorm, new_api=True', VecNorm(**keys(new_api=True)), True),
    ('VecNormV2, decay=1.0', VecNormV2(**keys(decay=1.0)), False),
    ('VecNorm, new_api=False', VecNorm(**keys(new_api=False)), False),
):
  seen, normed = play(Draws(), transform)
  print(f'{name}: deviations of the observations {seen.std(0).round(2)}, of the normalized ones'
        f' {normed.std(0).round(3)}, means of these {normed.mean(0).round(2)}')
  as_described &= bool(np.allclose(seen.std(0), 1, atol=0.1))
  deviations = [1, 0.1, 0.01] if divides_by_the_mean else [1, 1, 1]
  as_described &= bool(np.allclose(normed.std(0), deviations, rtol=0.15))
  if name == 'VecNormV2':
    state = transform.get_extra_state()
    (mean,), (square,), (count,) = (
        [value.numpy() for key, value in state.items() if key.startswith(part)]
        for part in ('loc', 'var', 'count')
    )
    b = 1 - transform.decay**count
    right = np.sqrt(square / b - (mean / b)**2)
    expected = np.sqrt(right**2 + (1 - b) * (mean / b)**2)
    scale = transform.scale['observation'].numpy()
    exported = transform.to_observation_norm().scale.numpy()
    print(f'  its scale {scale.round(2)}, that of its ObservationNorm {exported.round(2)}; from'
          f' the same averages, each divided by b = {b:.3f}, {right.round(2)}; with the'
          f' remaining (1 - b) mean^2 {expected.round(2)}')
    as_described &= bool(np.allclose(scale, expected, rtol=1e-3))
    as_described &= bool(np.allclose(exported, expected, rtol=1e-3))
    as_described &= bool(np.allclose(right, seen.std(0), rtol=0.05))

transform = VecNormV2(**keys())
seen, normed = play(gymnasium.make('MountainCar-v0', max_episode_steps=100), transform)
scale = transform.scale['observation'].numpy()
print(f'MountainCar: means {seen.mean(0).round(3)}, deviations {seen.std(0).round(3)}, scale'
      f' {scale.round(3)}')
as_described &= bool(scale[0] > 4 * seen.std(0)[0] and scale[1] < 1.2 * seen.std(0)[1])
sys.exit(not as_described)
PROGRAM
