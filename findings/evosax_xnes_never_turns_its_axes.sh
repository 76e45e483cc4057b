#!/usr/bin/env bash
# evosax 0.3.2: `xNES` learns no correlations. Its matrix stays diagonal for ever, so that it
# is a separable strategy, and an objective that is not aligned with the axes stops it.
#
# xNES multiplies the matrix B, by which normal numbers become steps, by the exponential of
# a MATRIX, exp(G / 2). evosax takes the exponential of each ENTRY and multiplies entry by
# entry. B begins as the identity, and 0 times exp(...) is 0: entries beside the diagonal
# stay 0 whatever the solutions are.
#
# * After one `tell` the entries beside the diagonal are exactly 0, where the published
#   update has 0.04 to 0.13. After 400 they are 0 as well.
# * An ellipsoid along the axes (condition 10^4, 5 dimensions) is solved to the precision
#   of the numbers. The same ellipsoid turned is not: the step size shrinks before the
#   search has moved along the valley, and the value stays many orders of magnitude larger.
# * The rotation of a problem should make no difference: that is what xNES has the matrix
#   for, and what its O(d^3) and its learning rate (smaller than that of `SNES`, which
#   says that it is separable) pay for.
#
# One would guess: what the documentation names, "Exponential Natural Evolution Strategy",
# with the paper of Wierstra et al. (2014). Nothing is NaN, B changes in each step, and
# benchmarks along the axes (sphere, ellipsoid, Rastrigin without rotation) look well.
#
# Control: the published update with the same weights and learning rates, in NumPy.
#
# Source: evosax/algorithms/distribution_based/xnes.py (`_tell`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'evosax==0.3.2' 'jax==0.10.2' 'flax==0.12.8' 'optax==0.2.8' 'numpy==2.4.6'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from evosax.algorithms import xNES
import jax
import jax.numpy as jnp
import numpy as np

DIM, POPULATION, STEPS = 5, 20, 400
CURVATURE = 10.0 ** np.linspace(0, 4, DIM)
ROTATIONS = [
    np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))[0]
    for seed in range(5)
]

strategy = xNES(population_size=POPULATION, solution=jnp.zeros(DIM))
params = strategy.default_params


def objective(solutions, rotation):
  """To minimize: 0 at the origin."""
  return ((solutions @ rotation) ** 2 * CURVATURE).sum(axis=-1)


@jax.jit
def of_evosax(rotation, key):
  """The value at the mean at the end, and B after each step."""

  def step(state, key):
    ask_key, tell_key = jax.random.split(key)
    population, state = strategy.ask(ask_key, state, params)
    fitness = objective(population, rotation)
    state, _ = strategy.tell(tell_key, population, fitness, state, params)
    return state, (state.B, state.z, fitness)

  key, *keys = jax.random.split(key, STEPS + 1)
  # The same distance from the optimum in all directions of the ellipsoid.
  state = strategy.init(key, rotation @ jnp.ones(DIM), params)
  state, history = jax.lax.scan(step, state, jnp.array(keys))
  return objective(state.mean, rotation), state.std, history


def factor(normal, fitness):
  """The matrix and the scalar by which xNES changes B and sigma."""
  weights = np.asarray(params.weights, float)
  best_first = normal[np.argsort(fitness)]
  gradient = np.einsum('i,ij,ik->jk', weights, best_first, best_first)
  gradient -= weights.sum() * np.eye(DIM)
  size = np.trace(gradient) / DIM
  exponent = 0.5 * float(params.lr_B) * (gradient - size * np.eye(DIM))
  values, vectors = np.linalg.eigh(exponent)
  return (
      vectors * np.exp(values) @ vectors.T, np.exp(0.5 * float(params.lr_std_init) * size),
      weights @ best_first, exponent,
  )


def slowly(rotation, seed):
  random = np.random.default_rng(seed)
  mean, sigma, matrix = rotation @ np.ones(DIM), 1.0, np.eye(DIM)
  for _ in range(STEPS):
    normal = random.normal(size=(POPULATION, DIM))
    solutions = mean + sigma * normal @ matrix.T
    change, size, direction, _ = factor(normal, objective(solutions, rotation))
    mean = mean + sigma * matrix @ direction
    matrix, sigma = matrix @ change, sigma * size
  return objective(mean, rotation)


def beside_diagonal(matrix):
  return np.abs(matrix * (1 - np.eye(DIM))).max()


as_described = True
medians = {}
for name, rotations in (('along the axes', [np.eye(DIM)] * 5), ('turned', ROTATIONS)):
  seen, right = [], []
  for seed, rotation in enumerate(rotations):
    value, std, history = of_evosax(jnp.array(rotation), jax.random.key(seed))
    matrices, normal, fitness = [np.asarray(each) for each in history]
    seen.append(float(value))
    right.append(slowly(rotation, seed))
    published, _, _, exponent = factor(normal[0].astype(float), fitness[0])
    # The exponential of each entry of the diagonal.
    as_described &= np.allclose(
        np.diag(matrices[0]), np.exp(np.diag(exponent)), rtol=1e-4
    )
    as_described &= beside_diagonal(matrices) == 0 and beside_diagonal(published) > 0.02
    print(f'{name}, seed {seed}: after one step the largest entry of B beside the diagonal'
          f' is {beside_diagonal(matrices[0]):.3f}, published {beside_diagonal(published):.3f};'
          f' after {STEPS} steps {beside_diagonal(matrices[-1]):.3f}; value of the mean'
          f' {value:.2g} (step size {std:.2g}), published {right[-1]:.2g}')
  medians[name] = np.median(seen), np.median(right)
  print(f'{name}: median value {medians[name][0]:.2g}, published {medians[name][1]:.2g}')
as_described &= medians['along the axes'][0] < 1e-9 and medians['turned'][0] > 1e-2
as_described &= max(medians['along the axes'][1], medians['turned'][1]) < 1e-9
sys.exit(not as_described)
PROGRAM
