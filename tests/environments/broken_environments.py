# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sound environment, and others that break one rule each."""

import gymnasium
from gymnasium import spaces
import numpy as np

LIMIT = 20  # Steps.


class Sound(gymnasium.Env):
  """A walk on a line from a random start. Ends outside of [-1, 1]."""

  observation_space = spaces.Box(-2.0, 2.0, (3,), np.float32)
  action_space = spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.place = self.np_random.uniform(-0.5, 0.5)
    self.steps = 0
    return self.observation(), {}

  def step(self, action):
    self.steps += 1
    self.place += 0.2 * (2 * int(action) - 1) + self.np_random.normal(0, 0.05)
    terminated = bool(abs(self.place) > 1)
    truncated = self.steps >= LIMIT and not terminated
    return self.observation(), self.reward(), terminated, truncated, {}

  def observation(self):
    return np.array(
        [self.place, self.steps / LIMIT, abs(self.place)], np.float32
    )

  def reward(self):
    return float(self.place)


def _variant(observation=None, reward=None, step=None, **attributes):
  """Returns a class as Sound whose values go through a function first.

  Args:
    observation: of the environment and its sound observation.
    reward: of the environment.
    step: of the five values of a step.
    **attributes: of the class, such as its spaces.
  """
  attributes['__module__'] = __name__
  if observation:
    attributes['observation'] = lambda self: observation(
        self, Sound.observation(self)
    )
  if reward:
    attributes['reward'] = reward
  if step:
    attributes['step'] = lambda self, action: step(*Sound.step(self, action))
  return type('Variant', (Sound,), attributes)


# ----------------------------------------------------------------- the adapter
class NeedsAnArgument(Sound):

  def __init__(self, size):
    self.size = size


class NotAnEnvironment:
  """Has the methods, and is none."""

  observation_space = Sound.observation_space
  action_space = Sound.action_space
  reset = Sound.reset
  step = Sound.step


_ONLY = Sound()


def same_instance():
  return _ONLY


class SpacesOfChance(Sound):
  """Each instance has other bounds."""

  _instances = 0

  def __init__(self):
    SpacesOfChance._instances += 1
    self.observation_space = spaces.Box(
        -2.0 - SpacesOfChance._instances, 2.0, (3,), np.float32
    )


TextOnly = _variant(lambda *_: 'abc', observation_space=spaces.Text(8))
NoObservationSpace = _variant(observation_space=None)
Float32Overflow = _variant(
    lambda env, sound: sound * np.float64(1e39),
    observation_space=spaces.Box(-np.inf, np.inf, (3,), np.float64),
)


class TooManyActions(Sound):
  action_space = spaces.Discrete(2**20)

  def step(self, action):
    return super().step(action % 2)


class SequenceAction(Sound):
  action_space = spaces.Sequence(spaces.Discrete(2))

  def step(self, action):
    return super().step(len(action) % 2)


# ------------------------------------------------- spaces and values of steps
FourValues = _variant(
    step=lambda observation, reward, terminated, truncated, info: (
        observation, reward, terminated or truncated, info
    )
)
MissingKey = _variant(
    lambda env, sound: {'place': sound},
    observation_space=spaces.Dict(
        place=Sound.observation_space, door=spaces.Discrete(2)
    ),
)
Float64 = _variant(lambda env, sound: sound.astype(np.float64))
# Late, since the first steps do not show it.
LateOutOfBounds = _variant(
    lambda env, sound: np.where(env.steps >= 15, np.float32(5), sound),
    place=property(
        lambda env: env.np_random.uniform(-0.5, 0.5), lambda env, place: None
    ),
)
OffersAMask = type('OffersAMask', (Sound,), {
    '__module__': __name__,
    'reset': lambda self, **kwargs: (
        Sound.reset(self, **kwargs)[0], {'legal_actions': [True, False]}
    ),
})
Black = _variant(lambda env, sound: np.zeros_like(sound))
FarAway = _variant(
    lambda env, sound: sound + 1000,
    observation_space=spaces.Box(-2000.0, 2000.0, (3,), np.float32),
)
NaNObservation = _variant(
    lambda env, sound: np.where(env.steps == 3, np.float32(np.nan), sound)
)
ArrayReward = _variant(reward=lambda env: np.array([env.place]))
InfiniteReward = _variant(reward=lambda env: np.inf if env.steps == 2 else 1.0)
NoneTruncated = _variant(
    step=lambda observation, reward, terminated, truncated, info: (
        observation, reward, terminated or truncated, None, info
    )
)
InfoIsNone = _variant(step=lambda *values: (*values[:4], None))


class NoSeedArgument(Sound):

  def reset(self):
    return super().reset()


class OldGym(Sound):
  """Gym before 0.26."""

  def reset(self):
    return super().reset()[0]

  def step(self, action):
    observation, reward, terminated, truncated, info = super().step(action)
    return observation, reward, terminated or truncated, info


