#!/usr/bin/env bash
# pyswarms 1.3.0: of the four strategies for velocities, `invert` and `zero` never act,
# `adjust` keeps the whole swarm at its first positions, and `exp_decay` of the options pushes
# the particles away from the best.
#
# * `invert` and `zero` look for particles out of bounds. The optimizers compute velocities
#   after the positions were repaired, from positions that are within: all positions of 100
#   iterations are equal, bit by bit, to those of `unmodified`, with each of six strategies
#   for the bounds. 1.6 % of all moves left the bounds before their repair.
# * `adjust` gives the last move instead of the new velocity. Its memory is filled with the
#   first positions before the first iteration, so this move is 0 and stays 0: after 100
#   iterations no coordinate of any particle has changed, and the cost is that of the
#   first draw, 4.7 where the others have less than 1e-6.
# * `exp_decay` is the formula of a paper for the inertia, where a constant of 0.2 is taken
#   off the difference of the two limits. For `c1` and `c2` from 1.5 it gives 0.27 down to
#   0.11, and -0.54 up to -0.23, below 0; `lin_variation` begins at 1.5 and keeps above 1.
#
# One would guess: a particle that hits a bound is stopped or turned back with `zero` and
# `invert`; `adjust` changes the velocities of repaired particles; `exp_decay` goes "between
# limits". Each run ends without an error, with a best cost and a best position.
#
# Controls: an update with the same formula, written here, that inverts or stops where
# the unrepaired move left the bounds, which changes the positions; `lin_variation`.
#
# Source: pyswarms/backend/handlers.py (`VelocityHandler`, `OptionsHandler.exp_decay`),
# pyswarms/backend/operators.py (`compute_velocity`), pyswarms/single/global_best.py; seen by
# this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'pyswarms==1.3.0' 'numpy==1.26.4' 'scipy==1.15.3'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import logging
import sys

logging.disable(logging.CRITICAL)

import numpy as np
import pyswarms
from pyswarms.backend import handlers

PARTICLES, DIMENSIONS, STEPS, SEEDS = 20, 4, 100, 3
BOUNDS = np.full(DIMENSIONS, -5.0), np.full(DIMENSIONS, 5.0)
REPAIRS = 'periodic', 'nearest', 'reflective', 'random', 'shrink', 'intermediate'
as_described = True
left = []


def cost(positions):
  return np.square(positions - 0.3).sum(axis=1)


class Counting(handlers.BoundaryHandler):

  def __call__(self, position, bounds, **kwargs):
    left.append(np.any((position < bounds[0]) | (position > bounds[1]), axis=1))
    return super().__call__(position, bounds, **kwargs)


class AfterTheMove(handlers.VelocityHandler):
  """Stops or turns back the particles whose move would end out of bounds."""

  def __call__(self, velocity, clamp, *, position, bounds):
    end = position + velocity
    out = np.any((end < bounds[0]) | (end > bounds[1]), axis=1)
    velocity[out] *= 0.0 if self.strategy == 'zero' else -0.5
    return velocity


def search(repair, strategy, seed, kind=None):
  np.random.seed(seed)
  optimizer = pyswarms.single.GlobalBestPSO(
      PARTICLES, DIMENSIONS, {'c1': 1.5, 'c2': 1.5, 'w': 0.7}, bounds=BOUNDS,
      bh_strategy=repair, vh_strategy=strategy,
  )
  if strategy == 'unmodified':
    optimizer.bh = Counting(repair)
  if kind is not None:
    optimizer.vh = kind(strategy)
  best, _ = optimizer.optimize(cost, STEPS, verbose=False)
  return best, np.array(optimizer.pos_history)


for repair in REPAIRS:
  equal, changed, costs = {}, {}, {}
  for seed in range(SEEDS):
    best, expected = search(repair, 'unmodified', seed)
    costs.setdefault('unmodified', []).append(best)
    for name, strategy, kind in (
        ('adjust', 'adjust', None),
        ('invert', 'invert', None),
        ('zero', 'zero', None),
        ('invert after the move', 'invert', AfterTheMove),
        ('zero after the move', 'zero', AfterTheMove),
    ):
      best, positions = search(repair, strategy, seed, kind)
      costs.setdefault(name, []).append(best)
      equal.setdefault(name, []).append(np.array_equal(positions, expected))
      changed.setdefault(name, []).append(np.mean(np.any(positions != positions[0], axis=0)))
      if strategy == 'adjust':
        as_described &= bool(best == cost(positions[0]).min())
  print(f'{repair}: best costs {({name: float(f"{np.mean(v):.1e}") for name, v in costs.items()})};'
        f' all positions as with unmodified {({name: all(v) for name, v in equal.items()})};'
        f' coordinates that ever changed with adjust {np.mean(changed["adjust"]):.0%}')
  as_described &= all(equal['invert']) and all(equal['zero'])
  as_described &= not any(equal['invert after the move'] + equal['zero after the move'])
  as_described &= max(changed['adjust']) == 0 and np.mean(costs['adjust']) > 1
  as_described &= min(changed['invert']) == 1 and max(costs['unmodified']) < 1e-4
print(f'{np.mean(left):.1%} of all moves left the bounds before the repair')
as_described &= bool(np.mean(left) > 0.005)

start = {'c1': 1.5, 'c2': 1.5, 'w': 0.9}
given = {}
for name in 'exp_decay', 'lin_variation':
  handler = handlers.OptionsHandler(dict.fromkeys(start, name))
  given[name] = [handler(start, iternow=step, itermax=100) for step in (0, 50, 100)]
  for step, options in zip((0, 50, 100), given[name]):
    print(f'{name} from {start}, step {step} of 100:'
          f' {({key: round(value, 3) for key, value in options.items()})}')
as_described &= all(options['c2'] < -0.2 for options in given['exp_decay'])
as_described &= all(options['c1'] < 0.3 for options in given['exp_decay'])
as_described &= given['lin_variation'][0] == start
as_described &= all(min(options.values()) > 0.3 for options in given['lin_variation'])
sys.exit(not as_described)
PROGRAM
