# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent Q-learning from replayed sequences and demonstrations.

R2D2 (Kapturowski et al., 2019): double Q-learning with n-step targets of
rescaled values, a dueling network with a memory, stored states and burn-in.
R2D3 (Paine et al., 2019, arXiv 1909.01387) replays demonstrations beside its
own experience. DI-engine's R2D3 adds the losses of DQfD (Hester et al., 2018,
arXiv 1704.03732). Each of them is a setting here; docs/r2d3.md has the table.
"""

from collections.abc import Sequence
from typing import NamedTuple

import gin
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.networks import network
from tf_agents.policies import greedy_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import switched_off
from rnd_agents.agents import optimizers
from rnd_agents.agents import r2d3_arguments
from rnd_agents.agents import r2d3_policy
from rnd_agents.agents import replay_agent
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.networks import parameters
from rnd_agents.ops import q_learning
from rnd_agents.statistics import finite
from rnd_agents.statistics import running_statistics


class R2D3LossInfo(NamedTuple):
  """Scalars of one `train`, and the new priority of each sequence, [B]."""

  td_loss: tf.Tensor
  one_step_loss: tf.Tensor
  margin_loss: tf.Tensor
  l2_loss: tf.Tensor
  rnd_loss: tf.Tensor
  td_error_mean: tf.Tensor
  q_mean: tf.Tensor
  target_mean: tf.Tensor
  bonus_mean: tf.Tensor
  gradient_norm: tf.Tensor
  demonstration_rate: tf.Tensor
  demonstration_agreement: tf.Tensor
  priorities: tf.Tensor


@gin.configurable(
    module='rnd_agents',
    denylist=[  # Arguments that `create_r2d3_agent` passes.
        'time_step_spec',
        'action_spec',
        'q_network',
        'target_q_network',
        'optimizer',
        'burn_in_length',
        'collect_epsilon',
        'curiosity',
        'rnd_optimizer',
        'train_step_counter',
    ],
)
class R2D3Agent(replay_agent.ReplayAgent):
  """R2D2, and R2D3 where some of the sequences are demonstrations.

  `train` takes sequences [B, L] of L = burn_in_length + T + 1 frames: T steps
  are learned from, the last frame is there to bootstrap. Frame t holds s_t, a_t
  and the reward and discount received after it. Step type and next step type
  both LAST mark a repeat (`q_learning.step_weights`). The replay
  (`rnd_agents.replay`) gives `train` the state stored with each first frame,
  which sequences are demonstrations, and importance weights. It takes back
  their priorities.

  `train_step_counter` counts optimizer steps.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      q_network: network.Network,
      target_q_network: network.Network,
      optimizer: types.Optimizer | None = None,
      burn_in_length: int = 0,
      recurrent_state_init: str = 'stored',
      n_step: int = 5,
      discount_factor: float = 0.997,
      value_rescaling_epsilon: float | None = 1e-3,
      double_q: bool = True,
      n_step_weight: float = 1.0,
      one_step_weight: float = 0.0,
      margin_weight: float = 0.0,
      margin_anneal_train_steps: int | None = None,
      margin: float = 0.8,
      l2_weight: float = 0.0,
      squared_error_scale: float = 0.5,
      mean_over_time: bool = False,
      priority_max_weight: float = 0.9,
      priorities_from: str = 'n_step_errors',
      target_update_tau: float = 1.0,
      target_update_period_train_steps: int = 2_500,
      gradient_clipping: float | None = None,
      collect_epsilon: types.Float = 0.1,
      eval_epsilon: float = 0.0,
      normalize_observations: bool = False,
      curiosity: curiosity_lib.Curiosity | None = None,
      rnd_optimizer: types.Optimizer | None = None,
      bonus_weight: float = 1.0,
      train_step_counter: tf.Variable | None = None,
      name: str = 'R2D3Agent',
  ):
    """Creates the agent. Defaults are R2D2's, with no demonstrations' losses.

    Args:
      time_step_spec: A `TimeStep` spec of the expected time steps.
      action_spec: One discrete action from 0.
      q_network: A `Network` from observations to Q values [..., A]. One with a
        state has to reset it where the step type is FIRST.
      target_q_network: Another `Network` whose variables have the same shapes.
      optimizer: Trains the Q network; None for an agent that only acts. For
        decoupled weight decay take `tf.keras.optimizers.AdamW`.
      burn_in_length: Number of first frames of a sequence that only warm up the
        states, of each network with its own weights and without a gradient.
      recurrent_state_init: States before the first frame: 'stored', those that
        `train` is given, or 'zero'.
      n_step: n of the targets. A larger one carries a reward back faster, and
        trusts more of what older policies did.
      discount_factor: gamma.
      value_rescaling_epsilon: Epsilon of the value rescaling h; None for values
        in units of the reward.
      double_q: Whether the online network chooses the action to bootstrap from.
      n_step_weight: Weight of the squared n-step errors.
      one_step_weight: Weight of the squared one-step errors (DQfD's J_1); 0
        leaves them out.
      margin_weight: Weight of the large-margin loss of demonstrations (DQfD's
        J_E); 0 leaves it out.
      margin_anneal_train_steps: Number of updates in which that weight falls
        linearly to 0; None to keep it. For demonstrators who know more than the
        agent sees (docs/r2d3.md).
      margin: Distance by which the demonstrator's action has to be better than
        all others, in the networks' units. With value rescaling a return of 1
        is 0.415: take 0.05 to 0.1 where rewards are up to 1, 0.8 where they are
        tens.
      l2_weight: Weight of the sum of the squares of all trainable weights and
        biases (DQfD's J_L2); 0 leaves it out.
      squared_error_scale: Factor of all squared errors: 0.5, or 1 as in
        DI-engine.
      mean_over_time: Whether a sequence's loss is the mean of its steps'
        (DI-engine) and not their sum (R2D2).
      priority_max_weight: eta: weight of the largest error in a priority; the
        mean error has weight 1 - eta.
      priorities_from: 'n_step_errors'; 'both_errors', the sum of the sizes of
        n-step and one-step error; or 'losses' of the steps, as DI-engine does.
      target_update_tau: Share of the online weights in a target update; 1
        copies them.
      target_update_period_train_steps: Train steps between target updates.
      gradient_clipping: Largest global norm of the gradient; None for any.
      collect_epsilon: Probability with which the collect policy acts at random:
        a number, or a tensor or variable [] or [B] with one for each
        environment (`q_learning.epsilon_ladder`).
      eval_epsilon: The same for the policy that is evaluated and saved. 0 is
        greedy, and may go in circles to the end of an episode; DQN's
        evaluations have 0.05 (Mnih et al., 2015, Methods).
      normalize_observations: Whether the networks see numbers of observations
        whitened by running moments, as in `RNDPPOAgent`: for tasks whose
        observations are far from [-1, 1]. Integers of a wide range always are.
      curiosity: A `Curiosity` whose bonus is added to the rewards; None for no
        bonus. `update_statistics` updates its statistics.
      rnd_optimizer: Trains the curiosity; required if that has trainable
        variables. It must not be `optimizer`.
      bonus_weight: Factor of the normalized bonus.
      train_step_counter: An integer variable; None takes the global step.
      name: Name of the agent.
    """
    tf.Module.__init__(self, name=name)
    optimizers.refuse_replicas('R2D3Agent', 'build it outside of the scope.')
    self._settings = settings = r2d3_arguments.checked_settings(locals())
    r2d3_arguments.check_networks(
        time_step_spec, action_spec, q_network, target_q_network
    )
    replay_agent.check_reward('R2D3Agent', time_step_spec)
    replay_agent.check_curiosity(
        'R2D3Agent.', curiosity, optimizer, rnd_optimizer
    )
    self._q_network = q_network
    self._target_q_network = target_q_network
    self._optimizer = optimizer
    self.observation_normalizer = (
        running_statistics.create_observation_normalizer(
            time_step_spec.observation,
            q_network.input_tensor_spec,
            normalize_observations,
        )
    )

    def policy(
        epsilon: types.Float, stores_state: bool = False
    ) -> r2d3_policy.EpsilonGreedyQPolicy:
      return r2d3_policy.EpsilonGreedyQPolicy(
          time_step_spec,
          action_spec,
          q_network,
          epsilon,
          stores_state,
          self.observation_normalizer,
      )

    eval_policy = policy(settings.eval_epsilon)
    if not eval_policy.epsilon:
      eval_policy = greedy_policy.GreedyPolicy(eval_policy)
    super().__init__(
        time_step_spec,
        action_spec,
        eval_policy,
        policy(collect_epsilon, bool(q_network.state_spec)),
        train_sequence_length=None,
        train_step_counter=train_step_counter,
    )
    self._variables_to_train = list(q_network.trainable_variables)
    if optimizer is not None:
      optimizers.build(optimizer, self._variables_to_train)
    self._take_curiosity(curiosity, rnd_optimizer, settings.bonus_weight)

  @property
  def optimizers(self) -> Sequence[types.Optimizer]:
    """The optimizers that train the agent: one, or two with the curiosity's."""
    trainers = self._optimizer, self._rnd_optimizer
    return [optimizer for optimizer in trainers if optimizer is not None]

  @property
  def discount_factor(self) -> float:
    """Gamma."""
    return self._settings.discount_factor

  @property
  def burn_in_length(self) -> int:
    """Number of first frames of a sequence that only warm up the states."""
    return self._settings.burn_in_length

  def idle_settings(self) -> switched_off.Settings:
    without = switched_off.without
    idle: switched_off.Settings = {}
    if self._curiosity is None:
      idle |= without(
          'create_r2d3_agent.curiosity_fn',
          'a curiosity',
          'R2D3Agent.bonus_weight',
          'create_r2d3_agent.rnd_learning_rate',
      )
    elif not self._curiosity.trainable_variables:
      idle |= switched_off.without_training(
          'create_r2d3_agent', 'create_r2d3_agent.rnd_learning_rate'
      )
    if not self._settings.margin_weight:
      idle |= without(
          'R2D3Agent.margin_weight',
          'a weight of that loss',
          'R2D3Agent.margin',
          'R2D3Agent.margin_anneal_train_steps',
      )
    if not self._q_network.state_spec:
      idle |= without(
          'create_q_networks.core',
          'a network with a memory',
          'R2D3Agent.recurrent_state_init',
          'ReplayTraining.burn_in_length',
          also=('create_r2d3_agent.q_networks_fn',),
      )
    return idle

  def _initialize(self) -> None:
    parameters.update(self._q_network, self._target_q_network)

  @tf.autograph.experimental.do_not_convert
  @finite.refuses_sequences
  def _train(
      self,
      experience: trajectory.Trajectory,
      weights: tf.Tensor | None = None,
      network_state: types.NestedTensor | None = None,
      is_demonstration: tf.Tensor | None = None,
  ) -> tf_agent.LossInfo:
    """Takes one optimizer step.

    Args:
      experience: A `Trajectory` [B, L].
      weights: Importance weights [B]; None for 1.
      network_state: States stored with the first frames: a nest [B, ...] of the
        network's state spec, or flat; None for 0.
      is_demonstration: Booleans [B]; None if no sequence is a demonstration.

    Returns:
      A `LossInfo` with an `R2D3LossInfo`.
    """
    if self._optimizer is None:
      raise errors.InvalidValue('R2D3Agent needs an optimizer to train.')
    replayed = self._replayed_transitions(self._split(experience)[1])
    with tf.GradientTape() as tape:
      loss, info = self._loss(
          experience,
          weights,
          network_state=network_state,
          is_demonstration=is_demonstration,
          replayed=replayed,
      )
    gradients, norm = optimizers.clip(
        tape.gradient(loss, self._variables_to_train),
        self._settings.gradient_clipping,
    )
    optimizers.apply(self._optimizer, gradients, self._variables_to_train)
    info = info._replace(
        gradient_norm=norm, rnd_loss=self._train_curiosity(replayed)
    )

    self.train_step_counter.assign_add(1)
    period = self._settings.target_update_period_train_steps
    tf.cond(
        tf.equal(self.train_step_counter % period, 0),
        self._update_target,
        lambda: False,
    )
    return tf_agent.LossInfo(loss, info)

  def _loss(
      self,
      experience: trajectory.Trajectory,
      weights: tf.Tensor | None = None,
      training: bool = False,
      network_state: types.NestedTensor | None = None,
      is_demonstration: tf.Tensor | None = None,
      replayed: replay_agent.Replayed | None = None,
  ) -> tf_agent.LossInfo:
    """Computes the loss and the priorities of sequences; changes nothing.

    Args:
      experience: A `Trajectory` [B, L].
      weights: Importance weights [B]; None for 1.
      training: Ignored: the online network is always called in training mode.
      network_state: States stored with the first frames, as in `_train`.
      is_demonstration: Booleans [B]; None if no sequence is a demonstration.
      replayed: `_replayed_transitions` of the frames where already known.

    Returns:
      A `LossInfo` with an `R2D3LossInfo`; the gradient's norm and the
      curiosity's loss are 0.
    """
    del training
    settings = self._settings
    # The burn-in may be padded before the first frame of an episode.
    burn_in, frames = self._split(experience)
    replayed = replayed or self._replayed_transitions(frames)
    if is_demonstration is None:
      is_demonstration = tf.fill([tf.shape(frames.discount)[0]], False)
    is_last = frames.is_boundary()  # [B, T+1]; those of the T steps are [B, T].
    valid = q_learning.valid_steps(is_last)
    demonstrated = valid & is_demonstration[:, tf.newaxis]
    rewards, bonus_mean = self._add_bonus(
        frames.reward[:, :-1], frames, replayed
    )
    all_q_values, target_q_values = self._unroll(burn_in, frames, network_state)
    q_values, actions = all_q_values[:, :-1], frames.action[:, :-1]

    def targets_and_errors(num_steps: int) -> tuple[tf.Tensor, tf.Tensor]:
      targets = q_learning.n_step_targets(
          all_q_values,
          target_q_values,
          rewards,
          frames.discount[:, :-1],
          is_last,
          settings.discount_factor,
          num_steps,
          settings.value_rescaling_epsilon,
          settings.double_q,
      )
      return targets, q_learning.td_errors(q_values, actions, targets, valid)

    targets, n_step_errors = targets_and_errors(settings.n_step)
    one_step_errors = margin_losses = None
    lambda_1, lambda_e = settings.one_step_weight, settings.margin_weight
    source = settings.priorities_from
    if lambda_1 or source == 'both_errors':
      _, one_step_errors = targets_and_errors(1)
    if lambda_e:
      margin_losses = q_learning.large_margin_losses(
          q_values, actions, settings.margin, demonstrated
      )
    step_losses = q_learning.step_losses(
        n_step_errors,
        one_step_errors,
        margin_losses,
        settings.n_step_weight,
        lambda_1,
        q_learning.linear_schedule(
            lambda_e,
            0.0,
            self.train_step_counter,
            settings.margin_anneal_train_steps,
        ),
        settings.squared_error_scale,
    )
    # TF-Agents' `is_last` is that of the next step types.
    step_weights = q_learning.step_weights(is_last, frames.is_last())
    losses = q_learning.sequence_losses(
        step_losses, step_weights, settings.mean_over_time
    )
    loss = q_learning.batch_loss(losses, weights)
    l2_loss, lambda_l2 = tf.constant(0.0), settings.l2_weight
    if lambda_l2:
      l2_loss = tf.add_n(
          [tf.reduce_sum(tf.square(x)) for x in self._variables_to_train]
      )
      loss += lambda_l2 * l2_loss

    sizes = step_losses if source == 'losses' else n_step_errors
    if source == 'both_errors':
      sizes = tf.abs(n_step_errors) + tf.abs(one_step_errors)
    info = R2D3LossInfo(
        td_loss=_mean_square(n_step_errors, valid),
        one_step_loss=_mean_square(one_step_errors, valid),
        margin_loss=replay_agent.mean(margin_losses, demonstrated),
        l2_loss=l2_loss,
        rnd_loss=tf.constant(0.0),
        td_error_mean=replay_agent.mean(tf.abs(n_step_errors), valid),
        q_mean=replay_agent.mean(
            q_learning.action_values(q_values, actions), valid
        ),
        target_mean=replay_agent.mean(targets, valid),
        bonus_mean=bonus_mean,
        gradient_norm=tf.constant(0.0),
        demonstration_rate=tf.reduce_mean(
            tf.cast(is_demonstration, tf.float32)
        ),
        demonstration_agreement=replay_agent.mean(
            tf.equal(tf.argmax(q_values, -1), tf.cast(actions, tf.int64)),
            demonstrated,
        ),
        priorities=q_learning.sequence_priorities(
            sizes, valid, settings.priority_max_weight
        ),
    )
    return tf_agent.LossInfo(loss, info)

  def _split(
      self, experience: trajectory.Trajectory
  ) -> tuple[trajectory.Trajectory, trajectory.Trajectory]:
    """Splits sequences into the frames of the burn-in and the T+1 after it."""
    start = self.burn_in_length
    num_frames = experience.discount.shape[1]
    if num_frames is not None and num_frames < start + 2:
      raise errors.InvalidValue(
          f'R2D3Agent needs sequences of at least {start + 2} frames:'
          f' burn_in_length={start}, a step, and the frame after it; got'
          f' {num_frames}.'
      )
    return (
        tf.nest.map_structure(lambda x: x[:, :start], experience),
        tf.nest.map_structure(lambda x: x[:, start:], experience),
    )

  def _unroll(
      self,
      burn_in: trajectory.Trajectory,
      frames: trajectory.Trajectory,
      network_state: types.NestedTensor | None,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns Q values [B, T+1, A] of the online and of the target network.

    Each network warms up its own states by the burn-in, without a gradient.

    Args:
      burn_in: Frames [B, b].
      frames: Frames [B, T+1] after them.
      network_state: States before the burn-in, as for `_train`.
    """
    spec = self._q_network.state_spec
    first_states = ()
    if spec and (
        self._settings.recurrent_state_init == 'zero' or network_state is None
    ):
      first_states = self._q_network.get_initial_state(
          tf.shape(frames.discount)[0]
      )
    elif spec:
      first_states = tf.nest.pack_sequence_as(
          spec, tf.nest.flatten(network_state)
      )

    burn_in_observation, observation = burn_in.observation, frames.observation
    if self.observation_normalizer is not None:
      burn_in_observation, observation = map(
          self.observation_normalizer.normalize,
          (burn_in_observation, observation),
      )

    def q_values_of(net: network.Network) -> tf.Tensor:
      states = first_states
      if spec and self.burn_in_length:
        _, states = net(
            burn_in_observation, burn_in.step_type, network_state=states
        )
        states = tf.nest.map_structure(tf.stop_gradient, states)
      q_values, _ = net(
          observation,
          frames.step_type,
          network_state=states,
          training=net is self._q_network,
      )
      return q_values

    return q_values_of(self._q_network), q_values_of(self._target_q_network)

  def _update_target(self) -> bool:
    parameters.update(
        self._q_network,
        self._target_q_network,
        self._settings.target_update_tau,
    )
    return True


def _mean_square(values: tf.Tensor | None, mask: tf.Tensor) -> tf.Tensor:
  """Returns the mean of squared values where the mask is True; 0 without."""
  return replay_agent.mean(None if values is None else tf.square(values), mask)
