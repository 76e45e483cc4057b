#!/usr/bin/env bash
# gym-trading-env 0.3.5: interest on what is borrowed is charged for one step, however long the
# position is held. Who closes a position above 1 for one below 1 does not pay even that.
#
# `borrow_interest_rate` is documented as the rate per STEP, "only when position < 0 or
# position > 1". Each step puts the interest of that step in the place of what was owed before,
# and does not add it. So the debt is that of the last step, and 0 without a loan. A trade pays
# it where the new position is at least 1 (or at most 0 for a short one); else it is dropped.
#
# With a constant price of 100, a capital of 1000 and a rate of 0.1 % per step:
#
# * twice the capital held for 10, 100 and 1000 steps: 999.00 in all cases. The interest is
#   10, 100 and 1000 by the rate, and the capital is gone after the last.
# * short for 1000 steps: 999.00 as well, also if it is closed for the last step;
# * twice the capital for 999 steps, then position 0: 1000.00. The loan was free of charge.
# * In the rewards, logarithms of the value by default, it is -0.001 in the first step, 0 in the
#   others, and +0.001 when twice the capital is sold.
#
# One would guess: a cost per step, as documented. It is in the first reward and in each value,
# so that the setting seems to work. Whom it harms: who trains with it learns that leverage and
# short positions are free, and so does a backtest of anything else in this environment.
#
# Controls: the sums by hand; the trading fee, which is charged as it should be; a position of
# the capital itself, which borrows nothing.
#
# Source: gym_trading_env/utils/portfolio.py (`Portfolio.update_interest`: `=` and not `+=`),
# gym_trading_env/environments.py (`TradingEnv.step`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# ccxt and the rest download and draw prices.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'pandas==3.1.1' 'gymnasium==1.4.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'gym-trading-env==0.3.5'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" - <<'PROGRAM'
import sys

from gym_trading_env.environments import TradingEnv
import numpy as np
import pandas as pd

PRICE, CAPITAL, RATE, FEE = 100.0, 1000.0, 0.001, 0.01
POSITIONS = [-1, 0, 1, 2]


def hold(position, steps, fee=0.0, close=False):
  """The last value and the rewards of one position; the last step may close it."""
  size = steps + 1
  prices = pd.DataFrame(
      {'close': np.full(size, PRICE), 'feature': np.zeros(size)},
      index=pd.date_range('2020-01-01', periods=size, freq='h'),
  )
  env = TradingEnv(
      prices, positions=POSITIONS, initial_position=0, borrow_interest_rate=RATE,
      trading_fees=fee, portfolio_initial_value=CAPITAL, verbose=0,
  )
  env.reset(seed=0)
  rewards, is_over = [], False
  while not is_over:
    wanted = 0 if close and len(rewards) == steps - 1 else position
    _, reward, terminated, truncated, info = env.step(POSITIONS.index(wanted))
    rewards.append(float(reward))
    is_over = terminated or truncated
  assert len(rewards) == steps and not terminated
  return float(info['portfolio_valuation']), rewards


as_described = True
for position, name in ((2, 'twice the capital'), (-1, 'short')):
  for steps in 1, 10, 100, 1000:
    value, rewards = hold(position, steps)
    owed = steps * RATE * CAPITAL  # What was borrowed is worth the capital in both cases.
    print(f'{name} for {steps} steps: value {value:.2f}; by the rate per step'
          f' {CAPITAL - owed:.2f}; first reward {rewards[0]:.6f}, sum of the others'
          f' {sum(rewards[1:]):.6f}')
    as_described &= abs(value - (1 - RATE) * CAPITAL) < 1e-6
    as_described &= abs(rewards[0] - np.log(1 - RATE)) < 1e-9 and abs(sum(rewards[1:])) < 1e-9
  value, rewards = hold(position, 1000, close=True)
  print(f'{name} for 999 steps, closed for the last: value {value:.2f}, last reward'
        f' {rewards[-1]:.6f}')
  paid = RATE * CAPITAL if position < 0 else 0.0
  as_described &= abs(value - (CAPITAL - paid)) < 1e-6
  as_described &= abs(sum(rewards) - np.log(value / CAPITAL)) < 1e-9

# Controls: nothing borrowed, and a fee for what is bought.
value, rewards = hold(1, 1000)
print(f'the capital itself for 1000 steps: value {value:.2f}')
as_described &= value == CAPITAL and not any(rewards)
value, _ = hold(1, 10, fee=FEE)
print(f'with a fee of {FEE:.0%}: value {value:.2f}')
as_described &= abs(value - (1 - FEE) * CAPITAL) < 1e-6
sys.exit(not as_described)
PROGRAM
