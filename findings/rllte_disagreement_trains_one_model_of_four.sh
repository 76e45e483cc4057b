#!/usr/bin/env bash
# rllte-core 1.0.1: with one environment `Disagreement` trains one model of its four,
# and its reward never falls.
#
# The reward is the variance of the predictions of an ensemble. Batch i of an update
# goes to model i modulo the size of the ensemble, and the count begins anew in each
# update. So with a batch size of 256 and rollouts of 128 steps, the defaults of
# `Disagreement` and of the library's PPO,
#
# * one environment is one batch, for the first model. The three others keep their
#   random weights for ever, and the variance is mostly theirs. Transitions that were
#   seen thousands of times are paid as on the first day;
# * four environments are two batches, for two models: the same;
# * eight environments are four batches: all models learn, and the reward of what was
#   seen falls below a tenth within 60 rollouts. So it does with one environment and
#   `batch_size=32`.
#
# One would guess: each model learns from all data, in another order or another part of
# it (`update_proportion`), and how often does not depend on the number of environments.
# The loss that is logged is that of the trained models, and falls in all cases. By
# default rewards are divided by their deviation, so that their size shows nothing.
#
# Source: rllte/xplore/reward/disagreement.py (`update`, `ensemble_idx`); seen by this
# script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'gymnasium==1.2.3' 'numpy==2.3.5' 'termcolor==3.3.0' \
  'pynvml==11.5.0'
# The rest of what it asks for draws pictures and loads models.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'rllte-core==1.0.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
from rllte.xplore.reward import Disagreement
import torch

STEPS, ROLLOUTS = 128, 60
KEYS = (
    'observations', 'actions', 'rewards', 'terminateds', 'truncateds',
    'next_observations',
)
torch.set_num_threads(1)


class Player:
  """Plays CartPole with random actions."""

  def __init__(self, num_envs, seed):
    self.envs = gymnasium.make_vec(
        'CartPole-v1', num_envs, vectorization_mode='sync'
    )
    self.observations, _ = self.envs.reset(seed=seed)
    self.envs.action_space.seed(seed)

  def rollout(self):
    rows = []
    for _ in range(STEPS):
      actions = self.envs.action_space.sample()
      before = self.observations
      self.observations, *rest, _ = self.envs.step(actions)
      rows.append([before, actions, *rest, self.observations])
    return {
        key: torch.tensor(np.array(column)).float()
        for key, column in zip(KEYS, zip(*rows))
    }


def learn(num_envs, **options):
  """Returns which models changed, rewards of new data, and losses, over time."""
  torch.manual_seed(0)
  player = Player(num_envs, seed=0)
  module = Disagreement(
      player.envs, rwd_norm_type='none', obs_norm_type='none', **options
  )
  unseen = Player(num_envs, seed=1000).rollout()
  start = [[p.clone() for p in m.parameters()] for m in module.ensemble]
  rewards = []
  for _ in range(ROLLOUTS):
    rewards.append(module.compute(unseen, sync=False).mean().item())
    module.compute(player.rollout())
  rewards.append(module.compute(unseen, sync=False).mean().item())
  changed = [
      any((p != q).any().item() for p, q in zip(m.parameters(), old))
      for m, old in zip(module.ensemble, start)
  ]
  losses = [loss for _, loss in module.metrics['loss']]
  return changed, rewards, losses


as_described = True
for num_envs, options, trained in (
    (1, {}, 1), (4, {}, 2), (8, {}, 4), (1, {'batch_size': 32}, 4),
):
  changed, rewards, losses = learn(num_envs, **options)
  print(f'{num_envs} environments {options}: models that learned {sum(changed)} of'
        f' {len(changed)}; reward {rewards[0]:.4f} at first,'
        f' {rewards[ROLLOUTS // 2]:.4f}, {rewards[-1]:.4f} after {ROLLOUTS}'
        f' rollouts; loss {losses[0]:.4f}, {losses[-1]:.4f}')
  as_described &= changed == [i < trained for i in range(4)]
  share = rewards[-1] / rewards[0]
  as_described &= share < 0.2 if trained == 4 else share > 0.8
  as_described &= losses[-1] < losses[0] / 2
sys.exit(not as_described)
PROGRAM
