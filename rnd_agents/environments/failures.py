# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of environments, each with a message for the user.

A program may print these as one sentence. Any other exception is a bug of this
package or of the environment and should keep its traceback.
"""

from collections.abc import Callable, Hashable, Iterator
import contextlib
import importlib
from importlib import metadata
import os
import re
import signal
import threading
import traceback
import types
from typing import Any

import gin
import gymnasium
from gymnasium import vector
import numpy as np

from rnd_agents import errors

# The second one is ALE's.
_UNKNOWN_KEYWORD = re.compile(
    r"unexpected keyword argument '(\w+)'|incompatible (?:func|constr)"
)

_said: set[Hashable] = set()  # Keys of what the log has said.

_OUTER_FOLDERS = tuple(
    os.path.dirname(path) + os.sep for path in (__file__, gymnasium.__file__)
)


class EnvironmentSetupError(errors.InvalidValue):
  """An environment cannot be made or used with these arguments."""


class MissingPackageError(EnvironmentSetupError, errors.MissingPackage):
  """An environment needs a package that is not installed."""


class StateNotRestored(RuntimeError):
  """A replay did not reach the saved state, so a run cannot resume there."""


class EnvironmentFailure(errors.UserError, RuntimeError):
  """An environment raised an error, hung, died, or left its space.

  Holds texts and numbers only, so that a worker process can send it to its
  parent, whatever the environment raised.

  Attributes:
    what: Description of the failure, one line or more.
    environment_index: Index among the B environments; None if it is not known.
    environment_name: Name of the environment; None until the adapter sets it.
    episode_step: Text such as 'step 3 of the episode with seed 1'; None if it
      is not known.
    traceback_text: Traceback in the environment's code; None if the environment
      did not raise an error.
  """

  def __init__(
      self,
      what: str,
      environment_index: int | None = None,
      environment_name: str | None = None,
      traceback_text: str | None = None,
  ):
    super().__init__(what)
    self.what = what
    self.environment_index = environment_index
    self.environment_name = environment_name
    self.episode_step: str | None = None
    self.traceback_text = traceback_text

  def __str__(self) -> str:
    where = self.environment_name or 'The environment'
    if self.environment_index is not None:
      where += f', environment {self.environment_index} of the batch'
    if self.episode_step is not None:
      where += f', {self.episode_step}'
    text = f'{where}: {self.what}'
    if self.traceback_text:
      text += f'\n\nInside the environment:\n{self.traceback_text}'
    return text


def say_once(
    say: Callable[..., None], key: Hashable, message: str, *args: Any
) -> None:
  """Logs a message, once a process: many batches are alike.

  Args:
    say: A function of absl's logging, such as `logging.warning`.
    key: What the message is about.
    message: The message, with places for `args`.
    *args: Values of the message.
  """
  if key not in _said:
    _said.add(key)
    say(message, *args)


def import_extra(module: str, extra: str, who: str) -> None:
  """Imports a package of an extra, which registers its environments.

  Args:
    module: Name of the module to import.
    extra: Extra of rnd_agents that installs it.
    who: Name of what needs it, for the message.

  Raises:
    MissingPackageError: If it is not installed.
  """
  try:
    gymnasium.register_envs(importlib.import_module(module))
  except ImportError as error:
    raise MissingPackageError(
        f'{who} needs the package {module}: pip install "rnd_agents[{extra}]"'
    ) from error


def import_module(module: str, who: str) -> types.ModuleType:
  """Imports a module of the user, which may define gin configurables.

  Args:
    module: Name of the module to import.
    who: Name of what needs it, for the message.

  Raises:
    MissingPackageError: If there is no such module.
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
def explained(name: str, env_kwargs: dict[str, Any]) -> Iterator[None]:
  """Turns errors of an environment's constructor into EnvironmentSetupError.

  These are Gymnasium's own errors, those for a keyword of `env_kwargs` that the
  constructor does not take, and those of versions of MuJoCo. Other errors do
  not change.

  Args:
    name: Name of the environment.
    env_kwargs: Arguments of the constructor.
  """
  try:
    yield
  except (gymnasium.error.Error, AssertionError) as error:
    said = _of_mujoco(name, error)
    if said is None and isinstance(error, AssertionError):
      raise
    raise EnvironmentSetupError(said or str(error)) from error
  except TypeError as error:
    keyword = _UNKNOWN_KEYWORD.search(str(error))
    if keyword is None or keyword.group(1) not in (*env_kwargs, None):
      raise  # A bug inside the constructor.
    raise EnvironmentSetupError(
        f'{name} does not take {env_kwargs}: {error}'
    ) from error


