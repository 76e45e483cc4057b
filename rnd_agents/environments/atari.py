# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Atari games of the Arcade Learning Environment, ready for a network.

Single games go through Gymnasium's own wrappers, one after the other or in a
process each; `vectorization='vector_entry_point'` takes ALE's `AtariVectorEnv`,
much the fastest. Both give the same frames, rewards and ends.

The settings are those of Burda et al., 2018 (arXiv 1810.12894), of which
AtariVectorEnv has other defaults: sticky actions, a limit of 18,000 frames, no
no-ops, no FIRE after a reset, a life lost is no end, raw rewards.
"""

import functools
from typing import Any, Callable, Optional, Sequence

import gin
import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorizing


@gin.configurable(module='rnd_agents')
def load_atari(
    game: str,
    num_environments: int = 1,
    seed: Optional[int] = None,
    seeding: Optional[episode_seeds.EpisodeSeeds] = None,
    vectorization: str = 'sync',
    max_episode_steps: Optional[int] = None,
    wrappers: Sequence[Callable[[gymnasium.Env], gymnasium.Env]] = (),
    reward_fn: Optional[vector_environment.RewardFn] = None,
    success_key: str = vector_environment.SUCCESS_KEY,
    step_timeout_s: Optional[float] = vectorizing.STEP_TIMEOUT_S,
    repeat_action_probability: float = 0.25,
    frame_skip: int = 4,
    screen_size: int = 84,
    stack_size: int = 4,
    max_num_frames_per_episode: int = 18_000,
    terminal_on_life_loss: bool = False,
    noop_max: int = 0,
    full_action_space: bool = False,
    render_mode: Optional[str] = None,
) -> vector_environment.VectorPyEnvironment:
  """Makes copies of an Atari game, stepped as one batch.

  Observations are uint8 [size, size, stack], grey, each frame the maximum of
  the last two of those skipped, the newest last, zeros before the first.
  Rewards are the game's: take their sign, where wanted, by `reward_fn`, in the
  scope `train/` only, so that evaluations and returns of episodes stay raw.

  Args:
    game: such as 'MontezumaRevenge', or its id 'ALE/MontezumaRevenge-v5'.
    num_environments: as in `load_environment`, like all down to
      `step_timeout_s`.
    seed: see there.
    seeding: see there.
    vectorization: see there; 'vector_entry_point' is ALE's, which takes neither
      `wrappers` nor `seeding` nor `render_mode`, has no RAM to look at and
      cannot save its episodes.
    max_episode_steps: a limit in steps in place of
      `max_num_frames_per_episode`.
    wrappers: see there; around the preprocessing.
    reward_fn: see there.
    success_key: see there.
    step_timeout_s: see there.
    repeat_action_probability: that a frame repeats the action of the one
      before ("sticky actions").
    frame_skip: frames a step.
    screen_size: height and width in pixels.
    stack_size: frames an observation.
    max_num_frames_per_episode: then the episode is truncated.
    terminal_on_life_loss: whether a life lost ends an episode.
    noop_max: up to so many no-ops begin an episode; they count as frames.
    full_action_space: all 18 actions, also those that do nothing in the game.
    render_mode: 'rgb_array' to film.

  Returns:
    A batched PyEnvironment.

  Raises:
    ImportError: `pip install "rnd_agents[atari]"` is needed.
    ValueError: an unknown game, or an argument out of range.
  """
  vectorizing.check_arguments(num_environments, vectorization, wrappers)
  if max_episode_steps is not None:
    max_num_frames_per_episode = max_episode_steps * frame_skip
  settings = dict(
      game=_game_name(game),
      repeat_action_probability=repeat_action_probability,
      frame_skip=frame_skip,
      screen_size=screen_size,
      stack_size=stack_size,
      max_num_frames_per_episode=max_num_frames_per_episode,
      terminal_on_life_loss=terminal_on_life_loss,
      noop_max=noop_max,
      full_action_space=full_action_space,
  )
  _check_settings(**settings)
  name = f'ALE-{settings["game"]}-v5'
  if vectorization == 'vector_entry_point':
    vectorizing.refuse_for_own_vector(wrappers, seeding)
    if render_mode is not None:
      raise ValueError("ALE's vector environment does not render; use 'sync'.")
    return vector_environment.VectorPyEnvironment(
        make_vector(num_environments, **settings),
        seed=seed,
        name=name,
        reward_fn=reward_fn,
        success_key=success_key,
    )
  return vectorizing.vectorize(
      functools.partial(
          _make_wrapped, tuple(wrappers), render_mode=render_mode, **settings
      ),
      name,
      num_environments,
      seed,
      seeding,
      vectorization,
      reward_fn,
      success_key,
      step_timeout_s,
  )



def _check_settings(
    *,
    repeat_action_probability,
    frame_skip,
    screen_size,
    stack_size,
    max_num_frames_per_episode,
    noop_max,
    **others,
):
  """Refuses numbers that ALE takes and hangs, or plays nothing, with."""
  del others
  if not 0.0 <= repeat_action_probability <= 1.0:
    raise ValueError(
        'load_atari.repeat_action_probability must be between 0 and 1, got'
        f' {repeat_action_probability}.'
    )
  for name, value, least in (
      ('frame_skip', frame_skip, 1),
      ('screen_size', screen_size, 1),
      ('stack_size', stack_size, 1),
      ('max_num_frames_per_episode', max_num_frames_per_episode, 1),
      ('noop_max', noop_max, 0),
  ):
    if value < least:
      raise ValueError(
          f'load_atari.{name} must be at least {least}, got {value}.'
      )


def make_single(
    game: str,
    repeat_action_probability: float,
    frame_skip: int,
    screen_size: int,
    stack_size: int,
    max_num_frames_per_episode: int,
    terminal_on_life_loss: bool,
    noop_max: int,
    full_action_space: bool,
    render_mode: Optional[str] = None,
) -> gymnasium.Env:
  """Returns one game. The arguments are those of `load_atari`."""
  env = gymnasium.make(
      f'ALE/{game}-v5',
      disable_env_checker=True,
      # The preprocessing asks ALE for the screen itself; grey is the cheapest
      # observation that it accepts.
      obs_type='grayscale',
      frameskip=1,  # The default, 4, would multiply.
      repeat_action_probability=repeat_action_probability,
      max_num_frames_per_episode=max_num_frames_per_episode,
      full_action_space=full_action_space,
      render_mode=render_mode,
  )
  env = gymnasium.wrappers.AtariPreprocessing(
      env,
      noop_max=noop_max,
      frame_skip=frame_skip,
      screen_size=screen_size,
      terminal_on_life_loss=terminal_on_life_loss,
      grayscale_obs=True,
      scale_obs=False,
  )
  # AtariVectorEnv pads with zeros too; Gymnasium would repeat the first frame.
  env = gymnasium.wrappers.FrameStackObservation(
      env, stack_size, padding_type='zero'
  )
  return gymnasium.wrappers.TransformObservation(
      env, _channels_last, _channels_last_space(screen_size, stack_size)
  )


def make_vector(
    num_environments: int,
    game: str,
    repeat_action_probability: float,
    frame_skip: int,
    screen_size: int,
    stack_size: int,
    max_num_frames_per_episode: int,
    terminal_on_life_loss: bool,
    noop_max: int,
    full_action_space: bool,
) -> vector.VectorEnv:
  """Returns ALE's vector environment. Arguments: those of `load_atari`."""
  return ChannelsLast(
      gymnasium.make_vec(
          f'ALE/{game}-v5',
          num_envs=num_environments,
          vectorization_mode='vector_entry_point',
          repeat_action_probability=repeat_action_probability,
          frameskip=frame_skip,
          img_height=screen_size,
          img_width=screen_size,
          stack_num=stack_size,
          max_num_frames_per_episode=max_num_frames_per_episode,
          episodic_life=terminal_on_life_loss,
          noop_max=noop_max,
          full_action_space=full_action_space,
          grayscale=True,
          maxpool=True,
          reward_clipping=False,
          use_fire_reset=False,
      )
  )


