#!/usr/bin/env bash
# navix 4.0.0 (and 0.7.4, by its source): the PPO agent discounts twice. The discount of a
# step is gamma^t, where t is the number of steps since the episode began, and
# the recursion of generalized advantages then multiplies these.
#
# * The first step of an episode is not discounted at all, the second by gamma, the
#   hundredth by 0.37 and the three hundredth by 0.05, with the default gamma of 0.99. What
#   is k steps away from the first one is discounted by gamma^(k (k - 1) / 2).
# * Late in an episode an action is paid for by its own reward and hardly anything else.
#   With values that are right for gamma, advantages should be 0: they are minus the value,
#   about, for each late step but the last one.
# * The values that agree with these advantages depend on the time, which observations do
#   not show. An episode of 100 steps that pays 1 at its end is worth 7e-22 at its
#   beginning, where 0.99^99 = 0.37 is right.
#
# One would guess: `gamma` is the factor for each step, as in the advantages of the paper
# (Schulman et al., 2016), in the two programs that the file names as its models, and in
# navix's own `PQN`, whose factor is constant (read, not run). Tasks that are solved in a
# few steps are learned all the same, and nothing is raised or logged. But limits of time
# are hundreds of steps (256 in DoorKey-8x8), and it is early in training,
# when goals are found late in an episode by chance, that credit is missing. A comparison
# of PPO with another agent is then one of horizons.
#
# Controls: the recursion in a loop, with gamma and with gamma^t; and the agent's own
# function told that each step is the second one (t = 1), which is right.
#
# Source: navix/agents/ppo.py (`PPO.evaluate_experience`); seen by this script, which fails
# if it changes.
set -euo pipefail

# pyenv may have the interpreter off PATH.
for python in "${PYTHON:-python3.12}" ~/.pyenv/versions/3.12*/bin/python; do
  "$python" --version >/dev/null 2>&1 && break
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.10.2' 'jaxlib==0.10.2' 'flax==0.12.8' 'rlax==0.1.9' 'distrax==0.1.9' \
  'chex==0.1.92' 'numpy==2.5.5' 'pillow==13.0.0' 'matplotlib==3.11.2' 'wandb==0.31.0'
# navix asks for Python 3.12 and, besides these, for linters and tools that it does
# not import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'navix==4.0.0'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys
import types

import jax.numpy as jnp
import navix
from navix.agents import ActorCritic
from navix.agents import PPO
from navix.agents import PPOHparams
from navix.agents.ppo import Buffer
import numpy as np

agent = PPO(
    hparams=PPOHparams(), network=ActorCritic(action_dim=7),
    env=navix.make('Navix-DoorKey-8x8-v0'),
)
GAMMA, LAMBDA = agent.env.gamma, agent.hparams.gae_lambda
print(f'gamma {GAMMA}, lambda {LAMBDA}, limit of {agent.env.max_steps} steps')

# Observations are the values.
state = types.SimpleNamespace(
    params=None, value_fn=lambda params, carry, observation, is_first: (carry, observation)
)


def of_navix(rewards, values, done, t):
  """Advantages of one environment; `values` has one more row than the others."""
  column = lambda x, kind: jnp.asarray(np.asarray(x, kind)[:, None])
  experience = Buffer(
      carry=(), done=column(done, bool), action=column(t, int),
      reward=column(rewards, np.float32), log_prob=column(rewards, np.float32),
      obs=column(values[:-1], np.float32), info={}, t=column(t, np.int32), state=None,
  )
  seen, advantages, targets = agent.evaluate_experience(
      state, experience, jnp.asarray(values[-1:], jnp.float32)
  )
  np.testing.assert_allclose(targets, seen + advantages, rtol=1e-6)
  return np.asarray(advantages)[:, 0]


def by_hand(rewards, values, done, discounts):
  advantages, following = np.zeros(len(rewards)), 0.0
  for i in reversed(range(len(rewards))):
    discount = 0.0 if done[i] else discounts[i]
    error = rewards[i] + discount * values[i + 1] - values[i]
    following = error + discount * LAMBDA * following
    advantages[i] = following
  return advantages


as_described = True

# Random numbers: the end of one episode, the whole of another, the start of a third.
random = np.random.default_rng(0)
t = np.concatenate([np.arange(150, 190), np.arange(60), np.arange(28)])
done = np.append(np.diff(t) < 0, False)
rewards, values = random.normal(size=len(t)), random.normal(size=len(t) + 1)
seen = of_navix(rewards, values, done, t)
for name, numbers, discounts, is_right in (
    ('navix', seen, GAMMA**t, False),
    ('navix with t = 1', of_navix(rewards, values, done, np.ones_like(t)),
     np.full(len(t), GAMMA), True),
):
  off = {
      label: np.abs(numbers - by_hand(rewards, values, done, each)).max()
      for label, each in (('gamma', np.full(len(t), GAMMA)), ('gamma^t', GAMMA**t))
  }
  print(f'{len(t)} random steps, {name}: largest difference to a loop with gamma'
        f' {off["gamma"]:.2g}, with gamma^t {off["gamma^t"]:.2g}')
  right, wrong = (off['gamma'], off['gamma^t'])[:: 1 if is_right else -1]
  as_described &= right < 1e-4 and wrong > 0.5

# An episode that pays 1 at its end, and values that are right for it.
LENGTH = 300
t, done = np.arange(LENGTH), np.arange(LENGTH) == LENGTH - 1
right = np.append(GAMMA ** (LENGTH - 1.0 - t), 0.0)
seen = of_navix(done, right, done, t)
again = of_navix(done, right, done, np.ones_like(t))
for step in 0, 100, 200, 290, 298, 299:
  print(f'step {step} of {LENGTH}, the last of which pays: right value {right[step]:.3f},'
        f' advantage {seen[step]:+.3f}; with t = 1 {again[step]:+.3f}')
as_described &= np.abs(again).max() < 1e-5
as_described &= np.allclose(seen, by_hand(done, right, done, GAMMA**t), atol=1e-5)
as_described &= (seen[200:-1] < -0.8 * right[200:-2]).all() and abs(seen[-1]) < 1e-6

# The values with which nothing is left to learn.
LENGTH = 100
t, done = np.arange(LENGTH), np.arange(LENGTH) == LENGTH - 1
agreed = np.array([GAMMA ** float(np.arange(i, LENGTH - 1).sum()) for i in t] + [0.0])
seen = of_navix(done, agreed, done, t)
print(f'{LENGTH} steps, the last of which pays: advantages are 0 (at most'
      f' {np.abs(seen).max():.1g}) with a value of the first step of {agreed[0]:.1g}; right'
      f' for gamma is {GAMMA ** (LENGTH - 1):.2f}')
as_described &= np.abs(seen).max() < 1e-5 and agreed[0] < 1e-20
sys.exit(not as_described)
PROGRAM
