#!/usr/bin/env bash
# glicko2 2.1.0: the new volatility is computed from the RATING of the player, where the
# algorithm has the rating deviation.
#
# Step 5 of Glickman's description solves f(x) = 0, and f has the squared deviation in its
# numerator and denominator. `_f` of the package has the squared rating on the inner scale,
# (rating - 1500) / 173.7178, in both places. The starting interval has the deviation.
#
# * A player of 1500 with a deviation of 60 wins 30 games against 1700: the volatility is
#   0.0680, and by the algorithm it is 0.0625. The same games with all ratings 500 points
#   higher or lower, or 1000, or 1500: 0.0600, as before the games, and by the algorithm
#   0.0625 for all.
# * A player's strength jumps by 700 points after period 10 of 20: the volatility goes from
#   0.0600 to 0.0619 if the scale begins at 1500, to 0.0600 if it begins 800 higher, and by
#   the algorithm to 0.0665 in both. The last ratings are 3.5 apart after the shift.
#
# One would guess: ratings matter by their differences only, and a rating period gives the
# same change wherever the scale begins. The example of Glickman's paper, a player of 1500
# with a deviation of 200, comes out right: a volatility of 0.059993 for 0.059996.
#
# Controls: the algorithm written here, its equation solved by bisection; the package's own
# class with the deviation in `_f`.
#
# Source: glicko2/glicko2.py (`Player._f`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'glicko2==2.1.0'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import random
import sys

from glicko2 import Player

SCALE, TAU = 173.7178, 0.5
as_described = True


def by_the_algorithm(player, ratings, deviations, scores):
  """Returns the rating, the deviation and the volatility after a period."""
  mu, phi, sigma = (player[0] - 1500) / SCALE, player[1] / SCALE, player[2]
  information = surprise = 0.0
  for rating, deviation, score in zip(ratings, deviations, scores):
    weight = 1 / math.sqrt(1 + 3 * (deviation / SCALE / math.pi) ** 2)
    expected = 1 / (1 + math.exp(-weight * (mu - (rating - 1500) / SCALE)))
    information += weight**2 * expected * (1 - expected)
    surprise += weight * (score - expected)
  v = 1 / information
  start = math.log(sigma**2)

  def f(x):
    spread = phi**2 + v + math.exp(x)
    return (
        math.exp(x) * ((v * surprise) ** 2 - spread) / (2 * spread**2) - (x - start) / TAU**2
    )

  # The function falls from a positive value to a negative one.
  low, high = start - 20, start + 20
  for _ in range(100):
    middle = (low + high) / 2
    low, high = (middle, high) if f(middle) > 0 else (low, middle)
  sigma = math.exp(low / 2)
  phi = 1 / math.sqrt(1 / (phi**2 + sigma**2) + 1 / v)
  return 1500 + SCALE * (mu + phi**2 * surprise), SCALE * phi, sigma


def by_the_package(player, ratings, deviations, scores, kind=Player):
  given = kind(*player)
  given.update_player(ratings, deviations, scores)
  return given.rating, given.rd, given.vol


class Repaired(Player):

  def _f(self, x, delta, v, a):
    spread = (self.rd / SCALE) ** 2 + v + math.exp(x)
    return math.exp(x) * (delta**2 - spread) / (2 * spread**2) - (x - a) / self._tau**2


def repaired(*args):
  return by_the_package(*args, kind=Repaired)


METHODS = by_the_package, repaired, by_the_algorithm

# The example of the paper, whose result there is 1464.06, 151.52 and 0.05999.
example = (1500, 200, 0.06), [1400, 1550, 1700], [30, 100, 300], [1, 0, 0]
for method in METHODS:
  rating, deviation, volatility = method(*example)
  print(f'{method.__name__}, the example of the paper: {rating:.2f} {deviation:.2f}'
        f' {volatility:.6f}')
  as_described &= abs(rating - 1464.05) < 0.02 and abs(deviation - 151.52) < 0.01
  as_described &= abs(volatility - 0.059996) < 5e-6

for method in METHODS:
  volatilities = []
  for shift in -1500, -1000, -500, 0, 500, 1000, 1500:
    volatilities.append(
        method((1500 + shift, 60, 0.06), [1700 + shift] * 30, [100] * 30, [1] * 30)[2]
    )
  print(f'{method.__name__}, 30 wins against 200 more, from 0 to 3000:'
        f' {[round(value, 4) for value in volatilities]}')
  if method is by_the_package:
    as_described &= volatilities[3] > 0.067
    as_described &= all(value < 0.0601 for i, value in enumerate(volatilities) if i != 3)
  else:
    as_described &= all(abs(value - 0.0625) < 1e-4 for value in volatilities)


def season(method, shift):
  draws = random.Random(0)
  player = 1500 + shift, 60, 0.06
  for period in range(20):
    strength = 1500 + shift + 700 * (period >= 10)
    ratings = [1500 + shift + 50 * place for place in range(-6, 18)]
    scores = [
        draws.random() < 1 / (1 + 10 ** ((rating - strength) / 400)) for rating in ratings
    ]
    player = method(player, ratings, [80] * len(ratings), scores)
  return player


for method in METHODS:
  seasons = [season(method, shift) for shift in (0, 800)]
  apart = seasons[1][0] - 800 - seasons[0][0]
  print(f'{method.__name__}, 20 periods with a jump: volatilities {seasons[0][2]:.4f} near'
        f' 1500 and {seasons[1][2]:.4f} 800 higher; last ratings {apart:.2f} apart after the'
        ' shift')
  if method is by_the_package:
    as_described &= seasons[0][2] > seasons[1][2] + 0.001 and abs(apart) > 2
    as_described &= seasons[0][2] < 0.063
  else:
    as_described &= abs(seasons[0][2] - seasons[1][2]) < 1e-5 and abs(apart) < 0.01
    as_described &= seasons[0][2] > 0.066
sys.exit(not as_described)
PROGRAM
