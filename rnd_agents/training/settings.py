# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings of a run, and which of them a resumed run may change."""

import inspect
import re

import gin

from rnd_agents import errors
from rnd_agents.training import gin_bindings

# How a run is carried out and watched; no number that it learns depends on it
# (but on a 'vector_entry_point' that is another implementation of the task), so
# that also a finished run may be started again with another value.
_OF_EXECUTION = frozenset({
    'train_eval.num_env_steps',
    'train_eval.stop_at_success_rate',
    'train_eval.record_video',
    'train_eval.save_policies',
    'train_eval.num_checkpoints',
    'train_eval.checkpoint_interval_iterations',
    'train_eval.environment_timeout_s',
    'ReplayTraining.replaces_damaged_replay',
    'explore.num_env_steps',
    'explore.snapshot_memory_mb',
    'explore.min_demonstration_score',
    'explore.shortening_env_steps',
    'explore.save_interval_s',
    'load_environment.vectorization',
    'load_environment.step_timeout_s',
})
# What else a resumed run may change. Everything that is in neither list stays:
# the past of a run depends on it.
_SAFE = _OF_EXECUTION | {
    'train_eval.num_eval_episodes',
    'train_eval.eval_interval_env_steps',
    'OnPolicyTraining.num_devices',
    'create_rnd_ppo_agent.learning_rate',
    'create_rnd_ppo_agent.rnd_learning_rate',
    'create_r2d3_agent.learning_rate',
    'create_r2d3_agent.rnd_learning_rate',
    'RNDPPOAgent.gradient_clipping',
    'R2D3Agent.gradient_clipping',
}
# What a run passes to `load_environment`, and where it has it from.
_INSTEAD = dict(
    seed='the flag --seed',
    num_environments='train_eval.num_environments and num_eval_episodes',
)
_SCOPES = re.compile(r'^((train|upper|lower)/)*(rnd_agents\.)?')
_BINDING = re.compile(r'^(\S+) = (.*)$')
_TEXT_OR_MACRO = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|%([\w/]+)"""
)


def check_scopes(used=('train', 'eval')):
  """Refuses bindings that no run would use, and a run without environments.

  Args:
    used: The scopes of gin that environments are loaded in.

  Raises:
    UserError: If there are any.
  """
  bound = [
      binding
      for binding in gin_bindings.bindings()
      if binding.configurable == 'load_environment'
  ]
  for binding in bound:
    if binding.scope not in ('', 'train', 'eval'):
      raise errors.InvalidValue(
          f'{binding.scope}/load_environment has no effect: the scopes are'
          ' train/ and eval/.'
      )
    if binding.parameter in _INSTEAD:
      raise errors.InvalidValue(
          f'{binding.name} has no effect: use {_INSTEAD[binding.parameter]}.'
      )
  of_env = {each.scope for each in bound if each.parameter == 'env'}
  if '' not in of_env and not of_env.issuperset(used):
    raise errors.InvalidValue(
        'load_environment.env has no value: bind it in the gin file.'
    )


def operative(**more):
  """The settings in force, as text.

  Args:
    **more: Settings that do not come from gin.

  Returns:
    A dict from gin's name of a parameter, its scope before it, to its value as
    gin writes it.
  """
  text = gin.operative_config_str(max_line_length=1_000_000)
  found = {f'--{name}': repr(value) for name, value in more.items()}
  for line in text.splitlines():
    match = _BINDING.match(line)
    if match:
      found[match.group(1)] = match.group(2)
  return found


def of_environment(scope='train'):
  """Settings of the environments that were loaded in a scope of gin.

  Args:
    scope: Its name.

  Returns:
    As `operative`, with names without the scope and values without macros.
  """
  prefix = f'{scope}/' if scope else ''
  return {
      name.removeprefix(prefix): value
      for name, value in _without_macros(operative()).items()
      if name.startswith(prefix)
  }


def own(settings):
  """Returns the settings of `operative` without those of TF-Agents."""
  return {
      name: value
      for name, value in settings.items()
      if not name.startswith('--') and not _is_of_tf_agents(name)
  }


def _is_of_tf_agents(name):
  selector = name.rpartition('/')[2].rpartition('.')[0]
  if not selector:  # A macro.
    return False
  module = gin.get_configurable(selector).__module__
  return module.startswith('tf_agents.')


def _without_macros(settings):
  """The settings with values in place of macros, which have no lines then."""

  def values_in(text):
    return _TEXT_OR_MACRO.sub(value_of, text)

  def value_of(match):
    value = settings.get(match.group(1))
    return match.group(0) if value is None else values_in(value)

  return {
      name: values_in(value)
      for name, value in settings.items()
      if '.' in name or name.startswith('--')
  }


def _without_scope(name):
  return _SCOPES.sub('', name)


def _default(name, called):
  """What a parameter is where nothing binds it, as text; None if unknown.

  Args:
    name: Of the parameter, with its scope.
    called: Names of the configurables that a run has called, with their scopes;
      what it has not called has no parameters there.
  """
  selector, _, parameter = name.rpartition('.')
  try:
    configurable = gin.get_configurable(selector.rpartition('/')[2])
    parameters = inspect.signature(configurable).parameters
  except (TypeError, ValueError):  # There is none, or not one of Python.
    return None
  if parameter in parameters:
    if selector not in called:
      return None
    default = parameters[parameter].default
    return None if default is inspect.Parameter.empty else repr(default)
  # Gin knows of an argument in **kwargs only where it is bound.
  takes_more = any(
      each.kind is each.VAR_KEYWORD for each in parameters.values()
  )
  return 'not set' if takes_more else None


def changes(old, new):
  """What differs between two runs' settings.

  A parameter that only one of them knows of what both have called came or went
  with a version of the software: it counts as its default in the other, and as
  no difference where it has none. A macro is what it stands for where it is
  used.

  Args:
    old: What `operative` returned when the run began.
    new: What it returns now.

  Returns:
    A tuple of three lists of sentences: changes that cannot be resumed from,
    those that can, and those among the latter that have an effect on what is
    still to be learned, so that a finished run cannot follow them.
  """
  fatal, harmless, of_learning = [], [], []
  old, new = _without_macros(old), _without_macros(new)
  sides = [
      (each, {name.rpartition('.')[0] for name in each}) for each in (old, new)
  ]
  for name in sorted(old.keys() | new.keys()):
    was, now = (
        each[name] if name in each else _default(name, called)
        for each, called in sides
    )
    if was == now or None in (was, now):
      continue
    sentence = f'{name} was {was} and is now {now}'
    if not name.startswith('eval/') and _without_scope(name) not in _SAFE:
      fatal.append(sentence)
      continue
    harmless.append(sentence)
    if _without_scope(name) not in _OF_EXECUTION:
      of_learning.append(sentence)
  return fatal, harmless, of_learning
