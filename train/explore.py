# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Explores an environment that can be put back, and writes demonstrations.

python -m train.explore --gin_file=explore_deep_sea.gin --seed=0
"""

import os
import sys

from absl import app
from absl import flags
from absl import logging

_ROOT_DIR = flags.DEFINE_string(
    'root_dir',
    None,
    'Folder of the exploration, which the same command resumes. Default:'
    ' runs/NAME_OF_GIN_FILE/seed_SEED.',
)
_GIN_FILE = flags.DEFINE_multi_string(
    'gin_file',
    None,
    'A gin file: a path, or the bare name of one that comes with the package.'
    ' Later ones win.',
)
_GIN_BINDINGS = flags.DEFINE_multi_string(
    'gin_bindings', [], 'A gin binding, such as explore.num_env_steps=100000.'
)
_SEED = flags.DEFINE_integer(
    'seed', 0, 'Seed of the worlds, of the choice of cells and of the actions.'
)


def main(argv):
  """Parses gin files and explores as they say.

  Args:
    argv: What is left of the command line after the flags.
  """
  if len(argv) > 1:
    raise app.UsageError(f'Not a flag: {" ".join(argv[1:])}')
  if not _GIN_FILE.value:
    raise app.UsageError('--gin_file is missing: which exploration?')
  # TensorFlow's errors reach Python as exceptions.
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  # Here and not above: flags answer at once, TensorFlow takes seconds.
  from rnd_agents import errors  # pylint: disable=g-import-not-at-top
  from rnd_agents.training import exploration  # pylint: disable=g-import-not-at-top
  from rnd_agents.training import gin_files  # pylint: disable=g-import-not-at-top

  name = os.path.splitext(os.path.basename(_GIN_FILE.value[-1]))[0]
  root_dir = os.path.expanduser(  # In --root_dir=~/x no shell does.
      _ROOT_DIR.value or os.path.join('runs', name, f'seed_{_SEED.value}')
  )
  try:
    gin_files.parse(_GIN_FILE.value, _GIN_BINDINGS.value)
    logging.set_verbosity(logging.INFO)  # After gin's remarks on its search.
    result = exploration.explore(root_dir, seed=_SEED.value)
  except errors.UserError as error:
    logging.debug('Where it happened:', exc_info=True)
    sys.exit(f'explore: {errors.message_of(error)}')
  best = 'none'
  if result.best_score is not None:
    best = f'{result.best_score:.6g} in {result.best_length} steps'
  print(
      f'{result.env_steps:,} environment steps, {result.num_cells:,} cells,'
      f' best trajectory: {best}\n'
      f'Picture: {result.picture}'
  )
  if result.demonstrations is not None:
    print(f'Demonstrations: {result.demonstrations}')
  if not result.finished:
    sys.exit('Stopped before the end: the same command goes on.')


if __name__ == '__main__':
  app.run(main)
