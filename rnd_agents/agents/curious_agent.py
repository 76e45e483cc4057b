# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adds the bonus of a curiosity to the rewards of any off-policy agent."""

from collections.abc import Callable
from typing import Any, NamedTuple

from absl import logging
import gin
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.categorical_dqn import categorical_dqn_agent
from tf_agents.agents.ddpg import ddpg_agent
from tf_agents.policies import greedy_policy
from tf_agents.policies import ou_noise_policy
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import random_numbers
from rnd_agents import ranges
from rnd_agents import spec_differences
from rnd_agents import switched_off
from rnd_agents.agents import double_dqn
from rnd_agents.agents import normalizing_policy
from rnd_agents.agents import optimizers
from rnd_agents.agents import r2d3_policy
from rnd_agents.agents import replay_agent
from rnd_agents.agents import two_stream_sac
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.ops import q_learning
from rnd_agents.statistics import finite
from rnd_agents.statistics import running_statistics

_LEARNS_FROM = ('sampled', 'collected')
# The loss of the first one ignores weights, and the actor's loss of the second
# multiplies [N, actions] by [N].
_CANNOT_WEIGH = (
    categorical_dqn_agent.CategoricalDqnAgent, ddpg_agent.DdpgAgent
)
_RANGES = dict(
    extrinsic_coefficient=ranges.AT_LEAST_0,
    n_step=ranges.COUNT,
    discount_factor=ranges.WITHIN_0_AND_1.or_none(),
)


class CuriousLossInfo(NamedTuple):
  """`LossInfo.extra` of a `CuriousAgent`.

  Attributes:
    agent: That of the agent inside.
    reward_mean: Mean reward that it learned from, with the bonus.
    bonus_mean: Mean of the weighted bonus in it.
    rnd_loss: Loss of the curiosity.
    priorities: New priority of each sequence, [B]; None if the agent does not
      return the `td_error` of each transition, as `DqnAgent` does.
  """

  agent: Any
  reward_mean: tf.Tensor
  bonus_mean: tf.Tensor
  rnd_loss: tf.Tensor
  priorities: tf.Tensor | None


