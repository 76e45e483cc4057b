# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains R2D3, or R2D2, as a gin file says.

python -m train.train_eval_r2d3 --gin_file=cue_lock_r2d3.gin --seed=0
"""

from absl import app

from train import launch


def main(argv):
  """Flags, gin, run."""
  launch.main(argv)


if __name__ == '__main__':
  app.run(main)
