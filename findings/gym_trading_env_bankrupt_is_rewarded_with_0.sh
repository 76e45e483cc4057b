#!/usr/bin/env bash
# gym-trading-env 0.3.5: the step in which a portfolio loses all has the reward 0. Ruin is the
# best outcome of a fall of the price.
#
# The environment terminates when the value is 0 or less, and asks the reward function only in
# steps that do not terminate, so that the logarithm of such a value is not needed. A reward
# function of one's own is not asked either. The reward stays at the 0 of the new row.
#
# With a price that falls from 100 to 45 in one step, and a capital of 1000:
#
# * three times the capital: the value is -650, and the return 0;
# * twice the capital: the value is -100, and the return 0;
# * one and a half: the value is 175, and the return -1.74;
# * the capital itself: the value is 450, and the return -0.80.
#
# So to lose everything pays more than to lose a half. In random markets with falls, an agent
# that maximizes the return is right to borrow as much as it can: over 400 episodes, three times
# the capital has the largest mean return, 0.37 against 0 for nothing held, and the smallest
# mean value, 673 of 1000.
#
# One would guess: a large penalty, or the reward of the function that was given. The metric
# "Portfolio Return" and the values in `info` are right, so that it shows only in agents that
# go bankrupt more and more. Whom it harms: everyone who trains with positions above 1 or
# below 0, which are the package's feature.
#
# Controls: logarithms of the values by hand in all steps that do not terminate; a reward
# function that is the change of the value, which is asked in all steps but the last.
#
# Source: gym_trading_env/environments.py (`TradingEnv.step`: `if not done:` before the
# reward); seen by this script, which fails if it changes.
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

CAPITAL = 1000.0
POSITIONS = [0, 0.5, 1, 1.5, 2, 3]
EPISODES, STEPS = 400, 20


def hold(prices, position, **settings):
  """Rewards, values after each step, and whether the last step terminated."""
  size = len(prices)
  frame = pd.DataFrame(
      {'close': prices, 'feature': np.zeros(size)},
      index=pd.date_range('2020-01-01', periods=size, freq='h'),
  )
  env = TradingEnv(
      frame, positions=POSITIONS, initial_position=0, portfolio_initial_value=CAPITAL,
      verbose=0, **settings,
  )
  env.reset(seed=0)
  rewards, values, is_over = [], [CAPITAL], False
  while not is_over:
    _, reward, terminated, truncated, info = env.step(POSITIONS.index(position))
    rewards.append(float(reward))
    values.append(float(info['portfolio_valuation']))
    is_over = terminated or truncated
  return rewards, values, terminated


def change(history):
  return history['portfolio_valuation', -1] - history['portfolio_valuation', -2]


as_described = True
fall = np.array([100.0, 100, 45, 45])
for position in POSITIONS[1:]:
  rewards, values, terminated = hold(fall, position)
  changes, _, _ = hold(fall, position, reward_function=change)
  print(f'{position} times the capital: value {values[-1]:.0f}, return {sum(rewards):.2f};'
        f' with the change of the value as reward {sum(changes):.0f}; terminated {terminated}')
  as_described &= terminated == (values[-1] <= 0) == (position >= 2)
  if terminated:
    as_described &= sum(rewards) == sum(changes) == 0
  else:
    as_described &= bool(np.allclose(rewards, np.diff(np.log(values))))
    as_described &= abs(sum(changes) - (values[-1] - CAPITAL)) < 1e-9 and sum(rewards) < -0.3

# Prices that stay nearly equal, and fall by half in one of 30 steps.
rng = np.random.default_rng(0)
results = {position: [] for position in (0, 1, 1.5, 3)}
for _ in range(EPISODES):
  factors = np.where(rng.random(STEPS) < 1 / 30, 0.5, np.exp(rng.normal(0.01, 0.01, STEPS)))
  prices = 100 * np.cumprod(np.append(1, factors))
  for position, found in results.items():
    rewards, values, terminated = hold(prices, position)
    found.append((sum(rewards), values[-1], terminated))
means = {position: np.mean(found, axis=0) for position, found in results.items()}
for position, (total, value, ruined) in means.items():
  print(f'{position} times the capital in random markets: mean return {total:.3f}, mean value'
        f' {value:.0f}, bankrupt in {ruined:.2f} of the episodes')
as_described &= max(means, key=lambda each: means[each][0]) == 3
as_described &= min(means, key=lambda each: means[each][1]) == 3
as_described &= means[3][2] > 0.3 and means[3][0] > 0.2
sys.exit(not as_described)
PROGRAM
