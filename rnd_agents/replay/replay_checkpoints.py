# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Folders of a replay's checkpoints: Reverb's files and a state.json.

    replay_00000012/       the newest one
        *.tfrecord, DONE   what Reverb stores
        state.json         settings, sizes of the tables, state in Python

Reverb restores the settings that a checkpoint was written with, whatever it is
asked for, and silently nothing from some damaged files: state.json tells.
"""

import json
import os

from rnd_agents import errors
from rnd_agents import files

_STATE = 'state.json'
DAMAGED = 'The replay in {} is damaged: restore another, or begin anew.'


def folders(checkpoint_dir):
  """Returns the `NumberedFolders` of a replay's checkpoints."""
  return files.NumberedFolders(checkpoint_dir, 'replay')


def newest(checkpoint_dir):
  """Returns the path of the newest checkpoint, or None."""
  found = folders(checkpoint_dir)
  numbers = found.numbers()
  return found.path(numbers[-1]) if numbers else None


def publish(written, checkpoint_dir, state):
  """Brings a checkpoint to the disk and gives it its name.

  Args:
    written: The path that Reverb wrote to, in `folders(...).aside()`.
    checkpoint_dir: Where the checkpoints lie.
    state: For `read`, of what JSON can write.

  Returns:
    Its path.
  """
  with open(os.path.join(written, _STATE), 'w', encoding='utf-8') as file:
    json.dump(state, file)
  files.sync_tree(written)
  found = folders(checkpoint_dir)
  number = max(found.numbers(), default=-1) + 1
  path = found.publish(number, written)
  found.sync(number)
  return path


def read(path, settings):
  """Reads the state of a checkpoint.

  Args:
    path: The folder of the checkpoint.
    settings: What its state's 'settings' must be, a dict.

  Returns:
    What `publish` was given.

  Raises:
    OSError: If there is no checkpoint.
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
      raise errors.InvalidValue(
          f'The replay in {path} has {name}={found}, not {value}, and Reverb'
          ' restores it as it was: set that, or begin a new replay.'
      )
  return state
