# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records returns, lengths and outcomes of the episodes of B environments."""

import collections
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from rnd_agents.environments import episode_seeds

# Finished episodes kept for `pop_episodes`: a program that never pops them
# must not run out of memory.
MAX_KEPT_EPISODES = 100_000


class Episode(NamedTuple):
  """One finished episode.

  Attributes:
    environment_index: which of the B environments played it.
    return_: sum of the rewards as the environment gave them, undiscounted; or
      that of Gymnasium's RecordEpisodeStatistics, if it is among its wrappers,
      which the wrappers outside it cannot change.
    length_env_steps: number of transitions.
    terminated: False if a time limit cut it.
    success: the info's `is_success`, or the key given to the adapter, at
      the last step; None where it has none.
    seed: what the episode was reset with; None where it is not known.
    rooms_visited: the info's, of `wrappers.RoomsVisited`, at the last step;
      None where it has none.
    actions: in an evaluation, a nest of arrays
      [length_env_steps, ...]; None elsewhere.
    length_time_steps: the info's `time_steps`, of `wrappers.ActionRepeat`, at
      the last step; None where it has none.
  """

  environment_index: int
  return_: float
  length_env_steps: int
  terminated: bool
  success: Optional[bool]
  seed: Optional[int] = None
  rooms_visited: Optional[int] = None
  actions: Any = None
  length_time_steps: Optional[int] = None


class EpisodeLog:
  """Adds up rewards and keeps finished episodes."""

  def __init__(
      self,
      num_environments: int,
      success_key: str,
      schedule: Optional[episode_seeds.EpisodeSeeds],
  ):
    """Creates an EpisodeLog; the arguments are `VectorPyEnvironment`'s.

    `schedule` is None where seeds are not known.
    """
    self._num_environments = num_environments
    self._success_key = success_key
    self._finished = collections.deque(maxlen=MAX_KEPT_EPISODES)
    self._returns = np.zeros(num_environments, np.float64)
    self._num_steps = 0
    self._first_steps = [0] * num_environments  # Of `_num_steps`.
    self._seeds = [None] * num_environments
    self.start_schedule(schedule)

  @property
  def running_returns(self) -> np.ndarray:
    """Sums of rewards of the running episodes, float64 [B]."""
    return self._returns

  @property
  def schedule(self) -> Optional[episode_seeds.EpisodeSeeds]:
    """The schedule of seeds."""
    return self._schedule

  def start_schedule(
      self, schedule: Optional[episode_seeds.EpisodeSeeds]
  ) -> None:
    """Follows a new schedule, as `SeededEpisodes.start_schedule` does."""
    self._schedule = schedule
    self._episode_indices = [-1] * self._num_environments

  def start(self, seeds: Optional[Sequence[int]]) -> None:
    """Forgets the running episodes: all environments begin new ones.

    Args:
      seeds: B, if they do not come from the schedule.
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
    """Notes that these environments have just begun an episode."""
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
      infos: Dict[str, Any],
  ) -> None:
    """Records the episodes that end with this step.

    Args:
      indices: of the environments.
      terminated: bool [B], False where a time limit cut the episode.
      infos: Gymnasium's, of this step.
    """
    success = known(infos, self._success_key, indices)
    rooms = known(infos, 'rooms_visited', indices)
    time_steps = known(infos, 'time_steps', indices)
    recorded = infos.get('episode')
    returns = {}
    if isinstance(recorded, dict):  # Of RecordEpisodeStatistics.
      returns = known(recorded, 'r', indices)
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
          )
      )
      self._returns[i] = 0.0

  def next_step(self, index: int) -> Tuple[int, Optional[int]]:
    """Returns the number of an episode's next step, from 1, and its seed."""
    return self._num_steps + 1 - self._first_steps[index], self._seeds[index]

  def pop(self) -> List[Episode]:
    """Returns the finished episodes, oldest first, and forgets them."""
    episodes = list(self._finished)
    self._finished.clear()
    return episodes

  def get_state(self) -> Dict[str, Any]:
    """Returns everything, picklable. Not a copy: the caller makes one."""
    return dict(vars(self))

  def set_state(self, state: Dict[str, Any]) -> None:
    """Restores `state`, a copy of what `get_state` returned."""
    vars(self).update(state)


def known(infos, key, indices):
  """Returns {i: infos[key][i]} of those of `indices` that gave it."""
  values = infos.get(key)
  if values is None:
    return {}
  # Gymnasium marks with an underscore which environments gave the key.
  given = infos.get('_' + key)
  return {i: values[i] for i in indices if given is None or given[i]}
