# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The experiments behind README and docs, for benchmarks/experiments.py.

A group is one question: the same task with several settings and seeds.
"""

from typing import NamedTuple


class Job(NamedTuple):
  """One run.

  Attributes:
    label: what is compared; the folder of the runs of all seeds.
    gin_file: the experiment.
    seed: its seed.
    bindings: gin bindings on top.
  """

  label: str
  gin_file: str
  seed: int
  bindings: tuple[str, ...] = ()


def _jobs(settings, num_seeds, *bindings):
  """Lists the runs of a group.

  Args:
    settings: {label: (gin file, bindings...)}.
    num_seeds: each setting runs with seeds 0 ... num_seeds - 1.
    *bindings: gin bindings of all runs.
  """
  return [
      Job(label, gin_file, seed, (*of_label, *bindings))
      for seed in range(num_seeds)
      for label, (gin_file, *of_label) in settings.items()
  ]


# DeepSea has no noise: a greedy policy that finds the treasure always does. A
# run stops there, since the question is whether and when.
_STOP = 'train_eval.stop_at_success_rate = 0.95'
_FN = 'create_rnd_ppo_agent.curiosity_fn'
_TASKS = 'import benchmarks.curiosity_tasks'
_NO_BONUS = 'RNDPPOAgent.intrinsic_advantage_coefficient = 0'

CURIOSITIES = {
    'RND': (f'{_FN} = @create_rnd',),
    'NovelD': (f'{_FN} = @create_novel_d',),
    'E3B': (f'{_FN} = @create_e3b',),
    'RND x E3B': (
        f'{_FN} = @create_product',
        'create_product.curiosity_fns = (@create_rnd, @create_e3b)',
    ),
    'NovelD x E3B': (
        f'{_FN} = @create_product',
        'create_product.curiosity_fns = (@create_novel_d, @create_e3b)',
    ),
    'ICM': (f'{_FN} = @create_icm',),
    'counts': (f'{_FN} = @create_counts',),
    'DRND': (f'{_FN} = @create_drnd',),
    'LPM': (f'{_FN} = @create_lpm',),
    'LPM, other sign': (
        f'{_FN} = @create_lpm',
        'LearningProgress.pays_progress = False',
        'LearningProgress.eta = 0.1',
    ),
    'NGU': (
        f'{_FN} = @create_product',
        'create_product.curiosity_fns = (@create_ngu_episodic,'
        ' @create_bounded_factor)',
        'create_bounded_factor.curiosity_fn = @create_rnd',
    ),
    'ETD': (f'{_FN} = @create_etd',),
}
_PPO = (f'{_FN} = @create_rnd', _NO_BONUS)


def _with_ppo(name):
  return {'RND-PPO': (f'{name}.gin',), 'PPO': (f'{name}_ppo.gin',)}


def _with_feed_forward(name):
  return {'recurrent': (f'{name}.gin',), 'feed-forward': (f'{name}_ff.gin',)}


# ----------------------------------------------------------------- DeepSea
def _scaling():
  num_seeds_of_sizes = {10: 3, 15: 3, 20: 3, 25: 3, 30: 1, 40: 1}
  return [
      job
      for size, num_seeds in num_seeds_of_sizes.items()
      for job in _jobs(
          {f'N={size}': ('deep_sea.gin', f'DEEP_SEA_SIZE = {size}')},
          num_seeds,
          'train_eval.num_env_steps = 5_000_000',
          _STOP,
      )
  ]


_DEEP_SEA = {
    'as in deep_sea.gin': (),
    'one value head': (
        'import benchmarks.ablation_agents',
        'RNDPPOAgent.streams = @one_value_head',
        'create_networks.num_values = 1',
    ),
    'episodic intrinsic stream': (
        'RNDPPOAgent.episodic_intrinsic_stream = True',
    ),
    'no observation clipping': ('create_rnd.observation_clip_value = None',),
    'gamma_I = gamma_E = 0.99': ('RNDPPOAgent.discount_factor = 0.99',),
    'gamma_I = gamma_E = 0.999': (
        'RNDPPOAgent.intrinsic_discount_factor = 0.999',
    ),
    'current observation': (
        'import benchmarks.ablation_agents',
        f'{_FN} = @create_current_observation',
    ),
    'advantages not normalised': ('RNDPPOAgent.normalize_advantages = False',),
}


def _compute_dtype(dtype):
  return tuple(
      f"{each}.compute_dtype = '{dtype}'"
      for each in ('create_networks', 'create_rnd_networks')
  )


_SHORT_CUTS = {
    'as in deep_sea.gin': (),
    'bfloat16': _compute_dtype('bfloat16'),
    'an exact quarter': ('RNDPPOAgent.predictor_proportion = 0.25',),
}


# Curiosities in place of NovelD with first visits of coarse views.
_MY_WAY_HOME = {
    'views of 5 x 5 pixels': ('coarse_view.side = 5',),
    'RND': (f'{_FN} = @create_rnd',),
    'ICM': (
        f'{_FN} = @create_icm',
        'InverseModel.observation_fn = @newest_frame_observation_fn',
        'InverseModel.conv_layers = ((32, 6, 3), (64, 4, 2), (64, 3, 1))',
        'InverseModel.num_features = 64',
    ),
}


def _my_way_home():
  files = {
      **_with_ppo('my_way_home'),
      'very sparse': ('my_way_home_very_sparse.gin',),
  }
  curiosities = {
      label: ('my_way_home.gin', *lines)
      for label, lines in _MY_WAY_HOME.items()
  }
  return _jobs(
      files | curiosities, 3, 'train_eval.num_env_steps = 1_000_000'
  )


def _on_deep_sea(settings, *bindings):
  return _jobs(
      {label: ('deep_sea.gin', *lines) for label, lines in settings.items()},
      5,
      _STOP,
      *bindings,
  )


# --------------------------------------------------------------- curiosities
# The bonus over the deviation of its returns: of all so far, or of the last.
_SCALES = {
    'of all returns': (),
    'of the last 20,000 steps': (
        'create_rnd.scale_horizon_env_steps = 20_000',
        'create_rnd.least_scale_share = 0.001',
    ),
}


def _scales(gin_file, num_env_steps, *bindings):
  return _jobs(
      {label: (gin_file, *lines) for label, lines in _SCALES.items()},
      5,
      f'{_FN} = @create_rnd',
      f'train_eval.num_env_steps = {num_env_steps}',
      *bindings,
  )


def _mazes(task, num_env_steps, *bindings):
  settings = {**CURIOSITIES, 'PPO': _PPO}
  return _jobs(
      {label: ('default.gin', *lines) for label, lines in settings.items()},
      5,
      f"load_environment.env = 'MiniGrid-{task}-v0'",
      f'train_eval.num_env_steps = {num_env_steps}',
      *bindings,
  )


def _seen_through(wrapper):
  return (
      _TASKS,
      f'load_environment.wrappers = [@{wrapper}]',
  )


_SEEN_BY_RND = 'create_rnd.observation_fn = '
_KEY = 'NovelD.key_fn = '
_SEES_ALL = (f'{_SEEN_BY_RND}None', f'{_KEY}None')
_HIDDEN = 'minigrid_without_movables.hidden = '
_HAS_COLOR = 'minigrid_without_movables.has_carried_color = '


def _obstructed_mazes():
  of_2q = 'obstructed_maze_2q.gin'
  return _jobs(
      {
          '2Dlhb': ('obstructed_maze.gin',),
          '1Q': (
              'obstructed_maze.gin',
              "load_environment.env = 'MiniGrid-ObstructedMaze-1Q-v1'",
          ),
          '2Dlhb, RND sees all': ('obstructed_maze.gin', f'{_SEEN_BY_RND}None'),
          '2Dlhb, both see all': ('obstructed_maze.gin', *_SEES_ALL),
          '2Dlhb, no bonus': ('obstructed_maze.gin', _NO_BONUS),
          '2Q': (of_2q,),
          '2Q, colors of keys': (of_2q, f'{_HAS_COLOR}True'),
          '2Q, colors of keys, no balls': (
              of_2q,
              f'{_HAS_COLOR}True',
              f"{_HIDDEN}('key', 'box', 'ball')",
          ),
          '2Q, all that is carried': (
              'obstructed_maze.gin',
              "load_environment.env = 'MiniGrid-ObstructedMaze-2Q-v1'",
          ),
      },
      3,
  )


def _key_corridors():
  settings = {
      'keys unseen': (),
      'keys and balls unseen': (f"{_HIDDEN}('key', 'ball')",),
      'all seen': _SEES_ALL,
      'no bonus': (_NO_BONUS, 'train_eval.num_env_steps = 2_500_000'),
  }
  return _jobs(
      {label: ('key_corridor.gin', *its) for label, its in settings.items()}, 3
  )


def _ten_rooms():
  return _jobs(
      {
          'NovelD': ('minigrid_fast.gin',),
          'no bonus': ('minigrid_fast.gin', _NO_BONUS),
      },
      3,
      # Pools of envpool have other worlds.
      "train/load_environment.vectorization = 'sync'",
      "load_environment.env = 'MiniGrid-MultiRoom-N6-v0'",
      "load_environment.env_kwargs = {'minNumRooms': 10, 'maxNumRooms': 10,"
      " 'maxRoomSize': 10}",
      'train_eval.num_env_steps = 400_000',
      'RNDPPOAgent.greedy_eval = False',
  )


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


def _default(*bindings):
  return _jobs(
      {
          task.rpartition('/')[2]: (
              'default.gin',
              f"load_environment.env = '{task}'",
              f'train_eval.num_env_steps = {num_env_steps}',
              *of_task,
          )
          for task, (num_env_steps, *of_task) in _DEFAULT_TASKS.items()
      },
      5,
      *bindings,
  )


def _unlock_pickup():
  flat = {
      'PPO': _PPO, 'RND': CURIOSITIES['RND'], 'NovelD': CURIOSITIES['NovelD']
  }
  # The same task, actions and steps as in unlock_pickup_two_level.gin.
  bindings = (
      "load_environment.env = 'MiniGrid-UnlockPickup-v0'",
      'train_eval.num_env_steps = 600_000',
      'load_environment.wrappers = [@SomeActions]',
      'SomeActions.actions = (0, 1, 2, 3, 4, 5)',
      'train_eval.eval_interval_env_steps = 50_000',
  )
  return _jobs({'two levels': ('unlock_pickup_two_level.gin',)}, 5) + _jobs(
      {label: ('minigrid.gin', *lines) for label, lines in flat.items()},
      5,
      *bindings,
  )


# ---------------------------------------------------------------- two levels
_CHAIN = {
    'two levels': ('chain_two_level.gin',),
    'RND-PPO': ('chain.gin',),
    'PPO': ('chain.gin', _NO_BONUS),
}
_FOUR_ROOMS = {
    'two levels, RND above': ('four_rooms_two_level.gin',),
    'two levels, no bonus': ('four_rooms_two_level.gin', f'upper/{_NO_BONUS}'),
    'RND-PPO': ('four_rooms.gin',),
    'PPO': ('four_rooms.gin', _NO_BONUS),
}


def _four_rooms():
  return [
      Job(
          *job[:3],
          (
              'import benchmarks.coverage',
              'train/load_environment.wrappers ='
              ' [@SomeActions, @FixedWorld, @CellsVisited]',
              f'FixedWorld.world_seed = {job.seed}',
              'train_eval.callbacks = [@CoverageLog()]',
              'train_eval.save_policies = False',
              *job.bindings,
          ),
      )
      for job in _jobs(_FOUR_ROOMS, 5)
  ]


# ------------------------------------------------------ replayed sequences
_REPLAY = 'ReplayTraining'
_ZERO = ("R2D3Agent.recurrent_state_init = 'zero'",)
_NO_DEMOS = (
    f'{_REPLAY}.demonstrations = None',
    f'{_REPLAY}.demonstration_ratio = 0.0',
)
_TRACE_8 = (f'{_REPLAY}.unroll_length = 8', f'{_REPLAY}.burn_in_length = 4')



def _ratio(ratio):
  return (f'{_REPLAY}.demonstration_ratio = {ratio}',)


# DI-engine's document on R2D3 compares these on Pong. A run ends where it is
# solved: the question is how soon.
_CUE_LOCK = ('train_eval.eval_interval_env_steps = 500', _STOP)
_PRETRAINING = (f'{_REPLAY}.num_pretraining_steps = 100',)
_L2 = ('create_r2d3_agent.weight_decay = 1e-5',)


def _pool(num_episodes):
  return f'door_key_{num_episodes}'


_POOLS = (50, 1_000, 5_000, 10_000)


def _door_key_demos(num_episodes):
  return (
      '--gin_file=door_key_r2d3.gin', '--expert', f'--episodes={num_episodes}'
  )


# Sparse, partly seen, another start each time.
_DOOR_KEY_8X8 = "load_environment.env = 'MiniGrid-DoorKey-8x8-v0'"

_DEMOS_8X8 = f"{_REPLAY}.demonstrations = 'runs/demos/door_key_8x8.tfrecord'"

_CUE_LOCK_DEMOS = {
    'cue_lock': ('--gin_file=cue_lock_r2d3.gin', '--expert', '--episodes=20')
}

# Group -> {name of a file in runs/demos: flags of train.collect_demos}.
DEMONSTRATIONS = {
    'cue_lock': _CUE_LOCK_DEMOS,
    'r2d3_ratios': _CUE_LOCK_DEMOS,
    'r2d3_pretraining': _CUE_LOCK_DEMOS,
    'r2d3_pools': {_pool(n): _door_key_demos(n) for n in _POOLS},
    'r2d3_three_properties': {
        'door_key_8x8': (
            '--gin_file=door_key_r2d3.gin',
            f'--gin_bindings={_DOOR_KEY_8X8}',
            '--expert',
            '--episodes=100',
        )
    },
    'deep_sea_demos': {
        'deep_sea': (
            '--gin_file=deep_sea.gin',
            '--expert=rnd_agents.tasks.scripted_experts:deep_sea',
            '--episodes=1',
        )
    },
    'door_key': {'door_key': _door_key_demos(50)},
    # From a run of pong_ppo.gin, whose header says how long it takes.
    'pong': {
        'pong': (
            '--policy_dir=runs/pong_ppo/seed_0/policies/policy',
            '--episodes=20',
            '--min_return=20',
        )
    },
}

GROUPS = {
    'mountain_car': _jobs(_with_ppo('mountain_car'), 10),
    'deep_sea': _jobs(_with_ppo('deep_sea'), 10, _STOP),
    'deep_sea_scaling': _scaling(),
    'ablations': _on_deep_sea(_DEEP_SEA),
    'short_cuts': _on_deep_sea(_SHORT_CUTS),
    'crafter': _jobs(
        {
            **_with_ppo('crafter'),
            'counts': ('crafter_counts.gin',),
            'without reward': ('crafter_without_reward.gin',),
        },
        3,
    ),
    'my_way_home': _my_way_home(),
    'lunar_lander': _jobs(_with_ppo('lunar_lander'), 5),
    'cartpole_masked': _jobs(_with_feed_forward('cartpole_masked'), 5),
    't_maze': _jobs(_with_feed_forward('t_maze'), 5),
    'mountain_car_masked': _jobs(_with_feed_forward('mountain_car_masked'), 5),
    'advantage_scale': _jobs(
        {
            f'decay {decay}': (
                't_maze.gin', f'RNDPPOAgent.advantage_scale_decay = {decay}'
            )
            for decay in (0.0, 0.99, 0.999)
        },
        5,
    ),
    'door_key_pixels': _jobs(
        {
            dtype: ('door_key_pixels.gin', *_compute_dtype(dtype))
            for dtype in ('float32', 'bfloat16')
        },
        3,
    ),
    'default': _default(),
    'default_ppo': _default(_NO_BONUS),
    'default_door_key': _mazes('DoorKey-8x8', 400_000),
    'default_multi_room': _mazes('MultiRoom-N6', 400_000),
    'default_key_corridor': _mazes('KeyCorridorS3R3', 600_000),
    'default_obstructed_maze': _mazes('ObstructedMaze-1Dl', 600_000),
    'obstructed_maze': _obstructed_mazes(),
    'key_corridor': _key_corridors(),
    'ten_rooms': _ten_rooms(),
    'noisy_tile': _mazes('DoorKey-8x8', 400_000, *_seen_through('NoisyTile')),
    'television': _mazes('DoorKey-8x8', 400_000, *_seen_through('Television')),
    'deep_sea_curiosities': _on_deep_sea(CURIOSITIES),
    'noisy_deep_sea': _on_deep_sea(
        CURIOSITIES,
        _TASKS,
        "load_environment.env = 'benchmarks/NoisyDeepSea-v0'",
    ),
    'scale_deep_sea': _scales('deep_sea.gin', 1_000_000, _STOP),
    'scale_river_swim': _scales(
        'deep_sea.gin',
        300_000,
        _TASKS,
        'load_environment.env = @RiverSwim',
        "load_environment.vectorization = 'sync'",
        'load_environment.env_kwargs = {}',
        'RNDPPOAgent.normalize_advantages = False',
    ),
    # Figures 4 and 5 of RND's paper, on a small budget.
    'montezuma_ablations': _jobs(
        {
            label: ('montezuma_revenge_small_budget.gin', *lines)
            for label, lines in {
                'as in the file': (),
                'episodic intrinsic stream': (
                    'RNDPPOAgent.episodic_intrinsic_stream = True',
                    'RNDPPOAgent.intrinsic_termination_discount = 1.0',
                ),
                'gamma_E = 0.99': ('RNDPPOAgent.discount_factor = 0.99',),
                'gamma_E = 0.999': ('RNDPPOAgent.discount_factor = 0.999',),
            }.items()
        },
        1,
    ),
    'chain': _jobs(
        _CHAIN,
        5,
        'train_eval.num_env_steps = 40_000',
        'train_eval.eval_interval_env_steps = 4_000',
    ),
    'four_rooms': _four_rooms(),
    'unlock_pickup': _unlock_pickup(),
    'cue_lock': _jobs(
        {
            'demonstrations': ('cue_lock_r2d3.gin',),
            'no demonstrations': ('cue_lock_r2d3.gin', *_NO_DEMOS),
            'no memory': ('cue_lock_r2d3.gin', 'create_q_networks.core = None'),
            'ratio 1, no margin': (
                'cue_lock_r2d3.gin',
                f'{_REPLAY}.demonstration_ratio = 1.0',
                'R2D3Agent.margin_weight = 0.0',
            ),
        },
        3,
    ),
    'recall': _jobs(
        {
            'stored': ('recall_r2d2.gin',),
            'zero': ('recall_r2d2.gin', *_ZERO),
            'stored, trace 8, burn-in 4': ('recall_r2d2.gin', *_TRACE_8),
            'zero, trace 8, burn-in 4': ('recall_r2d2.gin', *_ZERO, *_TRACE_8),
        },
        3,
    ),
    'deep_sea_demos': _jobs(
        {
            'one demonstration': ('deep_sea_r2d3.gin',),
            'no demonstration': ('deep_sea_r2d3.gin', *_NO_DEMOS),
            'bonus, no demonstration': ('deep_sea_r2d2_rnd.gin',),
        },
        3,
    ),
    'door_key': _jobs({'margin 0.05': ('door_key_r2d3.gin',)}, 3)
    + _jobs(
        {
            'margin 0.8': ('door_key_r2d3.gin', 'R2D3Agent.margin = 0.8'),
            'no demonstrations': ('door_key_r2d3.gin', *_NO_DEMOS),
        },
        1,
    ),
    'pong': _jobs(
        {
            'ratio 0': ('pong_r2d3.gin', *_NO_DEMOS),
            'ratio 1/16': ('pong_r2d3.gin',),
            'ratio 1/4': ('pong_r2d3.gin', *_ratio(0.25)),
            'ratio 1/2': ('pong_r2d3_half.gin',),
        },
        1,
    ),
    'r2d3_ratios': _jobs(
        {
            'ratio 0': ('cue_lock_r2d3.gin', *_NO_DEMOS),
            'ratio 1/16': ('cue_lock_r2d3.gin', *_ratio(0.0625)),
            'ratio 1/4': ('cue_lock_r2d3.gin',),
            'ratio 1/2': ('cue_lock_r2d3.gin', *_ratio(0.5)),
        },
        5,
        *_CUE_LOCK,
    ),
    'r2d3_pretraining': _jobs(
        {
            # Neither is ratio 1/4 of r2d3_ratios.
            'pretraining': ('cue_lock_r2d3.gin', *_PRETRAINING),
            'L2': ('cue_lock_r2d3.gin', *_L2),
            'both': ('cue_lock_r2d3.gin', *_PRETRAINING, *_L2),
        },
        5,
        *_CUE_LOCK,
    ),
    'r2d3_three_properties': _jobs(
        {
            'R2D3': ('door_key_r2d3.gin', _DEMOS_8X8),
            'R2D2': ('door_key_r2d3.gin', *_NO_DEMOS),
            'demonstrations alone': (
                'door_key_r2d3.gin', _DEMOS_8X8, *_ratio(1.0)
            ),
        },
        5,
        _DOOR_KEY_8X8,
        'train_eval.num_env_steps = 40_000',
        'train_eval.eval_interval_env_steps = 5_000',
        'train_eval.num_eval_episodes = 50',
        'linear_epsilon.num_env_steps = 12_000',
    ),
    'r2d3_pools': _jobs(
        {
            f'{n:,} demonstrations': (
                'door_key_r2d3.gin',
                f"{_REPLAY}.demonstrations = 'runs/demos/{_pool(n)}.tfrecord'",
            )
            for n in _POOLS
        },
        5,
        'train_eval.eval_interval_env_steps = 500',
        'train_eval.stop_at_return = 0.94',  # Of 0.964, the demonstrator's.
    ),
}
