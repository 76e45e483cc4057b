#!/usr/bin/env bash
# CityLearn 3.0.2: `IndependentSACReward` pays the consumption itself and not its cube. It
# is the default `RewardFunction`, under another name.
#
# The function multiplies by -1**3, which is -1. The power belongs to the number and not to
# the product.
#
# * Consumptions of 4, 2, 0.5, 0 and -3 kWh: rewards of -4, -2, -0.5, 0 and 0, where
#   min(-e^3, 0) has -64, -8, -0.125, 0 and 0. On 1000 draws it equals `RewardFunction` to the
#   last digit, by building and as one sum; `RewardFunction(exponent=3)` is what one means.
# * Two days of one house: 2 kWh in the evening peaks of 8 hours and 0.25 in the others,
#   or a battery that keeps 0.9 of what it takes and makes every hour 0.875. The cube says
#   that the battery is better (-16 against -64), the reward of the class that it is worse (-21
#   against -20): leaving it alone is the best that an agent can do.
#
# One would guess: the cube, which an older docstring of the class gives (with max in place of
# min), and for which the class exists next to the default one. A high price of peaks makes an
# agent shift load where prices are not part of the reward; a linear one makes it only save.
# Nothing fails, and signs, shapes and the order of two single hours are those of the cube.
#
# Controls: the formula by hand, and the library's own `RewardFunction` with exponents.
#
# Source: citylearn/reward_function.py (`IndependentSACReward.calculate`); seen by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==1.26.4' 'pandas==2.3.3' 'scikit-learn==1.2.2' 'torch==2.13.0' 'gymnasium==0.28.1' \
  'simplejson==3.20.2' 'pyyaml==6.0.3' 'requests==2.34.2' 'platformdirs==4.5.0'
# The rest of what it asks for simulates buildings and loads pictures.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'citylearn==3.0.2'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from citylearn.reward_function import IndependentSACReward
from citylearn.reward_function import RewardFunction
import numpy as np

as_described = True


def pay(function, consumptions):
  return np.array(function.calculate([{'net_electricity_consumption': float(value)}
                                      for value in consumptions]))


def functions(central_agent):
  metadata = {'central_agent': central_agent}
  return {
      'IndependentSACReward': IndependentSACReward(metadata),
      'RewardFunction': RewardFunction(metadata),
      'RewardFunction, exponent=3': RewardFunction(metadata, exponent=3),
  }


def cube(consumptions):
  return np.array([min(-(value * value * value), 0) for value in consumptions])


few = 4.0, 2.0, 0.5, 0.0, -3.0
print(f'consumptions {few}; min(-e^3, 0) by hand {cube(few)}')
for name, function in functions(False).items():
  print(f'  {name}: {pay(function, few)}')

draws = np.random.default_rng(0).normal(1, 2, size=1000)
for central_agent in False, True:
  sac, default, cubed = (pay(function, draws) for function in functions(central_agent).values())
  by_hand = cube(draws)
  if central_agent:
    by_hand = by_hand.sum(keepdims=True)
  print(f'1000 draws, central_agent={central_agent}: equal to the default'
        f' {bool((sac == default).all())}, to the cube {np.allclose(sac, by_hand)};'
        f' sums {sac.sum():.1f}, {by_hand.sum():.1f}')
  as_described &= bool(np.array_equal(sac, default) and not np.allclose(sac, by_hand))
  as_described &= bool(np.allclose(cubed, by_hand))

# A day of a house alone, and with a battery that fills itself in the cheap hours.
PEAK, HOURS, KEPT = 8, 24, 0.9
alone = np.array([2.0] * PEAK + [0.25] * (HOURS - PEAK))
level = (KEPT * 0.25 * (HOURS - PEAK) + 2 * PEAK) / (PEAK + KEPT * (HOURS - PEAK))
flat = np.full(HOURS, level)
taken, given = (level - 0.25) * (HOURS - PEAK), (2 - level) * PEAK
assert np.isclose(given, KEPT * taken)
judged = {}
for name, function in functions(False).items():
  judged[name] = pay(function, alone).sum(), pay(function, flat).sum()
judged['by hand'] = cube(alone).sum(), cube(flat).sum()
for name, (without, with_battery) in judged.items():
  print(f'{name}: a day of {alone.sum():.1f} kWh with peaks {without:.2f}, a flat one of'
        f' {flat.sum():.1f} kWh {with_battery:.2f}')
for name in 'IndependentSACReward', 'RewardFunction':
  as_described &= bool(judged[name][0] > judged[name][1])
for name in 'RewardFunction, exponent=3', 'by hand':
  as_described &= bool(judged[name][0] < judged[name][1])
sys.exit(not as_described)
PROGRAM
