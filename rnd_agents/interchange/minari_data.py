# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Demonstrations as data sets of Minari, named `minari:NAME-v0`.

A data set has the observations and actions of our specs, exactly: images are
arrays and not JPEG. Beside each time step its discount is kept, in the infos.
An action mask is an entry of a dict, beside the observation without it.
A data set of others is read through the same converters as an environment of
its spaces: texts are dropped, and actions count from 0.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import shutil
from typing import Any

from absl import logging
from gymnasium import spaces
from gymnasium.envs import registration
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
import tree

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import files
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.replay import demonstrations

MINARI_PREFIX = 'minari:'
_RECORD = 'rnd_agents_environment'
_DISCOUNT = 'discount'


def _locate(name: str) -> tuple[str, str]:
  """Returns Minari's id of a data set, and its folder.

  Raises:
    MissingPackage: If Minari is not installed.
    DemonstrationError: If Minari could not read a data set of that name.
  """
  try:
    import h5py  # noqa: F401 (without it Minari fails later)
    from minari.dataset import minari_dataset
    from minari.storage import datasets_root_dir
  except ImportError as error:
    raise errors.MissingPackage(
        f'{name} needs Minari and NumPy 2: pip install "rnd_agents[minari]",'
        ' with Python 3.11 or later.'
    ) from error
  dataset_id = name.removeprefix(MINARI_PREFIX)
  try:
    minari_dataset.parse_dataset_id(dataset_id)
  except (TypeError, ValueError) as error:
    # Minari lets int() refuse a name without a version.
    reason = 'it has no version' if isinstance(error, TypeError) else error
    raise demonstrations.DemonstrationError(
        f'{name} must be a name such as {MINARI_PREFIX}keys/expert-v0: {reason}'
    ) from error
  return dataset_id, os.fspath(datasets_root_dir.get_dataset_path(dataset_id))


class MinariWriter:
  """Writes a data set that gets its name when it is complete.

  Use it in a `with` statement, as `demonstrations.DemonstrationWriter`. A kill
  leaves the folder NAME.partial, which the next writer replaces, and so does an
  exception there after the first episode.
  """

  def __init__(
      self,
      name: str,
      spec: trajectory.Trajectory,
      environment: dict[str, Any],
      env_spec: registration.EnvSpec | None = None,
  ):
    """Creates the writer; `with` makes the data set.

    Args:
      name: `minari:` and the name.
      spec: A `Trajectory` of specs of one frame.
      environment: Settings of the environment.
      env_spec: Gymnasium's spec of the environment, if it has one.

    Raises:
      DemonstrationError: If there is such a data set, or it cannot hold states
        of networks, or keys of HDF5's own.
    """
    self._id, self._folder = _locate(name)
    self._partial = self._folder + '.partial'
    self._spec, self._environment = spec, environment
    self._env_spec = env_spec
    self.num_episodes = 0
    if os.path.exists(self._folder):
      raise demonstrations.DemonstrationError(
          f'{name} exists, in {self._folder}: name another one.'
      )
    if tf.nest.flatten(spec.policy_info):
      raise demonstrations.DemonstrationError(
          f'{name} cannot hold states of networks: leave out'
          ' --keep_network_state.'
      )
    for path, _ in tree.flatten_with_path((spec.observation, spec.action)):
      for key in path:
        if isinstance(key, str) and ('/' in key or key == '.'):
          raise demonstrations.DemonstrationError(
              f'{name} cannot hold the key {key!r}, which is a path in its'
              ' format, HDF5: rename it in a wrapper, or write a file,'
              ' --out=NAME.tfrecord.'
          )

  def __enter__(self) -> 'MinariWriter':
    import minari
    from minari.dataset import minari_storage

    shutil.rmtree(self._partial, ignore_errors=True)
    data = os.path.join(self._partial, 'data')
    os.makedirs(data)
    self._storage = minari_storage.MinariStorage.new(
        data,
        gymnasium_spaces.space_of(self._spec.observation),
        gymnasium_spaces.space_of(self._spec.action),
        self._env_spec,
        jpeg_encoding=False,
    )
    self._storage.update_metadata({
        'dataset_id': self._id,
        'minari_version': minari.__version__,
        _RECORD: self._environment,
    })
    return self

  def write(self, episode: trajectory.Trajectory, seed: int | None) -> None:
    """Adds an episode.

    Args:
      episode: A `Trajectory` of NumPy arrays [T + 1, ...].
      seed: Seed of the episode.
    """
    from minari.data_collector import episode_buffer

    observations = episode.observation
    if action_masks.split_mask(observations)[1] is not None:
      observations = observations._asdict()
    length = len(episode.step_type) - 1
    is_last = np.arange(length) == length - 1
    terminated = is_last & (episode.discount[:-1] == 0)
    self._storage.update_episodes([
        episode_buffer.EpisodeBuffer(
            seed=seed,
            observations=observations,
            actions=tf.nest.map_structure(lambda x: x[:-1], episode.action),
            rewards=episode.reward[:-1],
            terminations=terminated,
            truncations=is_last & ~terminated,
            infos={_DISCOUNT: episode.discount},
        )
    ])
    self.num_episodes += 1

  def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
    if not self.num_episodes:
      shutil.rmtree(self._partial, ignore_errors=True)
    elif error is None:
      files.sync_tree(self._partial)
      os.makedirs(os.path.dirname(self._folder), exist_ok=True)
      os.rename(self._partial, self._folder)
    else:
      logging.warning(
          '%s holds the %d episodes before the error: rename it to %s to use'
          ' them.',
          self._partial,
          self.num_episodes,
          self._folder,
      )


