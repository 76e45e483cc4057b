# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The arguments of `RNDPPOAgent`: their checks, and streams made of them."""

from collections.abc import Mapping, Sequence
import difflib
import inspect
import numbers
from typing import Any

import tensorflow as tf
from tf_agents.agents.ppo import ppo_agent
from tf_agents.specs import tensor_spec

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import foreign_names
from rnd_agents import ranges
from rnd_agents.agents import auxiliary_loss
from rnd_agents.agents import optimizers
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import parameters
from rnd_agents.networks import precision
from rnd_agents.replay import sequences

# Arguments of PPOAgent that change nothing here.
UNUSED_PPO_ARGUMENTS = ('aggregate_losses_across_replicas', 'debug_summaries')

_IN_TRAIN = 'compute_value_and_advantage_in_train'
# Of the KL penalty: what gives each an effect, and values accepted without it,
# TF-Agents' default and 0.
_KL_PENALTY: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = dict(
    adaptive_kl_target=(
        ('initial_adaptive_kl_beta', 'kl_cutoff_factor'), (0.01, 0.0)
    ),
    adaptive_kl_tolerance=(('initial_adaptive_kl_beta',), (0.3, 0.0)),
    kl_cutoff_coef=(('kl_cutoff_factor',), (1000.0, 0.0)),
)
# Defaults of PPOAgent that are read here, and RND-PPO's own in place of them.
_PPO_DEFAULTS = {
    _IN_TRAIN: True,
    'update_normalizers_in_train': True,
    'greedy_eval': True,
    'use_gae': True,
    'use_td_lambda_return': True,
    'kl_cutoff_factor': 0.0,
    'kl_cutoff_coef': 1000.0,
    'initial_adaptive_kl_beta': 0.0,
    'adaptive_kl_target': 0.01,
    'adaptive_kl_tolerance': 0.3,
}

