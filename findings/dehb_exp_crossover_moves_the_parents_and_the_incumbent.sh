#!/usr/bin/env bash
# DEHB 0.1.2: with a strategy that ends in `_exp` the parents take the values of every trial,
# whether it is better or not, and `get_incumbents` returns a vector that never had its score.
#
# The exponential crossover writes the values of the mutant into its argument `target`. That
# is a row of the population itself, not a copy, and the incumbent is a view of such a row.
# The fitness of the row is changed only if the trial was better.
#
# * 600 evaluations of a sum of squares in eight dimensions, three seeds: 12 % of the evaluated
#   members of the populations have the fitness that is stored for them, 100 % with `_bin`.
#   Their mean loss is 0.80, where 0.99 is that of uniform draws; it is 0.12 with `_bin`.
# * The incumbents' scores are 0.09 on average, and the losses of their vectors 0.41.
# * The same in `DE`, the optimizer without fidelities: 0.17 and 0.81.
#
# One would guess: the strategies differ in which values a trial takes of the mutant, a
# trial that loses leaves its parent alone, and `get_incumbents` gives "the current incumbent
# configuration and score". The trajectory never gets worse, the history and the repository
# of configurations hold copies and are right, and every vector is within its bounds.
#
# Controls: `rand1_bin`; the library's own crossover, given a copy of the parent, with which
# each stored fitness is right, the populations improve, and the incumbent has its score.
#
# Source: dehb/optimizers/de.py (`DE.crossover_exp`), dehb/optimizers/dehb.py
# (`_acquire_config`, `tell`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'DEHB==0.1.2' 'numpy==1.26.4' 'ConfigSpace==1.2.2' 'dask==2026.8.0' \
  'distributed==2026.8.0' 'loguru==0.7.3' 'pandas==3.0.6' 'pyarrow==26.0.1'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import os
import sys

from dehb import DE
from dehb import DEHB
import numpy as np

DIMENSIONS, TRIALS, SEEDS = 8, 600, 3
as_described = True
in_place = DE.crossover_exp


def of_a_copy(self, target, mutant):
  return in_place(self, target.copy(), mutant)


def loss(vector):
  return float(np.square(np.asarray(vector) - 0.3).sum())


def search(strategy, seed):
  """Returns the optimizers of all fidelities, the incumbent and its score, all told."""
  dehb = DEHB(
      dimensions=DIMENSIONS, strategy=strategy, mutation_factor=0.5, crossover_prob=0.7,
      min_fidelity=1, max_fidelity=27, eta=3, seed=seed, n_workers=1,
      output_path=os.getcwd(), log_level='ERROR',
  )
  told = []
  for _ in range(TRIALS):
    job = dehb.ask()
    value = loss(job['config'])
    told.append((tuple(job['config']), value))
    dehb.tell(job, {'fitness': value, 'cost': 1.0})
  return dehb.de.values(), *dehb.get_incumbents(), told


def search_without_fidelities(strategy, seed):
  told = []

  def objective(vector):
    told.append((tuple(vector), loss(vector)))
    return {'fitness': told[-1][1], 'cost': 1.0}

  optimizer = DE(
      f=objective, dimensions=DIMENSIONS, strategy=strategy, mutation_factor=0.5,
      crossover_prob=0.7, pop_size=20, seed=seed, configspace=False, output_path=os.getcwd(),
  )
  optimizer.run(generations=TRIALS // 20 - 1)
  return [optimizer], optimizer.inc_config, optimizer.inc_score, told


# The mean loss of a uniform draw: an integral.
uniform = DIMENSIONS * (0.7**3 + 0.3**3) / 3
print(f'a uniform draw: mean loss {uniform:.3f}')
for method in search, search_without_fidelities:
  for name, strategy, crossover in (
      ('rand1_bin', 'rand1_bin', in_place),
      ('rand1_exp', 'rand1_exp', in_place),
      ('rand1_exp of a copy', 'rand1_exp', of_a_copy),
  ):
    DE.crossover_exp = crossover
    right, losses, scores, incumbents = [], [], [], []
    for seed in range(SEEDS):
      optimizers, incumbent, score, told = method(strategy, seed)
      for optimizer in optimizers:
        evaluated = np.isfinite(optimizer.fitness)
        own = np.array([loss(vector) for vector in optimizer.population[evaluated]])
        right.extend(np.isclose(own, optimizer.fitness[evaluated]))
        losses.extend(own)
      scores.append(score)
      incumbents.append(loss(incumbent))
      as_described &= score == min(value for _, value in told)
      as_described &= loss(min(told, key=lambda pair: pair[1])[0]) == score
    print(f'{method.__name__}, {name}: {np.mean(right):.0%} of the evaluated members have'
          f' their stored fitness, mean loss {np.mean(losses):.3f}; score of the incumbents'
          f' {np.mean(scores):.3f}, loss of their vectors {np.mean(incumbents):.3f}')
    if name == 'rand1_exp':
      as_described &= bool(np.mean(right) < 0.2 and np.mean(losses) > 0.6 * uniform)
      as_described &= bool(np.mean(incumbents) > 2 * np.mean(scores))
    else:
      as_described &= bool(np.all(right) and np.mean(losses) < 0.4 * uniform)
      as_described &= bool(np.allclose(scores, incumbents))
sys.exit(not as_described)
PROGRAM
