# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of what benchmarks/curiosities.py has run.

    python -m benchmarks.curiosities_report GROUP... [--out=DIRECTORY]
"""

import numpy as np

from benchmarks import curiosities
from benchmarks import experiments
from benchmarks import tables
from rnd_agents import run_files

_LEVELS = (0.1, 0.5, 0.8)
_LAST = 10  # Iterations whose mean stands for the end.


def course(folder):
  """Returns of training episodes.

  Args:
    folder: Of a run.

  Returns:
    A tuple (environment steps [iterations], means over five iterations of the
    returns of the episodes that ended in them [iterations]).
  """
  steps, returns = run_files.read_metrics(folder, 'train', 'return_mean')
  returns = np.asarray(returns, np.float64)
  smooth = [
      np.mean(returns[max(end - 5, 0) : end])
      for end in range(1, len(returns) + 1)
  ]
  return np.asarray(steps), np.array(smooth)


def reached(steps, returns, level):
  """Thousands of environment steps until a level, as text; '-' for never."""
  indices = np.flatnonzero(returns >= level)
  return f'{steps[indices[0]] / 1000:.0f}' if len(indices) else '-'


def _rows(out, group):
  found = experiments.finished(out, group, curiosities.GROUPS[group])
  for label, folders in found.items():
    courses = list(map(course, folders))
    yield (
        label,
        len(courses),
        *(
            ', '.join(reached(*each, level) for each in courses)
            for level in _LEVELS
        ),
        ', '.join(f'{returns[-_LAST:].mean():.2f}' for _, returns in courses),
        # DeepSea's runs stop where an evaluation finds the treasure.
        ', '.join(f'{steps[-1] / 1000:.0f}' for steps, _ in courses),
    )


def main():
  """Prints a table for each group of the command line."""
  arguments = experiments.parse(__doc__, curiosities.GROUPS)
  for group in arguments.groups:
    print(f'{group}: thousands of environment steps until a mean return')
    tables.print_table(
        ('', 'seeds', *map(str, _LEVELS), 'at the end', 'end'),
        list(_rows(arguments.out, group)),
    )


if __name__ == '__main__':
  main()
