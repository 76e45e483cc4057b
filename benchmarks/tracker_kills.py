# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills a run with W&B and MLflow at random moments; reads both back.

    python -m benchmarks.tracker_kills [--kills=20]

MLflow is a server of its own on this machine, with SQLite; W&B writes its
files offline. The run is ended by SIGKILL and SIGTERM in turns and started
again with the same command. At the end each number of metrics.csv and
timings.csv must be in both trackers, once, and nothing else.
"""

import argparse
import collections
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from benchmarks import network_faults
from rnd_agents import run_files
from rnd_agents.training import wandb_logger

_BINDINGS = (
    'train_eval.loggers = [@TensorBoardLogger(), @WandbLogger(),'
    ' @MLflowLogger()]',
    'DEEP_SEA_SIZE = 6',
    'train_eval.warm_up_env_steps = 512',
    'train_eval.num_environments = 4',
    'train_eval.checkpoint_interval_iterations = 2',
    'train_eval.eval_interval_env_steps = 5000',
    'train_eval.record_video = False',
    'train_eval.save_policies = False',
)


def _expected(root_dir):
  """Counter of (name, env_steps, value) of the files of a run."""
  found = collections.Counter()
  for file in (run_files.METRICS_FILE, run_files.TIMINGS_FILE):
    for row in run_files.read_rows(root_dir, file):
      numbers = dict(row.values)
      if file == run_files.METRICS_FILE:
        numbers.update(iteration=row.iteration, env_steps=row.env_steps)
      for name, value in numbers.items():
        found[f'{row.phase}/{name}', row.env_steps, value] += 1
  return found


def _of_mlflow(uri):
  import mlflow

  client = mlflow.MlflowClient(uri)
  experiment = client.get_experiment_by_name('rnd_agents')
  found = collections.Counter()
  for run in client.search_runs([experiment.experiment_id]):
    for name in run.data.metrics:
      for metric in client.get_metric_history(run.info.run_id, name):
        found[name, metric.step, metric.value] += 1
  return found


def _of_wandb(root_dir):
  found = collections.Counter()
  for _, values in wandb_logger.read_history(root_dir):
    for name, value in values.items():
      if '/' in name and not isinstance(value, dict):
        found[name, values['env_steps'], float(value)] += 1
  return found


def _serve(folder):
  """Starts a server; returns it and its address."""
  with socket.create_server(('127.0.0.1', 0)) as free:
    port = free.getsockname()[1]
  server = subprocess.Popen(
      [
          sys.executable, '-m', 'mlflow', 'server', '--workers=1',
          f'--backend-store-uri=sqlite:///{folder}/mlflow.db',
          f'--artifacts-destination={folder}/artifacts',
          '--host=127.0.0.1', f'--port={port}',
      ],
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
      env=dict(os.environ, MLFLOW_SERVER_ENABLE_JOB_EXECUTION='false'),
      start_new_session=True,
  )
  uri = f'http://127.0.0.1:{port}'
  for _ in range(240):
    try:
      with urllib.request.urlopen(f'{uri}/health'):
        return server, uri
    except urllib.error.URLError:
      time.sleep(0.5)
  sys.exit('No server.')


def _start(root_dir, num_env_steps, log):
  bindings = (*_BINDINGS, f'train_eval.num_env_steps = {num_env_steps}')
  return subprocess.Popen(
      [
          sys.executable, '-m', 'train.train_eval', '--gin_file=deep_sea.gin',
          f'--root_dir={root_dir}',
          *(f'--gin_bindings={binding}' for binding in bindings),
      ],
      stdout=log,
      stderr=subprocess.STDOUT,
  )


def _run_under_fire(root_dir, kills, log):
  """Kills the run as often as asked, then lets it end."""
  for kill in range(kills):
    rows = network_faults.num_rows(root_dir)
    run = _start(root_dir, 10**9, log)
    while network_faults.num_rows(root_dir) <= rows and run.poll() is None:
      time.sleep(0.02)
    # A hand-over takes place each 10 s and takes a part of a second.
    time.sleep(random.choice([random.uniform(0, 1), random.uniform(0, 12)]))
    os.kill(run.pid, (signal.SIGKILL, signal.SIGTERM)[kill % 2])
    run.wait()
    print(f'kill {kill + 1}: {network_faults.num_rows(root_dir)} rows',
          flush=True)
  steps = run_files.read_rows(root_dir)[-1].env_steps
  if _start(root_dir, steps + 20_000, log).wait():
    sys.exit('The run failed.')


def main():
  """Prints what the trackers have."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--kills', type=int, default=20)
  parser.add_argument('--seed', type=int, default=0)
  arguments = parser.parse_args()
  random.seed(arguments.seed)
  with tempfile.TemporaryDirectory() as folder:
    server, uri = _serve(folder)
    os.environ.update(MLFLOW_TRACKING_URI=uri, WANDB_MODE='offline')
    root_dir = os.path.join(folder, 'run')
    try:
      with open(os.path.join(folder, 'log'), 'w', encoding='utf-8') as log:
        _run_under_fire(root_dir, arguments.kills, log)
      expected = _expected(root_dir)
      for name, found in (
          ('MLflow', _of_mlflow(uri)),
          ('W&B', _of_wandb(root_dir)),
      ):
        print(
            f'{name}: {found.total()} numbers of {expected.total()},'
            f' {(expected - found).total()} missing,'
            f' {(found - expected).total()} too many'
        )
    finally:
      os.killpg(server.pid, signal.SIGTERM)
      server.wait()


if __name__ == '__main__':
  main()
