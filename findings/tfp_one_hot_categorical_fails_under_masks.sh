#!/usr/bin/env bash
# TensorFlow Probability 0.25.0 (TensorFlow 2.21.0): `OneHotCategorical` gives NaN where
# an action is not allowed, and `Categorical` with the same logits does not.
#
# A mask of actions sets the logits of those not allowed to minus infinity. For
# logits (1, 2, -inf)
#
# * `Categorical` has the log probability of action 0, the divergence of two such
#   distributions, the entropy and all their gradients;
# * `OneHotCategorical` has NaN for the log probability of an action that IS allowed,
#   NaN for the divergence, and the right entropy, whose gradient is NaN.
#
# One would guess: the two differ in how an outcome is written, 0 or (1, 0, 0), and not
# in their arithmetic. The entropy is the worst of the three, because its value is
# right: a loss that has it looks healthy, and its first update makes all weights NaN.
#
# Source: distributions/categorical.py guards its products of 0 and infinity
# (`multiply_no_nan`); distributions/onehot_categorical.py, which takes softmax
# cross-entropy and plain products, does not. A large negative number in place of
# minus infinity avoids it. Seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.21.0' 'tensorflow-probability==0.25.0' 'tf-keras==2.21.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import sys

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

LOGITS = [1.0, 2.0, -float('inf')]
OTHERS = [0.0, 1.0, -float('inf')]


def look(kind, action):
  """Returns whether (value, gradient) of each number are without NaN."""
  found = {}
  for name, function in dict(
      log_probability=lambda x: kind(logits=x).log_prob(action),
      divergence=lambda x: tfp.distributions.kl_divergence(
          kind(logits=x), kind(logits=OTHERS)
      ),
      entropy=lambda x: kind(logits=x).entropy(),
  ).items():
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
      tape.watch(logits)
      value = function(logits)
    numbers = value.numpy(), tape.gradient(value, logits).numpy()
    print(f'  {name}: {numbers[0]:.4f}, gradient {numbers[1]}')
    found[name] = tuple(bool(np.isfinite(x).all()) for x in numbers)
  return found


print('Categorical')
dense = look(tfp.distributions.Categorical, 0)
print('OneHotCategorical')
one_hot = look(tfp.distributions.OneHotCategorical, [1.0, 0.0, 0.0])
as_described = (
    all(map(all, dense.values()))
    and not one_hot['log_probability'][0]
    and not one_hot['divergence'][0]
    and one_hot['entropy'] == (True, False)
)
sys.exit(not as_described)
PROGRAM
