#!/usr/bin/env bash
# cpprb 11.0.0: with `Nstep`, the replay buffers give wrong flags and observations at
# the ends of episodes.
#
# The transition of step t covers the rewards of steps t to t + N - 1, and its `done`
# says whether one of them ends the episode. With `on_episode_end` called after each
# episode, as the documentation asks:
#
# * an episode that terminates in the last step of the window is not seen: of each
#   terminated episode of at least N steps one transition has the end's
#   reward, the terminal observation and `done=0`, so that a learner adds gamma^N times
#   the value of a terminal state, which nothing ever trains;
# * from N = 5 on, transitions at the end have a `done` of 2 (and more for larger N),
#   so that the usual factor 1 - done is negative;
# * the last N - 1 transitions of an episode have a `next_obs` of ones. For a
#   terminated one `done` hides it. A truncated one has `done=0`, and a learner takes
#   the value of an observation that never was, with the discount for N steps.
#
# The rewards are right, and so are all other transitions.
#
# One would guess: `done` is 0 or 1 and is the maximum over the window, and `next_obs`
# is the episode's last observation where the window is cut. The documentation says
# that `done` is replaced by its N-step version and that one can always multiply the
# value by the fixed gamma^N; `on_episode_end` says that it is also for episodes that
# stop at a length without `done`.
#
# Source: cpprb/PyReplayBuffer.pyx (`NstepBuffer.add` sums `done` over
# `range(1, buffer_size)`, where `buffer_size` is N - 1; `NstepBuffer.on_episode_end`
# adds it to itself in place and returns the local buffer's `next_obs`, which nothing
# has filled); documentation, "features/nstep"; seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'cpprb==11.0.0' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import collections
import sys

import cpprb
import numpy as np

GAMMA, EPISODES, LONGEST = 0.9, 300, 20

# Observations are numbered from 10 on, each is seen once.
FIRST = 10
FIELDS = {
    'obs': {'dtype': np.int64},
    'act': {'dtype': np.int64},
    'rew': {'dtype': np.float64},
    'next_obs': {'dtype': np.int64},
    'done': {'dtype': np.int64},
}


def compare(size):
  """What is wrong in the rows of a buffer, and how often."""
  random = np.random.default_rng(0)
  buffer = cpprb.ReplayBuffer(
      EPISODES * LONGEST, FIELDS,
      Nstep={'size': size, 'gamma': GAMMA, 'rew': 'rew', 'next': 'next_obs'},
  )
  expected, long_terminated, cut_by_truncation = {}, 0, 0
  start = FIRST
  for _ in range(EPISODES):
    length = int(random.integers(1, LONGEST + 1))
    terminated = bool(random.integers(2))
    rewards = random.normal(size=length)
    for step in range(length):
      buffer.add(
          obs=start + step, act=0, rew=rewards[step], next_obs=start + step + 1,
          done=int(terminated and step == length - 1),
      )
      # The slow way: go through the window.
      end = min(step + size, length)
      total = sum(GAMMA ** (i - step) * rewards[i] for i in range(step, end))
      expected[start + step] = (
          total, start + end, int(terminated and end == length), end - step
      )
    buffer.on_episode_end()
    long_terminated += terminated and length >= size
    cut_by_truncation += 0 if terminated else min(size - 1, length)
    start += length + 1

  rows = buffer.get_all_transitions()
  assert sorted(rows['obs'].ravel()) == sorted(expected)
  seen, unexplained = collections.Counter(), 0
  for observation, reward, next_observation, done in zip(
      *(rows[name].ravel() for name in ('obs', 'rew', 'next_obs', 'done'))
  ):
    total, last, over, steps = expected[int(observation)]
    unexplained += abs(total - reward) > 1e-4
    if (next_observation, done) == (last, over):
      seen['right'] += 1
    elif steps == size and over and (next_observation, done) == (last, 0):
      seen['end without done'] += 1
    elif steps < size and next_observation == 1 and done == over:
      seen['ones, terminated' if over else 'ones, truncated'] += 1
    elif steps < size and next_observation == 1 and over and done > 1:
      seen['done of 2 or more'] += 1
    else:
      unexplained += 1
  as_described = not unexplained
  as_described &= seen['end without done'] == long_terminated
  as_described &= seen['ones, truncated'] == cut_by_truncation
  as_described &= bool(seen['done of 2 or more']) == (size >= 5)
  print(f'N = {size}, {len(expected)} rows: {dict(sorted(seen.items()))};'
        f' {long_terminated} terminated episodes have at least {size} steps; largest'
        f' done: {rows["done"].max()}')
  return as_described


# One after the other, so that each line is printed.
results = [compare(size) for size in (2, 3, 4, 5, 8)]
sys.exit(not all(results))
PROGRAM
