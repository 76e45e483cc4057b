# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluations, also of a worker that plays while the learner learns.

An evaluation is a function of its recipe and of the values of the policy's
variables: where it is played, and how often, changes no number.
"""

import concurrent.futures

import tensorflow as tf

from rnd_agents.collecting import local
from rnd_agents.collecting import seeded_policy
from rnd_agents.environments import watchdog
from rnd_agents.evaluation import evaluator
from rnd_agents.workers import remote_collector


def create_evaluator(environment, policy, first_seed):
  """Creates an evaluator whose random numbers are the same each time.

  Args:
    environment: A `VectorPyEnvironment`; it plays one episode each.
    policy: A `TFPolicy` with a distribution.
    first_seed: Of the episodes; also what the actions are drawn from.

  Returns:
    An `evaluator.Evaluator`.
  """
  generator = tf.random.Generator.from_seed(first_seed)
  return evaluator.Evaluator(
      environment,
      seeded_policy.seeded(policy, generator),
      range(first_seed, first_seed + environment.batch_size),
      generator,
  )


class WorkerEvaluator:
  """Evaluations in a worker."""

  def __init__(self, recipe, timeout_s=None):
    """Makes the environments and the policy.

    Args:
      recipe: A `collector.Recipe`, whose `action_seed` is the first seed.
      timeout_s: Seconds that a step may take before the process ends.
    """
    self._environment = recipe.make_environment()
    policy = recipe.make_policy(
        *local.specs_of(self._environment), self._environment.batch_size
    )
    self._evaluator = create_evaluator(
        self._environment, policy, recipe.action_seed
    )
    self._timeout_s = timeout_s

  def run(self, variables):
    """As `Evaluator.run`, with these values of the policy's variables."""
    self._evaluator.assign(variables)
    with watchdog.Watchdog(
        [self._environment], self._timeout_s, lambda message: None
    ):
      return self._evaluator.run()

  def get_state(self):
    """None: one evaluation leaves nothing to the next."""

  def close(self):
    """Closes the environments."""
    self._environment.close()


class RemoteEvaluator:
  """Hands evaluations over to a worker."""

  def __init__(self, environment, policy, workers):
    """Starts nothing yet.

    Args:
      environment: Like those of the worker.
      policy: The learner's.
      workers: `remote_collector.Workers` with a `WorkerEvaluator`.
    """
    self._environment = environment
    self._policy = policy
    self._workers = workers
    self._remote = remote_collector.RemoteObject(
        0, workers, 'the evaluation'
    )
    self._thread = concurrent.futures.ThreadPoolExecutor(1)

  @property
  def environment(self):
    """An environment like those that the episodes are played in."""
    return self._environment

  def start(self, variables=None):
    """Begins an evaluation, as `Evaluator.start`, and does not wait."""
    if variables is None:
      variables = [variable.numpy() for variable in self._policy.variables()]
    future = self._thread.submit(
        self._remote.call, 'run', self._workers.share(variables)
    )
    return evaluator.Evaluation(future, variables)

  def close(self):
    """Ends the worker."""
    self._workers.close()
    self._thread.shutdown(wait=False)
