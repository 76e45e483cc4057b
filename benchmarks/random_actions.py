# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the episodes of an Atari game in which random actions score.

    python -m benchmarks.random_actions [--game=Venture] [--num_env_steps=...]

What exploration has to beat: with the settings of atari_paper.gin.
"""

from absl import flags
import numpy as np

from benchmarks import programs
from rnd_agents.environments import atari

_NUM_ENVIRONMENTS = 128


def play(game, num_env_steps, seed):
  """Plays random actions.

  Args:
    game: Such as 'MontezumaRevenge'.
    num_env_steps: Steps of all environments together.
    seed: Seed of the environments and the actions.

  Yields:
    (environment steps so far, `Episode`) of each finished episode.
  """
  env = atari.load_atari(
      game, _NUM_ENVIRONMENTS, seed=seed, vectorization='vector_entry_point'
  )
  try:
    spec = env.action_spec()
    rng = np.random.default_rng(seed)
    env.reset()
    for step in range(1, num_env_steps // _NUM_ENVIRONMENTS + 1):
      env.step(
          rng.integers(
              spec.minimum,
              spec.maximum + 1,
              size=_NUM_ENVIRONMENTS,
              dtype=spec.dtype,
          )
      )
      for episode in env.pop_episodes():
        yield step * _NUM_ENVIRONMENTS, episode
  finally:
    env.close()


def main(argv):
  del argv
  for seed in map(int, flags.FLAGS.seeds):
    episodes = list(play(flags.FLAGS.game, flags.FLAGS.num_env_steps, seed))
    scores = [(steps, e.return_) for steps, e in episodes if e.return_ > 0]
    lengths = [e.length_env_steps for _, e in episodes]
    print(
        f'seed {seed}: {len(scores)} of {len(episodes)} episodes score (steps'
        f' so far, score): {scores}; {np.mean(lengths):.0f} steps an episode',
        flush=True,
    )


if __name__ == '__main__':
  flags.DEFINE_string('game', 'MontezumaRevenge', 'Name in ALE.')
  flags.DEFINE_integer('num_env_steps', 1_000_000, 'Environment steps a seed.')
  flags.DEFINE_list('seeds', ['0', '1', '2'], 'Seeds, with commas.')
  programs.run(main)
