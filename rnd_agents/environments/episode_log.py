# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records returns, lengths and outcomes of the episodes of B environments."""

import collections
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import infos as infos_lib

# Finished episodes kept for `pop_episodes`: a program that never pops them
# must not run out of memory.
MAX_KEPT_EPISODES = 100_000


class Episode(NamedTuple):
  """One finished episode.

  Attributes:
    environment_index: Index of the environment, from 0 to B - 1.
    return_: Undiscounted sum of the environment's own rewards. If Gymnasium's
      RecordEpisodeStatistics is among its wrappers, the sum of that wrapper,
      which wrappers outside it cannot change.
    length_env_steps: Number of transitions.
    terminated: False if a time limit cut it.
    success: `is_success`, or the key given to the adapter, of the last step's
      info; None if the info lacks it.
    seed: Seed of the reset; None if it is not known.
    rooms_visited: `rooms_visited` of the last step's info, see
      `wrappers.RoomsVisited`; None if the info lacks it.
    actions: Nest of arrays [length_env_steps, ...] for episodes of an
      evaluation; else None.
    length_time_steps: `time_steps` of the last step's info, see
      `wrappers.ActionRepeat`; None if the info lacks it.
    info: Numbers of the last step's info under the `info_keys` given to the
      adapter, {name: number}; the entries of a dict are named KEY_ENTRY. None
      if there are none.
  """

  environment_index: int
  return_: float
  length_env_steps: int
  terminated: bool
  success: bool | None
  seed: int | None = None
  rooms_visited: int | None = None
  actions: Any = None
  length_time_steps: int | None = None
  info: dict[str, float] | None = None


class EpisodeLog:
  """Adds up rewards and keeps finished episodes."""

  def __init__(
      self,
      num_environments: int,
      success_key: str,
      schedule: episode_seeds.EpisodeSeeds | None,
      info_keys: Sequence[str] = (),
  ):
    """Creates an EpisodeLog.

    Args:
      num_environments: B.
      success_key: Key of the info that says whether an episode was a success.
      schedule: Schedule of the seeds; None if they are not known.
      info_keys: Keys of the infos whose numbers are recorded.
    """
    self._num_environments = num_environments
    self._success_key = success_key
    self._info_keys = tuple(info_keys)
    self._finished: collections.deque[Episode] = collections.deque(
        maxlen=MAX_KEPT_EPISODES
    )
    self._returns = np.zeros(num_environments, np.float64)
    self._num_steps = 0
    self._first_steps = [0] * num_environments  # Of `_num_steps`.
    self._seeds: list[int | None] = [None] * num_environments
    self.start_schedule(schedule)

  @property
  def running_returns(self) -> np.ndarray:
    """Sums of rewards of the running episodes, float64 [B]."""
    return self._returns

  @property
  def schedule(self) -> episode_seeds.EpisodeSeeds | None:
    """Schedule of the seeds; None if they are not known."""
    return self._schedule

  def start_schedule(self, schedule: episode_seeds.EpisodeSeeds | None) -> None:
    """Follows a new schedule, as `SeededEpisodes.start_schedule` does."""
    self._schedule = schedule
    self._episode_indices = [-1] * self._num_environments

  def start(self, seeds: Sequence[int] | None) -> None:
    """Discards the running episodes: all environments begin new ones.

    Args:
      seeds: B seeds; None if they come from the schedule.
    """
    self._returns[:] = 0.0
    self.begin(range(self._num_environments))
    if seeds is not None:
      self._seeds = [int(seed) for seed in seeds]

  def add(self, reward: np.ndarray) -> None:
    """Adds the rewards of one step, float64 [B], 0 where it is FIRST.

    Call `begin` and `finish` after it for episodes that begin or end there.
    """
    self._num_steps += 1
    self._returns += reward

  def begin(self, indices: Sequence[int]) -> None:
    """Records that these environments have just begun an episode."""
    for i in indices:
      self._first_steps[i] = self._num_steps
      if self._schedule is None:
        self._seeds[i] = None
        continue
      self._episode_indices[i] += 1
      self._seeds[i] = self._schedule.seed_of(
          i, self._num_environments, self._episode_indices[i]
      )

  def finish(
      self,
      indices: Sequence[int],
      terminated: np.ndarray,
      infos: dict[str, Any],
  ) -> None:
    """Records the episodes that end with this step.

    Args:
      indices: Indices of the environments.
      terminated: Booleans [B], False where a time limit cut the episode.
      infos: Gymnasium's infos of this step.
    """
    success = infos_lib.numbers(
        infos, self._success_key, indices, infos_lib.FLAG
    )
    rooms = infos_lib.numbers(
        infos, 'rooms_visited', indices, infos_lib.COUNT
    )
    time_steps = infos_lib.numbers(
        infos, 'time_steps', indices, infos_lib.COUNT
    )
    numbers = infos_lib.numbers_at_keys(infos, self._info_keys, indices)
    recorded = infos.get('episode')
    returns: dict[int, float] = {}
    if isinstance(recorded, dict):  # Of RecordEpisodeStatistics.
      returns = infos_lib.numbers(recorded, 'r', indices, infos_lib.NUMBER)
    elif recorded is not None:
      infos_lib.say_ignored('episode', 'a dict', recorded)
    for i in indices:
      self._finished.append(
          Episode(
              environment_index=i,
              return_=float(returns.get(i, self._returns[i])),
              length_env_steps=self._num_steps - self._first_steps[i],
              terminated=bool(terminated[i]),
              success=bool(success[i]) if i in success else None,
              seed=self._seeds[i],
              rooms_visited=int(rooms[i]) if i in rooms else None,
              length_time_steps=int(time_steps[i]) if i in time_steps else None,
              info=numbers.get(i),
          )
      )
      self._returns[i] = 0.0

  def next_step(self, index: int) -> tuple[int, int | None]:
    """Returns the number of an episode's next step, from 1, and its seed."""
    return self._num_steps + 1 - self._first_steps[index], self._seeds[index]

  def pop(self) -> list[Episode]:
    """Removes and returns the finished episodes, oldest first."""
    episodes = list(self._finished)
    self._finished.clear()
    return episodes

  def get_state(self) -> dict[str, Any]:
    """Returns a picklable state; it is not a copy."""
    state = dict(vars(self))
    del state['_info_keys']  # A setting.
    return state

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores a copy of the state that `get_state` returned."""
    vars(self).update(state)
