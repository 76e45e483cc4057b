#!/usr/bin/env bash
# SCOPE-RL 0.2.1: the estimated distributions of returns put the lowest trajectory at the
# bottom of the scale, and discount each reward once too often.
#
# `CumulativeDistributionTIS` and `...SNTIS` estimate the distribution of the return, for
# its mean, variance and lower tail. The numbers of trajectories in the bins of the scale
# are summed up and index the cumulative weights, where a sum of 0 becomes the index 0,
# which is the first trajectory. So below all returns the distribution function is not 0
# but that trajectory's weight.
#
# * 100 trajectories with returns of about 100 (+- 5), evaluated for the policy that made
#   them, on a scale from 0 to 200: the variance is 122 in place of 23, and the lower tail is
#   at 0 in place of 88. One bad episode that never was is in each estimate. With weights
#   it is as heavy as the lowest one's weight.
# * The return is the sum of gamma ** (t + 1) * r, with the first reward discounted. By
#   the formula in the documentation it is gamma ** t, as in the same package's estimators
#   of the mean, in the values of policies that were run, and in Q functions. With 0.9 the
#   mean return is a tenth too low beside them. On the default scale, which has the returns
#   without a discount (`obtain_reward_scale`), all discounted ones below the lowest of
#   these are moved up to it. With rewards from 0.8 to 1.2 that is each: 9.4 in place of 6.5.
# * The doubly robust `...TDR` joins these returns to the Q function of the other scale. An
#   exact Q then makes no residual vanish: rewards of 1, no randomness at all, and
#   `...DM` says 6.51 and `...TDR` 5.86.
# * With gamma 1 and a scale that begins at the lowest return nothing of this shows.
#
# One would guess: the formulas of the documentation, with F(m) = 0 below all returns.
#
# Controls: mean, variance and tail from the returns themselves; the estimator
# `TrajectoryWiseImportanceSampling` of the mean; `...TDR`, which has no such index, for
# the bottom of the scale.
#
# Source: scope_rl/ope/discrete/cumulative_distribution_estimators.py
# (`idx = np.where(idx < 0, 0, idx)`; ope/continuous has the same), ope/estimators_base.py
# (`_aggregate_trajectory_wise_statistics_discrete`: `cumprod()` and not
# `cumprod() / gamma`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what the modules of these estimators import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gym==0.26.2' 'numpy==2.3.5' 'scipy==1.17.1' 'scikit-learn==1.8.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'scope-rl==0.2.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import importlib.util
import math
import sys
import types

import numpy as np

# Without the packages' __init__, which import PyTorch and d3rlpy for other estimators.
# For these, d3rlpy has a type that is named in annotations.
place = importlib.util.find_spec('scope_rl').submodule_search_locations[0]
for name, path in (('scope_rl.ope', 'ope'), ('scope_rl.ope.discrete', 'ope/discrete')):
  sys.modules[name] = types.ModuleType(name)
  sys.modules[name].__path__ = [f'{place}/{path}']
sys.modules['d3rlpy'] = types.ModuleType('d3rlpy')
sys.modules['d3rlpy.preprocessing'] = types.ModuleType('d3rlpy.preprocessing')
sys.modules['d3rlpy.preprocessing'].ActionScaler = object
from scope_rl.ope.discrete import basic_estimators as basic
from scope_rl.ope.discrete import cumulative_distribution_estimators as distributions

NUMBER, STEPS, ACTIONS = 100, 10, 2
TIS = distributions.CumulativeDistributionTIS()
SNTIS = distributions.CumulativeDistributionSNTIS()
TDR = distributions.CumulativeDistributionTDR()
DM = distributions.CumulativeDistributionDM()
MEAN = basic.TrajectoryWiseImportanceSampling()
as_described = True


def data(rewards, gamma, scale, weights=None, q=None):
  """For the policy that made the data, or one with weights in the first step."""
  number, steps = rewards.shape
  chosen = np.full((number, steps), 0.5)
  evaluated = np.full((number, steps, ACTIONS), 0.5)
  if weights is not None:
    evaluated[:, 0, 0] = 0.5 * weights
    evaluated[:, 0, 1] = 1 - 0.5 * weights
  if q is None:
    q = np.zeros((number, steps))
  return {
      'step_per_trajectory': steps, 'action': np.zeros(number * steps, int),
      'reward': rewards.ravel(), 'pscore': chosen.ravel(),
      'evaluation_policy_action_dist': evaluated.reshape(-1, ACTIONS),
      'state_action_value_prediction': np.repeat(q.reshape(-1, 1), ACTIONS, axis=1),
      'reward_scale': scale, 'gamma': gamma,
  }


