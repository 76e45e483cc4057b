#!/usr/bin/env bash
# pybandits 8.4.1: `DoublyRobust` is wrong with wrong propensities even where its model of
# rewards is perfect; `SwitchDoublyRobust` keeps the LARGE weights and drops the small
# ones; and both "sub-Gaussian" estimators never shrink a weight.
#
# * `DoublyRobust`: the correction should be weight * (reward - model of the ACTION). What
#   is taken from the reward is the policy's mean of the model, over all actions. With
#   right propensities the mean is the same. With wrong ones, where the other half of the
#   name should help, it is not: model perfect, propensities taken to be equal, value
#   0.68, it says 0.56. Six more estimators inherit it.
# * `SwitchDoublyRobust(switch_threshold=t)` is to correct where the weight is at most t,
#   and to use the model alone where it is larger, since large weights make the variance.
#   Here it is the other way round, and the ends are exchanged: with infinity, the
#   default, it is `DirectMethod` and uses no reward; with 0 it is `DoublyRobust`.
# * `SubGaussianInverseProbabilityWeighting(shrinkage_factor=...)` has a method that
#   shrinks, and nothing calls it: each number is that of `InverseProbabilityWeighting`,
#   for each factor from 0 to 1. With 1 all weights should be 1. `SubGaussianDoublyRobust`
#   has no factor (it is refused as an extra input) and is `DoublyRobust`.
#
# One would guess: the papers that the classes name (Dudik et al., 2014; Wang et al., 2017;
# Metelli et al., 2021). Numbers are plausible, and in a table of estimators the
# sub-Gaussian rows seem to confirm others, and the "switch" row repeats the error of a model.
#
# Controls: the formulas in NumPy; a policy whose value is known.
#
# Source: pybandits/offline_policy_estimator.py (`GeneralizedDoublyRobust.
# estimate_sample_rewards`; `SwitchDoublyRobust._shrink_weights`: `>=`;
# `SubGaussianInverseProbabilityWeighting._shrink_weights`, which `estimate_sample_rewards`
# does not pass on); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what this module imports.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'scipy==1.17.1' 'pydantic==2.14.4' 'loguru==0.6.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'pybandits==8.4.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import numpy as np
from pybandits import offline_policy_estimator as estimators

NUMBER = 100000
MEANS = np.array([0.2, 0.5, 0.8])
BEHAVIOUR = np.array([0.85, 0.1, 0.05])
POLICY = np.array([0.1, 0.2, 0.7])  # Weights 0.12, 2 and 14.
VALUE = POLICY @ MEANS

random = np.random.default_rng(0)
action = random.choice(3, NUMBER, p=BEHAVIOUR)
reward = (random.random(NUMBER) < MEANS[action]).astype(int)
as_described = True


def of_package(name, model, propensities=BEHAVIOUR, **arguments):
  rewards = getattr(estimators, name)(**arguments).estimate_sample_rewards(
      action=action, reward=reward, propensity_score=propensities[action],
      estimated_policy=np.tile(POLICY, (NUMBER, 1)),
      expected_reward=np.tile(model, (NUMBER, 1)),
  )
  return rewards.mean(), rewards.std() / math.sqrt(NUMBER)


def by_hand(model, weights, all_actions=False):
  """The published estimator, or with the policy's mean of the model in the correction."""
  expected = POLICY @ model
  rewards = expected + weights * (reward - (expected if all_actions else model[action]))
  return rewards.mean(), rewards.std() / math.sqrt(NUMBER)


# Doubly robust, with the model, the propensities, or both of them right.
print(f'the value of the policy is {VALUE:.3f}')
bad_model, bad_propensities = np.array([0.3, 0.4, 0.3]), np.full(3, 1 / 3)
for name, model, propensities in (
    ('both right', MEANS, BEHAVIOUR),
    ('only propensities right', bad_model, BEHAVIOUR),
    ('only the model right', MEANS, bad_propensities),
):
  weights = (POLICY / propensities)[action]
  seen = of_package('DoublyRobust', model, propensities)
  right = by_hand(model, weights)
  print(f'doubly robust, {name}: {seen[0]:.4f} +- {seen[1]:.4f}; the formula gives'
        f' {right[0]:.4f} +- {right[1]:.4f}')
  as_described &= np.allclose(seen, by_hand(model, weights, all_actions=True))
  as_described &= abs(right[0] - VALUE) < 0.02
  as_described &= (abs(seen[0] - VALUE) < 0.02) == (propensities is BEHAVIOUR)
as_described &= seen[0] < 0.6

# The switch. A model that is equal for all actions, so that only the weights count.
model, weights = np.full(3, 0.3), (POLICY / BEHAVIOUR)[action]
direct, robust = [of_package(name, model) for name in ('DirectMethod', 'DoublyRobust')]
print(f'direct method, all actions 0.3: {direct[0]:.4f}; doubly robust {robust[0]:.4f}')
as_described &= np.allclose(direct, (0.3, 0)) and np.allclose(robust, by_hand(model, weights))
for threshold in (0.0, 1.0, 5.0, math.inf):
  seen = of_package('SwitchDoublyRobust', model, switch_threshold=threshold)
  right = by_hand(model, weights * (weights <= threshold))
  print(f'switch, threshold {threshold}: {seen[0]:.4f} +- {seen[1]:.4f}; the formula'
        f' gives {right[0]:.4f} +- {right[1]:.4f}')
  as_described &= np.allclose(seen, by_hand(model, weights * (weights >= threshold)))
  as_described &= abs(seen[0] - right[0]) > 0.05
as_described &= np.allclose(of_package('SwitchDoublyRobust', model), direct)
as_described &= np.allclose(of_package('SwitchDoublyRobust', model, switch_threshold=0.0), robust)

# Sub-Gaussian.
plain = of_package('InverseProbabilityWeighting', model)
for factor in (0.0, 0.3, 1.0):
  seen = of_package('SubGaussianInverseProbabilityWeighting', model, shrinkage_factor=factor)
  shrunk = weights / (1 - factor + factor * weights)
  right = np.mean(shrunk * reward)
  print(f'sub-Gaussian weighting, factor {factor}: {seen[0]:.4f}, without {plain[0]:.4f};'
        f' the formula gives {right:.4f}, with weights up to {shrunk.max():.2f} instead of'
        f' {weights.max():.2f}')
  as_described &= seen == plain and (factor == 0) == math.isclose(right, plain[0])
as_described &= math.isclose(right, reward.mean())
as_described &= of_package('SubGaussianDoublyRobust', model) == robust
try:
  estimators.SubGaussianDoublyRobust(shrinkage_factor=0.3)
  as_described = False
except ValueError as error:
  print(f'sub-Gaussian doubly robust, with a factor: {type(error).__name__}')
sys.exit(not as_described)
PROGRAM
