# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Archive exploration: return to a cell, then explore from there.

Source: Ecoffet et al., "Go-Explore", 2019 (arXiv 1901.10995), and "First
return, then explore", 2021 (Nature 590). An iteration chooses a cell for each
environment, puts the environments back, lets them act for a number of steps,
and offers every state on the way to the archive.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
import dataclasses
from typing import Any

from absl import logging
import gymnasium
from gymnasium import vector
import numpy as np

from rnd_agents import errors
from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import returning
from rnd_agents.environments import gymnasium_spaces

ActFn = Callable[[Any], np.ndarray]
NoveltyFn = Callable[[Any], np.ndarray]


@dataclasses.dataclass
class _Rollout:
  """An environment that acts; `pending` holds the actions since `node`."""

  world: int
  node: int
  score: float
  length: int
  observation: Any
  pending: list[Any] = dataclasses.field(default_factory=list)
  action: Any = None
  ended: bool = False


class Explorer:
  """Fills an archive.

  Equal seeds give equal archives, also where `get_state` and `set_state` pass
  an exploration from one Explorer to another between two iterations, unless
  `act` or `novelty` remember something.

  Attributes:
    archive: The `archive.Archive`.
    returner: Puts environments back.
    env: The first environment.
  """

  def __init__(
      self,
      envs: Sequence[gymnasium.Env],
      returner: returning.Returner,
      archive: archive_lib.Archive,
      seed: int,
      num_worlds: int = 1,
      steps_per_visit: int = 100,
      repeat_probability: float = 0.0,
      target_score: float | None = None,
      act: ActFn | None = None,
      act_probability: float = 1.0,
      novelty: NoveltyFn | None = None,
  ):
    """Creates an Explorer; `begin` or `set_state` comes next.

    Args:
      envs: The single environments of `returner`.
      returner: Puts them back.
      archive: An empty archive, to be filled.
      seed: Seed of the choice of cells and actions.
      num_worlds: How many episode seeds of `returner` are explored.
      steps_per_visit: Steps from each chosen cell, or to the episode's end.
      repeat_probability: Probability that a random action repeats the one
        before.
      target_score: Worlds that have reached it are not explored any more.
      act: Takes observations [B, ...], as the environment's spec has them, and
        returns actions [B]. Before each iteration its `reset()` is called, if
        it has one. None explores at random.
      act_probability: Probability that a step takes the action of `act`, not a
        random one.
      novelty: Takes observations [n, ...] and returns numbers [n], not
        negative: the factor of a cell's weight is that of its latest visit.
        Called once an iteration, with all observations of that iteration. Its
        `get_state()`, plain data, and `set_state(state)` are called if it has
        them.
    """
    self.archive = archive
    self.returner = returner
    self._num_worlds = num_worlds
    self._steps_per_visit = steps_per_visit
    self._repeat_probability = repeat_probability
    self._target_score = target_score
    self._act = act
    self._act_probability = act_probability
    self._novelty = novelty
    self.env = envs[0]
    self._num_environments = len(envs)
    self._rng = np.random.default_rng(seed)
    _, self._convert = gymnasium_spaces.observation_converter(
        envs[0].observation_space
    )
    _, self._convert_action = gymnasium_spaces.action_converter(
        envs[0].action_space, self._num_environments
    )

  def begin(self) -> None:
    """Puts the beginning of each world into the archive."""
    for world in range(self._num_worlds):
      observation = self.returner.reset(0, world)
      node = self.archive.add_world(self.returner.key(0, observation))
      self.returner.keep(0, node, observation)
      logging.log_every_n_seconds(
          logging.INFO,
          'The first cell of %d of %d worlds.',
          10,
          world + 1,
          self._num_worlds,
      )

  def iterations(self) -> Iterator[int]:
    """Yields the environment steps of each iteration; ends if all is solved.

    Steps that put environments back are in `returner.replayed_env_steps`
    instead.
    """
    while True:
      cells = self.archive.choose(
          self._num_environments, self._rng, self._target_score
      )
      if not len(cells):
        return
      num_env_steps = self._explore_from(cells)
      if self.archive.sweep():
        self.returner.forget_removed()
      yield num_env_steps

  def get_state(self) -> dict[str, Any]:
    """Returns the state of archive, generator and novelty as plain data."""
    state = dict(
        archive=self.archive.get_state(), rng=self._rng.bit_generator.state
    )
    self.returner.forget_removed()  # The archive has removed some nodes.
    if self._novelty and hasattr(self._novelty, 'get_state'):
      state['novelty'] = self._novelty.get_state()
    return state

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores the state of `get_state`."""
    self.archive.set_state(state['archive'])
    self._rng.bit_generator.state = state['rng']
    if self._novelty and hasattr(self._novelty, 'set_state'):
      self._novelty.set_state(state['novelty'])

  def _explore_from(self, cells: np.ndarray) -> int:
    """Acts from each of the chosen cells [B]; returns the number of steps."""
    archive = self.archive
    rollouts = [
        _Rollout(
            world=int(archive.column('world')[cell]),
            node=int(archive.column('node')[cell]),
            score=float(archive.column('score')[cell]),
            length=int(archive.column('length')[cell]),
            observation=self.returner.put_back(index, cell),
        )
        for index, cell in enumerate(cells)
    ]
    if self._act and hasattr(self._act, 'reset'):
      self._act.reset()
    # Cells and what they look like, for their novelty.
    seen = list(cells)
    observations = [rollout.observation for rollout in rollouts]
    num_env_steps = 0
    for _ in range(self._steps_per_visit):
      self._choose_actions(rollouts)
      for index, rollout in enumerate(rollouts):
        if rollout.ended:
          continue
        key = self._step(index, rollout)
        num_env_steps += 1
        cell = archive.cell_of(rollout.world, key)
        if self._novelty is not None and cell is not None:  # None: it is full.
          seen.append(cell)
          observations.append(rollout.observation)
      if all(rollout.ended for rollout in rollouts):
        break
    if self._novelty is not None:
      novelty = self._novelty_of(self._novelty, observations)
      archive.set_novelty(np.array(seen), novelty)
    return num_env_steps

  def _novelty_of(
      self, novelty_fn: NoveltyFn, observations: list[Any]
  ) -> np.ndarray:
    """Returns the novelty of a list of observations, [n]."""
    novelty = np.asarray(novelty_fn(self._batch(observations)), np.float64)
    if novelty.shape != (len(observations),) or not np.all(
        np.isfinite(novelty) & (novelty >= 0.0)
    ):
      raise errors.InvalidValue(
          'The novelty function must return a finite number at least 0 for each'
          f' observation, [{len(observations)}], not {list(novelty.shape)} from'
          f' {novelty.min()} to {novelty.max()}.'
      )
    return novelty

  def _step(self, index: int, rollout: _Rollout) -> Hashable | None:
    """Steps one environment and offers the state; returns its key."""
    observation, reward, ended = self.returner.step(index, rollout.action)
    rollout.observation = observation
    rollout.score += reward
    rollout.length += 1
    rollout.ended = ended
    rollout.pending.append(rollout.action)
    key = archive_lib.ENDED if ended else self.returner.key(index, observation)
    node = self.archive.offer(
        rollout.world,
        key,
        rollout.node,
        self.returner.actions.pack(rollout.pending),
        rollout.score,
        rollout.length,
    )
    if node is not None:
      rollout.node, rollout.pending = node, []
      if not ended:
        self.returner.keep(index, node, observation)
    return key

  def _choose_actions(self, rollouts: list[_Rollout]) -> None:
    """Sets the next action of each rollout."""
    rng, actions = self._rng, None
    if self._act is not None:
      batch = self._batch([rollout.observation for rollout in rollouts])
      actions = self._convert_action(self._act(batch))
    for index, rollout in enumerate(rollouts):
      if rollout.ended:
        continue
      if actions is not None and rng.random() < self._act_probability:
        rollout.action = actions[index]
      elif (
          rollout.action is None or rng.random() >= self._repeat_probability
      ):
        rollout.action = self.returner.actions.sample(rng)

  def _batch(self, observations: list[Any]) -> Any:
    """Returns observations as one batch of the environment's spec."""
    # As a vector environment does: one of a Box may be a list of numbers.
    space = self.env.observation_space
    empty = vector.utils.create_empty_array(space, len(observations))
    return self._convert(vector.utils.concatenate(space, observations, empty))