@contextlib.contextmanager
def _reading(name: str, folder: str) -> Iterator[None]:
  """Turns errors of Minari and of its formats into one sentence."""
  try:
    yield
  except ImportError as error:  # Of a format that we do not write.
    raise errors.MissingPackage(f'{name}: {error}') from error
  except Exception as error:  # They have no common class.
    what = f'{type(error).__name__}: {error}'
    raise demonstrations.DemonstrationError(
        f'{name} is not in {folder}, or is damaged ({what}). Download'
        ' it with Minari, or collect again.'
    ) from error


def _stored_episodes(name: str, folder: str, dataset: Any) -> Iterator[Any]:
  """Yields the episodes of Minari; refuses a data set without any."""
  stored = dataset.iterate_episodes()
  for number in range(dataset.total_episodes):
    with _reading(f'{name}, episode {number},', folder):
      episode = next(stored)
    yield episode
  if not dataset.total_episodes:
    raise demonstrations.DemonstrationError(
        f'{name} in {folder} has no episode: collect again.'
    )


def read_data_set(
    name: str,
    expected_spec: trajectory.Trajectory,
    check_environment: Callable[[dict[str, Any]], None] | None = None,
) -> list[trajectory.Trajectory]:
  """Reads the episodes of a data set, as `demonstrations.read_episodes`.

  Args:
    name: `minari:` and the name.
    expected_spec: `Trajectory` of specs that the data set must fit.
    check_environment: Function that is called with what is known of the
      environment, and may raise; None for no check.

  Raises:
    DemonstrationError: If there is no such data set, or it does not fit.
    MissingPackage: If Minari, or what it needs for the data set, is missing.
  """
  dataset_id, folder = _locate(name)
  import minari

  with _reading(name, folder):
    dataset = minari.load_dataset(dataset_id)
    storage = dataset.storage
  if check_environment is not None:
    _check_environment(name, dataset, check_environment)
  is_ours = _RECORD in storage.metadata
  space = storage.observation_space
  # Minari keeps no subclass of a space: only the run can tell a mask from an
  # entry of the observation that has its name.
  _, expected_mask = action_masks.split_mask(expected_spec.observation)
  if (
      is_ours
      and expected_mask is not None
      and isinstance(space, spaces.Dict)
      and set(space) == set(action_masks.ObservationWithMask._fields)
  ):
    space = gymnasium_spaces.SpaceWithMask(space.spaces)
  observation_spec, convert = gymnasium_spaces.observation_converter(space)
  leaves = tf.nest.flatten(observation_spec)
  images = [leaf.shape for leaf in leaves if leaf.dtype == np.uint8]
  if storage.jpeg_encoding and any(min(x[:2], default=0) >= 32 for x in images):
    logging.warning('%s has images as JPEG, which are not exact.', name)
  action_spec, _ = gymnasium_spaces.action_converter(storage.action_space, 1)
  spec = demonstrations.trajectory_spec(observation_spec, action_spec)
  demonstrations.check_spec(spec, expected_spec, name)

  def frames(episode: Any) -> trajectory.Trajectory:
    actions = gymnasium_spaces.from_zero(storage.action_space, episode.actions)
    rewards = np.asarray(episode.rewards, np.float32)
    length = len(episode.rewards)
    step_type = np.full(length + 1, ts.StepType.MID, np.int32)
    step_type[0], step_type[-1] = ts.StepType.FIRST, ts.StepType.LAST
    discount = np.ones(length + 1, np.float32)
    discount[length - 1] = 1 - episode.terminations[-1]
    if is_ours:
      discount = episode.infos[_DISCOUNT]
    return trajectory.Trajectory(
        step_type=step_type,
        observation=convert(episode.observations),
        action=tf.nest.map_structure(
            demonstration_recorder.with_boundary, actions, action_spec
        ),
        policy_info=(),
        next_step_type=np.append(step_type[1:], np.int32(ts.StepType.FIRST)),
        reward=np.append(rewards, np.float32(0.0)),
        discount=discount,
    )

  episodes = list(map(frames, _stored_episodes(name, folder, dataset)))
  for i, episode in enumerate(episodes):
    demonstrations.check_episode(episode, spec, f'{name}, episode {i}')
  return episodes


def _check_environment(
    name: str, dataset: Any, check: Callable[[dict[str, Any]], None]
) -> None:
  """Compares settings, or what Gymnasium knows of a data set of others."""
  metadata, env_spec = dataset.storage.metadata, dataset.env_spec
  if _RECORD in metadata:
    check(metadata[_RECORD])
  elif env_spec is not None:
    known: dict[str, Any] = {'load_environment.env': repr(env_spec.id)}
    if env_spec.kwargs:
      known['load_environment.env_kwargs'] = repr(env_spec.kwargs)
    check(known)
  else:
    logging.warning('%s is not checked: it names no environment.', name)
