# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays the same episodes several times: seeds, resets, instances."""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import gymnasium
import numpy as np

from rnd_agents.environments.checks import episodes
from rnd_agents.environments.checks import rules
from rnd_agents.environments.checks import values

# Seeds, and episodes of one stream, of which one at least must differ. An
# environment of two starts looks as if it had one in 1 of 2^8 checks.
_NUM_SEEDS = 8
# Steps of the episode that a reset cuts short.
_CUT_STEPS = 7
# What a difference may be, relative or absolute, to be called rounding.
_ROUNDING = 1e-4


class Moment(NamedTuple):
  """What a reset or a step gave.

  Attributes:
    observation: (name, part) of each part, copied.
    reward: 0 after a reset.
    ends: terminated and truncated, False after a reset.
  """

  observation: Tuple[Tuple[str, Any], ...]
  reward: Any
  ends: Tuple[Any, Any]


class Difference(NamedTuple):
  """Where two episodes part.

  Attributes:
    what: step, part and the two values, in words.
    is_rounding: whether the two are floating and nearly equal.
  """

  what: str
  is_rounding: bool


class Player:
  """Plays episodes and keeps what they gave."""

  def __init__(self, max_steps: int, findings: rules.Findings):
    """Creates a Player.

    Args:
      max_steps: that an episode is played at most.
      findings: for exceptions.
    """
    self._max_steps = max_steps
    self._findings = findings

  def play(
      self,
      env: gymnasium.Env,
      seed: Optional[int],
      action_seed: int,
      other: Optional[gymnasium.Env] = None,
      max_steps: Optional[int] = None,
  ) -> List[Moment]:
    """Plays an episode.

    Args:
      env: to play.
      seed: for its reset.
      action_seed: equal ones give equal actions.
      other: an environment to step in turns with it, with other actions.
      max_steps: less than the player's own.

    Returns:
      What the reset and each step gave.
    """
    actions = episodes.sample_actions(env.action_space, action_seed)
    rival = None
    if other is not None:
      rival = self._keep_stepping(other, action_seed + 1)
      next(rival)
    observation, _ = self._call(env.reset, seed=seed, options=None)
    moments = [_moment(observation, 0.0, False, False)]
    for action in actions:
      if rival is not None:
        next(rival)
      observation, reward, terminated, truncated, _ = self._call(
          env.step, action
      )
      moments.append(_moment(observation, reward, terminated, truncated))
      ended = np.any(terminated) or np.any(truncated)
      if ended or len(moments) > (max_steps or self._max_steps):
        return moments

  def _keep_stepping(self, env, seed):
    """Steps `env`, and resets it where it ends, at each next()."""
    self._call(env.reset, seed=seed, options=None)
    yield
    for action in episodes.sample_actions(env.action_space, seed):
      _, _, terminated, truncated, _ = self._call(env.step, action)
      if np.any(terminated) or np.any(truncated):
        self._call(env.reset, seed=None, options=None)
      yield

  def _call(self, function, *args, **kwargs):
    where = f'{function.__name__} while episodes were repeated'
    return episodes.call(self._findings, where, function, *args, **kwargs)


def check_repeats(
    make: Callable[[], gymnasium.Env],
    seed: int,
    max_steps: int,
    findings: rules.Findings,
) -> None:
  """Checks what depends on seeds, resets and other instances.

  Args:
    make: returns a new environment.
    seed: of the episodes.
    max_steps: of an episode that are compared.
    findings: to add to.

  Raises:
    StopChecking: the environment raised.
  """
  first, second = make(), make()
  try:
    player = Player(max_steps, findings)
    episode = player.play(first, seed, seed)
    difference = first_difference(episode, player.play(second, seed, seed))
    if difference:
      _report(
          findings,
          'seed-repeats',
          f'Two instances, both reset with seed {seed} and given the same '
          'actions',
          difference,
      )
      return
    _check_resets(player, first, seed, episode, findings)
    _check_streams(player, make, first, second, seed, episode, findings)
    difference = first_difference(
        episode, player.play(first, seed, seed, other=second)
    )
    if difference and not _resets_leave_something(findings):
      _report(
          findings,
          'shared-state',
          'The same episode, while another instance was stepped in turns',
          difference,
      )
  finally:
    episodes.close_quietly(first)
    episodes.close_quietly(second)


