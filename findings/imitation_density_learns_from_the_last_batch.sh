#!/usr/bin/env bash
# imitation 1.0.1: `DensityAlgorithm` learns from the last batch of a `DataLoader`, and
# forgets all others.
#
# Demonstrations are given to each algorithm of the library as trajectories, as one
# object with all transitions, or as an iterable of batches, "a Torch `DataLoader`"
# above all. The density model wants all of them at once, so it goes through the
# batches; each one replaces the one before, since all have the same key. The last
# batch is also the one that is not full. Of 16 episodes of MountainCar (1918
# transitions)
#
# * batches of 32 leave 30 transitions, batches of 100 leave 18, and batches of 1 leave
#   one;
# * without `shuffle` these are the last steps of the last episode. So the reward pays
#   for the way up to the goal: the first 30 steps of the expert's episodes are worth
#   -41 and -102 each, where they are worth -2.5, more than the last ones, with the
#   same demonstrations as trajectories, as one object, or as one batch;
# * with `shuffle` they are any few, and others in each run.
#
# One would guess: the same model from the same data. The model is fitted, rewards are
# finite, and learning runs; the only sign is that training is quick. Mean and variance
# by which inputs are scaled are those of the last batch, too.
#
# Source: imitation/algorithms/density.py (`set_demonstrations`: `transitions.update`),
# imitation/algorithms/base.py (`DemonstrationAlgorithm.set_demonstrations`: what
# demonstrations are); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'gymnasium==0.29.1' 'numpy==1.26.4' 'scikit-learn==1.7.2' \
  'pandas==2.3.3' 'matplotlib==3.11.2'
# The rest of what they ask for loads data sets and policies, and tunes.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'imitation==1.0.1' 'stable-baselines3==2.2.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import contextlib
import io
import sys

import gymnasium
from imitation.algorithms import density
from imitation.data import rollout
from imitation.data import types
import numpy as np
from stable_baselines3.common import vec_env
from torch.utils import data

EPISODES, PART = 16, 30


def expert_episode(seed):
  env = gymnasium.make('MountainCar-v0')
  observation, _ = env.reset(seed=seed)
  observations, actions, done = [observation], [], False
  while not done:
    actions.append(2 if observation[1] >= 0 else 0)
    observation, _, terminated, truncated, _ = env.step(actions[-1])
    observations.append(observation)
    done = terminated or truncated
  assert terminated
  return types.Trajectory(np.array(observations), np.array(actions), None, True)


episodes = [expert_episode(seed) for seed in range(EPISODES)]
transitions = rollout.flatten_trajectories(episodes)
total = len(transitions)


def batches(size, **arguments):
  return data.DataLoader(
      transitions, size, collate_fn=types.transitions_collate_fn, **arguments
  )


def learn(demonstrations):
  """How many transitions does it keep, and what does it pay for an episode's parts?"""
  with contextlib.redirect_stdout(io.StringIO()):  # It warns of `True`.
    algorithm = density.DensityAlgorithm(
        demonstrations=demonstrations,
        venv=vec_env.DummyVecEnv([lambda: gymnasium.make('MountainCar-v0')]),
        rng=np.random.default_rng(0),
        allow_variable_horizon=True,
    )
  algorithm.train()
  kept = sum(map(len, algorithm.transitions.values()))
  parts = []
  for part in slice(PART), slice(-PART, None):
    rewards = [
        algorithm(e.obs[:-1][part], e.acts[part], e.obs[1:][part], None).mean()
        for e in episodes
    ]
    parts.append(float(np.mean(rewards)))
  return kept, *parts


as_described = True
for name, demonstrations, expected in (
    ('trajectories', episodes, total),
    ('one object', transitions, total),
    ('one batch', batches(total), total),
    ('batches of 32', batches(32), total % 32),
    ('batches of 100', batches(100), total % 100),
    ('batches of 100, shuffled', batches(100, shuffle=True), total % 100),
    ('full batches of 32', batches(32, drop_last=True), 32),
    ('batches of 1', batches(1), 1),
):
  kept, first, last = learn(demonstrations)
  print(f'{name}: {kept} transitions of {total}; reward of the first {PART} steps of an'
        f' episode {first:.1f}, of the last {last:.1f}')
  as_described &= kept == expected
  if kept == total:
    as_described &= abs(first - last) < 3
  elif name in ('batches of 32', 'batches of 100'):
    as_described &= first < -30 and last > first + 30
sys.exit(not as_described)
PROGRAM
