#!/usr/bin/env bash
# open_spiel 2.0.2: `WoLFPHC` never changes its policy for the first decision of an episode.
# In games of one decision it plays at random for ever.
#
# The paper (Bowling and Veloso, 2002) moves the policy of the state in which the action was
# taken, right after its value is updated. Here the value of that state is updated, but the
# average policy and the policy are those of the state that FOLLOWS, with its older values.
# At the first decision there is nothing to learn from yet, and at the end of the episode the
# step is left out, so that no update ever reaches the first state.
#
# * A game of one decision that pays 1 or 0: after 3000 episodes the values are right, and the
#   policy is still (0.5, 0.5). The return is that of chance.
# * Tic-tac-toe against a random player: the nine opening moves keep 1/9 each, after 3000
#   games, while most of the states that were seen later have another policy.
# * The default schedules are default arguments: all agents that are made without their own
#   share one, and each agent's step decays the rates of the others.
#
# One would guess: a learner as in the paper, which plays the action that always pays. The test
# in the package asks for (1/3, 1/3, 1/3) in rock, paper, scissors, which holds as nothing is
# learned. Whom it harms: who compares WoLF with other learners in matrix games, as the paper
# does, measures a random player, and takes its uniform policy for a mixed equilibrium.
#
# Controls: the Q-learner of the package in the same game; the values that WoLF itself learned;
# and the policies of later states, which do change.
#
# Source: open_spiel/python/algorithms/wolf_phc.py (`WoLFPHC.step`: `_hill_climbing(info_state)`
# after `_prev_info_state` was updated; the default arguments of `__init__`); seen by this
# script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# The rest of what it asks for is for other algorithms.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'scipy==1.17.1' 'absl-py==2.5.1' 'attrs==26.1.0' 'ml_collections==1.1.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'open_spiel==2.0.2'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import random_agent
from open_spiel.python.algorithms import tabular_qlearner
from open_spiel.python.algorithms import wolf_phc
import pyspiel

EPISODES = 3000


def wolf(num_actions):
  """With rates of its own that are large enough for short runs."""
  schedule = wolf_phc.WoLFSchedule
  return wolf_phc.WoLFPHC(
      0, num_actions, step_size=schedule(1000, 5000), delta_w=schedule(200, 2000),
      delta_l=schedule(800, 2000),
  )


def play(env, agent, opponent):
  """Returns the mean return of the agent, over the second half of the episodes."""
  agents, returns = [agent, opponent], []
  for _ in range(EPISODES):
    time_step = env.reset()
    total = 0.0
    while not time_step.last():
      if time_step.is_simultaneous_move():
        actions = [each.step(time_step).action for each in agents]
      else:
        player = time_step.observations['current_player']
        actions = [agents[player].step(time_step).action]
      time_step = env.step(actions)
      total += time_step.rewards[0]
    for each in agents:
      each.step(time_step)
    returns.append(total)
  return np.mean(returns[EPISODES // 2:])


def first_probs(env, agent):
  return agent.step(env.reset(), is_evaluation=True).probs


np.random.seed(0)
as_described = True

# Whatever the other does, the first action pays 1 and the second 0.
env = rl_environment.Environment(
    pyspiel.create_matrix_game([[1, 1], [0, 0]], [[0, 0], [0, 0]])
)
for name, agent in (('WoLF', wolf(2)), ('Q-learner', tabular_qlearner.QLearner(0, 2))):
  mean = play(env, agent, random_agent.RandomAgent(1, 2))
  (values,) = [
      [float(each[action]) for action in range(2)]
      for each in agent._q_values.values() if len(each) == 2
  ]
  probs = first_probs(env, agent)
  print(f'{name}: one decision that pays 1 or 0: values {np.round(values, 2)}, policy {probs},'
        f' mean return {mean:.3f}')
  as_described &= values[0] > 0.95 and abs(values[1]) < 0.05
  as_described &= (
      np.array_equal(probs, [0.5, 0.5]) and abs(mean - 0.5) < 0.05 if name == 'WoLF'
      else np.array_equal(probs, [1, 0]) and mean > 0.85
  )

env = rl_environment.Environment('tic_tac_toe')
agent = wolf(9)
play(env, agent, random_agent.RandomAgent(1, 9))
opening = first_probs(env, agent)
first_state = str(env.reset().observations['info_state'][0])
values = list(agent._q_values[first_state].values())
changed = [
    max(each.values()) - min(each.values()) > 1e-9
    for each in agent._cur_policy.values() if len(each) > 1
]
print(f'WoLF, tic-tac-toe: values of openings from {min(values):.3f} to {max(values):.3f}, all of'
      f' probability {opening.min():.4f} to {opening.max():.4f}; {np.mean(changed):.2f} of'
      f' {len(changed)} states have a policy that is not uniform')
as_described &= bool(np.allclose(opening, 1 / 9)) and max(values) - min(values) > 0.01
as_described &= np.mean(changed) > 0.4

# Agents without schedules of their own.
ones, others = wolf_phc.WoLFPHC(0, 9), wolf_phc.WoLFPHC(1, 9)
before = ones._delta_w.value
time_step = env.reset()
while not time_step.last():
  player = time_step.observations['current_player']
  legal = time_step.observations['legal_actions'][player]
  action = others.step(time_step).action if player == 1 else legal[0]
  time_step = env.step([action])
others.step(time_step)
print(f'default rate of one agent, 1 / {1 / before:.0f}, is 1 / {1 / ones._delta_w.value:.0f}'
      ' after a game of another')
as_described &= ones._delta_w is others._delta_w and ones._delta_w.value < before
sys.exit(not as_described)
PROGRAM
