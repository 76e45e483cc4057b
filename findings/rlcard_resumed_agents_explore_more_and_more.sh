#!/usr/bin/env bash
# RLCard 1.2.0: a DQN agent that is restored from a checkpoint explores more and more. Its
# epsilon rises from the end of the schedule to the start, and stays there: at random.
#
# The checkpoint saves the smallest epsilon as the start and the largest as the end. The counter
# of steps is restored, so that an agent that was done with exploring, at 0.1 by default, has
# an epsilon of 1 in its first step after the restart, and for ever.
#
# * An agent after its decay: 0.92 of its moves are greedy, of four actions. After
#   `from_checkpoint(checkpoint_attributes())`: a quarter.
# * Restored at a quarter of the decay, where the epsilon was 0.77, it has 0.33, and gets to 1.
# * A second restart saves the same two numbers, and does not repair it.
# * The target network is a copy of the trained one, and `replay_memory_init_size` is the
#   default again.
#
# One would guess: a run that is resumed continues as one that was not stopped; the docstring
# has "save and restore the model in the middle of training". `eval_step` is greedy and has the
# right values, so that an evaluation after the restart shows nothing, while all new data are
# those of a random player. Whom it harms: whoever trains in several sessions, and self-play,
# whose opponents become random.
#
# Controls: the same agent without a restart; greedy actions of `eval_step`, which are equal; and
# the schedule with its ends put back by hand.
#
# Source: rlcard/agents/dqn_agent.py (`DQNAgent.checkpoint_attributes`: `epsilon_start` is
# `epsilons.min()`; `from_checkpoint`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'rlcard==1.2.0' 'torch==2.13.0' 'numpy==1.26.4' 'termcolor==3.3.0'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import contextlib
import io
import sys

import numpy as np
from rlcard.agents.dqn_agent import DQNAgent
import torch

ACTIONS, DECAY, MOVES = 4, 400, 4000
START, END = 1.0, 0.1


def state(rng):
  return {
      'obs': rng.normal(size=3).astype(np.float32),
      'legal_actions': dict.fromkeys(range(ACTIONS)),
      'raw_legal_actions': list(range(ACTIONS)),
  }


def train(steps):
  """An agent that is paid for its third action."""
  torch.manual_seed(0)
  np.random.seed(0)
  agent = DQNAgent(
      num_actions=ACTIONS, state_shape=[3], mlp_layers=[16], device=torch.device('cpu'),
      epsilon_start=START, epsilon_end=END, epsilon_decay_steps=DECAY, learning_rate=0.01,
      replay_memory_size=500, replay_memory_init_size=40,
  )
  rng = np.random.default_rng(0)
  with contextlib.redirect_stdout(io.StringIO()):
    for _ in range(steps):
      before, after = state(rng), state(rng)
      action = agent.step(before)
      agent.feed((before, action, float(action == 2), after, True))
  return agent


def restart(agent):
  with contextlib.redirect_stdout(io.StringIO()):
    return DQNAgent.from_checkpoint(agent.checkpoint_attributes())


def epsilon(agent, ahead=0):
  return float(agent.epsilons[min(agent.total_t + ahead, agent.epsilon_decay_steps - 1)])


def greedy_share(agent):
  """Moves that are greedy, in one state, and the greedy action."""
  one = state(np.random.default_rng(1))
  best, _ = agent.eval_step(one)
  return np.mean([agent.step(one) == best for _ in range(MOVES)]), best


def expected_share(value):
  return 1 - value + value / ACTIONS


as_described = True
for name, steps in (('after the decay', 2 * DECAY), ('at a quarter of the decay', DECAY // 4)):
  agent = train(steps)
  resumed = restart(agent)
  twice = restart(resumed)
  repaired = restart(agent)
  repaired.epsilons = repaired.epsilons[::-1]
  found = {}
  for label, each in (
      ('not stopped', agent), ('restored', resumed), ('restored twice', twice),
      ('restored and put back', repaired),
  ):
    share, best = greedy_share(each)
    found[label] = (epsilon(each), epsilon(each, 10 * DECAY), share, best)
    print(f'{name}, {label}: epsilon {found[label][0]:.2f}, later {found[label][1]:.2f}; greedy'
          f' moves {share:.3f}, and {expected_share(found[label][0]):.3f} by the epsilon')
    as_described &= abs(share - expected_share(found[label][0])) < 0.03
  whole, part, both, back = found.values()
  as_described &= abs(whole[0] + part[0] - (START + END)) < 1e-9  # Mirrored.
  as_described &= whole[1] == END and part[1] == START and part[:2] == both[:2]
  as_described &= bool(np.allclose(back[:2], whole[:2]))
  as_described &= whole[3] == part[3] == both[3] == back[3]
  as_described &= agent.total_t == resumed.total_t == steps
  if steps > DECAY:
    as_described &= part[0] == START and whole[0] == END
    print(f'memory to fill before training: {agent.replay_memory_init_size}, restored'
          f' {resumed.replay_memory_init_size}')
    as_described &= (agent.replay_memory_init_size, resumed.replay_memory_init_size) == (40, 100)
sys.exit(not as_described)
PROGRAM
