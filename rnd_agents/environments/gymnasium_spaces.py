# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Converts Gymnasium spaces to TF-Agents specs, and batches between the two.

Each converter reads a space once and returns the nest of specs together with a
function that converts one batch, so that no step inspects a space.
Dict spaces become dicts, Tuple spaces tuples. Keys that SavedModels cannot have
are renamed: what is not a letter, a digit or one of _./- becomes an underscore.
"""

from collections.abc import Callable, Iterable
import math
import re
from typing import Any

from absl import logging
from gymnasium import spaces
import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import action_ranges
from rnd_agents import errors
from rnd_agents import words
from rnd_agents.environments import failures

# Characters that the keys of specs, and names of SavedModels, cannot have.
_NOT_IN_KEYS = re.compile(r'[^A-Za-z0-9_./-]')
_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_]')

Converter = Callable[[Any], types.NestedArray]

# Types that networks and replay buffers support do not change; others become
# wider, except float64, which becomes float32.
_SPEC_DTYPES = {
    'float16': np.float32,
    'float32': np.float32,
    'float64': np.float32,
    'bool': np.uint8,
    'uint8': np.uint8,
    'int8': np.int32,
    'int16': np.int32,
    'uint16': np.int32,
    'int32': np.int32,
    'uint32': np.int64,
    'int64': np.int64,
}


class Words(spaces.Box):
  """Texts of up to `length` words, as `words.Vocabulary` encodes them."""

  def __init__(self, num_ids: int, length: int):
    super().__init__(0, num_ids - 1, (length,), np.uint8)


class SpaceWithMask(spaces.Dict):
  """The space of an `ObservationWithMask`, with an entry for each field."""


def observation_converter(
    space: spaces.Space, name: str = 'observation'
) -> tuple[types.NestedArraySpec, Converter]:
  """Returns the spec of `space` and a function for batched observations.

  The function returns new arrays of the spec's dtypes, never views of its
  argument. It raises ValueError if a floating one is not finite, and
  InvalidValue if one is outside of its space; floating ones may be so a little
  (`_range_check`). Text is dropped, since a spec cannot hold it; the log
  mentions it.

  Args:
    space: The observation space of one environment.
    name: Name of the spec, and prefix of the names of its parts.
  """
  if isinstance(space, SpaceWithMask):
    specs, convert_parts = _joined(space, {
        'observation': observation_converter(space['observation'], name),
        'action_mask': observation_converter(space['action_mask'], 'mask'),
    }, name)
    return (
        action_masks.ObservationWithMask(**specs),
        lambda batch: action_masks.ObservationWithMask(**convert_parts(batch)),
    )
  if isinstance(space, (spaces.Dict, spaces.Tuple)):
    parts = {}
    for key, part in _parts(space):
      if is_text(part):
        logging.info('%s/%s is text, which no spec holds: dropped.', name, key)
      elif 0 in (part.shape or ()):
        logging.info('%s/%s holds no number: dropped.', name, key)
      else:
        parts[key] = observation_converter(part, f'{name}/{_spec_key(key)}')
    return _joined(space, parts, name)
  if is_text(space):
    raise failures.EnvironmentSetupError(
        f'{name!r} is text only, which a TF-Agents spec cannot hold; add a '
        'wrapper that encodes it as an array.'
    )
  spec = _array_spec(space, name)
  return spec, array_converter(spec)


def array_converter(spec: array_spec.BoundedArraySpec) -> Converter:
  """Returns the function of `observation_converter` for one array."""
  name, dtype, shape = spec.name, spec.dtype, spec.shape
  is_floating = np.issubdtype(dtype, np.floating)
  check_range = _range_check(spec)

  def convert(observation: Any) -> np.ndarray:
    array = np.array(observation, dtype=dtype, order='C')  # Copies, always.
    if array.shape[1:] != shape:
      raise errors.InvalidValue(
          f'{name!r} must have shape {shape} in each environment, as its space'
          f' says, but has {array.shape[1:]}.'
      )
    if is_floating:
      check_finite_batch(array, name)
    if check_range is not None:  # Before the cast, which may cut integers.
      check_range(np.asarray(observation))
    return array

  return convert


def action_converter(
    space: spaces.Space, num_environments: int, name: str = 'action'
) -> tuple[types.NestedArraySpec, Converter]:
  """Returns the spec of `space` and a function for batches of actions.

  The function takes NumPy arrays or EagerTensors [B, ...] and returns arrays of
  the space's own dtype. It raises ValueError for a wrong shape, an action that
  is not finite or an integer out of range, and TypeError for floating numbers
  in place of integers.

  Discrete actions, integer Boxes too, count from 0 in the spec, also if the
  space starts elsewhere, as TF-Agents' networks expect. Continuous ones are
  clipped to the bounds of the spec: a PPO policy samples from a normal
  distribution, which has none. `action_ranges.finite_range` stands in for
  infinite bounds of the space.

  Args:
    space: The action space of one environment.
    num_environments: B.
    name: Name of the spec, and prefix of the names of its parts.
  """
  if isinstance(space, (spaces.Dict, spaces.Tuple)):
    return _joined(space, {
        key: action_converter(
            part, num_environments, f'{name}/{_spec_key(key)}'
        )
        for key, part in _parts(space)
    }, name, is_action=True)
  spec = _array_spec(space, name, round_inward=True)
  start = _start(space)
  is_floating = space.dtype.kind == 'f'
  if start is not None:
    spec = _from_zero_spec(spec, start)
  elif is_floating:
    spec = _with_finite_range(spec)
  minimum, maximum = spec.minimum, spec.maximum
  shape = (num_environments,) + spec.shape
  check_range = None if is_floating else _range_check(spec)

  def convert(action: Any) -> np.ndarray:
    array = np.asarray(action)
    if array.shape != shape:
      raise errors.InvalidValue(
          f'{name!r} must have shape {shape} (environments first), but has '
          f'{array.shape}.'
      )
    if array.dtype.kind == 'f':
      if not is_floating:
        raise errors.InvalidType(
            f'{name!r} must be {spec.dtype}, not {array.dtype}.'
        )
      check_finite_batch(array, name)
    if is_floating:
      array = np.clip(array, minimum, maximum)
    elif check_range is not None:
      check_range(array)
    if start is not None:
      array = array + start
    return array.astype(space.dtype, copy=False)

  return spec, convert


def space_of(spec: types.NestedSpec) -> spaces.Space:
  """Returns the space of a nest of specs: the way back."""
  observation, mask = action_masks.split_mask(spec)
  if mask is not None:
    return SpaceWithMask(
        observation=space_of(observation), action_mask=space_of(mask)
    )
  if isinstance(spec, dict):
    return spaces.Dict({key: space_of(part) for key, part in spec.items()})
  if isinstance(spec, tuple):
    return spaces.Tuple([space_of(part) for part in spec])
  leaf = tensor_spec.to_array_spec(spec)
  if not isinstance(leaf, array_spec.BoundedArraySpec):
    leaf = array_spec.BoundedArraySpec.from_spec(leaf)
  if leaf.shape == () and leaf.dtype.kind in 'iu':
    low, high = int(leaf.minimum), int(leaf.maximum)
    return spaces.Discrete(high - low + 1, start=low, dtype=leaf.dtype)
  bounds = [
      np.broadcast_to(x, leaf.shape) for x in (leaf.minimum, leaf.maximum)
  ]
  return spaces.Box(*bounds, leaf.shape, leaf.dtype)


def from_zero(space: spaces.Space, action: Any) -> types.NestedArray:
  """Returns an action of a space, or a batch of them, counted from 0."""
  if isinstance(space, spaces.Dict):
    return {
        _spec_key(key): from_zero(space[key], action[key])
        for key in space.spaces
    }
  if isinstance(space, spaces.Tuple):
    return tuple(
        from_zero(*pair) for pair in zip(space.spaces, action, strict=True)
    )
  start = _start(space)
  action = np.asarray(action)
  return action if start is None else action - start


def num_values(space: spaces.Space) -> np.ndarray | None:
  """Returns the number of values of each entry; None unless discrete."""
  if isinstance(space, (spaces.Dict, spaces.Tuple)) or is_text(space):
    return None
  spec, _ = action_converter(space, 1)
  if not np.issubdtype(spec.dtype, np.integer):
    return None
  return np.broadcast_to(spec.maximum, spec.shape) + 1


def _start(space: spaces.Space) -> np.ndarray | None:
  """Returns the smallest values of discrete actions; None for 0 and floats."""
  start = getattr(space, 'start', 0)
  if isinstance(space, spaces.Box) and space.dtype.kind != 'f':
    start = space.low
  return np.asarray(start, np.int64) if np.any(start) else None


def _from_zero_spec(
    spec: array_spec.BoundedArraySpec, start: np.ndarray
) -> array_spec.BoundedArraySpec:
  """Returns the spec of discrete actions that are counted from 0."""
  # Python's integers: the range of an int64 may exceed an int64.
  largest = np.subtract(spec.maximum, start, dtype=object)
  action_ranges.check_num_values(spec.name, int(np.max(largest)) + 1)
  bounds = _cast_bounds(np.zeros_like(start), largest, spec.dtype, False)
  return array_spec.BoundedArraySpec(spec.shape, spec.dtype, *bounds, spec.name)


def _with_finite_range(
    spec: array_spec.BoundedArraySpec
) -> array_spec.BoundedArraySpec:
  """Returns the spec with a range in place of infinite bounds."""
  low, high = action_ranges.finite_range(spec)
  if (low == spec.minimum).all() and (high == spec.maximum).all():
    return spec
  bounds = _cast_bounds(low, high, spec.dtype, False)
  failures.say_once(
      logging.info,
      (spec.name, str(bounds)),
      '%r has infinite bounds: its range is %s to %s, for random steps and'
      ' policies alike. Give the space bounds for another one.',
      spec.name,
      *bounds,
  )
  return array_spec.BoundedArraySpec(spec.shape, spec.dtype, *bounds, spec.name)


def check_finite_batch(array: np.ndarray, name: str) -> None:
  """Raises ValueError if the batch [B, ...] holds a NaN or an infinity."""
  # The sum of squares is finite unless a number is not finite or huge: much
  # cheaper than checking each number.
  if math.isfinite(np.vdot(array, array)):
    return
  finite = np.isfinite(array)
  if finite.all():
    return
  index = tuple(int(i) for i in np.argwhere(~finite)[0])
  error: Any = ValueError(
      f'Environment {index[0]}: {name!r} is {array[index]}'
      + (f' at index {index[1:]}' if len(index) > 1 else '')
      + '. An environment and a policy must give finite numbers; fix the one'
      ' this comes from, or replace the value in a wrapper.'
  )
  error.environment_index = index[0]
  raise error


def _range_check(
    spec: array_spec.BoundedArraySpec
) -> Callable[[np.ndarray], None] | None:
  """Returns a function that checks the range of a batch; None if all fit.

  Networks rely on the bounds of integers: any that is outside raises. Nothing
  relies on those of floating numbers, and Gymnasium's own LunarLander leaves
  its space by several times its width. So a warning, once, says where one is
  outside; only numbers that are a hundred times the width away raise, such as
  bytes in a Box from 0 to 1.
  """
  low, high = (
      np.broadcast_to(bound, spec.shape)
      for bound in (spec.minimum, spec.maximum)
  )
  least, most, far = low, high, np.zeros([], spec.dtype)
  is_whole_type = False
  if spec.dtype.kind == 'f':
    low, high = low.astype(np.float64), high.astype(np.float64)
    # Some write "unbounded" as the largest number.
    is_bounded = (np.abs(low) < 1e30) & (np.abs(high) < 1e30)
    if not is_bounded.any():
      return None
    width = np.where(is_bounded, high - low, np.inf)
    # Room for rounding.
    room = 1e-5 * np.maximum(width, np.maximum(np.abs(low), np.abs(high)))
    least = np.where(is_bounded, low - room, -np.inf).astype(np.float32)
    most = np.where(is_bounded, high + room, np.inf).astype(np.float32)
    far = np.where(width > 0, 100 * width, np.inf)
  else:
    limits = np.iinfo(spec.dtype)
    is_whole_type = bool(
        np.all(low <= limits.min) and np.all(high >= limits.max)
    )
  key = (spec.name, str(low), str(high))

  def check(array: np.ndarray) -> None:
    if is_whole_type and array.dtype == spec.dtype:
      return
    outside = (array < least) | (array > most)
    if not np.count_nonzero(outside):  # Faster than any().
      return
    is_far = (array < low - far) | (array > high + far)
    raises = is_far.any()
    place = np.argwhere(is_far if raises else outside)[0].tolist()
    entry = tuple(place[1:])
    message = (
        f'{spec.name!r} is {array[tuple(place)]!s}'
        + (f' at index {place[1:]}' if entry else '')
        + f', and must be from {spec.dtype.type(low[entry])!s} to'
        f' {spec.dtype.type(high[entry])!s}: correct its space, or what gave'
        ' it.'
    )
    if raises:
      error: Any = errors.InvalidValue(f'Environment {place[0]}: {message}')
      error.environment_index = place[0]
      raise error
    failures.say_once(logging.warning, key, message)

  return check


def _parts(space: spaces.Space) -> Iterable[tuple[Any, spaces.Space]]:
  """Returns pairs of the key or index and the space of each part."""
  if isinstance(space, spaces.Dict):
    return space.spaces.items()
  return enumerate(space.spaces)


def _joined(
    space: spaces.Space,
    parts: dict[Any, tuple[types.NestedArraySpec, Converter]],
    name: str,
    is_action: bool = False,
) -> tuple[types.NestedArraySpec, Converter]:
  """Returns one (spec, function) from those of the parts, by key."""
  if not parts:
    raise failures.EnvironmentSetupError(
        f'{name!r} has no part that is an array: {space}.'
    )
  specs = {_spec_key(key): spec for key, (spec, _) in parts.items()}
  converters = {key: convert for key, (_, convert) in parts.items()}
  # SavedModels tell names apart by these characters.
  names = [
      _NOT_IN_NAMES.sub('_', spec.name).lower()
      for spec in tf.nest.flatten([spec for spec, _ in parts.values()])
  ]
  if len(set(names)) < len(names):
    raise failures.EnvironmentSetupError(
        f'Two keys of {name!r} have one name in a SavedModel, where letters'
        ' have one case and other characters are underscores:'
        f' {list(parts)}. Rename one in a wrapper.'
    )
  if isinstance(space, spaces.Dict):
    for key in parts:
      if _spec_key(key) != key:
        logging.info(
            'Key %r of %s is %r in specs and saved policies.',
            key,
            name,
            _spec_key(key),
        )
    # (key of what is given, key of what is returned, function)
    pairs = [
        (_spec_key(key), key, convert) if is_action
        else (key, _spec_key(key), convert)
        for key, convert in converters.items()
    ]
    return specs, lambda batch: {
        new: convert(batch[old]) for old, new, convert in pairs
    }

  def convert_tuple(batch: Any) -> tuple[types.NestedArray, ...]:
    if len(batch) != len(space.spaces):
      raise errors.InvalidValue(f'{len(batch)} parts of {space} are given.')
    return tuple(convert(batch[i]) for i, convert in converters.items())

  return tuple(specs.values()), convert_tuple


def _spec_key(key: Any) -> str:
  """Returns the key of a part in specs: one that SavedModels can have."""
  return _NOT_IN_KEYS.sub('_', str(key)) or '_'


def renamed_keys(space: spaces.Space, name: str) -> dict[str, Any]:
  """Returns {name in the specs: key of the space} of keys that differ."""
  if not isinstance(space, (spaces.Dict, spaces.Tuple)):
    return {}
  if isinstance(space, SpaceWithMask):
    return renamed_keys(space['observation'], name)
  renamed = {}
  for key, part in _parts(space):
    path = f'{name}/{_spec_key(key)}'
    if isinstance(space, spaces.Dict) and _spec_key(key) != key:
      renamed[path] = key
    renamed |= renamed_keys(part, path)
  return renamed


def has_cut_integers(space: spaces.Space, observation: Any) -> bool | None:
  """Returns whether the dtype of a space would cut integers of an observation.

  NumPy does so without a word where environments are joined to a batch.

  Args:
    space: The observation space of one environment.
    observation: An observation.

  Returns:
    Whether an integer is lost; None if all types are those of the space.
  """
  if isinstance(space, (spaces.Dict, spaces.Tuple)):
    found = [
        has_cut_integers(part, observation[key]) for key, part in _parts(space)
    ]
    known = [each for each in found if each is not None]
    return any(known) if known else None
  array = np.asarray(observation)
  if array.dtype == space.dtype or array.dtype.kind not in 'iu':
    return None
  if space.dtype is None or space.dtype.kind not in 'iu' or not array.size:
    return None
  limits = np.iinfo(space.dtype)
  return bool(array.min() < limits.min or array.max() > limits.max)


def is_text(space: spaces.Space) -> bool:
  """Returns whether a space holds text."""
  # The space of MiniGrid's missions is not spaces.Text, but has its dtype.
  return isinstance(space, spaces.Text) or (
      space.dtype is not None and np.dtype(space.dtype).kind == 'U'
  )


def check_space(space: Any, name: str) -> None:
  """Raises EnvironmentSetupError unless it is a space with right bounds."""
  if not isinstance(space, spaces.Space):
    raise failures.EnvironmentSetupError(
        f'{name!r} is not a gymnasium Space but {type(space).__module__}.'
        f'{type(space).__name__}: use those of gymnasium.spaces.'
    )
  if isinstance(space, (spaces.Dict, spaces.Tuple)):
    for key, part in _parts(space):
      check_space(part, f'{name}/{_spec_key(key)}')
  if isinstance(space, spaces.Box) and not np.all(space.low <= space.high):
    raise failures.EnvironmentSetupError(
        f'{name!r} has bounds that are NaN or crossed: from {space.low} to'
        f' {space.high}.'
    )


def _array_spec(
    space: spaces.Space, name: str, round_inward: bool = False
) -> array_spec.BoundedArraySpec:
  """Returns the BoundedArraySpec of a space that holds one array."""
  if isinstance(space, spaces.Box):
    minimum, maximum = space.low, space.high
  elif isinstance(space, spaces.Discrete):
    minimum, maximum = space.start, space.start + space.n - 1
  elif isinstance(space, spaces.MultiDiscrete):
    minimum, maximum = space.start, space.start + space.nvec - 1
  elif isinstance(space, spaces.MultiBinary):
    minimum, maximum = 0, 1
  else:
    raise failures.EnvironmentSetupError(
        f'{name!r} is a {type(space).__name__} space, which is not an array of '
        'fixed shape. Supported are Box, Discrete, MultiDiscrete, MultiBinary, '
        'and Dict and Tuple of these; add a wrapper that converts it.'
    )
  if 0 in space.shape:
    raise failures.EnvironmentSetupError(
        f'{name!r} has shape {space.shape}, which holds no number.'
    )
  check_space(space, name)
  dtype = _SPEC_DTYPES.get(np.dtype(space.dtype).name)
  if dtype is None:
    raise failures.EnvironmentSetupError(
        f'{name!r} has dtype {space.dtype}, which is unsupported.'
    )
  if round_inward and dtype == np.uint8:  # TensorFlow Probability lacks it.
    dtype = np.int32
  if isinstance(space, Words):
    name = words.spec_name(name)
  minimum, maximum = _cast_bounds(minimum, maximum, dtype, round_inward)
  return array_spec.BoundedArraySpec(
      space.shape, dtype, minimum=minimum, maximum=maximum, name=name
  )


def _cast_bounds(
    minimum: Any, maximum: Any, dtype: Any, round_inward: bool
) -> tuple[np.ndarray, np.ndarray]:
  """Casts bounds, and makes uniform ones scalar so that specs print briefly.

  With `round_inward` the new bounds lie inside the old ones: the environment
  may check the actions that it gets.
  """
  with np.errstate(over='ignore'):  # The float64 maximum becomes infinity.
    low, high = np.asarray(minimum, dtype), np.asarray(maximum, dtype)
  if round_inward and np.issubdtype(dtype, np.floating):
    low = np.where(low < minimum, np.nextafter(low, dtype(np.inf)), low)
    high = np.where(high > maximum, np.nextafter(high, dtype(-np.inf)), high)
  if low.size and (low == low.flat[0]).all() and (high == high.flat[0]).all():
    low, high = low.flat[0], high.flat[0]
  return low, high
