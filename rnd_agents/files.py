# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes files and numbered folders so that a kill leaves no half of one."""

from collections.abc import Iterator
import contextlib
import os
import re
import shutil
from typing import Any
import zlib

from rnd_agents import errors

_ASIDE = '.being_written'
_TRASH = '.being_deleted'
_OLD = '.old'  # A folder that is being replaced.


@contextlib.contextmanager
def replacing(path: str, mode: str = 'w') -> Iterator[Any]:
  """Opens a file that replaces `path` if the block ends without an error.

  Its content is on the disk before it gets its name, so that neither a kill
  nor a power cut leaves half of it.

  Args:
    path: The file.
    mode: 'w' or 'wb'.

  Yields:
    The open file.

  Raises:
    SetupError: If a directory has that path.
  """
  if os.path.isdir(path):
    raise errors.SetupError(
        f'{path} is a directory, and a file must be written there: move it'
        ' away.'
    )
  aside = f'{path}.new'
  text: dict[str, Any] = {}
  if 'b' not in mode:
    text = dict(encoding='utf-8', newline='')
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


@contextlib.contextmanager
def replacing_folder(path: str) -> Iterator[str]:
  """Gives a new folder that replaces `path` if the block ends without an error.

  Its content is on the disk before it gets its name. A kill leaves the old
  folder or the new one, or for a moment neither, but never a part of both.

  Args:
    path: The folder.

  Yields:
    Path of the new, empty folder.
  """
  aside = f'{path}.new'
  shutil.rmtree(aside, ignore_errors=True)  # Of an earlier kill.
  os.makedirs(aside)
  try:
    yield aside
    sync_tree(aside)
  except BaseException:
    shutil.rmtree(aside, ignore_errors=True)
    raise
  _put_in_place(aside, path)
  shutil.rmtree(path + _OLD, ignore_errors=True)


def _put_in_place(aside: str, path: str) -> None:
  """Renames a folder to `path`; one that is there is kept as an old one."""
  if os.path.isdir(path):
    shutil.rmtree(path + _OLD, ignore_errors=True)
    os.replace(path, path + _OLD)
  os.replace(aside, path)


def fingerprint(path: str, size: int | None = None) -> dict[str, int]:
  """Returns size and CRC-32 of a file.

  Args:
    path: The file.
    size: Number of bytes from its beginning; None for all of them.
  """
  found = fingerprint_of(b'')
  with open(path, 'rb') as file:
    while True:
      part = 2**20 if size is None else min(2**20, size - found['size'])
      content = file.read(part)
      if not content:
        return found
      found = fingerprint_of(content, found)


def fingerprint_of(
    content: bytes | memoryview, before: dict[str, int] | None = None
) -> dict[str, int]:
  """Returns the `fingerprint` of a file of this content.

  Args:
    content: The content, or what follows in the file.
    before: Fingerprint of what comes before it in the file; None for nothing.
  """
  before = before or dict(size=0, crc32=0)
  return dict(
      size=before['size'] + len(content),
      crc32=zlib.crc32(content, before['crc32']),
  )


def sync(path: str) -> None:
  """Waits until a file, or the entries of a folder, are on the disk."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)


def sync_tree(folder: str) -> None:
  """Waits until a folder and everything in it is on the disk."""
  for parent, _, names in os.walk(folder):
    for name in names:
      sync(os.path.join(parent, name))
    sync(parent)


class NumberedFolders:
  """Manages folders with rising numbers, such as `iteration_00000012`.

  A folder is written under another name and then renamed; it is renamed again
  before it is deleted. So a folder with its name is always complete, also after
  a kill. Only one process may write there.
  """

  def __init__(self, parent: str, name: str):
    """Creates the object without reading or writing.

    Args:
      parent: Folder that contains them.
      name: Begin of their names.
    """
    self._parent = os.fspath(parent)
    self._name = name

  def numbers(self) -> list[int]:
    """Returns the numbers of the folders, ascending."""
    if not os.path.isdir(self._parent):
      return []
    pattern = re.compile(rf'{self._name}_(\d+)$')
    matches = map(pattern.match, os.listdir(self._parent))
    return sorted(int(match[1]) for match in matches if match)

  def path(self, number: int) -> str:
    """Returns the path of the folder with a number."""
    return os.path.join(self._parent, f'{self._name}_{number:08d}')

  def aside(self) -> str:
    """Returns an empty folder for the next content; see `publish`."""
    self.clear()
    path = os.path.join(self._parent, _ASIDE)
    os.makedirs(path)
    return path

  def clear(self) -> None:
    """Deletes folders that are half written or half deleted."""
    for name in (_ASIDE, _TRASH):
      shutil.rmtree(os.path.join(self._parent, name), ignore_errors=True)

  def publish(self, number: int) -> None:
    """Renames `aside()` to its number; until `sync` a power cut may damage it.

    Args:
      number: Its number. An old folder of this number is kept until `sync`
        deletes it.
    """
    _put_in_place(os.path.join(self._parent, _ASIDE), self.path(number))

  def sync(self, number: int) -> None:
    """Waits until a published folder is on the disk.

    Then it deletes the folders that were replaced, also before an earlier kill.
    """
    sync_tree(self.path(number))
    sync(self._parent)
    for name in os.listdir(self._parent):
      if name.startswith(f'{self._name}_') and name.endswith(_OLD):
        shutil.rmtree(os.path.join(self._parent, name), ignore_errors=True)

  def recover(self) -> None:
    """Restores a folder that an interrupted `publish` was about to replace."""
    if not os.path.isdir(self._parent):
      return
    for name in os.listdir(self._parent):
      path = os.path.join(self._parent, name.removesuffix(_OLD))
      if name.endswith(_OLD) and not os.path.exists(path):
        os.replace(path + _OLD, path)

  def bring_back(self, number: int) -> bool:
    """Restores a folder that `publish` has replaced.

    Args:
      number: Number of a folder that a power cut has damaged before `sync`.

    Returns:
      Whether there was one.
    """
    path = self.path(number)
    if not os.path.isdir(path + _OLD):
      return False
    shutil.rmtree(path)
    os.replace(path + _OLD, path)
    return True

  def remove(self, number: int) -> None:
    """Deletes a folder, if it exists; errors of the disk are ignored."""
    trash = os.path.join(self._parent, _TRASH)
    shutil.rmtree(trash, ignore_errors=True)
    with contextlib.suppress(OSError):
      os.replace(self.path(number), trash)
    shutil.rmtree(trash, ignore_errors=True)

  def prune(self, num_newest: int) -> None:
    """Deletes all but the newest folders."""
    for number in self.numbers()[:-num_newest]:
      self.remove(number)