def first_difference(
    first: List[Moment], second: List[Moment]
) -> Optional[Difference]:
  """Returns where two episodes part, or None."""
  for step, (a, b) in enumerate(zip(first, second)):
    where = f'at step {step}' if step else 'at the reset'
    names = [name for name, _ in a.observation]
    if names != [name for name, _ in b.observation]:
      return Difference(f'{where} the observations have other parts', False)
    pairs = [
        (name, x, y)
        for (name, x), (_, y) in zip(a.observation, b.observation)
    ]
    pairs.append(('the reward', a.reward, b.reward))
    pairs += zip(('terminated', 'truncated'), a.ends, b.ends)
    for name, x, y in pairs:
      if not values.equal(x, y):
        return Difference(
            f'{where} {name} {_contrast(x, y)}', _is_rounding(x, y)
        )
  return None


def _report(findings, rule, what, difference):
  """Adds a finding of `rule`, or of rounding if it is no more than that."""
  if difference.is_rounding:
    rule = 'rounding'
  findings.add(rule, f'{what}: {difference.what}.')


def _check_resets(player, env, seed, episode, findings):
  """Checks that an episode does not depend on those before it."""
  for name, before in (
      ('a whole episode', None),
      ('an episode that was cut short', _CUT_STEPS),
  ):
    if before is not None:
      player.play(env, seed + 1, seed + 1, max_steps=before)
    difference = first_difference(episode, player.play(env, seed, seed))
    if difference:
      _report(
          findings,
          'reset-clears',
          f'reset(seed={seed}) after {name}, and the same actions',
          difference,
      )
      return


def _resets_leave_something(findings):
  return findings.has('reset-clears') or findings.has('rounding')


def _check_streams(player, make, first, second, seed, episode, findings):
  """Checks that seeds matter, and that episodes go on from them."""
  if _resets_leave_something(findings):
    return
  others = (
      player.play(first, seed + i, seed) for i in range(1, _NUM_SEEDS + 1)
  )
  if all(first_difference(episode, other) is None for other in others):
    findings.add(
        'seeds-equal',
        f'The seeds {seed} to {seed + _NUM_SEEDS} gave one and the same '
        'episode for the same actions.',
    )
    return
  for env in (first, second):
    player.play(env, seed, seed)
  follow = []
  while not follow or first_difference(episode, follow[-1]) is None:
    if len(follow) == _NUM_SEEDS:
      findings.add(
          'stream-varies',
          f'After reset(seed={seed}), {_NUM_SEEDS} times reset() gave the same '
          'episode again.',
      )
      return
    follow.append(player.play(first, None, seed))
  for other in follow:
    difference = first_difference(other, player.play(second, None, seed))
    if difference:
      _explain_stream(player, make, seed, difference, findings)
      return


def _explain_stream(player, make, seed, difference, findings):
  """Tells streams that do not repeat from resets that do not clear."""
  fresh = [make(), make()]
  follow = []
  for env in fresh:
    player.play(env, seed, seed)
    follow.append(player.play(env, None, seed))
    episodes.close_quietly(env)
  of_fresh = first_difference(*follow)
  if of_fresh:
    _report(
        findings,
        'stream-repeats',
        f'Two instances, both reset with seed {seed} and then without',
        of_fresh,
    )
  else:
    _report(
        findings,
        'reset-clears',
        f'An episode after that of seed {seed}, in two instances that had '
        'played other episodes before',
        difference,
    )


def _moment(observation, reward, terminated, truncated):
  parts = tuple(
      (name, np.array(part) if isinstance(part, np.ndarray) else part)
      for name, part in values.leaves(observation)
  )
  return Moment(parts, reward, (terminated, truncated))


def _is_rounding(first, second):
  """Returns whether two parts are floating and nearly equal."""
  first, second = np.asarray(first), np.asarray(second)
  return (
      first.dtype.kind == second.dtype.kind == 'f'
      and first.shape == second.shape
      and np.allclose(first, second, _ROUNDING, _ROUNDING)
  )


def _contrast(first, second):
  """Returns in words how two parts differ."""
  if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
    if first.shape != second.shape:
      return f'had shape {first.shape}, and then {second.shape}'
    if first.size > 1:
      index = tuple(int(i) for i in np.argwhere(first != second)[0])
      return (
          f'was {first[index]!s} at index {index}, and then {second[index]!s}'
      )
  return f'was {first!s}, and then {second!s}'
