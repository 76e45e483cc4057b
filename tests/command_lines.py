# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls a program of the command line in the process of the test."""

from absl import flags


def call(program, *argv):
  """Calls `program.main` with flags of its own; returns its exit status.

  Args:
    program: A module with `define_flags` and `main`.
    *argv: The command line after the name of the program.

  Raises:
    flags.Error: Where absl would end the program because of its flags.
  """
  values = flags.FlagValues()
  program.define_flags(values)
  return program.main(values([program.__name__, *map(str, argv)]), values)
