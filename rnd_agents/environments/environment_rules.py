# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules of the environment checker; plays episodes and finds broken rules."""

import collections
from collections.abc import Iterator
import contextlib
import copy
import itertools
import os
import traceback
from typing import Any, NamedTuple

import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors

# A fault makes training wrong or impossible, a warning does so in some uses, a
# note may be harmless.
LEVELS = FAULT, WARNING, NOTE = 'fault', 'warning', 'note'
# Level of each rule, and how to repair what breaks it; docs/environments.md
# gives the reasons.
RULES = {
    'gymnasium': (
        FAULT, "See the message, which is of Gymnasium's check_env."),
    'adapter': (
        FAULT, 'See the message. Environments of the package gym are adapted;'
        ' others derive from gymnasium.Env.'),
    'agent': (
        FAULT, 'See the message; convert the space in a wrapper.'),
    'raises': (
        FAULT, 'Let reset take seed and options and return 2 values, step every'
        ' action of the space and return 5, or wrap it in'
        ' interface.adapt_old_interface; let close do nothing the second'
        ' time.'),
    'action-unchanged': (FAULT, 'Work on a copy: action = np.array(action).'),
    'observation-copy': (
        FAULT, 'Return self._state.copy(): frame stacks and lists of'
        ' demonstrations keep what they are given.'),
    'observation-changes': (
        NOTE, 'Show what the agent has to know. RescaleObservation keeps bytes,'
        ' so that pictures from 0 to 1 are black: leave it out, since networks'
        ' divide by 255.'),
    'observation-scale': (
        WARNING, 'Set normalize_observations = True of RNDPPOAgent, R2D3Agent'
        ' or create_curious_agent, or scale it in a wrapper.'),
    'episode-end': (
        WARNING, 'Give a time limit: load_environment(...,'
        ' max_episode_steps=N).'),
    'time-limit': (
        NOTE, 'If it is a limit, report truncated alone, or cut one step before'
        ' it: load_environment(..., max_episode_steps=N - 1). If the task ends'
        ' there, nothing is wrong.'),
    'text': (
        NOTE, 'If the text says what to do, encode it as numbers in a wrapper;'
        " MiniGrid's missions: load_minigrid.mission = 'words'."),
    'action-mask': (
        NOTE, 'If it says which actions are allowed, name it:'
        ' load_environment.action_mask_key, and --action_mask_key of the'
        ' checker.'),
    'seed-repeats': (
        FAULT, 'Call super().reset(seed=seed) in reset, draw from'
        ' self.np_random only, and seed the simulator within.'),
    'reset-clears': (
        FAULT, 'Set what step changes in reset, not in the constructor.'),
    'shared-state': (
        FAULT, 'Keep state in self: no mutable class attributes, module'
        ' variables or global generators.'),
}

# Observations kept to see whether they change: more than any frame stack.
_KEPT = 16
# Characters of a value in a message.
_BRIEF = 80


class StopChecking(Exception):
  """The environment cannot be played any further; a finding says why."""


class Findings(dict[str, str]):
  """The first broken case of each rule, by the name of the rule."""

  def add(self, rule: str, what: str) -> None:
    """Adds a case of a broken rule, unless it has one."""
    self.setdefault(rule, what)

  def has_faults(self) -> bool:
    """Returns whether a rule of level FAULT is broken, accepted or not."""
    return any(RULES[rule][0] == FAULT for rule in self)

  @contextlib.contextmanager
  def of(self, rule: str, where: str = '') -> Iterator[None]:
    """Adds the error that the block raises as a finding of `rule`."""
    try:
      yield
    except Exception as error:  # Whatever an environment may raise.
      self.add(rule, where + _described(error.__cause__ or error))


class Moment(NamedTuple):
  """Copy of the results of one step of an episode; step 0 is the reset."""

  step: int
  observation: Any
  reward: Any = 0.0
  terminated: Any = False
  truncated: Any = False

  @property
  def ended(self) -> bool:
    """Whether the episode ends here."""
    return bool(np.any(self.terminated) or np.any(self.truncated))


