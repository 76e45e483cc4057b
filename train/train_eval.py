# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an agent as gin files say.

python -m train.train_eval --gin_file=mountain_car.gin --seed=0
"""

import functools
import os
import sys

from absl import app
from absl import flags
from absl import logging

from train import learner_processes

_ROOT_DIR = flags.DEFINE_string(
    'root_dir',
    None,
    'Folder of the run, which the same command resumes. Default:'
    ' runs/NAME_OF_GIN_FILE/seed_SEED.',
)
_GIN_FILE = flags.DEFINE_multi_string(
    'gin_file',
    None,
    'A gin file: a path, or the bare name of one that comes with the package.'
    ' Later ones win.',
)
_GIN_BINDINGS = flags.DEFINE_multi_string(
    'gin_bindings',
    [],
    'A gin binding, such as create_rnd_ppo_agent.learning_rate=0.001.',
)
_GIN_PARAM = flags.DEFINE_multi_string(
    'gin_param', [], 'The older name of --gin_bindings.'
)
_SEED = flags.DEFINE_integer(
    'seed', 0, 'Seed of environments, networks, policy and shuffling.'
)
_WORKERS = flags.DEFINE_integer(
    'workers',
    0,
    'Processes that collect, at most train_eval.num_shards; 0: this one alone'
    ' (needs rnd_agents[cluster]). The run is the same, byte for byte.',
    lower_bound=0,
)
_LEARNERS = flags.DEFINE_integer(
    'learners',
    1,
    'Processes that share the learning of RND-PPO, each with shards of its own:'
    ' those of TF_CONFIG, of which this is one, or started here.',
    lower_bound=1,
)
_ACTING = flags.DEFINE_enum(
    'acting',
    'workers',
    ('workers', 'learner'),
    'Where the policy acts: in each worker, or in this process, where workers'
    ' only step environments. The run is the same, byte for byte.',
)
_RAY_ADDRESS = flags.DEFINE_string(
    'ray_address',
    None,
    'HOST:PORT of a Ray cluster for the workers. Default: this machine.',
)


def main(argv):
  """Parses gin files and trains as they say.

  Args:
    argv: What is left of the command line after the flags.
  """
  if len(argv) > 1:
    raise app.UsageError(f'Not a flag: {" ".join(argv[1:])}')
  if not _GIN_FILE.value:
    raise app.UsageError('--gin_file is missing: which experiment?')
  # TensorFlow's errors reach Python as exceptions.
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  if _LEARNERS.value > 1 and 'TF_CONFIG' not in os.environ:
    command = [sys.executable, '-m', 'train.train_eval', *sys.argv[1:]]
    sys.exit(learner_processes.run(_LEARNERS.value, command))
  # Here and not above: flags answer at once, TensorFlow takes seconds.
  from rnd_agents import errors  # pylint: disable=g-import-not-at-top
  from rnd_agents.training import gin_files  # pylint: disable=g-import-not-at-top
  from rnd_agents.training import learners  # pylint: disable=g-import-not-at-top

  name = os.path.splitext(os.path.basename(_GIN_FILE.value[-1]))[0]
  root_dir = os.path.expanduser(  # In --root_dir=~/x no shell does.
      _ROOT_DIR.value or os.path.join('runs', name, f'seed_{_SEED.value}')
  )
  try:
    bindings = _GIN_PARAM.value + _GIN_BINDINGS.value
    if _LEARNERS.value > 1:
      bindings.append(f'OnPolicyTraining.num_learners = {_LEARNERS.value}')
    gin_files.parse(_GIN_FILE.value, bindings)
    logging.set_verbosity(logging.INFO)  # After gin's remarks on its search.
    result = learners.train_eval(
        root_dir,
        _make_shards(errors),
        num_learners=_LEARNERS.value,
        seed=_SEED.value,
    )
  except errors.LearnerLost as error:
    print(f'train_eval: {error}', file=sys.stderr)
    sys.exit(learner_processes.LOST)
  except errors.UserError as error:
    logging.debug('Where it happened:', exc_info=True)
    sys.exit(f'train_eval: {errors.message_of(error)}')
  if result is None:  # Learner 0 has said it all.
    return
  if result.eval_return is not None:
    print(f'Mean return of the last evaluation: {result.eval_return:.1f}')
  print(
      f'{result.env_steps:,} environment steps in {result.wall_time_s:.0f} s\n'
      f'Learning curve: {result.picture}\n'
      f'TensorBoard: tensorboard --logdir={root_dir}'
  )
  if not result.finished:
    sys.exit('Stopped before the end: the same command goes on.')


def _make_shards(errors):
  """What makes the collectors; None for collectors in this process."""
  if not _WORKERS.value:
    for flag in (_RAY_ADDRESS, _ACTING):
      if flag.value != flag.default:
        raise errors.SetupError(f'--{flag.name} needs --workers=N.')
    return None
  from rnd_agents.collecting import ray_workers  # pylint: disable=g-import-not-at-top

  return functools.partial(
      ray_workers.create_collectors,
      num_workers=_WORKERS.value,
      address=_RAY_ADDRESS.value,
      learner_acts=_ACTING.value == 'learner',
  )


if __name__ == '__main__':
  app.run(main)
