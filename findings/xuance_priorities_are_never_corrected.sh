#!/usr/bin/env bash
# XuanCe 1.4.4: `PER_beta0` of `PerDQN` changes nothing, and the weights of its replay
# buffer are those of importance sampling turned round.
#
# A prioritized replay draws rows by their errors, and weights (N P(i))^-beta in the
# loss take the bias out again; with beta 1 all of it. Here
#
# * the learner never reads the weights: `PER_beta0` 0.4 and 1 give the same Q-values,
#   bit for bit. A reward of 1 in a tenth of the rows is learned as 0.19 with
#   `PER_alpha` 0.5 and as 0.25 with `PER_alpha` 1, the fixed points of the biased
#   draws, and not as 0.1. DQN on the same rows, and a loss with the right weights on
#   the draws of the same buffer, learn 0.1;
# * who uses the weights, which `sample` returns, gets the reverse of a correction: they
#   are P(i) / min P, for every beta, so that rows that are drawn more often weigh more,
#   and not less. The factor N^-beta is in the weight and in the largest weight.
#
# One would guess what the name, the paper at the head of the learner and the schedule
# of beta (from `PER_beta0` to 1 over the run) say. Where rewards or steps are random,
# values of rare rewards are too high, no value of beta helps, and a comparison of betas
# compares nothing.
#
# Source: xuance/torch/learners/qlearning_family/perdqn_learner.py (`update`) and
# xuance/common/memory_tools.py (`PerOffPolicyBuffer.sample`, where `**` binds before
# `*`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'gymnasium==1.2.3' 'numpy==1.26.4' 'scipy==1.17.1' \
  'PyYAML==6.0.4' 'tqdm==4.70.1' 'pyglet==1.5.15' 'wandb==0.31.0' \
  'tensorboard==2.21.0'
# The rest of what it asks for draws pictures and films.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'xuance==1.4.4'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM' 2>&1 | grep -v opencv
import random
import sys
import types

import gymnasium
import numpy as np
import torch
from xuance.common import BaseCallback
from xuance.common import DummyOffPolicyBuffer
from xuance.common import PerOffPolicyBuffer
from xuance.torch.agents import DQN_Agent
from xuance.torch.agents import PerDQN_Agent
from xuance.torch.learners import DQN_Learner
from xuance.torch.learners import PerDQN_Learner
from xuance.torch.policies import BasicQnetwork
from xuance.torch.representations import Basic_Identical

ROWS, BATCH, UPDATES, RATE = 100, 20, 600, 0.01
OBSERVATIONS = gymnasium.spaces.Box(0, 1, [1], np.float32)
ACTIONS = gymnasium.spaces.Discrete(1)
torch.set_num_threads(1)


def filled(buffer):
  """Episodes of one step and one action, a tenth of which pay 1."""
  ones = np.ones([1, 1], np.float32)
  for t in range(ROWS):
    buffer.store(ones, np.zeros(1), np.array([t % 10 == 0]), np.ones(1), ones)
  return buffer


def per_buffer(alpha):
  return filled(PerOffPolicyBuffer(
      OBSERVATIONS, ACTIONS, {}, n_envs=1, buffer_size=ROWS, batch_size=BATCH,
      alpha=alpha,
  ))


def seed():
  random.seed(0)
  np.random.seed(0)
  torch.manual_seed(0)


def train(agent, learner, buffer, beta=None):
  """Returns the Q-values of all updates of the agent's own loop."""
  seed()
  policy = BasicQnetwork(
      ACTIONS, Basic_Identical((1,), device='cpu'), [], device='cpu'
  )
  config = types.SimpleNamespace(
      distributed_training=False, episode_length=1, learning_rate=RATE, gamma=0.9,
      use_grad_clip=False, grad_clip_norm=1, device='cpu', model_dir='',
      running_steps=100 * UPDATES, parallels=1, sync_frequency=100,
      training_frequency=1,
  )
  this = types.SimpleNamespace(
      memory=buffer, learner=learner(config, policy, BaseCallback()),
      PER_beta=beta, e_greedy=0, noise_scale=None,
  )
  values = []
  for _ in range(UPDATES):
    agent.train_epochs(this)
    with torch.no_grad():
      values.append(policy(torch.ones(1, 1))[2].item())
  return np.array(values)


def probabilities(buffer):
  priorities = np.array([buffer._it_sum[0][i] for i in range(ROWS)])
  return priorities / priorities.sum()


def train_with_right_weights(alpha, beta):
  """Returns the values of a loss by hand on the draws of the same buffer."""
  seed()
  buffer = per_buffer(alpha)
  value, values = 0.5, []
  for _ in range(UPDATES):
    weights = (ROWS * probabilities(buffer)) ** -beta
    batch = buffer.sample(beta)
    errors = batch['rewards'] - value
    value += 2 * RATE * np.mean(weights[batch['step_choices'][0]] * errors)
    values.append(value)
    buffer.update_priorities(batch['step_choices'], abs(errors))
  return np.array(values)


def learned(values):
  return values[-UPDATES // 2:].mean()


dqn = learned(train(DQN_Agent, DQN_Learner, filled(DummyOffPolicyBuffer(
    OBSERVATIONS, ACTIONS, {}, n_envs=1, buffer_size=ROWS, batch_size=BATCH
))))
print(f'value of a reward of 1 in a tenth of the rows: DQN {dqn:.3f}')
as_described = abs(dqn - 0.1) < 0.02
for alpha in (0.5, 1.0):
  buffers = [per_buffer(alpha) for _ in range(2)]
  low, high = (
      train(PerDQN_Agent, PerDQN_Learner, buffer, beta)
      for buffer, beta in zip(buffers, (0.4, 1.0))
  )
  # Where (1 - q)^(alpha + 1) of one row is q^(alpha + 1) of nine.
  biased = 1 / (1 + 9 ** (1 / (alpha + 1)))
  right = learned(train_with_right_weights(alpha, 1.0))
  print(
      f'PER_alpha {alpha}: beta 0.4 {learned(low):.3f}, beta 1 {learned(high):.3f},'
      f' largest difference {abs(low - high).max()}; without any weights'
      f' {biased:.3f} by hand; with the right weights of beta 1 {right:.3f}'
  )
  as_described &= (low == high).all()
  as_described &= abs(learned(low) - biased) < 0.03 and abs(right - 0.1) < 0.02

buffer = buffers[0]
chances = probabilities(buffer)
order = np.argsort(chances)
rare, often = order[0], order[-1]
for beta in (0.4, 1.0):
  random.seed(0)
  rows, weights = [], []
  for _ in range(200):
    batch = buffer.sample(beta)
    rows.extend(batch['step_choices'][0])
    weights.extend(batch['weights'][0])
  rows, weights = np.array(rows), np.array(weights)
  right = (chances.min() / chances) ** beta
  at = np.argmax(chances[rows])
  print(
      f'beta {beta}: a row drawn {chances[rows[at]] / chances.min():.2f} times as'
      f' often as the rarest one has the weight {weights[at]:.2f}, right is'
      f' {right[rows[at]]:.2f}'
  )
  as_described &= np.allclose(weights, chances[rows] / chances.min())
  as_described &= weights[at] > 1.5 and right[rows[at]] < 0.8
sys.exit(not as_described)
PROGRAM