# Whether these are 0, or None, decides what graph is built: no schedules.
_NUMBERS = dict(
    # TF-Agents takes 0 for no clipping.
    gradient_clipping=ranges.AT_LEAST_0.or_none(),
    dual_clip=ranges.ABOVE_1.or_none(),
    value_clipping=ranges.AT_LEAST_0.or_none(),
    log_prob_clipping=ranges.AT_LEAST_0,
    reward_norm_clipping=ranges.AT_LEAST_0,
    kl_cutoff_factor=ranges.AT_LEAST_0,
    kl_cutoff_coef=ranges.AT_LEAST_0,
    initial_adaptive_kl_beta=ranges.AT_LEAST_0,
    adaptive_kl_target=ranges.ABOVE_0,
    adaptive_kl_tolerance=ranges.WITHIN_0_AND_1,
)
# Those of the two streams that the arguments describe.
_STREAM_NUMBERS_OR_SCHEDULES = dict(
    extrinsic_advantage_coefficient=ranges.FINITE,
    intrinsic_advantage_coefficient=ranges.FINITE,
    discount_factor=ranges.WITHIN_0_AND_1,
    intrinsic_discount_factor=ranges.WITHIN_0_AND_1,
    intrinsic_reward_clip=ranges.ABOVE_0.or_none(),
    intrinsic_termination_discount=ranges.WITHIN_0_AND_1,
)
_NUMBERS_OR_SCHEDULES = dict(
    _STREAM_NUMBERS_OR_SCHEDULES,
    predictor_proportion=ranges.SHARE._replace(
        hint=' To train without RND set intrinsic_advantage_coefficient to 0.'
    ),
    importance_ratio_clipping=ranges.AT_LEAST_0,
    num_epochs=ranges.COUNT,
    num_minibatches=ranges.COUNT,
    lambda_value=ranges.WITHIN_0_AND_1,
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
Curiosities = (
    curiosity_lib.Curiosity | Sequence[curiosity_lib.Curiosity] | None
)
# By field of `SequenceSettings`.
_SEQUENCE_ARGUMENTS = dict(
    unroll_length='unroll_length',
    burn_in_length='burn_in_length',
    remainder='unroll_remainder',
)
# Arguments without effect unless the others are True.
_NEEDED = dict(
    advantage_scale_decay=('normalize_advantages', _IN_TRAIN),
    least_reward_deviation=('normalize_rewards',),
)
_STREAM_ARGUMENTS = (*_STREAM_NUMBERS_OR_SCHEDULES, 'episodic_intrinsic_stream')
# By argument of `RandomNetworkDistillation`.
RND_ARGUMENTS = dict(
    rnd_network='rnd_network',
    target_rnd_network='target_rnd_network',
    observation_fn='rnd_observation_fn',
    loss_fn='rnd_loss_fn',
    observation_clip_value='observation_clip_value',
)


def checked(
    local_variables: Mapping[str, Any], signature: inspect.Signature
) -> dict[str, Any]:
  """Returns the arguments of `RNDPPOAgent`, checked.

  Args:
    local_variables: The constructor's `locals()` as it begins.
    signature: Its signature.

  Returns:
    All arguments by name, those for `PPOAgent` among them where given.
  """
  precision.check_globals()
  others = local_variables['kwargs']
  own = {
      name: local_variables[name]
      for name in signature.parameters
      if name != 'kwargs'
  }
  _check_names(others, own)
  arguments = dict(_PPO_DEFAULTS, **own, **others)
  for spec in tf.nest.flatten(arguments['action_spec']):
    if spec.dtype.is_floating and spec.dtype != tf.float32:
      raise errors.InvalidType(
          f'RNDPPOAgent does not support {spec.dtype.name} actions: give'
          f' {spec.name or "the action"} a spec of float32 and cast in the'
          ' environment, as rnd_agents.environments does.'
      )
  value_nets = arguments['value_net']
  if not isinstance(value_nets, (list, tuple)) or not value_nets:
    value_nets = [value_nets]
  for value_net in value_nets:
    parameters.check_are_networks(
        actor_net=arguments['actor_net'], value_net=value_net
    )
  arguments['value_net'] = rnd_ppo_policy.joined(
      arguments['value_net'],
      tensor_spec.from_spec(arguments['time_step_spec'].observation),
  )
  networks = {name: arguments[name] for name in ('actor_net', 'value_net')}
  action_masks.check_network(
      'actor_net',
      networks['actor_net'],
      arguments['time_step_spec'].observation,
  )
  ranges.check(_RANGES, arguments)
  _check_flags(arguments, signature)
  _check_normalizers(arguments)
  _check_advantages(arguments, others)
  _check_kl_penalty(arguments)
  _check_strategy(arguments[_IN_TRAIN])
  _check_auxiliary_loss(arguments)
  state_init = arguments['recurrent_state_init']
  if state_init not in ('stored', 'zero'):
    raise errors.InvalidValue(
        "RNDPPOAgent.recurrent_state_init must be 'stored' or 'zero', got"
        f' {state_init!r}.'
    )
  sequence_settings(arguments).check(
      'RNDPPOAgent', of_rollouts=True, **_SEQUENCE_ARGUMENTS
  )
  if not any(net.state_spec for net in networks.values()):
    for name in ('recurrent_state_init', *_SEQUENCE_ARGUMENTS.values()):
      if arguments[name] != signature.parameters[name].default:
        raise errors.InvalidValue(
            f'RNDPPOAgent.{name} is for recurrent networks, and these have no'
            ' memory: set create_networks.core = @LSTMCore(), or leave it out.'
        )
  return arguments


def for_parent(arguments: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the arguments for `PPOAgent`."""
  known = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
  return {
      name: value
      for name, value in arguments.items()
      if name in known and name not in UNUSED_PPO_ARGUMENTS
  }


def lambdas(arguments: Mapping[str, Any], lambda_value: Any) -> tuple[Any, Any]:
  """Returns lambda of the advantages, and of the returns; None for the same.

  With 1 an advantage is the discounted return, with the last value as its end,
  less the value: PPO without GAE.

  Args:
    arguments: The arguments by name, from `checked`.
    lambda_value: `lambda_value`, or the default of `PPOAgent`.
  """
  if not arguments['use_gae']:
    return 1.0, None
  return lambda_value, None if arguments['use_td_lambda_return'] else 1.0


def penalizes_kl(arguments: Mapping[str, Any]) -> bool:
  """Returns whether the loss has a KL penalty."""
  return bool(
      arguments['initial_adaptive_kl_beta']
      or arguments['kl_cutoff_factor'] * arguments['kl_cutoff_coef']
  )


def numbers_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the arguments that are numbers, or schedules of them, by name."""
  return {name: arguments[name] for name in _RANGES if name in arguments}


def sequence_settings(
    arguments: Mapping[str, Any],
) -> sequences.SequenceSettings:
  """Returns how rollouts are cut for recurrent networks."""
  return sequences.SequenceSettings(
      **{field: arguments[name] for field, name in _SEQUENCE_ARGUMENTS.items()}
  )


def _check_names(others: Mapping[str, Any], own: Mapping[str, Any]) -> None:
  """Refuses unknown arguments."""
  known = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
  for name in sorted(set(others) - set(known)):
    close = difflib.get_close_matches(name, {*known, *own}, n=3)
    meant = f' Did you mean {", ".join(close)}?' if close else ''
    raise errors.InvalidType(
        f'RNDPPOAgent has no argument {name}.'
        + (foreign_names.advice(name) or meant)
        + ' It takes its own arguments and those of TF-Agents\' PPOAgent.'
    )


def _check_flags(
    arguments: Mapping[str, Any], signature: inspect.Signature
) -> None:
  """Refuses what Python would take for True, such as the text 'False'."""
  of_parent = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
  for name, parameter in {**of_parent, **signature.parameters}.items():
    value = arguments.get(name)
    if isinstance(parameter.default, bool) and value is not None:
      ranges.check_flags('RNDPPOAgent.', **{name: value})


def _check_advantages(
    arguments: Mapping[str, Any], others: Mapping[str, Any]
) -> None:
  """Refuses a lambda that would have no effect."""
  known = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
  default = known['lambda_value'].default
  is_changed = others.get('lambda_value', default) != default
  if is_changed and not arguments['use_gae']:
    raise errors.InvalidValue(
        'RNDPPOAgent.lambda_value has no effect with use_gae=False: leave one'
        ' of them out.'
    )


def _check_kl_penalty(arguments: dict[str, Any]) -> None:
  """Refuses settings of the KL penalty that do not fit together.

  Args:
    arguments: The arguments by name; a clipping of 0, none, becomes infinity.
  """
  for name, (others, allowed) in _KL_PENALTY.items():
    has_effect = any(arguments[other] for other in others)
    if not has_effect and arguments[name] not in allowed:
      raise errors.InvalidValue(
          f'RNDPPOAgent.{name} has no effect without that part of the KL'
          f' penalty: set {" or ".join(others)} above 0, or leave it out.'
      )
  clipping = arguments['importance_ratio_clipping']
  clips = tf.is_tensor(clipping) or clipping > 0
  if not clips:
    arguments['importance_ratio_clipping'] = float('inf')
  if not penalizes_kl(arguments):
    if not clips:
      raise errors.InvalidValue(
          'RNDPPOAgent.importance_ratio_clipping = 0, no clipping, needs a KL'
          ' penalty, which keeps the policy near: set initial_adaptive_kl_beta'
          ' (TF-Agents: 1.0) or kl_cutoff_factor (2.0).'
      )
    return
  observation_spec = arguments['time_step_spec'].observation
  if action_masks.split_mask(observation_spec)[1] is not None:
    raise errors.InvalidValue(
        'RNDPPOAgent has no KL penalty with action masks, whose actions have a'
        ' probability of 0: leave out initial_adaptive_kl_beta and'
        ' kl_cutoff_factor.'
    )
  strategy = optimizers.strategy_in_scope()
  num_replicas = 1 if strategy is None else strategy.num_replicas_in_sync
  if arguments['kl_cutoff_factor'] and num_replicas > 1:
    raise errors.InvalidValue(
        'RNDPPOAgent.kl_cutoff_factor squares the mean of a whole minibatch, of'
        ' which each device has a slice: train on one device, or take'
        ' initial_adaptive_kl_beta instead.'
    )


def _check_normalizers(arguments: Mapping[str, Any]) -> None:
  """Refuses settings of statistics that would have no effect."""
  if arguments['update_normalizers_in_train'] and not arguments[_IN_TRAIN]:
    raise errors.InvalidValue(
        'With compute_value_and_advantage_in_train=False, `train` gets parts of'
        ' rollouts and cannot update statistics: set'
        ' update_normalizers_in_train=False. A PPOLearner then calls'
        ' update_observation_normalizer and update_reward_normalizer; your own'
        ' loop must do so, too.'
    )
  for name, needed in _NEEDED.items():
    if arguments[name] and not all(arguments[other] for other in needed):
      raise errors.InvalidValue(
          f'RNDPPOAgent.{name} needs {"=True and ".join(needed)}=True: set'
          f' that, or leave {name} at 0.'
      )


def _check_strategy(in_train: bool) -> None:
  """Refuses strategies whose replicas cannot share an update."""
  strategy = optimizers.strategy_in_scope()
  if not isinstance(strategy, tf.distribute.MirroredStrategy):
    optimizers.refuse_replicas(
        'RNDPPOAgent',
        'build it in the scope of a MirroredStrategy or of none.',
    )
  elif not in_train:
    optimizers.refuse_replicas(
        'RNDPPOAgent',
        'a PPOLearner runs `train` in each replica, and RNDPPOAgent replicas in'
        ' `train`. Leave compute_value_and_advantage_in_train at True and call'
        ' `train` on whole rollouts.',
    )


def _check_auxiliary_loss(arguments: Mapping[str, Any]) -> None:
  """Refuses a loss on the trunk of networks that have none for it."""
  loss, actor_net = arguments['auxiliary_loss'], arguments['actor_net']
  if loss is None:
    return
  if not isinstance(loss, auxiliary_loss.AuxiliaryLoss):
    raise errors.InvalidType(
        'RNDPPOAgent.auxiliary_loss must be an AuxiliaryLoss, such as'
        f' InverseDynamics, got {type(loss).__name__}.'
    )
  if not isinstance(actor_net, actor_critic_network.HeadView):
    raise errors.InvalidValue(
        'RNDPPOAgent.auxiliary_loss is for networks of create_networks, whose'
        f' trunk it trains, and actor_net is a {type(actor_net).__name__}:'
        ' leave it out.'
    )
  observation_spec = arguments['time_step_spec'].observation
  if action_masks.split_mask(observation_spec)[1] is not None:
    raise errors.InvalidValue(
        'RNDPPOAgent.auxiliary_loss takes no observations with an action mask:'
        ' leave it out.'
    )
  optimizers.refuse_replicas(
      'RNDPPOAgent.auxiliary_loss',
      'set OnPolicyTraining.num_devices = 1, or leave it out.',
  )


# -----------------------------------------------------------------------------
# Curiosity and return streams.


def create_streams(
    arguments: Mapping[str, Any], signature: inspect.Signature
) -> tuple[
    curiosity_lib.Curiosity | None, tuple[return_streams.ReturnStream, ...]
]:
  """Returns curiosity and streams of an agent; builds what is not given.

  Args:
    arguments: The arguments by name, from `checked`.
    signature: The constructor's signature.

  Returns:
    A tuple (the curiosity, or the first one of the streams, or None; the
    `ReturnStream`s).
  """
  curiosity, streams = arguments['curiosity'], arguments['streams']

  def check_unused(names: Sequence[str], instead: str) -> None:
    for name in names:
      value, default = arguments[name], signature.parameters[name].default
      if value is not default and (tf.is_tensor(value) or value != default):
        raise errors.InvalidValue(
            f'RNDPPOAgent.{name} has no effect beside {instead}, which takes'
            ' its place: leave one of them out.'
        )

  if curiosity is not None:
    for each in _list(curiosity):
      if not isinstance(each, curiosity_lib.Curiosity):
        raise errors.InvalidType(
            'RNDPPOAgent.curiosity must be a Curiosity, such as'
            ' RandomNetworkDistillation, or a list of them, got'
            f' {type(each).__name__}.'
        )
    check_unused([*RND_ARGUMENTS.values()], 'curiosity')
  elif streams is None or arguments['rnd_network'] is not None:
    curiosity = _create_rnd(arguments)
  if streams is None:
    streams = _default_streams(_list(curiosity), arguments)
  else:
    check_unused(_STREAM_ARGUMENTS, 'streams')
    streams = tuple(streams(curiosity) if callable(streams) else streams)
  _check_streams(streams, curiosity, arguments)
  first = next(iter(return_streams.curiosities(streams)), None)
  return next(iter(_list(curiosity)), first), streams


def _list(curiosity: Curiosities) -> list[curiosity_lib.Curiosity]:
  """Returns the curiosities of an argument: one, a list of them, or None."""
  if curiosity is None:
    return []
  return list(curiosity) if isinstance(curiosity, Sequence) else [curiosity]


def _create_rnd(
    arguments: Mapping[str, Any]
) -> random_network_distillation.RandomNetworkDistillation:
  """Creates RND on `rnd_network` and `target_rnd_network`."""
  given = {of_rnd: arguments[name] for of_rnd, name in RND_ARGUMENTS.items()}
  networks = {name: given[name] for name in given if 'network' in name}
  parameters.check_are_networks(**networks)
  for name, net in networks.items():
    if net.state_spec:
      raise errors.InvalidValue(
          f'{name} has a recurrent state. RND judges single observations: use'
          ' a feed-forward network.'
      )
  return random_network_distillation.RandomNetworkDistillation(
      arguments['time_step_spec'].observation,
      discount_factor=arguments['intrinsic_discount_factor'],
      **given,
  )


def _default_streams(
    curiosities: Sequence[curiosity_lib.Curiosity], arguments: Mapping[str, Any]
) -> tuple[return_streams.ReturnStream, ...]:
  """Creates the extrinsic stream, and an intrinsic one for each curiosity."""
  intrinsic = [
      return_streams.ReturnStream(
          f'intrinsic_{i + 1}' if i else 'intrinsic',
          arguments['intrinsic_discount_factor'],
          arguments['intrinsic_advantage_coefficient'],
          arguments['episodic_intrinsic_stream'],
          curiosity,
          arguments['intrinsic_reward_clip'],
          arguments['intrinsic_termination_discount'],
      )
      for i, curiosity in enumerate(curiosities)
  ]
  extrinsic = return_streams.ReturnStream(
      'extrinsic',
      arguments['discount_factor'],
      arguments['extrinsic_advantage_coefficient'],
  )
  return extrinsic, *intrinsic


def _check_streams(
    streams: Sequence[return_streams.ReturnStream],
    curiosity: Curiosities,
    arguments: Mapping[str, Any],
) -> None:
  """Refuses streams that fit no reward, no curiosity or no value network."""
  for stream in streams:
    if not isinstance(stream, return_streams.ReturnStream):
      raise errors.InvalidType(
          'RNDPPOAgent.streams must be ReturnStreams, got'
          f' {type(stream).__name__}.'
      )
  names = [stream.name for stream in streams]
  if not names or len(set(names)) < len(names):
    raise errors.InvalidValue(
        'RNDPPOAgent.streams must be one stream or more of different names, got'
        f' {names}.'
    )
  paying = return_streams.curiosities(streams)
  if any(each not in paying for each in _list(curiosity)):
    raise errors.InvalidValue(
        'RNDPPOAgent.curiosity is not the reward of any stream: add a'
        ' ReturnStream with reward=curiosity, or leave it out.'
    )
  time_step_spec = arguments['time_step_spec']
  _check_rewards(streams, time_step_spec.reward.shape)
  num_heads = len(streams)
  output_spec = arguments['value_net'].create_variables(
      tensor_spec.from_spec(time_step_spec.observation)
  )
  if not (
      isinstance(output_spec, tf.TypeSpec)
      and output_spec.shape.is_compatible_with([num_heads])
  ):
    raise errors.InvalidValue(
        f'value_net must have {num_heads} heads, one a stream'
        f' ({", ".join(names)}), as one output of shape [..., {num_heads}]; got'
        f' {output_spec}. rnd_agents.networks.create_networks builds such a'
        f' network with num_values = {num_heads}; or give a tuple of'
        f' {num_heads} ValueNetworks.'
    )
  for each in [] if arguments[_IN_TRAIN] else paying:
    if tf.nest.flatten(each.episodic_spec):
      raise errors.InvalidValue(
          f'{type(each).__name__} needs the episode so far, which a PPOLearner'
          ' does not pass on: build the agent with'
          ' compute_value_and_advantage_in_train=True and call agent.train on'
          ' whole rollouts.'
      )


def _check_rewards(
    streams: Sequence[return_streams.ReturnStream], shape: tf.TensorShape
) -> None:
  """Refuses entries that are missing in the environment's reward."""
  for stream in streams:
    for _, source in stream.terms:
      if source is None and shape.rank:
        raise errors.InvalidValue(
            f'The reward is a vector {shape}: the ReturnStream {stream.name}'
            ' must say which entry is its reward.'
        )
      if isinstance(source, numbers.Integral) and (
          shape.rank != 1 or source >= shape[0]
      ):
        raise errors.InvalidValue(
            f'The reward of ReturnStream {stream.name} is entry {source}, but'
            f' the environment\'s reward has shape {shape}.'
        )
