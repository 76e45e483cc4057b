# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs each curiosity on tasks that tell them apart.

    python -m benchmarks.curiosities GROUP... [--jobs=2] [--out=DIRECTORY]

Runs what is not finished, as experiments.py does; benchmarks/
curiosities_report.py makes the tables.
"""

from benchmarks import experiments

_FN = 'create_rnd_ppo_agent.curiosity_fn'
CURIOSITIES = {
    'RND': (f'{_FN} = @create_rnd',),
    'NovelD': (f'{_FN} = @create_novel_d',),
    'E3B': (f'{_FN} = @create_e3b',),
    'RND x E3B': (
        f'{_FN} = @create_product',
        'create_product.curiosity_fns = (@create_rnd, @create_e3b)',
    ),
    'ICM': (f'{_FN} = @create_icm',),
}
_PPO = {
    'PPO': (
        f'{_FN} = @create_rnd',
        'RNDPPOAgent.intrinsic_advantage_coefficient = 0',
    )
}
_STOP = 'train_eval.stop_at_success_rate = 0.95'
# The bonus over the deviation of its returns: of all so far, or of the last.
_SCALES = {
    'of all returns': (),
    'of the last 20,000 steps': (
        'create_rnd.scale_horizon_env_steps = 20_000',
        'create_rnd.least_scale_share = 0.001',
    ),
}
_RIVER_SWIM = (
    'import benchmarks.curiosity_tasks',
    'load_environment.env = @RiverSwim',
    "load_environment.vectorization = 'sync'",
    'load_environment.env_kwargs = {}',
)


def _minigrid(
    task,
    num_env_steps,
    seeds,
    *bindings,
    curiosities=None,
    gin_file='default.gin',
):
  return [
      experiments.Job(
          label,
          gin_file,
          seed,
          (
              f"load_environment.env = 'MiniGrid-{task}-v0'",
              f'train_eval.num_env_steps = {num_env_steps}',
              *of_label,
              *bindings,
          ),
      )
      for seed in seeds
      for label, of_label in (curiosities or {**CURIOSITIES, **_PPO}).items()
  ]


def _scales(gin_file, num_env_steps, *bindings, suffix=''):
  return [
      experiments.Job(
          label + suffix,
          gin_file,
          seed,
          (
              f'{_FN} = @create_rnd',
              f'train_eval.num_env_steps = {num_env_steps}',
              *of_label,
              *bindings,
          ),
      )
      for seed in range(5)
      for label, of_label in _SCALES.items()
  ]


# One set of numbers for all: what a task changes is its name and its budget.
_DEFAULT_TASKS = {
    'CartPole-v1': (200_000,),
    'MountainCar-v0': (1_000_000,),
    'rnd_agents/DeepSea-v0': (
        1_000_000,
        "load_environment.vectorization = 'vector_entry_point'",
        "load_environment.env_kwargs = {'size': 20, 'mapping_seed': 42}",
        _STOP,
    ),
    'MiniGrid-DoorKey-8x8-v0': (400_000,),
    'MiniGrid-MultiRoom-N6-v0': (400_000,),
    'LunarLander-v3': (1_000_000,),
}


def _default(*bindings_of_all):
  return [
      experiments.Job(
          task.rpartition('/')[2],
          'default.gin',
          seed,
          (
              f"load_environment.env = '{task}'",
              f'train_eval.num_env_steps = {num_env_steps}',
              *bindings,
              *bindings_of_all,
          ),
      )
      for seed in range(5)
      for task, (num_env_steps, *bindings) in _DEFAULT_TASKS.items()
  ]


GROUPS = {
    'default': _default(),
    'default_ppo': _default(
        'RNDPPOAgent.intrinsic_advantage_coefficient = 0'
    ),
    'default_door_key': _minigrid('DoorKey-8x8', 400_000, range(5)),
    'default_multi_room': _minigrid('MultiRoom-N6', 400_000, range(5)),
    'default_key_corridor': _minigrid('KeyCorridorS3R3', 600_000, range(5)),
    'default_obstructed_maze': _minigrid(
        'ObstructedMaze-1Dl', 600_000, range(5)
    ),
    # The same task, actions and steps for all.
    'unlock_pickup': [
        experiments.Job('two levels', 'unlock_pickup_two_level.gin', seed)
        for seed in range(5)
    ]
    + _minigrid(
        'UnlockPickup',
        600_000,
        range(5),
        'load_environment.wrappers = [@SomeActions]',
        'SomeActions.actions = (0, 1, 2, 3, 4, 5)',
        'train_eval.eval_interval_env_steps = 50_000',
        curiosities={
            **_PPO, **{name: CURIOSITIES[name] for name in ('RND', 'NovelD')}
        },
        gin_file='minigrid.gin',
    ),
    'noisy_tile': _minigrid(
        'DoorKey-8x8',
        400_000,
        range(5),
        'import benchmarks.curiosity_tasks',
        'load_environment.wrappers = [@NoisyTile]',
    ),
    'deep_sea_curiosities': [
        experiments.Job(label, 'deep_sea.gin', seed, (*bindings, _STOP))
        for seed in range(5)
        for label, bindings in CURIOSITIES.items()
    ],
    'scale_deep_sea': _scales('deep_sea.gin', 1_000_000, _STOP),
    'scale_mountain_car': _scales(
        'mountain_car_rnn.gin',
        500_000,
        'load_environment.wrappers = [@SomeEntries]',
        'SomeEntries.entries = (0,)  # The position.',
    ),
    'scale_river_swim': _scales('deep_sea.gin', 300_000, *_RIVER_SWIM),
    'scale_river_swim_raw': _scales(
        'deep_sea.gin',
        300_000,
        *_RIVER_SWIM,
        'RNDPPOAgent.normalize_advantages = False',
        suffix=', advantages as they are',
    ),
}


if __name__ == '__main__':
  experiments.main(__doc__, GROUPS)
