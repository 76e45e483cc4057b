# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files and numbered folders that are there whole or not at all."""

import contextlib
import os
import re
import shutil

_ASIDE = '.being_written'
_TRASH = '.being_deleted'
_OLD = '.old'  # Of a folder whose number is written once more.


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


def sync_tree(folder):
  """Waits until a folder and everything in it is on the disk."""
  for parent, _, names in os.walk(folder):
    for name in names:
      sync(os.path.join(parent, name))
    sync(parent)


class NumberedFolders:
  """Folders of one name and rising numbers, such as `iteration_00000012`.

  A folder is written under another name and then renamed; it is renamed again
  before it is deleted. So whatever a kill interrupts, a folder that has its
  name is whole. For the one process that writes there.
  """

  def __init__(self, parent, name):
    """Creates the object; nothing is read or written yet.

    Args:
      parent: Where the folders lie.
      name: What their names begin with.
    """
    self._parent = os.fspath(parent)
    self._name = name

  def numbers(self):
    """Returns the numbers of the folders, ascending."""
    if not os.path.isdir(self._parent):
      return []
    pattern = re.compile(rf'{self._name}_(\d+)$')
    matches = map(pattern.match, os.listdir(self._parent))
    return sorted(int(match[1]) for match in matches if match)

  def path(self, number):
    """Returns the path of the folder of a number."""
    return os.path.join(self._parent, f'{self._name}_{number:08d}')

  def aside(self):
    """Returns an empty folder to write the next one in; see `publish`."""
    self.clear()
    path = os.path.join(self._parent, _ASIDE)
    os.makedirs(path)
    return path

  def clear(self):
    """Deletes what was only half written or half deleted."""
    for name in (_ASIDE, _TRASH):
      shutil.rmtree(os.path.join(self._parent, name), ignore_errors=True)

  def publish(self, number):
    """Gives `aside()` its name; until `sync` a power cut may damage it.

    Args:
      number: Its number. At no moment is there none of this number, if there
        was one: the old one is deleted by `sync`.
    """
    path = self.path(number)
    if os.path.isdir(path):
      shutil.rmtree(path + _OLD, ignore_errors=True)
      os.replace(path, path + _OLD)
    os.replace(os.path.join(self._parent, _ASIDE), path)

  def sync(self, number):
    """Waits until a folder that was published is on the disk.

    Then it deletes those that were replaced, also before an earlier kill.
    """
    sync_tree(self.path(number))
    sync(self._parent)
    for name in os.listdir(self._parent):
      if name.startswith(f'{self._name}_') and name.endswith(_OLD):
        shutil.rmtree(os.path.join(self._parent, name), ignore_errors=True)

  def recover(self):
    """Gives its name back to a folder that `publish` was about to replace."""
    if not os.path.isdir(self._parent):
      return
    for name in os.listdir(self._parent):
      path = os.path.join(self._parent, name.removesuffix(_OLD))
      if name.endswith(_OLD) and not os.path.exists(path):
        os.replace(path + _OLD, path)

  def bring_back(self, number):
    """Puts a folder that `publish` has replaced in its place again.

    Args:
      number: Of a folder that a power cut has damaged before `sync`.

    Returns:
      Whether there was one.
    """
    path = self.path(number)
    if not os.path.isdir(path + _OLD):
      return False
    shutil.rmtree(path)
    os.replace(path + _OLD, path)
    return True

  def remove(self, number):
    """Deletes a folder, if it is there and the disk lets it go."""
    trash = os.path.join(self._parent, _TRASH)
    shutil.rmtree(trash, ignore_errors=True)
    with contextlib.suppress(OSError):
      os.replace(self.path(number), trash)
    shutil.rmtree(trash, ignore_errors=True)

  def prune(self, num_newest):
    """Deletes all folders but the newest few."""
    for number in self.numbers()[:-num_newest]:
      self.remove(number)
