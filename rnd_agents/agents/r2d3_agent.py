# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent Q-learning from replayed sequences and demonstrations.

R2D2 (Kapturowski et al., 2019): double Q-learning with n-step targets of
rescaled values, a dueling network with a memory, stored states and burn-in.
R2D3 (Paine et al., 2019, arXiv 1909.01387) replays demonstrations beside its
own experience. DI-engine's R2D3 adds the losses of DQfD (Hester et al., 2018,
arXiv 1704.03732). Each of them is a setting here; docs/r2d3.md has the table.
"""

import collections

import gin
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.policies import greedy_policy

from rnd_agents import errors
from rnd_agents.agents import optimizers
from rnd_agents.agents import q_policy
from rnd_agents.agents import r2d3_arguments
from rnd_agents.agents import replayed_curiosity
from rnd_agents.agents import replicas
from rnd_agents.agents import sequence_loss
from rnd_agents.networks import parameters
from rnd_agents.statistics import finite

# Scalars of one `train`.
METRICS = (
    'td_loss',
    'one_step_loss',
    'margin_loss',
    'l2_loss',
    'rnd_loss',
    'td_error_mean',
    'q_mean',
    'target_mean',
    'bonus_mean',
    'gradient_norm',
    'demonstration_rate',
    'demonstration_agreement',
)

# After them a float [B]: the new priority of each sequence.
R2D3LossInfo = collections.namedtuple('R2D3LossInfo', METRICS + ('priorities',))


@gin.configurable(
    module='rnd_agents',
    denylist=[  # What `create_r2d3_agent` passes.
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
class R2D3Agent(tf_agent.TFAgent):
  """R2D2, and R2D3 where some of the sequences are demonstrations.

  `train` takes sequences [B, L] of L = burn_in_length + T + 1 frames: T steps
  are learned from, the last frame serves to bootstrap. Frame t holds s_t, a_t
  and the reward and discount received after it. Step type and next step type
  both LAST mark a repeat (`q_learning.step_weights`). Whoever replays them
  (`rnd_agents.replay`) hands over what was stored with their first frames,
  whether they are demonstrations, and importance weights, and takes back their
  priorities.

  `train_step_counter` counts optimizer steps.
  """

  def __init__(
      self,
      time_step_spec,
      action_spec,
      q_network,
      target_q_network,
      optimizer=None,
      burn_in_length=0,
      recurrent_state_init='stored',
      n_step=5,
      discount_factor=0.997,
      value_rescaling_epsilon=1e-3,
      double_q=True,
      n_step_weight=1.0,
      one_step_weight=0.0,
      margin_weight=0.0,
      margin_anneal_train_steps=None,
      margin=0.8,
      l2_weight=0.0,
      squared_error_scale=0.5,
      mean_over_time=False,
      priority_max_weight=0.9,
      priorities_from='n_step_errors',
      target_update_tau=1.0,
      target_update_period_train_steps=2_500,
      gradient_clipping=None,
      collect_epsilon=0.1,
      eval_epsilon=0.0,
      curiosity=None,
      rnd_optimizer=None,
      bonus_weight=1.0,
      train_step_counter=None,
      debug_summaries=False,
      name='R2D3Agent',
  ):
    """Creates the agent. Defaults are R2D2's, with no demonstrations' losses.

    Args:
      time_step_spec: A `TimeStep` spec of the expected time steps.
      action_spec: One discrete action from 0.
      q_network: A `Network` from observations to Q values [..., A]. One with a
        state has to reset it where the step type is FIRST.
      target_q_network: Another of the same variables' shapes.
      optimizer: Trains the Q network. For decoupled weight decay take
        `tf.keras.optimizers.AdamW`.
      burn_in_length: First frames of a sequence, which only warm the states:
        each network's by itself, without a gradient.
      recurrent_state_init: States before the first frame: 'stored', those that
        `train` is given, or 'zero'.
      n_step: n of the targets.
      discount_factor: gamma.
      value_rescaling_epsilon: Epsilon of the value rescaling h; None for values
        in units of the reward.
      double_q: Whether the online network chooses what to bootstrap from.
      n_step_weight: Weight of the squared n-step errors.
      one_step_weight: Weight of the squared one-step errors (DQfD's J_1); 0
        leaves them out.
      margin_weight: Weight of the large-margin loss of demonstrations (DQfD's
        J_E); 0 leaves it out.
      margin_anneal_train_steps: Updates in which `margin_weight` falls linearly
        to 0; None to keep it. For demonstrators who know more than the agent
        sees (docs/r2d3.md).
      margin: How much better than all others the demonstrator's action is to
        be, in the networks' units. With value rescaling a return of 1 is
        0.415: take 0.05 to 0.1 where rewards are up to 1, 0.8 where they are
        tens.
      l2_weight: Weight of the sum of the squares of all trainable weights and
        biases (DQfD's J_L2); 0 leaves it out.
      squared_error_scale: 0.5, or 1 as in DI-engine.
      mean_over_time: Whether a sequence's loss is the mean of its steps'
        (DI-engine) and not their sum (R2D2).
      priority_max_weight: eta: weight of the largest error against the mean.
      priorities_from: 'n_step_errors'; 'both_errors', the sum of the sizes of
        n-step and one-step error; or 'losses' of the steps, as DI-engine does.
      target_update_tau: Share of the online weights in a target update; 1
        copies them.
      target_update_period_train_steps: Train steps between target updates.
      gradient_clipping: Largest global norm; None for any.
      collect_epsilon: Of the collect policy: a number, or a tensor or variable
        [] or [B] of one for each environment (`q_learning.epsilon_ladder`).
      eval_epsilon: Of the policy that is evaluated and saved. 0 is greedy, and
        may go in circles to the end of an episode; DQN's evaluations have 0.05
        (Mnih et al., 2015, Methods).
      curiosity: A `Curiosity` whose bonus is added to the rewards; None for
        none. `update_statistics` updates its statistics.
      rnd_optimizer: Trains the curiosity; needed where that has trainable
        variables, and another object than `optimizer`.
      bonus_weight: Factor of the normalized bonus.
      train_step_counter: An integer variable; None takes the global step.
      debug_summaries: Whether to write scalars.
      name: Name of the agent.

    Raises:
      TypeError: If a number or a network is something else.
      ValueError: If an argument is out of range or the networks do not fit.
    """
    tf.Module.__init__(self, name=name)
    replicas.refuse('R2D3Agent', 'build it outside of the scope.')
    r2d3_arguments.check_numbers(locals())
    r2d3_arguments.check_networks(
        time_step_spec, action_spec, q_network, target_q_network
    )
    r2d3_arguments.check_curiosity(curiosity, optimizer, rnd_optimizer)
    self._q_network = q_network
    self._target_q_network = target_q_network
    self._optimizer = optimizer
    self._burn_in_length = int(burn_in_length)
    self._recurrent_state_init = recurrent_state_init
    self._sequence_loss = sequence_loss.SequenceLoss(
        n_step=int(n_step),
        discount_factor=discount_factor,
        value_rescaling_epsilon=value_rescaling_epsilon,
        double_q=double_q,
        n_step_weight=n_step_weight,
        one_step_weight=one_step_weight,
        margin_weight=margin_weight,
        margin_anneal_train_steps=margin_anneal_train_steps,
        margin=margin,
        squared_error_scale=squared_error_scale,
        mean_over_time=mean_over_time,
        priority_max_weight=priority_max_weight,
        priorities_from=priorities_from,
    )
    self._l2_weight = l2_weight
    self._target_update_tau = target_update_tau
    self._target_update_period = int(target_update_period_train_steps)
    self._gradient_clipping = gradient_clipping

    def policy(epsilon, stores_state):
      return q_policy.EpsilonGreedyQPolicy(
          time_step_spec, action_spec, q_network, epsilon, stores_state
      )

    eval_policy = policy(eval_epsilon, False)
    if not eval_epsilon:
      eval_policy = greedy_policy.GreedyPolicy(eval_policy)
    super().__init__(
        time_step_spec,
        action_spec,
        eval_policy,
        policy(collect_epsilon, bool(q_network.state_spec)),
        train_sequence_length=None,
        debug_summaries=debug_summaries,
        train_step_counter=train_step_counter,
    )
    self._variables_to_train = list(q_network.trainable_variables)
    if optimizer is not None:
      optimizers.build(optimizer, self._variables_to_train)
    self._curious = None
    if curiosity is not None:
      self._curious = replayed_curiosity.ReplayedCuriosity(
          curiosity, rnd_optimizer, bonus_weight, self.collect_data_spec
      )

  @property
  def curiosity(self):
    """The agent's `Curiosity`, or None."""
    return None if self._curious is None else self._curious.curiosity

  @property
  def optimizers(self):
    """The optimizers that train the agent: one, or two with the curiosity's."""
    trainers = [self._optimizer]
    if self._curious is not None:
      trainers.append(self._curious.optimizer)
    return [optimizer for optimizer in trainers if optimizer is not None]

  def update_statistics(self, row, mask=None):
    """Takes a row of all environments into the curiosity's statistics.

    An observer of a driver; without a curiosity it does nothing.

    Args:
      row: A `Trajectory` [B]; row b of every call belongs to environment b.
      mask: Booleans [B]: False for environments without a row; None for none.

    Returns:
      What the curiosity has to know of the row when it is replayed, for an
      entry `episodic` of its policy info; () for nothing.
    """
    if self._curious is None:
      return ()
    return self._curious.update_statistics(row, mask)

  @property
  def discount_factor(self):
    """Gamma."""
    return self._sequence_loss.discount_factor

  @property
  def burn_in_length(self):
    """First frames of a sequence that only warm the states."""
    return self._burn_in_length

  def _initialize(self):
    self._update_target(1.0)

  def _update_target(self, tau):
    """Moves the target towards the online network; returns True."""
    parameters.update(self._q_network, self._target_q_network, tau)
    return True

  def _split(self, experience):
    """Splits sequences into the frames of the burn-in and those after it.

    Before an episode's first frame a burn-in is filled up with frames that
    no step led to: the curiosity must not see them.
    """
    start = self._burn_in_length
    r2d3_arguments.check_length(experience.discount.shape[1], start)
    return (
        tf.nest.map_structure(lambda x: x[:, :start], experience),
        tf.nest.map_structure(lambda x: x[:, start:], experience),
    )

  def _unroll(self, net, burn_in, trained, states):
    """Q values [B, T+1, A] of the frames after the burn-in."""
    if self._burn_in_length and net.state_spec:
      _, states = net(
          burn_in.observation, burn_in.step_type, network_state=states
      )
      states = tf.nest.map_structure(tf.stop_gradient, states)
    q_values, _ = net(
        trained.observation,
        trained.step_type,
        network_state=states,
        training=net is self._q_network,
    )
    return q_values

  def _states(self, network_state, batch_size):
    """States before the first frames."""
    spec = self._q_network.state_spec
    if not spec:
      return ()
    if self._recurrent_state_init == 'zero' or network_state is None:
      return self._q_network.get_initial_state(batch_size)
    return tf.nest.pack_sequence_as(spec, tf.nest.flatten(network_state))

  def _loss(
      self,
      experience,
      weights=None,
      training=False,
      network_state=None,
      is_demonstration=None,
  ):
    """Loss of sequences; see `_train`."""
    del training
    burn_in, trained = self._split(experience)
    batch = None if self._curious is None else self._curious.batch(trained)
    return self._loss_of_parts(
        burn_in, trained, batch, weights, network_state, is_demonstration
    )

  def _loss_of_parts(
      self, burn_in, trained, batch, weights, network_state, is_demonstration
  ):
    """Returns `_loss` of what `_split` returns.

    The batch is `ReplayedCuriosity.batch` of the trained part.
    """
    if is_demonstration is None:
      is_demonstration = tf.fill([tf.shape(trained.discount)[0]], False)
    bonus_mean = tf.constant(0.0)
    if self._curious is not None:
      rewards = self._curious.add_bonus(trained.reward, batch)
      bonus_mean = sequence_loss.masked_mean(
          (rewards - trained.reward)[:, :-1],
          tf.reshape(batch.transitions.valid, tf.shape(rewards[:, :-1])),
      )
      trained = trained.replace(reward=rewards)
    states = self._states(network_state, tf.shape(trained.discount)[0])
    terms = self._sequence_loss.terms(
        *(
            self._unroll(net, burn_in, trained, states)
            for net in (self._q_network, self._target_q_network)
        ),
        trained,
        is_demonstration,
        self.train_step_counter,
    )
    loss = self._sequence_loss.loss(terms, weights)
    l2_loss = tf.constant(0.0)
    if self._l2_weight:
      l2_loss = tf.add_n([
          tf.reduce_sum(tf.square(x)) for x in self._variables_to_train
      ])
      loss += self._l2_weight * l2_loss

    return tf_agent.LossInfo(
        loss,
        R2D3LossInfo(
            **terms.means(),
            l2_loss=l2_loss,
            rnd_loss=tf.constant(0.0),
            bonus_mean=bonus_mean,
            gradient_norm=tf.constant(0.0),
            demonstration_rate=tf.reduce_mean(
                tf.cast(is_demonstration, tf.float32)
            ),
            priorities=self._sequence_loss.priorities(terms),
        ),
    )

  @finite.refuses_sequences
  def _train(
      self,
      experience,
      weights=None,
      network_state=None,
      is_demonstration=None,
  ):
    """One optimizer step.

    Args:
      experience: A `Trajectory` [B, L].
      weights: Importance weights [B]; None for 1.
      network_state: What was stored with the first frames: a nest [B, ...] of
        the network's state spec, or flat; None for 0.
      is_demonstration: Booleans [B]; None for none.

    Returns:
      A `LossInfo` with an `R2D3LossInfo`.
    """
    if self._optimizer is None:
      raise errors.InvalidValue('R2D3Agent needs an optimizer to train.')
    burn_in, trained = self._split(experience)
    batch = None if self._curious is None else self._curious.batch(trained)
    with tf.GradientTape() as tape:
      loss, info = self._loss_of_parts(
          burn_in,
          trained,
          batch,
          weights,
          network_state,
          is_demonstration,
      )
    gradients = tape.gradient(loss, self._variables_to_train)
    gradients, norm = optimizers.clip(gradients, self._gradient_clipping)
    optimizers.apply(self._optimizer, gradients, self._variables_to_train)
    info = info._replace(gradient_norm=norm)
    if self._curious is not None:
      info = info._replace(rnd_loss=self._curious.train(batch))
    self.train_step_counter.assign_add(1)
    tf.cond(
        tf.equal(self.train_step_counter % self._target_update_period, 0),
        lambda: self._update_target(self._target_update_tau),
        lambda: False,
    )
    if self._debug_summaries:
      for name in METRICS:
        tf.summary.scalar(
            f'R2D3/{name}', getattr(info, name), step=self.train_step_counter
        )
    return tf_agent.LossInfo(loss, info)
