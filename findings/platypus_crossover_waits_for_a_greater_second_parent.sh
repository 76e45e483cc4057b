#!/usr/bin/env bash
# Platypus-Opt 1.4.1: `SBX` crosses a variable only where the second parent has the greater
# value, and `UM` replaces all variables instead of one.
#
# * SBX, the default for real variables in NSGA-II, NSGA-III, SPEA2 and others, asks
#   whether `x2 - x1` is greater than a small number, not whether the two differ. (The lines
#   below put the two values in order, which never has anything to do.) Parents of 0.2 and
#   0.8 are crossed in half of the variables, as they should; parents of 0.8 and 0.2 in
#   none. Of random parents a quarter of the variables is crossed instead of half. Children
#   that equal their parents are marked as not evaluated, and cost an evaluation each: of
#   one variable, half of the evaluated children are copies.
# * UM(), by default with a probability of 1: as in PM and BitFlip, the code divides an
#   integer probability by the number of variables, to change one of them on average. UM
#   then compares with the undivided number: every variable gets a uniform draw, and nothing
#   of the parent is left. UM(0.2) of five variables changes one.
#
# One would guess: crossover does not ask which parent comes first, and the defaults of the
# mutations mean the same. The runs go on, more slowly; the order of the parents is drawn,
# so that no test of a run sees it.
#
# Controls: the same parents in the other order; SBX with the parents put in order before;
# PM and BitFlip.
#
# Source: platypus/operators.py (`SBX.sbx_crossover`, `UM.mutate`); seen by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'Platypus-Opt==1.4.1' 'numpy==2.3.5'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import copy
import random
import sys

import numpy as np
from platypus import Binary
from platypus import BitFlip
from platypus import PM
from platypus import Problem
from platypus import Real
from platypus import SBX
from platypus import Solution
from platypus import UM

RUNS = 4000
random.seed(0)
draws = np.random.default_rng(0)
as_described = True


def solution_of(values, kind):
  problem = Problem(len(values), 1)
  problem.types[:] = kind
  solution = Solution(problem)
  solution.variables[:] = list(values)
  solution.evaluated = True
  return solution


class InOrder(SBX):

  def sbx_crossover(self, x1, x2, lb, ub):
    return super().sbx_crossover(min(x1, x2), max(x1, x2), lb, ub)


def crossed(operator, parents_of):
  """The share of variables that are new, and of evaluated children that are copies."""
  new, evaluated, copies = [], 0, 0
  for _ in range(RUNS):
    parents = [solution_of(values, Real(0, 1)) for values in parents_of()]
    for child in operator.evolve(parents):
      old = [parent.variables for parent in parents]
      new.append([value not in pair for value, *pair in zip(child.variables, *old)])
      if not child.evaluated:
        evaluated += 1
        copies += child.variables in old
  return np.mean(new), copies / evaluated


def drawn(count):
  return lambda: draws.random((2, count)).tolist()


for name, operator, parents_of, share, share_of_copies in (
    ('SBX, parents of 0.2 and 0.8', SBX(), lambda: ([0.2] * 5, [0.8] * 5), 0.5, 0),
    ('SBX, parents of 0.8 and 0.2', SBX(), lambda: ([0.8] * 5, [0.2] * 5), 0, 1),
    ('SBX, random parents', SBX(), drawn(5), 0.25, None),
    ('SBX in order, random parents', InOrder(), drawn(5), 0.5, 0),
    ('SBX, random parents of one variable', SBX(), drawn(1), 0.25, 0.5),
    ('SBX in order, random parents of one variable', InOrder(), drawn(1), 0.5, 0),
):
  new, copies = crossed(operator, parents_of)
  print(f'{name}: {new:.3f} of the variables are crossed; {copies:.3f} of the children to'
        ' evaluate are copies of a parent')
  as_described &= bool(abs(new - share) < 0.02)
  as_described &= share_of_copies is None or bool(abs(copies - share_of_copies) < 0.03)

for operator, value, kind, expected in (
    (PM(), 0.5, Real(0, 1), 1),
    (BitFlip(), [False], Binary(1), 1),
    (UM(), 0.5, Real(0, 1), 5),
    (UM(0.2), 0.5, Real(0, 1), 1),
):
  changed = []
  for _ in range(RUNS):
    child = operator.mutate(solution_of([copy.copy(value) for _ in range(5)], kind))
    changed.append(sum(new != value for new in child.variables))
  print(f'{type(operator).__name__}({operator.probability}): {np.mean(changed):.2f} of five'
        ' variables are changed')
  as_described &= bool(abs(np.mean(changed) - expected) < 0.1)
sys.exit(not as_described)
PROGRAM
