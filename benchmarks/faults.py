# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Damages each file of a run, and continues the run.

    .venv/bin/python -m benchmarks.faults [--only=ppo,r2d3,archive]

A run of each kind is stopped, copied, damaged in one file (missing, empty, its
first half, a bit flipped in its middle, the content of another file) and
continued. It must compute the numbers of a run that was never stopped, or name
the file or its folder in a warning or an error for the user. Each other case is
printed, tracebacks among them; there must be none.

Two controls come first: without damage the numbers are equal, and without the
comparison of checksums a state of another checkpoint is found by this program.
"""

import argparse
from collections.abc import Callable, Sequence
import contextlib
import logging
import os
import pathlib
import shutil
import sys
import tempfile
from unittest import mock
import warnings

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.archive import exploration
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import pictures

_TRAINING = (
    "load_environment.env_kwargs = {'size': 4}",
    'train_eval.num_environments = 4',
    'train_eval.checkpoint_interval_iterations = 1',
    'train_eval.num_checkpoints = 2',
    'train_eval.num_eval_episodes = 1',
    'train_eval.eval_interval_env_steps = 64',
    'train_eval.warm_up_env_steps = 16',
    'train_eval.record_video = False',
    'train_eval.save_policies = False',
)
# Gin file, bindings, and the configurable that has the length.
KINDS = {
    'ppo': (
        'deep_sea.gin',
        (
            *_TRAINING,
            'OnPolicyTraining.rollout_length = 16',
            'RNDPPOAgent.num_epochs = 1',
            'RNDPPOAgent.num_minibatches = 1',
        ),
        'train_eval',
    ),
    'r2d3': (
        'deep_sea_r2d2_rnd.gin',
        (
            *_TRAINING,
            'ReplayTraining.rollout_length = 16',
            'ReplayTraining.env_steps_per_update = 64',
            'ReplayTraining.unroll_length = 4',
            'ReplayTraining.burn_in_length = 0',
            'PrioritizedReplay.max_sequences = 24',
            'PrioritizedReplay.min_sequences = 4',
        ),
        'train_eval',
    ),
    'archive': (
        'explore_deep_sea.gin',
        (
            'DEEP_SEA_SIZE = 6',
            'explore.num_environments = 2',
            'explore.log_interval_env_steps = 1',
        ),
        'explore',
    ),
}
NUM_ENV_STEPS = (192, 256)  # When it is stopped, and of the whole run.


def run(
    kind: str,
    root_dir: pathlib.Path,
    num_env_steps: int,
    more: Sequence[str] = (),
) -> None:
  """Begins a short run, or continues it.

  Args:
    kind: One of `KINDS`.
    root_dir: Folder of the run.
    num_env_steps: Length of the run.
    more: Bindings of gin.
  """
  gin_file, bindings, settings = KINDS[kind]
  gin.clear_config()
  length = f'{settings}.num_env_steps = {num_env_steps}'
  gin_files.parse([gin_file], [*bindings, length, *more])
  begin = exploration.explore if kind == 'archive' else experiment.train_eval
  begin(os.fspath(root_dir))


def _numbers(root_dir: pathlib.Path) -> dict[str, bytes]:
  """Returns what a run has computed: its metrics and its variables."""
  numbers = {'metrics': (root_dir / 'metrics.csv').read_bytes()}
  newest = max(root_dir.glob('checkpoints/iteration_*'))
  reader = tf.train.load_checkpoint(os.fspath(newest / 'variables'))
  for name in reader.get_variable_to_shape_map():
    if 'wall_time' not in name and name.endswith('VARIABLE_VALUE'):
      numbers[name] = reader.get_tensor(name).tobytes()
  return numbers


def _flipped(content: bytes, other: bytes) -> bytes:
  middle = len(content) // 2
  flipped = bytes(byte ^ 1 for byte in content[middle : middle + 1])
  return content[:middle] + flipped + content[middle + 1 :]


# Functions from the content, and that of another file, to the new content.
_FAULTS: dict[str, Callable[[bytes, bytes], bytes | None]] = {
    'missing': lambda content, other: None,
    'empty': lambda content, other: b'',
    'half': lambda content, other: content[: len(content) // 2],
    'flipped': _flipped,
    'of another': lambda content, other: other,
}


def _files(root_dir: pathlib.Path) -> list[pathlib.Path]:
  """Returns the files of a run, relative to its folder."""
  found = (path for path in root_dir.rglob('*') if path.is_file())
  return sorted(path.relative_to(root_dir) for path in found)


def _like(root_dir: pathlib.Path, file: pathlib.Path) -> pathlib.Path:
  """Returns the file whose content another one gets: one of the same kind."""

  def difference(other: pathlib.Path) -> tuple[bool, ...]:
    return (
        (root_dir / other).read_bytes() == (root_dir / file).read_bytes(),
        other.name != file.name,
        other.suffix != file.suffix,
        other.parent != file.parent,
    )

  return min((x for x in _files(root_dir) if x != file), key=difference)


class _Messages(logging.Handler):
  """Collects the warnings and errors of the log."""

  def __init__(self) -> None:
    super().__init__(logging.WARNING)
    self.texts: list[str] = []

  def emit(self, record: logging.LogRecord) -> None:
    self.texts.append(record.getMessage())


class Faults:
  """A stopped run of one kind, and the same run without a stop."""

  def __init__(self, kind: str, folder: pathlib.Path):
    """Makes both runs."""
    self._kind = kind
    self._copy = folder / 'copy'
    self._stopped = folder / 'stopped'
    run(kind, self._stopped, NUM_ENV_STEPS[0])
    run(kind, folder / 'whole', NUM_ENV_STEPS[1])
    self._numbers = _numbers(folder / 'whole')

  @property
  def files(self) -> list[pathlib.Path]:
    """The files that can be damaged."""
    return _files(self._stopped)

  def outcome(
      self, file: pathlib.Path | None = None, fault: str = ''
  ) -> str:
    """Continues a copy of the stopped run; returns how that ended.

    Args:
      file: File to damage; None for no damage.
      fault: One of `_FAULTS`.
    """
    shutil.rmtree(self._copy, ignore_errors=True)
    shutil.copytree(self._stopped, self._copy)
    if file is not None:
      content = _FAULTS[fault](
          (self._stopped / file).read_bytes(),
          (self._stopped / _like(self._stopped, file)).read_bytes(),
      )
      (self._copy / file).unlink()
      if content is not None:
        (self._copy / file).write_bytes(content)
    messages = _Messages()
    logging.getLogger('absl').addHandler(messages)
    ending = 'other numbers'
    try:
      with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # The log is what a user reads.
        run(self._kind, self._copy, NUM_ENV_STEPS[1])
      if _numbers(self._copy) == self._numbers:
        ending = 'same numbers'
    except errors.UserError as error:
      messages.texts.append(str(error))
      ending = 'refused'
    except Exception as error:  # pylint: disable=broad-exception-caught
      return f'traceback: {type(error).__name__}: {error}'
    finally:
      logging.getLogger('absl').removeHandler(messages)
    text = '\n'.join(messages.texts)
    if file is None or not (file.name in text or f'/{file.parent}' in text):
      return ending
    return f'{ending}, named'


def _check(kind: str, folder: pathlib.Path) -> int:
  """Prints the outcomes of a kind of run; returns the number of failures."""
  faults = Faults(kind, folder)
  failures = 0
  found = faults.outcome()
  print(f'{kind}: {len(faults.files)} files; without damage: {found}')
  failures += found != 'same numbers'
  newest = [file for file in faults.files if file.name == 'state.bin'][-1]
  if kind != 'archive':  # Which keeps one checkpoint.
    with mock.patch.object(checkpoints, '_check'):
      found = faults.outcome(newest, 'of another')
    print(f'  control without checksums: {newest}: {found}')
    failures += found != 'other numbers' and not found.startswith('traceback')
  counts: dict[str, int] = {}
  for file in faults.files:
    for fault in _FAULTS:
      found = faults.outcome(file, fault)
      if found in ('other numbers', 'refused') or found.startswith('traceback'):
        print(f'  {file} {fault}: {found}', flush=True)
        failures += 1
      found = found.partition(':')[0]
      counts[found] = counts.get(found, 0) + 1
  print(f'  {counts}', flush=True)
  return failures


def prepare() -> None:
  """Makes this process fit for many short runs."""
  # Tracing and other threads take longer than such runs.
  tf.config.run_functions_eagerly(True)
  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  pictures.Pictures.after_evaluation = pictures.draw_curve = mock.Mock()
  logging.getLogger('absl').propagate = False


def main() -> int:
  """Runs the command line; returns its exit status."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
  parser.add_argument('--only', default=','.join(KINDS))
  arguments = parser.parse_args()
  prepare()
  failures = 0
  for kind in arguments.only.split(','):
    with contextlib.ExitStack() as stack:
      folder = stack.enter_context(tempfile.TemporaryDirectory())
      failures += _check(kind, pathlib.Path(folder))
  print(f'neither named nor without effect: {failures}')
  return int(failures > 0)


if __name__ == '__main__':
  sys.exit(main())
