#!/usr/bin/env bash
# gymnasium 1.4.0: the last observation that `MaxAndSkipObservation` gives is in part
# of the cases not of the episode's end, but of an earlier step, or of an earlier
# episode.
#
# It repeats an action `skip` times and shows the maximum of the last two frames, which
# it takes by their number: frame skip - 1 and frame skip. An episode that ends before
# these leaves the frames of the step before where they are, and one that ends with
# frame skip - 1 gives the maximum of it and of the last frame of the step before.
# `reset` clears nothing, so that an episode of one step ends with frames of the
# episode before. With `skip=4` and an environment that shows its step number,
#
# * an episode of 9 or 10 steps ends with observation 8, as the step before did;
# * an episode of 40 steps and one of 2 after it both end with observation 40.
#
# In CartPole-v1 with random actions three quarters of the last observations are not
# what they should be, and all others are right. With a time limit that `skip` does not
# divide, each observation that comes with `truncated` is wrong, too, and a learner takes
# the value of what would follow from it. Stable-Baselines3, on which the wrapper is
# based, says in its code that the last frame does not matter; that is so for
# terminations alone.
#
# One would guess: the maximum of the last two frames that there are. Shapes and types
# are right.
#
# Source: gymnasium/wrappers/stateful_observation.py (`MaxAndSkipObservation.step`);
# gymnasium/wrappers/atari_preprocessing.py (`AtariPreprocessing.step`) also leaves its
# frames where they are; seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gymnasium==1.4.0' 'numpy==2.3.5'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
from gymnasium import wrappers
import numpy as np

SKIP, EPISODES = 4, 300


class Steps(gymnasium.Env):
  """Shows the number of the step; the first episodes have the given lengths."""

  observation_space = gymnasium.spaces.Box(0, 1000, (1,), np.float32)
  action_space = gymnasium.spaces.Discrete(2)

  def __init__(self, lengths):
    self.lengths = iter(lengths)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.length, self.step_number = next(self.lengths), 0
    return np.zeros(1, np.float32), {}

  def step(self, action):
    self.step_number += 1
    observation = np.array([self.step_number], np.float32)
    return observation, 0.0, False, self.step_number == self.length, {}


def ends(lengths):
  """The observations with which episodes of these lengths end."""
  env = wrappers.MaxAndSkipObservation(Steps(lengths), SKIP)
  last = []
  for _ in lengths:
    env.reset()
    truncated = False
    while not truncated:
      observation, _, _, truncated, _ = env.step(0)
    last.append(int(observation[0]))
  return last


as_described = True
for lengths, expected in (
    ((8,), [8]), ((9,), [8]), ((10,), [8]), ((11,), [11]), ((12,), [12]),
    ((40, 2), [40, 40]), ((40, 3), [40, 40]),
):
  seen = ends(lengths)
  print(f'episodes of {lengths} steps end with observations {seen}')
  as_described &= seen == expected


class Frames(gymnasium.Wrapper):
  """Keeps all frames of an episode."""

  def reset(self, **arguments):
    observation, info = self.env.reset(**arguments)
    self.frames = [observation]
    return observation, info

  def step(self, action):
    step = self.env.step(action)
    self.frames.append(step[0])
    return step


frames = Frames(gymnasium.make('CartPole-v1'))
env = wrappers.MaxAndSkipObservation(frames, SKIP)
env.action_space.seed(0)
# Of observations: whether they are right, by whether the episode is over, and by how
# many frames the last repetition has.
right = {}
for seed in range(EPISODES):
  env.reset(seed=seed)
  terminated = False
  while not terminated:
    observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
    assert not truncated
    newest_two = np.max(frames.frames[-2:], axis=0)
    rest = (len(frames.frames) - 1) % SKIP or SKIP
    key = 'last' if terminated else 'earlier', rest
    right.setdefault(key, []).append(np.array_equal(observation, newest_two))
for (which, rest), equal in sorted(right.items()):
  print(f'CartPole-v1, {which} observations after {rest} frames: {sum(equal)} of'
        f' {len(equal)} are the maximum of the newest two')
  as_described &= sum(equal) == (len(equal) if rest == SKIP else 0)
last = [e for (which, _), equal in right.items() if which == 'last' for e in equal]
print(f'{len(last) - sum(last)} of {len(last)} last observations are not')
as_described &= len(right) == SKIP + 1 and 0.6 < 1 - np.mean(last) < 0.9
sys.exit(not as_described)
PROGRAM
