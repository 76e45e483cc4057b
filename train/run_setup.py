# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sets up what a command line names: gin files, and the folder of a run."""

import os
import sys
from typing import Any

from absl import logging

from rnd_agents.training import gin_files
from rnd_agents.training import run_directory
from train import streams


def set_up(args: Any) -> str:
  """Reads the gin files of a run; returns its folder.

  With --fresh, what the folder holds is moved to its folder `earlier`.

  Args:
    args: Flags: `gin_file`, `gin_bindings`, `root_dir` (None for
      runs/NAME_OF_GIN_FILE/seed_SEED), `seed`, `fresh`.

  Raises:
    GinError: If a gin file or a binding does not fit.
  """
  name = os.path.splitext(os.path.basename(args.gin_file[-1]))[0]
  root_dir = os.path.expanduser(  # In --root_dir=~/x no shell does.
      args.root_dir or os.path.join('runs', name, f'seed_{args.seed}')
  )
  gin_files.parse(args.gin_file, args.gin_bindings)
  # After gin's remarks on its search; --verbosity=1 stays.
  logging.set_verbosity(max(logging.get_verbosity(), logging.INFO))
  if args.fresh:
    run_directory.set_aside(root_dir)
    sys.argv = streams.without_flag(sys.argv, 'fresh')  # For run.json.
  return root_dir
