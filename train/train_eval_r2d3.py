# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains R2D3, or R2D2, as a gin file says.

python -m train.train_eval_r2d3 --gin_file=cue_lock_r2d3.gin --seed=0
"""

from absl import app
from absl import flags

from train import launch

flags.adopt_module_key_flags(launch)  # Or --help would not list them.


def main(argv):
  """Runs the command line."""
  launch.main(argv, 'r2d3_trainer', 'train_eval_r2d3')


if __name__ == '__main__':
  app.run(main)
