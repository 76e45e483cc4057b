# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gin's bindings in one model, for checks, records and comparisons of settings.

Each text of gin is parsed once, into a `Configuration`: files before gin reads
them, gin's present bindings, and the settings that a run has used.
"""

import ast
from collections.abc import Sequence
import dataclasses
import difflib
import functools
import inspect
import re
import tokenize
from typing import Any

from absl import logging
import gin
from gin import config_parser

from rnd_agents import errors
from rnd_agents.training import gin_values

# Settings of how a run is carried out and watched. Its numbers do not depend on
# them (except on a 'vector_entry_point' or a pool of envpool that implements
# the task otherwise), so that also a finished run may be started again with
# another value.
_OF_EXECUTION = frozenset({
    'train_eval.num_env_steps',
    'train_eval.stop_at_success_rate',
    'train_eval.stop_at_return',
    'train_eval.record_video',
    'train_eval.save_policies',
    'train_eval.num_checkpoints',
    'train_eval.checkpoint_interval_iterations',
    'train_eval.environment_timeout_s',
    'train_eval.loggers',
    'MLflowLogger.tracking_uri',
    'MLflowLogger.experiment_name',
    'MLflowLogger.run_name',
    'WandbLogger.project',
    'WandbLogger.name',
    'WandbLogger.group',
    'WandbLogger.entity',
    'WandbLogger.mode',
    'ReplayTraining.replaces_damaged_replay',
    'explore.num_env_steps',
    'explore.snapshot_memory_mb',
    'explore.min_demonstration_score',
    'explore.shortening_env_steps',
    'explore.save_interval_s',
    'load_environment.info_keys',
    'load_environment.vectorization',
    'load_environment.step_timeout_s',
})
# Other settings that a resumed run may change. It must keep all the rest,
# because its past depends on them.
_SAFE = _OF_EXECUTION | {
    'train_eval.num_eval_episodes',
    'train_eval.eval_interval_env_steps',
    'R2D3Agent.eval_epsilon',
    'create_dqn_agent.eval_epsilon',
    'OnPolicyTraining.num_devices',
    'create_rnd_ppo_agent.learning_rate',
    'create_rnd_ppo_agent.rnd_learning_rate',
    'create_r2d3_agent.learning_rate',
    'create_r2d3_agent.rnd_learning_rate',
    'RNDPPOAgent.gradient_clipping',
    'R2D3Agent.gradient_clipping',
    'create_curious_agent.rnd_learning_rate',
    *(
        f'create_{name}_agent.{setting}'
        for name in ('dqn', 'sac', 'td3')
        for setting in ('learning_rate', 'gradient_clipping')
    ),
}
# Arguments that a run passes to `load_environment`, and their settings.
_INSTEAD = dict(
    seed='the flag --seed',
    num_environments='train_eval.num_environments and num_eval_episodes',
    num_places='train_eval.num_environments',
    first_place='another function of the place in load_environment.env_kwargs',
)


@dataclasses.dataclass(frozen=True)
class Binding:
  """A parameter or a macro with a value.

  Attributes:
    written: The name as it was written: scope, module, configurable and
      parameter, or scope and macro.
    parameter: Name of the parameter; '' for a macro.
    value: Python's, with `gin_values.Reference` and `gin_values.Macro`.
  """

  written: str
  parameter: str
  value: Any

  @property
  def scope(self) -> str:
    """Gin's scope, '' for none."""
    return self.written.rpartition('/')[0]

  @property
  def selector(self) -> str:
    """Name of the configurable, perhaps with its module."""
    return self.written.rpartition('/')[2].removesuffix(f'.{self.parameter}')

  @property
  def configurable(self) -> str:
    """Name of the configurable without its module."""
    return self.selector.rpartition('.')[2]

  @property
  def name(self) -> str:
    """The parameter without the module of its configurable."""
    name = f'{self.configurable}.{self.parameter}'
    return f'{self.scope}/{name}' if self.scope else name


