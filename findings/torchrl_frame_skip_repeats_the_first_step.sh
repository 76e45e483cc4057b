#!/usr/bin/env bash
# TorchRL 0.14.1: with `FrameSkipTransform(4)` an environment whose state is in its
# TensorDict moves by one step and pays for four, and others play on over their end.
#
# The transform calls the environment's step three more times with the TensorDict that
# the first step had, adds the rewards and keeps what the last call returned.
#
# * `PendulumEnv` reads its angle from there, as do environments of Brax, MuJoCo
#   Playground and Jumanji their state: the same step is computed four times. The
#   angle is that after one step, and the reward four times that of it. Who compares
#   frame skips compares sizes of rewards.
# * No call looks whether the one before ended the episode. Where `terminated` is said
#   in the step that ends it and not for ever, as Gymnasium's environments may, an end
#   in the first three of four steps is lost: here the sixth step ends, and an episode
#   of ten times four steps has no end.
#
# One would guess what the argument `frame_skip` of TorchRL's environments promises:
# "the same action is to be repeated", "the last observation of the sequence", and the
# sum of rewards. Those of Gymnasium, `GymWrapper(env, frame_skip=4)`, loop themselves
# and do it: [4, 6] and an end. But for those that do not loop the argument IS this
# transform: `JumanjiEnv('Snake-v1', frame_skip=4)` counts one step (seen with Jumanji
# 1.1.2, which is not installed here because it needs JAX).
#
# Source: torchrl/envs/transforms/_env.py (`FrameSkipTransform._step`) and, for the
# argument, torchrl/envs/common.py (`_has_frame_skip`); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'torchrl==0.14.1' 'tensordict==0.14.3' 'gymnasium==1.4.0' \
  'numpy==2.3.5'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
import torch
from torchrl import envs

SKIP = 4


def push(env, start, num_steps):
  """Returns the angle after steps of the same action, and rewards of each."""
  td, rewards = start.clone(), []
  for _ in range(num_steps):
    td['action'] = torch.ones(env.action_spec.shape)
    td = env.step(td)
    rewards.append(td['next', 'reward'].item())
    td = envs.utils.step_mdp(td)
  return td['th'].item(), rewards


class Six(gymnasium.Env):
  """Its sixth step ends the episode."""

  observation_space = gymnasium.spaces.Box(0, 99, (1,), np.float32)
  action_space = gymnasium.spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.t = 0
    return np.zeros(1, np.float32), {}

  def step(self, action):
    self.t += 1
    return np.full(1, self.t, np.float32), 1.0, self.t == 6, False, {}


def play(env):
  """Plays at most ten steps; returns observations, rewards and the end."""
  played = env.rollout(10)['next']
  return (
      played['observation'].flatten().tolist(),
      played['reward'].flatten().tolist(),
      played['done'].any().item(),
  )


torch.manual_seed(0)
plain = envs.PendulumEnv()
skipping = envs.TransformedEnv(
    envs.PendulumEnv(), envs.FrameSkipTransform(SKIP)
)
start = plain.reset()
one, first = push(plain, start, 1)
four, rewards = push(plain, start, SKIP)
skipped, paid = push(skipping, start, 1)
print(f'pendulum at {start["th"].item():.4f}: after 1 step {one:.4f}, after 4'
      f' {four:.4f}, after one of FrameSkipTransform(4) {skipped:.4f}')
print(f'rewards {np.round(rewards, 4)}, sum {sum(rewards):.4f};'
      f' FrameSkipTransform(4) pays {paid[0]:.4f}')
as_described = (
    abs(skipped - one) < 1e-5 < 0.05 < abs(skipped - four)
    and abs(paid[0] - SKIP * first[0]) < 1e-4
    and abs(paid[0] - sum(rewards)) > 0.1
)

own = play(envs.GymWrapper(Six(), frame_skip=SKIP))
transform = play(
    envs.TransformedEnv(
        envs.GymWrapper(Six()), envs.FrameSkipTransform(SKIP)
    )
)
for name, played in ('frame_skip=4', own), ('FrameSkipTransform(4)', transform):
  print(f'{name}: observations {played[0]}, rewards {played[1]}, ends'
        f' {played[2]}')
as_described &= own == ([4.0, 6.0], [4.0, 2.0], True)
as_described &= transform == (
    [4.0 * i for i in range(1, 11)], [4.0] * 10, False
)
sys.exit(not as_described)
PROGRAM
