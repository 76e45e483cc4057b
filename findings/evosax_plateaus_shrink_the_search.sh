#!/usr/bin/env bash
# evosax 0.3.2: on a plateau, where all solutions are equally good, `CMA_ES` shrinks its
# search to a point before it has found anything.
#
# Recombination weights are taken by rank. Tied solutions get the mean of their RANKS, and
# this mean is cut to an integer, so that all of them get the weight of one middle rank in
# place of the mean of their weights. The weights that are positive, 1 in total as the
# algorithm asks for, then have another total.
#
# * All of 20 tied: the mean rank 9.5 is cut to 9, whose weight is 0.006, and the total is
#   0.116. The mean takes steps that are much shorter than a random choice would give,
#   and the adaptation of the step size reads short steps as a sign to shrink. After 30
#   generations the population's spread is about 1e-4 of the first one, after 100 as small
#   as 32-bit numbers allow, in every run. With 21 solutions the middle weight, and the
#   total, is 0.
# * The two best of 20 tied: both get the weight of the first, and the total is 1.08.
# * A reward of 0 outside of a goal: 6 % of the runs come to the goal in 100 generations, and
#   30 % if ties are broken at random. The others have no spread left with which they could.
#
# One would guess: the order of equal solutions makes no difference, as in the published
# algorithm (Hansen, 2016), where selection without information leaves the logarithm of the
# step size where it is on average. Rewards of 0 and 1, counts and clipped scores
# have ties in most generations. Nothing is NaN, and functions without ties are right. A run
# that has collapsed looks like one that has converged.
#
# Controls: CMA-ES in NumPy, with its published constants and a random order of ties; and
# evosax's own `CMA_ES`, told the fitness with noise of 1e-6, which breaks the ties.
#
# Source: evosax/core/fitness_shaping.py (`_rank_fitness`, and `weights_fitness_shaping_fn`:
# `ranks.astype(jnp.int32)`), which nine other strategies use as well (read, not run);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'evosax==0.3.2' 'jax==0.10.2' 'flax==0.12.8' 'optax==0.2.8' 'numpy==2.4.6'

JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from evosax.algorithms import CMA_ES
from evosax.core.fitness_shaping import weights_fitness_shaping_fn
import jax
import jax.numpy as jnp
import numpy as np

DIM, POPULATION, EARLY, STEPS, RUNS, DISTANCE = 5, 20, 30, 100, 200, 2.5
strategy = CMA_ES(population_size=POPULATION, solution=jnp.zeros(DIM))
params = strategy.default_params
as_described = True


def published_weights(population):
  """Those of CMA-ES, best solution first, and the sizes of its two halves."""
  raw = np.log((population + 1) / 2) - np.log(np.arange(1, population + 1))
  up, down = raw[raw > 0], raw[raw < 0]
  size_up, size_down = [x.sum() ** 2 / (x**2).sum() for x in (up, down)]
  c_1 = 2 / ((DIM + 1.3) ** 2 + size_up)
  c_mu = min(
      1 - c_1, 2 * (size_up + 1 / size_up - 2) / ((DIM + 2) ** 2 + size_up)
  )
  scale = min(
      1 + c_1 / c_mu, 1 + 2 * size_down / (size_up + 2),
      (1 - c_1 - c_mu) / (DIM * c_mu),
  )
  weights = np.where(raw > 0, raw / up.sum(), scale * raw / -down.sum())
  return weights, size_up, c_1, c_mu