@gin.configurable(
    module='rnd_agents',
    denylist=['agent', 'curiosity', 'rnd_optimizer', 'observation_normalizer'],
)
class CuriousAgent(replay_agent.ReplayAgent):
  """A `DqnAgent`, `SacAgent`, `Td3Agent` or similar one with a curiosity.

  `train` takes sequences [B, T+1] of a replay and passes their B * T steps to
  the agent inside, which learns from them with its own loss, as from single
  transitions with the rewards

      extrinsic_coefficient * reward + bonus_weight * bonus

  of which a `TwoStreamSacAgent` gets each by itself. The bonus is that of the
  present predictor and statistics. Steps that begin with a LAST frame, padding
  and the step to the next episode, have weight 0. A `CategoricalDqnAgent` or
  `DdpgAgent`, whose losses take no weights of steps, gets the others alone,
  each as often as it counts.
  """

  def __init__(
      self,
      agent: tf_agent.TFAgent,
      curiosity: curiosity_lib.Curiosity | None = None,
      rnd_optimizer: types.Optimizer | None = None,
      bonus_weight: types.Float | Callable[[tf.Tensor], tf.Tensor] = 1.0,
      extrinsic_coefficient: float = 1.0,
      n_step: int = 1,
      discount_factor: float | None = None,
      greedy_eval: bool = True,
      predictor_learns_from: str = 'sampled',
      observation_normalizer: (
          running_statistics.ObservationNormalizer | None
      ) = None,
      name: str = 'CuriousAgent',
  ):
    """Creates the agent.

    Args:
      agent: A `TFAgent` that learns from single transitions.
      curiosity: A `Curiosity` whose bonus is added to the rewards; None for no
        bonus. `update_statistics` updates its statistics.
      rnd_optimizer: Trains the curiosity on the sampled transitions; required
        if that has trainable variables.
      bonus_weight: Factor of the bonus, which is divided by the running
        deviation of the collected intrinsic return: a number, or one of Keras's
        schedules over updates.
      extrinsic_coefficient: Factor of the environment's rewards; 0 explores
        without them.
      n_step: Number of steps that are joined to one transition, or fewer up to
        the end of the episode or of the sequence: sequences should be some
        times longer. The bonus of each of these steps is discounted like its
        reward. A larger one carries rewards back faster, and trusts more of
        what older policies did.
      discount_factor: The agent's gamma, for n_step above 1; None for the one
        that TF-Agents' agents know.
      greedy_eval: Whether `policy`, which is evaluated and saved, takes the
        mode of the agent's distributions. SAC's own samples from them. A
        policy with an epsilon stays as it is.
      predictor_learns_from: 'sampled': the curiosity takes a step on each
        sampled batch, so that what the agent has replayed often stops paying,
        also where it was only once, or only a demonstrator was. 'collected': a
        step on each row of all environments as it is collected, so that a place
        becomes known by visits alone, however often it is replayed. Statistics
        follow the collected rows in both cases (`ReplayAgent`).
      observation_normalizer: Whitens observations for the agent, which is built
        for its `normalized_spec`; None if the agent sees them as they are.
        `update_statistics` updates its statistics.
      name: Name of the agent.
    """
    tf.Module.__init__(self, name=name)
    optimizers.refuse_replicas(
        'CuriousAgent', 'build it outside of the scope.'
    )
    ranges.check(_RANGES, locals(), 'CuriousAgent.')
    ranges.check_flags('CuriousAgent.', greedy_eval=greedy_eval)
    ranges.check_scheduled(
        'CuriousAgent.', ranges.AT_LEAST_0, bonus_weight=bonus_weight
    )
    if predictor_learns_from not in _LEARNS_FROM:
      raise errors.InvalidValue(
          f'CuriousAgent.predictor_learns_from must be one of {_LEARNS_FROM},'
          f' got {predictor_learns_from!r}.'
      )
    _check_agent(agent)
    replay_agent.check_reward('CuriousAgent', agent.time_step_spec)
    replay_agent.check_curiosity(
        'CuriousAgent.', curiosity, None, rnd_optimizer
    )
    if curiosity is None and isinstance(
        agent, two_stream_sac.TwoStreamSacAgent
    ):
      raise errors.InvalidValue(
          'create_sac_agent.bonus_discount_factor has no effect without a'
          ' bonus: bind create_curious_agent.curiosity_fn, or set it to None.'
      )
    learns_from_sampled = predictor_learns_from == 'sampled'
    if curiosity is not None and not learns_from_sampled:
      _check_collected(curiosity)
    if n_step == 1:
      discount_factor = 1.0  # Nothing is discounted between steps.
    elif discount_factor is None:
      discount_factor = getattr(agent, '_gamma', None)
    if discount_factor is None:
      raise errors.InvalidValue(
          'CuriousAgent.discount_factor is missing: n_step ='
          f' {n_step} needs the gamma of {type(agent).__name__}.'
      )
    time_step_spec = agent.time_step_spec
    if observation_normalizer is not None:
      _check_normalizer(observation_normalizer, agent)
      time_step_spec = time_step_spec._replace(
          observation=observation_normalizer.spec
      )
    self._agent = agent
    self.observation_normalizer = observation_normalizer
    self._extrinsic_coefficient = extrinsic_coefficient
    self._n_step = int(n_step)
    self._discount_factor = float(discount_factor)
    # The agent's losses sample, and a resumed run must draw the same.
    self._generator = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=2**31 - 1, dtype=tf.int32)
    )
    policy = agent.policy
    as_it_is = greedy_policy.GreedyPolicy, r2d3_policy.EpsilonGreedyQPolicy
    if greedy_eval and not isinstance(policy, as_it_is):
      policy = greedy_policy.GreedyPolicy(policy)
    super().__init__(
        time_step_spec,
        agent.action_spec,
        self._shown(policy, time_step_spec),
        self._shown(agent.collect_policy, time_step_spec),
        train_sequence_length=None,
        train_step_counter=agent.train_step_counter,
    )
    self._take_curiosity(
        curiosity,
        rnd_optimizer,
        bonus_weight,
        learns_from_sampled=learns_from_sampled,
    )

  def _shown(
      self, policy: tf_policy.TFPolicy, time_step_spec: ts.TimeStep
  ) -> tf_policy.TFPolicy:
    """Returns a policy of the agent inside, of observations as they are."""
    if self.observation_normalizer is None:
      return policy
    return normalizing_policy.NormalizingPolicy(
        policy, time_step_spec, self.observation_normalizer
    )

  @property
  def agent(self) -> tf_agent.TFAgent:
    """The agent inside."""
    return self._agent

  @property
  def discount_factor(self) -> float:
    """The gamma of the agent inside.

    Raises:
      InvalidValue: If it is not known.
    """
    gamma = getattr(self._agent, '_gamma', None)
    if gamma is None:
      raise errors.InvalidValue(
          f'{type(self._agent).__name__} has no _gamma, the discount factor of'
          " TF-Agents' agents: give it this attribute."
      )
    return float(gamma)

  @property
  def optimizers(self) -> list[types.Optimizer]:
    """Keras's optimizers of the agent and of the curiosity."""
    kinds = (
        tf.keras.optimizers.Optimizer,
        tf.keras.optimizers.legacy.Optimizer,
    )
    found = [*vars(self._agent).values(), self._rnd_optimizer]
    return [each for each in found if isinstance(each, kinds)]

  @property
  def collect_epsilon(self) -> types.Float | None:
    """Probability of random actions when collecting; None without any."""
    return r2d3_policy.epsilon_of(self._agent.collect_policy)

  @property
  def sampled_policy(self) -> tf_policy.TFPolicy:
    """The collect policy for any batch: with the mean of its epsilons."""
    policy = r2d3_policy.for_any_batch(self._agent.collect_policy)
    return self._shown(policy, self.time_step_spec)

  @property
  def _is_optimistic(self) -> bool:
    return isinstance(self._agent, double_dqn.OptimisticDqnAgent)

  @property
  def acts_by_statistics(self) -> bool:
    """Whether the collect policy depends on what rows were collected."""
    return self._is_optimistic or super().acts_by_statistics

  @property
  def counts_steps(self) -> bool:
    """Whether a step counts as often as `update_statistics` gets it."""
    return self._is_optimistic or super().counts_steps

  def _update_acting(
      self, row: trajectory.Trajectory, mask: tf.Tensor | None
  ) -> None:
    super()._update_acting(row, mask)
    if self._is_optimistic:
      self._agent.count(row, mask)

  def idle_settings(self) -> switched_off.Settings:
    without = switched_off.without
    idle: switched_off.Settings = {}
    if self._curiosity is None:
      idle |= without(
          'create_curious_agent.curiosity_fn',
          'a curiosity',
          'CuriousAgent.bonus_weight',
          'CuriousAgent.predictor_learns_from',
          'create_curious_agent.rnd_learning_rate',
      )
    elif not self._curiosity.trainable_variables:
      idle |= switched_off.without_training(
          'create_curious_agent',
          'CuriousAgent.predictor_learns_from',
          'create_curious_agent.rnd_learning_rate',
      )
    if self._n_step == 1:
      idle |= without(
          'CuriousAgent.n_step',
          'several steps to discount',
          'CuriousAgent.discount_factor',
          remedy='set CuriousAgent.n_step above 1, or the discount factor of'
          ' the agent inside',
      )
    if not self._is_optimistic:
      idle |= without(
          'create_dqn_agent.optimism',
          'optimism',
          'create_dqn_agent.optimism_exponent',
      )
    return idle

  def check_unroll_length(self, unroll_length: int) -> None:
    super().check_unroll_length(unroll_length)
    if unroll_length < self._n_step:
      raise errors.InvalidValue(
          f'CuriousAgent.n_step={self._n_step} needs sequences of at least'
          f' {self._n_step + 1} frames (ReplayTraining.unroll_length ='
          f' {self._n_step} or more), got {unroll_length + 1}.'
      )

  def _initialize(self) -> None:
    self._agent.initialize()

  @tf.autograph.experimental.do_not_convert
  @finite.refuses_sequences
  def _train(
      self,
      experience: trajectory.Trajectory,
      weights: tf.Tensor | None = None,
      network_state: types.NestedTensor | None = None,
      is_demonstration: tf.Tensor | None = None,
  ) -> tf_agent.LossInfo:
    """Takes an optimizer step of the agent, then one of the curiosity.

    Args:
      experience: A `Trajectory` [B, T+1].
      weights: Importance weights [B]; None for 1.
      network_state: Ignored: the agent's networks have none.
      is_demonstration: Ignored: demonstrations are transitions like others.

    Returns:
      A `LossInfo` with a `CuriousLossInfo`.
    """
    del network_state, is_demonstration
    num_frames = experience.discount.shape[1]
    if num_frames is not None:
      self.check_unroll_length(num_frames - 1)
    is_last = experience.is_boundary()
    valid = q_learning.valid_steps(is_last)
    # TF-Agents' `is_last` is that of the next step types.
    counts = q_learning.step_weights(is_last, experience.is_last())
    step_weights = counts
    if weights is not None:
      step_weights *= weights[:, tf.newaxis]
    replayed = self._replayed_transitions(experience)
    rewards = self._extrinsic_coefficient * experience.reward[:, :-1]
    stream = {}
    if isinstance(self._agent, two_stream_sac.TwoStreamSacAgent):
      nothing = tf.zeros_like(rewards)
      bonus, bonus_mean = self._add_bonus(nothing, experience, replayed)
      paid = rewards + bonus
      joined = self._join(
          bonus, experience, float(self._agent.bonus_discount_factor)
      )
      stream = dict(
          bonus=tf.reshape(joined.rewards, [-1]),
          bonus_discount=tf.reshape(joined.discounts, [-1]),
      )
    else:
      rewards, bonus_mean = self._add_bonus(rewards, experience, replayed)
      paid = rewards
    refusals = finite.verify(
        dict(reward_with_bonus=paid),
        mask=valid,
        largest=finite.LARGEST_REWARD,
    )
    with tf.control_dependencies(refusals), random_numbers.seeded(
        self._generator
    ):
      info = self._agent.train(
          *self._weighed(
              self._single_transitions(experience, rewards),
              tf.reshape(counts, [-1]),
              tf.reshape(step_weights, [-1]),
          ),
          **stream,
      )
    return tf_agent.LossInfo(
        info.loss,
        CuriousLossInfo(
            agent=info.extra,
            reward_mean=replay_agent.mean(paid, valid),
            bonus_mean=bonus_mean,
            rnd_loss=self._train_curiosity(
                replayed, takes_step=self._learns_from_sampled
            ),
            priorities=_priorities(info.extra, valid),
        ),
    )

  def _single_transitions(
      self, experience: trajectory.Trajectory, rewards: tf.Tensor
  ) -> trajectory.Trajectory:
    """Returns steps [B * T, 2] of sequences [B, T+1], as the agent takes them.

    Args:
      experience: A `Trajectory` [B, T+1].
      rewards: Floats [B, T] in place of its rewards.
    """
    experience = experience.replace(policy_info=())
    if self.observation_normalizer is not None:
      experience = experience.replace(
          observation=self.observation_normalizer.normalize(
              experience.observation
          )
      )
    joined = self._join(rewards, experience, self._discount_factor)
    end = tf.nest.map_structure(
        lambda x: tf.gather(x, joined.ends, axis=1, batch_dims=1), experience
    )
    begin = tf.nest.map_structure(lambda x: x[:, :-1], experience).replace(
        reward=joined.rewards,
        discount=joined.discounts,
        next_step_type=end.step_type,
    )
    return curiosity_lib.merge_time(
        tf.nest.map_structure(
            lambda *frames: tf.stack(frames, axis=2), begin, end
        )
    )

  def _weighed(
      self, steps: trajectory.Trajectory, counts: tf.Tensor, weights: tf.Tensor
  ) -> tuple[trajectory.Trajectory, tf.Tensor | None]:
    """Returns steps and weights as the agent inside takes them.

    Args:
      steps: A `Trajectory` [N, 2].
      counts: How often each step counts, whole numbers [N].
      weights: `counts` times importance weights, [N].
    """
    if not isinstance(self._agent, _CANNOT_WEIGH):
      return steps, weights
    # Neither of them returns TD errors: sequences keep equal priorities, and so
    # equal weights, but for those of 0.
    repeats = tf.cast(tf.where(weights > 0.0, counts, 0.0), tf.int32)
    # The mean over no step is NaN.
    is_spare = tf.range(tf.size(repeats)) < 1 - tf.reduce_sum(repeats)
    repeats += tf.cast(is_spare, tf.int32)
    return (
        tf.nest.map_structure(lambda x: tf.repeat(x, repeats, axis=0), steps),
        None,
    )

  def _join(
      self,
      rewards: tf.Tensor,
      experience: trajectory.Trajectory,
      discount_factor: float,
  ) -> q_learning.NStepTransitions:
    """Joins up to n steps of rewards [B, T] to one."""
    return q_learning.n_step_transitions(
        rewards,
        experience.discount[:, :-1],
        experience.is_boundary(),
        discount_factor,
        self._n_step,
    )


