# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads Atari games of the Arcade Learning Environment, preprocessed.

Single games use Gymnasium's own wrappers, stepped one after the other or in a
process each; `vectorization='vector_entry_point'` uses ALE's `AtariVectorEnv`,
which is much faster. Both return the same frames, rewards and ends.

The settings are those of Burda et al., 2018 (arXiv 1810.12894), which differ
from the defaults of AtariVectorEnv: sticky actions, a limit of 18,000 frames,
no no-ops, no FIRE after a reset, episodes over all lives, raw rewards.
"""

from collections.abc import Callable
import functools
import math
from typing import Any, NamedTuple

import gin
import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np

from rnd_agents import ranges
from rnd_agents.environments import envpool_family
from rnd_agents.environments import failures
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorization
from rnd_agents.environments import wrappers


class _Settings(NamedTuple):
  """The arguments of `load_atari` that both pipelines take."""

  repeat_action_probability: float
  frame_skip: int
  screen_size: int
  stack_size: int
  max_num_frames_per_episode: int
  terminal_on_life_loss: bool
  noop_max: int
  full_action_space: bool


# Arguments of `load_atari` that gin and `load_environment.env_kwargs` may set.
SETTINGS = (*_Settings._fields, 'render_mode')
# With other numbers ALE hangs or does not play.
_RANGES = dict(
    repeat_action_probability=ranges.WITHIN_0_AND_1,
    frame_skip=ranges.COUNT,
    screen_size=ranges.COUNT,
    stack_size=ranges.COUNT,
    max_num_frames_per_episode=ranges.COUNT,
    noop_max=ranges.COUNT_OR_0,
)


@gin.configurable(module='rnd_agents', allowlist=SETTINGS)
def load_atari(
    game: str,
    num_environments: int = 1,
    *,
    max_episode_steps: int | None = None,
    repeat_action_probability: float = 0.25,
    frame_skip: int = 4,
    screen_size: int = 84,
    stack_size: int = 4,
    max_num_frames_per_episode: int = 18_000,
    terminal_on_life_loss: bool = False,
    noop_max: int = 0,
    full_action_space: bool = False,
    render_mode: str | None = None,
    **batch_arguments: Any,
) -> vector_environment.VectorPyEnvironment:
  """Makes copies of an Atari game, stepped as one batch.

  Observations are uint8 [size, size, stack]: grey frames, the newest last,
  zeros before the first. Each frame is the maximum of the last two skipped
  frames.
  Rewards are those of the game. To train on their sign, bind `reward_fn` in the
  scope `train/` only, so that evaluations and returns of episodes stay raw.

  Args:
    game: Name such as 'MontezumaRevenge', or id 'ALE/MontezumaRevenge-v5'.
    num_environments: Number of copies.
    max_episode_steps: Limit in steps; replaces `max_num_frames_per_episode`.
    repeat_action_probability: Probability that a frame repeats the action of
      the previous one ("sticky actions").
    frame_skip: Frames for each step.
    screen_size: Height and width in pixels.
    stack_size: Frames in each observation.
    max_num_frames_per_episode: Frames after which an episode is truncated.
    terminal_on_life_loss: Whether the loss of a life ends an episode; the next
      one is a new game.
    noop_max: Largest number of no-ops at the begin of an episode; they count as
      frames.
    full_action_space: Whether to offer all 18 actions, also those that do
      nothing in the game.
    render_mode: 'rgb_array' for videos.
    **batch_arguments: `seed`, `seeding`, `vectorization`, `wrappers`,
      `reward_fn`, `success_key`, `lives_key`, `life_discount`, `info_keys`,
      `step_timeout_s`, as in `load_environment`.
      'vector_entry_point' is ALE's vector environment, which takes neither
      `wrappers` nor `seeding` nor `render_mode`, does not show its RAM and
      cannot save its episodes. Nor does 'envpool', which knows the rooms of
      Montezuma's Revenge and begins with one no-op at least.

  Returns:
    A batched PyEnvironment.

  Raises:
    EnvironmentSetupError: If the game is unknown.
    InvalidType: If an argument has a wrong type.
    InvalidValue: If a number is out of range.
    MissingPackageError: If `pip install "rnd_agents[atari]"` is needed.
  """
  ranges.check(
      dict(max_episode_steps=ranges.COUNT.or_none(), **_RANGES),
      locals(),
      'load_atari.',
  )
  ranges.check_flags(
      'load_atari.',
      terminal_on_life_loss=terminal_on_life_loss,
      full_action_space=full_action_space,
  )
  if max_episode_steps is not None:
    max_num_frames_per_episode = max_episode_steps * frame_skip
  settings = _Settings(
      repeat_action_probability,
      frame_skip,
      screen_size,
      stack_size,
      max_num_frames_per_episode,
      terminal_on_life_loss,
      noop_max,
      full_action_space,
  )
  env_id = _env_id(game)
  return vectorization.make_batch(
      functools.partial(_make_single, env_id, settings, render_mode),
      vectorization.default_name(env_id),
      functools.partial(
          _make_pool
          if batch_arguments.get('vectorization') == 'envpool'
          else _make_vector,
          env_id,
          settings,
          render_mode,
      ),
      num_environments=num_environments,
      **batch_arguments,
  )


def _make_single(
    env_id: str, settings: _Settings, render_mode: str | None
) -> gymnasium.Env:
  """Returns one game with its wrappers."""
  env = gymnasium.make(
      env_id,
      disable_env_checker=True,
      # The preprocessing asks ALE for the screen itself; grey is the cheapest
      # observation that it accepts.
      obs_type='grayscale',
      frameskip=1,  # The default, 4, would multiply.
      repeat_action_probability=settings.repeat_action_probability,
      max_num_frames_per_episode=settings.max_num_frames_per_episode,
      full_action_space=settings.full_action_space,
      render_mode=render_mode,
  )
  try:
    env = gymnasium.wrappers.AtariPreprocessing(
        env,
        noop_max=settings.noop_max,
        frame_skip=settings.frame_skip,
        screen_size=settings.screen_size,
        terminal_on_life_loss=settings.terminal_on_life_loss,
        grayscale_obs=True,
        scale_obs=False,
    )
  except gymnasium.error.DependencyNotInstalled as error:  # OpenCV.
    raise failures.MissingPackageError(
        f'{error}. Here: pip install "rnd_agents[atari]".'
    ) from error
  # AtariVectorEnv pads with zeros too; Gymnasium would repeat the first frame.
  env = gymnasium.wrappers.FrameStackObservation(
      env, settings.stack_size, padding_type='zero'
  )
  return _ChannelsLastEnv(
      env,
      _channels_last,
      _channels_last_space(settings.screen_size, settings.stack_size),
  )


def _let_go(env: gymnasium.Env | vector.VectorEnv) -> None:
  """Drops the ALE of a closed environment.

  ALE has no close. Its threads end with its object, which nanobind reports as
  leaked, in 70 lines, if it outlives the process's other objects.
  """
  env.unwrapped.__dict__.pop('ale', None)


class _ChannelsLastEnv(gymnasium.wrappers.TransformObservation):
  """A game with the channels last."""

  def close(self) -> None:
    super().close()
    _let_go(self)


class _ChannelsLastVectorEnv(gymnasium.wrappers.vector.TransformObservation):
  """ALE's vector environment with the channels last."""

  def close(self, **kwargs: Any) -> None:
    super().close(**kwargs)
    _let_go(self)