for population in 20, 21:
  weights, *_ = published_weights(population)
  theirs = CMA_ES(population_size=population, solution=jnp.zeros(DIM)).default_params
  as_described &= np.allclose(theirs.weights, weights, atol=1e-4)
  for tied in 1, 2, population:
    order = np.arange(population)
    fitness = jnp.asarray(np.where(order < tied, 0, order), jnp.float32)
    seen = np.asarray(weights_fitness_shaping_fn(None, fitness, None, theirs))
    total = seen[seen > 0].sum()
    print(f'{population} solutions, the best {tied} tied: each of these has the weight'
          f' {seen[0]:.4f}, where the mean of their weights is {weights[:tied].mean():.4f};'
          f' positive weights add up to {total:.3f}')
    as_described &= np.allclose(seen[:tied], weights[(tied - 1) // 2], atol=1e-4)
    as_described &= (tied == 1) == bool(abs(total - 1) < 1e-4)


def by_hand(weights, seed):
  """Spread after EARLY steps on a plateau, where the order says nothing."""
  _, size, c_1, c_mu = published_weights(POPULATION)
  published = published_weights(POPULATION)[0]
  c_std = (size + 2) / (DIM + size + 5)
  damping = 1 + 2 * max(0, np.sqrt((size - 1) / (DIM + 1)) - 1) + c_std
  c_c = (4 + size / DIM) / (DIM + 4 + 2 * size / DIM)
  length = np.sqrt(DIM) * (1 - 1 / (4 * DIM) + 1 / (21 * DIM**2))
  random = np.random.default_rng(seed)
  std, path_std, path_c, matrix = 1.0, np.zeros(DIM), np.zeros(DIM), np.eye(DIM)
  for t in range(1, EARLY + 1):
    values, vectors = np.linalg.eigh(matrix)
    normal = random.normal(size=(POPULATION, DIM))
    steps = normal * np.sqrt(values) @ vectors.T
    spread = std * steps.std(axis=0).mean()
    first = spread if t == 1 else first
    step = np.maximum(weights, 0) @ steps
    whitened = vectors @ (vectors.T @ step / np.sqrt(values))
    path_std = (1 - c_std) * path_std + np.sqrt(c_std * (2 - c_std) * size) * whitened
    norm = np.linalg.norm(path_std)
    std *= np.exp(c_std / damping * (norm / length - 1))
    longest = (1.4 + 2 / (DIM + 1)) * length
    short = norm / np.sqrt(1 - (1 - c_std) ** (2 * (t + 1))) < longest
    path_c = (1 - c_c) * path_c + short * np.sqrt(c_c * (2 - c_c) * size) * step
    share = np.where(weights >= 0, 1, DIM / (normal**2).sum(axis=1)) * weights
    matrix = (
        (1 + c_1 * (not short) * c_c * (2 - c_c) - c_1 - c_mu * published.sum()) * matrix
        + c_1 * np.outer(path_c, path_c)
        + c_mu * np.einsum('i,ij,ik->jk', share, steps, steps)
    )
  return spread / first


weights = published_weights(POPULATION)[0]
expected = {
    0: np.array([by_hand(np.full(POPULATION, weights[9]), i) for i in range(24)]),
    1e-6: np.array([by_hand(weights, i) for i in range(24)]),
}


def run(key, noise):
  """Early and last spread, relative to the first, and whether the goal was hit."""
  goal = jnp.zeros(DIM).at[0].set(DISTANCE)

  def step(state, key):
    ask_key, noise_key, tell_key = jax.random.split(key, 3)
    solutions, state = strategy.ask(ask_key, state, params)
    is_hit = jnp.linalg.norm(solutions - goal, axis=1) < 1
    fitness = noise * jax.random.uniform(noise_key, [POPULATION]) - is_hit
    state, _ = strategy.tell(tell_key, solutions, fitness, state, params)
    return state, (solutions.std(axis=0).mean(), is_hit.any())

  first, *keys = jax.random.split(key, STEPS + 1)
  state = strategy.init(first, jnp.zeros(DIM), params)
  _, (spreads, hits) = jax.lax.scan(step, state, jnp.stack(keys))
  return spreads[EARLY - 1] / spreads[0], spreads[-1] / spreads[0], hits.any()


function = jax.jit(jax.vmap(run, in_axes=(0, None)))
found = {}
for noise in 0, 1e-6:
  early, last, is_hit = map(
      np.asarray, function(jax.random.split(jax.random.key(0), RUNS), float(noise))
  )
  # Runs without a hit saw nothing but a plateau.
  early, last = early[~is_hit], last[~is_hit]
  found[noise] = np.median(early), last, is_hit.mean()
  print(f'{"ties broken" if noise else "ties as they are"}: spread on the plateau, relative'
        f' to the first one, {np.median(early):.2g} after {EARLY} steps (in NumPy'
        f' {np.median(expected[noise]):.2g}) and {np.median(last):.2g} after {STEPS} (at'
        f' most {last.max():.2g}); goal hit in {is_hit.mean():.1%} of {RUNS} runs')
for noise, factor in (0, 1.5), (1e-6, 2):
  ratio = found[noise][0] / np.median(expected[noise])
  as_described &= 1 / factor < ratio < factor
as_described &= found[0][0] < 1e-3 and found[0][1].max() < 1e-6
as_described &= found[1e-6][0] > 0.2 and np.median(found[1e-6][1]) > 0.1
as_described &= found[0][2] < found[1e-6][2] / 2
sys.exit(not as_described)
PROGRAM
