# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trials of a study: their settings, and their evaluations at equal steps."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import math
import os
from typing import Any, NamedTuple

import numpy as np

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.plotting import statistics

# A run may record it from its first success on; before it is 0.
SUCCESS_RATE = 'success_rate'
KINDS = ('uniform', 'log_uniform', 'integer', 'log_integer', 'choice')


class Values(NamedTuple):
  """Values of a setting: a kind of `KINDS`, and texts as gin has them."""
  kind: str
  arguments: list[str]


Space = dict[str, Values]  # By the name of the setting.


class Search(NamedTuple):
  """Flags of train.tune that a study keeps while it lasts."""
  gin_files: list[str]
  gin_bindings: list[str]
  space: Space
  seeds: list[int]
  metric: str
  prune_after_env_steps: int
  sampler_seed: int


class Schedule(NamedTuple):
  """When runs evaluate and end: settings of `train_eval`."""
  eval_interval_env_steps: int
  num_env_steps: int
  stop_at_success_rate: float | None
  stop_at_return: float | None


class Point(NamedTuple):
  """Interquartile mean over seeds; `is_last` if none will have a later one."""
  env_steps: int
  value: float
  is_last: bool


def bindings_of(values: Mapping[str, Any]) -> list[str]:
  """Returns gin bindings; values that are texts are as gin writes them."""
  return [f'{name} = {value}' for name, value in values.items()]


def has_diverged(root_dir: str) -> bool:
  """Returns whether a run has ended since its numbers were not finite."""
  message = run_files.read_status(root_dir).get('message') or ''
  return message.startswith(f'{errors.Diverged.__name__}:')


def read_points(
    root_dirs: Sequence[str], metric: str, schedule: Schedule
) -> tuple[list[Point], bool]:
  """Reads the evaluations that all runs of a trial have so far.

  Steps are multiples of the interval, or the end: an evaluation follows the
  iteration that reaches its multiple, so that settings decide by how much it is
  later. A run that ended early by its success keeps its last value. Evaluations
  without a success rate have one of 0.

  Returns:
    The points, and whether the next one lacks only values of runs that have
    diverged.
  """
  # Before the evaluations, which may follow while they are read.
  have_diverged = list(map(has_diverged, root_dirs))
  curves, are_done = zip(
      *(_read_curve(root_dir, metric, schedule) for root_dir in root_dirs))
  points: list[Point] = []
  steps = sorted({step for curve in curves for step in curve})
  for step in steps:
    if any(step not in curve and step < max(curve, default=0)
           for curve in curves):
      continue  # One iteration passed two multiples.
    missing = [
        i for i, curve in enumerate(curves)
        if step not in curve and not are_done[i]]
    if missing:
      return points, all(have_diverged[i] for i in missing)
    scores = [curve.get(step, curve[max(curve)]) for curve in curves]
    points.append(Point(
        step, float(statistics.interquartile_mean(np.array(scores))),
        all(are_done) and step == steps[-1]))
  return points, False


def _read_curve(
    root_dir: str, metric: str, schedule: Schedule
) -> tuple[dict[int, float], bool]:
  """Returns evaluations by steps, and whether there will be no more."""
  curve, is_done = {}, False
  rows: Iterator[dict[str, str]] = iter(())
  with contextlib.suppress(errors.UserError):  # A run that just begins.
    _, rows = run_files.read_table(
        os.path.join(root_dir, run_files.METRICS_FILE))
  interval, end, *goals = schedule
  for row in rows:
    cell = row.get(metric) or ('0' if metric == SUCCESS_RATE else 'nan')
    if row['phase'] == run_files.EVAL and math.isfinite(float(cell)):
      env_steps = int(float(row['env_steps']))
      step = env_steps // interval * interval
      curve[end if env_steps >= end else step] = float(cell)
      reached = row.get(SUCCESS_RATE), row.get('return_mean')
      is_done = env_steps >= end or any(
          least is not None and value and float(value) >= least
          for value, least in zip(reached, goals, strict=True))
  return curve, is_done