def _make_vector(
    env_id: str,
    settings: _Settings,
    render_mode: str | None,
    num_environments: int,
) -> vector.VectorEnv:
  """Returns ALE's vector environment of a game."""
  if render_mode is not None:
    raise failures.EnvironmentSetupError(
        "ALE's vector environment does not render; use 'sync'."
    )
  env = gymnasium.make_vec(
      env_id,
      num_envs=num_environments,
      vectorization_mode='vector_entry_point',
      repeat_action_probability=settings.repeat_action_probability,
      frameskip=settings.frame_skip,
      img_height=settings.screen_size,
      img_width=settings.screen_size,
      stack_num=settings.stack_size,
      max_num_frames_per_episode=settings.max_num_frames_per_episode,
      episodic_life=settings.terminal_on_life_loss,
      noop_max=settings.noop_max,
      full_action_space=settings.full_action_space,
      grayscale=True,
      maxpool=True,
      reward_clipping=False,
      use_fire_reset=False,
  )
  return _ChannelsLastVectorEnv(
      env,
      _stacks_last,
      single_observation_space=_channels_last_space(
          settings.screen_size, settings.stack_size
      ),
  )


def _make_pool(
    env_id: str,
    settings: _Settings,
    render_mode: str | None,
    num_environments: int,
) -> envpool_family.PoolVectorEnv:
  """Returns a game of envpool that plays as `_make_single`'s."""
  if render_mode is not None or settings.terminal_on_life_loss:
    raise failures.EnvironmentSetupError(
        "vectorization='envpool' neither renders nor begins a new game where"
        " a life is lost (terminal_on_life_loss); use 'sync'."
    )
  size, stack_size = settings.screen_size, settings.stack_size
  frames = settings.max_num_frames_per_episode - min(settings.noop_max, 1)
  limit = math.ceil(frames / settings.frame_skip)

  def observe(frames: np.ndarray, steps: np.ndarray) -> np.ndarray:
    stacks = _stacks_last(frames)
    for i in np.flatnonzero(steps < stack_size - 1):
      # Copies of the first frame.
      stacks[i, ..., : stack_size - 1 - steps[i]] = 0
    return stacks

  return envpool_family.PoolVectorEnv(
      env_id.removeprefix('ALE/'),
      num_environments,
      dict(
          repeat_action_probability=settings.repeat_action_probability,
          frame_skip=settings.frame_skip,
          img_height=size,
          img_width=size,
          stack_num=stack_size,
          max_episode_steps=limit + 1,
          noop_max=max(settings.noop_max, 1),  # 0 is undefined.
          full_action_space=settings.full_action_space,
          episodic_life=False,
          gray_scale=True,
          reward_clip=False,
          use_fire_reset=False,
          use_inter_area_resize=True,
      ),
      limit,
      observation_space=_channels_last_space(size, stack_size),
      observe=observe,
      tell=_rooms(num_environments) if 'Montezuma' in env_id else None,
  )


