# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains RND-PPO as a gin file says.

python -m train.train_eval --gin_file=mountain_car.gin --seed=0
"""

from absl import app

from train import launch


def main(argv):
  """Flags, gin, run."""
  launch.main(argv)


if __name__ == '__main__':
  app.run(main)