@dataclasses.dataclass(frozen=True)
class Configuration:
  """Contents of a text of gin.

  Attributes:
    bindings: Bindings of parameters and macros, in the order of the text.
    includes: Names of included files.
    imports: Import statements.
  """

  bindings: tuple[Binding, ...]
  includes: tuple[str, ...]
  imports: tuple[config_parser.ImportStatement, ...]

  @property
  def names(self) -> frozenset[str]:
    """Names of the bindings."""
    return frozenset(binding.name for binding in self.bindings)

  @property
  def leaves(self) -> list[Any]:
    """Values without the lists, tuples and dicts around them."""
    return [x for each in self.bindings for x in gin_values.flatten(each.value)]

  def settings(self) -> dict[str, str]:
    """Returns values by names, both as gin writes them."""
    return {each.written: repr(each.value) for each in self.bindings}

  def parameters(self) -> list[Binding]:
    """Returns the bindings of parameters, without macros in their values.

    Raises:
      GinError: If a macro stands for itself.
    """
    macros = {
        each.written: each.value
        for each in self.bindings
        if not each.parameter
    }
    expand = gin_values.expand_macros
    return [
        dataclasses.replace(each, value=expand(each.value, macros))
        for each in self.bindings
        if each.parameter
    ]


@functools.lru_cache(maxsize=64)
def parse_text(text: str, file: str = '') -> Configuration:
  """Parses a text of gin.

  Args:
    text: Text of a file, or lines of bindings.
    file: Path of the file, for messages.

  Raises:
    GinError: If gin cannot parse it, or could not write it.
  """
  bindings: list[Binding] = []
  includes: list[str] = []
  imports: list[config_parser.ImportStatement] = []
  line = 0
  try:
    for statement in config_parser.ConfigParser(text, gin_values.Delegate()):
      if isinstance(statement, config_parser.BindingStatement):
        scope, selector, parameter, value, _ = statement
        name = '.'.join(filter(None, (selector, parameter)))
        name = '/'.join(filter(None, (scope, name)))
        bindings.append(Binding(name, parameter, value))
        if {float('inf'), float('-inf')} & set(gin_values.flatten(value)):
          raise errors.GinError(f'{name} must be finite, not {value}.')
      elif isinstance(statement, config_parser.IncludeStatement):
        includes.append(statement.filename)
      elif isinstance(statement, config_parser.ImportStatement):
        imports.append(statement)
      line = statement.location.line_num
    return Configuration(tuple(bindings), tuple(includes), tuple(imports))
  except SyntaxError as error:
    wrong = error.msg
    word = re.search(r"^malformed.*Failed to parse token '(\w+)'", wrong, re.S)
    if word:
      name = word[1]
      wrong = (
          f'{name} needs a sign: write @{name} for a function or a class,'
          f" %{name} for a macro, '{name}' for a text."
      )
    wrong += f' Line {error.lineno}: {(error.text or "").strip()}'
  except TypeError as error:
    wrong = f'The key of a dict is a list or a dict after line {line}: {error}.'
  except (tokenize.TokenError, RecursionError) as error:
    if isinstance(error, RecursionError) or 'nested' in str(error):
      wrong = f'Brackets are nested too deeply after line {line}.'
    else:
      wrong = (
          f'A bracket or a quotation mark is left open after line {line}:'
          f' {error.args[0]}.'
      )
  raise errors.GinError(f'{file}: {wrong}' if file else wrong)


def bound() -> Configuration:
  """Returns gin's present bindings."""
  return parse_text(gin.config_str())


def bind_recorded(recorded: Configuration) -> None:
  """Binds the settings that a run has used, as far as they exist here.

  Bindings of configurables that are not imported are left out, and, with a
  warning, those that a configurable of this version does not take.
  """
  imports = [statement.format() for statement in recorded.imports]
  for binding in recorded.bindings:
    line = f'{binding.written} = {binding.value!r}'
    try:
      gin.parse_config([*imports, line], skip_unknown=True)
    except ValueError:
      logging.warning(
          'Leaving out %s, which this version of rnd_agents does not take.',
          line,
      )


