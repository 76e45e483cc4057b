# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `import rnd_agents` mends, shown broken first."""

from importlib import metadata
import inspect
import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf
from tensorflow.python.types import trace

from rnd_agents import _compat

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_METHOD = '__tf_tracing_type__'


class _Owner(tf.Module):
  """Keeps a dictionary, which tf.Module wraps."""

  def __init__(self):
    super().__init__()
    self.parts = {'a': tf.constant(3.0), 'b': tf.constant(4.0)}


def _sum_of_squares(parts):
  return tf.function(lambda p: p['a'] ** 2 + p['b'] ** 2)(parts).numpy()


@pytest.fixture(name='static_look')
def _static_look():
  """Lets the protocol look as typing-extensions 4.6 and later does.

  `inspect.getattr_static` on a wrapped dictionary is what raises there, and it
  raises here too, whatever version of typing-extensions is installed.
  """
  protocol = trace.SupportsTracingProtocol

  class StaticLookMeta(type(protocol)):
    # Not the mark that an already mended metaclass would hand down.
    tolerates_unreadable_objects = False

    def __instancecheck__(cls, instance):
      try:
        inspect.getattr_static(instance, _METHOD)
      except AttributeError:
        return False
      return True

  before = type(protocol)
  protocol.__class__ = StaticLookMeta
  yield protocol
  protocol.__class__ = before


class _Traceable:

  def __tf_tracing_type__(self, context):
    raise NotImplementedError


def test_wrapped_dictionary_crosses_into_a_tf_function(static_look):
  parts = _Owner().parts
  with pytest.raises(TypeError, match='__dict__ descriptor does not support'):
    _sum_of_squares(parts)

  _compat.tolerate_unreadable_objects(static_look, _METHOD)

  assert _sum_of_squares(parts) == 25.0


def test_other_answers_stay_what_they_were(static_look):
  _compat.tolerate_unreadable_objects(static_look, _METHOD)

  assert isinstance(_Traceable(), static_look)
  assert not isinstance(object(), static_look)
  assert not isinstance(_Owner().parts, static_look)


def test_unreadable_object_with_the_method_counts():

  class RaisingMeta(type):

    def __instancecheck__(cls, instance):
      raise TypeError('unreadable')

  class Raising(metaclass=RaisingMeta):
    pass

  with pytest.raises(TypeError, match='unreadable'):
    isinstance(_Traceable(), Raising)
  _compat.tolerate_unreadable_objects(Raising, _METHOD)
  assert isinstance(_Traceable(), Raising)
  assert not isinstance(3, Raising)


def test_mending_twice_mends_once(static_look):
  _compat.tolerate_unreadable_objects(static_look, _METHOD)
  once = type(static_look)
  _compat.tolerate_unreadable_objects(static_look, _METHOD)
  assert type(static_look) is once


def test_package_works_with_the_installed_versions():
  # Beside typing-extensions above 4.5 this is the real thing.
  assert _sum_of_squares(_Owner().parts) == 25.0


def _apply_with(monkeypatch, versions):
  """Applies the mends as if `versions` were installed; returns what it did."""

  def version(package):
    if package not in versions:
      raise metadata.PackageNotFoundError(package)
    return versions[package]

  mended = []
  monkeypatch.setattr(metadata, 'version', version)
  monkeypatch.setattr(os, 'environ', {})
  monkeypatch.setattr(
      _compat,
      'tolerate_unreadable_objects',
      lambda protocol, method: mended.append((protocol.__name__, method)),
  )
  _compat.apply()
  return mended, os.environ.get('TF_USE_LEGACY_KERAS')


_MENDED = [('SupportsTracingProtocol', _METHOD)]


@pytest.mark.parametrize(
    ('versions', 'expected'),
    [
        ({'tensorflow': '2.15.1', 'typing-extensions': '4.5.0'}, ([], None)),
        (
            {'tensorflow': '2.15.1', 'typing-extensions': '4.6.0'},
            (_MENDED, None),
        ),
        (
            {'tensorflow-cpu': '2.15.0', 'typing-extensions': '4.16.0'},
            (_MENDED, None),
        ),
        (
            {'tensorflow': '2.16.0rc0', 'typing-extensions': '4.16.0'},
            ([], '1'),
        ),
        ({'tensorflow': '2.21.0', 'typing-extensions': '4.5.0'}, ([], '1')),
        ({'typing-extensions': '4.16.0'}, ([], None)),
    ],
)
def test_versions_decide_what_is_mended(monkeypatch, versions, expected):
  assert _apply_with(monkeypatch, versions) == expected


@pytest.mark.parametrize(
    ('typing_extensions', 'mended'), [('4.5.0', 'False'), ('4.16.0', 'True')]
)
def test_importing_the_package_applies_it(typing_extensions, mended):
  program = f"""
from importlib import metadata
installed = metadata.version
metadata.version = lambda package: (
    {typing_extensions!r} if package == 'typing-extensions'
    else installed(package))
import rnd_agents
from tensorflow.python.types import trace
kind = type(trace.SupportsTracingProtocol)
print(hasattr(kind, 'tolerates_unreadable_objects'))
"""
  finished = subprocess.run(
      [sys.executable, '-c', program],
      check=True,
      capture_output=True,
      cwd=_ROOT,
      text=True,
  )
  assert finished.stdout.split() == [mended]
