# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A `PPOAgent` with several return streams, of which curiosities may pay some.

`RNDPPOAgent` is its constructor.
"""

import tensorflow as tf
from tf_agents.agents import data_converter
from tf_agents.agents import tf_agent
from tf_agents.agents.ppo import ppo_agent
from tf_agents.policies import greedy_policy
from tf_agents.utils import nest_utils

from rnd_agents import errors
from rnd_agents.agents import loss_info
from rnd_agents.agents import optimizers
from rnd_agents.agents import ppo_arguments
from rnd_agents.agents import ppo_objective
from rnd_agents.agents import ppo_update
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.agents import rollouts
from rnd_agents.agents import rows as rows_lib
from rnd_agents.agents import samples
from rnd_agents.agents import stream_rewards
from rnd_agents.agents import unused_methods
from rnd_agents.curiosity import transitions as transitions_lib
from rnd_agents.statistics import finite
from rnd_agents.statistics import running_statistics


class StreamsPPOAgent(unused_methods.UnusedMethods, ppo_agent.PPOAgent):
  """PPO on return streams; `RNDPPOAgent` explains it and its arguments."""

  def __init__(
      self,
      time_step_spec,
      action_spec,
      optimizer,
      actor_net,
      value_net,
      streams,
      curiosity,
      rnd_optimizer,
      predictor_proportion,
      sequences,
      bootstrap_at_time_limit,
      normalize_advantages,
      advantage_scale_decay,
      normalize_observations,
      normalize_rewards,
      least_reward_deviation,
      num_minibatches,
      target_kl,
      **kwargs,
  ):
    """Creates the agent from arguments that have been checked.

    They are those of `RNDPPOAgent`, but for `streams`, a tuple of
    `ReturnStream`, and `sequences`, a `samples.SequenceSettings`.
    """
    super().__init__(
        time_step_spec,
        action_spec,
        optimizer,
        actor_net,
        rnd_ppo_policy.FirstValueNetwork(value_net),
        discount_factor=streams[0].discount_factor,
        # Own normalizers take the place of the parent's: see docs/rnd_ppo.md.
        normalize_rewards=False,
        normalize_observations=False,
        **kwargs,
    )
    self._num_minibatches = int(num_minibatches)
    self._is_recurrent = bool(actor_net.state_spec or value_net.state_spec)
    self._sequences = sequences
    self._streams = streams
    self._curiosity = curiosity
    self._curiosities = stream_rewards.curiosities(streams)
    if not self.trains_on_rollouts:
      stream_rewards.refuse_episodic(self._curiosities)
    self._bootstrap_at_time_limit = bootstrap_at_time_limit
    self._target_kl = target_kl
    self._advantage_normalizer = None
    if normalize_advantages:
      self._advantage_normalizer = running_statistics.AdvantageNormalizer(
          advantage_scale_decay
      )
    self._rewards = stream_rewards.StreamRewards(
        streams,
        normalize_rewards,
        least_reward_deviation,
        self._reward_norm_clipping,
    )
    self._shuffling = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    )
    if normalize_observations:
      self._observation_normalizer = running_statistics.ObservationNormalizer(
          self.time_step_spec.observation
      )
    self._build_policies(kwargs.get('greedy_eval', True))
    self._build_update(rnd_optimizer, predictor_proportion)

  # ---------------------------------------------------------------------------
  # Construction.

  def _build_policies(self, greedy_eval):
    """Replaces the parent's policies and what was derived from their specs."""

    def build(collect):
      return rnd_ppo_policy.RNDPPOPolicy(
          self.time_step_spec,
          self.action_spec,
          self._actor_net,
          value_network=self._value_net,
          observation_normalizer=self._observation_normalizer,
          clip=False,
          collect=collect,
          compute_value_and_advantage_in_train=(
              self._compute_value_and_advantage_in_train
          ),
          value_names=rollouts.info_names(self._streams, 'value_prediction'),
          training_info=rollouts.computed_names(self._streams),
          curiosities=self._curiosities if collect else (),
          stores_state=self._sequences.recurrent_state_init == 'stored',
      )

    self._policy = build(collect=False)
    if greedy_eval:
      self._policy = greedy_policy.GreedyPolicy(self._policy)
    self._collect_policy = build(collect=True)
    self._collect_data_context = data_converter.DataContext(
        time_step_spec=self.time_step_spec,
        action_spec=self.action_spec,
        info_spec=self._collect_policy.info_spec,
    )
    training_info_spec = self._collect_policy.training_info_spec()
    self._training_data_spec = self._collect_policy.trajectory_spec.replace(
        policy_info=training_info_spec
    )
    self._data_context = data_converter.DataContext(
        time_step_spec=self.time_step_spec,
        action_spec=self.action_spec,
        info_spec=training_info_spec,
    )
    self._as_trajectory = data_converter.AsTrajectory(
        self.data_context, sequence_length=None
    )

  def _build_update(self, rnd_optimizer, predictor_proportion):
    """Creates what computes the streams and takes the optimizer steps."""
    names = tuple(stream.name for stream in self._streams)
    self._loss_info_type = loss_info.loss_info_type(
        names,
        tuple(s.name for s in self._streams if s.curiosity is not None),
    )
    # In the networks' order, which checkpoints rely on. Names will not do:
    # Keras numbers layers through a process, and dense_10 sorts before dense_9.
    self._ppo_variables = optimizers.trainable_variables(
        self._actor_net, self._value_net
    )
    self._predictor_variables = _trainable_variables(self._curiosities)
    self._rnd_optimizer = rnd_optimizer
    self._rollouts = rollouts.Rollouts(
        self._streams,
        self._rewards,
        self._create_return_streams(),
        self._collect_policy,
        self._action_spec,
        self._action_distribution_spec,
        self._is_recurrent,
    )
    if self._optimizer is None:
      return
    self._update = ppo_update.PPOUpdate(
        self._collect_policy,
        self._create_objective(),
        self.l2_regularization_loss,
        self._rewards.curiosities,
        optimizers.Update(
            self._optimizer,
            rnd_optimizer,
            self._ppo_variables,
            _trainable_variables(self._rewards.curiosities),
            self._gradient_clipping,
        ),
        ppo_objective.weights_behind(self._actor_net),
        self.train_step_counter,
        self._shuffling,
        loss_info.loss_names(names),
        self._num_epochs,
        predictor_proportion,
        self._check_numerics,
        self._target_kl,
    )

  def _create_return_streams(self):
    """Returns what computes advantages and returns; for subclasses."""
    return return_streams.ReturnStreams(
        self._streams,
        self._lambda,
        self._bootstrap_at_time_limit,
        self._advantage_normalizer,
    )

  def _create_objective(self):
    """Returns what computes PPO's terms of the loss; for subclasses."""
    return ppo_objective.PPOObjective(
        self._action_spec,
        self._importance_ratio_clipping,
        self._entropy_regularization,
        self._value_pred_loss_coef,
        self._value_clipping,
        self._log_prob_clipping,
        self._streams,
    )

  @property
  def curiosity(self):
    """The agent's `Curiosity`, the first one if there are several, or None."""
    return self._curiosity

  @property
  def streams(self):
    """The agent's `ReturnStream`s, in the order of the value heads."""
    return self._streams

  @property
  def discount_factor(self):
    """Gamma of the extrinsic rewards."""
    return self._streams[0].discount_factor

  @property
  def num_minibatches(self):
    """Optimizer steps a pass over a whole rollout."""
    return self._num_minibatches

  @property
  def sequences(self):
    """How rollouts are cut: `SequenceSettings`; None without memory."""
    return self._sequences if self._is_recurrent else None

  @property
  def optimizers(self):
    """The optimizers that train the agent: one, or two with the curiosity's."""
    return [
        optimizer
        for optimizer in (self._optimizer, self._rnd_optimizer)
        if optimizer is not None
    ]

  @property
  def trains_on_rollouts(self):
    """Whether `train` takes whole rollouts, and not a `PPOLearner`'s parts."""
    return self._compute_value_and_advantage_in_train

  def check_rollout(self, num_environments, rollout_length):
    """Refuses rollouts that `train` cannot take.

    Args:
      num_environments: B.
      rollout_length: T.

    Raises:
      ValueError: If the agent takes no whole rollouts, or if these are too few
        transitions, or chunks, for the minibatches.
    """
    ppo_arguments.check_rollout(self, num_environments, rollout_length)

  # ---------------------------------------------------------------------------
  # What a user calls besides `train`.

  def rnd_loss(self, observations):
    """Returns the raw bonus of arriving at raw observations, and its mean.

    Args:
      observations: A nest of tensors [B, T, ...].

    Returns:
      A tuple (bonus [B, T], mean []).
    """
    bonus = self._curiosity.bonus(transitions_lib.Transitions(observations))
    return bonus, tf.reduce_mean(bonus)

  def update_observation_statistics(self, observations, mask=None):
    """Takes raw observations into the statistics of all that whitens them.

    Call it on a random policy's observations before training starts (section
    2.4 of the paper); `train` goes on from there by itself.

    Args:
      observations: A nest of tensors [outer..., ...].
      mask: Optional booleans [outer...].
    """
    spec = tf.nest.flatten(self.time_step_spec.observation)[0]
    leaf = tf.nest.flatten(observations)[0]
    outer_rank = len(leaf.shape) - spec.shape.rank  # NumPy knows no rank.
    with tf.control_dependencies(
        finite.verify({'observation': observations}, outer_rank)
    ):
      for curiosity in self._curiosities:
        curiosity.update_observation_statistics(observations, mask)
      if self._observation_normalizer is not None:
        self._observation_normalizer.update(observations, mask)

  def update_observation_normalizer(self, batched_observations):
    """Updates statistics; a `PPOLearner` calls it once a rollout.

    It hands over observations [B, T+1, ...] and no step types, so here, unlike
    in `train`, the first observation of an episode earns a bonus that enters
    the statistics of the intrinsic return.
    """
    transitions = transitions_lib.Transitions(
        tf.nest.map_structure(lambda x: x[:, 1:], batched_observations)
    )
    with tf.control_dependencies(
        finite.verify({'observation': batched_observations})
    ):
      if self._observation_normalizer is not None:
        self._observation_normalizer.update(batched_observations)
      for curiosity in self._rewards.curiosities:
        curiosity.update_statistics(transitions)
        curiosity.update_return_statistics(curiosity.bonus(transitions))

  def update_reward_normalizer(self, batched_rewards):
    """Updates rewards' statistics; a `PPOLearner` calls it with [B, T+1]."""
    with tf.control_dependencies(finite.verify({'reward': batched_rewards})):
      self._rewards.update_scalers(
          batched_rewards, tf.ones(tf.shape(batched_rewards)[:2], tf.bool)
      )

  # ---------------------------------------------------------------------------
  # Training.

  def _preprocess(self, experience):
    """Computes the streams of a rollout [B, T+1] or [T+1]."""
    outer_rank = nest_utils.get_outer_rank(
        experience.discount, self.collect_data_spec.discount
    )
    if outer_rank == 1:
      experience = nest_utils.batch_nested_tensors(experience)
    processed = self._rollouts.preprocess(experience)
    if outer_rank == 1:
      processed = nest_utils.unbatch_nested_tensors(processed)
    return processed

  def _train(self, experience, weights):
    if self._optimizer is None:
      raise errors.InvalidValue('RNDPPOAgent needs an optimizer to train.')
    experience = self._as_trajectory(experience)
    if weights is not None:
      weights = rows_lib.row_weights(weights, experience.step_type)
    if self.trains_on_rollouts:
      rollouts.check_num_rows(experience)
    evaluated, refusals = self._rollouts.evaluate(experience, weights)
    samples_ = self._samples(rollouts.begins_transition(experience))
    num_samples = tf.size(samples_.indices)
    num_minibatches = self._num_minibatches
    if self.trains_on_rollouts:
      refusals += finite.require(
          num_samples >= num_minibatches,
          lambda: tf.constant(
              'Fewer transitions, or chunks of them, than minibatches: collect'
              ' more steps, or lower num_minibatches or unroll_length.'
          ),
      )
    else:  # A `PPOLearner` may cut a minibatch of padding alone.
      num_minibatches = tf.cast(num_samples > 0, tf.int32)
    with tf.control_dependencies(refusals):  # Before anything changes.
      return self._train_on(
          experience, weights, evaluated, samples_, num_minibatches
      )

  def _train_on(
      self, experience, weights, evaluated, samples_, num_minibatches
  ):
    """Trains on what `_train` has not refused."""
    rows, statistics = self._rollouts.rows(
        experience, evaluated, self.update_normalizers_in_train
    )
    if weights is not None:
      rows['weight'] = tf.reshape(weights, [-1])
    loss, means = self._update(rows, samples_, num_minibatches)
    if (
        self.trains_on_rollouts
        and self.update_normalizers_in_train
        and self._observation_normalizer is not None
    ):
      # Last: the probabilities of this rollout belong to the old statistics.
      self._observation_normalizer.update(
          tf.nest.map_structure(lambda x: x[:, :-1], experience.observation),
          ~return_streams.is_padding(experience),
      )
    zeros = dict.fromkeys(self._loss_info_type._fields, tf.constant(0.0))
    info = self._loss_info_type(**{**zeros, **statistics, **means})
    histograms = self._ppo_variables + self._predictor_variables
    loss_info.summarize(
        info,
        self.train_step_counter,
        self._optimizer,
        histograms if self._summarize_grads_and_vars else [],
    )
    return tf_agent.LossInfo(loss, info)

  def _samples(self, valid):
    """What minibatches of a rollout are drawn from; `valid` is [B, T+1]."""
    if not self._is_recurrent:
      return samples.Transitions(valid)
    return samples.Chunks(
        valid, self._sequences, self._collect_policy, self._shuffling
    )

  def l2_regularization_loss(self, debug_summaries=False):
    """Returns the L2 loss; a kernel is of policy, values or both by its use."""
    del debug_summaries
    return ppo_objective.l2_regularization_loss(
        self._actor_net,
        self._value_net.value_net,
        self._policy_l2_reg,
        self._value_function_l2_reg,
        self._shared_vars_l2_reg,
    )


def _trainable_variables(curiosities):
  return [v for each in curiosities for v in each.trainable_variables]
