#!/usr/bin/env bash
# jMetalPy 1.9.0: the mutations of permutations and the cycle crossover return what they
# were given, and `NonUniformMutation` changes nothing at the beginning and most at the end.
#
# * `PermutationSolution.variables` is a copy. `PermutationSwapMutation`, `ScrambleMutation`
#   and `CXCrossover` write to elements of it, and the copy is dropped: with a probability of
#   1, none of 1000 permutations is mutated. The crossover returns its parents, changed
#   over. A search with the swap and the cycle crossover ends with permutations of its first
#   population, and one with mutation alone with the best of them.
# * `NonUniformMutation`: "the mutation strength decreases over time, allowing for more
#   exploration in early generations". The formula has a power of the share of iterations that
#   are done, where that of those left belongs, in the place where 1 means no change. At
#   iteration 0 each variable keeps its value; after a tenth of the run the mean change is
#   0.04 of the range, and at the end 0.20. OMOPSO gives it to a third of its particles. If
#   nobody calls `set_current_iteration`, it never changes anything.
#
# One would guess: operators that do what they say, or that fail. The searches go on, with as
# many evaluations, and crossover by PMX or selection alone makes progress for a while.
#
# Controls: PMXCrossover, which sets the whole list; PolynomialMutation; the swap and the
# cycle crossover written to lists; Michalewicz' non-uniform mutation.
#
# Source: jmetal/core/solution.py (`PermutationSolution.variables`),
# jmetal/operator/mutation.py, jmetal/operator/crossover.py; seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.3.5'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'jmetalpy==1.9.0'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import random
import sys

from jmetal.core.solution import FloatSolution
from jmetal.core.solution import PermutationSolution
from jmetal.operator.crossover import CXCrossover
from jmetal.operator.crossover import PMXCrossover
from jmetal.operator.mutation import NonUniformMutation
from jmetal.operator.mutation import PermutationSwapMutation
from jmetal.operator.mutation import PolynomialMutation
from jmetal.operator.mutation import ScrambleMutation
import numpy as np

CITIES, RUNS, ITERATIONS = 12, 1000, 1000
random.seed(0)
draws = np.random.default_rng(0)
as_described = True


def permutation_of(values):
  solution = PermutationSolution(len(values), 1)
  solution.variables = list(values)
  return solution


class Swap:

  def execute(self, solution):
    values = solution.variables
    one, two = random.sample(range(len(values)), 2)
    values[one], values[two] = values[two], values[one]
    solution.variables = values
    return solution


class Cycle:

  def execute(self, parents):
    first, second = (parent.variables for parent in parents)
    place, cycle = random.randrange(len(first)), set()
    while place not in cycle:
      cycle.add(place)
      place = first.index(second[place])
    pairs = list(zip(first, second))
    pairs = [pair if i in cycle else pair[::-1] for i, pair in enumerate(pairs)]
    return [permutation_of(child) for child in zip(*pairs)]


for operator in PermutationSwapMutation(1.0), ScrambleMutation(1.0), Swap():
  before = [draws.permutation(CITIES).tolist() for _ in range(RUNS)]
  changed = sum(operator.execute(permutation_of(v)).variables != v for v in before)
  print(f'{type(operator).__name__}: {changed} of {RUNS} permutations are changed')
  as_described &= changed == (RUNS if isinstance(operator, Swap) else 0)

for operator in CXCrossover(1.0), PMXCrossover(1.0), Cycle():
  new = 0
  for _ in range(RUNS):
    pair = [draws.permutation(CITIES).tolist() for _ in range(2)]
    children = [c.variables for c in operator.execute([permutation_of(v) for v in pair])]
    new += any(child not in pair for child in children)
    as_described &= all(sorted(child) == list(range(CITIES)) for child in children)
  print(f'{type(operator).__name__}: new children from {new} of {RUNS} pairs')
  as_described &= new == 0 if isinstance(operator, CXCrossover) else new > 0.6 * RUNS

places = draws.random((CITIES, 2))


def length_of(values):
  path = places[list(values)]
  return np.linalg.norm(path - np.roll(path, 1, axis=0), axis=1).sum()


start = [draws.permutation(CITIES).tolist() for _ in range(20)]
for name, cross, mutate in (
    ('jMetalPy, swap and cycle', CXCrossover(1.0), PermutationSwapMutation(1.0)),
    ('jMetalPy, swap', None, PermutationSwapMutation(1.0)),
    ('jMetalPy, swap and PMX', PMXCrossover(1.0), PermutationSwapMutation(1.0)),
    ('swap and cycle on lists', Cycle(), Swap()),
    ('swap on lists', None, Swap()),
):
  parents = list(start)
  for _ in range(150):
    children = [permutation_of(v) for v in random.sample(parents, len(parents))]
    if cross:
      pairs = zip(children[::2], children[1::2])
      children = [child for pair in pairs for child in cross.execute(list(pair))]
    children = [mutate.execute(child).variables for child in children]
    parents = sorted(parents + children, key=length_of)[:len(parents)]
  print(f'{name}: shortest tour {length_of(parents[0]):.3f} after 150 generations, at the'
        f' beginning {min(map(length_of, start)):.3f}; it was there at the beginning:'
        f' {parents[0] in start}')
  if 'lists' in name or 'PMX' in name:
    as_described &= parents[0] not in start
  else:
    as_described &= all(values in start for values in parents)

COUNT = 20000
sizes = {}


def changes(operator):
  solution = FloatSolution([0.0] * COUNT, [1.0] * COUNT, 1)
  solution.variables = [0.5] * COUNT
  return np.abs(np.array(operator.execute(solution).variables) - 0.5).mean()


for iteration in 0, 1, 10, 100, 500, 900, 1000:
  operator = NonUniformMutation(1.0, perturbation=0.5, max_iterations=ITERATIONS)
  operator.set_current_iteration(iteration)
  # As far as to the bound, times a share that goes to 0.
  share = 1 - draws.random(COUNT) ** ((1 - iteration / ITERATIONS) ** 0.5)
  sizes[iteration] = changes(operator), 0.5 * share.mean()
  print(f'NonUniformMutation, iteration {iteration} of {ITERATIONS}: mean change'
        f' {sizes[iteration][0]:.4f}; by Michalewicz {sizes[iteration][1]:.4f}')
given, right = np.array(list(sizes.values())).T
as_described &= given[0] == 0 and bool((np.diff(given) > 0).all())
as_described &= bool(0.03 < given[3] < 0.045 and 0.19 < given[-1] < 0.21)
as_described &= bool(right[0] > 0.24 and right[-1] == 0 and right[3] > right[4] > right[5])
as_described &= changes(NonUniformMutation(1.0)) == 0 < changes(PolynomialMutation(1.0))
sys.exit(not as_described)
PROGRAM
