# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The model card of a shared policy, with the results of its experiment."""

import ast
from collections.abc import Mapping, Sequence
import glob
import json
import os
from typing import Any, NamedTuple

import numpy as np

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents import version

_METRICS = ('return_mean', 'success_rate')
_CARD = '''---
library_name: rnd_agents
tags:
- reinforcement-learning
- deep-reinforcement-learning
- tf-agents
- {env}
model-index:
- name: {name}
  results:
  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      name: {env}
      type: {env}
    metrics:
{metrics}
---
# {title}

A policy for {title}, trained by rnd_agents {version} with the settings in
`operative_config.gin` and seed {seed}: `{policy}` of the run.

## Results

Interquartile mean of {evaluation} over the seeds of the experiment, with
its 95 % bootstrap interval.

{table}

{pictures}

## Load it without rnd_agents

```sh
pip install tensorflow=={tensorflow} tensorflow-probability huggingface_hub
pip install tf-keras  # Beside TensorFlow 2.16 and later.
pip install --no-deps tf-agents==0.19.0
```

```python
import importlib.util
import os

if importlib.util.find_spec('tf_keras'):
  os.environ['TF_USE_LEGACY_KERAS'] = '1'
import huggingface_hub
import tensorflow as tf
import tensorflow_probability  # The types of its action distributions.
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

folder = huggingface_hub.snapshot_download('{repo_id}') + '/policies/policy'
policy = tf.saved_model.load(folder)
specs = policy_saver.specs_from_collect_data_spec(
    tensor_spec.from_pbtxt_file(folder + '/policy_specs.pbtxt'))
observation = tf.nest.map_structure(  # Yours, a batch of one.
    lambda spec: tf.zeros([1, *spec.shape], spec.dtype),
    specs['time_step_spec'].observation)
time_step = ts.restart(observation, batch_size=1)
step = policy.action(time_step, policy.get_initial_state(1))
print(step.action)  # And step.state for the next call.
```

## Play it with rnd_agents

```sh
python -m train.evaluate --policy_dir=hf://{repo_id} --episodes=20
```

A SavedModel and a gin file are programs: load those of people whom you trust.
'''


# What the results are of, by the name of the policy.
_EVALUATIONS = {
    'policy': 'the last evaluation',
    'best_policy': (
        'the best evaluation of each run, by which its\npolicy was chosen,'
    ),
}


class Score(NamedTuple):
  """A metric of one evaluation a seed, over the seeds of an experiment.

  Attributes:
    iqm: Interquartile mean.
    interval: Ends of the 95 % interval; None of one seed.
    seeds: Number of seeds.
    env_steps: Environment steps of the evaluation.
    of_this_run: Value of the run whose policy is shared.
  """
  iqm: float
  interval: tuple[float, float] | None
  seeds: int
  env_steps: int
  of_this_run: float

  def __str__(self) -> str:
    ends = self.interval and ' to '.join(f'{x:.4g}' for x in self.interval)
    return f'{self.iqm:.4g} ({ends or "one seed, no interval"})'


def read_results(run_dir: str, policy: str) -> dict[str, Score]:
  """Returns results of a run and of its finished seeds in the folder above.

  Those of the last evaluation, or for `best_policy` of the one with the best
  mean return of each run. A success rate that an evaluation lacks is 0 if
  another evaluation or run has one.

  Args:
    run_dir: Folder of the run.
    policy: Name of the policy in its folder `policies`.

  Raises:
    UserError: If the folder has no evaluation of a run.
  """
  from rnd_agents.plotting import statistics

  def settings(folder: str) -> dict[str, Any]:
    found = run_files.read_run_record(folder).get('settings') or {}
    return {name: x for name, x in found.items() if name != '--seed'}

  run_dir = os.path.abspath(run_dir)
  parent = glob.escape(os.path.dirname(run_dir))
  folders = [run_dir] + [
      folder for folder in sorted(glob.glob(os.path.join(parent, '*')))
      if folder != run_dir and settings(folder) == settings(run_dir)
      and run_files.read_status(folder).get('state') == 'finished']
  if not run_files.has_metric(run_dir, run_files.EVAL, 'return_mean'):
    raise errors.InvalidValue(f'{run_dir} has no evaluation yet.')
  env_steps = [_evaluation_of(folder, policy) for folder in folders]
  rows = [run_files.read_rows(folder) for folder in folders]
  results = {}
  for metric in _METRICS:
    curves = [run_files.series(each, run_files.EVAL, metric) for each in rows]
    if not any(values.size for _, values in curves):
      continue
    # Success rates may begin with the first success; before it they are 0.
    scores = [
        float(dict(zip(*curve, strict=True)).get(at, 0.0))
        for at, curve in zip(env_steps, curves, strict=True)]
    interval = None
    if len(scores) > 1:
      low, high = statistics.bootstrap_interval(np.array(scores))
      interval = (float(low), float(high))
    results[metric] = Score(
        float(statistics.interquartile_mean(np.array(scores))), interval,
        len(scores), env_steps[0], scores[0])
  return results


def _evaluation_of(folder: str, policy: str) -> int:
  """Returns the environment steps of the evaluation of a policy of a run.

  It is the last one, or the first with the best mean return.
  """
  env_steps, returns = run_files.read_metrics(
      folder, run_files.EVAL, 'return_mean')
  at = int(np.argmax(returns)) if policy == 'best_policy' else -1
  return int(env_steps[at])


def render(
    run_dir: str,
    policy: str,
    repo_id: str,
    results: Mapping[str, Score],
    pictures: Sequence[str],
) -> str:
  """Returns the text of the card.

  Args:
    run_dir: Folder of the run.
    policy: Name of the policy in its folder `policies`.
    repo_id: OWNER/NAME on the Hub.
    results: From `read_results`.
    pictures: Names of pictures beside the card.
  """
  record = run_files.read_run_record(run_dir)
  settings = record.get('settings') or {}
  env = next(
      (settings[name] for name in settings
       if name.endswith('load_environment.env')), "'unknown'")
  try:
    env = str(ast.literal_eval(env))
  except (SyntaxError, ValueError):  # A class of the user.
    env = env.lstrip('@')
  metrics = ''.join(
      f'    - type: {name}\n      value: {json.dumps(str(result))}\n'
      f'      name: {name}\n'
      for name, result in results.items())
  rows = ['| metric | all seeds | seeds | this run | environment steps |',
          '|---|---|---|---|---|']
  rows += [
      f'| {name} | {result} | {result.seeds} | {result.of_this_run:.4g} |'
      f' {result.env_steps:,} |' for name, result in results.items()]
  return _CARD.format(
      env=json.dumps(env),
      title=env,
      name=json.dumps(repo_id.rpartition('/')[2]),
      repo_id=repo_id,
      policy=policy,
      evaluation=_EVALUATIONS.get(
          policy, 'the last evaluation, of `policy` and not of this one,'
      ),
      seed=record.get('seed', 'unknown'),
      version=version.__version__,
      tensorflow=(record.get('packages') or {}).get('tensorflow', 'unknown'),
      metrics=metrics.rstrip(),
      table='\n'.join(rows),
      pictures='\n'.join(f'![{name}]({name})' for name in pictures),
  )
