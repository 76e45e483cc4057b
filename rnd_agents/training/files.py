# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

import contextlib
import os


@contextlib.contextmanager
def replacing(path, mode='w'):
  """Opens a file that takes the place of `path` when the block ends well.

  Its content is on the disk before it gets its name, so that neither a kill
  nor a power cut leaves half of it.

  Args:
    path: The file.
    mode: 'w' or 'wb'.

  Yields:
    The open file.
  """
  aside = f'{path}.new'
  text = {} if 'b' in mode else dict(encoding='utf-8', newline='')
  try:
    with open(aside, mode, **text) as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
    os.replace(aside, path)
  except BaseException:
    with contextlib.suppress(OSError):
      os.remove(aside)
    raise


def sync(path):
  """Waits until a file, or the names in a folder, are on the disk."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)
