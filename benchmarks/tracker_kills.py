# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills a run with W&B and MLflow at random moments; reads both back.

    python -m benchmarks.tracker_kills [--kills=20]

MLflow is a server of its own on this machine, with SQLite; W&B writes its
files offline. The run, whose agent learns nothing so that it starts sooner, is
ended by SIGKILL and SIGTERM in turns and started again. At the end each number
of metrics.csv and timings.csv must be in both trackers, once, and nothing else.
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
from rnd_agents.tracking import wandb_logger
from tests import tiny_runs

_LOGGERS = (
    'train_eval.loggers = [@TensorBoardLogger(), @WandbLogger(),'
    ' @MLflowLogger()]'
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
      if name.count('/') == 1 and isinstance(value, (int, float)):  # No image.
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


def _train(root_dir, num_env_steps):
  """What the process to be killed does."""
  settings = (*tiny_runs.COUNTING_SETTINGS, _LOGGERS)
  tiny_runs.train(root_dir, num_env_steps, settings=settings)


def _run_under_fire(root_dir, kills):
  """Kills the run as often as asked, then lets it end."""
  processes = tiny_runs.context()

  def start(num_env_steps):
    process = processes.Process(target=_train, args=(root_dir, num_env_steps))
    process.start()
    return process

  for kill in range(kills):
    rows = network_faults.num_rows(root_dir)
    run = start(10**9)
    while network_faults.num_rows(root_dir) <= rows and run.is_alive():
      time.sleep(0.02)
    # A hand-over begins each 10 s and takes a part of a second.
    time.sleep(random.choice([random.uniform(0, 1), random.uniform(0, 12)]))
    os.kill(run.pid, (signal.SIGKILL, signal.SIGTERM)[kill % 2])
    run.join()
    print(
        f'kill {kill + 1}: {network_faults.num_rows(root_dir)} rows', flush=True
    )
  run = start(run_files.read_rows(root_dir)[-1].env_steps + 2_000)
  run.join()
  if run.exitcode:
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
      _run_under_fire(root_dir, arguments.kills)
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