def _check_agent(agent: tf_agent.TFAgent) -> None:
  """Raises an error unless an agent learns from single transitions.

  Warns of noise that no checkpoint holds.
  """
  if not isinstance(agent, tf_agent.TFAgent):
    raise errors.InvalidType(
        f'CuriousAgent.agent must be a TFAgent, got {type(agent).__name__}.'
    )
  name = type(agent).__name__
  if agent.train_sequence_length != 2:
    raise errors.InvalidValue(
        'CuriousAgent takes agents that learn from single transitions, and'
        f' {name}.train_sequence_length is {agent.train_sequence_length}, not'
        " 2: set CuriousAgent.n_step in place of the agent's own n-step"
        ' update, take R2D3Agent for networks with a memory, and RNDPPOAgent'
        ' for whole rollouts.'
    )
  if tf.nest.flatten(agent.collect_data_spec.policy_info):
    raise errors.InvalidValue(
        f'{name} learns from the policy info'
        f' {agent.collect_data_spec.policy_info}, which the replay does not'
        ' keep: build it without, as with emit_log_probability=False.'
    )
  if isinstance(agent.collect_policy, ou_noise_policy.OUNoisePolicy):
    logging.warning(
        '%s explores by an OUNoisePolicy, whose noise is the same in all'
        ' environments and in no checkpoint: a run that resumes draws other'
        ' actions. Take create_td3_agent where that matters.',
        name,
    )


