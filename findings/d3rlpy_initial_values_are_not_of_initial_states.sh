#!/usr/bin/env bash
# d3rlpy 2.8.1: `InitialStateValueEstimationEvaluator` takes every 1024th state of an
# episode for an initial state, and `TDErrorEvaluator` takes n steps for one.
#
# * Evaluators go through an episode in batches of 1024 rows. The one for initial states
#   takes the first row of each BATCH. An episode of 2,500 steps that is paid at its end
#   has three of them, at the steps 0, 1024 and 2048. With the exact Q-values for a
#   discount of 0.999 the result is 0.32, where the value of the initial state is 0.08.
#   Next to an episode of 500 steps the long one also counts three times as much.
# * With `MultiStepTransitionPicker`, which d3rlpy's algorithms learn from right, rows
#   are n steps long. The TD error discounts what follows by one step. So exact
#   Q-values have an error, and Q-values that discount n steps like one, which are up to
#   twelve times as large at 30 steps, have none.
#
# One would guess the docstrings: the value at s_0, and the error of what is learned.
# Both are used to choose hyperparameters and checkpoints of offline learning, where no
# episode is played that would show the mistake. Episodes of up to 1,024 steps, as those
# of the MuJoCo tasks, are right; those of Atari are longer, and so are many that were
# recorded from machines.
#
# Controls: episodes of 500 steps, `BasicTransitionPicker`, values computed by hand.
#
# Source: d3rlpy/metrics/evaluators.py (`WINDOW_SIZE`, `make_batches`,
# `InitialStateValueEstimationEvaluator`, `TDErrorEvaluator`); for the discount of the
# algorithms d3rlpy/algos/qlearning/torch/dqn_impl.py (`gamma**batch.intervals`). Seen
# by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'gymnasium==1.0.0' 'gym==0.26.2' 'numpy==2.3.5' 'h5py==3.15.1' \
  'structlog==25.5.0' 'colorama==0.4.6' 'click==8.3.1' 'tqdm==4.67.1' \
  'dataclasses-json==0.6.7' 'scikit-learn==1.8.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'd3rlpy==2.8.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import logging
import sys

import d3rlpy
from d3rlpy import metrics
import numpy as np
import structlog

structlog.configure(
    wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING)
)


class Known:
  """An algorithm whose values are a function of the steps that are left."""

  reward_scaler = None

  def __init__(self, gamma, value):
    self.gamma = gamma
    self.value = value

  def predict(self, observations):
    return np.zeros(len(observations), int)

  def predict_value(self, observations, actions):
    left = observations[:, 0].astype(int)
    return np.array([self.value(steps) for steps in left])


def chain(steps):
  """An episode that pays 1 at its end; observations are the steps that are left."""
  left = np.arange(steps - 1, -1, -1)[:, None]
  return d3rlpy.dataset.Episode(
      left.astype(np.float32), np.zeros((steps, 1), int),
      (left == 0).astype(np.float32), terminated=True,
  )


def buffer(lengths, picker=None):
  return d3rlpy.dataset.create_infinite_replay_buffer(
      [chain(steps) for steps in lengths], transition_picker=picker
  )


as_described = True
GAMMA = 0.999
evaluate = metrics.InitialStateValueEstimationEvaluator()
for lengths in (500,), (2500,), (500, 2500):
  asked = []
  right = np.mean([GAMMA ** (steps - 1) for steps in lengths])

  def value(left):
    asked.append(int(left))
    return GAMMA**left

  result = evaluate(Known(GAMMA, value), buffer(lengths))
  print(f'episodes of {lengths} steps: initial value {result:.3f}, exact {right:.3f},'
        f' asked with {[a + 1 for a in asked]} steps left')
  is_right = abs(result - right) < 1e-6
  as_described &= is_right == (max(lengths) <= 1024)
as_described &= len(asked) == 4

N, GAMMA, STEPS = 5, 0.9, 31
exact = Known(GAMMA, lambda left: GAMMA**left)
# N steps count like one, as the evaluator has it.
slow = Known(GAMMA, lambda left: GAMMA ** (left // N + left % N))
errors = {}
for name, picker in (
    ('BasicTransitionPicker', None),
    ('MultiStepTransitionPicker',
     d3rlpy.dataset.MultiStepTransitionPicker(N, GAMMA)),
):
  data = buffer([STEPS], picker)
  errors[name] = [metrics.TDErrorEvaluator()(a, data) for a in (exact, slow)]
  print(f'{name}: TD error of exact values {errors[name][0]:.6f}, of the others'
        f' {errors[name][1]:.6f}')
# What an algorithm asks for, by hand, from the rows of the same picker.
by_hand = []
for i in range(STEPS):
  row = data.transition_picker(data.episodes[0], i)
  after = exact.value(int(row.next_observation[0])) * (1 - row.terminal)
  target = row.reward[0] + GAMMA**row.interval * after
  by_hand.append((exact.value(int(row.observation[0])) - target) ** 2)
print(f'with gamma**interval the exact values have {np.mean(by_hand):.6f}')
print(f'values with {STEPS - 1} more steps: exact {exact.value(STEPS - 1):.3f},'
      f' the others {slow.value(STEPS - 1):.3f}')
basic, multi = errors.values()
as_described &= basic[0] < 1e-9 < 1e-3 < basic[1]
as_described &= multi[1] < 1e-9 < 1e-3 < multi[0] and np.mean(by_hand) < 1e-9
sys.exit(not as_described)
PROGRAM
