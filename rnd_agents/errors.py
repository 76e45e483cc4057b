# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors that the user can repair, each with a message of one sentence.

The programs print these without a traceback. Every other exception is a bug of
this package or of the user's own code and keeps its traceback.
"""


class UserError(Exception):
  """The base class of errors that the user can repair."""


class InvalidValue(UserError, ValueError):
  """An argument or a setting has an invalid value."""


class GinError(InvalidValue):
  """A gin configuration that does not fit."""


class InvalidType(UserError, TypeError):
  """An argument or a setting has an invalid type."""


class MissingPackage(UserError, ImportError):
  """An optional package is not installed."""


class MissingFile(UserError, FileNotFoundError):
  """A file does not exist."""


class SetupError(InvalidValue):
  """Settings cannot run; raised before the first step."""


class RunError(UserError, RuntimeError):
  """A run had to stop; the message says why and what was saved."""


class Diverged(RunError):
  """A run had to stop as its numbers are no longer finite."""


def message_of(error: BaseException) -> str:
  """Returns the text of `error` without the call site that gin appends."""
  return str(error).partition('\n  In call to')[0]
