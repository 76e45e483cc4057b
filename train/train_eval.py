# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains RND-PPO as a gin file says.

python -m train.train_eval --gin_file=mountain_car.gin --seed=0
"""

from absl import app
from absl import flags

from train import launch

flags.adopt_module_key_flags(launch)  # Or --help would not list them.


def main(argv):
  """Runs the command line."""
  launch.main(argv, 'trainer', 'train_eval')


if __name__ == '__main__':
  app.run(main)