class ChannelsLast(vector.VectorObservationWrapper):
  """Moves the stack of frames [B, stack, h, w] last, for TensorFlow."""

  def __init__(self, env: vector.VectorEnv):
    super().__init__(env)
    stack_size, screen_size, _ = env.single_observation_space.shape
    self.single_observation_space = _channels_last_space(
        screen_size, stack_size
    )
    self.observation_space = vector.utils.batch_space(
        self.single_observation_space, env.num_envs
    )

  def observations(self, observations: Any) -> np.ndarray:
    # Five times as fast as copying np.moveaxis(observations, 1, -1).
    frames = [observations[:, i] for i in range(observations.shape[1])]
    return np.stack(frames, axis=-1)


def _make_wrapped(wrappers, **settings):
  env = make_single(**settings)
  return vectorizing.wrapped(env, wrappers)


def _channels_last(observation):
  return np.moveaxis(observation, 0, -1)


def _channels_last_space(screen_size, stack_size):
  return spaces.Box(0, 255, (screen_size, screen_size, stack_size), np.uint8)


def _game_name(game):
  """Returns 'Pong' for 'Pong' and 'ALE/Pong-v5', if ALE has it."""
  try:
    import ale_py  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise ImportError(
        f'{game} needs the package ale_py: pip install "rnd_agents[atari]"'
    ) from error
  gymnasium.register_envs(ale_py)
  name = game.removeprefix('ALE/')
  name, _, version = name.partition('-v')
  if version not in ('', '5') or f'ALE/{name}-v5' not in gymnasium.registry:
    raise ValueError(
        f'ALE has no game {game!r}. Names are written as MontezumaRevenge,'
        ' ids as ALE/MontezumaRevenge-v5.'
    )
  return name
