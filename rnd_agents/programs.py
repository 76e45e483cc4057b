# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts the programs of the command line, installed or by `python -m`."""

import atexit
from collections.abc import Callable, Sequence
import contextlib
import functools
import gc
import io
import os
import sys
from typing import Any

from absl import app
from absl import flags
from absl import logging

from rnd_agents import errors


def run_program(
    main: Callable[..., Any],
    define_flags: Callable[[flags.FlagValues], Any] | None = None,
) -> None:
  """Runs a program with the flags of the command line, and ends the process.

  Modules of the working directory can be imported, as with `python -m`, but
  come last: somebody's train.py does not take the place of ours.

  Args:
    main: Function of the command line without its flags; it returns the exit
      status.
    define_flags: Defines the program's flags; None if it has none.
  """
  if '' not in sys.path:
    sys.path.append('')
  if define_flags is not None:
    define_flags(flags.FLAGS)
  module = sys.modules[main.__module__]
  if sys.argv[0] == '-c' and module.__file__:
    sys.argv[0] = module.__file__  # For run.json and usage messages.
  # absl looks for the help in the main module and for its flags under this
  # name.
  sys.modules['__main__'].__doc__ = module.__doc__
  own_flags = flags.FLAGS.flags_by_module_dict().get(main.__module__, ())
  for flag in own_flags:
    flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)
  # Modules and graphs are many small objects that stay: with Python's own
  # thresholds, garbage collection takes a tenth of the time of a short run.
  gc.set_threshold(10_000, 20, 20)
  atexit.register(_leave_garbage)  # Registered first, called last.
  app.run(main)


def begin(argv: Sequence[str]) -> None:
  """Refuses words that are not flags, and hides TensorFlow's own log.

  TensorFlow's errors reach Python as exceptions. Call it before TensorFlow is
  imported; processes that are started later inherit it.

  Args:
    argv: The command line without the flags.
  """
  if len(argv) > 1:
    raise app.UsageError(f'Not a flag: {" ".join(argv[1:])}')
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')


def explaining(
    name: str, *also: type[Exception], status: int = 1
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
  """Decorates `main`: a user's error is printed as one sentence.

  With --verbosity=1 its traceback is printed, too.

  Args:
    name: Name of the program, before the message.
    *also: Types of errors that are treated as `errors.UserError`.
    status: Exit status after an error.
  """
  caught: tuple[type[Exception], ...] = (errors.UserError, *also)

  def decorate(main: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(main)
    def explained(*args: Any, **kwargs: Any) -> Any:
      try:
        return main(*args, **kwargs)
      except caught as error:
        logging.debug('Where it happened:', exc_info=True)
        print(f'{name}: {errors.message_of(error)}', file=sys.stderr)
        return status

    return explained

  return decorate


def _leave_garbage() -> None:
  """Spares the last collection of garbage, of graphs above all: it takes 1 s.

  Files in it, such as those that an environment never closed, are written.
  """
  files = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
  for each in gc.get_objects():
    if issubclass(type(each), files):
      with contextlib.suppress(OSError, ValueError):
        each.flush()
  gc.freeze()


def command(module: str) -> Sequence[str]:
  """Returns a command that starts a program, for other processes.

  Args:
    module: Module with a function `run`, such as 'train.train_eval'.
  """
  package, _, name = module.rpartition('.')
  # As for `run_program`: -c and -m have the working directory first.
  return (
      sys.executable,
      '-c',
      'import sys; sys.path[0] or sys.path.append(sys.path.pop(0));'
      f' from {package} import {name}; {name}.run()',
  )
