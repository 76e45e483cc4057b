#!/usr/bin/env bash
# DEAP 1.4.4: `selSPEA2` fills up with the individuals that come first in the list, not with
# those in the emptiest places.
#
# SPEA2 fills a population that has too few nondominated individuals with the best others,
# by the number of those that dominate and, between equals, by the distance to the k-th
# nearest neighbour, where k is the root of the number of individuals. DEAP measures the
# distances of an individual to those after it alone, and leaves those before it at 0. From
# the k-th individual on, the k-th smallest distance is 0 for all, and the sort goes by the
# place in the list.
#
# * One nondominated individual, 60 dominated ones in a dense heap and 20 along the whole
#   front, all with the same raw fitness, and 20 to choose: with the heap first 19 of it are
#   chosen; with the heap last none. The chosen ones are the first 20 of the list.
# * In the usual `select(parents + offspring, k)` the parents stay: of 40 offspring that
#   are spread evenly, next to 40 parents in a heap, none gets in.
#
# One would guess: the order of a list means nothing, and the spread counts before a front
# is found too, as in the paper. All that is chosen is of the right rank, and when there are
# more nondominated individuals than wanted, the other part of the function thins them out
# with all distances; nothing warns.
#
# Control: the same fitness with all distances, which chooses the same individuals in both
# orders.
#
# Source: deap/tools/emo.py (`selSPEA2`, the loop over `range(i + 1, N)` in the first
# branch); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'deap==1.4.4' 'numpy==2.3.5'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import random
import sys

from deap import base
from deap import creator
from deap import tools
import numpy as np

creator.create('Fitness', base.Fitness, weights=(-1.0, -1.0))
creator.create('Individual', list, fitness=creator.Fitness)
as_described = True


def by_deap(values, count):
  individuals = []
  for number, value in enumerate(values):
    individual = creator.Individual([number])
    individual.fitness.values = tuple(value)
    individuals.append(individual)
  random.seed(0)
  return [individual[0] for individual in tools.selSPEA2(individuals, count)]


def by_all_distances(values, count):
  values = np.asarray(values)
  no_worse = (values[:, None] <= values).all(-1)
  dominates = no_worse & (values[:, None] < values).any(-1)
  raw = (dominates * dominates.sum(1)[:, None]).sum(0)
  distances = np.sqrt(((values[:, None] - values) ** 2).sum(-1))
  kth = np.sort(distances, axis=1)[:, int(len(values) ** 0.5)]
  return np.argsort(raw + 1 / (kth + 2), kind='stable')[:count].tolist()


draws = np.random.default_rng(0)


def on_the_line(places):
  return [(place, 1 - place) for place in places]


def in_the_heap(values):
  return sum(abs(first - 0.5) < 0.011 and first > 0 for first, _ in values)


best = [(0.0, 0.0)]
heap = on_the_line(0.5 + 0.01 * draws.uniform(-1, 1, 60))
spread = on_the_line(np.linspace(0.02, 0.98, 20))
chosen = {}
for order, values in (
    ('the heap first', best + heap + spread), ('the heap last', best + spread + heap)
):
  for name, select in ('DEAP', by_deap), ('all distances', by_all_distances):
    numbers = select(values, 20)
    chosen[name, order] = {values[number] for number in numbers}
    print(f'{order}, {name}: {in_the_heap(chosen[name, order])} of the 20 chosen are in the'
          f' heap; the chosen are the first 20 of the list: {set(numbers) == set(range(20))}')
    if name == 'DEAP':
      as_described &= set(numbers) == set(range(20))
as_described &= in_the_heap(chosen['DEAP', 'the heap first']) == 19
as_described &= in_the_heap(chosen['DEAP', 'the heap last']) == 0
as_described &= (
    chosen['all distances', 'the heap first'] == chosen['all distances', 'the heap last']
)
as_described &= in_the_heap(chosen['all distances', 'the heap first']) <= 2

parents, offspring = heap[:39], on_the_line(np.linspace(0.02, 0.98, 40))
values = best + parents + offspring
for name, select in ('DEAP', by_deap), ('all distances', by_all_distances):
  numbers = select(values, 40)
  new = sum(number >= 40 for number in numbers)
  print(f'40 to choose of 40 parents and 40 offspring, {name}: {new} offspring are chosen')
  as_described &= new == 0 if name == 'DEAP' else new >= 35
sys.exit(not as_described)
PROGRAM
