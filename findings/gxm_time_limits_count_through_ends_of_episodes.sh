#!/usr/bin/env bash
# gxm 0.4.0, JAX environments that reset themselves: `TimeLimit` goes on counting when an
# episode ends before its limit, and cuts the next one short.
#
# The wrapped environment starts a new episode in the step that ends one. `TimeLimit` sets
# its count back when it truncates and at no other end, so that the limit is one on the time
# since the last truncation.
#
# * Episodes of 60 steps and a limit of 100: no episode reaches the limit, but each second
#   one is truncated after 40 steps.
# * Episodes of 50 steps: the end and the limit fall together, the end goes first, and the
#   next episode is truncated after one step.
# * Episodes that end with 0.02 in each step: 13 % reach 100 steps. 33 % are truncated, 29 %
#   before 100 steps and 10 % in the first 20, and the mean length is 33 in place of 43.
# * `StackObservations`, whose `padding="reset"` fills the stack with the first observation,
#   does so at `init` and `reset`: after an end the stack of the new episode begins with
#   observations of the last one.
#
# One would guess: what the docstrings say, "a fixed number of steps" and the "maximum number
# of steps before the episode is truncated". Truncations are no terminations, so that values
# bootstrap; what suffers are returns, cut by chance, their comparison with other libraries,
# and what is far from the start. In an environment that never ends by itself all is right.
#
# Controls: episodes of the same environment without a limit, whose lengths are cut by hand;
# an environment without ends.
#
# Source: gxm/wrappers/time_limit.py (`time=state.time + 1`) and stack_observations.py
# (`step`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gxm==0.4.0' 'jax==0.10.2' 'numpy==2.4.6'

JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 \
  "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import dataclasses
import sys

import gxm
from gxm.spaces import Box
from gxm.spaces import Discrete
from gxm.wrappers import StackObservations
from gxm.wrappers import TimeLimit
import jax
import jax.numpy as jnp
import numpy as np

LIMIT, STEPS = 100, 100_000
as_described = True


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State(gxm.EnvironmentState):
  steps: jax.Array
  episode: jax.Array


class Episodes(gxm.AutoResetEnvironment):
  """Ends after a number of steps, or by chance. Observes a number of its episode."""

  def __init__(self, steps, chance):
    self.id = 'Episodes'
    self.action_space = Discrete(2)
    self.observation_space = Box(0, 1, ())
    self.steps, self.chance = steps, chance

  def _timestep(self, state, terminated):
    return gxm.Timestep(
        next_obs=state.episode, true_next_obs=state.episode, action=jnp.int32(0),
        reward=jnp.float32(1), terminated=terminated, truncated=jnp.bool_(False), info={},
    )

  def _reset(self, key):
    state = State(jnp.int32(0), jax.random.uniform(key))
    return state, self._timestep(state, jnp.bool_(False))

  def _step(self, key, state, action):
    state = State(state.steps + 1, state.episode)
    ends = (state.steps >= self.steps) | (jax.random.uniform(key) < self.chance)
    return state, self._timestep(state, ends)


def lengths(terminated, truncated):
  """Lengths of episodes, and which of them were truncated."""
  ends = np.flatnonzero(terminated | truncated)
  return np.diff(ends, prepend=-1), np.asarray(truncated)[ends]


def with_limit(length):
  """What a limit makes of episodes, one after the other."""
  return np.minimum(length, LIMIT), length > LIMIT


for name, steps, chance in [
    ('60 steps', 60, 0.0), ('50 steps', 50, 0.0), ('an end with 0.02', 10**6, 0.02),
    ('no ends', 10**6, 0.0),
]:
  number = STEPS if chance else 1000

  def run(env):
    def step(state, key):
      state, timestep = env.step(key, state, jnp.int32(0))
      return state, (timestep.terminated, timestep.truncated)

    @jax.jit
    def all_steps(key):
      first_key, next_key = jax.random.split(key)
      state, _ = env.init(first_key)
      return jax.lax.scan(step, state, jax.random.split(next_key, number))[1]

    return lengths(*map(np.asarray, all_steps(jax.random.key(0))))

  inner, _ = run(Episodes(steps, chance))
  right, is_cut = with_limit(inner) if len(inner) else (np.full(9, LIMIT), np.full(9, True))
  seen, is_truncated = run(TimeLimit(Episodes(steps, chance), time_limit=LIMIT))
  early = (is_truncated & (seen < LIMIT)).mean()
  print(f'{name}: lengths {seen[:6]}, mean {seen.mean():.1f}, by hand {right.mean():.1f};'
        f' {is_truncated.mean():.0%} truncated, by hand {is_cut.mean():.0%}; {early:.0%}'
        f' truncated before {LIMIT} steps')
  if name == 'no ends':
    as_described &= bool((seen == LIMIT).all() and early == 0)
  elif chance:
    cut = seen[is_truncated]
    shares = [((cut > low) & (cut <= low + 20)).mean() for low in range(0, 100, 20)]
    print(f'  lengths of truncated episodes, in parts of 20 steps: {np.round(shares, 2)}')
    as_described &= bool(abs(is_cut.mean() - 0.98**LIMIT) < 0.03)
    as_described &= bool(is_truncated.mean() > 0.3 and seen.mean() < 0.8 * right.mean())
    as_described &= min(shares) > 0.1
  else:
    expected = [60, 40] * 3 if steps == 60 else [50, 50, 1] * 2
    as_described &= bool(list(seen[:6]) == expected and not is_cut.any())

env = StackObservations(Episodes(5, 0.0), n_stack=3, padding='reset')
state, timestep = env.init(jax.random.key(0))
stacks = [np.asarray(timestep.next_obs)]
for key in jax.random.split(jax.random.key(1), 5):
  state, timestep = env.step(key, state, jnp.int32(0))
  stacks.append(np.asarray(timestep.next_obs))
print(f'a stack at init {stacks[0].round(2)}, and at the start of the next episode'
      f' {stacks[-1].round(2)}')
as_described &= bool((stacks[0] == stacks[0][0]).all() and timestep.done)
as_described &= bool((stacks[-1][:2] == stacks[0][0]).all() and stacks[-1][2] != stacks[0][0])
sys.exit(not as_described)
PROGRAM
