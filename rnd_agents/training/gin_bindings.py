# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a gin configuration binds, and errors for bindings that do not fit."""

import contextlib
import difflib
import inspect
import numbers
import re
import sys
from typing import Any, NamedTuple

import gin
from gin import config_parser

from rnd_agents import errors

# What to do instead of binding a parameter that the caller passes.
_INSTEAD = dict(
    seed='use the flag --seed.',
    root_dir='use the flag --root_dir.',
    burn_in_length='use ReplayTraining.burn_in_length.',
    collect_epsilon='use ReplayTraining.epsilon_fn.',
    rnd_observation_fn='use create_rnd.observation_fn.',
    rnd_loss_fn='use create_rnd.loss_fn.',
    observation_clip_value='use create_rnd.observation_clip_value.',
)

_DOES_NOT_FIT = 'The gin configuration does not fit: '


class GinError(errors.InvalidValue):
  """A gin configuration that does not fit."""


class Reference(NamedTuple):
  """A reference to a configurable, `@name` or `@name()`.

  Attributes:
    name: with its scopes.
    is_called: whether it has brackets.
  """

  name: str
  is_called: bool

  def __str__(self):
    return f'@{self.name}{"()" if self.is_called else ""}'


class Macro(NamedTuple):
  """A macro, `%name`."""

  name: str


class Binding(NamedTuple):
  """A parameter with a value.

  Attributes:
    scope: gin's scope, '' for none.
    selector: name of the configurable, with its module; '' for a macro.
    parameter: name of the parameter, or of the macro.
    value: Python's, with `Reference`s; macros stand for their values.
  """

  scope: str
  selector: str
  parameter: str
  value: Any

  @property
  def configurable(self):
    """Name of the configurable without its module."""
    return self.selector.rpartition('.')[2]

  @property
  def name(self):
    """The parameter as gin files write it."""
    scope = f'{self.scope}/' if self.scope else ''
    return f'{scope}{self.configurable}.{self.parameter}'


class _Delegate(config_parser.ParserDelegate):

  def configurable_reference(self, scoped_configurable_name, evaluate):
    return Reference(scoped_configurable_name, evaluate)

  def macro(self, macro_name):
    return Macro(macro_name)


def _statements(text):
  """The statements of a gin file that bind something."""
  return [
      statement
      for statement in config_parser.ConfigParser(text, _Delegate())
      if isinstance(statement, config_parser.BindingStatement)
  ]


def names_in(text):
  """Names of the parameters that the text of a gin file binds, a set."""
  return {
      Binding(s.scope or '', s.selector, s.arg_name, None).name
      for s in _statements(text)
  }


def names_functions(text):
  """Whether the text of a gin file binds a parameter to a function or None."""
  return any(
      s.value is None or _references(s.value) for s in _statements(text)
  )


def bindings():
  """All bindings of the configuration, a list of `Binding`; macros apart."""
  macros, found = {}, []
  for statement in _statements(gin.config_str(max_line_length=1_000_000)):
    if statement.arg_name:
      found.append(statement)
    else:
      macros[statement.selector] = statement.value

  def without_macros(value, depth=0):
    if isinstance(value, Macro) and depth < 20:
      return without_macros(macros.get(value.name, value), depth + 1)
    if type(value) in (list, tuple):
      return type(value)(without_macros(each, depth) for each in value)
    if isinstance(value, dict):
      return {k: without_macros(v, depth) for k, v in value.items()}
    return value

  return [
      Binding(
          statement.scope or '',
          statement.selector,
          statement.arg_name,
          without_macros(statement.value),
      )
      for statement in found
  ]


# For a default of this type: (what serves as well, how to say it).
_TYPES = {
    bool: ((bool,), 'True or False'),
    int: ((int,), 'an integer'),
    float: ((numbers.Real, type(None)), 'a number'),
    str: ((str,), 'a text in quotes'),
    tuple: ((tuple, list, type(None)), 'a list, such as (64, 64)'),
}


def check():
  """Compares what is bound with the type of the default that it replaces.

  Raises:
    GinError: If a parameter of this package got what it cannot use. Python
      would say so in the middle of the building, and not name the parameter.
  """
  bound = bindings()
  for binding in bound:
    function = gin.get_configurable(binding.selector)
    if not function.__module__.startswith('rnd_agents'):
      continue
    for reference in _references(binding.value):
      _check_arguments(binding, reference, bound)
    if binding.parameter.endswith('_fn') and isinstance(binding.value, str):
      _raise(binding, f'a function, not a text. Write @{binding.value}.')
    _check_type(binding, inspect.signature(function).parameters)


def check_used(inherited):
  """Refuses bindings of what was not called, once everything is built.

  Args:
    inherited: Names of bindings that may be without effect: whoever includes a
      file and replaces a part cannot take back what it binds for that part.

  Raises:
    GinError: If a parameter of this package was bound in vain.
  """
  used = names_in(gin.operative_config_str(max_line_length=1_000_000))
  for binding in bindings():
    module = gin.get_configurable(binding.selector).__module__
    if not module.startswith('rnd_agents') or binding.name in inherited:
      continue
    scope, _, name = binding.name.rpartition('/')
    if not any(
        each == binding.name
        or each.endswith(f'/{name}') and each.startswith(scope)
        for each in used
    ):
      raise GinError(
          f'{binding.name} has no effect: nothing in this run calls'
          f' {binding.configurable} with it. Remove it, or bind'
          f' @{binding.configurable} where it is to be used.'
      )


