#!/usr/bin/env bash
# catx 0.2.1, contextual bandits with continuous actions: the cost of the action that the
# policy prefers is estimated at twice its value.
#
# `sample` draws from a bucket around the preferred action with 1 - epsilon, and from the
# whole range with epsilon, and returns "the probability density value of the sampled
# actions", by which `learn` divides costs. The density in the bucket is
# (1 - epsilon) / width + epsilon, wherever a draw came from. A draw of the second kind that
# falls into the bucket gets epsilon alone. There are few of them, of a weight that is
# 1 / epsilon, and they add the cost of the bucket once more, for any epsilon > 0: mean
# estimates are cost * (1 + (1 - epsilon) / (1 - epsilon + epsilon * width)) in the
# preferred bucket, 1.97 times the cost with 0.1 and a quarter of the range, and right in
# the others.
#
# * Costs of 0.5 in one of four buckets and 0.8 in the others: the policy leaves the best
#   bucket more than a hundred times in 1500 updates, and prefers another one in a quarter
#   of them. With costs of 0.9 and 1 it prefers the best one in a third.
# * Rewards as negative costs, 0.8 in one bucket and 0.5 in the others: whatever is preferred
#   at the start looks best, and most runs stay there.
# * With the right densities in `learn` all runs come to the best bucket and stay.
#
# One would guess: the density of the mixture, as in the paper (Majzoubi et al., "Efficient
# contextual bandits with continuous actions", 2020) and in the docstrings, whose inverse
# makes estimates unbiased. A policy that is never settled looks like one that explores, and
# one that stays like one that has learned. A smaller epsilon helps nothing: its rows are
# rarer and weigh more.
#
# Controls: means of 1 / density over each bucket, which are the widths; the same training
# with densities by hand.
#
# Source: catx/catx.py (`_forward`: `jnp.where(exploration, epsilon, probabilities)`, and
# `_compute_smooth_costs`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.4.25' 'jaxlib==0.4.25' 'dm-haiku==0.0.12' 'optax==0.1.9' 'chex==0.1.85' \
  'numpy==1.26.4' 'scipy==1.11.4'
# The rest of what it asks for draws pictures and loads data.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'catx==0.2.1'

JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 \
  "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from catx.catx import CATX
from catx.network_module import CATXHaikuNetwork
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

BUCKETS, UPDATES, BATCH = 4, 1500, 64
as_described = True


class Network(CATXHaikuNetwork):
  """One context, so that there is a logit for each branch."""

  def __init__(self, depth):
    super().__init__(depth)
    self.linear = hk.Linear(2 ** (depth + 1))

  def __call__(self, obs, network_extras):
    return self.linear(obs)


def new(seed, epsilon):
  # Buckets of half the width 1 / 8, from 0 to 1 without overlaps.
  catx = CATX(Network, optax.adam(0.02), BUCKETS, 1 / (2 * BUCKETS))
  return catx, catx.init(jnp.ones([1, 1]), jax.random.PRNGKey(seed), epsilon)


def buckets_of(actions):
  return np.clip((np.asarray(actions) * BUCKETS).astype(int), 0, BUCKETS - 1)


def preferred(catx, state):
  """Without exploration all draws are from its bucket."""
  return buckets_of(catx.sample(np.ones([1, 1], np.float32), 0.0, state)[0])[0]


width = 1 / BUCKETS
for epsilon in 0.5, 0.1, 0.02:
  catx, state = new(0, epsilon)
  rows = 400_000
  actions, densities, _ = catx.sample(np.ones([rows, 1], np.float32), epsilon, state)
  bucket = buckets_of(actions)
  best = preferred(catx, state)
  right = np.where(bucket == best, (1 - epsilon) / width + epsilon, epsilon)
  means, right_means = [
      np.bincount(bucket, 1 / np.asarray(x, float), BUCKETS) / rows / width
      for x in (densities, right)
  ]
  factor = 1 + (1 - epsilon) / (1 - epsilon + epsilon * width)
  print(f'epsilon {epsilon}, bucket {best} preferred: estimate of a cost of 1 in each bucket'
        f' {means.round(2)}, by hand {factor:.2f} in the preferred one; with the right'
        f' density {right_means.round(2)}')
  as_described &= np.allclose(right_means, 1, atol=0.1)
  expected = np.where(np.arange(BUCKETS) == best, factor, 1)
  as_described &= np.allclose(means, expected, atol=0.1)


def train(costs, seed, is_right, epsilon=0.1):
  """The preferred bucket before each update."""
  catx, state = new(seed, epsilon)
  obs = np.ones([BATCH, 1], np.float32)
  found = []
  for _ in range(UPDATES):
    best = preferred(catx, state)
    found.append(best)
    actions, densities, state = catx.sample(obs, epsilon, state)
    bucket = buckets_of(actions)
    if is_right:
      densities = np.where(bucket == best, (1 - epsilon) / width + epsilon, epsilon)
    state = catx.learn(
        obs, actions, np.asarray(densities, np.float32), np.float32(costs)[bucket], state
    )
  return np.array(found)


for costs in [0.8, 0.8, 0.5, 0.8], [-0.5, -0.5, -0.8, -0.5], [1.0, 1.0, 0.9, 1.0]:
  for is_right in False, True:
    runs = [train(costs, seed, is_right) for seed in range(3)]
    shares = np.array([(run[UPDATES // 2:] == 2).mean() for run in runs])
    changes = [int((np.diff(run) != 0).sum()) for run in runs]
    print(f'costs {costs}, {"densities by hand" if is_right else "densities of `sample`"}:'
          f' bucket 2, the best one, preferred in {shares.round(2)} of the last'
          f' {UPDATES // 2} updates; {changes} changes')
    if is_right:
      as_described &= bool(shares.min() > 0.95 and max(changes) < 20)
    elif costs[0] < 0:
      as_described &= bool((shares == 0).sum() >= 2 and max(changes) < 5)
    else:
      as_described &= bool(shares.max() < 0.9 and min(changes) > 100)
sys.exit(not as_described)
PROGRAM