# The bottom of the scale.
random = np.random.default_rng(0)
returns = 100 + 5 * random.normal(size=NUMBER)
rewards = np.repeat(returns[:, None] / STEPS, STEPS, axis=1)
scale = np.linspace(0, 200, 2001)
tail = returns.min()
for name, estimator in (('TIS', TIS), ('SNTIS', SNTIS), ('TDR', TDR)):
  inputs = data(rewards, 1.0, scale)
  below = estimator.estimate_cumulative_distribution_function(**inputs)[scale == 50][0]
  mean = estimator.estimate_mean(**inputs)
  variance = estimator.estimate_variance(**inputs)
  [worst] = estimator.estimate_conditional_value_at_risk(
      **inputs, alphas=np.array([0.005])
  )
  print(f'{name}: F(50) {below:.3f}, mean {mean:.2f}, variance {variance:.1f}, worst percent'
        f' {worst:.1f}; by the returns 0, {returns.mean():.2f}, {returns.var():.1f},'
        f' {tail:.1f}')
  wrong = name != 'TDR'
  as_described &= math.isclose(below, wrong / NUMBER, abs_tol=1e-9)
  as_described &= (variance > 3 * returns.var()) == wrong
  as_described &= (worst < 5) == wrong and (abs(worst - tail) < 1) != wrong
from_the_lowest = np.linspace(tail, 200, 2001)
variance = TIS.estimate_variance(**data(rewards, 1.0, from_the_lowest))
print(f'  on a scale from the lowest return: variance {variance:.1f}')
as_described &= abs(variance - returns.var()) < 0.5

weights = np.ones(NUMBER)
weights[returns.argmin()] = 2.0
inputs = data(rewards, 1.0, scale, weights=weights)
below = TIS.estimate_cumulative_distribution_function(**inputs)[scale == 50][0]
print(f'  with a weight of 2 for the lowest: F(50) {below:.3f}')
as_described &= math.isclose(below, 2 / NUMBER, abs_tol=1e-9)

# The exponent of the discount.
for gamma in (1.0, 0.9):
  powers = gamma ** np.arange(STEPS)
  rewards = random.uniform(0, 1, (NUMBER, STEPS))
  by_hand = np.mean([sum(p * r for p, r in zip(powers, row)) for row in rewards])
  scale = np.linspace(0, STEPS, 10001)
  lowest = min((rewards * powers * gamma).sum(axis=1))
  scale = scale[scale > lowest - 0.01]  # Not the bottom once more.
  inputs = data(rewards, gamma, scale)
  seen = {name: x.estimate_mean(**inputs) for name, x in (('TIS', TIS), ('SNTIS', SNTIS))}
  other = MEAN.estimate_policy_value(**inputs)
  print(f'discount {gamma}: mean return {by_hand:.3f}, by the estimator of the mean'
        f' {other:.3f}, by the distributions',
        {name: round(float(each), 3) for name, each in seen.items()})
  as_described &= math.isclose(other, by_hand, rel_tol=1e-9)
  as_described &= all(abs(x - gamma * by_hand) < 0.003 for x in seen.values())

# The default scale, as CumulativeDistributionOPE.obtain_reward_scale has it.
rewards = random.uniform(0.8, 1.2, (NUMBER, STEPS))
default = np.sort(np.unique(rewards.sum(axis=1)))
inputs = data(rewards, gamma, default)
discounted = rewards @ powers
mean, variance = TIS.estimate_mean(**inputs), TIS.estimate_variance(**inputs)
print(f'  on the default scale, from {default[0]:.3f}: mean {mean:.3f}, variance'
      f' {variance:.3f}; by the returns {discounted.mean():.3f}, {discounted.var():.3f}')
as_described &= math.isclose(mean, default[1]) and abs(variance) < 1e-9
as_described &= mean > discounted.mean() + 2 and discounted.var() > 0.01

# Rewards of 1 and the exact Q.
left = np.arange(STEPS, 0, -1)
exact = np.repeat(((1 - 0.9**left) / (1 - 0.9))[None], NUMBER, axis=0)
inputs = data(np.ones((NUMBER, STEPS)), 0.9, np.linspace(0, 10, 10001), q=exact)
seen = [float(x.estimate_mean(**inputs)) for x in (DM, TDR)]
print(f'rewards of 1, discount 0.9, exact Q {exact[0, 0]:.3f}: DM {seen[0]:.3f}, TDR'
      f' {seen[1]:.3f}')
as_described &= abs(seen[0] - exact[0, 0]) < 0.003
as_described &= abs(seen[1] - 0.9 * exact[0, 0]) < 0.003
sys.exit(not as_described)
PROGRAM
