# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""PPO that explores by Random Network Distillation, or another curiosity.

Burda et al., 2018 (arXiv 1810.12894), on TF-Agents' `PPOAgent`, in the order
and with the constants of the authors' code; docs/rnd_ppo.md numbers every
difference from the paper, from that code and from TF-Agents.
"""

import collections
from collections.abc import Callable, Sequence
import functools
import inspect
import operator
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.agents import data_converter
from tf_agents.agents import tf_agent
from tf_agents.agents.ppo import ppo_agent
from tf_agents.agents.ppo import ppo_utils
from tf_agents.networks import network
from tf_agents.policies import greedy_policy
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import common
from tf_agents.utils import nest_utils

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import switched_off
from rnd_agents.agents import auxiliary_loss as auxiliary_loss_lib
from rnd_agents.agents import optimizers
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_arguments
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.agents import rollout
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.ops import losses
from rnd_agents.ops import rollout_parts
from rnd_agents.replay import sequences
from rnd_agents.statistics import finite
from rnd_agents.statistics import running_statistics


def _loss_names(
    stream_names: Sequence[str], more: Sequence[str] = ()
) -> tuple[str, ...]:
  """Returns the names of the means over the optimizer steps of a `train`."""
  return (
      *ppo_agent.PPOLossInfo._fields,
      *(f'{name}_value_loss' for name in stream_names),
      'rnd_loss',
      *more,
      'entropy',
      'approximate_kl',
      'gradient_norm',
      'rnd_gradient_norm',
  )


@functools.cache
def _loss_info_type(
    stream_names: tuple[str, ...],
    curious_names: tuple[str, ...],
    more: tuple[str, ...] = (),
) -> type[Any]:
  """Creates the `RNDPPOLossInfo` of an agent, a namedtuple class.

  The means are followed by two numbers about the whole update, and statistics
  of the rollout before it, which are 0 if `preprocess_sequence` computed the
  returns.

  Args:
    stream_names: Names of the agent's streams.
    curious_names: Names of the streams with a curiosity.
    more: Names of further losses.
  """
  return collections.namedtuple(
      'RNDPPOLossInfo',
      _loss_names(stream_names, more)
      + ('update_size', 'skipped_train_steps')
      + return_streams.statistics_names(stream_names, curious_names),
  )


RNDPPOLossInfo = _loss_info_type(('extrinsic', 'intrinsic'), ('intrinsic',))

_Sampler = rollout.RowSampler | rollout.ChunkSampler

# Methods of PPOAgent that training never calls, by what to do instead.
_LOSSES = 'Override _ppo_losses, which computes PPO\'s terms of the loss.'
_STREAMS = (
    'Give RNDPPOAgent other streams, or override _advantages, which computes'
    ' advantages and returns.'
)
_UNUSED_METHODS = dict(
    get_loss=_LOSSES,
    policy_gradient_loss=_LOSSES,
    value_estimation_loss=_LOSSES,
    entropy_regularization_loss=_LOSSES,
    kl_penalty_loss=_LOSSES,
    compute_advantages=_STREAMS,
    compute_return_and_advantage=_STREAMS,
)


def _unused_message(agent_class: type, name: str) -> str:
  return (
      f'{agent_class.__name__}.{name} has no effect: training by RND-PPO never'
      f' calls it. {_UNUSED_METHODS[name]}'
  )


@gin.configurable(
    module='rnd_agents',
    denylist=[  # Passed by `create_rnd_ppo_agent`, or without effect.
        'time_step_spec',
        'action_spec',
        'optimizer',
        'actor_net',
        'value_net',
        'rnd_optimizer',
        'curiosity',
        'auxiliary_loss',
        'train_step_counter',
        *rnd_ppo_arguments.RND_ARGUMENTS.values(),
        *rnd_ppo_arguments.UNUSED_PPO_ARGUMENTS,
    ],
)
class RNDPPOAgent(ppo_agent.PPOAgent):
  """A `PPOAgent` with an intrinsic return stream from a curiosity.

  Two ways of use, as for `PPOAgent`:

  * `compute_value_and_advantage_in_train=True` (the default): `train` takes
    whole rollouts [B, T+1] from any TF-Agents replay buffer and runs
    `num_epochs` times `num_minibatches` optimizer steps on them, shuffled.
  * False: `preprocess_sequence` takes whole rollouts and `train` what a
    `PPOLearner` cuts from them; each call is one optimizer step an epoch.

  `train_step_counter` counts optimizer steps. The `weights` of `train` (one, or
  [B], or [B, T+1]) are factors of each transition's losses, of policy, values
  and curiosity alike: every loss is a mean over samples, and half the weights
  halve it.

  A rollout that is not finite is refused before anything changes: by an
  `errors.InvalidValue`, in a graph by a `tf.errors.InvalidArgumentError`.

  Methods of `PPOAgent` that training does not call raise an error that names
  what to override. `_train` is an update from top to bottom.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      optimizer: types.Optimizer | None = None,
      actor_net: network.Network | None = None,
      value_net: network.Network | Sequence[network.Network] | None = None,
      rnd_network: network.Network | None = None,
      target_rnd_network: network.Network | None = None,
      rnd_optimizer: types.Optimizer | None = None,
      rnd_loss_fn: types.LossFn = losses.rnd_error,
      rnd_observation_fn: Callable[..., types.NestedTensor] | None = None,
      observation_clip_value: float | None = 5.0,
      predictor_proportion: types.Float = 0.25,
      discount_factor: types.Float = 0.999,
      intrinsic_discount_factor: types.Float = 0.99,
      extrinsic_advantage_coefficient: types.Float = 2.0,
      intrinsic_advantage_coefficient: types.Float = 1.0,
      episodic_intrinsic_stream: bool = False,
      intrinsic_reward_clip: types.Float | None = None,
      intrinsic_termination_discount: types.Float = 1.0,
      bootstrap_at_time_limit: bool = True,
      normalize_advantages: bool = False,
      advantage_scale_decay: types.Float = 0.0,
      normalize_observations: bool = False,
      normalize_rewards: bool = False,
      least_reward_deviation: types.Float = 0.0,
      num_epochs: int = 4,
      num_minibatches: int = 4,
      target_kl: types.Float | None = None,
      importance_ratio_clipping: types.Float = 0.1,
      dual_clip: types.Float | None = None,
      entropy_regularization: types.Float = 0.001,
      recurrent_state_init: str = 'stored',
      unroll_length: int | None = None,
      burn_in_length: int = 0,
      unroll_remainder: str = 'pad',
      curiosity: rnd_ppo_arguments.Curiosities = None,
      streams: (
          Sequence[return_streams.ReturnStream]
          | Callable[..., Sequence[return_streams.ReturnStream]]
          | None
      ) = None,
      auxiliary_loss: auxiliary_loss_lib.AuxiliaryLoss | None = None,
      name: str = 'RNDPPOAgent',
      **kwargs: Any,
  ):
    """Creates the agent. Defaults are the paper's Atari values (its table 5).

    Args:
      time_step_spec: A `TimeStep` spec of the expected time steps.
      action_spec: A nest of `BoundedTensorSpec`.
      optimizer: Trains policy and values, and the curiosity unless it has an
        optimizer of its own.
      actor_net: A `Network` from observations to action distributions.
      value_net: A `Network` from observations to [..., N], a value for each
        stream: extrinsic and intrinsic. Or a tuple with a network for each
        stream, such as TF-Agents' `ValueNetwork` or `ValueRnnNetwork`; for one
        stream one of them. Two `views` of one `ActorCriticNetwork`
        are evaluated in one pass.
      rnd_network: RND's predictor, a `Network` on
        `curiosity.observation_spec(observation_spec, rnd_observation_fn)`. It,
        the target and the arguments `rnd_loss_fn`, `rnd_observation_fn` and
        `observation_clip_value` describe RND in place of a `curiosity`.
      target_rnd_network: RND's target, not trainable.
      rnd_optimizer: Trains the curiosity; None leaves it to `optimizer`.
        `gradient_clipping` is not for the curiosity.
      rnd_loss_fn: Function from (predictions, targets) [..., F] to the error of
        each sample.
      rnd_observation_fn: Function that selects what RND sees, from a nest of
        tensors [outer..., *shape] to another. None for everything.
      observation_clip_value: Bound on RND's whitened input, in standard
        deviations; None for no clipping.
      predictor_proportion: Share of each minibatch that the curiosity learns
        from, above 0 and at most 1.
      discount_factor: gamma_E.
      intrinsic_discount_factor: gamma_I.
      extrinsic_advantage_coefficient: c_E.
      intrinsic_advantage_coefficient: c_I. At 0 no bonus is computed, the
        curiosity is not trained, and the agent is PPO.
      episodic_intrinsic_stream: Whether the intrinsic return ends with the
        episode (section 2.3 of the paper argues that it should not).
      intrinsic_reward_clip: Bound on the normalized bonus; None, as in the
        paper, for no bound. A first unseen screen may be worth a hundred usual
        bonuses.
      intrinsic_termination_discount: Factor of the intrinsic value after a
        termination, 1 in the paper. If dying shows something new and the next
        episode begins at once, dying pays; with a lower factor it costs.
      bootstrap_at_time_limit: Whether a return that ends with the episode
        bootstraps where a time limit cut it: the extrinsic one, and the
        intrinsic one if it is episodic. The authors' code does not (False). A
        time limit is a LAST step with a discount above 0. TF-Agents'
        `suite_gym.load` makes it 0, a termination; docs/rnd_ppo.md tells how to
        avoid that.
      normalize_advantages: Whether combined advantages get mean 0 and variance
        1 over each rollout. The authors do not normalize. If the deviation is
        far below 1, raise `value_pred_loss_coef` by as much, or the values
        hardly learn.
      advantage_scale_decay: With `normalize_advantages`, the least share of the
        last rollout's divisor to which the divisor may fall. 0 divides by the
        deviation of each rollout alone, which amplifies the noise of a policy
        that always succeeds.
      normalize_observations: Whether policy and values see numbers of
        observations whitened by running statistics of their own. Pictures and
        categories never are, integers of a wide range always
        (`rnd_agents.observations`).
      normalize_rewards: Whether extrinsic rewards are divided by the running
        standard deviation of their discounted return, and clipped at
        `reward_norm_clipping` (10): the first reward after many steps of 0
        would otherwise be worth hundreds.
      least_reward_deviation: With `normalize_rewards`, the least divisor. At 1
        small rewards, such as DeepSea's costs of 0.01, stay as they are; at 0
        they become as large as the bonus.
      num_epochs: Passes over the data of one `train`.
      num_minibatches: Optimizer steps in each pass; only for whole rollouts.
        With recurrent networks each step learns from a part of the chunks.
      target_kl: The update ends after a minibatch in which the estimate of
        KL(old, new) is above 1.5 times this; if the policy has gone farther
        than that, its change is halved until it has not (TRPO's line search).
        None for all steps.
      importance_ratio_clipping: PPO's epsilon; 0 for no clipping, which needs a
        KL penalty.
      dual_clip: Above 1: largest ratio of probabilities that counts where an
        advantage is negative (Ye et al., 2020). Without it, None, an action
        that has become a thousand times likelier has a gradient a thousand
        times the usual. Ye et al. take 3.
      entropy_regularization: Coefficient of the entropy bonus.
      recurrent_state_init: State of recurrent networks at the start of a chunk:
        'stored' for the state when it was collected, 'zero' for zeros.
      unroll_length: Steps of a chunk; None for the whole rollout.
      burn_in_length: Steps before a chunk that update its state and are not
        learned from with it.
      unroll_remainder: How a last chunk that is too short is treated: 'pad',
        'fill', 'drop' or 'shift' (`replay.sequences`).
      curiosity: The `Curiosity` of the intrinsic stream, or a list of them,
        each with an intrinsic stream of its own; None for RND on `rnd_network`
        and `target_rnd_network`.
      streams: Other return streams than the two above, which the arguments from
        `discount_factor` to `intrinsic_termination_discount` describe: a list
        of `ReturnStream`, or a function from `curiosity` to one. `value_net`
        has as many heads.
      auxiliary_loss: An `AuxiliaryLoss` on the policy's trunk, or None. For
        networks of `create_networks`, without an action mask.
      name: Name of the agent.
      **kwargs: The other arguments of `PPOAgent`: `greedy_eval`,
        `lambda_value`, `value_pred_loss_coef`, `gradient_clipping`,
        `value_clipping`, `reward_norm_clipping`, `policy_l2_reg`,
        `check_numerics`, `use_gae` and `use_td_lambda_return` (here True),
        `initial_adaptive_kl_beta` and `kl_cutoff_factor` (here 0: no KL
        penalty),
        `compute_value_and_advantage_in_train`, `update_normalizers_in_train`,
        `summarize_grads_and_vars` (variables only), `train_step_counter`
        ... `debug_summaries` changes nothing.
    """
    signature = inspect.signature(RNDPPOAgent)
    arguments = rnd_ppo_arguments.checked(locals(), signature)
    curiosity, streams = rnd_ppo_arguments.create_streams(arguments, signature)
    super().__init__(
        **dict(
            rnd_ppo_arguments.for_parent(arguments),
            value_net=rnd_ppo_policy.FirstValueNetwork(arguments['value_net']),
            discount_factor=streams[0].discount_factor,
            num_epochs=int(num_epochs),
            # Own normalizers take the place of the parent's: docs/rnd_ppo.md.
            normalize_rewards=False,
            normalize_observations=False,
        )
    )
    self._numbers = rnd_ppo_arguments.numbers_of(arguments)
    self._penalizes_kl = rnd_ppo_arguments.penalizes_kl(arguments)
    lambda_value, return_lambda = rnd_ppo_arguments.lambdas(
        arguments, self._lambda
    )
    self._curiosity = curiosity
    self._rnd_optimizer = rnd_optimizer
    names = tuple(stream.name for stream in streams)
    self._auxiliary_loss = auxiliary_loss
    more = () if auxiliary_loss is None else ('auxiliary_loss',)
    self._loss_names = _loss_names(names, more)
    self._loss_info_type = _loss_info_type(
        names, tuple(s.name for s in streams if s.curiosity is not None), more
    )
    self._is_recurrent = bool(
        self._actor_net.state_spec or self._value_net.state_spec
    )
    self._sequences = rnd_ppo_arguments.sequence_settings(arguments)
    self._return_streams = return_streams.ReturnStreams(
        streams,
        [
            running_statistics.ReturnScaler(
                stream.discount_factor, least_deviation=least_reward_deviation
            )
            if normalize_rewards and stream.environment_terms
            else None
            for stream in streams
        ],
        self._reward_norm_clipping,
        lambda_value,
        bootstrap_at_time_limit,
        running_statistics.AdvantageNormalizer(advantage_scale_decay)
        if normalize_advantages
        else None,
        return_lambda=return_lambda,
    )
    # Its state is part of a checkpoint, where that of `tf.random.shuffle` is
    # not: a run that is resumed draws what it would have drawn.
    self._shuffling = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    )
    self._observation_normalizer = (
        running_statistics.create_observation_normalizer(
            self.time_step_spec.observation,
            self._actor_net.input_tensor_spec,
            normalize_observations,
        )
    )
    self._build_policies(
        arguments['greedy_eval'], recurrent_state_init == 'stored'
    )
    self._build_optimizers()

  # ---------------------------------------------------------------------------
  # Construction.

  def __init_subclass__(cls, **kwargs: Any) -> None:
    super().__init_subclass__(**kwargs)
    for name in _UNUSED_METHODS:
      if getattr(cls, name) is not getattr(RNDPPOAgent, name):
        raise errors.InvalidType(_unused_message(cls, name))

  def _build_policies(self, greedy_eval: bool, stores_state: bool) -> None:
    """Replaces the parent's policies and attributes that depend on them."""
    all_curiosities = return_streams.curiosities(self.streams)

    def build(collect: bool) -> rnd_ppo_policy.RNDPPOPolicy:
      return rnd_ppo_policy.RNDPPOPolicy(
          self.time_step_spec,
          self.action_spec,
          self._actor_net,
          value_network=self._value_net,
          observation_normalizer=self._observation_normalizer,
          clip=False,
          collect=collect,
          compute_value_and_advantage_in_train=self.trains_on_rollouts,
          value_names=self._info_names('value_prediction'),
          training_info=self._computed_names(),
          curiosities=all_curiosities if collect else (),
          stores_state=stores_state,
      )

    self._policy = self._sampled_policy = build(collect=False)
    if greedy_eval:
      self._policy = greedy_policy.GreedyPolicy(self._sampled_policy)
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

  def _info_names(self, name: str) -> list[str]:
    """Returns the streams' names of 'return' or 'value_prediction' in infos.

    TF-Agents reads those of the first stream, without a prefix.
    """
    return [name] + [f'{stream.name}_{name}' for stream in self.streams[1:]]

  def _computed_names(self) -> list[str]:
    """Returns the names of scalars that `_preprocess` adds to policy infos."""
    return ['advantage', *self._info_names('return'), 'valid_mask']

  def _build_optimizers(self) -> None:
    """Creates the variables of the optimizers, and lists what they train."""
    # In the networks' order, which checkpoints rely on, and not sorted by name:
    # Keras numbers layers through a process, and dense_10 sorts before dense_9.
    variables = optimizers.trainable_variables(
        self._actor_net, self._value_net
    )
    if self._auxiliary_loss is not None:
      variables += self._auxiliary_loss.trainable_variables
    self._ppo_variables = variables
    self._predictor_variables = _trainable_variables(
        return_streams.curiosities(self.streams)
    )
    self._replicas = optimizers.Replicas()
    if self._optimizer is not None:
      self._optimizer_step = optimizers.Update(
          self._optimizer,
          self._rnd_optimizer,
          self._ppo_variables,
          _trainable_variables(self._return_streams.curiosities),
          self._gradient_clipping,
      )

  @property
  def observation_normalizer(
      self,
  ) -> running_statistics.ObservationNormalizer | None:
    """Whitens observations for the networks; None if nothing is whitened."""
    return self._observation_normalizer

  @property
  def sampled_policy(self) -> tf_policy.TFPolicy:
    """Samples actions as the collect policy does; nothing is recorded."""
    return self._sampled_policy

  @property
  def curiosity(self) -> curiosity_lib.Curiosity | None:
    """The agent's `Curiosity`, the first one if there are several, or None."""
    return self._curiosity

  @property
  def streams(self) -> tuple[return_streams.ReturnStream, ...]:
    """The agent's `ReturnStream`s, in the order of the value heads."""
    return self._return_streams.streams

  @property
  def discount_factor(self) -> types.Float:
    """Gamma of the extrinsic rewards."""
    return self.streams[0].discount_factor

  @property
  def num_minibatches(self) -> int:
    """Optimizer steps a pass over a whole rollout."""
    return int(self._numbers['num_minibatches'])

  @property
  def optimizers(self) -> Sequence[types.Optimizer]:
    """The optimizers that train the agent: one, or two with the curiosity's."""
    return [
        optimizer
        for optimizer in (self._optimizer, self._rnd_optimizer)
        if optimizer is not None
    ]

  def idle_settings(self) -> switched_off.Settings:
    """Returns settings in gin that this agent makes no use of."""
    without = switched_off.without
    idle: switched_off.Settings = {}
    if self._curiosity is not None and not self._return_streams.curiosities:
      idle |= without(
          'RNDPPOAgent.intrinsic_advantage_coefficient',
          'a bonus',
          'create_rnd_ppo_agent.curiosity_fn',
          'create_rnd_ppo_agent.rnd_learning_rate',
          'RNDPPOAgent.predictor_proportion',
          'RNDPPOAgent.intrinsic_discount_factor',
          'RNDPPOAgent.episodic_intrinsic_stream',
          'RNDPPOAgent.intrinsic_reward_clip',
          'RNDPPOAgent.intrinsic_termination_discount',
          remedy='set RNDPPOAgent.intrinsic_advantage_coefficient above 0',
      )
    elif not any(
        each.trainable_variables for each in self._return_streams.curiosities
    ):
      idle |= switched_off.without_training(
          'create_rnd_ppo_agent',
          'create_rnd_ppo_agent.rnd_learning_rate',
          'RNDPPOAgent.predictor_proportion',
      )
    if all(scaler is None for scaler in self._return_streams.scalers):
      idle |= without(
          'RNDPPOAgent.normalize_rewards',
          'normalized rewards',
          'RNDPPOAgent.reward_norm_clipping',
          remedy='set RNDPPOAgent.normalize_rewards = True',
      )
    return idle

  @property
  def trains_on_rollouts(self) -> bool:
    """Whether `train` takes whole rollouts, and not a `PPOLearner`'s parts."""
    return self._compute_value_and_advantage_in_train

  def check_rollout(self, num_environments: int, rollout_length: int) -> None:
    """Raises InvalidValue unless rollouts [B, T+1] suit the agent.

    Args:
      num_environments: B.
      rollout_length: T.
    """
    if not self.trains_on_rollouts:
      raise errors.InvalidValue(
          'Training on whole rollouts needs'
          ' RNDPPOAgent.compute_value_and_advantage_in_train = True.'
      )
    num_minibatches = self.num_minibatches
    num_transitions = num_environments * rollout_length
    what = f'{num_environments} environments * {rollout_length} steps'
    # Every second transition may be a boundary between episodes, and no sample.
    if num_transitions < 2 * num_minibatches:
      raise errors.InvalidValue(
          f'{what} are {num_transitions} transitions, too few for'
          f' RNDPPOAgent.num_minibatches = {num_minibatches}: at least two'
          ' a minibatch are needed.'
      )
    if not self._is_recurrent:
      return
    settings = self._sequences
    chunks = sequences.cut(rollout_length, settings)
    # A single step may be a boundary, and then no sample.
    num_steps = np.sum(chunks.weights.numpy() > 0, axis=1)
    num_samples = num_environments * int(np.sum(num_steps > 1))
    if num_samples < num_minibatches and settings.unroll_length != 1:
      raise errors.InvalidValue(
          f'{what} are cut into {num_samples} chunks of two steps or more, too'
          f' few for RNDPPOAgent.num_minibatches = {num_minibatches}: lower'
          ' that, or RNDPPOAgent.unroll_length.'
      )
    if settings.burn_in_length and not np.any(chunks.has_burn_in):
      raise errors.InvalidValue(
          f'RNDPPOAgent.burn_in_length = {settings.burn_in_length} is more than'
          f' the steps before the last chunk of {rollout_length} steps: no'
          ' chunk would have a burn-in. Lower it, or RNDPPOAgent.unroll_length.'
      )

  # ---------------------------------------------------------------------------
  # Public methods besides `train`.

  def rnd_loss(
      self, observations: types.NestedTensor, debug_summaries: bool = False
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the bonus of arriving at observations, not scaled, and its mean.

    Args:
      observations: A nest of tensors [B, T, ...], as the environment gives
        them: they are whitened and clipped here.
      debug_summaries: Whether to write a histogram `rnd_loss` of the bonus.

    Returns:
      A tuple (bonus [B, T], mean []). The gradient of the mean is that of the
      curiosity's loss, into the predictor; `train` computes its own.
    """
    if self._curiosity is None:
      raise errors.InvalidValue('RNDPPOAgent.rnd_loss needs a curiosity.')
    transitions = curiosity_lib.Transitions(
        action_masks.without_mask(observations)
    )
    bonus = self._curiosity.bonus(transitions)
    if debug_summaries:
      tf.summary.histogram('rnd_loss', bonus, self.train_step_counter)
    loss = self._curiosity.loss(transitions)
    return bonus, tf.reduce_mean(bonus) + loss - tf.stop_gradient(loss)

  def update_observation_statistics(
      self,
      observations: types.NestedTensor,
      mask: types.Tensor | None = None,
  ) -> None:
    """Updates all statistics of observations with raw observations.

    Call it on a random policy's observations before training starts (section
    2.4 of the paper); `train` continues from there by itself.

    Args:
      observations: A nest of tensors [outer..., ...].
      mask: Optional booleans [outer...].
    """
    spec = tf.nest.flatten(self.time_step_spec.observation)[0]
    leaf = tf.nest.flatten(observations)[0]
    outer_rank = len(leaf.shape) - spec.shape.rank  # May be a NumPy array.
    with tf.control_dependencies(
        finite.verify({'observation': observations}, outer_rank)
    ):
      seen = action_masks.without_mask(observations)
      for curiosity in return_streams.curiosities(self.streams):
        curiosity.update_observation_statistics(seen, mask)
      if self._observation_normalizer is not None:
        self._observation_normalizer.update(observations, mask)

  # ---------------------------------------------------------------------------
  # Training: an update from top to bottom.

  @tf.autograph.experimental.do_not_convert
  def _train(
      self, experience: trajectory.Trajectory, weights: types.Tensor | None
  ) -> tf_agent.LossInfo:
    """Updates the agent by a rollout [B, T+1], or by a `PPOLearner`'s part.

    The order is that of the authors of RND: bonus under the statistics of the
    collection; the return's statistics take it in before they divide it; then
    the observation statistics are updated, and the curiosity learns under the
    new ones.
    """
    if self._optimizer is None:
      raise errors.InvalidValue('RNDPPOAgent needs an optimizer to train.')
    experience = self._as_trajectory(experience)
    if weights is not None:
      weights = rollout.row_weights(weights, experience.step_type)
    transitions = None
    if self.trains_on_rollouts:
      rollout.check_num_rows(experience)
      transitions = curiosity_lib.Transitions.of_trajectory(experience)
    log_probability, bonuses, values, refusals = self._evaluate(
        experience, transitions, weights
    )
    sampler = self._sampler(rollout.begins_transition(experience))
    num_samples = tf.size(sampler.indices)
    num_minibatches = self.num_minibatches
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
      if transitions is not None:
        rows, statistics = self._rows_of_rollout(
            experience, transitions, log_probability, bonuses, values
        )
      else:
        rows = self._rows_of_preprocessed(experience, log_probability)
        statistics = {}
      if weights is not None:
        rows = rows._replace(weight=tf.reshape(weights, [-1]))
      loss, means = self._run_epochs(rows, sampler, num_minibatches)
      if self._adaptive_kl_beta is not None:
        kl = self._mean_kl(rows, sampler, num_minibatches)
        # At the target nothing changes, as for padding alone.
        self.update_adaptive_kl_beta(
            tf.where(num_samples > 0, kl, self._adaptive_kl_target)
        )
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
      self._summarize({**means, **statistics})
      return tf_agent.LossInfo(loss, info)

  # ---------------------------------------------------------------------------
  # Training: evaluation of a rollout.

  def _evaluate(
      self,
      experience: trajectory.Trajectory,
      transitions: curiosity_lib.Transitions | None,
      weights: tf.Tensor | None = None,
  ) -> tuple[tf.Tensor, return_streams.Bonuses, tf.Tensor, list[tf.Operation]]:
    """Evaluates a rollout before any update, and refuses one not finite.

    Args:
      experience: A `Trajectory` [B, T+1], or parts [B, T] of the results of
        `_preprocess`.
      transitions: Its `Transitions` [B, T]; None for parts, whose bonuses and
        values are not computed.
      weights: Weights of its rows or None.

    Returns:
      A tuple (log probability of the actions when they were collected, [B,
      T+1], 0 where no transition begins; raw bonuses [B, T] by curiosity;
      values [B, T+1, N]; a list for `tf.control_dependencies`).

    Raises:
      InvalidValue: If a number is not finite (`finite.require`).
    """
    valid = rollout.begins_transition(experience)
    bonuses, values = {}, ()
    with tf.control_dependencies(
        self._check_collected(experience, valid, weights)
    ):
      log_probability = self._log_probability(experience, valid)
      if transitions is not None:
        bonuses = self._return_streams.bonuses(transitions)
        values = self._values(experience)
    return log_probability, bonuses, values, [
        *finite.verify({'log probability of the action': log_probability}),
        *finite.verify({'value': values}),
        *finite.verify({'bonus': list(bonuses.values())}, mask=valid[:, :-1]),
    ]

  def _check_collected(
      self,
      experience: trajectory.Trajectory,
      valid: tf.Tensor,
      weights: tf.Tensor | None,
  ) -> list[tf.Operation]:
    """Refuses numbers that are not finite where they enter an update.

    Rewards, discounts, actions and their distributions enter where a transition
    begins; the others in all rows of a whole rollout.
    """
    info = dict(experience.policy_info)
    everywhere = valid if 'valid_mask' in info else None
    # Minus infinity is the logit of an action that is not allowed.
    dist_params = {'dist_params': info.pop('dist_params')}
    if weights is not None:
      info['weights'] = weights
    largest = self._return_streams.largest_reward
    return [
        *finite.verify(
            dict(observation=experience.observation, **info), mask=everywhere
        ),
        *finite.verify(
            dict(discount=experience.discount, action=experience.action),
            mask=valid,
        ),
        *finite.verify(
            dict(reward=experience.reward),
            mask=valid,
            largest=largest,
            advice=f' Rewards may be up to {largest:g} in size; more only with'
            ' normalize_rewards.',
        ),
        *finite.verify(dist_params, mask=valid, largest=float('inf')),
    ]

  def _log_probability(
      self, experience: trajectory.Trajectory, valid: tf.Tensor
  ) -> tf.Tensor:
    """Returns log probabilities [B, T] under the collecting policy."""
    distributions = ppo_utils.distribution_from_spec(
        self._action_distribution_spec,
        experience.policy_info['dist_params'],
        legacy_distribution_network=self._collect_policy.is_legacy,
    )
    log_probability = common.log_probability(
        distributions, experience.action, self._action_spec
    )
    return tf.where(valid, log_probability, 0.0)

  def _values(self, experience: trajectory.Trajectory) -> tf.Tensor:
    """Returns values [B, T+1, N] of the observations, recorded or computed."""
    policy, info = self._collect_policy, experience.policy_info
    names = self._info_names('value_prediction')
    if names[0] in info:
      return tf.stack([info[name] for name in names], axis=-1)
    states = ()
    if 'network_state' in info:
      states = policy.unpack_state(
          tf.nest.map_structure(lambda x: x[:, 0], info['network_state'])
      )
    arguments = experience.observation, experience.step_type, states
    if self._is_recurrent:  # In parts its memory would run B times over T.
      return policy.values(*arguments)
    return rollout_parts.by_environment(policy.values, *arguments)

  # ---------------------------------------------------------------------------
  # Training: streams of a rollout.

  def _advantages(
      self,
      experience: trajectory.Trajectory,
      rewards: Sequence[tf.Tensor | None],
      values: tf.Tensor,
      updates_statistics: bool = False,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns advantages [B, T] and returns [B, T, N]; may be overridden.

    Args:
      experience: A `Trajectory` [B, T+1].
      rewards: Rewards [B, T] of each stream; None for a stream that is off.
      values: Values of every row, float [B, T+1, N].
      updates_statistics: Whether the rollout enters the advantages' divisor.
    """
    return self._return_streams.advantages(
        experience, rewards, values, updates_statistics
    )

  def _rows_of_rollout(
      self,
      experience: trajectory.Trajectory,
      transitions: curiosity_lib.Transitions,
      log_probability: tf.Tensor,
      bonuses: return_streams.Bonuses,
      values: tf.Tensor,
  ) -> tuple[rollout.Rows, dict[str, tf.Tensor]]:
    """Computes the streams of a rollout, and updates their statistics.

    Args:
      experience: A `Trajectory` [B, T+1].
      transitions: Its `Transitions` [B, T].
      log_probability: As `_evaluate` returns it, like the next two.
      bonuses: Raw bonuses.
      values: Values.

    Returns:
      A tuple (`Rows`, scalars by name).
    """
    updates_statistics = self.update_normalizers_in_train
    streams = self._return_streams
    if updates_statistics:
      streams.update_return_statistics(experience, bonuses)
    rewards = streams.rewards(experience, bonuses)
    advantages, returns = self._advantages(
        experience, rewards, values, updates_statistics
    )
    statistics = streams.statistics(
        experience, bonuses, rewards, returns, values
    )
    if updates_statistics:
      for curiosity in streams.curiosities:
        curiosity.update_statistics(transitions)
    of_transitions = tf.nest.map_structure(
        rollout.add_empty_row,
        dict(
            advantage=advantages,
            returns=returns,
            old_values=values[:, :-1],
            constants=[
                curiosity.constants(transitions)
                for curiosity in streams.curiosities
            ],
        ),
    )
    return self._rows(experience, log_probability, **of_transitions), statistics

  def _rows(
      self,
      experience: trajectory.Trajectory,
      log_probability: tf.Tensor,
      **of_transitions: types.NestedTensor,
  ) -> rollout.Rows:
    """Merges batch and time, [B, T+1, ...] -> [R, ...]."""
    return curiosity_lib.merge_time(
        rollout.Rows(
            observation=experience.observation,
            step_type=experience.step_type,
            action=experience.action,
            old_log_probability=log_probability,
            network_state=experience.policy_info.get('network_state'),
            dist_params=(
                experience.policy_info['dist_params']
                if self._penalizes_kl
                else None
            ),
            **of_transitions,
        )
    )

  # ---------------------------------------------------------------------------
  # Training: epochs, minibatches, steps.

  def _sampler(self, valid: tf.Tensor) -> _Sampler:
    """Returns a sampler of the rows that begin a transition, [B, T+1]."""
    if not self._is_recurrent:
      return rollout.RowSampler(valid)
    return rollout.ChunkSampler(
        valid, self._sequences, self._collect_policy, self._shuffling
    )

  def _run_epochs(
      self, rows: rollout.Rows, sampler: _Sampler, num_minibatches: types.Int
  ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Takes all optimizer steps of an update, in one loop of the graph.

    Args:
      rows: `Rows` of the rollout.
      sampler: Draws minibatches of them.
      num_minibatches: Optimizer steps a pass; 0 if there is no sample.

    Returns:
      A tuple (mean total loss, scalars by name): means over the steps taken,
      `update_size`, the change of the policy's variables in learning rates, and
      `skipped_train_steps`.
    """
    policy_variables = _weights_behind(self._actor_net)
    before = [variable.read_value() for variable in policy_variables]
    indices = sampler.indices
    num_samples = tf.size(indices)
    num_steps = self._num_epochs * num_minibatches
    seeds = self._shuffling.make_seeds(self._num_epochs)  # [2, epochs].
    shuffled = tf.concat(
        [
            tf.random.experimental.stateless_shuffle(indices, seeds[:, epoch])
            for epoch in range(self._num_epochs)
        ],
        axis=0,
    )
    kl_index = 1 + self._loss_names.index('approximate_kl')
    limit = self._numbers['target_kl']
    if limit is not None:
      probe, _ = sampler.minibatch(
          rows, shuffled[: num_samples // tf.maximum(num_minibatches, 1)]
      )
      # Not as collected, with other states or rounding: the way from here.
      probe = probe._replace(
          old_log_probability=common.log_probability(
              self._distributions_and_values(probe)[0],
              probe.action,
              self._action_spec,
          )
      )

    def step(
        i: tf.Tensor, _: tf.Tensor, sums: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
      epoch, part = i // num_minibatches, i % num_minibatches
      start, end = _ends_of_part(part, num_minibatches, num_samples)
      chosen = shuffled[epoch * num_samples + start : epoch * num_samples + end]
      terms = self._step(rows, *sampler.minibatch(rows, chosen))
      return i + 1, terms[kl_index], sums + terms

    num_taken, _, sums = tf.while_loop(
        lambda i, kl, _: tf.logical_and(
            i < num_steps, limit is None or kl <= 1.5 * limit
        ),
        step,
        (tf.constant(0), 0.0, tf.zeros([1 + len(self._loss_names)])),
        parallel_iterations=1,
    )
    if limit is None:  # A constant: graphs multiply by its inverse.
      num_taken = num_steps
    else:
      optimizers.shorten_change(
          before, policy_variables, lambda: self._kl(probe) > 1.5 * limit
      )
    loss, *means = tf.unstack(
        sums / tf.cast(tf.maximum(num_taken, 1), tf.float32)
    )
    return loss, dict(
        zip(self._loss_names, means, strict=True),
        update_size=optimizers.size_of_change(
            before, policy_variables, self._optimizer
        ),
        skipped_train_steps=tf.cast(num_steps - num_taken, tf.float32),
    )

  def _kl(self, minibatch: rollout.Rows) -> tf.Tensor:
    """Returns the estimate of KL(old, new) on a minibatch, a scalar."""

    def kl(minibatch: rollout.Rows, counts: tf.Tensor | None) -> tf.Tensor:
      minibatch = minibatch._replace(counts=counts)
      losses = self._ppo_losses(
          *self._distributions_and_values(minibatch), minibatch
      )
      return optimizers.mean_over_replicas(losses['approximate_kl'])

    slices = self._replicas.split(minibatch, minibatch.counts)
    return self._replicas.run(kl, *slices)

  def _mean_kl(
      self, rows: rollout.Rows, sampler: _Sampler, num_parts: types.Int
  ) -> tf.Tensor:
    """Returns the mean KL(old, new) of all samples, a minibatch at a time."""
    num_samples = tf.size(sampler.indices)

    def add(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
      start, end = _ends_of_part(i, num_parts, num_samples)
      chosen = sampler.indices[start:end]
      minibatch, _ = sampler.minibatch(rows, chosen)
      distributions, _ = self._distributions_and_values(minibatch)
      kl = self._kl_divergences(distributions, minibatch)
      for factor in (minibatch.counts, minibatch.weight):
        kl = kl if factor is None else kl * factor
      share = tf.size(chosen) / num_samples
      return i + 1, total + tf.cast(share, tf.float32) * tf.reduce_mean(kl)

    return tf.while_loop(
        lambda i, _: i < num_parts,
        add,
        (tf.constant(0), tf.constant(0.0)),
        parallel_iterations=1,
    )[1]

  def _kl_divergences(
      self, distributions: types.NestedDistribution, minibatch: rollout.Rows
  ) -> tf.Tensor:
    """Returns KL(old, new) of each row of a minibatch; 0 for no sample."""
    old = ppo_utils.distribution_from_spec(
        self._action_distribution_spec,
        minibatch.dist_params,
        legacy_distribution_network=self._collect_policy.is_legacy,
    )
    rank = minibatch.advantage.shape.rank
    kl = ppo_utils.nested_kl_divergence(
        old, distributions, outer_dims=list(range(rank))
    )
    return kl if minibatch.counts is None else tf.where(
        minibatch.counts > 0, kl, 0.0
    )

  def _step(
      self, rows: rollout.Rows, minibatch: rollout.Rows, begins: tf.Tensor
  ) -> tf.Tensor:
    """Takes an optimizer step; each device computes a slice of it.

    Args:
      rows: `Rows` of the rollout.
      minibatch: `Rows` of the minibatch.
      begins: Rows [n], in random order, with transitions for the curiosities.

    Returns:
      [total loss, *self._loss_names] as a tensor.
    """

    def step(
        policy_samples: tuple[rollout.Rows, tf.Tensor | None],
        curiosity_samples: tuple[types.NestedTensor, tf.Tensor | None],
    ) -> tf.Tensor:
      minibatch, counts = policy_samples
      with tf.GradientTape() as tape:
        terms = self._loss_terms(
            minibatch._replace(counts=counts), *curiosity_samples
        )
        if self._auxiliary_loss is not None:
          terms['auxiliary_loss'] = self._auxiliary_term(
              self._auxiliary_loss, rows, begins
          )
        total = self._total_loss(terms)
        if self._check_numerics:
          total = tf.debugging.check_numerics(total, 'total loss')
      norms = self._optimizer_step.step(tape, total)
      terms = optimizers.mean_over_replicas(terms)
      terms['gradient_norm'], terms['rnd_gradient_norm'] = norms
      # Not the mean of totals: the order in which `add_n` sums depends on which
      # of its inputs nobody else still reads. All of these are read below.
      return tf.stack(
          [self._total_loss(terms)] + [terms[name] for name in self._loss_names]
      )

    results = self._replicas.run(
        step,
        self._replicas.split(minibatch, minibatch.counts),
        self._replicas.split(*self._curiosity_samples(rows, begins)),
    )
    self.train_step_counter.assign_add(1)
    return results

  def _total_loss(self, terms: dict[str, tf.Tensor]) -> tf.Tensor:
    """Returns the loss that an optimizer step minimizes."""
    names = [
        'policy_gradient_loss',
        'value_estimation_loss',
        'l2_regularization_loss',
        'entropy_regularization_loss',
        'rnd_loss',
    ]
    if self._penalizes_kl:
      names.append('kl_penalty_loss')
    if self._auxiliary_loss is not None:
      names.append('auxiliary_loss')
    return tf.add_n([terms[name] for name in names])

  def _auxiliary_term(
      self,
      auxiliary_loss: auxiliary_loss_lib.AuxiliaryLoss,
      rows: rollout.Rows,
      begins: tf.Tensor,
  ) -> tf.Tensor:
    """Returns the weighted auxiliary loss of transitions, on one device."""
    transitions, _, weights = rows.transitions(begins)
    loss = auxiliary_loss.loss(
        lambda x: self._actor_net.actor_critic.features(
            self._collect_policy.normalize(x)
        ),
        transitions,
        weights,
    )
    return auxiliary_loss.coefficient * loss

  def _curiosity_samples(
      self, rows: rollout.Rows, begins: tf.Tensor
  ) -> tuple[types.NestedTensor, tf.Tensor | None]:
    """Returns the transitions that the curiosities learn from, and weights.

    The rows are shuffled, so the first ones are a random subset of fixed size,
    drawn before the forward pass. The authors of RND mask a whole pass by coin
    tosses instead; the expected loss is the same.

    Args:
      rows: `Rows` of the rollout.
      begins: Rows [n] in random order.

    Returns:
      A tuple ((`Transitions` [n], constants of each curiosity), weights [n] or
      None).
    """
    if not self._return_streams.curiosities:
      return (), None
    share = self._numbers['predictor_proportion'] * tf.cast(
        tf.size(begins), tf.float32
    )
    begins = begins[: tf.maximum(1, tf.cast(tf.round(share), tf.int32))]
    transitions, constants, weights = rows.transitions(begins)
    return (transitions, constants), weights

  def _loss_terms(
      self,
      minibatch: rollout.Rows,
      curiosity_samples: types.NestedTensor,
      curiosity_weights: tf.Tensor | None,
  ) -> dict[str, tf.Tensor]:
    """Returns the terms of the loss by name, means over the samples.

    Args:
      minibatch: `Rows` of a minibatch.
      curiosity_samples: As `_curiosity_samples` returns it, like the next.
      curiosity_weights: Weights or None.
    """
    curiosity_losses = [tf.constant(0.0)]
    if self._return_streams.curiosities:
      transitions, constants = curiosity_samples
      curiosity_losses = [
          curiosity.loss(
              transitions, curiosity_weights, constants and constants[i]
          )
          for i, curiosity in enumerate(self._return_streams.curiosities)
      ]
    return dict(
        self._ppo_losses(*self._distributions_and_values(minibatch), minibatch),
        l2_regularization_loss=self.l2_regularization_loss(),
        rnd_loss=curiosity_losses[0]
        if len(curiosity_losses) == 1
        else tf.add_n(curiosity_losses),
    )

  def _distributions_and_values(
      self, minibatch: rollout.Rows
  ) -> tuple[types.NestedDistribution, tf.Tensor]:
    return self._collect_policy.distribution_and_values(
        minibatch.observation, minibatch.step_type, minibatch.network_state
    )

  def _ppo_losses(
      self,
      distributions: types.NestedDistribution,
      values: tf.Tensor,
      minibatch: rollout.Rows,
  ) -> dict[str, tf.Tensor]:
    """Computes PPO's terms of the loss; may be overridden.

    Args:
      distributions: A nest of the policy's action distributions, [m] or [m, L].
      values: Values, float [m, N] or [m, L, N].
      minibatch: `Rows` of a minibatch.

    Returns:
      Scalars by name; those that end in '_loss' are weighted.
    """
    counts, weight = minibatch.counts, minibatch.weight
    if counts is None:
      counts = tf.ones_like(minibatch.advantage)

    def average(per_sample: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
      total = common.aggregate_losses(
          per_example_loss=per_sample, sample_weight=weight
      ).total_loss
      return optimizers.mean_of_slice(total)

    def mean(per_sample: tf.Tensor) -> tf.Tensor:
      return average(per_sample, counts * (1.0 if weight is None else weight))

    clipping = self._importance_ratio_clipping
    log_probability = common.log_probability(
        distributions, minibatch.action, self._action_spec
    )
    if self._log_prob_clipping > 0:
      log_probability = tf.clip_by_value(
          log_probability, -self._log_prob_clipping, self._log_prob_clipping
      )
    old = minibatch.old_log_probability
    # Rows that are not samples have arbitrary values: no ratio may overflow.
    log_probability = tf.where(counts > 0, log_probability, old)
    surrogate, ratio = losses.clipped_surrogate_loss(
        log_probability,
        old,
        minibatch.advantage,
        clipping,
        self._numbers['dual_clip'],
    )
    entropy = common.entropy(
        distributions, self._action_spec, outer_rank=counts.shape.rank
    )
    if entropy is None:
      entropy = tf.zeros_like(ratio)
    squared_errors = losses.squared_value_error(
        values, minibatch.returns, minibatch.old_values, self._value_clipping
    )
    value_losses = {
        f'{stream.name}_value_loss': (
            self._value_pred_loss_coef * mean(squared_errors[..., head])
            if stream.is_on
            else tf.constant(0.0)
        )
        for head, stream in enumerate(self.streams)
    }
    kl_penalty = tf.constant(0.0)
    if self._penalizes_kl:
      kl = mean(self._kl_divergences(distributions, minibatch))
      kl_penalty = self.kl_cutoff_loss(kl) + self.adaptive_kl_loss(kl)
    # Not the logarithm of the ratio, which may be 0 in float32.
    log_ratio = log_probability - old
    off = tf.abs(ratio - 1.0) > clipping
    return dict(
        policy_gradient_loss=mean(surrogate),
        value_estimation_loss=functools.reduce(
            operator.add, value_losses.values()
        ),
        entropy_regularization_loss=-self._entropy_regularization
        * mean(entropy),
        kl_penalty_loss=kl_penalty,
        clip_fraction=average(tf.cast(off, tf.float32), counts),
        entropy=average(entropy, counts),
        # Schulman's estimator of KL(old, new): never negative.
        approximate_kl=average(ratio - 1.0 - log_ratio, counts),
        **value_losses,
    )

  def l2_regularization_loss(self, debug_summaries: bool = False) -> tf.Tensor:
    """Returns the weighted sum of the squares of all kernels.

    A kernel belongs to the policy, the values or both as it is used: two views
    of one `ActorCriticNetwork` list the weights that an output depends on.
    """
    policy, values = (
        [w.ref() for w in _weights_behind(net) if 'kernel' in w.name]
        for net in (self._actor_net, self._value_net.value_net)
    )
    loss = tf.constant(0.0)
    for refs, coefficient in (
        ([ref for ref in policy if ref not in values], self._policy_l2_reg),
        (
            [ref for ref in values if ref not in policy],
            self._value_function_l2_reg,
        ),
        ([ref for ref in policy if ref in values], self._shared_vars_l2_reg),
    ):
      if refs and (tf.is_tensor(coefficient) or coefficient):
        squares = [tf.reduce_sum(tf.square(ref.deref())) for ref in refs]
        loss += coefficient * tf.add_n(squares)
    return loss

  def _summarize(self, scalars: dict[str, tf.Tensor]) -> None:
    """Writes the scalars of one `train`, and histograms of variables."""
    step = self.train_step_counter
    for name, value in scalars.items():
      scope = 'Losses' if name.endswith('_loss') else 'RNDPPO'
      is_recorded = tf.summary.should_record_summaries()
      if name.endswith('_episode_return_mean'):
        # Where no episode ended it is 0, which no episode had.
        is_recorded = tf.logical_and(
            is_recorded, scalars['num_ended_episodes'] > 0
        )
      with tf.summary.record_if(is_recorded):
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

  # ---------------------------------------------------------------------------
  # For a PPOLearner: `preprocess_sequence`, and other methods that it calls.

  @tf.autograph.experimental.do_not_convert
  def _preprocess(
      self, experience: trajectory.Trajectory
  ) -> trajectory.Trajectory:
    """Computes the streams of a rollout for a `PPOLearner`.

    Changes no variable.

    Args:
      experience: A `Trajectory` [B, T+1] or [T+1] with values in its policy
        info.

    Returns:
      The `Trajectory` with returns, advantages and next observations in its
      policy info. Its last row is padding, with a valid mask of 0.
    """
    outer_rank = nest_utils.get_outer_rank(
        experience.discount, self.collect_data_spec.discount
    )
    if outer_rank == 1:
      experience = nest_utils.batch_nested_tensors(experience)
    rollout.check_num_rows(experience)
    transitions = curiosity_lib.Transitions.of_trajectory(experience)
    _, bonuses, values, refusals = self._evaluate(experience, transitions)
    with tf.control_dependencies(refusals):
      advantages, returns = self._advantages(
          experience, self._return_streams.rewards(experience, bonuses), values
      )
    computed = dict(
        zip(
            self._computed_names(),
            (
                advantages,
                *tf.unstack(returns, axis=-1),
                tf.cast(transitions.valid, tf.float32),
            ),
            strict=True,
        ),
        next_observation=transitions.next_observation,
    )
    experience = experience.replace(
        policy_info=dict(
            experience.policy_info,
            **tf.nest.map_structure(rollout.add_empty_row, computed),
        )
    )
    if outer_rank == 1:
      experience = nest_utils.unbatch_nested_tensors(experience)
    return experience

  def _rows_of_preprocessed(
      self, experience: trajectory.Trajectory, log_probability: tf.Tensor
  ) -> rollout.Rows:
    """Returns the `Rows` of a `PPOLearner`'s part of preprocessed rollouts."""
    info = experience.policy_info

    def of_streams(name: str) -> tf.Tensor:
      return tf.stack([info[n] for n in self._info_names(name)], axis=-1)

    return self._rows(
        experience,
        log_probability,
        advantage=info['advantage'],
        returns=of_streams('return'),
        old_values=of_streams('value_prediction'),
        next_observation=info['next_observation'],
    )

  @tf.autograph.experimental.do_not_convert
  def update_observation_normalizer(
      self, batched_observations: types.NestedTensor
  ) -> None:
    """Updates statistics; a `PPOLearner` calls it once a rollout.

    It passes observations [B, T+1, ...] without step types, so that here,
    unlike in `train`, the first observation of an episode gets a bonus that
    enters the statistics of the intrinsic return.
    """
    transitions = curiosity_lib.Transitions(
        tf.nest.map_structure(
            lambda x: x[:, 1:], action_masks.without_mask(batched_observations)
        )
    )
    with tf.control_dependencies(
        finite.verify({'observation': batched_observations})
    ):
      if self._observation_normalizer is not None:
        self._observation_normalizer.update(batched_observations)
      for curiosity in self._return_streams.curiosities:
        curiosity.update_statistics(transitions)
        curiosity.update_return_statistics(curiosity.bonus(transitions))

  @tf.autograph.experimental.do_not_convert
  def update_reward_normalizer(self, batched_rewards: tf.Tensor) -> None:
    """Updates rewards' statistics; a `PPOLearner` calls it with [B, T+1]."""
    with tf.control_dependencies(finite.verify({'reward': batched_rewards})):
      self._return_streams.update_scalers(
          batched_rewards, tf.ones(tf.shape(batched_rewards)[:2], tf.bool)
      )


def _ends_of_part(
    part: tf.Tensor, num_parts: types.Int, num_samples: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns where a part of the samples begins and ends.

  Sizes of parts differ by one sample at most.
  """
  return (
      part * num_samples // num_parts,
      (part + 1) * num_samples // num_parts,
  )


def _raising(name: str) -> Callable[..., None]:
  """Returns a method that replaces one that training never calls."""

  def method(self: Any, *unused_args: Any, **unused_kwargs: Any) -> None:
    raise NotImplementedError(_unused_message(type(self), name))

  method.__name__ = name
  method.__doc__ = f'Raises NotImplementedError. {_UNUSED_METHODS[name]}'
  return method


for _name in _UNUSED_METHODS:
  setattr(RNDPPOAgent, _name, _raising(_name))


def _weights_behind(net: network.Network) -> Sequence[tf.Variable]:
  """Returns the trainable weights that the output of a network depends on."""
  weights = getattr(net, 'weights_behind', None)
  return net.trainable_weights if weights is None else weights


def _trainable_variables(
    curiosities: Sequence[curiosity_lib.Curiosity]
) -> list[tf.Variable]:
  return [v for each in curiosities for v in each.trainable_variables]
