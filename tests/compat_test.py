# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `import rnd_agents` mends, shown broken first."""

import gc
from importlib import metadata
from importlib import util
import inspect
import logging
import os
import pathlib
import subprocess
import sys
import types
import warnings
import weakref

from absl import logging as absl_logging
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.types import trace
from tf_agents.environments import random_py_environment
from tf_agents.environments import tf_py_environment
from tf_agents.networks import categorical_projection_network
from tf_agents.networks import encoding_network
from tf_agents.networks import value_network
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec
from tf_agents.utils import example_encoding

from rnd_agents import _compat
from rnd_agents import errors
from tests import environments_for_tests

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_METHOD = '__tf_tracing_type__'


def _python(*arguments, **changes):
  """Runs a Python that knows nothing of this one's choice of Keras."""
  environment = dict(os.environ, **changes)
  environment.pop('TF_USE_LEGACY_KERAS', None)
  return subprocess.run(
      [sys.executable, *arguments], capture_output=True, check=False, cwd=_ROOT,
      env=environment, text=True,
  )


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


@pytest.mark.skipif(
    sys.version_info >= (3, 11), reason='TensorFlow 2.17 looks another way'
)
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


def _tensorflow(module):
  """A TensorFlow whose layers are defined in `module`."""
  layer = type('Layer', (), {'__module__': module})
  return types.SimpleNamespace(
      __path__=[],
      keras=types.SimpleNamespace(layers=types.SimpleNamespace(Layer=layer))
  )


def _apply_with(monkeypatch, versions):
  """Applies the mends as if `versions` were installed; returns what it did."""

  def version(package):
    if package not in versions:
      raise metadata.PackageNotFoundError(package)
    return versions[package]

  mended = []
  monkeypatch.setattr(metadata, 'version', version)
  monkeypatch.setattr(os, 'environ', {})
  monkeypatch.setitem(sys.modules, 'tensorflow', _tensorflow('tf_keras.src'))
  monkeypatch.setattr(_compat, '_silence', lambda: None)  # Once is enough.
  monkeypatch.setattr(
      _compat,
      'tolerate_unreadable_objects',
      lambda protocol, method: mended.append((protocol.__name__, method)),
  )
  _compat.mend_packages()
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
        ({'tensorflow': '2.17.0rc0', 'typing-extensions': '4.16.0'}, ([], '1')),
        ({'tensorflow': '2.21.0', 'typing-extensions': '4.5.0'}, ([], '1')),
        ({'typing-extensions': '4.16.0'}, ([], None)),
    ],
)
def test_versions_decide_what_is_mended(monkeypatch, versions, expected):
  assert _apply_with(monkeypatch, versions) == expected


def test_a_tensorflow_that_loses_memory_is_refused(monkeypatch):
  with pytest.raises(errors.SetupError, match='install 2.17 or later'):
    _apply_with(monkeypatch, {'tensorflow': '2.16.2'})


def test_a_tf_keras_of_another_tensorflow_is_refused(monkeypatch):
  versions = {'tensorflow': '2.21.0', 'tf-keras': '2.21.0'}
  assert _apply_with(monkeypatch, versions) == ([], '1')
  # The newest pair, which pip does not install by itself.
  versions = {'tensorflow': '2.22.0rc0', 'tf-keras': '2.21.0'}
  assert _apply_with(monkeypatch, versions) == ([], '1')
  # What pip installs without a word.
  versions = {'tensorflow': '2.22.0rc0', 'tf-keras': '2.15.0'}
  with pytest.raises(errors.SetupError, match='tf-keras==2.22'):
    _apply_with(monkeypatch, versions)


def test_keras_3_in_use_is_refused_with_what_to_do(monkeypatch):
  monkeypatch.setattr(os, 'environ', {})
  monkeypatch.setitem(sys.modules, 'tensorflow', _tensorflow('keras.src'))
  with pytest.raises(errors.SetupError) as raised:
    _compat._use_keras_2()
  assert 'import rnd_agents before tensorflow' in str(raised.value)
  assert 'TF_USE_LEGACY_KERAS=1' in str(raised.value)


