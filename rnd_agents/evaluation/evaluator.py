# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates policies: plays an episode from each of a list of seeds."""

from collections.abc import Callable, Iterator, Sequence
import operator
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.environments import episode_log
from rnd_agents.environments import vector_environment
from rnd_agents.evaluation import actors

# An environment without a time limit must not hang an evaluation.
_MAX_EPISODE_STEPS = 200_000
# Where an evaluation cuts episodes that no known time limit would end.
_MAX_STEPS_WITHOUT_LIMIT = 10_000
# Names by which an environment, or a wrapper, tells that its episodes end.
_LIMITS = ('_max_episode_steps', 'max_steps', 'ale', 'ends_by_itself')


class EndlessEpisode(errors.UserError, RuntimeError):
  """An episode does not end."""


class PlayedEpisode(NamedTuple):
  """One episode of T steps.

  Attributes:
    episode: `Episode` with return, length, outcome, seed and actions.
    time_steps: `TimeStep` of arrays [T + 1, ...], from the FIRST to the LAST;
      () if they were not kept.
    network_states: The actor's state before each time step, as a flat tuple of
      arrays [T + 1, ...]; () if they were not kept.
  """

  episode: episode_log.Episode
  time_steps: Any
  network_states: tuple[np.ndarray, ...]


def play(
    environment: vector_environment.VectorPyEnvironment,
    actor: actors.Actor,
    seeds: Sequence[int],
    keep_time_steps: bool = False,
    keep_network_states: bool = False,
    should_stop: Callable[[], bool] | None = None,
    max_steps: int | None = None,
) -> Iterator[PlayedEpisode]:
  """Plays one episode from each seed, in rounds of `batch_size` episodes.

  Args:
    environment: A `VectorPyEnvironment`.
    actor: Chooses the actions, see `actors`.
    seeds: A sequence of seeds; of agents that share a game, that of the first
      counts.
    keep_time_steps: Whether to keep the time steps of the environment.
    keep_network_states: Whether to keep the states of the actor.
    should_stop: Optional function that is called before each step; if it
      returns True, playing ends after the complete episodes.
    max_steps: Steps after which episodes are cut, as a time limit does; without
      it they must end by themselves.

  Yields:
    `PlayedEpisode`s in the order of the seeds. If a round ends with an error,
    its complete episodes are yielded before it is raised.

  Raises:
    EndlessEpisode: If an episode does not end.
    ActorError, ExpertFailure: If the actor raised it; the message has step and
      seeds.
  """

  def kept(
      time_step: ts.TimeStep, state: types.NestedTensorOrArray
  ) -> tuple[Any, Any]:
    return (
        time_step if keep_time_steps else (),
        tuple(map(np.asarray, tf.nest.flatten(state)))
        if keep_network_states
        else (),
    )

  should_stop = should_stop or (lambda: False)
  size = environment.batch_size
  for start in range(0, len(seeds), size):
    if should_stop():
      return
    played: dict[int, PlayedEpisode] = {}
    error = None
    try:
      _play_round(
          environment,
          actor,
          list(seeds[start : start + size]),
          kept,
          should_stop,
          max_steps,
          played,
      )
    except Exception as found:  # pylint: disable=broad-exception-caught
      error = found
    yield from (played[i] for i in sorted(played))
    if error is not None:
      raise error


