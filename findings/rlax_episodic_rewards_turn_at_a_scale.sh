#!/usr/bin/env bash
# rlax 0.1.9: `episodic_memory_intrinsic_rewards`, the bonus of "Never Give Up",
# depends on the unit of the embeddings, and below a size of them it pays nothing for
# novelty.
#
# The bonus divides squared distances to the nearest neighbours by their running mean,
# so that the unit falls out, and adds a constant of 0.001 to the mean for small means.
# The distances that it gets from `knn_query` are negative, and the constant is added
# to the negative mean. So a ratio is d / (mean - 0.001) where d / (mean + 0.001) is
# meant:
#
# * with a mean of 0.00115 the reward of a new state is 3.7 times that of the formula;
# * with a mean of 0.00096 all ratios are negative and count as 0: a new state is paid
#   what a state is paid that equals all ten neighbours (0.316). So is a state that was
#   seen once, which gets 1.0 otherwise.
#
# The embeddings of the two cases differ by a factor of 1.09. A mean of 0.001 is what
# 32 features give that differ by 0.0056 each.
#
# One would guess: rewards of the formula, which fall off slowly with small means. With
# means above 0.1 the difference is 1 percent or less. Rewards are positive and finite
# in all of these cases, and a state of the memory looks right until the sign changes.
#
# Source: rlax/_src/exploration.py (`episodic_memory_intrinsic_rewards`), rlax/_src/
# episodic_memory.py (`knn_query`: `neighbor_neg_distances`), arxiv.org/abs/2002.06038
# (algorithm 1); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'rlax==0.1.9' 'jax==0.8.2' 'jaxlib==0.8.2' 'numpy==2.3.5' \
  'tfp-nightly==0.26.0.dev20261027'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
import rlax

NEIGHBORS, STATES, FEATURES = 10, 100, 8
random = np.random.default_rng(0)
states = random.normal(size=(STATES, FEATURES)).astype(np.float32)
new_state = random.normal(size=FEATURES).astype(np.float32)
queries = np.stack([states[5], new_state])


class Formula:
  """The same in float64, with distances as they are."""

  def __init__(self):
    # Like rlax, whose empty memory has as many zeros as there are neighbours.
    self.memory = np.zeros((NEIGHBORS, FEATURES))
    self.distances = []

  def rewards(self, embeddings):
    squares = np.square(embeddings[:, None] - self.memory[None]).sum(-1)
    nearest = np.sort(squares, axis=1)[:, :NEIGHBORS]
    self.distances += nearest.ravel().tolist()
    self.mean = np.mean(self.distances)
    ratios = np.maximum(nearest / (self.mean + 1e-3) - 8e-3, 0)
    similarity = np.sqrt((1e-4 / (ratios + 1e-4)).sum(-1)) + 1e-3
    self.memory = embeddings  # All of it is overwritten by the first call.
    return np.where(similarity > 8, 0, 1 / similarity)


def rewards(size):
  """Rewards of a state of the memory and of a new one; the mean distance."""
  memory = None
  for embeddings in states, queries:
    seen, memory = rlax.episodic_memory_intrinsic_rewards(
        size * embeddings, NEIGHBORS, 1.0, memory, max_memory_size=STATES
    )
  formula = Formula()
  for embeddings in states, queries:
    right = formula.rewards(size * embeddings.astype(float))
  mean = float(memory.distance_sum / memory.distance_count)
  assert np.isclose(-mean, formula.mean, rtol=1e-4)
  return np.array(seen), right, mean


as_described = True
for size, low, high in (
    # And which share of the new state's reward is paid.
    (1.0, 0.99, 1.01), (0.1, 1.0, 1.02), (0.02, 1.3, 1.5), (0.012, 3.6, 3.8),
    (0.011, 0.02, 0.03), (0.005, 0.0, 0.1),
):
  seen, right, mean = rewards(size)
  print(f'embeddings times {size}, mean distance {mean:.6f}: reward of a state of the'
        f' memory and of a new one {seen.round(3)}; formula {right.round(3)}')
  as_described &= low < seen[1] / right[1] < high
  as_described &= bool(right[1] > 5 * right[0])
  floor = 1 / (NEIGHBORS**0.5 + 1e-3)
  as_described &= np.allclose(seen, floor) == (size < 0.0115)
sys.exit(not as_described)
PROGRAM
