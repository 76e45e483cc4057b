# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Curiosity for trainers of other libraries: a Gymnasium vector wrapper."""

from typing import Any

from gymnasium import vector
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import _compat
from rnd_agents import curiosity as curiosity_package
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.environments import gymnasium_spaces

_MODES = (vector.AutoresetMode.NEXT_STEP, vector.AutoresetMode.SAME_STEP)


class CuriousVectorEnv(vector.VectorWrapper):
  """Pays r + c * bonus in place of r, and trains the curiosity that pays it.

  A step adds the transitions of all environments to the curiosity's statistics
  and pays its normalized bonus, as `Curiosity.watch` and `rewards` do for an
  agent that learns from replayed experience. The step of NEXT_STEP autoreset
  that begins an episode pays none, since no action leads there; with SAME_STEP
  the bonus of an episode's last step is of `infos['final_obs']`. After every
  `update_interval` steps the curiosity learns from their transitions.

  `infos['reward']` and `infos['bonus']` hold r and the normalized bonus,
  float64 [B]. The trainer's discount holds for both; only `RNDPPOAgent` has
  returns of their own for the bonus. `curiosity` and `optimizer` are what a
  `tf.train.Checkpoint` has to save.

  Attributes:
    curiosity: The `Curiosity`.
    optimizer: Its optimizer.
  """

  def __init__(
      self,
      env: vector.VectorEnv,
      bonus_coefficient: float = 1.0,
      curiosity_fn: curiosity_lib.CuriosityFn | None = None,
      optimizer: tf.keras.optimizers.Optimizer | None = None,
      update_interval: int = 128,
      num_epochs: int = 4,
      num_minibatches: int = 4,
      seed: int = 0,
  ):
    """Builds the curiosity.

    Args:
      env: Vector environment of B environments, with NEXT_STEP or SAME_STEP
        autoreset.
      bonus_coefficient: c. A higher one explores longer, also what brings no
        reward.
      curiosity_fn: Builds the curiosity from time step spec and action spec;
        None for `create_rnd`.
      optimizer: Trains the curiosity; None for Adam with 1e-3.
      update_interval: Steps between updates. With fewer steps the bonus of what
        was seen falls sooner.
      num_epochs: How often an update passes over its transitions. More let the
        bonus fall faster.
      num_minibatches: Minibatches of an epoch; divides B * update_interval.
      seed: Seed of the global generators of TensorFlow, NumPy and Python, from
        which networks are drawn, and of the shuffling.

    Raises:
      InvalidValue: If a value cannot be used, or `env` has another autoreset.
    """
    super().__init__(env)
    counts = dict(
        update_interval=update_interval,
        num_epochs=num_epochs,
        num_minibatches=num_minibatches,
    )
    ranges.check(
        dict.fromkeys(counts, ranges.COUNT), counts, 'CuriousVectorEnv.'
    )
    ranges.check(
        dict(bonus_coefficient=ranges.FINITE, seed=ranges.COUNT_OR_0),
        dict(bonus_coefficient=bonus_coefficient, seed=seed),
        'CuriousVectorEnv.',
    )
    self._mode = _compat.autoreset_mode(env)
    if self._mode not in _MODES:
      raise errors.InvalidValue(
          'CuriousVectorEnv needs an environment with NEXT_STEP or SAME_STEP'
          f' autoreset, not {self._mode}.'
      )
    if env.num_envs * update_interval % num_minibatches:
      raise errors.InvalidValue(
          'CuriousVectorEnv.num_minibatches must divide the'
          f' {env.num_envs * update_interval} transitions of an update, got'
          f' {num_minibatches}.'
      )
    tf.keras.utils.set_random_seed(seed)
    self._coefficient = bonus_coefficient
    self._interval, self._epochs = int(update_interval), int(num_epochs)
    self._num_minibatches = int(num_minibatches)
    self._generator = np.random.default_rng(seed)
    observation_spec, self._convert = gymnasium_spaces.observation_converter(
        env.single_observation_space
    )
    action_spec, _ = gymnasium_spaces.action_converter(
        env.single_action_space, env.num_envs
    )
    self.curiosity = curiosity_lib.from_function(
        'CuriousVectorEnv.curiosity_fn',
        curiosity_fn or curiosity_package.create_rnd,
        ts.time_step_spec(tensor_spec.from_spec(observation_spec)),
        tensor_spec.from_spec(action_spec),
    )
    if self.curiosity.learns_from_sequences and self._interval < 2:
      raise errors.InvalidValue(
          'CuriousVectorEnv.update_interval must be above 1:'
          f' {type(self.curiosity).__name__} learns from observations some'
          ' steps apart.'
      )
    self.optimizer = optimizer or tf.keras.optimizers.Adam(1e-3)
    self._transitions: list[curiosity_lib.Transitions] = []
    # What the next transition begins with, and where none does.
    self._observation: types.NestedArray = None
    self._is_first = np.ones(env.num_envs, bool)
    self._has_ended = np.zeros(env.num_envs, bool)
    self._pay = tf.function(self._pay_in_graph)
    self._constants = tf.function(self._constants_in_graph)
    self._learn = tf.function(self._learn_in_graph)

  def reset(
      self,
      *,
      seed: int | list[int | None] | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[Any, dict[str, Any]]:
    """Resets all environments."""
    if options and 'reset_mask' in options:
      raise errors.InvalidValue(
          'CuriousVectorEnv resets all environments: leave out reset_mask.'
      )
    observation, infos = self.env.reset(seed=seed, options=options)
    self._observation = self._convert(observation)
    self._is_first = np.ones(self.num_envs, bool)
    self._has_ended = np.zeros(self.num_envs, bool)
    return observation, infos

  def step(
      self, actions: Any
  ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Steps all environments; the rewards hold the bonus."""
    observation, reward, terminated, truncated, infos = self.env.step(actions)
    ends = np.logical_or(terminated, truncated)
    following = self._convert(observation)
    # The next observation of a transition, and whether there is one.
    reached, valid, is_first = following, ~self._has_ended, self._has_ended
    if self._mode == vector.AutoresetMode.SAME_STEP:
      reached, valid, is_first = following, np.ones_like(ends), ends
      if ends.any():
        reached = self._with_final(following, infos['final_obs'], ends)
    transitions = curiosity_lib.Transitions(
        next_observation=reached,
        valid=valid,
        observation=self._observation,
        # Copies: a trainer may write its next actions over these.
        action=tf.nest.map_structure(
            np.array,
            gymnasium_spaces.from_zero(self.single_action_space, actions),
        ),
        is_first=self._is_first,
        next_is_first=~valid,
    )
    bonus, episodic = self._pay(transitions)
    bonus = bonus.numpy().astype(np.float64)
    self._observation, self._is_first = following, is_first
    if self._mode == vector.AutoresetMode.NEXT_STEP:
      self._has_ended = ends
    self._transitions.append(transitions._replace(episodic=episodic))
    if len(self._transitions) == self._interval:
      self._update()
    infos = {**infos, 'reward': reward, 'bonus': bonus}
    total = reward + self._coefficient * bonus
    return observation, total, terminated, truncated, infos

  def _with_final(
      self, following: types.NestedArray, final: np.ndarray, ends: np.ndarray
  ) -> types.NestedArray:
    """Returns observations with those of the end where episodes end."""
    space = self.single_observation_space
    rows = [final[i] for i in np.flatnonzero(ends)]
    empty = vector.utils.create_empty_array(space, len(rows))
    batch = vector.utils.concatenate(space, rows, empty)

    def place(array: np.ndarray, last: np.ndarray) -> np.ndarray:
      array = array.copy()
      array[ends] = last
      return array

    return tf.nest.map_structure(place, following, self._convert(batch))

  def _pay_in_graph(
      self, transitions: curiosity_lib.Transitions
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    """Returns the normalized bonus [B] and the episodic part of it."""
    transitions = _as_tensors(transitions)
    episodic = self.curiosity.watch(transitions)
    transitions = transitions._replace(episodic=episodic)
    return self.curiosity.rewards(transitions), episodic

  def _update(self) -> None:
    """Trains the curiosity on the transitions since the last update."""
    rows, self._transitions = self._transitions, []
    if not self.curiosity.trainable_variables:
      return
    # [T, B, ...]
    stacked = tf.nest.map_structure(
        lambda *x: np.stack([np.asarray(each) for each in x]), *rows
    )
    # Before they are shuffled: ETD looks for later steps.
    constants = self._constants(
        tf.nest.map_structure(lambda x: np.swapaxes(x, 0, 1), stacked)
    )
    merged = tf.nest.map_structure(
        lambda x: np.reshape(x, [-1, *x.shape[2:]]),
        (
            stacked,
            tf.nest.map_structure(
                lambda x: np.swapaxes(x.numpy(), 0, 1), constants
            ),
        ),
    )
    size = stacked.valid.size
    for _ in range(self._epochs):
      order = self._generator.permutation(size)
      for part in np.split(order, self._num_minibatches):
        self._learn(
            *tf.nest.map_structure(lambda x, part=part: x[part], merged)
        )

  def _constants_in_graph(
      self, transitions: curiosity_lib.Transitions
  ) -> types.NestedTensor:
    return self.curiosity.constants(_as_tensors(transitions))

  def _learn_in_graph(
      self,
      transitions: curiosity_lib.Transitions,
      constants: types.NestedTensor,
  ) -> None:
    variables = self.curiosity.trainable_variables
    with tf.GradientTape() as tape:
      loss = self.curiosity.loss(
          _as_tensors(transitions), constants=_as_tensors(constants)
      )
    gradients = tape.gradient(loss, variables)
    self.optimizer.apply_gradients(zip(gradients, variables))


def _as_tensors(nest: Any) -> Any:
  """Returns tensors, also where functions run eagerly."""
  return tf.nest.map_structure(
      lambda x: None if x is None else tf.convert_to_tensor(x), nest
  )
