# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments behind the figures of README and docs.

    python benchmarks/experiments.py GROUP [--jobs=2] [--out=runs/experiments]

Each run is a process of `train.train_eval` with one thread, run as by
`train.sweep`: what is finished is skipped, so the same command goes on after a
kill. benchmarks/report.py makes tables and pictures of what there is.
"""

import argparse
import os
import sys
from typing import NamedTuple, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from rnd_agents import run_files  # noqa: E402
from train import run_processes  # noqa: E402
from train import sweep  # noqa: E402


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
  bindings: Tuple[str, ...] = ()


# DeepSea has no noise: a greedy policy that finds the treasure always does. A
# run stops there, for what is asked is whether and when.
_STOP = 'train_eval.stop_at_success_rate = 0.95'


def _twins(name, seeds, labels, *bindings):
  """An experiment and its twins: {label: what the gin file's name ends in}."""
  return [
      Job(label, f'{name}{suffix}.gin', seed, bindings)
      for seed in seeds
      for label, suffix in labels.items()
  ]


def _pair(name, seeds, *bindings):
  return _twins(name, seeds, {'RND-PPO': '', 'PPO': '_ppo'}, *bindings)


def _memory(name, seeds):
  return _twins(name, seeds, {'recurrent': '', 'feed-forward': '_ff'})


def _scaling(size, seeds):
  return [
      Job(
          f'N={size}',
          'deep_sea.gin',
          seed,
          (
              f'DEEP_SEA_SIZE = {size}',
              'train_eval.num_env_steps = 5_000_000',
              _STOP,
          ),
      )
      for seed in seeds
  ]


_CURIOSITY = 'create_rnd_ppo_agent.curiosity_fn'
_ABLATIONS = {
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
        f'{_CURIOSITY} = @create_current_observation',
    ),
    'advantages not normalised': ('RNDPPOAgent.normalize_advantages = False',),
}

_QUARTER = 'RNDPPOAgent.predictor_proportion = 0.25'


def _compute_dtype(dtype):
  return tuple(
      f"{each}.compute_dtype = '{dtype}'"
      for each in ('create_networks', 'create_rnd_networks')
  )


# What makes an update cheaper, beside what it stands for.
_SHORT_CUTS = {
    'as in deep_sea.gin': (),
    'bfloat16': _compute_dtype('bfloat16'),
    'an exact quarter': (_QUARTER,),
    'a quarter by coin tosses': (
        'import benchmarks.ablation_agents',
        f'{_CURIOSITY} = @create_coin_toss',
    ),
}

# Convolutions where it can be afforded; whole runs, to compare the curves.
_DTYPES = ('float32', 'bfloat16')

# Two levels beside the flat agent with the same settings.
_CHAIN = {
    'two levels': ('chain_two_level.gin',),
    'RND-PPO': ('chain.gin',),
    'PPO': ('chain.gin', 'RNDPPOAgent.intrinsic_advantage_coefficient = 0'),
}

GROUPS = {
    'mountain_car': _pair('mountain_car', range(10)),
    'deep_sea': _pair('deep_sea', range(10), _STOP),
    'deep_sea_scaling': (
        _scaling(10, range(3))
        + _scaling(15, range(3))
        + _scaling(20, range(3))
        + _scaling(25, range(3))
        + _scaling(30, range(1))
        + _scaling(40, range(1))
    ),
    'lunar_lander': _pair('lunar_lander', range(3)),
    'cartpole_masked': _memory('cartpole_masked', range(5)),
    't_maze': _memory('t_maze', range(5)),
    'advantage_scale': [
        Job(
            f'{name}, decay {decay}',
            f'{name}.gin',
            seed,
            (f'RNDPPOAgent.advantage_scale_decay = {decay}',),
        )
        for name, decays in (
            ('t_maze', (0.0, 0.99, 0.999)),
            ('deep_sea', (0.999,)),
            ('mountain_car', (0.999,)),
        )
        for decay in decays
        for seed in range(5)
    ],
    'mountain_car_masked': _memory('mountain_car_masked', range(5)),
    'chain': [
        Job(
            label,
            gin_file,
            seed,
            (
                'train_eval.num_env_steps = 40_000',
                'train_eval.eval_interval_env_steps = 4_000',
                *bindings,
            ),
        )
        for seed in range(5)
        for label, (gin_file, *bindings) in _CHAIN.items()
    ],
    'minigrid_memory': _memory('minigrid_memory', range(1)),
    'ablations': [
        Job(label, 'deep_sea.gin', seed, (*bindings, _STOP))
        for seed in range(5)
        for label, bindings in _ABLATIONS.items()
    ],
    'short_cuts': [
        Job(label, 'deep_sea.gin', seed, (*bindings, _STOP))
        for seed in range(5)
        for label, bindings in _SHORT_CUTS.items()
    ],
    'door_key_pixels': [
        Job(
            dtype,
            'door_key_pixels.gin',
            seed,
            _compute_dtype(dtype),
        )
        for seed in range(3)
        for dtype in _DTYPES
    ],
}


def root_dir(out, group, job):
  """Folder of a run."""
  label = job.label.replace(' ', '_').replace('/', '_of_')
  return os.path.join(out, group, label, f'seed_{job.seed}')


def is_finished(folder):
  """Whether a run came to its end."""
  return run_files.read_status(folder).get('state') == 'finished'


def finished(out, group, jobs):
  """{label: [folders of finished runs]}, in the order of the jobs."""
  folders = {job.label: [] for job in jobs}
  for job in jobs:
    folder = root_dir(out, group, job)
    if is_finished(folder):
      folders[job.label].append(folder)
  return {label: found for label, found in folders.items() if found}


def sweep_job(out, group, job):
  """The job as a sweep runs it."""
  folder = os.path.abspath(root_dir(out, group, job))
  gin_file = os.path.join('gin_configs', job.gin_file)
  return sweep.Job(
      f'{group}: {job.label}, seed {job.seed}',
      folder,
      (
          f'--gin_file={gin_file}',
          f'--root_dir={folder}',
          f'--seed={job.seed}',
          *(f'--gin_bindings={binding}' for binding in job.bindings),
      ),
      (os.path.join(ROOT, gin_file),),
  )


def parse(description, groups):
  """The command line of a module of experiments."""
  parser = argparse.ArgumentParser(description=description.partition('\n')[0])
  parser.add_argument('groups', nargs='+', choices=groups)
  parser.add_argument('--jobs', type=int, default=2)
  parser.add_argument('--out', default=os.path.join('runs', 'experiments'))
  return parser.parse_args()


def run(groups, arguments):
  """Runs what is not finished yet.

  Args:
    groups: {name: list of `Job`}.
    arguments: Of `parse`.

  Returns:
    The exit status.
  """
  jobs = [
      sweep_job(arguments.out, group, job)
      for group, jobs in groups.items()
      for job in jobs
  ]
  os.chdir(ROOT)
  os.environ.update(dict.fromkeys(run_processes.THREADS, '1'))
  return sweep.Sweep(jobs, arguments.jobs).run()


def main(description, groups):
  """Runs the groups of the command line: the program of such a module.

  Args:
    description: Its docstring.
    groups: {name: list of `Job`}.
  """
  arguments = parse(description, groups)
  sys.exit(run({name: groups[name] for name in arguments.groups}, arguments))


if __name__ == '__main__':
  main(__doc__, GROUPS)