def _check_normalizer(
    normalizer: running_statistics.ObservationNormalizer,
    agent: tf_agent.TFAgent,
) -> None:
  """Raises InvalidValue for an agent that cannot take whitened observations."""
  faults = spec_differences.differences(
      agent.time_step_spec.observation,
      normalizer.normalized_spec,
      'observation',
  )
  if faults:
    raise errors.InvalidValue(
        'CuriousAgent.agent must be built for whitened observations,'
        ' observation_normalizer.normalized_spec: its'
        f' {"; its ".join(faults)}.'
    )
  if any(normalizer.whitened) and isinstance(
      agent, double_dqn.OptimisticDqnAgent
  ):
    raise errors.InvalidValue(
        'create_dqn_agent.optimism counts observations, and these are whitened'
        ' by statistics that change: scale them in a wrapper'
        ' (load_environment.wrappers), integers of more than 256 values too, in'
        ' place of create_curious_agent.normalize_observations.'
    )


def _check_collected(curiosity: curiosity_lib.Curiosity) -> None:
  """Raises an error if a curiosity cannot learn from single steps."""
  if curiosity.learns_from_sequences:
    raise errors.InvalidValue(
        f'{type(curiosity).__name__} learns from steps that follow each other,'
        " and CuriousAgent.predictor_learns_from = 'collected' shows single"
        " ones: take 'sampled', with sequences of many steps"
        ' (ReplayTraining.unroll_length).'
    )


def _priorities(extra: Any, valid: tf.Tensor) -> tf.Tensor | None:
  """Returns priorities [B] of sequences by an agent's TD errors, if it has."""
  td_error = getattr(extra, 'td_error', None)
  if not tf.is_tensor(td_error):
    return None
  return q_learning.sequence_priorities(
      tf.reshape(td_error, tf.shape(valid)), valid
  )
