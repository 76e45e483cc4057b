# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Epochs of shuffled minibatches, and the optimizer step on each."""

import dataclasses
from typing import Any

import tensorflow as tf

from rnd_agents.agents import optimizers
from rnd_agents.agents import replicas as replicas_lib


@dataclasses.dataclass(eq=False)
class PPOUpdate:
  """Trains policy, values and curiosities on the rows of a rollout.

  Attributes:
    policy: An `RNDPPOPolicy` that evaluates the networks.
    objective: A `PPOObjective`.
    regularization_fn: Function of nothing that returns a term of the loss.
    curiosities: `Curiosity`s to train.
    optimizers: An `optimizers.Update`.
    policy_variables: What the policy depends on.
    train_step_counter: Counts optimizer steps.
    generator: A `tf.random.Generator` that shuffles. Its state is part of a
      checkpoint, where that of `tf.random.shuffle` is not: a run that is
      resumed draws what it would have drawn.
    loss_names: Names of the scalars to average over the steps.
    num_epochs: Passes over the samples.
    predictor_proportion: Share of each minibatch that curiosities learn from.
    check_numerics: Whether a loss that is not finite is an error.
    target_kl: No step follows one whose minibatch was above 1.5 times this, by
      the estimate of KL(old, new); None for all steps.
    replicas: The `Replicas` that share each step.
  """

  policy: Any
  objective: Any
  regularization_fn: Any
  curiosities: Any
  optimizers: Any
  policy_variables: Any
  train_step_counter: Any
  generator: Any
  loss_names: Any
  num_epochs: Any
  predictor_proportion: Any
  check_numerics: Any
  target_kl: Any = None
  replicas: Any = dataclasses.field(default_factory=replicas_lib.Replicas)

  def __call__(self, rows, samples, num_minibatches):
    """Takes all optimizer steps of an update, in one loop of the graph.

    Args:
      rows: `Rows`.
      samples: What minibatches are drawn from: `samples.Transitions` or
        `samples.Chunks`.
      num_minibatches: Optimizer steps a pass; 0 where there is no sample.

    Returns:
      A tuple (mean total loss, scalars by name): means of `loss_names` over the
      steps taken, `update_size`, the change of `policy_variables` in learning
      rates, and `skipped_train_steps`, which `target_kl` left out.
    """
    before = [variable.read_value() for variable in self.policy_variables]
    indices = samples.indices
    num_samples = tf.size(indices)
    num_steps = self.num_epochs * num_minibatches
    seeds = self.generator.make_seeds(self.num_epochs)  # [2, epochs].
    shuffled = tf.concat(
        [
            tf.random.experimental.stateless_shuffle(indices, seeds[:, epoch])
            for epoch in range(self.num_epochs)
        ],
        axis=0,
    )

    def is_near(kl):
      return self.target_kl is None or kl <= 1.5 * self.target_kl

    def step(i, _, sums):
      # Parts of a pass differ by one sample at most; none is left out.
      epoch, part = i // num_minibatches, i % num_minibatches
      start = part * num_samples // num_minibatches
      end = (part + 1) * num_samples // num_minibatches
      chosen = shuffled[epoch * num_samples + start : epoch * num_samples + end]
      terms = self._step(rows, samples.minibatch(rows, chosen))
      return i + 1, terms[kl_index], sums + terms

    kl_index = 1 + self.loss_names.index('approximate_kl')
    num_taken, _, sums = tf.while_loop(
        lambda i, kl, _: tf.logical_and(i < num_steps, is_near(kl)),
        step,
        (tf.constant(0), 0.0, tf.zeros([1 + len(self.loss_names)])),
        parallel_iterations=1,
    )
    if self.target_kl is None:  # A constant, by whose inverse graphs multiply.
      num_taken = num_steps
    loss, *means = tf.unstack(
        sums / tf.cast(tf.maximum(num_taken, 1), tf.float32)
    )
    return loss, dict(
        zip(self.loss_names, means, strict=True),
        update_size=optimizers.size_of_change(
            before, self.policy_variables, self.optimizers.optimizer
        ),
        skipped_train_steps=tf.cast(num_steps - num_taken, tf.float32),
    )

  def _step(self, rows, minibatch):
    """One optimizer step; returns [total loss, *loss_names] as a tensor."""
    results = self.replicas.run(
        self._step_on_slice,
        self.replicas.split(
            minibatch._replace(transitions=None), minibatch.counts
        ),
        self.replicas.split(*self.curiosity_samples(rows, minibatch)),
    )
    self.train_step_counter.assign_add(1)
    return results

  def _step_on_slice(self, policy_samples, curiosity_samples):
    """A replica's part of `_step`."""
    minibatch, counts = policy_samples
    with tf.GradientTape() as tape:
      terms = self.loss_terms(
          minibatch._replace(counts=counts), curiosity_samples
      )
      total = tf.add_n([
          terms[name]
          for name in (
              'policy_gradient_loss',
              'value_estimation_loss',
              'l2_regularization_loss',
              'entropy_regularization_loss',
              'rnd_loss',
          )
      ])
      if self.check_numerics:
        total = tf.debugging.check_numerics(total, 'total loss')
    norms = self.optimizers.step(tape, total)
    total, terms = replicas_lib.mean_over_replicas((total, terms))
    terms['gradient_norm'], terms['rnd_gradient_norm'] = norms
    return tf.stack([total] + [terms[name] for name in self.loss_names])

  def loss_terms(self, minibatch, curiosity_samples):
    """Returns the terms of the loss by name, means over the samples.

    Args:
      minibatch: A `samples.Minibatch`.
      curiosity_samples: What `curiosity_samples` returns.
    """
    batch = minibatch.rows
    distributions, values = self.policy.distribution_and_values(
        batch['observation'], batch['step_type'], minibatch.states
    )
    return dict(
        self.objective(distributions, values, minibatch),
        l2_regularization_loss=self.regularization_fn(),
        kl_penalty_loss=tf.constant(0.0),
        rnd_loss=self._curiosity_loss(*curiosity_samples),
    )

  def curiosity_samples(self, rows, minibatch):
    """Returns what the curiosities learn from, and its weights.

    The rows come shuffled, so the first ones are a random subset: drawn before
    the forward pass, of a fixed size, where the authors of RND mask a whole
    pass by coin tosses. The expected loss is the same.

    Args:
      rows: `Rows`.
      minibatch: A `samples.Minibatch`.

    Returns:
      A tuple ((`Transitions` [n], constants of each curiosity), weights [n] or
      None).
    """
    if not self.curiosities:
      return (), None
    begins = minibatch.transitions
    share = self.predictor_proportion * tf.cast(tf.size(begins), tf.float32)
    begins = begins[: tf.maximum(1, tf.cast(tf.round(share), tf.int32))]
    at = rows.gather(('weight', 'constants'), begins)
    constants = at.get('constants', [None] * len(self.curiosities))
    return (rows.transitions(begins), constants), at.get('weight')

  def _curiosity_loss(self, samples, weights):
    """Sum of the curiosities' losses."""
    if not self.curiosities:
      return tf.constant(0.0)
    transitions, constants = samples
    terms = [
        curiosity.loss(transitions, weights, constants_)
        for curiosity, constants_ in zip(
            self.curiosities, constants, strict=True
        )
    ]
    return terms[0] if len(terms) == 1 else tf.add_n(terms)