class WatchedEpisodes:
  """Plays an environment and checks that nothing changes that must not."""

  def __init__(self, env: gymnasium.Env, findings: Findings, action_seed: int):
    """Creates a WatchedEpisodes; `action_seed` is that of `record`."""
    self.env = env
    self._findings = findings
    self._action_seed = action_seed
    # (where, observation, its copy)
    self._kept: collections.deque[tuple[str, Any, Any]] = collections.deque(
        maxlen=_KEPT
    )
    self._num_episodes = 0

  def play(self, seed: int | None, action_seed: int) -> Iterator[Moment]:
    """Yields the reset and the steps of one episode of random actions.

    Raises:
      StopChecking: If the environment raised an error, or did not return 2 or
        5 values.
    """
    episode = f'episode {self._num_episodes}'
    self._num_episodes += 1
    actions = copy.deepcopy(self.env.action_space)  # Its own generator stays.
    actions.seed(action_seed)
    where = f'the reset of {episode}'
    with self._raising(where):
      observation, _ = self.env.reset(seed=seed, options=None)
    moment = Moment(0, self._watched(where, observation))
    yield moment
    while not moment.ended:
      where = f'step {moment.step + 1} of {episode}'
      action = actions.sample()
      given = copy.deepcopy(action)
      with self._raising(f'{where} (action {brief(action)})'):
        observation, reward, terminated, truncated, _ = self.env.step(action)
      moment = Moment(
          moment.step + 1,
          self._watched(where, observation),
          *copy.deepcopy((reward, terminated, truncated)),
      )
      if not equal(given, action):
        self._findings.add(
            'action-unchanged',
            f'{where}: the action was {brief(given)}, and is {brief(action)}.',
        )
      yield moment

  def record(
      self,
      *seeds: int | None,
      max_steps: int,
      rival: Iterator[Moment] | None = None,
  ) -> list[Moment]:
    """Plays an episode for each seed; returns the moments of all.

    Args:
      *seeds: Seeds of the resets. The random actions are the same for each.
      max_steps: Largest number of steps of an episode.
      rival: Moments of another environment, which is stepped in turns.
    """
    moments: list[Moment] = []
    for seed in seeds:
      episode = self.play(seed, self._action_seed)
      if rival is not None:
        episode = (moment for moment, _ in zip(episode, rival))
      moments += itertools.islice(episode, max_steps + 1)
    return moments

  @contextlib.contextmanager
  def _raising(self, where: str) -> Iterator[None]:
    """Stops the check if the block raises."""
    with self._findings.of('raises', f'{where} raised '):
      yield
      return
    raise StopChecking

  def _watched(self, where: str, observation: Any) -> Any:
    """Returns a copy; checks that earlier observations have not changed."""
    for given, kept, its_copy in self._kept:
      if not equal(kept, its_copy):
        self._findings.add(
            'observation-copy',
            f'the observation of {given} has changed after {where}.',
        )
    copied = copy.deepcopy(observation)
    self._kept.append((where, observation, copied))
    return copied


def first_difference(first: list[Moment], second: list[Moment]) -> str | None:
  """Returns where two recordings differ; None if they are equal."""
  for moment, other in zip(first, second):
    for name, value, its in zip(Moment._fields, moment, other):
      if not equal(value, its):
        return (
            f'at step {moment.step} {name} was {brief(value)}, and then '
            f'{brief(its)}'
        )
  return None


def misfits(space: spaces.Space, value: Any, name: str) -> list[str]:
  """Returns a sentence for each entry of a value that is not in its space."""
  if isinstance(space, spaces.Dict) and isinstance(value, dict):
    keys = list(space.spaces)
    found = [f'{name}/{key} is missing' for key in keys if key not in value]
    found += [f'{name} has {key!r}, which the space lacks'
              for key in value if key not in space.spaces]
    parts = [(key, value[key]) for key in keys if key in value]
    return found + [
        sentence
        for key, part in parts
        for sentence in misfits(space[key], part, f'{name}/{key}')
    ]
  if isinstance(space, spaces.Tuple) and isinstance(value, (list, tuple)):
    if len(value) != len(space.spaces):
      return [f'{name} has {len(value)} parts, not {len(space.spaces)}']
    return [
        sentence
        for i, part in enumerate(value)
        for sentence in misfits(space[i], part, f'{name}/{i}')
    ]
  if space.contains(value):
    return []
  if not isinstance(value, (np.ndarray, np.generic)):
    said = f'{type(value).__name__} {brief(value)}'
  elif not np.can_cast(value.dtype, space.dtype or value.dtype):
    said = str(value.dtype)
  elif value.shape != space.shape:
    said = f'of shape {value.shape}'
  else:
    said = brief(value)
  return [f'{name} is {said}, not in {brief(space)}']


def brief(value: Any) -> str:
  """Returns a value as one line."""
  text = ' '.join(str(value).split())
  return text if len(text) <= _BRIEF else f'{text[:_BRIEF]}...'


def _described(error: BaseException) -> str:
  """Returns the type, the message and the place of an exception."""
  frame = traceback.extract_tb(error.__traceback__)[-1]
  place = f'{os.path.basename(frame.filename)}:{frame.lineno}'
  return f'{type(error).__name__}: {errors.message_of(error)} ({place})'


def equal(nest: Any, other: Any) -> bool:
  """Returns whether two nests of arrays are equal; NaN equals NaN."""
  # Keys of several types have no order, in which TensorFlow would take them.
  if isinstance(nest, dict) and isinstance(other, dict):
    return nest.keys() == other.keys() and all(
        equal(part, other[key]) for key, part in nest.items()
    )
  if isinstance(nest, (list, tuple)) and isinstance(other, (list, tuple)):
    return len(nest) == len(other) and all(map(equal, nest, other))
  part, its = np.asarray(nest), np.asarray(other)
  is_floating = part.dtype.kind == its.dtype.kind == 'f'
  return np.array_equal(part, its, equal_nan=is_floating)
