# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What it costs that a `PPOLearner` does not say whose sequence it hands over.

    python -m benchmarks.interleaved_collectors --gin_file=deep_sea.gin \
        --gin_bindings=train_eval.num_env_steps=200_000

Runs an experiment and records the raw bonus of each rollout. Then it computes
the running deviation of the intrinsic return twice in float64: with a sum for
each environment, as in `RNDPPOAgent.train`, and with one sum that runs through
the sequences of all environments in turn, as through a `PPOLearner` with as
many collectors. Prints the second over the first, less 1: the intrinsic reward
is that much smaller. Nothing is timed.
"""

import tempfile

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from rnd_agents.curiosity import curiosity
from rnd_agents.training import experiment
from rnd_agents.training import gin_files

_NUM_COLLECTORS = (1, 4, 16)
_DISCOUNT_FACTOR = 0.99


def deviations(sequences, num_sums):
  """Running deviation of the filtered return after each sequence.

  Args:
    sequences: Arrays [T] of bonuses in the order in which they are handed over.
    num_sums: Sequence i goes on from sum i % num_sums; 1 for one sum of all.

  Returns:
    float64 [len(sequences)].
  """
  sums = np.zeros([num_sums])
  # The mean and variance of nothing weigh 1e-4 samples.
  count, total, squares = 1e-4, 0.0, 1e-4
  running = []
  for i, bonuses in enumerate(sequences):
    returns = sums[i % num_sums]
    for bonus in bonuses:
      returns = _DISCOUNT_FACTOR * returns + bonus
      count, total, squares = (
          count + 1.0, total + returns, squares + returns**2
      )
    sums[i % num_sums] = returns
    running.append(np.sqrt(squares / count - (total / count) ** 2))
  return np.array(running)


def relative_errors(rollouts, num_collectors, length):
  """Relative error of the deviation with one sum, after each rollout.

  Args:
    rollouts: A list of pairs (bonus, valid), each [B, T].
    num_collectors: The first of the B environments, one a collector.
    length: Steps of the sequences that collectors hand over.

  Returns:
    float64 [number of rollouts].
  """
  sequences = [
      bonus[b, start : start + length][valid[b, start : start + length]]
      for bonus, valid in rollouts
      for start in range(0, bonus.shape[1], length)
      for b in range(num_collectors)
  ]
  by_place, shared = (
      deviations(sequences, num_sums) for num_sums in (num_collectors, 1)
  )
  return (shared / by_place - 1.0)[:: -len(sequences) // len(rollouts)][::-1]


def record(rollouts):
  """Makes every curiosity append (bonus, valid) of each rollout to a list."""
  update = curiosity.Curiosity.update_return_statistics

  def recording(self, bonus, valid=None):
    tf.numpy_function(lambda *x: rollouts.append(x), [bonus, valid], [])
    update(self, bonus, valid)

  curiosity.Curiosity.update_return_statistics = recording


def main(argv):
  """Runs the experiment and prints the table."""
  del argv
  args = flags.FLAGS
  gin_files.parse(
      [args.gin_file],
      [
          *args.gin_bindings,
          'train_eval.save_policies = False',
          'train_eval.record_video = False',
      ],
  )
  rollouts = []
  record(rollouts)
  with tempfile.TemporaryDirectory() as root_dir:
    experiment.train_eval(root_dir)
  print(
      f'{args.gin_file}, {len(rollouts)} rollouts; after the first one, largest'
      ' of all in size, after the last one'
  )
  for length in (128, 32):
    for num_collectors in _NUM_COLLECTORS:
      errors = relative_errors(rollouts, num_collectors, length)
      largest = errors[np.argmax(np.abs(errors))]
      print(f'sequences of {length:3} steps, {num_collectors:2} collectors:'
            f' {errors[0]:+7.1%} {largest:+7.1%} {errors[-1]:+7.1%}')


if __name__ == '__main__':
  flags.DEFINE_string('gin_file', 'deep_sea.gin', 'Experiment.')
  flags.DEFINE_multi_string('gin_bindings', [], 'More of gin.')
  app.run(main)
