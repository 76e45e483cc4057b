# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts benchmarks; errors that the user can repair are one sentence."""

import functools
import sys

from absl import app

from rnd_agents import errors


def run(main):
  """Runs a benchmark with the flags of the command line."""
  app.run(explaining(main))


def explaining(main):
  """Returns `main` that ends with the message of an error, without traceback.

  Args:
    main: Function of the command line.
  """

  @functools.wraps(main)
  def explained(argv):
    try:
      return main(argv)
    except (errors.UserError, OSError) as error:
      sys.exit(errors.message_of(error))

  return explained
