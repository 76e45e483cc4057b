# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments behind the figures of README and docs.

    python -m benchmarks.experiments GROUP... [--jobs=2] [--out=DIRECTORY]

Each run is a process of `train.train_eval` with one thread, run as by
`train.sweep`: finished runs are skipped, so the same command continues after a
kill. Missing demonstrations are collected first, into runs/demos of the
checkout. `python -m benchmarks.report GROUP...` makes tables and pictures of
what is finished.
"""

import argparse
import os
import subprocess
import sys

from benchmarks import experiment_groups
from rnd_agents import run_files
from train import run_processes
from train import sweep

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def root_dir(out, group, job):
  """Folder of a run."""
  label = job.label.replace(' ', '_').replace('/', '_of_')
  return os.path.join(out, group, label, f'seed_{job.seed}')


def finished(out, group):
  """{label: [folders of finished runs]}, in the order of the group's jobs."""
  folders = {}
  for job in experiment_groups.GROUPS[group]:
    folder = root_dir(out, group, job)
    if run_files.read_status(folder).get('state') == 'finished':
      folders.setdefault(job.label, []).append(folder)
  return folders


def parser(description):
  """The command line of this program and of the report."""
  result = argparse.ArgumentParser(
      description=description,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  result.add_argument('groups', nargs='+', choices=experiment_groups.GROUPS)
  result.add_argument('--out', default=os.path.join('runs', 'experiments'))
  return result


def _sweep_job(out, group, job):
  """The job as a sweep runs it."""
  folder = os.path.abspath(root_dir(out, group, job))
  gin_file = os.path.join('gin_configs', job.gin_file)
  return run_processes.make_job(
      f'{group}: {job.label}, seed {job.seed}',
      folder,
      [gin_file],
      job.seed,
      job.bindings,
      (os.path.join(ROOT, gin_file),),
  )


def _collect_demonstrations(group):
  """Records the demonstrations of a group if they are missing."""
  demonstrations = experiment_groups.DEMONSTRATIONS.get(group, {})
  for name, flags in demonstrations.items():
    path = os.path.join('runs', 'demos', f'{name}.tfrecord')
    if not os.path.exists(os.path.join(ROOT, path)):
      command = [sys.executable, '-m', 'train.collect_demos', *flags]
      subprocess.run([*command, f'--out={path}'], cwd=ROOT, check=True)


def main():
  """Runs what is not finished of the groups of the command line."""
  arguments = parser(__doc__)
  arguments.add_argument('--jobs', type=int, default=2)
  arguments = arguments.parse_args()
  jobs = [
      _sweep_job(arguments.out, group, job)
      for group in arguments.groups
      for job in experiment_groups.GROUPS[group]
  ]
  for group in arguments.groups:
    _collect_demonstrations(group)
  os.chdir(ROOT)
  os.environ.update(dict.fromkeys(run_processes.THREADS, '1'))
  sys.exit(sweep.run_sweep(jobs, run_processes.Runner(arguments.jobs)))


if __name__ == '__main__':
  main()
