# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of `RNDPPOAgent`."""

import difflib
import inspect

import numpy as np
import tensorflow as tf
from tf_agents.agents.ppo import ppo_agent

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.agents import replicas
from rnd_agents.agents import samples
from rnd_agents.networks import parameters

# Arguments of PPOAgent that change nothing here.
UNUSED_PPO_ARGUMENTS = (
    'adaptive_kl_target',
    'adaptive_kl_tolerance',
    'aggregate_losses_across_replicas',
    'debug_summaries',
)
# Arguments of PPOAgent that RND-PPO decides itself.
FIXED_PPO_ARGUMENTS = dict(
    use_gae=True,
    use_td_lambda_return=True,
    kl_cutoff_factor=0.0,
    kl_cutoff_coef=0.0,
    initial_adaptive_kl_beta=0.0,
)


def check(
    action_spec,
    networks,
    sequence_settings,
    normalize_advantages,
    normalize_rewards,
    numbers,
    others,
):
  """Refuses arguments that `RNDPPOAgent` cannot work with.

  Args:
    action_spec: A nest of `BoundedTensorSpec`.
    networks: The agent's `actor_net` and `value_net`.
    sequence_settings: `samples.SequenceSettings`.
    normalize_advantages: As for `RNDPPOAgent`, like the next.
    normalize_rewards: See there.
    numbers: Numbers by the names of the arguments.
    others: Arguments for `PPOAgent`.

  Raises:
    TypeError: If an argument is of a wrong type or unknown.
    ValueError: If an argument is out of range.
  """
  _check_names(others, numbers)
  for spec in tf.nest.flatten(action_spec):
    if spec.dtype.is_floating and spec.dtype != tf.float32:
      raise errors.InvalidType(
          f'RNDPPOAgent has no {spec.dtype.name} actions, but float32 ones:'
          f' give {spec.name or "the action"} a spec of float32 and cast in the'
          ' environment, as rnd_agents.environments does.'
      )
  actor_net, value_net = networks
  parameters.check_are_networks(actor_net=actor_net, value_net=value_net)
  ranges.check(_RANGES, {**numbers, **others})
  _check_normalizers(**others)
  _check_advantage_scale(
      numbers['advantage_scale_decay'], normalize_advantages, **others
  )
  if numbers['least_reward_deviation'] and not normalize_rewards:
    raise errors.InvalidValue(
        'RNDPPOAgent.least_reward_deviation needs normalize_rewards=True: set'
        ' it, or leave the least deviation at 0.'
    )
  _check_strategy(**others)
  _check_sequences(
      sequence_settings, bool(actor_net.state_spec or value_net.state_spec)
  )


def for_parent(arguments):
  """Returns the arguments for `PPOAgent`, with those that RND-PPO decides."""
  used = {
      name: value
      for name, value in arguments.items()
      if name not in UNUSED_PPO_ARGUMENTS
  }
  return dict(used, **FIXED_PPO_ARGUMENTS)


def _check_names(arguments, own_names):
  """Refuses what PPOAgent does not know and what RND-PPO has decided."""
  known = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
  for name in sorted(set(arguments) - set(known)):
    close = difflib.get_close_matches(name, {*known, *own_names}, n=3)
    raise errors.InvalidType(
        f'RNDPPOAgent has no argument {name}.'
        + (f' Did you mean {", ".join(close)}?' if close else '')
        + ' It knows its own arguments and those of TF-Agents\' PPOAgent.'
    )
  for name, value in FIXED_PPO_ARGUMENTS.items():
    if arguments.get(name, value) != value:
      raise errors.InvalidValue(
          f'RNDPPOAgent always has {name}={value}, got {arguments[name]}:'
          ' leave the argument out.'
      )


# Whether these are 0, or None, decides what graph is built: no schedules.
_NUMBERS = dict(
    # TF-Agents takes 0 for no clipping.
    gradient_clipping=ranges.AT_LEAST_0.or_none(),
    value_clipping=ranges.AT_LEAST_0.or_none(),
    log_prob_clipping=ranges.AT_LEAST_0,
    reward_norm_clipping=ranges.AT_LEAST_0,
)
_NUMBERS_OR_SCHEDULES = dict(
    extrinsic_advantage_coefficient=ranges.FINITE,
    intrinsic_advantage_coefficient=ranges.FINITE,
    predictor_proportion=ranges.SHARE._replace(
        hint=' To train without RND set intrinsic_advantage_coefficient to 0.'
    ),
    importance_ratio_clipping=ranges.ABOVE_0,
    num_epochs=ranges.COUNT,
    num_minibatches=ranges.COUNT,
    discount_factor=ranges.WITHIN_0_AND_1,
    intrinsic_discount_factor=ranges.WITHIN_0_AND_1,
    lambda_value=ranges.WITHIN_0_AND_1,
    intrinsic_reward_clip=ranges.ABOVE_0.or_none(),
    intrinsic_termination_discount=ranges.WITHIN_0_AND_1,
    advantage_scale_decay=ranges.WITHIN_0_AND_1,
    least_reward_deviation=ranges.AT_LEAST_0,
    target_kl=ranges.ABOVE_0.or_none(),
    entropy_regularization=ranges.AT_LEAST_0,
    value_pred_loss_coef=ranges.AT_LEAST_0,
    policy_l2_reg=ranges.AT_LEAST_0,
    value_function_l2_reg=ranges.AT_LEAST_0,
    shared_vars_l2_reg=ranges.AT_LEAST_0,
)
_RANGES = dict(
    _NUMBERS,
    **{
        name: range_.or_schedule()
        for name, range_ in _NUMBERS_OR_SCHEDULES.items()
    },
)


