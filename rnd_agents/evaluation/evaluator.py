# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays an episode from each of a list of seeds, and evaluates policies so."""

import operator
from typing import Any, NamedTuple, Tuple

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents.environments import vector_environment
from rnd_agents.evaluation import actors

# An environment without a time limit must not hang an evaluation.
_MAX_EPISODE_STEPS = 200_000


class EndlessEpisode(errors.UserError, RuntimeError):
  """An episode that does not come to its end."""


class PlayedEpisode(NamedTuple):
  """One episode of T steps.

  Attributes:
    episode: Its return, length and outcome, with its seed and its actions.
    time_steps: `TimeStep` of arrays [T + 1, ...], from the FIRST to the LAST;
      () if they were not kept.
    network_states: The actor's state before each time step, as a flat tuple of
      arrays [T + 1, ...]; () if they were not kept.
  """

  episode: vector_environment.Episode
  time_steps: Any
  network_states: Tuple[np.ndarray, ...]


def play(
    environment,
    actor,
    seeds,
    keep_time_steps=False,
    keep_network_states=False,
    should_stop=None,
):
  """Plays one episode from each seed, in rounds of `batch_size` episodes.

  Args:
    environment: A `VectorPyEnvironment`.
    actor: Chooses the actions, see `actors`.
    seeds: A sequence of seeds.
    keep_time_steps: Whether to keep what the environment returned.
    keep_network_states: Whether to keep the states of the actor.
    should_stop: Optional function that is called before each step; True ends
      everything, after the episodes that are complete.

  Yields:
    A `PlayedEpisode` each, in the order of the seeds. Of a round that ends with
    an error, the episodes that are complete come before the error.

  Raises:
    EndlessEpisode: If an episode does not end.
    ActorError, ExpertFailure: As the actor raised it, with step and seeds.
  """

  def kept(time_step, state):
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
    played, error = {}, None
    try:
      _play_round(
          environment,
          actor,
          list(seeds[start : start + size]),
          kept,
          should_stop,
          played,
      )
    except Exception as found:  # pylint: disable=broad-exception-caught
      error = found
    yield from (played[i] for i in sorted(played))
    if error is not None:
      raise error


def _play_round(environment, actor, seeds, kept, should_stop, played):
  """Plays the episode of seeds[i] in environment i, into played[i]."""
  # Environments to spare play along and do not count.
  spare = environment.batch_size - len(seeds)
  time_step = environment.reset_with_seeds(seeds + spare * seeds[-1:])
  environment.pop_episodes()
  state = actor.initial_state(environment.batch_size)
  running = {i: ([], []) for i in range(len(seeds))}  # Actions, frames.
  num_steps = 0
  while running and not should_stop():
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
        # Environments that finish early go on with episodes that do not count.
        if i in running:
          actions, frames = running.pop(i)
          frames.append(_row(frame, i))
          episode = episode._replace(
              seed=seeds[i], actions=_stacked(actions, action)
          )
          played[i] = PlayedEpisode(episode, *_stacked(frames, frame))


def _row(batch, index):
  """Returns one environment's part, flat; a copy, which frees the rest."""
  return [np.array(part[index]) for part in tf.nest.flatten(batch)]


def _stacked(rows, structure):
  """Returns rows of `_row` as arrays [len(rows), ...] in a structure."""
  return tf.nest.pack_sequence_as(
      structure, [np.stack(part) for part in zip(*rows)]
  )


def replay(environment, seed, actions):
  """Yields the time steps of an episode, played from its seed and actions.

  Args:
    environment: A `VectorPyEnvironment` of one environment.
    seed: Of the episode.
    actions: Nest of arrays [T, ...], as the action spec has them.

  Yields:
    The `TimeStep`s, [1, ...]: T + 1, or fewer if the episode ends earlier.
  """
  time_step = environment.reset_with_seeds([seed])
  environment.pop_episodes()
  yield time_step
  for t in range(len(tf.nest.flatten(actions)[0])):
    if time_step.is_last()[0]:
      return
    now = operator.itemgetter(slice(t, t + 1))
    time_step = environment.step(tf.nest.map_structure(now, actions))
    yield time_step


class Evaluator:
  """Plays the same episodes again and again, so that curves are comparable."""

  def __init__(self, environment, policy, seeds, generator=None):
    """Creates the evaluator.

    Args:
      environment: A `VectorPyEnvironment`. With fewer environments than seeds
        the episodes are played in rounds.
      policy: A `TFPolicy`, or what `tf.saved_model.load` returns for one.
      seeds: One episode begins from each; at least one.
      generator: The `tf.random.Generator` of a policy that samples with one:
        each evaluation begins with its state of now.

    Raises:
      ValueError: If there are no seeds.
    """
    self._environment = environment
    self._actor = actors.PolicyActor(policy)
    self._seeds = list(seeds)
    self._generator = generator
    self._generator_state = generator and generator.state.numpy()
    if not self._seeds:
      raise errors.InvalidValue('An evaluation needs at least one seed.')

  @property
  def environment(self):
    """The environment that the episodes are played in."""
    return self._environment

  def run(self):
    """Plays one episode from each seed.

    Returns:
      A list of `Episode`, in the order of the seeds, each with its seed and
      its actions.

    Raises:
      EndlessEpisode: If an episode does not end.
    """
    if self._generator is not None:
      self._generator.reset(self._generator_state)
    return [
        played.episode
        for played in play(self._environment, self._actor, self._seeds)
    ]


def best_episode(episodes):
  """Returns the episode of the highest return; of equals the first.

  Args:
    episodes: A list of `Episode`, at least one.
  """
  return max(episodes, key=lambda episode: episode.return_)


def summarize(episodes, has_told_success=False):
  """Returns statistics of episodes, by metric name.

  Args:
    episodes: A list of `Episode`, at least one.
    has_told_success: Whether earlier ones had a `success_rate`. Then these have
      one, too: the environment reports success, and there was none.

  Returns:
    A dict: `episodes`, `return_mean`, `return_min`, `return_max`,
    `length_mean`, `terminated_rate` (share that ended by itself and not by a
    time limit) and, where an episode reports it, `success_rate` (an episode
    that does not is none), `rooms_visited_mean` and `rooms_visited_max`, and,
    with an `action_repeat`, `length_time_steps_mean`.
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
  return metrics
