# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times whole runs on MountainCar beside those of other programs, in turns.

    python -m benchmarks.rivals --rival_python=PYTHON [--rllte_python=PYTHON]

32 environments, rollouts of 128 steps, 10 epochs of 4 minibatches, networks of
64-64 units: `gin_configs/mountain_car.gin`. The rivals:

*   torch: PPO with RND in PyTorch, equal work (`rival_torch`), with all threads
    and with one;
*   jax: the same as one compiled JAX program on gymnax (`rival_jax`);
*   sb3: Stable-Baselines3's PPO, which has no RND;
*   rllte: RLeXplore's PPO with RND, less work.

Ours run as `train_eval` does, with checkpoints, logs and evaluations; rivals do
nothing of the kind. Seconds are from the end of the third iteration, when all
has been compiled, to the end of the last. Make the rivals' Pythons with

    python3.11 -m venv rivals
    rivals/bin/pip install torch==2.13.0 stable-baselines3==2.9.2 jax==0.10.2 \\
      gymnax==1.0.1 optax==0.2.8 six
    python3.11 -m venv rllte
    rllte/bin/pip install torch torchvision rllte-core==1.0.1
    rllte/bin/pip install gymnasium==0.29.1 'numpy<2' 'pandas<2.3' \\
      matplotlib==3.8.4

The last line is what rllte needs and does not ask for.
"""

import os
import subprocess
import tempfile

from absl import app
from absl import flags

from benchmarks import gin_runs
from benchmarks import paired
from benchmarks import tables

_STEPS = 32 * 128
_FIRST = 3  # Iterations that do not count.
_HERE = os.path.dirname(os.path.abspath(__file__))

_RIVAL_PYTHON = flags.DEFINE_string(
    'rival_python', None, 'A Python with PyTorch, JAX and Stable-Baselines3.'
)
_RLLTE_PYTHON = flags.DEFINE_string('rllte_python', None, 'One with rllte.')
_NUM_ROUNDS = flags.DEFINE_integer('num_rounds', 5, 'Rounds that count.')
_NUM_ITERATIONS = flags.DEFINE_integer(
    'num_iterations', 60, 'Iterations of each run.'
)
_ONLY = flags.DEFINE_list('only', None, 'Names of contenders; None for all.')


def _ours(*bindings):
  """Returns a function that makes a run and returns its env steps/s."""

  def run():
    num_env_steps = (_NUM_ITERATIONS.value + 2) * _STEPS  # With the warm-up.
    rows = gin_runs.timings(
        'mountain_car.gin',
        [f'train_eval.num_env_steps = {num_env_steps}', *bindings],
    )
    times = [row.values['wall_time_s'] for row in rows]
    return (len(times) - _FIRST) * _STEPS / (times[-1] - times[_FIRST - 1])

  return run


def _rival(python, script, *arguments, **environment):
  """Returns a function that runs a script of a rival likewise."""

  def run():
    command = [python, os.path.join(_HERE, f'{script}.py'), *arguments]
    with tempfile.TemporaryDirectory() as folder:  # rllte writes logs.
      output = subprocess.run(
          [*command, str(_NUM_ITERATIONS.value)],
          check=True,
          capture_output=True,
          text=True,
          cwd=folder,
          env=dict(os.environ, **environment),
      ).stdout
    times = []
    for line in output.splitlines():  # A library may print more.
      try:
        times.append(float(line))
      except ValueError:
        continue
    return (len(times) - _FIRST) * _STEPS / sum(times[_FIRST:])

  return run


def _contenders():
  """Returns functions that make a run of each contender, by name."""
  contenders = {
      'ours': _ours(),
      'ours, envpool': _ours(
          "train/load_environment.vectorization = 'envpool'"
      ),
  }
  python = _RIVAL_PYTHON.value
  if python is not None:
    contenders.update({
        'torch': _rival(python, 'rival_torch'),
        'torch, one thread': _rival(python, 'rival_torch', OMP_NUM_THREADS='1'),
        'jax': _rival(python, 'rival_jax'),
        'sb3, no RND': _rival(python, 'rival_libraries', 'sb3'),
    })
  if _RLLTE_PYTHON.value is not None:
    contenders['rllte'] = _rival(
        _RLLTE_PYTHON.value, 'rival_libraries', 'rllte'
    )
  if _ONLY.value is not None:
    contenders = {name: contenders[name] for name in _ONLY.value}
  return contenders


def main(argv):
  del argv
  print(paired.machine(), flush=True)
  contenders = _contenders()
  speeds = {name: [] for name in contenders}
  load = paired.ForeignLoad()
  for _ in range(_NUM_ROUNDS.value):
    for name, run in contenders.items():
      speeds[name].append(run())
      print(f'{name}: {speeds[name][-1]:,.0f} env steps/s', flush=True)
  print(f'{_NUM_ROUNDS.value} rounds, foreign load {load}\n')
  first = speeds[next(iter(contenders))]
  tables.print_table(
      ('contender', 'env steps/s (median, span)', 'best', 'ours over it'),
      [
          (
              name,
              '{1:,.0f} ({0:,.0f} to {2:,.0f})'.format(*paired.span(its)),
              f'{max(its):,.0f}',
              paired.span([a / b for a, b in zip(first, its)]),
          )
          for name, its in speeds.items()
      ],
  )


if __name__ == '__main__':
  app.run(main)
