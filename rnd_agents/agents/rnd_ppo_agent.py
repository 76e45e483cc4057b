# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""PPO that explores by Random Network Distillation, or another curiosity.

Burda et al., 2018 (arXiv 1810.12894), on TF-Agents' `PPOAgent`, in the order
and with the constants of the authors' code; docs/rnd_ppo.md numbers every
difference from the paper, from that code and from TF-Agents.
"""

import inspect

import gin

from rnd_agents.agents import loss_info
from rnd_agents.agents import ppo_arguments
from rnd_agents.agents import samples
from rnd_agents.agents import stream_factory
from rnd_agents.agents import streams_ppo_agent
from rnd_agents.ops import rnd

RNDPPOLossInfo = loss_info.RNDPPOLossInfo


@gin.configurable(
    module='rnd_agents',
    denylist=[  # What `create_rnd_ppo_agent` passes, and what has no effect.
        'time_step_spec',
        'action_spec',
        'optimizer',
        'actor_net',
        'value_net',
        'rnd_network',
        'target_rnd_network',
        'rnd_optimizer',
        'rnd_loss_fn',
        'rnd_observation_fn',
        'observation_clip_value',
        'curiosity',
        'train_step_counter',
        *ppo_arguments.UNUSED_PPO_ARGUMENTS,
    ],
)
class RNDPPOAgent(streams_ppo_agent.StreamsPPOAgent):
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
  what to override.
  """

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
      intrinsic_reward_clip=None,
      intrinsic_termination_discount=1.0,
      bootstrap_at_time_limit=True,
      normalize_advantages=False,
      advantage_scale_decay=0.0,
      normalize_observations=False,
      normalize_rewards=False,
      least_reward_deviation=0.0,
      num_epochs=4,
      num_minibatches=4,
      target_kl=None,
      importance_ratio_clipping=0.1,
      entropy_regularization=0.001,
      recurrent_state_init='stored',
      unroll_length=None,
      burn_in_length=0,
      unroll_remainder='pad',
      curiosity=None,
      streams=None,
      name='RNDPPOAgent',
      **kwargs,
  ):
    """Creates the agent. Defaults are the paper's Atari values (its table 5).

    Args:
      time_step_spec: A `TimeStep` spec of the expected time steps.
      action_spec: A nest of `BoundedTensorSpec`.
      optimizer: Trains policy and values, and the predictor where it has none
        of its own.
      actor_net: A `Network` from observations to action distributions.
      value_net: A `Network` from observations to [..., N], a value for each
        stream: extrinsic and intrinsic. Two `views` of one `ActorCriticNetwork`
        are evaluated in one pass.
      rnd_network: RND's predictor, a `Network` on
        `curiosity.observation_spec(observation_spec, rnd_observation_fn)`. With
        the target and the arguments `rnd_loss_fn`, `rnd_observation_fn` and
        `observation_clip_value` the short way to a `curiosity`.
      target_rnd_network: RND's target, not trainable.
      rnd_optimizer: Trains the curiosity; None leaves it to `optimizer`.
        `gradient_clipping` is not for the curiosity.
      rnd_loss_fn: Error of each sample from (predictions, targets) [..., F].
      rnd_observation_fn: Function that selects what RND sees, from a nest of
        tensors [outer..., *shape] to another. None for all of it.
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
      intrinsic_reward_clip: Bound on the normalized bonus; None as in the
        paper. A first unseen screen may be worth a hundred usual bonuses.
      intrinsic_termination_discount: What a termination leaves of the intrinsic
        value behind it, 1 in the paper. Where dying shows something new and the
        next episode begins at once, dying pays; below 1 it costs.
      bootstrap_at_time_limit: Whether a return that ends with the episode
        bootstraps where a time limit cut it: the extrinsic one, and the
        intrinsic one if it is episodic. False is what the authors' code does.
        A time limit is a LAST step with a discount above 0. TF-Agents'
        `suite_gym.load` makes it 0, a termination; docs/rnd_ppo.md has the
        way around.
      normalize_advantages: Whether combined advantages get mean 0 and variance
        1 over each rollout. The authors do not. Where their deviation is far
        below 1, `value_pred_loss_coef` must grow as much, or the values are
        hardly learned.
      advantage_scale_decay: With `normalize_advantages`, the divisor falls to
        this share of the last rollout's at most; 0 for the deviation of each
        rollout alone, which blows up the noise of a policy that always
        succeeds.
      normalize_observations: Whether policy and values see floating
        observations whitened by running statistics of their own.
      normalize_rewards: Whether extrinsic rewards are divided by the running
        standard deviation of their discounted return, and clipped at
        `reward_norm_clipping` (10): the first reward after many steps of 0
        would otherwise be worth hundreds.
      least_reward_deviation: With `normalize_rewards`, what the divisor is at
        least. At 1 small rewards stay as they are, where they would become as
        large as the bonus: DeepSea's costs of 0.01.
      num_epochs: Passes over the data of one `train`.
      num_minibatches: Optimizer steps a pass; only for whole rollouts. Of
        recurrent networks each takes a part of the chunks.
      target_kl: Ends an update after a minibatch in which the estimate of
        KL(old, new) is above 1.5 times this; None never does.
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
      curiosity: The `Curiosity` of the intrinsic stream, or a list of them,
        each with an intrinsic stream of its own; None for RND on `rnd_network`
        and `target_rnd_network`.
      streams: Other return streams than the two above, which the arguments from
        `discount_factor` to `intrinsic_termination_discount` describe: a list
        of `ReturnStream`, or a function from `curiosity` to one. `value_net`
        has as many heads.
      name: Name of the agent.
      **kwargs: The other arguments of `PPOAgent`: `greedy_eval`,
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
    stream_settings = dict(
        discount_factor=discount_factor,
        intrinsic_discount_factor=intrinsic_discount_factor,
        extrinsic_advantage_coefficient=extrinsic_advantage_coefficient,
        intrinsic_advantage_coefficient=intrinsic_advantage_coefficient,
        episodic_intrinsic_stream=episodic_intrinsic_stream,
        intrinsic_reward_clip=intrinsic_reward_clip,
        intrinsic_termination_discount=intrinsic_termination_discount,
    )
    rnd_settings = dict(
        rnd_network=rnd_network,
        target_rnd_network=target_rnd_network,
        rnd_observation_fn=rnd_observation_fn,
        rnd_loss_fn=rnd_loss_fn,
        observation_clip_value=observation_clip_value,
    )
    sequences = samples.SequenceSettings(
        recurrent_state_init, unroll_length, burn_in_length, unroll_remainder
    )
    ppo_arguments.check(
        action_spec,
        (actor_net, value_net),
        sequences,
        normalize_advantages,
        normalize_rewards,
        numbers=dict(
            stream_settings,
            predictor_proportion=predictor_proportion,
            num_epochs=num_epochs,
            num_minibatches=num_minibatches,
            advantage_scale_decay=advantage_scale_decay,
            least_reward_deviation=least_reward_deviation,
            target_kl=target_kl,
            importance_ratio_clipping=importance_ratio_clipping,
            entropy_regularization=entropy_regularization,
        ),
        others=kwargs,
    )
    curiosity, streams = stream_factory.create(
        time_step_spec,
        value_net,
        curiosity,
        streams,
        rnd_settings,
        stream_settings,
        inspect.signature(RNDPPOAgent).parameters,
    )
    super().__init__(
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
        importance_ratio_clipping=importance_ratio_clipping,
        entropy_regularization=entropy_regularization,
        num_epochs=int(num_epochs),
        name=name,
        **ppo_arguments.for_parent(kwargs),
    )