def _play_round(
    environment: vector_environment.VectorPyEnvironment,
    actor: actors.Actor,
    seeds: list[int],
    kept: Callable[[ts.TimeStep, Any], tuple[Any, Any]],
    should_stop: Callable[[], bool],
    max_steps: int | None,
    played: dict[int, PlayedEpisode],
) -> None:
  """Plays the episode of seeds[i] in environment i, into played[i].

  Agents of a game play from the seed of its first, which their episodes have.
  """
  # Environments without a seed also play; their episodes do not count.
  spare = environment.batch_size - len(seeds)
  all_seeds = environment.seeds_of_episodes(seeds + spare * seeds[-1:])
  seeds = all_seeds[: len(seeds)]
  time_step = environment.reset_with_seeds(all_seeds)
  environment.pop_episodes()
  state = actor.initial_state(environment.batch_size)
  # Actions and frames of the episodes that have not ended.
  running: dict[int, tuple[list[Any], list[Any]]] = {
      i: ([], []) for i in range(len(seeds))
  }
  num_steps, action = 0, None
  while running and not should_stop():
    if num_steps == max_steps:
      logging.warning(
          '%d of %d episodes had not ended after %d steps, and were cut:'
          ' set eval/load_environment.max_episode_steps.',
          len(running),
          len(seeds),
          num_steps,
      )
      returns = environment.running_returns()
      for i, (actions, frames) in running.items():
        episode = episode_log.Episode(
            i,
            float(returns[i]),
            num_steps,
            terminated=False,
            success=None,
            seed=seeds[i],
            actions=_stacked(actions, action),
        )
        frames.append(_row(kept(time_step, state), i))
        played[i] = PlayedEpisode(
            episode, *_stacked(frames, kept(time_step, state))
        )
      return
    if num_steps and num_steps % 1_000 == 0:
      logging.log_every_n_seconds(
          logging.INFO,
          'After %d steps %d of %d episodes have ended.',
          30,
          num_steps,
          len(seeds) - len(running),
          len(seeds),
      )
    if num_steps == _MAX_EPISODE_STEPS:
      raise EndlessEpisode(
          f'After {num_steps} steps only {len(seeds) - len(running)} of'
          f' {len(seeds)} episodes have ended. Set load_environment.'
          'max_episode_steps (for the evaluations of a run:'
          ' eval/load_environment.max_episode_steps).'
      )
    num_steps += 1
    try:
      action, next_state = actor.act(time_step, state, list(running))
    except (actors.ActorError, actors.ExpertFailure) as error:
      which = ', '.join(str(seeds[i]) for i in running)
      where = f'This was step {num_steps} of the episodes from seeds {which}.'
      raise type(error)(f'{error} {where}') from error.__cause__
    frame = kept(time_step, state)
    time_step, state = environment.step(action), next_state
    for i, (actions, frames) in running.items():
      actions.append(_row(action, i))
      frames.append(_row(frame, i))
    if np.any(time_step.step_type == ts.StepType.LAST):
      frame = kept(time_step, state)
      for episode in environment.pop_episodes():
        i = episode.environment_index
        # Environments that finish early play episodes that do not count.
        if i in running:
          actions, frames = running.pop(i)
          frames.append(_row(frame, i))
          episode = episode._replace(
              seed=seeds[i], actions=_stacked(actions, action)
          )
          played[i] = PlayedEpisode(episode, *_stacked(frames, frame))


def _row(batch: types.NestedArray, index: int) -> list[np.ndarray]:
  """Returns the flat row of one environment, copied, so the rest is freed."""
  return [np.array(part[index]) for part in tf.nest.flatten(batch)]


def _stacked(
    rows: Sequence[list[np.ndarray]], structure: types.NestedArray
) -> types.NestedArray:
  """Returns the rows of `_row` as a nest of arrays [len(rows), ...]."""
  return tf.nest.pack_sequence_as(
      structure, [np.stack(part) for part in zip(*rows)]
  )


def replay_steps(
    environment: vector_environment.VectorPyEnvironment,
    seed: int,
    actions: types.NestedArray,
) -> Iterator[ts.TimeStep]:
  """Yields the time steps of an episode, played from its seed and actions.

  Args:
    environment: A `VectorPyEnvironment` of one environment.
    seed: Seed of the episode.
    actions: Nest of arrays [T, ...] that fits the action spec.

  Yields:
    `TimeStep`s [1, ...]: T + 1 of them, or fewer if the episode ends earlier.
  """
  time_step = environment.reset_with_seeds([seed])
  environment.pop_episodes()
  yield time_step
  for t in range(len(tf.nest.flatten(actions)[0])):
    if time_step.is_last()[0]:
      return
    row = operator.itemgetter(slice(t, t + 1))
    time_step = environment.step(tf.nest.map_structure(row, actions))
    yield time_step


def has_time_limit(
    environment: vector_environment.VectorPyEnvironment
) -> bool:
  """Returns whether an environment has a time limit that can be seen."""
  vector_env = environment.gymnasium_vector_env
  spec = vector_env.spec
  if spec is not None and spec.max_episode_steps is not None:
    return True
  try:
    return any(
        vector_env.call('has_wrapper_attr', name)[0] for name in _LIMITS
    )
  except (AttributeError, NotImplementedError):  # It is a single simulator.
    return True


