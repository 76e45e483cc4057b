#!/usr/bin/env bash
# ns_gym 1.0.12: after the first episode NSFrozenLakeWrapper and NSCliffWalkingWrapper play
# with the transitions that the episode before ended with, until something changes.
#
# `reset` puts back the distribution that it reports, and the table of transitions of the
# environment inside. The wrapper's own table stays as it is, and each step copies that
# one into the environment.
#
# * A lake that becomes slippery at a given step is one only in the first episode. Later
#   episodes are slippery from their first step on. Here the change comes at step 8, and
#   the goal is 6 steps away: the shortest path reaches the goal in all episodes of a new
#   wrapper, and in 2 % of those of a wrapper that has seen the change once.
# * `info['transition_prob']` says meanwhile that all steps go where they should, and the
#   change is reported again in each episode, at its time ("Ground Truth Env Change").
#   The table of the environment is right between `reset` and the first step.
#
# One would guess: each episode begins with `initial_prob_dist`, as the documentation of
# `persistent_params` (False, which is the default) says. A comparison of agents before
# and after a change, or of an agent that is told of it with one that is not, compares
# nothing: there is no "before". Planners that ask for the planning environment get the
# right table (read, not run) and then meet another one.
#
# Controls: the Bridge of the same package, which has no such table; a change at each
# step, after which the table is made anew; and success by a loop of our own over the
# map, for both kinds of lake.
#
# Source: ns_gym/wrappers/toy_text.py (`reset` and `step` of NSFrozenLakeWrapper and
# NSCliffWalkingWrapper: `self.P` and `self.intial_p`); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gymnasium[mujoco]==1.2.3' 'mujoco==3.3.7' 'numpy==2.4.6' 'scipy==1.17.1' \
  'PyYAML==6.0.4'
# It also asks for PyTorch, Stable-Baselines3 and others, for its agents and its plots.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'ns_gym==1.0.12'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import gymnasium
from ns_gym.schedulers import ContinuousScheduler
from ns_gym.schedulers import DiscreteScheduler
from ns_gym.update_functions import DistributionDecrementUpdate
from ns_gym.wrappers import NSBridgeWrapper
from ns_gym.wrappers import NSCliffWalkingWrapper
from ns_gym.wrappers import NSFrozenLakeWrapper

CHANGE, EPISODES = 8, 300
# The wrapper, the number of outcomes of a step, and actions that do not end an episode:
# up (or left, or right) along the upper edge; left beside the cliff; to and fro.
KINDS = {
    'FrozenLake-v1': (NSFrozenLakeWrapper, 3, (3, 3), {'is_slippery': False}),
    'CliffWalking-v1': (NSCliffWalkingWrapper, 4, (3, 3), {}),
    'ns_gym/Bridge-v0': (NSBridgeWrapper, 3, (0, 2), {}),
}


def make(name, scheduler, amount):
  """All steps go where they should, until the scheduler says otherwise."""
  wrapper, outcomes, _, options = KINDS[name]
  return wrapper(
      gymnasium.make(name, **options),
      {'P': DistributionDecrementUpdate(scheduler, amount)},
      initial_prob_dist=[1] + [0] * (outcomes - 1),
  )


def used(env):
  """The distribution with which the last step was drawn, of the inner environment."""
  inside = env.unwrapped.P
  # Bridge has it as it is, the others a table: here the row of the start and one action.
  if isinstance(inside, list):
    return inside
  return [row[0] for row in inside[getattr(env.unwrapped, 'start_state_index', 0)][0]]


def same(first, second):
  return all(map(math.isclose, map(float, first), map(float, second)))


as_described = True
for name, (_, outcomes, actions, _) in KINDS.items():
  even = 1 / outcomes
  right = [1.0] + [0.0] * (outcomes - 1)
  slippery = [even] * outcomes
  env = make(name, DiscreteScheduler({CHANGE}), 1 - even)
  for episode in range(3):
    env.reset(seed=episode)
    as_described &= same(used(env), right)
    before, reports, changes = [], [], []
    for step in range(CHANGE + 1):
      _, _, terminated, truncated, info = env.step(actions[step % 2])
      assert not (terminated or truncated)
      # Bridge reports none.
      reports.append(info.get('transition_prob', used(env)))
      if info['Ground Truth Env Change']['P']:
        changes.append(step)
      before.append(used(env))
    print(f'{name}, episode {episode}: step 0 is drawn with'
          f' {[round(each, 2) for each in before[0]]}, reported {reports[0]}; change'
          f' reported at {changes}')
    as_described &= changes == [CHANGE]
    as_described &= all(same(each, right) for each in reports[:CHANGE])
    as_described &= all(same(each, slippery) for each in reports[CHANGE:])
    as_described &= all(same(each, slippery) for each in before[CHANGE:])
    is_right = 'Bridge' in name or episode == 0
    as_described &= all(
        same(each, right if is_right else slippery) for each in before[:CHANGE]
    )

  # A change at each step.
  env = make(name, ContinuousScheduler(), 0.1)
  for episode in range(3):
    env.reset(seed=episode)
    for step in range(3):
      env.step(actions[step % 2])
      as_described &= math.isclose(used(env)[0], 1 - 0.1 * (step + 1))

# What it does to an agent: down, down, right, right, down, right.
MAP, PATH = ['SFFF', 'FHFH', 'FFFH', 'HFFG'], [1, 1, 2, 2, 1, 2]
MOVES = [(0, -1), (1, 0), (0, 1), (-1, 0)]
assert len(PATH) <= CHANGE


def chance(distribution):
  """Of reaching the goal by that path, one step after the other."""
  places, reached = {(0, 0): 1.0}, 0.0
  for action in PATH:
    following = {}
    for (row, column), mass in places.items():
      for turn, share in zip((0, 1, -1), distribution):
        down, right = MOVES[(action + turn) % 4]
        place = (min(max(row + down, 0), 3), min(max(column + right, 0), 3))
        letter = MAP[place[0]][place[1]]
        if letter == 'G':
          reached += mass * share
        elif letter != 'H':
          following[place] = following.get(place, 0.0) + mass * share
    places = following
  return reached


def succeeds(env, seed):
  env.reset(seed=seed)
  for action in PATH:
    _, reward, terminated, _, _ = env.step(action)
    if terminated:
      break
  return reward == 1


def wait(env):
  """An episode that runs into the change."""
  env.reset(seed=0)
  for step in range(CHANGE + 1):
    env.step(3)


rates = {}
for label, has_seen in (('is new', False), ('has seen the change', True)):
  env = make('FrozenLake-v1', DiscreteScheduler({CHANGE}), 2 / 3)
  if has_seen:
    wait(env)
  rates[has_seen] = sum(succeeds(env, seed) for seed in range(EPISODES)) / EPISODES
  distribution = [1 / 3] * 3 if has_seen else [1, 0, 0]
  print(f'the shortest path in a wrapper that {label}: {rates[has_seen]:.1%} of {EPISODES}'
        f' reach the goal; by our own loop {chance(distribution):.1%} on a lake that is'
        f' {"slippery" if has_seen else "not slippery"}')
  as_described &= abs(rates[has_seen] - chance(distribution)) < 0.02
as_described &= rates[False] == 1 and rates[True] < 0.02
sys.exit(not as_described)
PROGRAM
