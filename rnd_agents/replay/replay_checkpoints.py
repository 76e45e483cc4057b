# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Folders of a replay's checkpoints: Reverb's files and a state.json.

    replay_00000012/       the newest one
        *.tfrecord, DONE   what Reverb stores
        state.json         settings, sizes of the tables, state in Python
    .being_written/        what a kill left, if it is there

Reverb restores the settings of a checkpoint whatever it was asked for, and
nothing, without a word, of some damaged files: state.json tells.
"""

import json
import os
import re
import shutil

_NAME = re.compile(r'replay_(\d+)$')
_STATE = 'state.json'
DAMAGED = 'The replay in {} is damaged: restore another, or begin anew.'


def aside(folder):
  """Returns the path where Reverb can write, removing what a kill left."""
  path = os.path.join(folder, '.being_written')
  if os.path.isdir(path):
    shutil.rmtree(path)
  return path


def newest(folder):
  """Returns the path of the newest checkpoint, or None."""
  found = _by_number(folder)
  return found[max(found)] if found else None


def publish(written, folder, state):
  """Gives its name to a checkpoint, and deletes those before it.

  Args:
    written: The path that Reverb wrote to, below `aside(folder)`.
    folder: Where the checkpoint shall lie.
    state: For `read`, of what JSON can write.

  Returns:
    Its path.
  """
  with open(os.path.join(written, _STATE), 'w', encoding='utf-8') as file:
    json.dump(state, file)
  before = _by_number(folder)
  number = max(before, default=-1) + 1
  path = os.path.join(folder, f'replay_{number:08d}')
  os.rename(written, path)
  for old in before.values():
    shutil.rmtree(old)
  return path


def read(path, settings):
  """Reads the state of a checkpoint.

  Args:
    path: Of the checkpoint.
    settings: What its state's 'settings' must be, a dict.

  Returns:
    What `publish` was given.

  Raises:
    OSError: If there is none.
    RuntimeError: If it is damaged.
    ValueError: If it has other settings.
  """
  with open(os.path.join(path, _STATE), encoding='utf-8') as file:
    try:
      state = json.load(file)
    except ValueError as error:
      raise RuntimeError(DAMAGED.format(path)) from error
  for name, value in settings.items():
    found = state['settings'][name]
    if found != value:
      raise ValueError(
          f'The replay in {path} has {name}={found}, not {value}, and Reverb'
          ' restores it as it was: set that, or begin a new replay.'
      )
  return state


def _by_number(folder):
  """Paths of the checkpoints by their numbers."""
  if not os.path.isdir(folder):
    return {}
  names = map(_NAME.match, os.listdir(folder))
  return {
      int(name[1]): os.path.join(folder, name[0]) for name in names if name
  }
