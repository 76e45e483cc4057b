# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes and restores snapshots of single environments within an episode.

A snapshot restores in a fraction of the time that replaying an episode from its
seed and actions takes (`episode_replay`), which works for more environments.

The innermost environment may have `clone_state()`, which returns its whole
state, picklable, and `restore_state(state)`, as ALE's games have. Otherwise its
attributes are pickled, as are those of every wrapper. Some environments keep
state elsewhere (in a simulator in another process, in the random numbers of a
module): `returning` compares a snapshot with a replay before it relies on it.
"""

from collections.abc import Iterator, Sequence
import io
import pickle
import types
from typing import Any, BinaryIO

import gymnasium
from gymnasium.envs import registration
import numpy as np

# Never part of a snapshot: they stay the same, and many cannot be pickled.
_CONSTANT = (
    gymnasium.Space,
    registration.EnvSpec,
    types.FunctionType,
    types.ModuleType,
)


class _StickyALE:
  """An ALE whose copies of its state include the action that it repeats.

  With sticky actions, a frame repeats the action of the frame before with
  `repeat_action_probability` (Machado et al., 2018, arXiv 1709.06009). ALE
  keeps that action outside its state and does not tell it. It follows from
  ALE's generator, a Mersenne twister: a frame draws a number for each of two
  players. The action is set by frames that are played before ALE's own state
  is restored.
  """

  def __init__(self, ale: Any):
    """Creates the object; `loadROM` must be called before anything else.

    Args:
      ale: An `ale_py.ALEInterface`.
    """
    self._ale = ale
    self._probability = ale.getFloat('repeat_action_probability')
    self.has_begun = False

  def __getattr__(self, name: str) -> Any:
    return getattr(self._ale, name)

  def loadROM(self, path: Any) -> None:  # pylint: disable=invalid-name
    """Loads a game, which seeds ALE's generator."""
    self._ale.loadROM(path)
    self._begin(self._ale.getInt('random_seed'), 0)
    self.has_begun = True
    self._action = (self._ale.getLegalActionSet()[0], 1.0)

  def act(self, *action: Any) -> int:
    """Plays a frame; returns its reward."""
    draw, _ = self._draw(1)
    self._num_frames += 1
    if draw / 2**32 >= self._probability:
      self._action = action
    return self._ale.act(*action)

  def cloneState(self, **options: Any) -> Any:  # pylint: disable=invalid-name
    """Returns a copy of the state."""
    state = self._ale.cloneState(**options)
    return state, self._action, self._seed, self._num_frames

  def restoreState(self, copy: Any) -> None:  # pylint: disable=invalid-name
    """Restores a copy of the state."""
    state, action, seed, num_frames = copy
    while self._action != action:
      self.act(*action)
    self._ale.restoreState(state)
    self._begin(seed, num_frames)

  def _begin(self, seed: int, num_frames: int) -> None:
    """Lets the draws continue as ALE's do after so many frames."""
    self._seed, self._num_frames = seed, num_frames
    rng = np.random.RandomState(seed % 2**32)
    self._draw = lambda n: rng.randint(2**32, size=2 * n, dtype=np.uint32)
    self._draw(num_frames)


class Snapshots:
  """Takes snapshots of environments of one kind, and restores them in any."""

  def __init__(self, envs: Sequence[gymnasium.Env]):
    """Creates the object.

    Args:
      envs: Single environments, all wrapped alike.
    """
    # [environment][layer], the outermost first.
    self._layers = [list(_layers(env)) for env in envs]
    for layers in self._layers:
      if hasattr(layers[-1], 'ale') and not isinstance(
          layers[-1].ale, _StickyALE
      ):
        layers[-1].ale = _StickyALE(layers[-1].ale)
    self._constants: list[Any] = []
    self._indices: dict[int, int] = {}  # Of the constants, by id.
    self._is_constant: dict[type, bool] = {}

  def take(self, index: int, more: Any = None) -> bytes:
    """Returns a snapshot of environment `index`, with `more` beside it.

    Raises:
      Exception: whatever the environment's attributes raise when pickled.
    """
    layers = self._layers[index]
    state, base = [], layers[-1]
    if _clones(base):
      layers = layers[:-1]
      # ALE leaves out its random numbers, those of sticky actions, unless told.
      options = {'include_rng': True} if hasattr(base, 'ale') else {}
      state.append(base.clone_state(**options))
    for layer in layers:
      state.append({
          name: value
          for name, value in vars(layer).items()
          if not self._stays(value)
      })
    file = io.BytesIO()
    _Pickler(file, self, self._layers[index]).dump((state, more))
    return file.getvalue()

  def restore(self, index: int, snapshot: bytes) -> Any:
    """Restores a snapshot in environment `index`; returns its `more`."""
    layers = self._layers[index]
    _found.update(constant=self._constants, layer=layers)
    state, more = pickle.loads(snapshot)
    _found.clear()
    if _clones(layers[-1]):
      layers, base = layers[:-1], layers[-1]
      if hasattr(base, 'ale') and not base.ale.has_begun:
        base.reset(seed=0)  # Loads the game.
      base.restore_state(state.pop(0))
    for layer, attributes in zip(layers, state, strict=True):
      own = vars(layer)
      for name in [n for n, value in own.items() if not self._stays(value)]:
        del own[name]
      own.update(attributes)
    return more

  def _stays(self, value: Any) -> bool:
    """Returns whether a value is left out of snapshots."""
    kind = type(value)
    found = self._is_constant.get(kind)
    if found is None:
      found = issubclass(kind, (*_CONSTANT, gymnasium.Env))
      self._is_constant[kind] = found
    return found

  def name_of(
      self, value: Any, layers: Sequence[gymnasium.Env]
  ) -> tuple[str, int] | None:
    """Returns the name of a layer or a constant; None for other values."""
    if not self._stays(value) or value is _named:
      return None
    for depth, layer in enumerate(layers):
      if layer is value:
        return 'layer', depth
    if isinstance(value, gymnasium.Env):
      return None  # Of an environment inside of an environment.
    index = self._indices.get(id(value))
    if index is None:
      index = self._indices[id(value)] = len(self._constants)
      self._constants.append(value)  # Keeps it alive, and its id its own.
    return 'constant', index


class _Pickler(pickle.Pickler):
  """Pickles names for the layers and the constants."""

  def __init__(
      self,
      file: BinaryIO,
      snapshots: Snapshots,
      layers: Sequence[gymnasium.Env],
  ):
    super().__init__(file, pickle.HIGHEST_PROTOCOL)
    self._snapshots = snapshots
    self._layers = layers

  # Unlike persistent_id, not called for each number and each text.
  def reducer_override(self, obj: Any) -> Any:
    name = self._snapshots.name_of(obj, self._layers)
    return NotImplemented if name is None else (_named, name)


# Layers and constants, while a snapshot is being restored.
_found: dict[str, Sequence[Any]] = {}


def _named(kind: str, index: int) -> Any:
  """Returns the layer or the constant of a name."""
  return _found[kind][index]


def _layers(env: gymnasium.Env) -> Iterator[gymnasium.Env]:
  """Yields the wrappers of an environment, then the innermost one."""
  while isinstance(env, gymnasium.Wrapper):
    yield env
    env = env.env
  yield env


def _clones(base: gymnasium.Env) -> bool:
  return hasattr(base, 'clone_state') and hasattr(base, 'restore_state')
