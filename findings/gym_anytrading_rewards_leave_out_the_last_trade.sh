#!/usr/bin/env bash
# gym-anytrading 2.0.0: the position that is open at the end of an episode is in `total_profit`
# and not in the rewards. A loss that is never realized costs nothing.
#
# At the last step the profit closes the position, and the reward does not: it only pays when
# the action turns the position over. With the package's own prices:
#
# * Google's shares, bought in the first step and held: `total_profit` is 5.71 (of 1), after
#   fees, and the return 0. Sold one step before the end the profit is about the same, and the
#   return is 1028, the difference of prices.
# * Bought before a fall and held to the end of the fall: the profit is 0.80, a loss, and the
#   return 0. Sold one step before the end the return is -110.
# * `ForexEnv` with the default side begins in a short position that nobody has chosen. Who
#   never trades loses 12 %, and has the return 0.
#
# So policies have another order by return than by profit: the return prefers to hold a falling
# share to selling it, and is the same for the best and the worst share that is held. What the
# same trades pay depends on where the episode is cut.
#
# One would guess: the returns and the profit both count all trades; `info` has both, side by
# side. Nothing is raised. Whom it harms: an agent that maximizes the return learns to keep losing
# positions open, and its profit falls while its returns rise.
#
# Controls: differences of prices and profits with the fees, by hand, for the same trades.
#
# Source: gym_anytrading/envs/stocks_env.py and forex_env.py (`_calculate_reward`: `if trade`,
# `_update_profit`: `if trade or self._truncated`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gym-anytrading==2.0.0' 'gymnasium==1.4.0' 'numpy==2.4.6' 'pandas==3.1.1' \
  'matplotlib==3.11.2'

export OMP_NUM_THREADS=1 MPLBACKEND=Agg
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from gym_anytrading import datasets
from gym_anytrading import envs
import numpy as np

WINDOW = 10
SELL, BUY = 0, 1
SHARES = datasets.STOCKS_GOOGL
PRICES = SHARES['Close'].to_numpy()


def run(env, bought, sold=None):
  """Holds from one tick to another; returns the return and the profit."""
  env.reset(seed=0)
  total, is_over, tick = 0.0, False, env._start_tick
  while not is_over:
    tick += 1  # A trade is made at the price of the next tick.
    held = bought is not None and tick >= bought and (sold is None or tick < sold)
    _, reward, _, is_over, info = env.step(BUY if held else SELL)
    total += float(reward)
  assert abs(total - info['total_reward']) < 0.1
  return total, float(info['total_profit'])


def shares(first, last):
  """An environment with the rows up to `last`; the first trade can be at row `first`."""
  return envs.StocksEnv(SHARES, window_size=WINDOW, frame_bound=(first, last + 1))


def by_hand(env, bought, sold):
  fees = (1 - env.trade_fee_ask_percent) * (1 - env.trade_fee_bid_percent)
  change = float(env.prices[sold] / env.prices[bought])
  return float(env.prices[sold] - env.prices[bought]), change * fees


as_described = True
top = int(np.argmax(PRICES[:1200]))
bottom = top + int(np.argmin(PRICES[top:top + 400]))
for name, first, last in (
    ('all prices', WINDOW, len(SHARES) - 1), ('a fall', top - 1, bottom)
):
  env = shares(first, last)
  start, end = env._start_tick + 1, env._end_tick
  for what, sold in (('held to the end', None), ('sold one step before', end - 1)):
    total, profit = run(env, start, sold)
    difference, expected = by_hand(env, start, end if sold is None else sold)
    print(f'{name}, bought first and {what}: return {total:.1f}, total_profit {profit:.3f}; by'
          f' hand {difference:.1f} and {expected:.3f}')
    as_described &= abs(profit - expected) < 1e-3 and abs(difference) > 100
    as_described &= total == 0 if sold is None else abs(total - difference) < 1e-2

env = envs.ForexEnv(
    datasets.FOREX_EURUSD_1H_ASK, window_size=WINDOW,
    frame_bound=(WINDOW, len(datasets.FOREX_EURUSD_1H_ASK)),
)
total, profit = run(env, None)
expected = float((env.prices[env._start_tick - 1] - env.trade_fee) / env.prices[env._end_tick])
print(f'euros, no trade at all: return {total:.1f}, total_profit {profit:.3f}; by hand'
      f' {expected:.3f}')
as_described &= total == 0 and abs(profit - expected) < 1e-3 and profit < 0.9
sys.exit(not as_described)
PROGRAM
