#!/usr/bin/env bash
# Dopamine 4.1.2: the replay buffer of its JAX agents leaves out the last step
# of each episode, with its reward, and takes the step before for the end.
#
# `JaxDQNAgent.step` adds an observation with the action that followed and the
# reward for it, and `end_episode` the last of these with `is_terminal`. The
# accumulator joins each with the one that comes next and takes "terminal" from
# that one. So with one-step targets, DQN's default,
#
# * of a game of six steps the replay has five, and the fifth is terminal. What
#   the sixth paid is in no row; a game of one step leaves none;
# * a game that pays at its end only, such as a maze, pays nothing in the
#   replay: all its Q-values are 0, where 0.9^5 ... 1 are right for six steps;
# * with a stack of four frames, the default, the false end is there four times,
#   three of them with earlier frames blackened, which the agent never saw so.
#
# With targets of three steps the last reward is in the rows of the two steps
# before it, the row before those is cut as if terminal, and the last step
# itself is left out too.
#
# One would guess: as many rows as steps, the last one terminal and with its
# reward, as the accumulator's docstring has it (returns of n to 1 steps at a
# terminal transition) and as in the buffer of the TensorFlow agents (by its
# source, not run here). Atari games, which seldom pay at their last step and
# have thousands of them, hide it.
#
# Source: dopamine/jax/replay_memory/accumulator.py (`_make_replay_element`,
# where `is_terminal` is that of the transition AFTER those whose rewards are
# summed, and `accumulate`, which then drops that transition) and, for what
# agents add, dopamine/jax/agents/dqn/dqn_agent.py (`step`, `end_episode`).
# Issue 228 of its repository, open, tells of the copies with black frames. Seen
# by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'jax==0.7.2' 'jaxlib==0.7.2' 'flax==0.12.0' 'orbax-checkpoint==0.12.8' \
  'gin-config==0.5.0' 'absl-py==2.5.1' 'python-snappy==0.7.3' 'numpy==2.3.5'
# The rest of what it asks for is for its games and its TensorFlow agents.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'dopamine-rl==4.1.2'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from dopamine.jax.replay_memory import accumulator
from dopamine.jax.replay_memory import elements
from dopamine.jax.replay_memory import replay_buffer
from dopamine.jax.replay_memory import samplers
import numpy as np

STEPS, GAMMA = 6, 0.9


def played(rewards, stack_size, update_horizon):
  """Returns a buffer to which one episode was added as `JaxDQNAgent` does.

  Step t, from 1, begins with an observation of t and takes action t.
  """
  buffer = replay_buffer.ReplayBuffer(
      accumulator.TransitionAccumulator(
          stack_size=stack_size, update_horizon=update_horizon, gamma=GAMMA
      ),
      samplers.UniformSamplingDistribution(seed=0), batch_size=1000,
      max_capacity=1000,
  )
  for t, reward in enumerate(rewards, start=1):
    last = t == len(rewards)
    buffer.add(elements.TransitionElement(
        np.array([t], np.uint8), t, reward, is_terminal=last, episode_end=last
    ))
  return buffer


def rows(buffer):
  """The different rows: frames, action, reward, next frames, terminal."""
  if not buffer.add_count:
    return []
  batch = buffer.sample()
  return sorted({
      (tuple(state[0].tolist()), int(action), round(float(reward), 3),
       tuple(following[0].tolist()), bool(terminal))
      for state, action, reward, following, terminal in zip(
          batch.state, batch.action, batch.reward, batch.next_state,
          batch.is_terminal,
      )
  }, key=lambda row: (row[1], row[0][::-1]))


def rows_by_hand(rewards, update_horizon):
  """Of one frame; what follows the end is 0, which no target uses."""
  result = []
  for t in range(1, len(rewards) + 1):
    ahead = rewards[t - 1:t - 1 + update_horizon]
    end = t + update_horizon > len(rewards)
    reward = sum(r * GAMMA ** i for i, r in enumerate(ahead))
    following = 0 if end else t + update_horizon
    result.append(((t,), t, round(float(reward), 3), (following,), end))
  return result


def q_values(table):
  """Q-values of the only action of each step, by sweeps over the rows."""
  values = np.zeros(STEPS + 1)
  for _ in range(100):
    for (t,), _, reward, (following,), terminal in table:
      values[t] = reward + (0 if terminal else GAMMA * values[following])
  return values[1:]


numbered = list(range(1, STEPS + 1))
as_described = True
for horizon in 1, 3:
  seen = rows(played(numbered, 1, horizon))
  by_hand = rows_by_hand(numbered, horizon)
  print(f'step t pays t, {horizon}-step targets: action, reward, terminal')
  for name, table in ('Dopamine', seen), ('by hand', by_hand):
    print(f'  {name}: {[(*row[1:3], row[4]) for row in table]}')
  as_described &= [row[1] for row in seen] == numbered[:-1]
  as_described &= [row[1] for row in by_hand] == numbered
  early = STEPS - horizon
  as_described &= seen[early - 1][4] and not by_hand[early - 1][4]
  as_described &= all(a[2] == b[2] for a, b in zip(seen, by_hand))

num_rows = played([1.0], 1, 1).add_count
print(f'an episode of one step: {num_rows} rows')
as_described &= num_rows == 0

at_the_end = [0] * (STEPS - 1) + [1]
learned = q_values(rows(played(at_the_end, 1, 1)))
right = q_values(rows_by_hand(at_the_end, 1))
print(f'paid at the end only: Q-values {learned}, by hand {np.round(right, 2)}')
as_described &= not learned.any()
as_described &= np.allclose(right, GAMMA ** np.arange(STEPS)[::-1])

stacked = rows(played(numbered, 4, 1))
ends = [row for row in stacked if row[4]]
print(f'stack of four: {len(stacked)} rows, of which {len(ends)} are terminal:'
      f' {[row[0] for row in ends]}')
as_described &= len(stacked) == STEPS - 1 + 3
as_described &= [row[1] for row in ends] == [STEPS - 1] * 4
as_described &= sorted(row[0].count(0) for row in ends) == [0, 1, 2, 3]
sys.exit(not as_described)
PROGRAM
