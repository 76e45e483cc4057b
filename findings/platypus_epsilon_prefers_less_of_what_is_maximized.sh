#!/usr/bin/env bash
# Platypus-Opt 1.4.1: `EpsilonIndicator` gives the best mark, 0, to poor sets of maximized
# objectives, and `Hypervolume` leaves out solutions that beat its reference set.
#
# * The additive epsilon is the least amount that has to be taken from all objectives of a
#   set until it covers the reference set; smaller is better. The subtraction has the order
#   for minimized objectives, and the direction of the problem is not asked. For a maximized
#   quarter of a circle, a set with a fifth, a half or all of its radius has 0, and a set with
#   1.1 times the radius, which beats the reference, has 0.1. Negated and minimized, the same
#   sets have 0.8, 0.5, 0 and less than 0.
# * Hypervolume drops solutions with a normalized objective above 1, after which it cuts to
#   the range from 0 to 1. Above 1 is worse than the reference where an objective is
#   minimized, and better where it is maximized. The point (1.05, 1.05), above the whole
#   reference in both maximized objectives, has a volume of 0; negated and minimized it has 1.
#   A new best value of one objective takes its solution out of the volume too.
#
# One would guess: an indicator that is called for a problem with `Direction.MAXIMIZE` asks
# for the direction, as dominance, sorting and the other half of Hypervolume do. Numbers from
# 0 to 1 come out, and the epsilon of a search that gets better rises.
#
# Controls: the same points negated, for minimized objectives; the epsilon by NumPy.
#
# Source: platypus/indicators.py (`EpsilonIndicator.calculate`, `Hypervolume.calculate`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'Platypus-Opt==1.4.1' 'numpy==2.3.5'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from platypus import Direction
from platypus import EpsilonIndicator
from platypus import Hypervolume
from platypus import Problem
from platypus import Real
from platypus import Solution

angles = np.linspace(0, np.pi / 2, 11)
CIRCLE = np.stack([np.cos(angles), np.sin(angles)], axis=1)
as_described = True


def solutions_of(points, direction):
  problem = Problem(1, 2)
  problem.types[:] = Real(0, 1)
  problem.directions[:] = direction
  solutions = []
  for point in points:
    solution = Solution(problem)
    solution.variables[:] = [0.5]
    solution.objectives[:] = list(point)
    solution.constraint_violation = 0.0
    solution.feasible = True
    solution.evaluated = True
    solutions.append(solution)
  return solutions


def marks(points):
  """Epsilon and volume of maximized points, and of the negated ones that are minimized."""
  found = []
  for direction, sign in (Direction.MAXIMIZE, 1), (Direction.MINIMIZE, -1):
    reference = solutions_of(sign * CIRCLE, direction)
    for indicator in EpsilonIndicator(reference), Hypervolume(reference):
      found.append(indicator.calculate(solutions_of(sign * points, direction)))
  return found


def epsilon_of(points):
  """What all coordinates have to rise by until no point of the circle is missed."""
  return (CIRCLE[:, None] - points).max(-1).min(-1).max()


def line(name, found, points):
  print(f'{name}: maximized epsilon {found[0]:.3f}, volume {found[1]:.3f}; negated and'
        f' minimized epsilon {found[2]:.3f}, volume {found[3]:.3f}; epsilon by NumPy'
        f' {epsilon_of(points):.3f}')


for radius, expected in (0.2, 0), (0.5, 0), (0.9, 0), (1, 0), (1.02, 0.02), (1.1, 0.1):
  points = radius * CIRCLE
  found = marks(points)
  line(f'radius {radius}', found, points)
  as_described &= bool(abs(found[0] - expected) < 1e-9)
  as_described &= bool(abs(found[2] - epsilon_of(points)) < 1e-9)
  if radius <= 1:
    as_described &= bool(abs(found[1] - found[3]) < 1e-9)
  else:
    as_described &= bool(found[1] < found[3] - 0.005)

point = np.array([[1.05, 1.05]])
found = marks(point)
line('the point (1.05, 1.05)', found, point)
as_described &= found[1] == 0 and found[3] == 1 and bool(found[2] < 0 < found[0])

better = CIRCLE.copy()
better[3] = 1.01, 0.6
found, before = marks(better), marks(CIRCLE)
line('a point of the circle moved to (1.01, 0.6)', found, better)
as_described &= found[1] < before[1] and found[3] > before[3]
sys.exit(not as_described)
PROGRAM
