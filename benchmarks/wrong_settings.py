# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gives each setting of a run wrong values, and starts the run.

    .venv/bin/python -m benchmarks.wrong_settings [--only=ppo,r2d3,archive]

The settings are those that a short run of each kind uses, from its operative
gin file. Each one gets values that its type allows and its meaning mostly does
not: negative, zero, huge and infinite numbers, lists without items and with a
negative one, a text that names nothing. A start must end in an error for the
user that names the setting (or one that it contradicts), or the run must
finish, or find that its numbers are not finite. Tracebacks, errors that name
nothing and runs that stand still are printed; there must be none. What was
accepted is printed, too: for people, since some of it is right.
"""

import argparse
import contextlib
import pathlib
import signal
import sys
import tempfile
import typing
from typing import Any

from benchmarks import faults  # Before TensorFlow: it chooses the Keras.

# isort: split
import gin

from rnd_agents import errors
from rnd_agents.training import configuration
from rnd_agents.training import gin_values

_WRONG: dict[Any, tuple[str, ...]] = {
    int: ('-1', '0', '1_000_000_000_000'),
    float: ('-1.0', '0.0', '1e30', '1e400', '-1e400'),
    str: ("''", "'no such'"),
    tuple: ('()', '(-1,)', '(0,)'),
}
# The message names the other one of two settings that contradict each other.
_OTHER_NAMES = {'create_rnd_ppo_agent.curiosity_fn': 'num_values'}
_NUM_ENV_STEPS = 128
_LIMIT_S = 300  # A run takes some seconds.


def _kinds(annotation: Any) -> set[Any]:
  """Returns the types that an annotation allows."""
  kind = typing.get_origin(annotation) or annotation
  if kind in gin_values._UNIONS:
    return set().union(*map(_kinds, typing.get_args(annotation)))
  return {tuple if kind in gin_values._SEQUENCES else kind}


def _bindings(root_dir: pathlib.Path) -> list[tuple[str, str]]:
  """Returns (setting, wrong value) of all settings that a run has used."""
  text = (root_dir / 'operative_config.gin').read_text()
  found = []
  for binding in configuration.parse_text(text).parameters():
    function = configuration.own_configurable(binding)
    if function is None:
      continue
    parameter = configuration.parameters_of(function)[binding.parameter]
    kinds = _kinds(gin_values.annotation_of(parameter))
    values = [value for kind in kinds for value in _WRONG.get(kind, ())]
    if binding.name in ('train_eval.num_env_steps', 'explore.num_env_steps'):
      values.remove('1_000_000_000_000')  # A long run.
    found += [(binding.name, value) for value in dict.fromkeys(values)]
  return found


class _StandsError(BaseException):
  """A run has not ended in time."""


def _stand(*_: Any) -> None:
  raise _StandsError


def _outcome(kind: str, root_dir: pathlib.Path, name: str, value: str) -> str:
  """Starts a run with a wrong value; returns how it ended."""
  signal.alarm(_LIMIT_S)
  try:
    faults.run(kind, root_dir, _NUM_ENV_STEPS, [f'{name} = {value}'])
  except errors.UserError as error:
    setting = name.rpartition('/')[2]
    selector, _, parameter = setting.rpartition('.')
    names = parameter, f'{selector}.', _OTHER_NAMES.get(setting, parameter)
    if any(each in str(error) for each in names):
      return 'refused'
    # Numbers that grow beyond all bounds are found when they are.
    return 'diverged' if 'Refused: ' in str(error) else f'unnamed: {error}'
  except _StandsError:
    return 'stands'
  except Exception as error:  # pylint: disable=broad-exception-caught
    return f'traceback: {type(error).__name__}: {str(error)[:300]}'
  finally:
    signal.alarm(0)
  return 'accepted'


def _check(kind: str, folder: pathlib.Path, tried: set[str]) -> int:
  """Prints the outcomes of a kind of run; returns the number of failures.

  Args:
    kind: Key of `faults.KINDS`.
    folder: Empty folder for the runs.
    tried: Settings that other kinds of run have had, which are left out; those
      of this kind are added.
  """
  faults.run(kind, folder / 'right', _NUM_ENV_STEPS)
  bindings = [x for x in _bindings(folder / 'right') if x[0] not in tried]
  tried.update(name for name, _ in bindings)
  counts: dict[str, int] = {}
  print(f'{kind}: {len(bindings)} wrong values', flush=True)
  for index, (name, value) in enumerate(bindings):
    ending = _outcome(kind, folder / str(index), name, value)
    if ending != 'refused':
      print(f'  {name} = {value}: {ending}', flush=True)
    ending = ending.partition(':')[0]
    counts[ending] = counts.get(ending, 0) + 1
  print(f'  {counts}', flush=True)
  return sum(counts.get(x, 0) for x in ('traceback', 'unnamed', 'stands'))


def main() -> int:
  """Runs the command line; returns its exit status."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
  parser.add_argument('--only', default=','.join(faults.KINDS))
  arguments = parser.parse_args()
  faults.prepare()
  signal.signal(signal.SIGALRM, _stand)
  failures = 0
  tried: set[str] = set()
  for kind in arguments.only.split(','):
    with contextlib.ExitStack() as stack:
      folder = stack.enter_context(tempfile.TemporaryDirectory())
      failures += _check(kind, pathlib.Path(folder), tried)
  gin.clear_config()
  print(f'neither refused by name nor run to the end: {failures}')
  return int(failures > 0)


if __name__ == '__main__':
  sys.exit(main())
