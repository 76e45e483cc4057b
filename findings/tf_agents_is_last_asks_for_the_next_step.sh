#!/usr/bin/env bash
# TF-Agents 0.19.0: `Trajectory.is_last()` is not the `is_last()` of its own time step.
#
# `is_first()` and `is_boundary()` ask for `step_type`, `is_last()` asks for
# `next_step_type`. So in what a driver records of an episode,
#
# * `is_last()` marks the row of the last action, which has an observation, an
#   action and a reward like all others; the row that begins with the LAST time
#   step, whose action and reward mean nothing, is marked by `is_boundary()`;
# * the row of an episode of one step is first and last, and not `is_mid()`.
#
# One would guess: the row whose time step says `is_last()` is the row that says
# `is_last()`, as `is_first()` does. A loop that leaves out `is_last()` rows drops
# the final reward of each episode, often the only one, and keeps the row to the
# next episode: rows differ by one, and no shape shows it.
#
# Source: trajectories/trajectory.py, where the methods have no description; seen
# by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.15.1' 'tensorflow-probability==0.23.0' 'tf-keras==2.15.1' \
  'numpy==1.26.4' 'tf-agents==0.19.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import sys

import numpy as np
from tf_agents.drivers import py_driver
from tf_agents.environments import py_environment
from tf_agents.policies import random_py_policy
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts


class Countdown(py_environment.PyEnvironment):
  """Pays 1 at the end of an episode of two steps."""

  def action_spec(self):
    return array_spec.BoundedArraySpec((), np.int32, 0, 1)

  def observation_spec(self):
    return array_spec.ArraySpec((), np.float32)

  def _observation(self):
    return np.asarray(self._left, np.float32)

  def _reset(self):
    self._left = 2
    return ts.restart(self._observation())

  def _step(self, action):
    if self._current_time_step.is_last():
      return self.reset()
    self._left -= 1
    if self._left:
      return ts.transition(self._observation(), 0.0)
    return ts.termination(self._observation(), 1.0)


rows = []
environment = Countdown()
policy = random_py_policy.RandomPyPolicy(
    environment.time_step_spec(), environment.action_spec()
)
driver = py_driver.PyDriver(environment, policy, [rows.append], max_steps=4)
driver.run(environment.reset())
seen = []
for row in rows:
  time_step_is_last = bool(row.step_type == ts.StepType.LAST)
  seen.append((
      time_step_is_last, bool(row.is_last()), bool(row.is_boundary()),
      float(row.reward),
  ))
  print('time step is last: %s, is_last: %s, is_boundary: %s, reward %g'
        % seen[-1])
sys.exit(seen[:3] != [
    (False, False, False, 0.0),
    (False, True, False, 1.0),
    (True, False, True, 0.0),
])
PROGRAM