def called() -> Configuration:
  """Returns all parameters of the configurables that were called so far."""
  return parse_text(gin.operative_config_str())


def own_configurable(binding: Binding) -> Any:
  """Returns the configurable of a binding if it is one of this package."""
  found = gin.get_configurable(binding.selector)
  return found if found.__module__.startswith('rnd_agents') else None


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
  """Returns the parameters by name; none of what is not written in Python."""
  # Gin gives a class of another package a metaclass, whose signature is that of
  # any call.
  is_class = isinstance(function, type)
  if is_class and type(function).__call__ != type.__call__:
    function = functools.partial(function.__init__, None)  # Without `self`.
  try:
    return dict(inspect.signature(function, eval_str=True).parameters)
  except NameError:  # An annotation that only type checkers can read.
    return dict(inspect.signature(function).parameters)
  except (TypeError, ValueError):
    return {}


def check_types() -> None:
  """Compares bindings with the annotations of this package's parameters.

  Raises:
    GinError: If a parameter cannot use its value. Later errors of Python would
      not name the parameter.
  """
  found = bound().parameters()
  for binding in found:
    function = own_configurable(binding)
    if function is None:
      continue
    parameter = parameters_of(function).get(binding.parameter)
    annotation = Any if not parameter else gin_values.annotation_of(parameter)
    takes_functions = not parameter or gin_values.takes_functions(annotation)
    for leaf in gin_values.flatten(binding.value):
      if isinstance(leaf, gin_values.Reference) and leaf.is_called:
        _check_call(binding, leaf, found, takes_functions)
    if parameter is None:  # One of **kwargs.
      continue
    if not gin_values.fits(binding.value, annotation):
      raise errors.GinError(
          f'{binding.name} must be {gin_values.describe(annotation)}, not'
          f' {binding.value!r}.{gin_values.hint(binding.value, annotation)}'
      )
    if (
        binding.parameter == 'name'
        and isinstance(binding.value, str)
        and not binding.value.isidentifier()
    ):
      raise errors.GinError(
          f'{binding.name} names a TensorFlow module, and must be letters,'
          f' digits and underscores, not {binding.value!r}.'
      )
    numbers = gin_values.numbers_of_arguments(annotation)
    for leaf in gin_values.flatten(binding.value) if numbers else ():
      if isinstance(leaf, gin_values.Reference) and not leaf.is_called:
        _check_function(binding, leaf, found, max(numbers))


def _missing(
    reference: gin_values.Reference, found: Sequence[Binding]
) -> list[str]:
  """Returns the required arguments of a configurable that are not bound."""
  given = {
      each.parameter
      for each in found
      if each.configurable == reference.selector.rpartition('.')[2]
  }
  function = gin.get_configurable(reference.selector)
  return [
      parameter.name
      for parameter in parameters_of(function).values()
      if parameter.default is parameter.empty
      and parameter.kind
      in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
      and parameter.name not in given
  ]


def _check_function(
    binding: Binding,
    reference: gin_values.Reference,
    found: Sequence[Binding],
    number: int,
) -> None:
  """Refuses a function that needs more arguments than it will be given."""
  missing = _missing(reference, found)
  if len(missing) > number:
    raise errors.GinError(
        f'{binding.name} calls {reference} with {number} of its'
        f' {len(missing)} required arguments ({", ".join(missing)}). Bind'
        f' {reference.name}.{missing[-1]}, or choose another function.'
    )


def _check_call(
    binding: Binding,
    reference: gin_values.Reference,
    found: Sequence[Binding],
    takes_functions: bool,
) -> None:
  """Refuses a call without all of its required arguments."""
  missing = _missing(reference, found)
  if missing:
    advice = 'Bind'
    if takes_functions:
      name = reference.name
      advice = f'Write @{name} for a function that is called later, or bind'
    raise errors.GinError(
        f'{binding.name} calls {reference} without its'
        f' {" and ".join(missing)}. {advice} {reference.name}.{missing[0]}.'
    )