class ObservationAlone(Sound):

  def reset(self, **kwargs):
    return super().reset(**kwargs)[0]


class RefusesAnAction(Sound):

  def step(self, action):
    return super().step({0: 0}[int(action)])


class ChangesTheAction(Sound):
  action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

  def step(self, action):
    action *= 0.5
    return super().step(action[0] > 0)


class ClosesOnce(Sound):

  def __init__(self):
    self.window = 'open'

  def close(self):
    del self.window


class ClosesNever(Sound):

  def close(self):
    raise OSError('no window')


# ---------------------------------------------------------------- observations
class ReusedBuffer(Sound):

  def observation(self):
    if not hasattr(self, 'buffer'):
      self.buffer = np.zeros(3, np.float32)
    self.buffer[:] = super().observation()
    return self.buffer


class BuffersInTurn(Sound):
  """Writes into three arrays in turns."""

  def __init__(self):
    self.buffers = np.zeros([3, 3], np.float32)

  def observation(self):
    buffer = self.buffers[self.steps % 3]
    buffer[:] = super().observation()
    return buffer


class NestedView(Sound):
  """A view of the state in a dict: neither the dict nor the view is reused."""

  observation_space = spaces.Dict(state=Sound.observation_space)

  def observation(self):
    if not hasattr(self, 'state'):
      self.state = np.zeros(6, np.float32)
    self.state[:3] = super().observation()
    return {'state': self.state[:3]}


# ---------------------------------------------------------------------- ends
class Endless(Sound):

  def step(self, action):
    self.steps = (self.steps + 1) % LIMIT
    self.place = 0.9 * self.place
    return self.observation(), 0.0, False, False, {}


class TextWithTheTask(Sound):
  observation_space = spaces.Dict(
      place=Sound.observation_space, task=spaces.Text(9)
  )

  def observation(self):
    task = 'right' if self.np_random.random() < 0.5 else 'left'
    return dict(place=super().observation(), task=task)


class LimitAsDeath(Sound):

  def step(self, action):
    self.steps += 1
    self.place = 0.9 * self.place
    return self.observation(), 0.0, self.steps == LIMIT, False, {}


class LimitAsBoth(Sound):
  """Sets both flags at its limit, as ViZDoom does."""

  def step(self, action):
    observation, reward, _, _, info = super().step(action)
    self.place = np.clip(self.place, -1, 1)
    at_limit = self.steps >= LIMIT
    return observation, reward, at_limit, at_limit, info


# --------------------------------------------------------------------- seeds
class IgnoresTheSeed(Sound):

  def reset(self, *, seed=None, options=None):
    return super().reset()


class KeepsOldSteps(Sound):
  """Forgets at reset to set the number of steps to 0."""

  total = 0

  def step(self, action):
    self.total += 1
    observation, reward, terminated, _, info = super().step(action)
    return observation, reward, terminated, self.total % LIMIT == 0, info


class ClearsAtTheEnd(Sound):
  """Clears in its last step, so that an episode cut short leaves its steps."""

  total = 0

  def step(self, action):
    self.total += 1
    observation, reward, terminated, _, info = super().step(action)
    truncated = self.total >= LIMIT
    if terminated or truncated:
      self.total = 0
    return observation, reward, terminated, truncated, info


class OldContacts(Sound):
  """What an episode leaves shows in the next one without a seed only."""

  left = 0.0

  def reset(self, *, seed=None, options=None):
    old = self.left if seed is None else 0.0
    super().reset(seed=seed)
    self.place += 0.3 * np.sin(old)
    return self.observation(), {}

  def step(self, action):
    self.left += self.place
    return super().step(action)


class NewGeneratorAtEachReset(Sound):

  def reset(self, *, seed=None, options=None):
    self.np_random = np.random.default_rng(seed)
    return super().reset()


class SeedsNumPy(Sound):
  """Repeats alone, and disturbs whoever is stepped in turns with it."""

  def reset(self, *, seed=None, options=None):
    if seed is not None:
      np.random.seed(seed)
    return super().reset(seed=seed)

  def reward(self):
    return float(np.random.rand())


class ClassState(Sound):
  """Its place is an attribute of the class."""

  shared = [0.0]

  @property
  def place(self):
    return self.shared[0]

  @place.setter
  def place(self, value):
    self.shared[0] = value


class OwnGenerator(Sound):
  """Repeats, but leaves `env.np_random`, which wrappers use, unseeded."""

  def reset(self, *, seed=None, options=None):
    if seed is not None or not hasattr(self, 'own'):
      self.own = np.random.default_rng(seed)
    self.place = self.own.uniform(-0.5, 0.5)
    self.steps = 0
    return self.observation(), {}

  def step(self, action):
    self.steps += 1
    self.place += 0.2 * (2 * int(action) - 1)
    ended = bool(abs(self.place) > 1)
    return self.observation(), self.reward(), ended, self.steps >= LIMIT, {}
