# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""PPO that explores by Random Network Distillation.

Burda et al., 2018 (arXiv 1810.12894), on TF-Agents' `PPOAgent`, in the order
and with the constants of the authors' code; docs/rnd_ppo.md numbers every
difference from the paper, from that code and from TF-Agents.
"""

import collections
import functools
import inspect

import gin
import tensorflow as tf
from tf_agents.agents import data_converter
from tf_agents.agents import tf_agent
from tf_agents.agents.ppo import ppo_agent
from tf_agents.agents.ppo import ppo_utils
from tf_agents.networks import network
from tf_agents.policies import greedy_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common
from tf_agents.utils import nest_utils

from rnd_agents.agents import optimizers
from rnd_agents.agents import ppo_arguments as ppo_arguments_lib
from rnd_agents.agents import ppo_objective
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.agents import samples
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import normalizers
from rnd_agents.ops import parts
from rnd_agents.ops import rnd

# Means over the optimizer steps of one `train`.
_LOSS_FIELDS = ppo_agent.PPOLossInfo._fields + (
    'extrinsic_value_loss',
    'intrinsic_value_loss',
    'rnd_loss',
    'entropy',
    'approximate_kl',
    'gradient_norm',
    'rnd_gradient_norm',
)

# After them the statistics of the rollout before the update, which are 0 where
# `preprocess_sequence` did that part.
RNDPPOLossInfo = collections.namedtuple(
    'RNDPPOLossInfo', _LOSS_FIELDS + return_streams.STATISTICS
)

_UNUSED_PPO_ARGUMENTS = ('adaptive_kl_target', 'adaptive_kl_tolerance')


@gin.configurable(module='rnd_agents')
class RNDPPOAgent(ppo_agent.PPOAgent):
  """A `PPOAgent` with an intrinsic return stream from RND.

  Two ways of use, as for `PPOAgent`:

  * `compute_value_and_advantage_in_train=True` (the default): `train` takes
    whole rollouts [B, T+1] from any TF-Agents replay buffer and runs
    `num_epochs` times `num_minibatches` optimizer steps on them, shuffled.
  * False: `preprocess_sequence` takes whole rollouts and `train` what a
    `PPOLearner` cuts from them; each call is one optimizer step an epoch.

  `train_step_counter` counts optimizer steps. The `weights` of `train` (one, or
  [B], or [B, T+1]) are factors of the losses of policy and values; the
  predictor's loss is a mean weighted by them.
  """

  # For subclasses that arrange the return streams otherwise.
  STREAMS_CLASS = return_streams.ReturnStreams

  def __init__(
      self,
      time_step_spec,
      action_spec,
      optimizer=None,
      actor_net=None,
      value_net=None,
      rnd_network=None,
      target_rnd_network=None,
      rnd_optimizer=None,
      rnd_loss_fn=rnd.rnd_error,
      rnd_observation_fn=None,
      observation_clip_value=5.0,
      predictor_proportion=0.25,
      discount_factor=0.999,
      intrinsic_discount_factor=0.99,
      extrinsic_advantage_coefficient=2.0,
      intrinsic_advantage_coefficient=1.0,
      episodic_intrinsic_stream=False,
      bootstrap_at_time_limit=True,
      normalize_advantages=False,
      normalize_observations=False,
      normalize_rewards=False,
      num_epochs=4,
      num_minibatches=4,
      importance_ratio_clipping=0.1,
      entropy_regularization=0.001,
      recurrent_state_init='stored',
      unroll_length=None,
      burn_in_length=0,
      unroll_remainder='pad',
      curiosity=None,
      name='RNDPPOAgent',
      **ppo_arguments,
  ):
    """Creates the agent. Defaults are the paper's Atari values (its table 5).

    Args:
      time_step_spec: A `TimeStep` spec of the expected time steps.
      action_spec: A nest of `BoundedTensorSpec`.
      optimizer: Trains policy and values, and the predictor where it has none
        of its own.
      actor_net: A `Network` from observations to action distributions.
      value_net: A `Network` from observations to [..., 2]: extrinsic and
        intrinsic value. Two `views` of one `ActorCriticNetwork` are evaluated
        in one pass.
      rnd_network: The predictor, a `Network` on
        `curiosity.observation_spec(observation_spec, rnd_observation_fn)`.
      target_rnd_network: The target, not trainable.
      rnd_optimizer: Trains the predictor; None leaves it to `optimizer`.
        `gradient_clipping` is not for the predictor.
      rnd_loss_fn: Error of each sample from (predictions, targets) [..., F].
      rnd_observation_fn: Of what the observation RND sees: a function of a nest
        of tensors [outer..., *shape]. None for all of it.
      observation_clip_value: Bound on RND's whitened input, in standard
        deviations; None for no clipping.
      predictor_proportion: Share of each minibatch that the predictor learns
        from, above 0 and at most 1.
      discount_factor: gamma_E.
      intrinsic_discount_factor: gamma_I.
      extrinsic_advantage_coefficient: c_E.
      intrinsic_advantage_coefficient: c_I. At 0 no bonus is computed, nothing
        of RND is trained, and the agent is PPO.
      episodic_intrinsic_stream: Whether the intrinsic return ends with the
        episode (section 2.3 of the paper argues that it should not).
      bootstrap_at_time_limit: Whether a return that ends with the episode
        bootstraps where a time limit cut it: the extrinsic one, and the
        intrinsic one if it is episodic. False is what the authors' code does.
        A time limit is a LAST step with a discount above 0. TF-Agents'
        `suite_gym.load` makes it 0, a termination; docs/rnd_ppo.md has the
        way around.
      normalize_advantages: Whether combined advantages get mean 0 and variance
        1 over each rollout. The authors do not.
      normalize_observations: Whether policy and values see floating
        observations whitened by running statistics of their own.
      normalize_rewards: Whether extrinsic rewards are divided by the running
        standard deviation of their discounted return, and clipped at
        `reward_norm_clipping` (10): the first reward after many steps of 0
        would otherwise be worth hundreds.
      num_epochs: Passes over the data of one `train`.
      num_minibatches: Optimizer steps a pass; only for whole rollouts. Of
        recurrent networks each takes a part of the chunks.
      importance_ratio_clipping: PPO's epsilon, above 0.
      entropy_regularization: Coefficient of the entropy bonus.
      recurrent_state_init: What recurrent networks remember at the start of a
        chunk they learn from: 'stored', what they did when it was collected, or
        'zero', nothing.
      unroll_length: Steps of a chunk; None for the whole rollout.
      burn_in_length: Steps before a chunk that bring its state up to date and
        are not learned from with it.
      unroll_remainder: What becomes of the rollout's last chunk where it is too
        short: 'pad', 'fill', 'drop' or 'shift' (`replay.sequences`).
      curiosity: A curiosity; None for RND on `rnd_network` and
        `target_rnd_network`.
      name: Name of the agent.
      **ppo_arguments: The other arguments of `PPOAgent`: `greedy_eval`,
        `lambda_value`, `value_pred_loss_coef`, `gradient_clipping`,
        `value_clipping`, `reward_norm_clipping`, `policy_l2_reg`,
        `check_numerics`,
        `compute_value_and_advantage_in_train`, `update_normalizers_in_train`,
        `summarize_grads_and_vars` (variables only), `train_step_counter`
        ... `debug_summaries` changes nothing.

    Raises:
      TypeError: If an argument is unknown or a network is missing.
      ValueError: If an argument or a network cannot serve.
    """
    ppo_arguments_lib.check_ppo_arguments(
        ppo_arguments, inspect.signature(RNDPPOAgent.__init__).parameters
    )
    rnd_networks = {}
    if curiosity is None:
      rnd_networks = dict(
          rnd_network=rnd_network, target_rnd_network=target_rnd_network
      )
    ppo_arguments_lib.check_networks(
        time_step_spec.observation,
        actor_net=actor_net,
        value_net=value_net,
        **rnd_networks,
    )
    ppo_arguments_lib.check_numbers({**locals(), **ppo_arguments})
    ppo_arguments_lib.check_normalizers(**ppo_arguments)
    ppo_arguments_lib.check_strategy()
    self._sequences = samples.SequenceSettings(
        recurrent_state_init, unroll_length, burn_in_length, unroll_remainder
    )
    self._is_recurrent = bool(actor_net.state_spec or value_net.state_spec)
    ppo_arguments_lib.check_sequences(self._sequences, self._is_recurrent)
    for unused in _UNUSED_PPO_ARGUMENTS:
      ppo_arguments.pop(unused, None)
    super().__init__(
        time_step_spec,
        action_spec,
        optimizer,
        actor_net,
        rnd_ppo_policy.ExtrinsicValueNetwork(value_net),
        importance_ratio_clipping=importance_ratio_clipping,
        discount_factor=discount_factor,
        entropy_regularization=entropy_regularization,
        num_epochs=int(num_epochs),
        # Own normalizers take the place of the parent's: see docs/rnd_ppo.md.
        normalize_rewards=False,
        normalize_observations=False,
        name=name,
        **dict(ppo_arguments, **ppo_arguments_lib.FIXED_PPO_ARGUMENTS),
    )
    self._rnd_optimizer = rnd_optimizer
    self._predictor_proportion = predictor_proportion
    self._return_streams = self.STREAMS_CLASS(
        discount_factor,
        intrinsic_discount_factor,
        self._lambda,
        extrinsic_advantage_coefficient,
        intrinsic_advantage_coefficient,
        episodic_intrinsic_stream,
        bootstrap_at_time_limit,
        normalize_advantages,
    )
    self._num_minibatches = int(num_minibatches)
    # Its state is part of a checkpoint, where that of tf.random.shuffle is not:
    # a run that is resumed draws what it would have drawn.
    self._shuffling = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    )
    self._curiosity = curiosity
    if curiosity is None:
      self._curiosity = random_network_distillation.RandomNetworkDistillation(
          self.time_step_spec.observation,
          rnd_network,
          target_rnd_network,
          observation_fn=rnd_observation_fn,
          loss_fn=rnd_loss_fn,
          observation_clip_value=observation_clip_value,
          discount_factor=intrinsic_discount_factor,
      )
    self._episode_bonuses = normalizers.RunningSums('episode_bonuses')
    if normalize_observations:
      self._observation_normalizer = normalizers.ObservationNormalizer(
          self.time_step_spec.observation
      )
    if normalize_rewards:
      self._reward_normalizer = normalizers.ReturnScaler(discount_factor)
    self._build_policies(ppo_arguments.get('greedy_eval', True))
    self._build_update()

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
          curiosity=self._curiosity if collect else None,
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
    self._collected_as_transition = data_converter.AsTransition(
        self.collect_data_context, squeeze_time_dim=False
    )
    self._as_trajectory = data_converter.AsTrajectory(
        self.data_context, sequence_length=None
    )

  def _build_update(self):
    """What changes the variables, and in what direction."""
    # In the networks' order, which checkpoints rely on. Names will not do:
    # Keras numbers layers through a process, and dense_10 sorts before dense_9.
    self._ppo_variables = _unique_variables(self._actor_net, self._value_net)
    self._predictor_variables = list(self._curiosity.trainable_variables)
    self._objective = ppo_objective.PPOObjective(
        self._action_spec,
        self._importance_ratio_clipping,
        self._entropy_regularization,
        self._value_pred_loss_coef,
        self._value_clipping,
        self._log_prob_clipping,
        has_intrinsic_value=self._explores,
    )
    if self._optimizer is not None:
      self._update = optimizers.Update(
          self._optimizer,
          self._rnd_optimizer,
          self._ppo_variables,
          self._predictor_variables if self._explores else [],
          self._gradient_clipping,
      )

  @property
  def curiosity(self):
    """The agent's `RandomNetworkDistillation`."""
    return self._curiosity

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
    """The optimizers that train the agent: one, or two with the predictor's."""
    return [
        optimizer
        for optimizer in (self._optimizer, self._rnd_optimizer)
        if optimizer is not None
    ]

  def check_rollout(self, num_environments, rollout_length):
    """Refuses rollouts that `train` cannot take.

    Args:
      num_environments: B.
      rollout_length: T.

    Raises:
      ValueError: If they are too few transitions, or chunks, for the
        minibatches.
    """
    ppo_arguments_lib.check_rollout(self, num_environments, rollout_length)

  @property
  def trains_on_rollouts(self):
    """Whether `train` takes whole rollouts, and not a `PPOLearner`'s parts."""
    return self._compute_value_and_advantage_in_train

  @property
  def _explores(self):
    coefficient = self._return_streams.intrinsic_coefficient
    return tf.is_tensor(coefficient) or coefficient != 0

  # ---------------------------------------------------------------------------
  # What a user calls besides `train`.

  def rnd_loss(self, observations):
    """Prediction errors of raw observations.

    Args:
      observations: A nest of tensors [B, T, ...].

    Returns:
      A tuple (errors [B, T], their mean []).
    """
    errors = self._curiosity.errors(observations)
    return errors, tf.reduce_mean(errors)

  def update_observation_statistics(self, observations, mask=None):
    """Takes raw observations into RND's and the policy's whitening.

    Call it on a random policy's observations before training starts (section
    2.4 of the paper); `train` goes on from there by itself.

    Args:
      observations: A nest of tensors [outer..., ...].
      mask: Optional booleans [outer...].
    """
    self._curiosity.update_observation_statistics(observations, mask)
    if self._observation_normalizer is not None:
      self._observation_normalizer.update(observations, mask)

  def update_observation_normalizer(self, batched_observations):
    """What `PPOLearner` calls once a rollout, before it trains.

    It hands over observations [B, T+1, ...] and no step types, so here, unlike
    in `train`, the first observation of an episode earns a bonus that enters
    the statistics of the intrinsic return.
    """
    if self._observation_normalizer is not None:
      self._observation_normalizer.update(batched_observations)
    if self._explores:
      arrivals = self._arrivals(batched_observations)
      self._curiosity.update_observation_statistics(arrivals)
      self._curiosity.update_return_statistics(self._curiosity.bonus(arrivals))

  def update_reward_normalizer(self, batched_rewards):
    """What `PPOLearner` calls once a rollout, with rewards [B, T+1]."""
    if self._reward_normalizer is not None:
      self._reward_normalizer.update(
          batched_rewards, tf.ones_like(batched_rewards, tf.bool)
      )

  # ---------------------------------------------------------------------------
  # Sequences: [B, T+1] rows in, one number a transition out.

  def _arrivals(self, observations):
    """The observations [B, T, ...] that T transitions lead to."""
    return tf.nest.map_structure(lambda x: x[:, 1:], observations)

  def _streams(self, experience, values, bonus):
    """Both return streams of a rollout under the statistics of now.

    Args:
      experience: A `Trajectory` [B, T+1].
      values: Both values of every row, float [B, T+1, 2].
      bonus: Raw bonus of every transition, float [B, T]; None without RND.

    Returns:
      `return_streams.Streams`.
    """
    rewards = tf.cast(experience.reward[:, :-1], tf.float32)
    if self._reward_normalizer is not None:
      rewards = self._reward_normalizer.scale(rewards)
      bound = self._reward_norm_clipping
      if bound:
        rewards = tf.clip_by_value(rewards, -bound, bound)
    intrinsic_rewards = None
    if bonus is not None:
      intrinsic_rewards = self._curiosity.normalize_bonus(bonus)
    return self._return_streams(
        experience, rewards, bonus, intrinsic_rewards, values
    )

  def _preprocess(self, experience):
    """Both streams of a rollout, for a `PPOLearner`; changes no variable.

    Args:
      experience: A `Trajectory` [B, T+1] or [T+1] of `collect_data_spec`.

    Returns:
      A `Trajectory` of `training_data_spec` with the same outer dimensions.
      Its last row is padding, with a valid mask of 0.
    """
    outer_rank = nest_utils.get_outer_rank(
        experience.discount, self.collect_data_spec.discount
    )
    if outer_rank == 1:
      experience = nest_utils.batch_nested_tensors(experience)
    _check_num_rows(experience)
    info = experience.policy_info
    values = tf.stack(
        [info['value_prediction'], info['intrinsic_value_prediction']], axis=-1
    )
    arrivals = self._arrivals(experience.observation)
    bonus = self._curiosity.bonus(arrivals) if self._explores else None
    streams = self._streams(experience, values, bonus)

    def pad(x):
      return tf.concat([x, tf.zeros_like(x[:, :1])], axis=1)

    processed = experience.replace(
        policy_info=dict(
            info,
            advantage=pad(streams.advantages),
            **{'return': pad(streams.returns[..., 0])},
            intrinsic_return=pad(streams.returns[..., 1]),
            valid_mask=pad(tf.cast(streams.valid, tf.float32)),
            next_observation=tf.nest.map_structure(pad, arrivals),
        )
    )
    if outer_rank == 1:
      processed = nest_utils.unbatch_nested_tensors(processed)
    return processed

  def _rollout_rows(self, experience):
    """Statistics and streams of a whole rollout, flattened to rows.

    The authors' order: bonus under the statistics of the collection; the
    return's statistics take it in before they divide it; then the observation
    statistics move on, and the predictor learns under the new ones.

    Args:
      experience: A `Trajectory` [B, T+1].

    Returns:
      A tuple (rows, statistics): tensors [B * (T+1), ...] by name.
    """
    _check_num_rows(experience)
    is_transition = tf.not_equal(
        experience.step_type[:, :-1], ts.StepType.LAST
    )
    enough = self._assert_enough(
        tf.math.count_nonzero(is_transition, dtype=tf.int32)
    )
    with tf.control_dependencies([enough]):  # Before anything changes.
      experience = tf.nest.map_structure(tf.identity, experience)
      valid = tf.identity(is_transition)
    arrivals = self._arrivals(experience.observation)
    bonus = None
    if self._explores:
      bonus = parts.by_environment(self._curiosity.bonus, arrivals)
    if self.update_normalizers_in_train:
      if self._explores:
        self._curiosity.update_return_statistics(bonus, valid)
      if self._reward_normalizer is not None:
        self._reward_normalizer.update(
            experience.reward[:, :-1],
            valid,
            _ends_and_starts(experience),
        )
    values_of = self._collect_policy.values
    if not self._is_recurrent:  # Or its memory would run B times over T steps.
      values_of = functools.partial(parts.by_environment, values_of)
    values = values_of(
        experience.observation,
        experience.step_type,
        self._first_states(experience),
    )
    streams = self._streams(experience, values, bonus)
    statistics = streams.statistics
    if self._explores:
      statistics.update(self._episode_statistics(experience, bonus, valid))
    if self._explores and self.update_normalizers_in_train:
      self._curiosity.update_observation_statistics(arrivals, valid)

    rows = samples.rows_of_rollout(
        experience, streams, self._log_probability(experience)
    )
    if self._explores:
      # Once a rollout: they stay the same while the statistics do.
      rows['target_features'] = samples.flatten_transitions(
          parts.by_environment(self._curiosity.target_features, arrivals)
      )
    return rows, statistics

  def _episode_statistics(self, experience, bonus, valid):
    """What curiosity paid in the episodes that ended in this rollout."""
    sums = self._episode_bonuses.add(
        self._curiosity.normalize_bonus(bonus),
        1.0,
        valid,
        _ends_and_starts(experience),
    )
    ends = valid & tf.equal(
        experience.next_step_type[:, :-1], ts.StepType.LAST
    )
    num_ends = tf.reduce_sum(tf.cast(ends, tf.float32))
    return dict(
        intrinsic_episode_return_mean=tf.math.divide_no_nan(
            tf.reduce_sum(tf.where(ends, sums, 0.0)), num_ends
        ),
        num_ended_episodes=num_ends,
    )

  def _first_states(self, experience):
    """What the networks remember before the first row; () for nothing."""
    stored = experience.policy_info.get('network_state')
    if stored is None:
      return ()
    return self._collect_policy.unpack_state(
        tf.nest.map_structure(lambda x: x[:, 0], stored)
    )

  def _log_probability(self, experience):
    """Log probability [B, T] of the actions under the collecting policy."""
    distributions = ppo_utils.distribution_from_spec(
        self._action_distribution_spec,
        experience.policy_info['dist_params'],
        legacy_distribution_network=isinstance(
            self._actor_net, network.DistributionNetwork
        ),
    )
    return common.log_probability(
        distributions, experience.action, self._action_spec
    )

  # ---------------------------------------------------------------------------
  # Samples: shuffled rows in, optimizer steps out.

  def _train(self, experience, weights):
    if self._optimizer is None:
      raise ValueError('RNDPPOAgent needs an optimizer to train.')
    experience = self._as_trajectory(experience)
    if self._compute_value_and_advantage_in_train:
      rows, statistics = self._rollout_rows(experience)
      num_minibatches = self._num_minibatches
    else:
      rows = samples.rows_of_preprocessed(
          experience, self._log_probability(experience)
      )
      statistics = dict.fromkeys(
          return_streams.STATISTICS, tf.constant(0.0)
      )
      num_minibatches = 1
    if weights is not None:
      rows['weight'] = samples.row_weights(weights, experience.step_type)
    num_rows = experience.discount.shape[1] or tf.shape(experience.discount)[1]
    means = self._optimize(rows, self._samples(rows, num_rows), num_minibatches)
    if (
        self._compute_value_and_advantage_in_train
        and self.update_normalizers_in_train
        and self._observation_normalizer is not None
    ):
      # Last: the probabilities of this rollout belong to the old statistics.
      self._observation_normalizer.update(
          tf.nest.map_structure(lambda x: x[:, :-1], experience.observation)
      )
    info = RNDPPOLossInfo(
        **dict(zip(_LOSS_FIELDS, tf.unstack(means[1:]), strict=True)),
        **statistics,
    )
    self._summarize(info)
    return tf_agent.LossInfo(means[0], info)

  def _assert_enough(self, num_samples):
    """A minibatch needs a sample."""
    return tf.debugging.assert_greater_equal(
        num_samples,
        self._num_minibatches,
        'Fewer transitions, or chunks of them, than minibatches: collect more'
        ' steps, or lower num_minibatches or unroll_length.',
    )

  def _samples(self, rows, num_rows):
    """What minibatches of a rollout's rows are drawn from."""
    if not self._is_recurrent:
      return samples.Transitions(rows)
    return samples.Chunks(
        rows, num_rows, self._sequences, self._collect_policy, self._shuffling
    )

  def _optimize(self, rows, samples_, num_minibatches):
    """Epochs of minibatches over all samples, in one loop of the graph.

    Returns:
      Means over all steps of (total loss, *_LOSS_FIELDS), a float tensor.
    """
    indices = samples_.indices
    num_samples = tf.size(indices)
    num_steps = self._num_epochs * num_minibatches
    if self.trains_on_rollouts:
      self._assert_enough(num_samples)
    else:
      # A `PPOLearner` may cut a minibatch of padding alone.
      num_steps = tf.where(num_samples > 0, num_steps, 0)
    seeds = self._shuffling.make_seeds(self._num_epochs)  # [2, epochs].
    shuffled = tf.concat(
        [
            tf.random.experimental.stateless_shuffle(indices, seeds[:, epoch])
            for epoch in range(self._num_epochs)
        ],
        axis=0,
    )

    def step(i, sums):
      # Parts of a pass differ by one sample at most; none is left out.
      epoch, part = i // num_minibatches, i % num_minibatches
      start = part * num_samples // num_minibatches
      end = (part + 1) * num_samples // num_minibatches
      chosen = shuffled[epoch * num_samples + start : epoch * num_samples + end]
      return i + 1, sums + self._step(rows, samples_.minibatch(chosen))

    _, sums = tf.while_loop(
        lambda i, _: i < num_steps,
        step,
        (tf.constant(0), tf.zeros([1 + len(_LOSS_FIELDS)])),
        parallel_iterations=1,
    )
    return sums / tf.cast(tf.maximum(num_steps, 1), tf.float32)

  def _step(self, rows, minibatch):
    """One optimizer step on a `samples.Minibatch` of the rows.

    Returns:
      (total loss, *_LOSS_FIELDS), a float tensor.
    """
    with tf.GradientTape() as tape:
      terms = self._ppo_terms(minibatch)
      terms['rnd_loss'] = self._predictor_loss(rows, minibatch.transitions)
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
      if self._check_numerics:
        total = tf.debugging.check_numerics(total, 'total loss')
    terms['gradient_norm'], terms['rnd_gradient_norm'] = self._update.step(
        tape, total
    )
    self.train_step_counter.assign_add(1)
    return tf.stack([total] + [terms[name] for name in _LOSS_FIELDS])

  def _ppo_terms(self, minibatch):
    """Terms of the PPO objective on a minibatch, scalars by name."""
    batch = minibatch.rows
    distributions, values = self._collect_policy.distribution_and_values(
        batch['observation'], batch['step_type'], minibatch.states
    )
    return dict(
        self._objective(distributions, values, minibatch),
        l2_regularization_loss=self.l2_regularization_loss(),
        kl_penalty_loss=tf.constant(0.0),
    )

  def l2_regularization_loss(self, debug_summaries=False):
    """As the parent's, by what kernels serve and not by who holds them."""
    del debug_summaries
    return ppo_objective.l2_regularization_loss(
        self._actor_net,
        self._value_net.value_net,
        self._policy_l2_reg,
        self._value_function_l2_reg,
        self._shared_vars_l2_reg,
    )

  def _predictor_loss(self, rows, chosen):
    """Loss of the predictor on its share of the chosen rows [n].

    The rows come shuffled, so the first ones are a random subset: drawn before
    the forward pass, of a fixed size, where the authors mask a whole pass by
    coin tosses. The expected loss is the same.
    """
    if not self._explores:
      return tf.constant(0.0)
    share = self._predictor_proportion * tf.cast(tf.size(chosen), tf.float32)
    chosen = chosen[: tf.maximum(1, tf.cast(tf.round(share), tf.int32))]

    def gather(name):
      if name not in rows:
        return None
      return tf.nest.map_structure(lambda x: tf.gather(x, chosen), rows[name])

    if 'next_observation' in rows:
      arrivals = gather('next_observation')
    else:
      arrivals = self._row_arrivals(rows, chosen)
    return self._curiosity.loss(
        arrivals,
        mask=gather('weight'),
        target_features=gather('target_features'),
    )

  def _row_arrivals(self, rows, chosen):
    """What the chosen transitions of flattened rollouts lead to: next rows."""
    return tf.nest.map_structure(
        lambda x: tf.gather(x, chosen + 1), rows['observation']
    )

  def _summarize(self, info):
    """Writes scalars of one `train`, at the step after it."""
    step = self.train_step_counter
    for name, value in info._asdict().items():
      scope = 'Losses' if name.endswith('_loss') else 'RNDPPO'
      tf.summary.scalar(f'{scope}/{name}', value, step=step)
    tf.summary.scalar(
        'LearningRate/learning_rate',
        optimizers.learning_rate(self._optimizer),
        step=step,
    )
    if self._summarize_grads_and_vars:
      for variable in self._ppo_variables + self._predictor_variables:
        name = variable.name.replace(':', '_')
        tf.summary.histogram(f'Variables/{name}', variable, step=step)


def _check_num_rows(experience):
  """Refuses rollouts without a transition, where their length is known."""
  num_rows = experience.discount.shape[1]
  if num_rows is not None and num_rows < 2:
    raise ValueError(
        'A rollout needs at least 2 rows: T+1 rows make T transitions. For the'
        ' minibatches of a PPOLearner build the agent with'
        ' compute_value_and_advantage_in_train=False.'
    )


def _ends_and_starts(experience):
  """Where sums over episodes start again, booleans [B, T].

  At ends, too: of rollouts that share no row, as a driver and an emptied
  replay buffer make them, the last row may be the FIRST one of an episode,
  whose transition is in none of them.
  """
  return tf.not_equal(experience.step_type[:, :-1], ts.StepType.MID)


def _unique_variables(*networks):
  """Trainable variables of several networks, each once."""
  unique = {
      variable.ref(): variable
      for net in networks
      for variable in net.trainable_weights
  }
  return list(unique.values())