def _check_normalizers(
    compute_value_and_advantage_in_train=True,
    update_normalizers_in_train=True,
    **others,
):
  """Refuses statistics that would never be updated."""
  del others
  if update_normalizers_in_train and not compute_value_and_advantage_in_train:
    raise errors.InvalidValue(
        'With compute_value_and_advantage_in_train=False, `train` sees no whole'
        ' rollouts and updates no statistics: set'
        ' update_normalizers_in_train=False. A PPOLearner then calls'
        ' update_observation_normalizer and update_reward_normalizer; a loop of'
        ' your own must.'
    )


def _check_advantage_scale(
    decay,
    normalize_advantages,
    compute_value_and_advantage_in_train=True,
    **others,
):
  """Refuses a memory of the advantages' scale that would have no effect."""
  del others
  if not decay or (
      normalize_advantages and compute_value_and_advantage_in_train
  ):
    return
  raise errors.InvalidValue(
      'RNDPPOAgent.advantage_scale_decay needs normalize_advantages=True and'
      ' compute_value_and_advantage_in_train=True: set them, or leave it at 0.'
  )


def _check_strategy(compute_value_and_advantage_in_train=True, **others):
  """Refuses strategies of replicas that an update cannot be shared between."""
  del others
  if not isinstance(replicas.of_scope(), tf.distribute.MirroredStrategy):
    replicas.refuse(
        'RNDPPOAgent',
        'build it in the scope of a MirroredStrategy or of none.',
    )
  elif not compute_value_and_advantage_in_train:
    replicas.refuse(
        'RNDPPOAgent',
        'a PPOLearner runs `train` in each replica, and RNDPPOAgent replicas in'
        ' `train`. Leave compute_value_and_advantage_in_train at True and call'
        ' `train` on whole rollouts.',
    )


def _check_sequences(settings, is_recurrent):
  """Refuses settings of sequences that cannot be, or that have no effect."""
  if settings.recurrent_state_init not in ('stored', 'zero'):
    raise errors.InvalidValue(
        "RNDPPOAgent.recurrent_state_init must be 'stored' or 'zero', got"
        f' {settings.recurrent_state_init!r}.'
    )
  settings.cutting.check(
      'RNDPPOAgent', of_rollouts=True, remainder='unroll_remainder'
  )
  if is_recurrent:
    return
  for name, default in samples.SequenceSettings()._asdict().items():
    if getattr(settings, name) != default:
      raise errors.InvalidValue(
          f'RNDPPOAgent.{name} is for recurrent networks, and these have no'
          ' memory: set create_networks.core = @LSTMCore(), or leave it out.'
      )


def check_rollout(agent, num_environments, rollout_length):
  """Refuses rollouts for `RNDPPOAgent.check_rollout`, which see."""
  if not agent.trains_on_rollouts:
    raise errors.InvalidValue(
        'Training on whole rollouts needs'
        ' RNDPPOAgent.compute_value_and_advantage_in_train = True.'
    )
  num_transitions = num_environments * rollout_length
  rollout = f'{num_environments} environments * {rollout_length} steps'
  # Every second transition may be a boundary between episodes, and no sample.
  if num_transitions < 2 * agent.num_minibatches:
    raise errors.InvalidValue(
        f'{rollout} are {num_transitions} transitions, too few for'
        f' RNDPPOAgent.num_minibatches = {agent.num_minibatches}: at least two'
        ' a minibatch are needed.'
    )
  if agent.sequences is None:
    return
  chunks = agent.sequences.cut(rollout_length)
  # A single step may be a boundary, and then no sample.
  num_steps = np.sum(chunks.weights.numpy() > 0, axis=1)
  num_samples = num_environments * int(np.sum(num_steps > 1))
  if num_samples < agent.num_minibatches and agent.sequences.unroll_length != 1:
    raise errors.InvalidValue(
        f'{rollout} are cut into {num_samples} chunks of two steps or more, too'
        f' few for RNDPPOAgent.num_minibatches = {agent.num_minibatches}: lower'
        ' that, or RNDPPOAgent.unroll_length.'
    )
  burn_in_length = agent.sequences.burn_in_length
  if burn_in_length and not np.any(chunks.has_burn_in):
    raise errors.InvalidValue(
        f'RNDPPOAgent.burn_in_length = {burn_in_length} is longer than what'
        f' comes before the last chunk of {rollout_length} steps: no chunk'
        ' would have a burn-in. Lower it, or RNDPPOAgent.unroll_length.'
    )