class Evaluator:
  """Evaluates a policy on the same episodes each time."""

  def __init__(
      self,
      environment: vector_environment.VectorPyEnvironment,
      policy: Any,
      seeds: Sequence[int],
      generator: tf.random.Generator | None = None,
  ):
    """Creates the evaluator.

    Args:
      environment: A `VectorPyEnvironment`. With fewer environments than seeds
        the episodes are played in rounds.
      policy: A `TFPolicy`, or a policy that `tf.saved_model.load` returned.
      seeds: Seeds of the episodes, at least one.
      generator: The `tf.random.Generator` from which the policy samples: each
        evaluation begins with its current state. None if it uses no generator.
    """
    self._environment = environment
    self._actor = actors.PolicyActor(policy)
    self._seeds = list(seeds)
    self._generator = generator
    self._generator_state = generator and generator.state.numpy()
    if not self._seeds:
      raise errors.InvalidValue('An evaluation needs at least one seed.')
    self._max_steps = None
    if not has_time_limit(environment):
      self._max_steps = _MAX_STEPS_WITHOUT_LIMIT
      logging.warning(
          '%s has no time limit that can be seen. If an episode may never end,'
          ' set load_environment.max_episode_steps; evaluations cut'
          ' episodes after %d steps.',
          environment.name,
          self._max_steps,
      )

  @property
  def environment(self) -> vector_environment.VectorPyEnvironment:
    """Environment in which the episodes are played."""
    return self._environment

  def run(
      self, should_stop: Callable[[], bool] = lambda: False
  ) -> list[episode_log.Episode]:
    """Plays one episode from each seed.

    Args:
      should_stop: Called before each step; if it returns True, the evaluation
        ends with the complete episodes.

    Returns:
      A list of `Episode`s with seed and actions, in the order of the seeds.

    Raises:
      EndlessEpisode: If an episode does not end, in spite of a time limit.
    """
    if self._generator is not None:
      self._generator.reset(self._generator_state)
    return [
        played.episode
        for played in play(
            self._environment,
            self._actor,
            self._seeds,
            should_stop=should_stop,
            max_steps=self._max_steps,
        )
    ]


def best_episode(
    episodes: Sequence[episode_log.Episode]
) -> episode_log.Episode:
  """Returns the first episode with the highest return.

  Args:
    episodes: A list of `Episode`, at least one.
  """
  return max(episodes, key=lambda episode: episode.return_)


def summarize_episodes(
    episodes: Sequence[episode_log.Episode], has_told_success: bool = False
) -> dict[str, float]:
  """Returns statistics of episodes, by metric name.

  Args:
    episodes: A list of `Episode`, at least one.
    has_told_success: Whether earlier episodes had a `success_rate`. Then these
      also have one, 0 if none of them reports a success.

  Returns:
    A dict: `episodes`, `return_mean`, `return_min`, `return_max`,
    `length_mean`, `terminated_rate` (share without a time limit);
    `success_rate` if an episode reports success (others count as failures);
    `rooms_visited_mean` and `rooms_visited_max` if episodes report rooms; with
    an `action_repeat`, `length_time_steps_mean`; `info_NAME_mean` for each
    number of `Episode.info`, over the episodes that have it.
  """
  returns = np.array([episode.return_ for episode in episodes])
  metrics = dict(
      episodes=len(episodes),
      return_mean=float(returns.mean()),
      return_min=float(returns.min()),
      return_max=float(returns.max()),
      length_mean=float(np.mean([e.length_env_steps for e in episodes])),
      terminated_rate=float(np.mean([e.terminated for e in episodes])),
  )
  tells_now = any(episode.success is not None for episode in episodes)
  if tells_now or has_told_success:
    # Some environments report successes only.
    successes = [bool(episode.success) for episode in episodes]
    metrics['success_rate'] = float(np.mean(successes))
  rooms = [e.rooms_visited for e in episodes if e.rooms_visited is not None]
  if rooms:
    metrics['rooms_visited_mean'] = float(np.mean(rooms))
    metrics['rooms_visited_max'] = max(rooms)
  time_steps = [e.length_time_steps for e in episodes if e.length_time_steps]
  if time_steps:
    metrics['length_time_steps_mean'] = float(np.mean(time_steps))
  numbers: dict[str, list[float]] = {}
  for episode in episodes:
    for name, number in (episode.info or {}).items():
      numbers.setdefault(name, []).append(number)
  for name, values in numbers.items():
    metrics[f'info_{name}_mean'] = float(np.mean(values))
  return metrics
