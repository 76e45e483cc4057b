#!/usr/bin/env bash
# rllte-core 1.0.1: as soon as `PrioritizedReplayStorage` is full, each new row
# moves every priority to another row.
#
# The rows lie in a `deque` of limited length, where row i is row i - 1 after
# the next one has come, and the priorities in an array that is written in a
# ring and stays. So
#
# * of 500 rows number 200 has a priority a million times that of the others,
#   and is drawn until the storage is full. After one more row 201 is drawn in
#   its place, then 202, then 203. The new rows, which should have the largest
#   priority, are not drawn: theirs goes to the oldest rows;
# * with errors that are 1 for a tenth of the rows and 0.01 for the others, and
#   `update` with them after each batch, the tenth has 63 % of the draws while
#   the storage fills, as in closed form, and 9 % after that, which is its share
#   of the rows: as without priorities.
#
# One would guess: a priority stays with its row until `update` changes it or
# the row is dropped, as in a slow copy with pairs of rows and priorities, which
# goes on with 60 %. A test with fewer steps than `storage_size` shows nothing,
# nor does a loss: the weights that `sample` returns fit the draws. (The agents
# of the library do not give priorities back; the storage is for those that do,
# as its docstring asks.)
#
# Source: rllte/xploit/storage/prioritized_replay_storage.py (`add` writes
# `priorities[step]` and appends to `transitions`, `sample` takes
# `transitions[i]` for `priorities[i]`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'gymnasium==1.2.3' 'numpy==2.3.5' 'termcolor==3.3.0' \
  'pynvml==11.5.0'
# The rest of what it asks for draws pictures and loads models.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'rllte-core==1.0.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import collections
import sys

import gymnasium
import numpy as np
from rllte.xploit.storage import PrioritizedReplayStorage
import torch

ROWS, BATCH, ALPHA = 500, 50, 0.6
SMALL, LARGE = 0.01, 1.0


class Storage:
  """The library's. A row is its number, which is its reward."""

  def __init__(self, batch_size):
    self.storage = PrioritizedReplayStorage(
        gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32),
        gymnasium.spaces.Discrete(2), storage_size=ROWS, batch_size=batch_size,
        alpha=ALPHA,
    )

  def add(self, row):
    zero = torch.zeros(1)
    self.storage.add(
        torch.zeros(1, 1), torch.zeros(1, 1), torch.full((1,), float(row)),
        zero, zero, {}, torch.zeros(1, 1),
    )

  def sample(self):
    """Returns places and rows."""
    batch = self.storage.sample()
    return batch.indices, batch.rewards.flatten().numpy().astype(int)

  def update(self, places, priorities):
    self.storage.update({'indices': places, 'priorities': priorities})


class Pairs:
  """The same by hand: each row has its priority beside it."""

  def __init__(self, batch_size):
    self.pairs = collections.deque(maxlen=ROWS)
    self.batch_size = batch_size

  def add(self, row):
    self.pairs.append([row, max((p for _, p in self.pairs), default=1.0)])

  def sample(self):
    chances = np.array([p for _, p in self.pairs]) ** ALPHA
    places = np.random.choice(
        len(chances), self.batch_size, p=chances / chances.sum()
    )
    return places, np.array([self.pairs[i][0] for i in places])

  def update(self, places, priorities):
    for place, priority in zip(places, priorities):
      self.pairs[place][1] = priority


def follow_one(kind):
  """Returns the rows with over a tenth of the draws, as new ones come."""
  storage = kind(1000)
  for row in range(ROWS):
    storage.add(row)
  storage.update(range(ROWS), np.where(np.arange(ROWS) == 200, 1.0, 1e-6))
  drawn = []
  for row in range(ROWS, ROWS + 4):
    rows, counts = np.unique(storage.sample()[1], return_counts=True)
    drawn.append(rows[counts > 100].tolist())
    storage.add(row)
  return drawn


def shares(kind):
  """Shares of the rows with large errors in the draws, for each ROWS steps."""
  np.random.seed(0)
  errors = np.where(np.random.rand(5 * ROWS) < 0.1, LARGE, SMALL)
  storage = kind(BATCH)
  drawn = []
  for row in range(len(errors)):
    storage.add(row)
    places, rows = storage.sample()
    storage.update(places, errors[rows])
    drawn.append(np.mean(errors[rows] == LARGE))
  return np.array(drawn).reshape(-1, ROWS)[:, ROWS // 2:].mean(axis=1)


weight = LARGE ** ALPHA * 0.1
expected = weight / (weight + SMALL ** ALPHA * 0.9)
seen = {}
for kind in Pairs, Storage:
  np.random.seed(0)
  seen[kind] = follow_one(kind), shares(kind)
  print(f'{kind.__name__}: row 200 has the priority, then three new rows come:'
        f' drawn {seen[kind][0]}; large errors have'
        f' {np.round(seen[kind][1], 2)} of the draws')
print(f'in closed form {expected:.2f}')
new = range(ROWS, ROWS + 3)
as_described = seen[Pairs][0] == [[200, *new[:i]] for i in range(4)]
as_described &= seen[Storage][0] == [
    [*range(i, 2 * i), 200 + i] for i in range(4)
]
as_described &= (abs(seen[Pairs][1] - expected) < 0.1).all()
as_described &= abs(seen[Storage][1][0] - expected) < 0.1
as_described &= (seen[Storage][1][1:] < 0.15).all()
sys.exit(not as_described)
PROGRAM