def check_macros(text):
  """Refuses macros that nothing refers to, such as a misspelt one.

  Args:
    text: Of all gin files and bindings. A binding that others replace counts.

  Raises:
    GinError: If there are any.
  """
  named = set(re.findall(r'%([\w./]+)', text))
  for statement in _statements(text):
    name = '/'.join(filter(None, (statement.scope, statement.selector)))
    if not statement.arg_name and name not in named:
      close = difflib.get_close_matches(name, named, n=1)
      raise GinError(
          f'{_DOES_NOT_FIT}{name} has no effect: nothing refers to %{name}.'
          + (f' Did you mean {close[0]}?' if close else '')
      )


def _check_type(binding, parameters):
  value = binding.value
  parameter = parameters.get(binding.parameter)
  default = getattr(parameter, 'default', None)
  fitting, words = _TYPES.get(type(default), ((object,), ''))
  if isinstance(value, Macro):
    return  # It is not bound: gin says so when it is used.
  if isinstance(value, Reference):
    if isinstance(default, tuple) and not value.is_called:
      _raise(binding, f'a list, not {value}. Write [{value}].')
    return
  wrong_bool = isinstance(value, bool) and bool not in fitting
  if isinstance(value, fitting) and not (wrong_bool and words):
    return
  hint = ''
  if words == 'an integer' and isinstance(value, float):
    hint = f' Write {int(value)}.' if value == int(value) else ''
  _raise(binding, f'{words}, not {value!r}.{hint}')


def _raise(binding, words):
  raise GinError(f'{_DOES_NOT_FIT}{binding.name} must be {words}')


def _references(value):
  """The `Reference`s in a value."""
  if isinstance(value, Reference):
    return [value]
  if isinstance(value, dict):
    value = list(value.values())
  if isinstance(value, (list, tuple)) and not isinstance(value, Macro):
    return [found for each in value for found in _references(each)]
  return []


def _check_arguments(binding, reference, bound):
  """Refuses a call that needs more arguments than gin knows."""
  if not reference.is_called:
    return
  name = reference.name.rpartition('/')[2]
  try:
    parameters = inspect.signature(gin.get_configurable(name)).parameters
  except (TypeError, ValueError):  # Not written in Python.
    return
  given = {
      each.parameter
      for each in bound
      if each.selector == name or each.configurable == name.rpartition('.')[2]
  }
  missing = [
      parameter.name
      for parameter in parameters.values()
      if parameter.default is parameter.empty
      and parameter.kind
      in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
      and parameter.name not in given
  ]
  if missing:
    raise GinError(
        f'{_DOES_NOT_FIT}{binding.name} calls {reference} without its'
        f' {" and ".join(missing)}. Write @{reference.name} to give what is'
        f' called later, or bind {reference.name}.{missing[0]}.'
    )


def explain(error):
  """Gin's message on one line, with the new name of what has moved.

  Args:
    error: What gin raised as it parsed.
  """
  message = re.sub(r'\s+', ' ', str(error)).strip().rstrip('^ ')
  match = re.match(r"No bindings specified for '(\w+)/gin.macro'", message)
  if match:  # Gin goes on with the whole configuration.
    message = f'%{match.group(1)} is used and has no value.'
  match = re.search(
      r"'(\w+)' (?:has denylisted|doesn't include) kwarg '(\w+)'", message
  )
  if match:
    name, parameter = match.groups()
    instead = _INSTEAD.get(parameter, 'what calls it passes it already.')
    return f'{name}.{parameter} has no effect: {instead}'
  match = re.search(r"[Nn]o configurable matching '([^']+)'", message)
  if match:
    message += _close_names(match.group(1).rsplit('.', 1)[-1])
  return f'{_DOES_NOT_FIT}{message}{_owners(message)}'


def _configurables():
  """Returns the configurables of this package by name, where imported."""
  names = {
      name
      for module_name, module in list(sys.modules.items())
      if module_name.startswith('rnd_agents')
      for name, value in vars(module).items()
      if callable(value)
  }
  found = {}
  for name in names:
    with contextlib.suppress(ValueError):  # Gin has none.
      found[name] = gin.get_configurable(f'rnd_agents.{name}')
  return found


def _close_names(name):
  """Names of configurables of this package that are like a name."""
  return _did_you_mean(difflib.get_close_matches(name, _configurables(), n=3))


def _did_you_mean(names):
  return f' Did you mean {", ".join(names)}?' if names else ''


def _owners(message):
  """A sentence on the parameter that a message's may be, or nothing."""
  match = re.search(
      r"Configurable '([\w.]+)' doesn't have a parameter named '(\w+)'", message
  )
  if not match:
    return ''
  owner, parameter = match.groups()
  known = inspect.signature(gin.get_configurable(owner)).parameters
  close = difflib.get_close_matches(parameter, known, n=3)
  others = [
      f'{name}.{parameter}'
      for name, configurable in sorted(_configurables().items())
      if parameter in inspect.signature(configurable).parameters
  ]
  return _did_you_mean(close + others)
