# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors that the user can put right, each told in one sentence.

The binaries print these without a traceback. Every other exception is a bug of
this package or of the user's own code and keeps its traceback.
"""


class UserError(Exception):
  """Something that the user can put right; the message says what to do."""


class InvalidValue(UserError, ValueError):
  """An argument or a setting has a value that cannot serve."""


class GinError(InvalidValue):
  """A gin configuration that does not fit."""


class InvalidType(UserError, TypeError):
  """An argument or a setting is of a type that cannot serve."""


class MissingPackage(UserError, ImportError):
  """An optional package is not installed."""


class MissingFile(UserError, FileNotFoundError):
  """A file that was named does not exist."""


class SetupError(InvalidValue):
  """Settings that cannot run, found before the first step."""


class RunError(UserError, RuntimeError):
  """A run that had to stop; the message says why and what was kept."""


def message_of(error: BaseException) -> str:
  """Returns the text of `error` without the call site that gin appends."""
  return str(error).partition('\n  In call to')[0]