def check_macros(sources: Sequence[Configuration]) -> None:
  """Refuses unused macros, such as misspelt ones.

  Args:
    sources: All files and bindings; bindings that others replace count, too.

  Raises:
    GinError: If there are any.
  """
  used = {
      leaf.name
      for source in sources
      for leaf in source.leaves
      if isinstance(leaf, gin_values.Macro)
  }
  for binding in (each for source in sources for each in source.bindings):
    name = binding.written
    if not binding.parameter and name not in used:
      close = difflib.get_close_matches(name, used, n=1)
      raise errors.GinError(
          f'{name} has no effect: nothing refers to %{name}.'
          + (f' Did you mean {close[0]}?' if close else '')
      )


def _in_force(
    found: Sequence[Binding], scope: str, configurable: str
) -> list[Binding]:
  """Returns the bindings of a configurable that is called in a scope."""
  applying = [
      each
      for each in found
      if each.configurable == configurable
      and f'{scope}/'.startswith(f'{each.scope}/' if each.scope else '')
  ]
  applying.sort(key=lambda each: len(each.scope))
  return list({each.parameter: each for each in applying}.values())


def check_cycles() -> None:
  """Refuses functions and classes that call themselves without an end.

  Raises:
    GinError: If there are any.
  """
  found = bound().parameters()
  passed: set[str] = set()

  def visit(scope: str, configurable: str, within: tuple[str, ...]) -> None:
    for binding in _in_force(found, scope, configurable):
      for leaf in gin_values.flatten(binding.value):
        if not isinstance(leaf, gin_values.Reference):
          continue
        inner_scope = leaf.name.rpartition('/')[0] or scope
        inner = leaf.selector.rpartition('.')[2]
        name = f'@{inner_scope}/{inner}' if inner_scope else f'@{inner}'
        if name in within:
          cycle = ' calls '.join((*within[within.index(name):], name))
          raise errors.GinError(
              f'{binding.name} leads to no end: {cycle}. Bind another function'
              ' or class to it.'
          )
        if name not in passed:
          visit(inner_scope, inner, (*within, name))
    passed.update(within[-1:])

  for binding in found:
    name = '@' + binding.name.removesuffix(f'.{binding.parameter}')
    visit(binding.scope, binding.configurable, (name,))


def check_scopes(used: Sequence[str] = ('train', 'eval')) -> None:
  """Refuses bindings that no run would use, and a run without environments.

  Args:
    used: Gin scopes in which environments are loaded.

  Raises:
    GinError: If there are any.
  """
  with_env = set()
  for binding in bound().bindings:
    if binding.configurable != 'load_environment':
      continue
    if binding.scope not in ('', 'train', 'eval'):
      raise errors.GinError(
          f'{binding.scope}/load_environment has no effect: the scopes are'
          ' train/ and eval/.'
      )
    if binding.parameter in _INSTEAD:
      raise errors.GinError(
          f'{binding.name} has no effect: use {_INSTEAD[binding.parameter]}.'
      )
    if binding.parameter == 'env':
      with_env.add(binding.scope)
  if '' not in with_env and not with_env.issuperset(used):
    raise errors.GinError(
        'load_environment.env has no value: bind it in the gin file.'
    )


def operative(**more: Any) -> dict[str, str]:
  """Returns the settings in force, as text.

  Args:
    **more: Settings that do not come from gin.

  Returns:
    A dict from gin's names of parameters, with their scopes, to their values as
    gin writes them.
  """
  found = {f'--{name}': repr(value) for name, value in more.items()}
  return found | called().settings()


def of_environment(scope: str = 'train') -> dict[str, str]:
  """Returns settings of the environments that were loaded in a scope of gin.

  Args:
    scope: Name of the scope.

  Returns:
    A dict like that of `operative`, with names without the scope and values
    without macros.
  """
  prefix = f'{scope}/' if scope else ''
  return {
      each.written.removeprefix(prefix): repr(each.value)
      for each in called().parameters()
      if each.written.startswith(prefix)
  }


