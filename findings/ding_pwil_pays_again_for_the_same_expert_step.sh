#!/usr/bin/env bash
# DI-engine 0.5.3: the rewards of `PwilRewardModel` are as high for one who stays at a single
# state of the expert as for the expert itself.
#
# PWIL moves the mass of the agent's steps to the expert's, one step after the other: each
# takes the nearest mass that is left, and pays for its way. Here an expert's step that is used
# up goes from a list that is made anew for each step of the agent, and its mass stays as it
# was. With as many steps of the agent as of the expert, or fewer, nothing is ever used up.
#
# * 50 steps of an expert through 50 places from 0 to 1. The same steps by the agent: 5.00
#   each, the largest reward (alpha). 50 times the place in the middle: 5.00 each too, where the
#   algorithm gives 3.81 on average, and 50 times the first place, 5.00 and 2.34. The
#   rewards are those of the distance to the nearest step of the expert.
# * What the rewards say was paid is less than what the cheapest of all transports pays, by
#   SciPy: 0.000 of 0.087, 0.000 of 0.337. No transport does that.
# * With twice as many steps as the expert has, each of the expert's steps is halved once and
#   then pays for ever: 5.00 again, where the algorithm gives 3.81.
#
# One would guess: the greedy coupling of "Primal Wasserstein Imitation Learning", whose costs
# are no less than the Wasserstein distance, so that a high return says that the agent goes
# where the expert goes, as often. Rewards of what is far from all steps of the expert fall as
# they should, and the reward of the first step is right.
#
# Controls: the same coupling in a loop that keeps what is left; the optimal assignment.
#
# Source: ding/reward_model/pwil_irl_model.py (`PwilRewardModel._train`: `expert_data_idx`,
# `w_e_list`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'numpy==1.26.4' 'gym==0.25.1' 'easydict==1.13' 'flask==2.0.3' \
  'werkzeug==2.0.3' 'tensorboardX==2.6.5' 'cloudpickle==3.1.3' 'enum-tools==0.13.0' \
  'hbutils==0.14.2' 'treevalue==1.5.0' 'rich==15.0.0' 'requests==2.34.2' 'URLObject==3.0.0' \
  'tabulate==0.10.0' 'tqdm==4.70.1' 'pyyaml==6.0.3' 'setuptools==81.0.0' 'einops==0.8.2' \
  'pandas==2.3.3' 'scikit-learn==1.7.2' 'scipy==1.16.3'
# The rest of what it asks for serves pictures, clusters and web pages.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'DI-engine==0.5.3' 'DI-toolkit==0.2.1' 'DI-treetensor==0.5.0'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'PROGRAM' || { cat "$folder/log"; exit 1; }
import pickle
import sys

from ding.reward_model.pwil_irl_model import PwilRewardModel
from easydict import EasyDict
import numpy as np
from scipy.optimize import linear_sum_assignment
import torch

STEPS, ALPHA, BETA = 50, 5, 5
EXPERT = np.linspace(0, 1, STEPS)
as_described = True
torch.set_num_threads(1)


def data(places):
  return [{'obs': torch.tensor([float(place)]), 'action': torch.zeros(1),
           'reward': torch.zeros(1)} for place in places]


def by_library(places):
  model = PwilRewardModel(EasyDict(
      expert_data_path='expert.pkl', sample_size=1000, alpha=ALPHA, beta=BETA, s_size=1,
      a_size=1,
  ), 'cpu', None)
  steps = data(places)
  model.collect_data(steps)
  model.train()
  return np.array([float(step['reward']) for step in model.estimate(steps)])


def by_hand(places):
  """The rewards of the greedy coupling, from the largest mass that is left to nothing."""
  left, rewards = np.full(STEPS, 1 / STEPS), []
  for place in places:
    mass, cost = 1 / len(places), 0.0
    for step in np.argsort((EXPERT - place)**2, kind='stable'):
      moved = min(mass, left[step])
      left[step] -= moved
      mass -= moved
      cost += moved * (EXPERT[step] - place)**2
    rewards.append(ALPHA * np.exp(-BETA * len(places) / np.sqrt(2) * cost))
  return np.array(rewards)


def nearest_only(places):
  distances = np.square(EXPERT - np.array(places)[:, None]).min(axis=1)
  return ALPHA * np.exp(-BETA / np.sqrt(2) * distances)


def paid(rewards):
  """The whole cost that the rewards stand for."""
  return -np.log(rewards / ALPHA).sum() * np.sqrt(2) / (BETA * len(rewards))


def cheapest(places):
  repeated = np.repeat(EXPERT, len(places) // STEPS)
  costs = np.square(np.array(places)[:, None] - repeated)
  return costs[linear_sum_assignment(costs)].mean()


with open('expert.pkl', 'wb') as file:
  pickle.dump(data(EXPERT), file)
middle = EXPERT[STEPS // 2]
for name, places in (
    ('the expert itself', EXPERT),
    ('always in the middle', [middle] * STEPS),
    ('always at 0', [0.0] * STEPS),
    ('near 1.5', np.linspace(1.4, 1.6, STEPS)),
    ('always in the middle, twice as long', [middle] * (2 * STEPS)),
):
  given, right = by_library(places), by_hand(places)
  print(f'{name}: mean reward {given.mean():.3f}, of the nearest step'
        f' {nearest_only(places).mean():.3f}, by hand {right.mean():.3f}; cost by the rewards'
        f' {paid(given):.3f}, by hand {paid(right):.3f}, cheapest {cheapest(places):.3f}')
  as_described &= bool(np.allclose(given, nearest_only(places), atol=1e-3))
  as_described &= bool(abs(given[0] - right[0]) < 1e-3)
  as_described &= bool(paid(right) > cheapest(places) - 1e-6)
  if name == 'the expert itself':
    as_described &= bool(np.allclose(right, ALPHA))
  else:
    as_described &= bool(paid(given) < cheapest(places) - 0.01)
  if 'always' in name:
    as_described &= bool(np.allclose(given, ALPHA, atol=1e-3) and right.mean() < 0.8 * ALPHA)
sys.exit(not as_described)
PROGRAM
