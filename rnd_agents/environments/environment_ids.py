# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks ids of environments: what they need, and which ones are similar."""

from collections.abc import Callable
import contextlib
import difflib
from importlib import metadata
import inspect
import re
import sys

import gymnasium
from gymnasium.envs import registration

from rnd_agents.environments import envpool_family
from rnd_agents.environments import failures
from rnd_agents.environments import interface

# Names that ALE gave to its games before v5.
_OLD_ATARI = re.compile(
    r'(?:ALE/)?(\w+?)(?:-ram)?(?:NoFrameskip|Deterministic)?(?:-v\d+)?$'
)
_VERSION = re.compile(r'(.+)-v(\d+)$')
# An entry of the version history in an environment's docstring, and links.
_CHANGE = re.compile(r'(?ms)^[*-] v(\d+):(.*?)(?=^[*-] v\d|\Z)')
_LINK = re.compile(r'\s*\(related \[[^)]*\)\)')
_MINIGRID = re.compile(r'(MiniGrid|BabyAI)-')
# (ids, the module that registers them or that they need, the extra with it)
_OPTIONAL = (
    (re.compile(r'ALE/'), 'ale_py', 'atari'),
    (_MINIGRID, 'minigrid', 'minigrid'),
    (re.compile(r'rnd_agents/Crafter-'), 'crafter', 'crafter'),
    (re.compile(r'rnd_agents/MyWayHome-'), 'vizdoom', 'vizdoom'),
    (
        re.compile(
            r'(LunarLander(Continuous)?|BipedalWalker(Hardcore)?|CarRacing)'
            r'(-v\d+)?$'
        ),
        'Box2D',
        'box2d',
    ),
    (
        re.compile(
            r'(Ant|HalfCheetah|Hopper|Humanoid(Standup)?|Inverted(Double)?'
            r'Pendulum|Pusher|Reacher|Swimmer|Walker2d)-v5$'
        ),
        'mujoco',
        'mujoco',
    ),
)


def import_needed(env_id: str) -> None:
  """Imports the optional package of an id; raises MissingPackageError."""
  for ids, module, extra in _OPTIONAL:
    if ids.match(env_id):
      failures.import_extra(module, extra, env_id)


def has_preprocessing(env_id: str) -> bool:
  """Returns whether an id is of ALE or MiniGrid, which are preprocessed."""
  return env_id.startswith('ALE/') or _MINIGRID.match(env_id) is not None


def callable_named(
    name: str,
) -> Callable[..., interface.Environment] | None:
  """Returns the callable of 'module:callable'; None for an id."""
  module, _, attribute = name.rpartition(':')
  if not module:
    return None
  found = getattr(failures.import_module(module, name), attribute, None)
  return None if _is_registered(attribute) or not callable(found) else found


def check_registered(env_id: str) -> None:
  """Raises EnvironmentSetupError with similar ids for an unknown id."""
  module, _, name = env_id.rpartition(':')
  if module:
    failures.import_module(module, env_id)
  if env_id.startswith(envpool_family.PREFIX):
    raise failures.EnvironmentSetupError(
        f"{env_id} is envpool's: set load_environment.vectorization ="
        " 'envpool'."
    )
  if _is_registered(name):
    return
  game = _OLD_ATARI.match(name)
  if game is not None:
    with contextlib.suppress(failures.MissingPackageError):
      failures.import_extra('ale_py', 'atari', name)
    right = f'ALE/{game[1]}-v5'
    if _is_registered(name):
      return
    if right in gymnasium.registry:
      raise failures.EnvironmentSetupError(
          f'Unknown Gymnasium environment {name!r}: load {right!r}; its memory'
          ' instead of pictures with load_environment.preprocessing = False and'
          " env_kwargs = {'obs_type': 'ram'}."
      )
  namespace = name.rpartition('/')[0]
  known = [
      other
      for other in gymnasium.registry
      if namespace and other.startswith(f'{namespace}/')
  ]
  # The shortest id of a name wins: that without a namespace.
  known = sorted(known or gymnasium.registry, key=len, reverse=True)
  bare_ids = {_bare(other): other for other in known}
  close = difflib.get_close_matches(_bare(name), bare_ids, n=5, cutoff=0.7)
  packages = _packages_not_imported()
  raise failures.EnvironmentSetupError(
      f'Unknown Gymnasium environment {name!r}. '
      + _newer_version(name)
      + (
          "envpool has it: load_environment.vectorization = 'envpool'. "
          if envpool_family.is_in_envpool(name)
          else ''
      )
      + (
          f'Similar ids: {", ".join(bare_ids[each] for each in close)}. '
          if close
          else ''
      )
      + (
          f'The module {module} neither registers it nor has a callable of that'
          ' name.'
          if module
          else 'Import the module that registers it, or load'
          f' "{packages[0] if len(packages) == 1 else "module"}:{name}".'
      )
      + (
          ' Installed packages with environments that were not imported:'
          f' {", ".join(packages)}.'
          if packages
          else ''
      )
  )


def _newer_version(name: str) -> str:
  """Returns what Gymnasium says of the version that replaced an id, or ''."""
  asked = _VERSION.match(name)
  if asked is None:
    return ''
  newer = [
      (int(other[2]), other[0])
      for other in map(_VERSION.match, gymnasium.registry)
      if other and other[1] == asked[1] and int(other[2]) > int(asked[2])
  ]
  if not newer:
    return ''
  number, newest = min(newer)
  made_by = gymnasium.registry[newest].entry_point
  if isinstance(made_by, str):
    made_by = registration.load_env_creator(made_by)
  history = (inspect.getdoc(made_by) or '').partition('Version History')[2]
  changes = [
      f'v{version}: {" ".join(_LINK.sub("", text).split())}'
      for version, text in _CHANGE.findall(history.partition('\n## ')[0])
      if int(asked[2]) < int(version) <= number
  ]
  said = f', of which Gymnasium says: {" ".join(changes)}' if changes else ''
  return f'There is {newest}{said.rstrip(".")}. '


def _is_registered(name: str) -> bool:
  # Gymnasium takes an id without its version for the newest one.
  newest = re.compile(re.escape(name) + r'-v\d+')
  return name in gymnasium.registry or any(
      newest.fullmatch(other) for other in gymnasium.registry
  )


def _bare(env_id: str) -> str:
  """Returns an id without namespace and version, to look for similar ones."""
  return re.sub(r'-v\d+$', '', env_id.rpartition('/')[2]).lower()


def _packages_not_imported() -> list[str]:
  """Returns modules of installed packages that need Gymnasium."""
  known = {'rnd_agents', 'train', 'envpool'}
  known |= {module for _, module, _ in _OPTIONAL}
  found = set()
  for module, packages in metadata.packages_distributions().items():
    if module not in sys.modules and module not in known:
      needs = [
          each
          for package in packages
          for each in metadata.requires(package) or ()
      ]
      if any(
          re.match(r'gymnasium\b', each) and 'extra' not in each
          for each in needs
      ):
        found.add(module)
  return sorted(found)
