#!/usr/bin/env bash
# flashbax 0.1.3: a new row of a prioritized buffer does not get the largest priority
# that was ever set, but its integer part.
#
# After errors of 1.9 a new row has the priority 1 and is drawn about half as often as
# every old one; after 2.9 it has 2, after 7.9 it has 7. The largest priority itself is
# kept right, with its fraction, and so are priorities that one sets. Up to 1, from
# which the largest one starts, nothing is lost. The priorities of new rows are made in
# the shape AND the type of their indices, which are integers, and come into the tree as
# numbers with a point.
#
# One would guess what the code says, that new rows are assigned the maximum, for which
# a prioritized replay is known: what was just collected is drawn before what is old.
# With errors (raised to `priority_exponent`) between 1 and 2 rows that are known well,
# with errors of more than 1, are drawn before the newest ones, and the rare reward that
# was just found waits. All three makers of prioritized buffers (of rows, of items and
# of sequences) share the function.
#
# Control: the same buffer after `set_priorities` gave the new row the value by hand.
#
# Source: flashbax/buffers/prioritised_trajectory_buffer.py
# (`_calculate_new_item_priorities`: `full_like` of the indices); seen by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'flashbax==0.1.3' 'jax==0.10.2' 'jaxlib==0.10.2' 'flax==0.12.8' 'chex==0.1.92' \
  'numpy==2.4.6'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import flashbax
import jax
import jax.numpy as jnp
import numpy as np

# Pairs of steps that follow each other are the rows of a flat buffer.
OLD, BATCH, NUM_BATCHES = 9, 64, 200
buffer = flashbax.make_prioritised_flat_buffer(
    max_length=64, min_length=2, sample_batch_size=BATCH, priority_exponent=1.0
)
add = jax.jit(buffer.add)
sample = jax.jit(buffer.sample)
set_priorities = jax.jit(buffer.set_priorities)


def step(t):
  return {'observation': jnp.asarray(t, jnp.float32)}


def drawn(state):
  """Returns the chance of the new row and the share of it that is drawn."""
  found, chances = [], []
  for key in jax.random.split(jax.random.key(0), NUM_BATCHES):
    rows = sample(state, key)
    # The observation of a row says which it is.
    is_new = np.asarray(rows.experience.first['observation']) == OLD
    found.append(is_new.mean())
    chances.extend(np.asarray(rows.probabilities)[is_new])
  return chances[0], np.mean(found)


first = buffer.init(step(0))
for t in range(OLD + 1):
  first = add(first, step(t))

as_described = True
for error in (0.5, 1.0, 1.5, 1.9, 2.9, 7.9):
  errors = jnp.full(OLD, error)
  state = set_priorities(first, jnp.arange(OLD), errors)
  state = add(state, step(OLD + 1))
  largest = float(state.sum_tree_state.max_recorded_priority)
  chance, share = drawn(state)
  # p / (p + 9 errors) is the chance.
  priority = chance * OLD * error / (1 - chance)
  by_hand = set_priorities(state, jnp.array([OLD]), jnp.array([largest]))
  right, right_share = drawn(by_hand)
  print(
      f'errors {error}: largest priority {largest:.1f}, of the new row'
      f' {priority:.2f}; drawn {share:.3f} of the time, with the largest one set by'
      f' hand {right_share:.3f}, as one of {OLD + 1} rows'
  )
  expected = max(1.0, error)
  as_described &= abs(largest - expected) < 1e-5
  as_described &= abs(priority - math.floor(expected)) < 1e-3
  as_described &= abs(right - expected / (expected + OLD * error)) < 1e-4
  as_described &= abs(share - chance) < 0.01 and abs(right_share - right) < 0.01
sys.exit(not as_described)
PROGRAM