def test_missing_tf_agents_is_named_with_its_command(monkeypatch):
  monkeypatch.setattr(util, 'find_spec', lambda name: None)
  monkeypatch.setattr(sys, 'version_info', (3, 11, 7))
  with pytest.raises(errors.MissingPackage) as raised:
    _compat.mend_packages()
  assert 'pip install --no-deps tf-agents==0.19.0' in str(raised.value)
  # Before 3.11 it comes with the package.
  monkeypatch.setattr(sys, 'version_info', (3, 10, 13))
  _compat._check_tf_agents()


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason='TF-Agents comes with the package'
)
@pytest.mark.parametrize(
    'command',
    [
        ('train.train_eval', '--gin_file=cartpole'),  # Imports it late.
        ('train.sweep',),
        ('rnd_agents.plotting',),
    ],
)
def test_binaries_end_with_the_command_for_tf_agents(tmp_path, command):
  (tmp_path / 'sitecustomize.py').write_text(
      'from importlib import util\n'
      'find_spec = util.find_spec\n'
      'util.find_spec = lambda name, *args: (\n'
      '    None if name == "tf_agents" else find_spec(name, *args))\n'
  )
  finished = _python('-m', *command, PYTHONPATH=os.fspath(tmp_path))
  assert finished.returncode == 1
  (sentence,) = finished.stderr.splitlines()
  assert sentence.endswith(': pip install --no-deps tf-agents==0.19.0')


def test_user_is_told_of_own_deprecated_calls_alone():
  said = []

  class Sink(logging.Handler):

    def emit(self, record):
      said.append(record.getMessage())

  logger, sink = logging.getLogger('tensorflow'), Sink()
  logger.addHandler(sink)
  try:
    text = 'From %s: %s is deprecated'
    for caller in (
        '/x/rnd_agents/collecting/local.py:1',
        '/x/tf_agents/utils/common.py:2',
        '/x/tensorflow_probability/python/a.py:3',
        '/x/mine/rnd_agents_run.py:4',
    ):
      logger.warning(text, caller, 'gather_all')
    logger.warning('Sharding callback duration: 1 microseconds')
    logger.warning('Disk full')
    logging.getLogger().addHandler(sink)
    logging.warning('system_path_file_exists:%s', 'a.gin')  # As gin does.
  finally:
    logging.getLogger().removeHandler(sink)
    logger.removeHandler(sink)
  assert said == [
      'From /x/mine/rnd_agents_run.py:4: gather_all is deprecated', 'Disk full'
  ]


def test_absl_keeps_its_own_logger():
  assert isinstance(logging.getLogger('absl'), absl_logging.ABSLLogger)


def test_user_is_warned_of_own_code_alone():
  with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter('default')
    _compat._silence()
    for module in ('gast.astn', 'tf_agents.utils.common', 'mine'):
      warnings.warn_explicit(
          f'old in {module}', DeprecationWarning, 'file.py', 1, module=module
      )
    for folder in ('tf_agents/utils', 'mine'):  # Compiled on its first import.
      compile('x is ()', f'/x/{folder}/common.py', 'exec')
  assert [warning.filename for warning in said] == [
      'file.py', '/x/mine/common.py'
  ]
  assert str(said[0].message) == 'old in mine'


def test_tf_agents_writes_little_endian_bytes():
  _compat.mend_tf_agents()
  spec = {'a': array_spec.ArraySpec([2], np.int32)}
  encode = example_encoding.get_example_encoder(spec)
  (feature,) = encode({'a': np.int32([1, 256])}).features.feature.values()
  assert feature.bytes_list.value == [b'\x01\0\0\0\0\x01\0\0']
  with pytest.raises(ValueError, match='Expected shape'):
    encode({'a': np.int32([1, 2, 3])})


