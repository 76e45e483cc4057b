# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a run that survive a kill at any moment.

    checkpoints/iteration_00000012/
        variables.index, variables.data-*   a `tf.train.Checkpoint`
        state.bin                           all other state, `plain_data`
        manifest.json                       size and CRC-32 of each, and of
    checkpoints/KIND/*                      parts, which snapshots share

A run continues from these files and the rows of `metrics_log`; what else is in
its folder is for people. A kill leaves whole snapshots only
(`files.NumberedFolders`). A thread brings a snapshot to the disk before the
next one is written, so that a power cut costs one snapshot more at the most:
the manifest tells which one is damaged, and the snapshot before it is taken.
"""

from collections.abc import Iterable, Iterator
import concurrent.futures
import contextlib
import dataclasses
import errno
import json
import os
from typing import Any, NamedTuple

from absl import logging
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import plain_data

_MANIFEST = 'manifest.json'
_STATE = 'state.bin'
_VARIABLES = 'variables'
_DISK_ERRORS = (
    errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EIO
)


class Snapshot(NamedTuple):
  """A snapshot found on the disk.

  Attributes:
    iteration: Iterations of training before it.
    folder: Its path.
    state: State that was saved besides the variables.
  """

  iteration: int
  folder: str
  state: Any


@dataclasses.dataclass
class Parts:
  """Files of one kind that snapshots share.

  A file is written once and does not change. It is deleted when no snapshot
  needs it.

  Attributes:
    folder: Their folder.
    needed: Those that the next snapshot needs: `files.fingerprint` by name.
  """

  folder: str
  needed: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)

  def path(self, name: str) -> str:
    """Returns the path of a file, from the folder of the snapshots."""
    return f'{os.path.basename(self.folder)}/{name}'


class Checkpoints:
  """The last few snapshots of a run.

  For the one process that holds the lock of the run's folder.
  """

  def __init__(
      self,
      folder: str,
      max_to_keep: int = 3,
      packs: bool = False,
      **trackables: Any,
  ):
    """Creates the object; nothing is read or written yet.

    Args:
      folder: Folder of the snapshots.
      max_to_keep: Number of snapshots to keep, at least 1.
      packs: Whether to pack states, which takes time and saves space.
      **trackables: Arguments of `tf.train.Checkpoint`. All of their variables
        must exist before the first `save`.
    """
    self._folder = folder
    self._folders = files.NumberedFolders(folder, 'iteration')
    self._max_to_keep = max_to_keep
    self._packs = packs
    self._parts: list[Parts] = []
    self._checkpoint = tf.train.Checkpoint(**trackables)
    # While the disk is at work.
    self._syncing: concurrent.futures.Future | None = None
    self._thread = concurrent.futures.ThreadPoolExecutor(1)
    # From a graph a snapshot takes a tenth of the time, most of which would go
    # into looking at Python objects that stay the same.
    self._write = tf.function(
        self._checkpoint.write,
        input_signature=[tf.TensorSpec([], tf.string)],
        autograph=False,
    )

  def iterations(self) -> list[int]:
    """Returns the iterations with a snapshot, ascending; damaged ones too."""
    return self._folders.numbers()

  def path(self, iteration: int) -> str:
    """Returns the folder of the snapshot of an iteration."""
    return self._folders.path(iteration)

  def parts(self, kind: str) -> Parts:
    """Returns new parts, in a folder of the name `kind`.

    Write there only in a function for `save`: at other times, files that no
    snapshot needs may be deleted.
    """
    self._parts.append(Parts(os.path.join(self._folder, kind)))
    return self._parts[-1]

  def save(self, iteration: int, state: Any = None) -> None:
    """Writes a snapshot and removes the oldest beyond `max_to_keep`.

    Args:
      iteration: Iterations of training so far.
      state: Plain data, for `plain_data.dump`; or a function that returns it,
        called when the snapshot before is on the disk.

    Raises:
      RunError: If it cannot be written, or the one before could not. Earlier
        snapshots stay.
    """
    with self._raising_run_error(iteration):
      self.wait()
    if callable(state):
      state = state()
    with self._raising_run_error(iteration):
      aside = self._folders.aside()
      self._write(tf.constant(os.path.join(aside, _VARIABLES)))
      with open(os.path.join(aside, _STATE), 'wb') as file:
        plain_data.dump(state, file, self._packs)
      manifest = {
          name: files.fingerprint(os.path.join(aside, name))
          for name in os.listdir(aside)
      }
      for part in self._parts:
        manifest.update((part.path(n), part.needed[n]) for n in part.needed)
      with open(os.path.join(aside, _MANIFEST), 'w', encoding='utf-8') as file:
        json.dump(manifest, file, sort_keys=True)
      self._folders.publish(iteration)
      self._syncing = self._thread.submit(self._sync, iteration)

  @contextlib.contextmanager
  def _raising_run_error(self, iteration: int) -> Iterator[None]:
    """Turns errors of the disk in a snapshot's writing into a `RunError`."""
    try:
      yield
    except (OSError, tf.errors.OpError) as error:
      self._folders.clear()
      raise errors.RunError(
          f'The checkpoint of iteration {iteration} could not be written to'
          f' {self._folder}: {error_text(error)} {self.kept()} Make room, or'
          ' make the folder writable; the same command then continues.'
      ) from error

  def _sync(self, iteration: int) -> None:
    """Brings a snapshot to the disk, then deletes old ones and their parts."""
    self._folders.sync(iteration)
    self._folders.prune(self._max_to_keep)
    needed: set[str] = set()
    for kept in self.iterations():
      with contextlib.suppress(OSError, ValueError):  # It is damaged.
        needed.update(_read_manifest(self.path(kept)))
    for part in self._parts:
      for name in os.listdir(part.folder) if os.path.isdir(part.folder) else ():
        if part.path(name) not in needed:
          os.remove(os.path.join(part.folder, name))

  def wait(self) -> None:
    """Waits until the last snapshot is on the disk.

    Raises:
      OSError: If it could not be written.
    """
    syncing, self._syncing = self._syncing, None
    if syncing is not None:
      syncing.result()

  def kept(self) -> str:
    """Describes the newest checkpoint, for messages."""
    iterations = self.iterations()
    if not iterations:
      return 'No checkpoint was kept.'
    return (
        f'The last good checkpoint is {self.path(iterations[-1])}, of iteration'
        f' {iterations[-1]}.'
    )

  def find(self) -> Snapshot | None:
    """Returns the newest undamaged snapshot, or None; logs damaged ones.

    If all of them lack parts, it is the newest that lacks nothing else: what
    reads the parts knows whether they can be replaced.

    Raises:
      SetupError: If there are snapshots and all of them are damaged: a new run
        would remove files that might be repaired.
    """
    self._folders.recover()
    iterations = self.iterations()
    without_parts = None
    for iteration in self._candidates():
      folder = self.path(iteration)
      try:
        manifest = _read_manifest(folder)
        parts = {name for name in manifest if '/' in name}
        _check(folder, manifest, manifest.keys() - parts)
        if without_parts is None:
          without_parts = iteration
        _check(self._folder, manifest, parts)
      except (OSError, ValueError) as error:
        logging.warning(
            'The checkpoint %s is damaged (%s); looking for one before it.',
            folder,
            error,
        )
        continue
      return self._load(iteration)
    if without_parts is not None:
      return self._load(without_parts)
    if iterations:
      raise errors.SetupError(
          f'All {len(iterations)} checkpoints in {self._folder} are damaged, or'
          ' of another version of rnd_agents. Restore a copy, or choose'
          ' another --root_dir.'
      )
    return None

  def _load(self, iteration: int) -> Snapshot:
    folder = self.path(iteration)
    with open(os.path.join(folder, _STATE), 'rb') as file:
      return Snapshot(iteration, folder, plain_data.load(file))

  def _candidates(self) -> Iterator[int]:
    """Yields iterations, newest first; twice if one was written again."""
    for iteration in reversed(self.iterations()):
      yield iteration
      if self._folders.bring_back(iteration):
        yield iteration

  def restore(self, snapshot: Snapshot) -> None:
    """Restores the variables.

    Args:
      snapshot: From `find`.

    Raises:
      SetupError: If the variables are not those that were saved; the message
        names the first few that differ.
    """
    prefix = os.path.join(snapshot.folder, _VARIABLES)
    status = None
    try:
      status = self._checkpoint.read(prefix)
      status.assert_existing_objects_matched()
      status.assert_consumed()
    except (AssertionError, ValueError, tf.errors.OpError) as error:
      if status is not None:
        status.expect_partial()  # One message, and not one for each variable.
      differences = self._differences(prefix)
      raise errors.SetupError(
          f'The checkpoint {snapshot.folder} is of other networks or another'
          f' agent: {"; ".join(differences) or error_text(error)}. Restore the'
          ' settings in operative_config.gin, or choose another --root_dir.'
      ) from error
    # Damaged ones, which would count as the newest.
    self.forget_after(snapshot.iteration)

  def forget_after(self, iteration: int) -> None:
    """Removes the snapshots of later iterations, damaged ones too."""
    for other in self.iterations():
      if other > iteration:
        self._folders.remove(other)

  def _differences(self, prefix: str) -> list[str]:
    """Returns a few sentences on how checkpoint and program differ."""
    ours = os.path.join(self._folders.aside(), _VARIABLES)
    self._checkpoint.write(ours)
    saved, built = _shapes(prefix), _shapes(ours)
    self._folders.clear()
    differences = [
        f'{name} has shape {saved[name]} there and {built[name]} here'
        for name in sorted(saved.keys() & built.keys())
        # An empty variable does not have its final shape yet.
        if saved[name] != built[name] and 0 not in built[name]
    ]
    for place, one, other in (('there', saved, built), ('here', built, saved)):
      names = sorted(one.keys() - other.keys())
      differences += [f'{name} is only {place}' for name in names]
    more = len(differences) - 4
    return differences[:4] + ([f'{more} more'] if more > 0 else [])


def _read_manifest(folder: str) -> dict[str, dict[str, int]]:
  """Returns a snapshot's manifest; raises OSError or ValueError if damaged."""
  with open(os.path.join(folder, _MANIFEST), encoding='utf-8') as file:
    manifest = json.load(file)
  needed = {_STATE, f'{_VARIABLES}.index'}
  if not isinstance(manifest, dict) or not needed <= manifest.keys():
    raise errors.InvalidValue(f'{_MANIFEST} does not list its files')
  return manifest


def _check(
    folder: str, manifest: dict[str, dict[str, int]], names: Iterable[str]
) -> None:
  """Raises OSError or ValueError unless files are what a manifest says."""
  for name in sorted(names):
    if files.fingerprint(os.path.join(folder, name)) != manifest[name]:
      raise errors.InvalidValue(f'{name} has changed')


def _shapes(prefix: str) -> dict[str, list[int]]:
  """Returns {readable name: shape} of the variables of a checkpoint."""
  reader = tf.train.load_checkpoint(prefix)
  return {
      name.removesuffix('/.ATTRIBUTES/VARIABLE_VALUE'): shape
      for name, shape in reader.get_variable_to_shape_map().items()
      if name.endswith('VARIABLE_VALUE')
  }


def is_of_disk(error: Exception) -> bool:
  """Returns whether an error of Python or TensorFlow is about the disk."""
  if isinstance(error, OSError):
    return error.errno in _DISK_ERRORS
  return any(os.strerror(code) in str(error) for code in _DISK_ERRORS)


def error_text(error: Exception) -> str:
  """Returns the short text of an error of Python or TensorFlow."""
  if isinstance(error, OSError) and error.strerror:
    return f'{error.strerror}.'
  text = str(error)
  # TensorFlow's message has the system's somewhere in many lines.
  for code in _DISK_ERRORS:
    if os.strerror(code) in text:
      return f'{os.strerror(code)}.'
  lines = text.strip().splitlines() or [repr(error)]
  return f'{lines[-1].rstrip(".")}.'
