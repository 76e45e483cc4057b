# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapts installed packages, and reads the private parts of others.

`mend_packages` is called once, when `rnd_agents` is imported, and mends:

*   TensorFlow 2.15 with typing-extensions above 4.5 (which newer releases
    of many packages require, such as Gymnasium 1.4). Before it traces a
    `tf.function`, TensorFlow checks whether each argument is a
    `SupportsTracingProtocol`. Since 4.6 typing-extensions answers by reading
    the object's `__dict__`, which fails for the wrapper that a `tf.Module` puts
    around its dictionaries: `TypeError: this __dict__ descriptor does not
    support '_DictWrapper' objects`. PPO's `policy_info` spec is such a
    dictionary, so `PolicySaver` and `PPOLearner` fail
    (tensorflow/tensorflow#62217, tensorflow/agents#950).
*   TensorFlow 2.17 and later, where `tf.keras` is Keras 3 unless
    `TF_USE_LEGACY_KERAS` is set; TF-Agents needs Keras 2.
*   gin, which refuses a configurable that a notebook's cell defines again.
*   Messages that a user of this package cannot act on.

`mend_tf_agents` mends TF-Agents beside NumPy 2. `rnd_agents.networks` and
`rnd_agents.replay` call it: importing the package does not import TF-Agents.

The functions at the end are the only code that uses private names of other
packages. `tests/compat_test.py` fails when a new version changes these names.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
from importlib import metadata
from importlib import util
import logging
import os
import re
import sys
from typing import Any, TypeVar
import warnings

from absl import logging as absl_logging

from rnd_agents import errors

_Class = TypeVar('_Class', bound=type)

# Names under which TensorFlow may be installed.
_TENSORFLOW_PACKAGES = (
    'tensorflow', 'tensorflow-cpu', 'tensorflow-macos', 'tensorflow-intel'
)


def _version(*packages: str) -> tuple[int, ...] | None:
  """Returns (major, minor) of the first package installed, or None."""
  for package in packages:
    try:
      text = metadata.version(package)
    except metadata.PackageNotFoundError:
      continue
    return tuple(int(number) for number in re.findall(r'\d+', text)[:2])
  return None


def tolerate_unreadable_objects(protocol: Any, method: str) -> None:
  """Lets `isinstance(x, protocol)` return an answer if it raises `TypeError`.

  Other answers do not change. A second call has no effect.

  Args:
    protocol: A runtime-checkable `typing_extensions.Protocol` with one method.
    method: Name of that method; an object whose class has it is an instance, as
      in older versions of `Protocol`.
  """
  metaclass: Any = type(protocol)
  if getattr(metaclass, 'tolerates_unreadable_objects', False):
    return

  class TolerantMeta(metaclass):
    """The metaclass of `protocol` with a second way to check instances."""

    tolerates_unreadable_objects = True

    def __instancecheck__(cls, instance: Any) -> bool:
      try:
        return super().__instancecheck__(instance)
      except TypeError:
        return cls is protocol and hasattr(type(instance), method)

  protocol.__class__ = TolerantMeta


def mend_tf_agents() -> None:
  """Lets TF-Agents sample and write specs of bytes, and take int, with NumPy 2.

  TF-Agents 0.19 adds 1 to the largest value before it samples. With NumPy 2 the
  sum is 0 for a byte of 255, so that networks on images cannot be built. To
  write examples it calls `newbyteorder` of scalars, which NumPy 2 removed. Its
  categorical head takes `int` of an array [1], which NumPy 2.4 refuses. A
  second call has no effect.
  """
  import numpy as np  # pylint: disable=g-import-not-at-top
  if int(np.__version__.split('.')[0]) < 2:
    return
  import tensorflow as tf  # pylint: disable=g-import-not-at-top
  from tf_agents.networks import categorical_projection_network  # pylint: disable=g-import-not-at-top
  from tf_agents.specs import tensor_spec  # pylint: disable=g-import-not-at-top
  from tf_agents.utils import example_encoding  # pylint: disable=g-import-not-at-top

  sample = tensor_spec.sample_bounded_spec
  encoder = example_encoding._get_feature_encoder  # pylint: disable=protected-access
  if hasattr(sample, 'is_of_rnd_agents'):
    return

  def sample_bounded_spec(
      spec: Any, seed: Any = None, outer_dims: Any = None
  ) -> Any:
    if spec.dtype != tf.uint8:
      return sample(spec, seed, outer_dims)
    # The type in which it samples bytes, large enough for 256.
    wide = tensor_spec.BoundedTensorSpec(
        spec.shape,
        tf.int32,
        spec.minimum.astype(np.int32),
        spec.maximum.astype(np.int32),
    )
    return tf.cast(sample(wide, seed, outer_dims), tf.uint8)

  def get_feature_encoder(
      shape: Any, dtype: Any, *args: Any, **kwargs: Any
  ) -> Any:
    try:
      return encoder(shape, dtype, *args, **kwargs)
    except AttributeError:
      little_endian = np.dtype(
          tf.as_dtype(dtype).as_numpy_dtype
      ).newbyteorder('L')

    def encode(value: Any) -> Any:
      value = np.asarray(value)
      example_encoding._check_shape_and_dtype(  # pylint: disable=protected-access
          value, tuple(shape), tf.as_dtype(dtype)
      )
      data = np.require(value, little_endian, 'C').tobytes()
      return tf.train.Feature(bytes_list=tf.train.BytesList(value=[data]))

    return encode

  mended: Any = sample_bounded_spec
  mended.is_of_rnd_agents = True
  tensor_spec.sample_bounded_spec = mended
  # The module's only use of the name.
  head: Any = categorical_projection_network
  head.int = lambda number: int(np.asarray(number).item())
  example_encoding._get_feature_encoder = get_feature_encoder  # pylint: disable=protected-access


_BINARY = re.compile(r' -m (train|rnd_agents)\.')

# Files of packages between the user and TensorFlow.
_NOT_THE_USER = re.compile(
    r'[/\\](rnd_agents|tf_agents|tensorflow\w*|tf_keras|keras)[/\\]'
)

# Messages of TensorFlow's checkpoints, and of gin while it searches a file.
_IDLE_TALK = (
    'Sharding callback duration',
    'gin-config opened resource file',
    'system_path_file_exists:',
)


def _is_for_the_user(record: logging.LogRecord) -> bool:
  """Returns whether a user can act on a log record; a filter of `logging`."""
  text = str(record.msg)
  if text.startswith(_IDLE_TALK):
    return False
  if not (text.startswith('From %s: ') and 'deprecated' in text):
    return True
  caller = record.args[0] if isinstance(record.args, tuple) else ''
  return not _NOT_THE_USER.search(str(caller))


def _silence() -> None:
  """Hides messages that only the authors of packages can act on."""
  for logger in (
      logging.getLogger('tensorflow'),
      absl_logging.get_absl_logger(),  # absl makes it with a class of its own.
      logging.getLogger(),  # gin logs to the root itself.
  ):
    logger.addFilter(_is_for_the_user)
  for module in ('gast', 'tf_agents', 'tensorflow_probability'):
    warnings.filterwarnings(
        'ignore', category=DeprecationWarning, module=rf'{module}\.'
    )
  # For packages that were installed without compiling, as uv does.
  warnings.filterwarnings(
      'ignore', category=SyntaxWarning, module=r'.*[/\\](Box2D|tf_agents)[/\\]'
  )
  # Without a screen SDL searches one and prints XDG_RUNTIME_DIR errors.
  if sys.platform == 'linux' and not (
      os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
  ):
    os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')
  try:  # The old Gym, which TF-Agents imports, prints advice to replace it.
    from gym_notices import notices  # pylint: disable=g-import-not-at-top
  except ImportError:
    return
  notices.notices.clear()


def _check_tf_agents() -> None:
  """Raises MissingPackage if the second step of the installation is missing."""
  if sys.version_info < (3, 11) or util.find_spec('tf_agents') is not None:
    return
  error = errors.MissingPackage(
      'rnd_agents needs TF-Agents, which from Python 3.11 on is installed by'
      ' a command of its own: pip install --no-deps tf-agents==0.19.0'
  )
  # `python -m train.NAME`: the program has not started yet to catch an error.
  if _BINARY.search(' '.join(sys.orig_argv)):
    sys.exit(str(error))
  raise error


def _use_keras_2() -> None:
  """Makes `tf.keras` of TensorFlow 2.17 and later Keras 2.

  Raises:
    SetupError: If it is already Keras 3.
  """
  os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')
  tensorflow = sys.modules.get('tensorflow')
  if tensorflow is None:
    return
  # TensorFlow decides at the first use of tf.keras, such as in tf_agents.
  if not tensorflow.keras.layers.Layer.__module__.startswith('tf_keras'):
    raise errors.SetupError(
        'TensorFlow was imported before rnd_agents and uses Keras 3, with'
        ' which TF-Agents does not work: import rnd_agents before tensorflow'
        ' and tf_agents, or set the environment variable TF_USE_LEGACY_KERAS=1'
        ' before Python starts.'
    )
  # It decided when it was imported what `import tensorflow.keras` finds, which
  # from then on is tf.keras, too; TF-Agents imports that.
  spec = util.find_spec('tf_keras')
  if spec is not None and spec.origin is not None:
    folder = os.path.join(os.path.dirname(spec.origin), 'api', '_v2')
    if folder not in tensorflow.__path__:
      tensorflow.__path__.insert(0, folder)


def _silence_programs() -> None:
  """Keeps TensorFlow's C++ side quiet in the programs of this package.

  What goes wrong there reaches Python as an exception. Somebody's own program
  decides for itself.
  """
  name = os.path.basename(sys.argv[0]) if sys.argv else ''
  # `python -m` has this name while it looks for its module.
  if name == '-m' or name.startswith('rnd-'):
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')


def mend_packages() -> None:
  """Mends the installed packages as far as their versions need it.

  The module's docstring lists what. TensorFlow is imported only if it needs
  mending.

  Raises:
    MissingPackage: If TF-Agents is not installed on Python 3.11 or later; a
      program of `train` exits with its message.
    SetupError: If TensorFlow is 2.16, or in use with Keras 3, or tf-keras is of
      another version than it.
  """
  _check_tf_agents()
  _silence()
  _silence_programs()
  accept_redefinitions()
  tensorflow = _version(*_TENSORFLOW_PACKAGES)
  if tensorflow is None:
    return
  if tensorflow == (2, 16):
    raise errors.SetupError(
        'TensorFlow 2.16 never frees the memory of numbers and arrays that it'
        ' converts, so that long runs fill the memory: install 2.17 or later'
        ' (pip install --upgrade tensorflow tf-keras).'
    )
  if tensorflow > (2, 16):
    keras = _version('tf-keras')
    # The newest tf-keras is 2.21; it works with TensorFlow 2.22.0rc0.
    works = keras in (None, tensorflow) or (keras, tensorflow) == (
        (2, 21), (2, 22)
    )
    if not works:
      names = ['.'.join(map(str, each)) for each in (keras, tensorflow) if each]
      raise errors.SetupError(
          f'tf-keras {names[0]} does not work with TensorFlow {names[1]}: pip'
          f' install "tf-keras=={names[1]}.*", or another TensorFlow'
          ' (docs/install.md).'
      )
    # Not on 2.15: without the package tf_keras it breaks the import of
    # tf.keras.
    _use_keras_2()
    return
  typing_extensions = _version('typing-extensions')
  if typing_extensions is not None and typing_extensions >= (4, 6):
    from tensorflow.python.types import trace  # pylint: disable=g-import-not-at-top
    tolerate_unreadable_objects(
        trace.SupportsTracingProtocol, '__tf_tracing_type__'
    )


# Private names of other packages.


def accept_redefinitions() -> None:
  """Lets gin replace a configurable by one of the same module and name.

  That is what a notebook's cell that runs twice and a reloaded module define,
  also after a run has locked gin's configuration. A second call has no effect.
  """
  from gin import config  # pylint: disable=g-import-not-at-top

  make = config._make_configurable  # pylint: disable=protected-access
  if hasattr(make, 'is_of_rnd_agents'):
    return

  def make_configurable(defined: Any, *args: Any, **kwargs: Any) -> Any:
    origin = defined.__module__, defined.__qualname__
    again = any(
        (known.__module__, known.__qualname__) == origin
        for known in config._INVERSE_REGISTRY  # pylint: disable=protected-access
        if hasattr(known, '__qualname__')
    )
    with contextlib.ExitStack() as stack:
      stack.enter_context(config.unlock_config())
      if again and not config._INTERACTIVE_MODE:  # pylint: disable=protected-access
        stack.enter_context(config.interactive_mode())
      return make(defined, *args, **kwargs)

  make_configurable.is_of_rnd_agents = True  # type: ignore[attr-defined]
  config._make_configurable = make_configurable  # pylint: disable=protected-access


@contextlib.contextmanager
def separate_gin_state() -> Iterator[None]:
  """Runs a block with an empty gin configuration; restores the one before."""
  from gin import config  # pylint: disable=g-import-not-at-top

  state = (
      config._CONFIG,  # pylint: disable=protected-access
      config._SINGLETONS,  # pylint: disable=protected-access
      config._IMPORTS,  # pylint: disable=protected-access
      config._OPERATIVE_CONFIG,  # pylint: disable=protected-access
  )
  saved = [part.copy() for part in state]
  was_locked = config.config_is_locked()
  config.clear_config()
  try:
    yield
  finally:
    for part, before in zip(state, saved, strict=True):
      part.clear()
      part.update(before)
    config._set_config_is_locked(was_locked)  # pylint: disable=protected-access


@contextlib.contextmanager
def temporary_gin_bindings() -> Iterator[None]:
  """Runs a block that may bind; restores gin's bindings afterwards."""
  from gin import config  # pylint: disable=g-import-not-at-top

  bindings = config._CONFIG  # pylint: disable=protected-access
  before = {key: dict(values) for key, values in bindings.items()}
  try:
    yield
  finally:
    bindings.clear()
    bindings.update(before)


def gymnasium_worker() -> Callable[..., None]:
  """Returns the function that a worker process of AsyncVectorEnv runs."""
  from gymnasium.vector import async_vector_env  # pylint: disable=g-import-not-at-top
  return async_vector_env._async_worker  # pylint: disable=protected-access


def overrides(*names: str) -> Callable[[_Class], _Class]:
  """Decorates a class that overrides private methods of its base class.

  Args:
    *names: Names of these methods.

  Returns:
    A decorator that raises AttributeError if the base class lacks one of them,
    so that it would never call the override.
  """

  def check(cls: _Class) -> _Class:
    for name in names:
      getattr(cls.__mro__[1], name)
    return cls

  return check


def is_waiting(vector_env: Any) -> bool:
  """Returns whether an AsyncVectorEnv waits for answers of its workers."""
  return vector_env._state.value != 'default'  # pylint: disable=protected-access


def stop_waiting(vector_env: Any) -> None:
  """Lets an AsyncVectorEnv accept calls again after a failed one."""
  state = vector_env._state  # pylint: disable=protected-access
  vector_env._state = type(state)('default')  # pylint: disable=protected-access


def latest_observations(vector_env: Any) -> Sequence[Any]:
  """Returns the observations of a SyncVectorEnv, unstacked; () for others."""
  return getattr(vector_env.unwrapped, '_env_obs', ())


def autoreset_mode(vector_env: Any) -> Any:
  """Returns the `AutoresetMode` of a vector environment; None if it has none.

  Two places have it. In Gymnasium 1.1 the metadata of SyncVectorEnv is the dict
  of the environment's class, which a later vector environment overwrites.
  """
  return getattr(
      vector_env.unwrapped,
      'autoreset_mode',
      vector_env.metadata.get('autoreset_mode'),
  )


def destroy_world(env: Any) -> None:
  """Removes all bodies from the world of a Box2D environment of Gymnasium."""
  env._destroy()  # pylint: disable=protected-access


def create_optimizer_slots(optimizer: Any, variables: Sequence[Any]) -> None:
  """Creates the variables of a Keras 2 legacy or TensorFlow 1 optimizer.

  Args:
    optimizer: A `tf.keras.optimizers.legacy` or `tf.compat.v1.train` optimizer.
    variables: The variables that it will train.
  """
  create = getattr(optimizer, '_create_all_weights', None)
  (create or optimizer._create_slots)(variables)  # pylint: disable=protected-access


def reset_summary_writer() -> None:
  """Sets TensorFlow's default summary writer back to none."""
  from tensorflow.python.ops import summary_ops_v2  # pylint: disable=g-import-not-at-top
  summary_ops_v2._summary_state.writer = None  # pylint: disable=protected-access


def release_environment(tf_environment: Any) -> None:
  """Removes a `TFPyEnvironment`'s reference to its `PyEnvironment`.

  TensorFlow keeps the functions that step an environment, and so the
  `TFPyEnvironment`, until the process ends.
  """
  tf_environment._env = None  # pylint: disable=protected-access


def set_input_spec(network: Any, spec: Any) -> None:
  """Changes the spec of the observations that a TF-Agents network takes."""
  network._input_tensor_spec = spec


def call_flat(concrete_function: Any, tensors: Sequence[Any]) -> Any:
  """Calls a concrete function with its tensors in order, unchecked.

  To bind and check each of them takes four times as long as the call.

  Args:
    concrete_function: A `ConcreteFunction` whose arguments are tensors.
    tensors: Tensors of the dtypes and shapes that it was traced with.
  """
  return concrete_function._call_flat(  # pylint: disable=protected-access
      tensors, concrete_function.captured_inputs
  )
