#!/usr/bin/env bash
# tianshou 2.0.1: how many sampled transitions `HERReplayBuffer` and
# `HERVectorReplayBuffer` give a new goal depends on how many episodes are in a sample
# and on the number of buffers, and with `future_k=1` it is none.
#
# A sample's episodes are counted, the number is multiplied by 1 - 1 / future_k and
# rounded down, and so many episodes get a new goal. In a vector buffer each of its
# buffers does it by itself, for its part of the batch. So
#
# * `future_k=1` changes nothing at all, and `future_k=2` changes a half;
# * a sample that has transitions of one episode only gets no new goal, whatever
#   `future_k` is, so that a buffer that holds one long episode never learns in
#   hindsight;
# * with the default `future_k=8` and batches of 64 transitions, about 4 of 5 have a new
#   goal with one buffer and about 1 of 3 with 64 buffers (a part of a batch with one or
#   no episode is left as it is). Twice as many environments and nothing else changed is
#   less hindsight.
#
# One would guess: each transition gets a new goal with a probability that `future_k`
# alone gives. The documentation says "at most k episodes that are re-written for every
# 1 unaltered episode", which for k = 1 is a half, and calls it the paper's k. In the
# paper and in Stable-Baselines3 the share is 1 - 1 / (k + 1).
#
# Source: tianshou/data/buffer/her.py (`__init__`: `future_p`, `rewrite_transitions`:
# `her_ep_indices`), manager.py (`sample_indices` of each buffer); seen by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'tianshou==2.0.1' 'torch==2.13.0' 'gymnasium==1.4.0' 'numba==0.68.1' \
  'numpy==2.4.6'

MPLCONFIGDIR="$folder" "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from tianshou.data import Batch
from tianshou.data import HERVectorReplayBuffer

STEPS, ROUNDS = 500, 200


def reward(achieved, desired):
  return -(achieved != desired).any(-1).astype(float)


def share(future_k, buffers, batch_size, episode=50):
  """The share of sampled transitions that have a new goal."""
  buffer = HERVectorReplayBuffer(
      STEPS * buffers, buffers, compute_reward_fn=reward, horizon=episode,
      future_k=future_k,
  )
  # The achieved goals are (buffer, episode, step); the original goal is -1.
  for step in range(STEPS):
    places = [
        np.array([
            (i, step // episode, step % episode + shift) for i in range(buffers)
        ], float)
        for shift in (0, 1)
    ]
    goal = np.full((buffers, 3), -1.0)
    obs, obs_next = (
        Batch(observation=place, achieved_goal=place, desired_goal=goal)
        for place in places
    )
    over = np.full(buffers, step % episode == episode - 1)
    buffer.add(Batch(
        obs=obs, obs_next=obs_next, act=np.zeros(buffers), rew=np.zeros(buffers),
        terminated=over, truncated=np.zeros(buffers, bool),
        info=Batch(empty=np.zeros(buffers)),
    ))
  np.random.seed(0)
  changed = 0
  for _ in range(ROUNDS):
    batch, _ = buffer.sample(batch_size)
    obs = batch.obs
    new = obs.desired_goal[:, 0] != -1
    # What it changes is right: a later step of the same episode.
    later = (obs.desired_goal[:, :2] == obs.achieved_goal[:, :2]).all(-1)
    later &= obs.desired_goal[:, 2] > obs.achieved_goal[:, 2]
    assert later[new].all()
    changed += new.sum()
  return changed / (ROUNDS * batch_size)


as_described = True
for future_k, buffers, batch_size, episode, low, high in (
    (1, 1, 64, 50, 0, 0),
    (2, 1, 64, 50, 0.48, 0.52),
    (8, 1, 64, 50, 0.77, 0.84),
    (8, 16, 64, 50, 0.65, 0.75),
    (8, 32, 64, 50, 0.48, 0.58),
    (8, 64, 64, 50, 0.31, 0.4),
    (8, 1, 64, 500, 0, 0),
    (1000, 1, 64, 500, 0, 0),
):
  seen = share(future_k, buffers, batch_size, episode)
  print(f'future_k={future_k}, {buffers} buffers, batches of {batch_size}, episodes of'
        f' {episode} of {STEPS} steps: {seen:.3f} have a new goal;'
        f' 1 - 1 / (k + 1) is {1 - 1 / (future_k + 1):.3f}')
  as_described &= low <= seen <= high
sys.exit(not as_described)
PROGRAM
