# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""train.train_eval_r2d3 is the older name of train.train_eval."""

from absl import app
from absl import flags

from train import train_eval

flags.adopt_module_key_flags(train_eval)  # Or --help would not list them.

if __name__ == '__main__':
  app.run(train_eval.main)