def test_tf_agents_samples_and_builds_on_bytes():
  _compat.mend_tf_agents()
  spec = tensor_spec.BoundedTensorSpec([40], tf.uint8, 0, 255)
  sample = tensor_spec.sample_spec_nest(spec, seed=1, outer_dims=(200,))
  # Every value of 256 is there, but for a chance of 256 * exp(-31).
  np.testing.assert_array_equal(np.unique(sample), np.arange(256))
  assert sample.dtype == tf.uint8
  few = tensor_spec.BoundedTensorSpec([50], tf.uint8, 3, 5)
  sample = tensor_spec.sample_spec_nest(few, seed=1)
  np.testing.assert_array_equal(np.unique(sample), [3, 4, 5])
  value_network.ValueNetwork(
      spec, preprocessing_layers=tf.keras.layers.Lambda(
          lambda x: tf.cast(x, tf.float32)
      )
  ).create_variables()


def test_tf_agents_builds_a_categorical_head():
  _compat.mend_tf_agents()
  spec = tensor_spec.BoundedTensorSpec([2], tf.int64, [1, 0], [4, 3])
  head = categorical_projection_network.CategoricalProjectionNetwork(spec)
  distribution, _ = head(tf.ones([3, 5]), 1)
  assert distribution.logits.shape == (3, 2, 4)


@pytest.mark.skipif(
    sys.version_info >= (3, 11), reason='TensorFlow 2.17 needs no mending'
)
def test_importing_the_package_applies_it():
  program = """
from importlib import metadata
installed = metadata.version
metadata.version = lambda package: (
    '4.16.0' if package == 'typing-extensions' else installed(package))
import rnd_agents
from tensorflow.python.types import trace
kind = type(trace.SupportsTracingProtocol)
print(hasattr(kind, 'tolerates_unreadable_objects'))
"""
  assert _python('-c', program).stdout.split() == ['True']


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason='TensorFlow 2.15 has Keras 2 alone'
)
@pytest.mark.parametrize(
    ('first', 'said'),
    [
        ('tensorflow', 'tf_keras'),
        ('tf_agents.agents', 'import rnd_agents before tensorflow'),
    ],
)
def test_keras_of_a_script_that_imports_something_first(first, said):
  program = f"""
import {first}
import rnd_agents
import tensorflow as tf
# It imports the module tensorflow.keras, which replaces what tf.keras was.
from tf_agents.networks import q_rnn_network
print(tf.keras.layers.Layer.__module__)
"""
  finished = _python('-c', program)
  shown = finished.stdout or finished.stderr.splitlines()[-1]
  assert said in shown


# ------------------------------------------- Private names of other packages.
def test_gymnasium_calls_the_methods_that_are_overridden():
  called = []

  @_compat.overrides('_check_spaces', '_poll_pipe_envs', '_raise_if_errors')
  class Recording(gymnasium.vector.AsyncVectorEnv):
    def _check_spaces(self):
      called.append('spaces')
      super()._check_spaces()

    def _poll_pipe_envs(self, timeout=None):
      called.append('poll')
      return super()._poll_pipe_envs(timeout)

    def _raise_if_errors(self, successes):
      called.append('errors')
      super()._raise_if_errors(successes)

  def worker(*args):
    _compat.gymnasium_worker()(*args)

  # Python 3.14's own choice does not take a local function.
  env = Recording(
      [environments_for_tests.Steps], worker=worker, context='fork'
  )
  assert called[0] == 'spaces'
  for call in (env.reset, lambda: env.step([0])):
    called.clear()
    call()
    assert called == ['poll', 'errors']
  assert not _compat.is_waiting(env)
  env.step_async([0])
  assert _compat.is_waiting(env)
  env.step_wait()
  env.reset_async()
  _compat.stop_waiting(env)
  assert not _compat.is_waiting(env)
  env.close(terminate=True)


