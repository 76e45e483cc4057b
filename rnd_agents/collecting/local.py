# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A collector in the process that it is made in, with TF-Agents' driver.

And the policies that it collects with, whose random numbers are part of a
checkpoint.
"""

from collections.abc import Iterator, Sequence
import contextlib
import functools
import time
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import py_environment
from tf_agents.environments import tf_py_environment
from tf_agents.policies import tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
import tree

from rnd_agents import _compat
from rnd_agents import action_masks
from rnd_agents import action_ranges
from rnd_agents import graph_calls
from rnd_agents import random_numbers
from rnd_agents.collecting import collector
from rnd_agents.environments import failures
from rnd_agents.evaluation import visits


class LocalCollector(collector.Collector):
  """Steps the environments of a shard in this process."""

  def __init__(self, recipe: collector.Recipe):
    """Makes the environments; the policy is made when it is first needed.

    Args:
      recipe: Says how to make the environments and the policy.

    Raises:
      EnvironmentFailure: If an environment fails.
    """
    self._recipe = recipe
    self._environment = recipe.make_environment()
    self._tf_environment = tf_py_environment.TFPyEnvironment(self._environment)
    self._generator = tf.random.Generator.from_seed(
        int(recipe.action_seed) >> 1
    )
    # In one call, which takes a tenth of the time of one call a variable.
    self._assign = graph_calls.GraphCall(self._assign_in_graph)
    self._steps: _Steps | None = None
    # NumPy; None for the initial one.
    self._policy_state: types.NestedArray | None = None
    # Last row [B, ...] of the rollout before; None after a reset.
    self._last_row: trajectory.Trajectory | None = None
    self._env_steps = 0
    self._has_said_why = False
    self._visits: visits.VisitCounts | None = visits.VisitCounts(
        self._environment.observation_spec(), self._environment.name
    )
    self._environment.add_step_observer(self._count_visits)

  @property
  def specs(self) -> collector.Specs:
    return specs_of(self._environment)

  @property
  def num_environments(self) -> int:
    return self._environment.batch_size

  @functools.cached_property
  def _policy(self) -> tf_policy.TFPolicy:
    return self._recipe.make_policy(self.specs, self.num_environments)

  def close(self) -> None:
    close(self._environment)
    _compat.release_environment(self._tf_environment)

  def reset(self) -> None:
    with self._environment_failures():
      self._tf_environment.reset()
    self._environment.pop_episodes()
    self._last_row = self._policy_state = None

  # ---------------------------------------------------------------------------
  # Collecting.

  def collect(
      self,
      variables: collector.Variables | None,
      num_steps: int,
      is_uniform: bool = False,
  ) -> collector.Rollout:
    policy = self._policy
    if variables is not None:
      self._assign(variables)
    steps = self._steps_for(num_steps + 1, is_uniform)
    if self._policy_state is None:
      self._policy_state = as_numpy(
          policy.get_initial_state(self.num_environments)
      )
    num_old_rows = int(self._last_row is not None)
    begun_s = time.perf_counter()
    with self._environment_failures():
      rows, self._policy_state = steps.take(
          num_steps + 1 - num_old_rows, self._policy_state, self._last_row
      )
    driver_time_s = time.perf_counter() - begun_s
    environment_time_s = self._environment.pop_step_time_s()
    self._last_row = tf.nest.map_structure(lambda x: x[:, -1].copy(), rows)
    rollout = collector.Rollout(
        rows,
        num_old_rows,
        self._environment.pop_episodes(),
        environment_time_s,
        driver_time_s - environment_time_s,
    )
    self._env_steps += rollout.num_env_steps
    return rollout

  def _steps_for(self, num_rows: int, is_uniform: bool) -> '_Steps':
    """Returns a driver that can make so many rows; builds it if necessary."""
    steps = self._steps
    if steps is None or (
        steps.is_uniform != is_uniform or steps.max_rows < num_rows
    ):
      steps = self._steps = None  # Its buffer of frames is large.
      policy = seeded_policy(self._policy, self._generator, is_uniform)
      steps = _Steps(self._tf_environment, policy, num_rows, is_uniform)
      self._steps = steps
    return steps

  def _assign_in_graph(self, values: Sequence[tf.Tensor]) -> None:
    for variable, value in zip(self._policy.variables(), values, strict=True):
      variable.assign(value)

  @contextlib.contextmanager
  def _environment_failures(self) -> Iterator[None]:
    """Raises an environment's failure in place of TensorFlow's text of it."""
    try:
      yield
    except Exception as error:
      if self._environment.failure is not None:
        raise self._environment.failure from error
      raise

  # ---------------------------------------------------------------------------
  # Visited states.

  def _count_visits(
      self, time_step: ts.TimeStep, infos: dict[str, Any]
  ) -> None:
    if self._visits is None:
      return
    try:
      self._visits.observe(time_step, infos)
    except Exception as error:  # pylint: disable=broad-exception-caught
      # A picture is not worth a run.
      logging.warning('No heat map: %s', error, exc_info=True)
      self._visits = None

  def visits(self) -> dict[str, Any] | None:
    return None if self._visits is None else self._visits.state()

  # ---------------------------------------------------------------------------
  # Saving and resuming.

  def get_state(self) -> dict[str, Any]:
    return dict(
        environment=self._environment_state(),
        generator=self._generator.state.numpy(),
        last_row=self._last_row,
        policy_state=self._policy_state,
        env_steps=self._env_steps,
        visits=self.visits(),
    )

  def _environment_state(self) -> dict[str, Any] | None:
    """Returns the episodes in progress; None if they cannot be saved."""
    try:
      return self._environment.get_state()
    except NotImplementedError as error:
      if not self._has_said_why:
        self._has_said_why = True
        logging.info('A resumed run will begin new episodes: %s', error)
      return None

  def set_state(self, state: dict[str, Any]) -> bool:
    self._generator.reset(state['generator'])
    self._env_steps = state['env_steps']
    if self._visits is not None and state['visits'] is not None:
      self._visits.restore(state['visits'])
    try:
      if state['environment'] is None:
        raise failures.StateNotRestored('It was not saved.')
      self._environment.set_state(state['environment'])
      # This reset returns the restored time step; the next begins episodes.
      self._tf_environment.reset()
    except (
        NotImplementedError,
        failures.StateNotRestored,
        failures.EnvironmentFailure,
    ) as error:
      self._begin_other_episodes()
      logging.warning(
          'Cannot continue the episodes in progress; new ones begin. %s', error
      )
      return False
    self._last_row = state['last_row']
    self._policy_state = state['policy_state']
    return True

  def _begin_other_episodes(self) -> None:
    """Makes the next reset begin episodes that were not played yet."""
    self._environment.failure = None
    seed = np.random.SeedSequence(
        (int(self._recipe.action_seed), self._env_steps)
    )
    self._environment.begin_other_episodes(
        int(seed.generate_state(1)[0]) % 2**30
    )


class _Steps:
  """A driver with a buffer for the rows that it makes."""

  def __init__(
      self,
      tf_environment: tf_py_environment.TFPyEnvironment,
      policy: tf_policy.TFPolicy,
      max_rows: int,
      is_uniform: bool,
  ):
    self.max_rows = max_rows
    self.is_uniform = is_uniform
    self._buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        policy.trajectory_spec,
        batch_size=tf_environment.batch_size,
        max_length=max_rows,
    )
    self._driver = dynamic_step_driver.DynamicStepDriver(
        tf_environment,
        policy,
        observers=[self._buffer.add_batch],
        # Out of reach: `take` says how many rows to make, so that every rollout
        # has the same shape however its episodes end.
        num_steps=tf_environment.batch_size * (max_rows + 1),
    )
    # Apart, so that `_take`, which takes long to trace, has one trace.
    self._begin = graph_calls.GraphCall(self._begin_in_graph)
    self._take = graph_calls.GraphCall(self._take_in_graph)

  def take(
      self,
      num_rows: int,
      policy_state: types.NestedArray,
      first_row: trajectory.Trajectory | None = None,
  ) -> tuple[trajectory.Trajectory, types.NestedArray]:
    """Steps the environments for some rows.

    Args:
      num_rows: Number of rows to make.
      policy_state: State of the policy before them, of NumPy arrays.
      first_row: Row [B, ...] that comes before them, of NumPy arrays; None for
        none.

    Returns:
      A tuple (rows [B, N, ...], policy state) of NumPy arrays.
    """
    self._begin(first_row)
    return as_numpy(self._take(tf.constant(num_rows), policy_state))

  def _begin_in_graph(self, first_row: trajectory.Trajectory | None) -> None:
    self._buffer.clear()
    if first_row is not None:
      self._buffer.add_batch(first_row)

  def _take_in_graph(
      self, num_rows: tf.Tensor, policy_state: types.NestedTensor
  ) -> tuple[trajectory.Trajectory, types.NestedTensor]:
    _, policy_state = self._driver.run(
        policy_state=policy_state, maximum_iterations=num_rows
    )
    return self._buffer.gather_all(), policy_state


def as_numpy(nest: types.NestedTensor) -> types.NestedArray:
  """Returns a nest of tensors as NumPy arrays."""
  # In half the time of `tf.nest`, which R2D3 calls three times an update.
  return tree.map_structure(lambda x: x.numpy(), nest)


def as_tensors(nest: types.NestedArray) -> types.NestedTensor:
  """Returns a nest of arrays as tensors."""
  return tf.nest.map_structure(tf.convert_to_tensor, nest)


def specs_of(environment: py_environment.PyEnvironment) -> collector.Specs:
  """Returns the specs of an environment, as tensor specs."""
  return collector.Specs(
      tensor_spec.from_spec(environment.time_step_spec()),
      tensor_spec.from_spec(environment.action_spec()),
  )


def close(environment: py_environment.PyEnvironment) -> None:
  """Closes an environment, and only logs an error of a broken one."""
  try:
    environment.close()
  except Exception as error:  # pylint: disable=broad-exception-caught
    logging.warning('%s did not close: %s', environment.name, error)


# -----------------------------------------------------------------------------
# Policies.


def seeded_policy(
    policy: tf_policy.TFPolicy,
    generator: tf.random.Generator,
    is_uniform: bool = False,
) -> tf_policy.TFPolicy:
  """Returns the policy with all of its parts sampling with a generator.

  Args:
    policy: The policy.
    generator: As for `SeededPolicy`.
    is_uniform: Whether actions are uniformly random instead.
  """
  if isinstance(policy, collector.ComposedPolicy):
    return policy.map_parts(
        lambda part: seeded_policy(part, generator, is_uniform)
    )
  return (UniformPolicy if is_uniform else SeededPolicy)(policy, generator)


class SeededPolicy(tf_policy.TFPolicy):
  """Samples another policy's actions with a generator of its own.

  TF-Agents' policies sample by operations that keep their position inside the
  kernel, where no checkpoint reaches it: a process that resumes would draw
  other actions than the one that was killed.
  """

  def __init__(
      self, policy: tf_policy.TFPolicy, generator: tf.random.Generator
  ):
    """Creates the policy.

    Args:
      policy: A policy with a distribution, or one that samples distributions
        of TensorFlow Probability in `action`, such as `GaussianPolicy`.
      generator: A `tf.random.Generator`; whoever saves checkpoints tracks it.
    """
    super().__init__(
        policy.time_step_spec,
        policy.action_spec,
        policy_state_spec=policy.policy_state_spec,
        info_spec=policy.info_spec,
        clip=False,
        name=type(self).__name__,
    )
    self._policy = policy
    self._generator = generator

  def _get_initial_state(self, batch_size: types.Int) -> types.NestedTensor:
    return self._policy.get_initial_state(batch_size)

  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    return self._policy.distribution(time_step, policy_state)

  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      seed: types.Seed | None,
  ) -> policy_step.PolicyStep:
    # A policy may sample in `action`, and a network in either.
    with random_numbers.seeded(self._generator):
      try:
        step = self._policy.distribution(time_step, policy_state)
      except NotImplementedError:
        step = self._policy.action(time_step, policy_state)
    return step._replace(
        action=tf.nest.pack_sequence_as(
            step.action, self._draw(time_step, step)
        )
    )

  def _draw(
      self, time_step: ts.TimeStep, step: policy_step.PolicyStep
  ) -> list[tf.Tensor]:
    """Returns actions [B, ...], one for each leaf of the action spec."""
    distributions = tf.nest.flatten(step.action)
    if all(map(tf.is_tensor, distributions)):  # Sampled already.
      return distributions
    # TensorFlow Probability takes two int32 for a seed without a state.
    seeds = self._generator.uniform_full_int(
        [len(distributions), 2], dtype=tf.int32
    )
    # `RNDPPOPolicy` refuses NaN there: no environment is to see what was drawn.
    with tf.control_dependencies(tf.nest.flatten(step.info)):
      return [
          distribution.sample(seed=seeds[i])
          for i, distribution in enumerate(distributions)
      ]


class UniformPolicy(SeededPolicy):
  """Draws actions evenly in the range of the action spec.

  Policy state and policy info are those of another policy that sees the same
  time steps: a replay stores the memory of a recurrent policy with random
  actions, too.
  """

  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    raise NotImplementedError('UniformPolicy only has actions.')

  def _draw(
      self, time_step: ts.TimeStep, step: policy_step.PolicyStep
  ) -> list[tf.Tensor]:
    outer_dims = tf.shape(time_step.step_type)
    # `TFPyEnvironment` must not step before it has returned the time step.
    with tf.control_dependencies(tf.nest.flatten(time_step)):
      _, mask = action_masks.split_mask(time_step.observation)
      return [
          self._draw_leaf(spec, outer_dims)
          if mask is None
          else self._draw_allowed(spec, mask)
          for spec in tf.nest.flatten(self.action_spec)
      ]

  def _draw_allowed(
      self, spec: types.BoundedTensorSpec, mask: tf.Tensor
  ) -> tf.Tensor:
    """Draws actions [B, ...] that a mask [B, ..., values] allows."""
    ranks = tf.cumsum(tf.cast(mask, tf.float64), axis=-1)
    drawn = self._generator.uniform(tf.shape(mask)[:-1], dtype=tf.float64)
    # The k-th allowed action has as many before it whose rank is k at most.
    k = tf.floor(drawn * ranks[..., -1])
    is_before = ranks <= k[..., tf.newaxis]
    return tf.reduce_sum(tf.cast(is_before, spec.dtype), axis=-1)

  def _draw_leaf(
      self, spec: types.BoundedTensorSpec, outer_dims: tf.Tensor
  ) -> tf.Tensor:
    """Draws actions [B, ...] of one `BoundedTensorSpec`."""
    drawn = self._generator.uniform(
        tf.concat([outer_dims, spec.shape], axis=0), dtype=tf.float64
    )
    if spec.dtype.is_integer:
      low, high = (
          np.asarray(x, np.float64) for x in (spec.minimum, spec.maximum)
      )
      drawn = tf.floor(low + drawn * (high - low + 1.0))
    else:
      low, high = action_ranges.finite_range(spec)
      drawn = low + drawn * (high - low)
    return tf.cast(tf.minimum(drawn, high), spec.dtype)
