#!/usr/bin/env bash
# SuperSuit 3.11.0: `frame_stack_v1` of grey pictures along the first axis has no
# past, and every stack that it ever returned is the same array.
#
# * Pictures without a channel axis [H, W], `stack_dim=0` (channels first, as PyTorch
#   wants them): of [4, H, W] the first three are all the picture of now and the last
#   one stays black for ever. Shape, type and space are those of a stack of four, and
#   along the last axis, or with three axes, it is one. An agent that needs velocities
#   cannot see them.
# * For every kind of picture, vector and axis the wrapper returns its buffer, which
#   the next step shifts in place: `obs is next_obs`. Whoever keeps observations
#   without a copy, in a list of transitions or of a rollout, has the last one in all
#   places: a bootstrapped target compares a state with itself.
#
# `frame_stack_v2` does the same, for games of one agent and of several.
#
# One would guess: "stacks the most recent frames", as its documentation says, oldest
# first on either axis, and what a step has returned stays as it was, as from
# `gymnasium.wrappers.FrameStackObservation`, which copies. Neither raises, and a run
# that uses Stable-Baselines3 over `concat_vec_envs_v1`, which copies, shows only the
# first.
#
# Source: supersuit/utils/frame_stack.py (`stack_obs` writes the new frame to [:-1]
# where it means [-1]; it returns the array that it was given) and
# supersuit/generic_wrappers/frame_stack.py (`modify_obs`); seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'supersuit==3.11.0' 'pettingzoo==1.27.0' 'gymnasium==1.4.0' 'numpy==2.3.5'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
import pettingzoo
from supersuit import frame_stack_v1
from supersuit import frame_stack_v2

STEPS = 6
SHAPES = (
    ((8, 8), -1), ((8, 8), 0), ((8, 8, 1), -1), ((1, 8, 8), 0), ((5,), -1),
    ((5,), 0),
)


class Clock(gymnasium.Env):
  """Each cell of its picture is the number of the step, from 1."""

  action_space = gymnasium.spaces.Discrete(2)

  def __init__(self, shape):
    self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)

  def picture(self):
    return np.full(self.observation_space.shape, self.now, np.uint8)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.now = 1
    return self.picture(), {}

  def step(self, action):
    self.now += 1
    return self.picture(), 0.0, False, False, {}


class Clocks(pettingzoo.ParallelEnv):
  """The same for two agents."""

  metadata = {'name': 'clocks'}
  render_mode = None

  def __init__(self, shape):
    self.clock = Clock(shape)
    self.possible_agents = ['a', 'b']

  def observation_space(self, agent):
    return self.clock.observation_space

  def action_space(self, agent):
    return self.clock.action_space

  def each(self, value):
    return dict.fromkeys(self.agents, value)

  def reset(self, seed=None, options=None):
    self.agents = list(self.possible_agents)
    return self.each(self.clock.reset(seed=seed)[0]), self.each({})

  def step(self, actions):
    return tuple(map(self.each, self.clock.step(0)))


def play(env):
  """Returns the observations of one agent, and copies made in time."""
  several = isinstance(env, pettingzoo.ParallelEnv)
  kept, copies = [], []
  obs, _ = env.reset(seed=0)
  for _ in range(STEPS):
    kept.append(obs['a'] if several else obs)
    copies.append(kept[-1].copy())
    obs = env.step({'a': 0, 'b': 0} if several else 0)[0]
  return kept, copies


def frames(stack, axis):
  """Numbers of the steps whose frames a stack holds."""
  return np.moveaxis(stack, axis, 0).reshape(4, -1).max(axis=1).tolist()


past = list(range(STEPS - 3, STEPS + 1))
as_described = True
for wrap in frame_stack_v1, frame_stack_v2:
  for make in Clock, Clocks:
    for shape, axis in SHAPES:
      kept, copies = play(wrap(make(shape), 4, stack_dim=axis))
      is_one = all(x is kept[0] for x in kept)
      held = frames(copies[-1], axis)
      print(
          f'{wrap.__name__}, {make.__name__}, {shape} along axis {axis}: at step'
          f' {STEPS} frames {held}; one array for all steps: {is_one}'
      )
      is_forgotten = shape == (8, 8) and axis == 0
      as_described &= is_one
      as_described &= held == ([STEPS] * 3 + [0] if is_forgotten else past)

env = gymnasium.wrappers.FrameStackObservation(Clock((8, 8)), 4)
kept, copies = play(env)
print(
    f'Gymnasium: at step {STEPS} frames {frames(copies[-1], 0)}; the first'
    f' stack is still {frames(kept[0], 0)}'
)
as_described &= frames(copies[-1], 0) == past
as_described &= all(map(np.array_equal, kept, copies))
sys.exit(not as_described)
PROGRAM
