#!/usr/bin/env bash
# matrix-mdp-gym 1.1.1: `reset(seed=...)` changes nothing. Starts and transitions are drawn
# from NumPy's global generator, and each episode that ends is "truncated" as well.
#
# * Two environments that are reset with the same seed go through different states, and one
#   that is reset twice does not repeat itself. `np.random.seed` does make them equal.
# * The environment draws from the stream of the agent: an agent that draws its actions from
#   `np.random` with a fixed seed acts differently if another environment was made before,
#   since even the constructor draws a state.
# * `step` returns one flag twice. A terminal state is `terminated` and `truncated`; code
#   that bootstraps at `truncated` (an end by the clock) adds gamma * V of a terminal
#   state, which no step ever corrects. Optimistic values, 10 at first, stay: in a chain
#   that pays 1 at its end the value is 10 (gamma = 0.9), and 1 by `terminated` alone.
#
# One would guess: what the documentation of `reset` says about its seed, and Gymnasium's
# rule, `self.np_random` after `super().reset(seed=seed)`, which is called here.
# `gymnasium.utils.env_checker` and wrappers pass the seed on, and nothing warns.
#
# Controls: `np.random.seed` with the same calls; the values with `terminated` alone.
#
# Source: matrix_mdp/envs/matrix_mdp.py (`__init__`, `reset`, `step`); seen by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'matrix-mdp-gym==1.1.1' 'gymnasium==1.4.0' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import matrix_mdp  # Registers the environment.
import numpy as np

STATES, STEPS, SEEDS = 10, 20, 100
as_described = True
random = np.random.default_rng(0)
TRANSITIONS = random.dirichlet(np.ones(STATES), size=(STATES, 2)).transpose(2, 0, 1)
START = np.full(STATES, 1 / STATES)


def make():
  return gymnasium.make(
      'matrix_mdp/MatrixMDP-v0', p_0=START, p=TRANSITIONS, r=np.zeros_like(TRANSITIONS)
  )


def states(environment, seed):
  state, _ = environment.reset(seed=seed)
  return [int(state)] + [int(environment.step(0)[0]) for _ in range(STEPS)]


equal = {'seed': 0, 'seed, again': 0, 'np.random.seed': 0}
for seed in range(SEEDS):
  first, second = make(), make()
  visited = states(first, seed)
  equal['seed'] += visited == states(second, seed)
  equal['seed, again'] += visited == states(first, seed)
  np.random.seed(seed)
  visited = states(first, None)
  np.random.seed(seed)
  equal['np.random.seed'] += visited == states(second, None)
print(f'equal episodes of {SEEDS}: {equal}')
as_described &= equal == {'seed': 0, 'seed, again': 0, 'np.random.seed': SEEDS}

# The stream of the agent.
np.random.seed(0)
alone = np.random.random()
np.random.seed(0)
make()
beside = np.random.random()
print(f'the first number of an agent: {alone:.3f}, after another environment {beside:.3f}')
as_described &= alone != beside

# A chain of three states; the last is terminal and pays 1.
chain, rewards = np.zeros((3, 3, 1)), np.zeros((3, 3, 1))
chain[1, 0] = chain[2, 1] = rewards[2, 1] = 1
environment = gymnasium.make(
    'matrix_mdp/MatrixMDP-v0', p_0=np.array([1.0, 0, 0]), p=chain, r=rewards
)
GAMMA = 0.9
for name in 'truncated', 'terminated':
  values = np.full(3, 10.0)  # Optimistic.
  for _ in range(300):
    state, _ = environment.reset()
    ended = False
    while not ended:
      following, reward, terminated, truncated, _ = environment.step(0)
      as_described &= bool(terminated) == bool(truncated) == (following == 2)
      ended = terminated or truncated
      # Bootstrap unless the episode ended in the task itself.
      stop = terminated if name == 'terminated' else ended and not truncated
      target = reward + GAMMA * (0 if stop else values[following])
      values[state] += 0.5 * (target - values[state])
      state = following
  print(f'values, ends by `{name}`: {values.round(3).tolist()}')
  as_described &= abs(values[1] - (1 if name == 'terminated' else 10)) < 0.01
sys.exit(not as_described)
PROGRAM
