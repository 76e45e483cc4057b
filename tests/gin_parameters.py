# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds gin parameters that have no effect.

A parameter that the caller passes itself has no effect when it is bound: gin
accepts the binding, and the caller's argument wins without a word. Each one
must arrive, or gin must refuse the binding.
"""

import ast
import importlib
import inspect
import pathlib
import sys

import gin

from tests import source_tree


def configurables(*packages):
  """Returns the decorated functions and classes of packages, by selector.

  Args:
    *packages: folders such as 'rnd_agents/environments'.

  Returns:
    A dict such as {'rnd_agents.load_atari': the function}.
  """
  found = {}
  for package in packages:
    for path in sorted((source_tree.ROOT / package).rglob('*.py')):
      for node in ast.walk(ast.parse(path.read_text())):
        keywords = _keywords_of_configurable(node)
        if keywords is not None:
          relative = path.relative_to(source_tree.ROOT).with_suffix('')
          name = '.'.join(pathlib.PurePath(relative).parts)
          module = importlib.import_module(name.removesuffix('.__init__'))
          prefix = keywords.get('module', module.__name__)
          selector = f'{prefix}.{keywords.get("name", node.name)}'
          found[selector] = getattr(module, node.name)
  return found


def _keywords_of_configurable(node):
  """Returns the texts that @gin.configurable is given; None without it."""
  for decorator in getattr(node, 'decorator_list', ()):
    call = decorator if isinstance(decorator, ast.Call) else None
    function = decorator if call is None else call.func
    if ast.unparse(function) == 'gin.configurable':
      keywords = {} if call is None else {
          keyword.arg: getattr(keyword.value, 'value', None)
          for keyword in call.keywords
      }
      if call is not None and call.args:
        keywords['name'] = call.args[0].value
      return keywords
  return None


def without_effect(selector, target, call):
  """Returns the parameters that gin takes and that do not arrive.

  Args:
    selector: gin's full name of a configurable.
    target: the decorated function or class.
    call: does what a run does to call it, without arguments. May raise once it
      has called it, since the markers are no sensible values.
  """
  function = inspect.unwrap(
      target.__init__ if inspect.isclass(target) else target
  )
  markers = {}
  gin.clear_config()
  try:
    for parameter in inspect.signature(function).parameters.values():
      if parameter.name == 'self' or parameter.kind in (
          parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD
      ):
        continue
      try:
        gin.bind_parameter(f'{selector}.{parameter.name}', 'a marker')
      except ValueError as error:
        assert 'allowlist' in str(error) or 'denylist' in str(error), error
      else:
        markers[parameter.name] = 'a marker'
    if not markers:
      return []
    arguments = _arguments_of_first_call(function.__code__, call)
  finally:
    gin.clear_config()
  return [name for name in markers if arguments[name] != markers[name]]


def _arguments_of_first_call(code, call):
  """Returns the arguments, by name, that `code` is first called with."""
  calls, error = [], None

  def profile(frame, event, argument):
    del argument
    if event == 'call' and frame.f_code is code and not calls:
      calls.append(dict(frame.f_locals))

  sys.setprofile(profile)
  try:
    call()
  except Exception as raised:  # pylint: disable=broad-exception-caught
    error = raised
  finally:
    sys.setprofile(None)
  assert calls, f'It was not called: {error!r}'
  return calls[0]
