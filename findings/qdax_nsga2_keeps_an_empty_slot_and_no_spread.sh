#!/usr/bin/env bash
# QDax 0.5.0: the population of `NSGA2Repertoire` has one empty individual for ever, and
# those of the last front are not the spread ones. Extra scores that are stored with a
# population are of other individuals.
#
# * A new repertoire has empty slots of fitness -inf. The first of those that are added by
#   crowding distance is taken from the wrong end of the order: the individual with the
#   LEAST distance, at first an empty one, which stays in slot 0 from then on, whatever is
#   added. A population of 10 has 9 individuals.
# * The empty one makes the range of the fitnesses infinite, and with it the distances
#   NaN or 0. The order of what is left is the order of the candidates, and those at the
#   end of the batch are kept. Of 31 points on a quarter of a circle, none of which
#   dominates another, a population of 10 has all but one from one end. NSGA-II is to
#   spread them.
# * `GARepertoire`, `NSGA2Repertoire` and `SPEA2Repertoire` choose the survivors among the
#   population and the batch and look up their extra scores (`keys_extra_scores`) in the
#   batch alone, without those of the population before it. Nearly all survivors have the
#   score of another individual; genotypes and fitnesses are right. JAX moves indices past
#   the end to the last entry, so that nothing fails.
#
# One would guess: NSGA-II as published, to whose paper the class refers, and scores that
# are of the individuals beside them, as in `MapElitesRepertoire`, which is a control
# here. All shapes are right.
#
# Source: qdax/core/containers/nsga2_repertoire.py (`add`: `highest_dist[-num]` begins with
# `num` 0; `_compute_crowding_distances`), ga_repertoire.py and spea2_repertoire.py (`add`:
# `filtered_batch_of_extra_scores`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.10.2' 'flax==0.12.8' 'chex==0.1.92' 'scikit-learn==1.9.1' 'numpy==2.4.6'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'qdax==0.5.0'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import jax.numpy as jnp
import numpy as np
from qdax.core.containers.ga_repertoire import GARepertoire
from qdax.core.containers.mapelites_repertoire import MapElitesRepertoire
from qdax.core.containers.nsga2_repertoire import NSGA2Repertoire
from qdax.core.containers.spea2_repertoire import SPEA2Repertoire

SIZE, BATCH, ADDS = 10, 31, 2


def crowding(points):
  """The slow way, for points none of which dominates another."""
  distances = np.zeros(len(points))
  for objective in points.T:
    order = np.argsort(objective)
    distances[order[[0, -1]]] = np.inf
    for before, middle, after in zip(order, order[1:], order[2:]):
      distances[middle] += objective[after] - objective[before]
  return distances


as_described = True
# From (1, 0) to (0, 1).
angles = np.linspace(0, np.pi / 2, BATCH)
circle = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
right = circle[np.argsort(-crowding(circle), kind='stable')[:SIZE]]
repertoire = NSGA2Repertoire.init(jnp.array(circle), jnp.array(circle), SIZE)
seen = np.array(repertoire.fitnesses)
is_empty = np.isinf(seen).any(axis=1)


def widest_gap(points):
  known = np.sort(np.arctan2(points[:, 1], points[:, 0]))
  return np.degrees(np.diff(known).max())


print(f'{BATCH} points on a quarter of a circle, population of {SIZE}: {is_empty.sum()}'
      f' empty; angles', np.degrees(np.arctan2(*seen[~is_empty].T[::-1])).round().tolist())
print(f'widest gap {widest_gap(seen[~is_empty]):.0f} degrees; with the largest crowding'
      f' distances of the batch {widest_gap(right):.0f}')
as_described &= is_empty.sum() == 1 and bool(is_empty[0])
as_described &= widest_gap(seen[~is_empty]) > 45 > widest_gap(right)

# Random batches: the empty one stays, for populations of all sizes.
for size in (4, 40):
  random = np.random.default_rng(size)
  empty = []
  for add in range(ADDS + 1):
    points = jnp.array(random.normal(size=(BATCH * 2, 2)), jnp.float32)
    if add == 0:
      repertoire = NSGA2Repertoire.init(points, points, size)
    else:
      repertoire = repertoire.add(points, points)
    empty.append(np.flatnonzero(np.isinf(np.array(repertoire.fitnesses)).any(axis=1)))
  print(f'population of {size}, {len(empty)} batches of {BATCH * 2}: empty slots',
        [slots.tolist() for slots in empty])
  as_described &= all(slots.tolist() == [0] for slots in empty)

# The extra score of each individual is the sum of its fitnesses.
for repertoire_class, arguments in (
    (GARepertoire, {'population_size': SIZE}),
    (NSGA2Repertoire, {'population_size': SIZE}),
    (SPEA2Repertoire, {'population_size': SIZE, 'num_neighbours': 3}),
    (MapElitesRepertoire, {}),
):
  random = np.random.default_rng(0)
  is_grid = repertoire_class is MapElitesRepertoire
  if is_grid:
    arguments = {'centroids': jnp.array(random.normal(size=(SIZE, 2)), jnp.float32)}
  wrong = total = 0
  for add in range(ADDS + 1):
    points = jnp.array(random.normal(size=(BATCH, 2)), jnp.float32)
    fitnesses = points.sum(axis=1, keepdims=True) if is_grid else points
    given = {
        'batch_of_genotypes': points, 'batch_of_fitnesses': fitnesses,
        'batch_of_extra_scores': {'sum': points.sum(axis=1)},
    }
    if is_grid:
      given['batch_of_descriptors'] = points
    if add == 0:
      given = {name.removeprefix('batch_of_'): x for name, x in given.items()}
      repertoire = repertoire_class.init(
          **given, keys_extra_scores=('sum',), **arguments
      )
    else:
      repertoire = repertoire.add(**given)
    exists = np.isfinite(np.array(repertoire.fitnesses)).all(axis=1)
    sums = np.array(repertoire.genotypes)[exists].sum(axis=1)
    scores = np.array(repertoire.extra_scores['sum'])[exists]
    wrong += (np.abs(sums - scores) > 1e-4).sum()
    total += exists.sum()
  print(f'{repertoire_class.__name__}: {wrong} of {total} stored extra scores are of'
        f' another individual')
  as_described &= wrong == 0 if is_grid else wrong > 0.7 * total
sys.exit(not as_described)
PROGRAM
