# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as the docs show them."""


def print_table(header, rows):
  """Prints a table as Markdown, and an empty line.

  Args:
    header: Heading of each column.
    rows: The cells of each row; they are printed as text.
  """
  print('| ' + ' | '.join(header) + ' |')
  print('|' + '---|' * len(header))
  for row in rows:
    print('| ' + ' | '.join(map(str, row)) + ' |')
  print(flush=True)
