# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of environments whose message is meant for the user.

A program may print these as one sentence. Anything else that is raised here is
a bug, of this package or of the environment, and should keep its traceback.
"""

import contextlib
import importlib
import re
import traceback
import types
from typing import Any, Dict, Iterator, Optional

import gin
import gymnasium

from rnd_agents import errors

# The second is what ALE raises.
_UNKNOWN_KEYWORD = re.compile(
    r"unexpected keyword argument '(\w+)'|incompatible (?:func|constr)"
)


class EnvironmentSetupError(errors.InvalidValue):
  """An environment cannot be made or used as asked; the message says why."""


class MissingPackageError(EnvironmentSetupError, errors.MissingPackage):
  """An environment needs a package; the message says how to install it."""


class StateNotRestored(RuntimeError):
  """A saved state was not reached again, so a run cannot be resumed from it."""


class EnvironmentFailure(errors.UserError, RuntimeError):
  """An environment raised, hung, died, or left its space while it ran.

  Holds texts and numbers only, so that it passes from a worker process to its
  parent whatever the environment raised.

  Attributes:
    what: one line or more, what happened.
    environment_index: of the B environments; None where it is not known.
    environment_name: None until the adapter, which knows it, has filled it in.
    episode_step: such as 'step 3 of the episode with seed 1'; None where it is
      not known.
    traceback_text: where in the environment's code; None if nothing was raised.
  """

  def __init__(
      self,
      what: str,
      environment_index: Optional[int] = None,
      environment_name: Optional[str] = None,
      traceback_text: Optional[str] = None,
  ):
    super().__init__(what)
    self.what = what
    self.environment_index = environment_index
    self.environment_name = environment_name
    self.episode_step = None
    self.traceback_text = traceback_text

  def __str__(self):
    where = self.environment_name or 'The environment'
    if self.environment_index is not None:
      where += f', environment {self.environment_index} of the batch'
    if self.episode_step is not None:
      where += f', {self.episode_step}'
    text = f'{where}: {self.what}'
    if self.traceback_text:
      text += f'\n\nInside the environment:\n{self.traceback_text}'
    return text


def import_extra(module: str, extra: str, who: str) -> None:
  """Imports a package of an extra, which registers its environments.

  Args:
    module: to import.
    extra: of rnd_agents, that installs it.
    who: needs it.

  Raises:
    MissingPackageError: it is not installed.
  """
  try:
    gymnasium.register_envs(importlib.import_module(module))
  except ImportError as error:
    raise MissingPackageError(
        f'{who} needs the package {module}: pip install "rnd_agents[{extra}]"'
    ) from error


def import_module(module: str, who: str) -> types.ModuleType:
  """Imports a module of the user's, which may define what gin configures.

  Args:
    module: to import.
    who: needs it.

  Raises:
    MissingPackageError: there is none.
  """
  try:
    with gin.unlock_config():
      return importlib.import_module(module)
  except ModuleNotFoundError as error:
    raise MissingPackageError(
        f'{who} needs the module {module}: {error}. Start in the folder that'
        ' contains it, or add that to PYTHONPATH.'
    ) from error


@contextlib.contextmanager
def explained(name: str, env_kwargs: Dict[str, Any]) -> Iterator[None]:
  """Raises EnvironmentSetupError for what a constructor refuses.

  Gymnasium's own errors, and a keyword among `env_kwargs` that the constructor
  does not take. All other errors stay what they are.

  Args:
    name: of the environment.
    env_kwargs: that the constructor is called with.
  """
  try:
    yield
  except gymnasium.error.Error as error:
    raise EnvironmentSetupError(str(error)) from error
  except TypeError as error:
    keyword = _UNKNOWN_KEYWORD.search(str(error))
    if keyword is None or keyword.group(1) not in (*env_kwargs, None):
      raise  # A bug inside the constructor.
    raise EnvironmentSetupError(
        f'{name} does not take {env_kwargs}: {error}'
    ) from error


def episode_step(number: int, seed: Optional[int]) -> str:
  """Returns the `EnvironmentFailure.episode_step` of an episode's nth step."""
  of = 'its episode' if seed is None else f'the episode with seed {seed}'
  return f'step {number} of {of}'


def failure_of(
    error: BaseException, doing: str, environment_index: Optional[int] = None
) -> EnvironmentFailure:
  """Returns an EnvironmentFailure with the text and the traceback of `error`.

  Args:
    error: what was raised; an EnvironmentFailure is returned as it is.
    doing: such as 'step'.
    environment_index: None where it is not known.
  """
  if isinstance(error, EnvironmentFailure):
    return error
  return EnvironmentFailure(
      f'{doing} raised {type(error).__name__}: {error}',
      environment_index=getattr(error, 'environment_index', environment_index),
      traceback_text=''.join(
          traceback.format_exception(type(error), error, error.__traceback__)
      ),
  )