def test_an_override_of_a_method_that_is_gone_is_refused():
  with pytest.raises(AttributeError, match='_gone'):

    @_compat.overrides('_gone')
    class _Override(environments_for_tests.Steps):

      def _gone(self):
        pass


def test_latest_observations_of_a_vector():
  env = gymnasium.vector.SyncVectorEnv([environments_for_tests.Steps] * 2)
  env.reset()
  env.step([0, 0])
  assert [float(x[0]) for x in _compat.latest_observations(env)] == [1.0, 1.0]


def test_the_input_spec_of_a_network_is_replaced():
  net = encoding_network.EncodingNetwork(
      tf.TensorSpec([3], tf.uint8), fc_layer_params=(2,)
  )
  spec = tf.TensorSpec([3], tf.float32)
  _compat.set_input_spec(net, spec)
  assert net.input_tensor_spec == spec
  np.testing.assert_array_equal(net(tf.zeros([1, 3]))[0], tf.zeros([1, 2]))


def test_a_concrete_function_is_called_with_its_tensors():
  trace = tf.function(lambda x, y: {'sum': x + y}).get_concrete_function(
      tf.TensorSpec([2]), tf.TensorSpec([2])
  )
  found = _compat.call_flat(trace, [tf.constant([1.0, 2.0]), tf.ones([2])])
  np.testing.assert_array_equal(found['sum'], [2.0, 3.0])


def test_world_of_box2d_is_emptied():
  pytest.importorskip('Box2D')
  env = gymnasium.make('BipedalWalker-v3').unwrapped
  env.reset(seed=0)
  assert len(env.world.bodies) > 1
  _compat.destroy_world(env)
  assert not env.world.bodies


@pytest.mark.parametrize(
    ('optimizer', 'slots'),
    [
        (tf.keras.optimizers.legacy.Adam(), 2),
        (tf.compat.v1.train.AdamOptimizer(), 2),
        (tf.compat.v1.train.MomentumOptimizer(0.1, 0.9), 1),
    ],
)
def test_slots_of_an_optimizer_are_there_before_its_first_step(
    optimizer, slots
):
  variable = tf.Variable([1.0, 2.0])
  _compat.create_optimizer_slots(optimizer, [variable])
  names = optimizer.get_slot_names()
  assert len(names) == slots
  for name in names:
    assert optimizer.get_slot(variable, name).shape == [2]


def test_summary_writer_that_was_left_set_is_reset(tmp_path):
  writer = tf.summary.create_file_writer(str(tmp_path))
  writer.set_as_default(step=0)
  assert tf.summary.should_record_summaries()
  _compat.reset_summary_writer()
  assert not tf.summary.scalar('x', 1.0, step=0)


def test_released_environment_is_collected():
  gc.freeze()  # The garbage of other tests takes long.
  environment = random_py_environment.RandomPyEnvironment(
      array_spec.BoundedArraySpec([1], np.float32, 0, 1),
      array_spec.BoundedArraySpec([], np.int32, 0, 1),
  )
  tf_environment = tf_py_environment.TFPyEnvironment(environment)
  tf_environment.reset()
  is_alive = weakref.ref(environment)
  del environment
  _compat.release_environment(tf_environment)
  gc.collect()
  gc.unfreeze()
  assert is_alive() is None


@pytest.mark.parametrize(
    ('program', 'level'),
    [
        ('-m', '3'), ('/venv/bin/rnd-check', '3'), ('my_program.py', None),
        ('rnd-check', '0'),
    ],
)
def test_own_programs_silence_tensorflow(monkeypatch, program, level):
  monkeypatch.setattr('sys.argv', [program])
  monkeypatch.delenv('TF_CPP_MIN_LOG_LEVEL', raising=False)
  if level == '0':  # The user's own choice.
    monkeypatch.setenv('TF_CPP_MIN_LOG_LEVEL', '0')
  _compat.mend_packages()
  assert os.environ.get('TF_CPP_MIN_LOG_LEVEL') == level