def largest() -> str:
  """Describes the three settings of the largest numbers, for messages."""
  sizes = {
      each.written: max(
          (x for x in gin_values.flatten(each.value) if type(x) is int),
          default=0,
      )
      for each in called().parameters()
      if each.written not in _OF_EXECUTION and 'interval' not in each.parameter
  }
  names = sorted(sizes, key=lambda name: -sizes[name])[:3]
  return ', '.join(f'{name} ({sizes[name]})' for name in names)


def own(settings: dict[str, str]) -> dict[str, str]:
  """Returns the settings of `operative` without those of TF-Agents."""

  def is_own(name: str) -> bool:
    selector = name.rpartition('/')[2].rpartition('.')[0]
    return not selector or not gin.get_configurable(  # No selector: a macro.
        selector
    ).__module__.startswith('tf_agents.')

  return {
      name: value
      for name, value in settings.items()
      if not name.startswith('--') and is_own(name)
  }


def _without_macros(settings: dict[str, str]) -> dict[str, str]:
  """Returns settings with the values of macros in their place."""
  flags = {n: text for n, text in settings.items() if n.startswith('--')}
  lines = [f'{n} = {text}' for n, text in settings.items() if n not in flags]
  return flags | {
      each.written: repr(each.value)
      for each in parse_text('\n'.join(lines)).parameters()
  }


def _without_scope(name: str) -> str:
  """Returns a setting's name without the scopes of training and of levels."""
  scope, _, parameter = name.rpartition('/')
  if set(scope.split('/')) <= {'', 'train', 'upper', 'lower'}:
    return parameter.removeprefix('rnd_agents.')
  return name


def _default(name: str, configurables: set[str]) -> str | None:
  """Returns a parameter's default as text; None where it is not known.

  Args:
    name: Name of the parameter, with its scope.
    configurables: Names of the configurables that a run has called, with their
      scopes. Others have no known parameters.
  """
  selector, _, parameter = name.rpartition('.')
  try:
    configurable = gin.get_configurable(selector.rpartition('/')[2])
  except ValueError:  # There is none.
    return None
  parameters = parameters_of(configurable)
  if parameter in parameters:
    default = parameters[parameter].default
    is_known = default is not inspect.Parameter.empty
    return repr(default) if is_known and selector in configurables else None
  # Gin knows of an argument in **kwargs only where it is bound.
  kinds = [each.kind for each in parameters.values()]
  return 'not set' if inspect.Parameter.VAR_KEYWORD in kinds else None


def _value(text: str) -> str:
  """Returns a setting's text, of a list the same as of a tuple."""
  try:
    return repr(_with_lists(ast.literal_eval(text)))
  except (SyntaxError, ValueError):  # It has a reference.
    return text


def _with_lists(value: Any) -> Any:
  """Returns plain data with lists in place of tuples."""
  if isinstance(value, (list, tuple)):
    return [_with_lists(each) for each in value]
  if isinstance(value, dict):
    return {key: _with_lists(each) for key, each in value.items()}
  return value


def changes(
    old: dict[str, str], new: dict[str, str]
) -> tuple[list[str], list[str], list[str]]:
  """Returns the differences between two runs' settings.

  If both have called a configurable and only one has a parameter, a version of
  the software has added or removed it: it counts as its default in the other,
  and as equal if it has no default. Macros count as their values.

  Args:
    old: Result of `operative` when the run began.
    new: Present result of `operative`.

  Returns:
    A tuple of three lists of sentences: changes that forbid to resume, changes
    that do not, and those among the latter that change what the run learns, so
    that a finished run cannot follow them.
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
    if was is None or now is None or _value(was) == _value(now):
      continue
    sentence = f'{name} was {was} and is now {now}'
    if not name.startswith('eval/') and _without_scope(name) not in _SAFE:
      fatal.append(sentence)
      continue
    harmless.append(sentence)
    if _without_scope(name) not in _OF_EXECUTION:
      of_learning.append(sentence)
  return fatal, harmless, of_learning
