# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as the docs show them."""


def print_table(header, rows):
  """Prints a table as Markdown, and an empty line.

  Args:
    header: Of each column.
    rows: A sequence of cells each, whatever has a text.
  """
  print('| ' + ' | '.join(header) + ' |')
  print('|' + '---|' * len(header))
  for row in rows:
    print('| ' + ' | '.join(map(str, row)) + ' |')
  print(flush=True)
