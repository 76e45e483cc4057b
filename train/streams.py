# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line and the standard streams of the programs.

Streams that are closed or full must not end a run.
"""

from collections.abc import Sequence
import os
import re
import shutil
import sys

from absl import logging


def open_closed() -> None:
  """Opens the null device in place of each standard stream that is closed.

  It gets the stream's number, which the next file of the program would get, and
  then all that TensorFlow writes to its standard error.
  """
  for name in ('stdin', 'stdout', 'stderr'):
    if getattr(sys, name) is None:
      mode = 'r' if name == 'stdin' else 'w'
      setattr(sys, name, open(os.devnull, mode, encoding='utf-8'))


def print_outcome(text: str) -> None:
  """Prints how a run ended; logs it where standard output takes no more."""
  try:
    print(text, flush=True)
  except OSError as error:
    logging.warning('%s on standard output: %s', error.strerror, text)
    # Else Python writes the rest of its buffer as it ends, and fails again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_status(finished: bool, fresh: bool) -> int:
  """Returns the exit status of a run; says how one that stopped continues.

  Args:
    finished: Whether the run reached its end.
    fresh: Whether the command line has --fresh.
  """
  if finished:
    return 0
  without = ' without --fresh' if fresh else ''
  print(
      f'Stopped before the end: the same command{without} continues.',
      file=sys.stderr,
  )
  return 1


def path_of(command: str) -> str:
  """Returns how a shell finds a command of this Python's environment."""
  path = os.path.join(os.path.dirname(sys.executable), command)
  return command if shutil.which(command) or not os.path.exists(path) else path


def without_flag(argv: Sequence[str], name: str) -> list[str]:
  """Returns a command line without a boolean flag."""
  flag = re.compile(f'--?{name}(=.*)?')
  return [word for word in argv if not flag.fullmatch(word)]
