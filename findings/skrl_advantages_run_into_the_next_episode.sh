#!/usr/bin/env bash
# skrl 2.1.1: by default PPO's advantages run from one episode into the next
# where an episode ends at a time limit.
#
# An episode of five steps pays 1 at its first step and nothing after. With the
# default `time_limit_bootstrap=False`
#
# * an end that the environment calls `terminated` ends the sum of rewards, one
#   that it calls `truncated` does not: the value that follows the last step is
#   that of the first step of the next episode, and the sum goes on through all
#   episodes of the rollout. The last action of an episode is paid for the first
#   one of the next;
# * the value network learns 2.0 for the first step, where 1 is all that an
#   episode ever pays, and 1.6 for the last one, where nothing is left to win.
#   Here a rollout has eight episodes; the longer it is, the nearer the first
#   step comes to the value of an endless game, 1 / (1 - 0.9^5) = 2.4, or 20
#   with the default discount of 0.99.
#
# One would guess what the pseudocode of its PPO page has, advantages from the
# logical or of `terminated` and `truncated`, as version 1.4.3 did (by its
# source): without bootstrapping a time limit is an end like another. Or the
# bootstrapped values, which are the same here, since no step after the fifth
# would pay: with `time_limit_bootstrap=True` they are. Nothing is raised or
# logged. Where only the time limit ends an episode, as in most locomotion, a
# run with the default settings has no episodes in its targets: what is drawn at
# a reset is noise for the actions before it, and values are those of one
# endless episode.
#
# A2C, RPO, TRPO and the agents of several players have the same function (read,
# not run).
#
# Source: skrl/agents/torch/ppo/ppo.py, lines 49 to 57 (`compute_gae`, where
# `not_done` asks for `truncated` only with `time_limit_bootstrap`); the page
# "Proximal Policy Optimization (PPO)" of its documentation; its issue 449,
# which says so of 2.1.0 and is closed. Seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'skrl==2.1.1' 'gymnasium==1.2.3' 'numpy==2.3.5' \
  'tensorboard==2.21.0'

cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
from skrl import logger
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin
from skrl.models.torch import DeterministicMixin
from skrl.models.torch import Model
from skrl.trainers.torch import SequentialTrainer
import torch

LENGTH, EPISODES, UPDATES = 5, 8, 150
GAMMA, LAMBDA = 0.9, 0.95
logger.setLevel('ERROR')
torch.set_num_threads(1)


class PaidFirst(gymnasium.Env):
  """Pays 1 at the first of five steps; observes the number of steps."""

  observation_space = gymnasium.spaces.Box(0, 1, (LENGTH + 1,), np.float32)
  action_space = gymnasium.spaces.Discrete(2)

  def __init__(self, ends_by):
    self.ends_by = ends_by

  def observation(self):
    return np.eye(LENGTH + 1, dtype=np.float32)[self.t]

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.t = 0
    return self.observation(), {}

  def step(self, action):
    self.t += 1
    last = self.t == LENGTH
    return (
        self.observation(), float(self.t == 1),
        last and self.ends_by == 'terminated',
        last and self.ends_by == 'truncated', {},
    )


class Table(Model):
  """One number for each observation and output, zero at first."""

  def __init__(self, env, num_outputs):
    Model.__init__(
        self, observation_space=env.observation_space,
        action_space=env.action_space, device='cpu',
    )
    self.table = torch.nn.Linear(LENGTH + 1, num_outputs, bias=False)
    torch.nn.init.zeros_(self.table.weight)

  def compute(self, inputs, role=''):
    return self.table(inputs['observations']), {}


class Policy(CategoricalMixin, Table):

  def __init__(self, env):
    Table.__init__(self, env, 2)
    CategoricalMixin.__init__(self)


class Value(DeterministicMixin, Table):

  def __init__(self, env):
    Table.__init__(self, env, 1)
    DeterministicMixin.__init__(self)


def train(ends_by, updates, **settings):
  """Returns the targets of the last rollout, and the values of five steps."""
  torch.manual_seed(0)
  env = wrap_env(PaidFirst(ends_by), wrapper='gymnasium', verbose=False)
  steps = LENGTH * EPISODES
  memory = RandomMemory(memory_size=steps, num_envs=1, device='cpu')
  value = Value(env)
  agent = PPO(
      models={'policy': Policy(env), 'value': value}, memory=memory,
      observation_space=env.observation_space, action_space=env.action_space,
      device='cpu', cfg={
          'rollouts': steps, 'learning_epochs': 2, 'mini_batches': 1,
          'discount_factor': GAMMA, 'learning_rate': 0.05,
          'experiment': {'write_interval': 0, 'checkpoint_interval': 0},
          **settings,
      },
  )
  SequentialTrainer(env=env, agents=agent, cfg={
      'timesteps': steps * updates, 'headless': True,
      'disable_progressbar': True,
  }).train()
  targets = memory.get_tensor_by_name('returns').flatten().numpy().copy()
  return targets, value.table.weight.detach().flatten().numpy()[:LENGTH]


def by_hand(cut, values):
  """GAE's targets of a rollout, one step after the other, from the last one."""
  targets, advantage = [], 0.0
  for t in reversed(range(LENGTH * EPISODES)):
    step = t % LENGTH
    last = step == LENGTH - 1
    if last and cut or t == LENGTH * EPISODES - 1:
      # The value of what follows an episode: no step begins there.
      following, advantage = 0.0, 0.0
    else:
      following = values[(step + 1) % LENGTH]
    error = float(step == 0) + GAMMA * following - values[step]
    advantage = error + GAMMA * LAMBDA * advantage
    targets.append(values[step] + advantage)
  return np.array(targets[::-1])


def values_by_hand(cut):
  """Values that equal the mean of their targets."""
  values = np.zeros(LENGTH)
  for _ in range(1000):
    values = by_hand(cut, values).reshape(EPISODES, LENGTH).mean(axis=0)
  return values


as_described = True
for name, ends_by, settings, cut in (
    ('terminated', 'terminated', {}, True),
    ('truncated', 'truncated', {}, False),
    ('truncated, time_limit_bootstrap', 'truncated',
     {'time_limit_bootstrap': True}, True),
):
  targets = train(ends_by, 1, **settings)[0]
  values = train(ends_by, UPDATES, **settings)[1]
  expected = by_hand(cut, np.zeros(LENGTH)), values_by_hand(cut)
  print(f'{name}: first targets {np.round(targets[:LENGTH], 2)}, learned values'
        f' {np.round(values, 2)}; by hand, with {"all" if cut else "no"} ends,'
        f' {np.round(expected[0][:LENGTH], 2)} and {np.round(expected[1], 2)}')
  as_described &= np.allclose(targets, expected[0], atol=1e-4)
  as_described &= np.allclose(values, expected[1], atol=0.1)
sys.exit(not as_described)
PROGRAM