def _rooms(
    num_environments: int
) -> Callable[[dict[str, Any], np.ndarray], None]:
  """Returns a function that does what `wrappers.RoomsVisited` does."""
  visited = np.zeros([num_environments, 256], np.bool_)

  def tell(infos: dict[str, Any], steps: np.ndarray) -> None:
    rooms = infos['ram'][:, wrappers.RoomsVisited.ROOM_ADDRESS]
    visited[steps == 0] = False
    visited[np.arange(num_environments), rooms] = True
    infos['room'] = rooms.astype(np.int64)
    infos['rooms_visited'] = visited.sum(axis=-1)

  return tell


def _stacks_last(observations: np.ndarray) -> np.ndarray:
  """Moves the axis of the stacks [B, stack, h, w] last, for TensorFlow."""
  # Five times as fast as copying np.moveaxis(observations, 1, -1).
  return np.stack(list(observations.swapaxes(0, 1)), axis=-1)


def _channels_last(observation: np.ndarray) -> np.ndarray:
  return np.moveaxis(observation, 0, -1)


def _channels_last_space(screen_size: int, stack_size: int) -> spaces.Box:
  return spaces.Box(0, 255, (screen_size, screen_size, stack_size), np.uint8)


def check_preprocessed(env: gymnasium.Env) -> None:
  """Raises EnvironmentSetupError for a game whose frames are not preprocessed.

  Its memory, 128 bytes, passes.

  Args:
    env: Any environment.
  """
  game = env.unwrapped
  if (
      not any(
          parent.__module__.partition('.')[0] == 'ale_py'
          and parent.__name__ == 'AtariEnv'
          for parent in type(game).__mro__
      )
      or env.observation_space != game.observation_space
      or len(game.observation_space.shape) < 2
  ):
    return
  name, right = 'This Atari game', 'ALE/MontezumaRevenge-v5'
  if game.spec is not None:
    name = game.spec.id
    words = game.spec.kwargs.get('game', 'montezuma_revenge').split('_')
    right = f'ALE/{"".join(map(str.capitalize, words))}-v5'
  raise failures.EnvironmentSetupError(
      f'{name} gives raw frames: only ids of v5 are preprocessed, here'
      f' load_environment.env = {right!r} (v4 had no sticky actions, which is'
      ' load_atari.repeat_action_probability = 0). For raw frames, or wrappers'
      ' of your own, set load_environment.preprocessing = False.'
  )


def _env_id(game: str) -> str:
  """Returns 'ALE/Pong-v5' for 'Pong' and for itself, if ALE has the game."""
  failures.import_extra('ale_py', 'atari', game)
  name, _, version = game.removeprefix('ALE/').partition('-v')
  env_id = f'ALE/{name}-v5'
  if version not in ('', '5') or env_id not in gymnasium.registry:
    raise failures.EnvironmentSetupError(
        f'Unknown Atari game {game!r}. Names are written as MontezumaRevenge,'
        ' ids as ALE/MontezumaRevenge-v5.'
    )
  return env_id