def _of_mujoco(name: str, error: Exception) -> str | None:
  """Returns what helps if MuJoCo's version is the cause; None if it is not."""
  cause = error.__cause__
  if isinstance(cause, ImportError) and 'mujoco-core' in str(cause):
    # Gymnasium says that MuJoCo is not installed, and MuJoCo 4.0.0 names a
    # command that installs parts of different versions.
    return (
        f'{name}: parts of MuJoCo are missing or of different versions, as'
        ' after an upgrade from a version before 4: pip uninstall -y mujoco'
        ' mujoco-core mujoco-studio, then pip install "rnd_agents[mujoco]".'
    )
  frames = traceback.extract_tb(error.__traceback__)
  of_robotics = 'gymnasium_robotics/utils/mujoco_utils.py'
  if not frames[-1].filename.endswith(of_robotics):
    return None
  version = metadata.version('mujoco')
  if tuple(map(int, version.split('.')[:2])) >= (3, 12):
    return (
        f'{name} fails with MuJoCo {version}, as Fetch, Hand'
        ' and Kitchen of gymnasium-robotics do from 3.12 on: pip install'
        ' "mujoco<3.12".'
    )
  return None


def is_of_user(error: BaseException) -> bool:
  """Returns whether an error is the user's Ctrl-C, which Python raises here."""
  return (
      isinstance(error, KeyboardInterrupt)
      and threading.current_thread() is threading.main_thread()
      and signal.getsignal(signal.SIGINT) is signal.default_int_handler
  )


def is_of_memory(error: BaseException) -> bool:
  """Returns whether Python or NumPy raised an error for want of memory."""
  # NumPy says that of arrays beyond all memory.
  too_large = ('Maximum allowed', 'array is too big')
  return isinstance(error, MemoryError) or (
      isinstance(error, ValueError) and str(error).startswith(too_large)
  )


def episode_step(number: int, seed: int | None) -> str:
  """Returns the text for `EnvironmentFailure.episode_step`."""
  of = 'its episode' if seed is None else f'the episode with seed {seed}'
  return f'step {number} of {of}'


def failure_of(
    error: BaseException, doing: str, environment_index: int | None = None
) -> EnvironmentFailure:
  """Returns an EnvironmentFailure with the text and the traceback of `error`.

  Args:
    error: The error; an EnvironmentFailure is returned unchanged.
    doing: What raised it, such as 'step'.
    environment_index: Index of the environment; None if it is not known.
  """
  if isinstance(error, EnvironmentFailure):
    return error
  # Without the calls of ours and Gymnasium's that lead to the environment.
  trace = error.__traceback__
  while (
      trace is not None
      and trace.tb_next is not None
      and trace.tb_frame.f_code.co_filename.startswith(_OUTER_FOLDERS)
  ):
    trace = trace.tb_next
  return EnvironmentFailure(
      f'{doing} raised {type(error).__name__}: {error}',
      environment_index=getattr(error, 'environment_index', environment_index),
      traceback_text=''.join(
          traceback.format_exception(type(error), error, trace)
      ),
  )


def failure_of_observation(
    space: gymnasium.Space, observation: Any, environment_index: int
) -> EnvironmentFailure | None:
  """Returns a failure if an observation cannot be stacked in its space.

  Args:
    space: The observation space of one environment.
    observation: An observation.
    environment_index: Index of the environment.
  """
  try:
    vector.utils.concatenate(
        space, [observation], vector.utils.create_empty_array(space, 1)
    )
  except Exception:  # NumPy's errors, KeyError, AttributeError ...
    return EnvironmentFailure(
        f'its observation of type {type(observation).__name__} and shape '
        f'{np.shape(observation)} is not in its space {space}.',
        environment_index=environment_index,
    )
  return None
