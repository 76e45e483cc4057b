# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Methods of `PPOAgent` that RND-PPO never calls."""

from rnd_agents import errors

_OBJECTIVE = (
    'Override _create_objective to return a PPOObjective of your own, which'
    ' computes the terms of the loss.'
)
_STREAMS = (
    'Give RNDPPOAgent other streams, or override _create_return_streams to'
    ' return ReturnStreams of your own, which computes advantages and returns.'
)
_INSTEAD = dict(
    get_loss=_OBJECTIVE,
    policy_gradient_loss=_OBJECTIVE,
    value_estimation_loss=_OBJECTIVE,
    entropy_regularization_loss=_OBJECTIVE,
    kl_cutoff_loss=_OBJECTIVE,
    kl_penalty_loss=_OBJECTIVE,
    adaptive_kl_loss=_OBJECTIVE,
    update_adaptive_kl_beta=_OBJECTIVE,
    compute_advantages=_STREAMS,
    compute_return_and_advantage=_STREAMS,
)


def _raises(name):

  def method(self, *args, **kwargs):
    del args, kwargs
    raise NotImplementedError(_message(type(self), name))

  method.__name__ = name
  method.__doc__ = f'Raises NotImplementedError. {_INSTEAD[name]}'
  return method


def _message(agent_class, name):
  return (
      f'{agent_class.__name__}.{name} has no effect: training by RND-PPO never'
      f' calls it. {_INSTEAD[name]}'
  )


class UnusedMethods:
  """Makes those methods raise, and refuses subclasses that override one."""

  def __init_subclass__(cls, **kwargs):
    super().__init_subclass__(**kwargs)
    for name in _INSTEAD:
      if getattr(cls, name) is not getattr(UnusedMethods, name):
        raise errors.InvalidType(_message(cls, name))


for _name in _INSTEAD:
  setattr(UnusedMethods, _name, _raises(_name))
