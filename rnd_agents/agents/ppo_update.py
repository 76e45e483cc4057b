# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Epochs of shuffled minibatches, and the optimizer step on each."""

import dataclasses
from typing import Any

import tensorflow as tf


@dataclasses.dataclass(eq=False)
class PPOUpdate:
  """Trains policy, values and curiosities on the rows of a rollout.

  Attributes:
    policy: An `RNDPPOPolicy` that evaluates the networks.
    objective: A `PPOObjective`.
    regularization_fn: Function of nothing that returns a term of the loss.
    curiosities: `Curiosity`s to train.
    optimizers: An `optimizers.Update`.
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
  """

  policy: Any
  objective: Any
  regularization_fn: Any
  curiosities: Any
  optimizers: Any
  train_step_counter: Any
  generator: Any
  loss_names: Any
  num_epochs: Any
  predictor_proportion: Any
  check_numerics: Any
  target_kl: Any = None

  def __call__(self, rows, samples, num_minibatches):
    """Takes all optimizer steps of an update, in one loop of the graph.

    Args:
      rows: `Rows`.
      samples: What minibatches are drawn from: `samples.Transitions` or
        `samples.Chunks`.
      num_minibatches: Optimizer steps a pass; 0 where there is no sample.

    Returns:
      A tuple (mean total loss, scalars by name): means of `loss_names` over the
      steps taken, `update_size`, the change of policy and values in learning
      rates, and `skipped_train_steps`, which `target_kl` left out.
    """
    before = self.optimizers.values()
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
        update_size=self.optimizers.size_of_change(before),
        skipped_train_steps=tf.cast(num_steps - num_taken, tf.float32),
    )

  def _step(self, rows, minibatch):
    """One optimizer step; returns [total loss, *loss_names] as a tensor."""
    with tf.GradientTape() as tape:
      terms = self.loss_terms(rows, minibatch)
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
    terms['gradient_norm'], terms['rnd_gradient_norm'] = self.optimizers.step(
        tape, total
    )
    self.train_step_counter.assign_add(1)
    return tf.stack([total] + [terms[name] for name in self.loss_names])

  def loss_terms(self, rows, minibatch):
    """Returns the terms of the loss on a `samples.Minibatch`, by name."""
    batch = minibatch.rows
    distributions, values = self.policy.distribution_and_values(
        batch['observation'], batch['step_type'], minibatch.states
    )
    return dict(
        self.objective(distributions, values, minibatch),
        l2_regularization_loss=self.regularization_fn(),
        kl_penalty_loss=tf.constant(0.0),
        rnd_loss=self._curiosity_loss(rows, minibatch.transitions),
    )

  def _curiosity_loss(self, rows, begins):
    """Loss of the curiosities on their share of the rows [n].

    The rows come shuffled, so the first ones are a random subset: drawn before
    the forward pass, of a fixed size, where the authors of RND mask a whole
    pass by coin tosses. The expected loss is the same.
    """
    if not self.curiosities:
      return tf.constant(0.0)
    share = self.predictor_proportion * tf.cast(tf.size(begins), tf.float32)
    begins = begins[: tf.maximum(1, tf.cast(tf.round(share), tf.int32))]
    transitions = rows.transitions(begins)
    at = rows.gather(('weight', 'constants'), begins)
    constants = at.get('constants', [None] * len(self.curiosities))
    terms = [
        curiosity.loss(transitions, at.get('weight'), constants_)
        for curiosity, constants_ in zip(
            self.curiosities, constants, strict=True
        )
    ]
    return terms[0] if len(terms) == 1 else tf.add_n(terms)
