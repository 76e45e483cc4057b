#!/usr/bin/env bash
# Library: Minari 0.5.4 (HDF5 storage) with Gymnasium 1.4.0, Python 3.11.
#
# Behaviour: `DataCollector` with its defaults stores byte images of 31 x 31
# exactly and byte images of 32 x 32 and more as JPEG, so that what is read back
# differs from what was collected. Images of one or four channels from that size
# on are refused with an error of Pillow's, not at construction but when the
# first episode ends, after its steps were played. `jpeg_encoding=False` stores
# all of them exactly.
#
# One would guess: a data set for offline learning holds the observations that
# the agent saw, of any size; and what cannot be stored is refused before an
# episode is played. It matters for agents that compare observations (counts,
# first visits, one-hot planes in an image) rather than look at them.
#
# Source: the argument `jpeg_encoding` of `minari.DataCollector` says that the
# encoding is lossy and on by default; the size at which it begins and the
# refusal of one and four channels were seen by this script.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'minari[hdf5,create]==0.5.4' 'gymnasium==1.4.0' 'pillow==13.0.0'

cat >"$folder/collect.py" <<'PROGRAM'
import sys
import warnings

import gymnasium
import minari
import numpy as np

warnings.simplefilter('ignore')


class Pictures(gymnasium.Env):
  """Random byte images, three steps an episode."""

  action_space = gymnasium.spaces.Discrete(2)

  def __init__(self, shape):
    self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
    self.shown = []

  def _observation(self):
    shape = self.observation_space.shape
    self.shown.append(self.np_random.integers(0, 256, shape, np.uint8))
    return self.shown[-1]

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.num_steps = 0
    return self._observation(), {}

  def step(self, action):
    self.num_steps += 1
    return self._observation(), 0.0, self.num_steps == 3, False, {}


def outcome(name, shape, **arguments):
  """Collects an episode; says how it is read back."""
  env = Pictures(shape)
  collector = minari.DataCollector(env, **arguments)
  num_steps = 0
  try:
    collector.reset(seed=0)
    for _ in range(3):
      num_steps += 1
      collector.step(0)
    dataset = collector.create_dataset(f'{name}-v0')
  except (TypeError, OSError) as error:
    return f'refused at step {num_steps} ({type(error).__name__})'
  stored = next(dataset.iterate_episodes()).observations
  return 'exact' if np.array_equal(stored, env.shown) else 'changed'


cases = {
    'a': ((31, 31, 3), {}, 'exact'),
    'b': ((32, 32, 3), {}, 'changed'),
    'c': ((31, 31, 1), {}, 'exact'),
    'd': ((32, 32, 1), {}, 'refused at step 3 (TypeError)'),
    'e': ((32, 32, 4), {}, 'refused at step 3 (OSError)'),
    'f': ((32, 32, 3), {'jpeg_encoding': False}, 'exact'),
    'g': ((32, 32, 1), {'jpeg_encoding': False}, 'exact'),
    'h': ((32, 32, 4), {'jpeg_encoding': False}, 'exact'),
}
is_as_described = True
for name, (shape, arguments, expected) in cases.items():
  seen = outcome(name, shape, **arguments)
  print(shape, arguments, seen)
  is_as_described &= seen == expected
sys.exit(not is_as_described)
PROGRAM
MINARI_DATASETS_PATH="$folder/datasets" "$folder/venv/bin/python" \
  "$folder/collect.py"
