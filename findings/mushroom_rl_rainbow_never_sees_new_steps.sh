#!/usr/bin/env bash
# mushroom-rl 1.10.2: `Rainbow` with `n_steps_return` larger than the `n_steps_per_fit`
# of `Core.learn` trains on, but its replay memory gets no step any more.
#
# `fit` hands the steps since the last fit to the replay memory, which takes n-step
# returns within these steps alone and keeps nothing for the next call. Of k steps at
# most k - n + 1 become transitions:
#
# * with a fit after each step and `n_steps_return` of 2 or more the memory keeps for
#   ever the first random steps (which the library's examples hand over at once), and
#   all later updates are made from them;
# * with a fit after 4 steps and `n_steps_return=3` (the default of the library's
#   examples) at most half of the steps are used;
# * no transition starts in the last n - 1 steps of an episode, and an episode of fewer
#   than n steps leaves none. With a reward at the end alone, the states beside the goal
#   are never trained.
#
# Updates go on, weights change, nothing is reported. `ReplayMemory` does the same.
#
# One would guess: one transition for each step, later by n - 1 steps, and at an
# episode's end shorter returns, as other implementations of Rainbow have them. The
# documentation says "number of steps to consider for computing n-step return".
#
# Source: mushroom_rl/utils/replay_memory.py (`ReplayMemory.add`, `SumTree.add`: `while
# i < len(dataset) - n_steps_return + 1`, and the jump at the end of an episode),
# mushroom_rl/algorithms/value/dqn/rainbow.py (`fit`); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'numpy==2.4.6' 'scipy==1.17.1' 'scikit-learn==1.8.0' \
  'tqdm==4.67.1' 'matplotlib==3.10.8' 'pygame==2.6.1' \
  'opencv-python-headless==5.0.0.93'
# Its own requirements are older versions of these.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'mushroom-rl==1.10.2'

MPLCONFIGDIR="$folder" "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from mushroom_rl.algorithms.value import Rainbow
from mushroom_rl.core import Core
from mushroom_rl.core import Environment
from mushroom_rl.core import MDPInfo
from mushroom_rl.policy import EpsGreedy
from mushroom_rl.utils.parameters import Parameter
from mushroom_rl.utils.replay_memory import ReplayMemory
from mushroom_rl.utils.spaces import Box
from mushroom_rl.utils.spaces import Discrete
import numpy as np
import torch

torch.set_num_threads(1)
LENGTH, RANDOM_STEPS, LATER_STEPS = 10, 100, 1000


class Steps(Environment):
  """Shows the number of all steps; each episode terminates after `LENGTH` steps."""

  def __init__(self):
    self.total = 0
    spaces = Box(0, 1e6, (1,)), Discrete(2)
    super().__init__(MDPInfo(*spaces, gamma=0.9, horizon=1000))

  def reset(self, state=None):
    return np.array([float(self.total)])

  def step(self, action):
    self.total += 1
    over = self.total % LENGTH == 0
    return np.array([float(self.total)]), 1.0, over, {}


class Features(torch.nn.Module):

  def __init__(self, input_shape, output_shape, n_features, **_):
    super().__init__()
    self.layer = torch.nn.Linear(*input_shape, n_features)

  def forward(self, state):
    return torch.relu(self.layer(state.float() / 1000))


def train(n_steps_return, n_steps_per_fit):
  """The steps at which transitions in the memory start, and what was trained."""
  np.random.seed(0)
  torch.manual_seed(0)
  env = Steps()
  agent = Rainbow(
      env.info, EpsGreedy(Parameter(0.5)),
      approximator_params={
          'network': Features, 'input_shape': (1,), 'output_shape': (2,),
          'n_actions': 2, 'n_features': 8,
          'optimizer': {'class': torch.optim.Adam, 'params': {'lr': 1e-3}},
      },
      n_atoms=5, v_min=0, v_max=10, n_steps_return=n_steps_return, alpha_coeff=0.6,
      beta=Parameter(0.4), batch_size=8, target_update_frequency=100,
      initial_replay_size=RANDOM_STEPS // 2, max_replay_size=5000,
  )
  core = Core(agent, env)
  core.learn(n_steps=RANDOM_STEPS, n_steps_per_fit=RANDOM_STEPS, quiet=True)
  weights = agent.approximator.get_weights().copy()
  core.learn(n_steps=LATER_STEPS, n_steps_per_fit=n_steps_per_fit, quiet=True)
  memory = agent._replay_memory._tree
  starts = np.array([memory._data[i][0][0] for i in range(memory.size)])
  trained = not np.array_equal(weights, agent.approximator.get_weights())
  return starts, agent._n_updates - 1, trained


as_described = True
for n, per_fit, expected in (
    # Of the later 1000 steps (in episodes of 10), those that start a transition.
    (1, 1, 1000), (2, 1, 0), (3, 1, 0), (3, 2, 0), (5, 4, 0), (3, 4, 400),
    (3, 1000, 800),
):
  starts, updates, trained = train(n, per_fit)
  later = starts[starts >= RANDOM_STEPS]
  missing = sorted(set(range(LENGTH)) - set((starts % LENGTH).astype(int).tolist()))
  print(f'n_steps_return={n}, n_steps_per_fit={per_fit}: {updates} updates, weights'
        f' changed: {trained}; of {LATER_STEPS} steps {len(later)} are in the memory;'
        f' steps of an episode at which no transition starts: {missing}')
  as_described &= len(later) == expected and trained
  as_described &= updates == LATER_STEPS // per_fit
  as_described &= missing == list(range(LENGTH - n + 1, LENGTH))

# The plain memory, with episodes of 2 steps in one call.
memory = ReplayMemory(1, 100)
step = np.zeros(1), np.zeros(1), 1.0, np.zeros(1)
memory.add([(*step, last, last) for last in [False, True] * 10], 3, 0.9)
print(f'10 episodes of 2 steps, n_steps_return=3: {memory.size} transitions')
as_described &= memory.size == 0
sys.exit(not as_described)
PROGRAM
