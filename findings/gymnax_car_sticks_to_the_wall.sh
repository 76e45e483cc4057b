#!/usr/bin/env bash
# gymnax 1.0.1: in `MountainCarContinuous-v0` a car that hits the wall keeps its speed,
# and stays there until the slope has used it up.
#
# Gymnasium sets a speed into the wall to 0, so that the car rolls away in the next
# step, as gymnax does in its own `MountainCar-v0`. Here the speed is set to 0 for a car
# beyond the GOAL that moves left, which no car does, and not at the wall: the position
# stays at -1.2 for up to 82 steps while the observation says that the car moves left.
# The policy that pushes where the car moves needs 153 to 193 steps to the goal and not
# 105 to 111, and loses 5 to 8 of its 89 points. Away from the wall all steps are equal
# but for rounding, as are those of `MountainCar-v0`, `Pendulum-v1` and `Acrobot-v1`.
#
# One would guess: one task under one id, as it is for the others, so that a policy and
# its return mean the same in both. Who swings fully hits the wall on the left, and
# nothing of it is in a run but a lower return.
#
# Source: gymnax/environments/classic_control/continuous_mountain_car.py (`step_env`:
# the goal where the minimum is meant), Gymnasium's continuous_mountain_car.py (`step`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# gymnax imports six and does not ask for it.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'gymnax==1.0.1' 'gymnasium==1.3.0' 'jax==0.10.2' 'jaxlib==0.10.2' \
  'flax==0.12.8' 'numpy==2.4.6' 'six==1.17.0'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import gymnax
import jax
import numpy as np

NAME = 'MountainCarContinuous-v0'
KEY = jax.random.key(0)
STARTS = -0.6, -0.55, -0.5, -0.45, -0.4
# What a state of gymnax calls the numbers of a state of Gymnasium.
FIELDS = {
    NAME: ('position', 'velocity'),
    'MountainCar-v0': ('position', 'velocity'),
    'Pendulum-v1': ('theta', 'theta_dot'),
    'Acrobot-v1': ('joint_angle1', 'joint_angle2', 'velocity_1', 'velocity_2'),
}
HIGH = {
    NAME: (0.4, 0.07), 'MountainCar-v0': (0.4, 0.07), 'Pendulum-v1': (3, 8),
    'Acrobot-v1': (3, 3, 12, 28),
}


class Gymnasium:

  def __init__(self, name):
    self.env = gymnasium.make(name).unwrapped
    self.env.reset(seed=0)

  def set(self, numbers):
    self.env.state = np.array(numbers, np.float32)

  def step(self, action):
    obs, reward, terminated, _, _ = self.env.step(action)
    return obs, reward, terminated


class Gymnax:

  def __init__(self, name):
    self.env, self.params = gymnax.make(name)
    self.names = FIELDS[name]
    _, self.state = self.env.reset(KEY, self.params)

  def set(self, numbers):
    self.state = self.state.replace(
        time=0, **dict(zip(self.names, np.array(numbers, np.float32)))
    )

  def step(self, action):
    _, self.state, reward, terminated, _, info = self.env.step(
        KEY, self.state, action, self.params
    )
    # The observation itself is the next episode's where this one ends.
    return np.asarray(info['final_observation']), float(reward), bool(terminated)


def largest_difference(name):
  """Of observations after a step from random states away from the wall."""
  ones, others = Gymnasium(name), Gymnax(name)
  ones.env.action_space.seed(0)
  rng = np.random.default_rng(0)
  high = np.array(HIGH[name])
  low = np.array([-1.1, -0.07]) if 'Car' in name else -high
  found = 0.0
  for _ in range(200):
    state, action = rng.uniform(low, high), ones.env.action_space.sample()
    ones.set(state)
    others.set(state)
    found = max(found, abs(ones.step(action)[0] - others.step(action)[0]).max())
  return found


def drive(env, start):
  """Pushes where the car moves; returns steps, steps at the wall, and the return."""
  env.set([start, 0])
  velocity, at_wall, total = 0.0, 0, 0.0
  for t in range(1, 1000):
    action = np.array([1 if velocity >= 0 else -1], np.float32)
    (position, velocity), reward, is_over = env.step(action)
    at_wall += bool(position <= np.float32(-1.2))
    total += reward
    if is_over:
      break
  return t, at_wall, round(float(total), 1)


as_described = True
for name in FIELDS:
  difference = largest_difference(name)
  print(f'{name}: largest difference of an observation {difference:.1e}')
  as_described &= difference < 1e-3

envs = Gymnasium(NAME), Gymnax(NAME)
after = []
for env in (*envs, Gymnasium('MountainCar-v0'), Gymnax('MountainCar-v0')):
  env.set([-1.19, -0.05])
  is_discrete = len(after) > 1
  after.append(env.step(1 if is_discrete else np.zeros(1, np.float32))[0][1])
print('speed after a hit: Gymnasium %.3f, gymnax %.3f; of MountainCar-v0 %.3f'
      ' and %.3f' % tuple(after))
as_described &= after[0] == after[2] == after[3] == 0 and after[1] < -0.04
for start in STARTS:
  one, other = (drive(env, start) for env in envs)
  print(f'from {start}: Gymnasium {one[0]} steps, {one[1]} at the wall, return'
        f' {one[2]}; gymnax {other[0]} steps, {other[1]} at the wall, return'
        f' {other[2]}')
  as_described &= one[1] == 1 and other[1] > 40 and other[0] > one[0] + 40
sys.exit(not as_described)
PROGRAM
