# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goes on with a run that lies in its folder, or says why not."""

from absl import logging

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.networks import precision
from rnd_agents.training import metrics_log
from rnd_agents.training import run as run_lib
from rnd_agents.training import run_directory
from rnd_agents.training import settings


def resume_or_record(run, now):
  """Goes on from a checkpoint if there is one, and records the settings.

  Args:
    run: A `run.Run`.
    now: What `settings.operative` returned.

  Returns:
    The `checkpoints.Snapshot` that the run goes on from, or None.

  Raises:
    SetupError: If settings were changed that cannot be, or in vain.
  """
  snapshot = run.checkpoints.find()
  has_rows = metrics_log.has_rows(run.root_dir)
  if snapshot is None and has_rows:
    raise errors.SetupError(
        f'{run.root_dir} holds results and no checkpoint to go on from. Move'
        ' them away, or choose another --root_dir.'
    )
  harmless = []
  if snapshot is not None:
    before = run_files.read_run_record(run.root_dir).get('settings', {})
    fatal, harmless, of_learning = settings.changes(before, now)
    if fatal:
      _forget_untrained(run, snapshot, fatal, has_rows)
      snapshot, harmless = None, []
  if snapshot is not None:
    _restore(run, snapshot)
    if of_learning and run.is_done:
      raise errors.SetupError(
          'The run is finished; these changes would have no effect:'
          f' {"; ".join(of_learning)}. Choose another --root_dir, or raise'
          ' num_env_steps.'
      )
    for change in harmless:
      logging.warning('Going on with a change: %s.', change)
    logging.info('Resuming at %d environment steps.', run.counters.env_steps)
  run_directory.record_run(
      run.root_dir,
      now,
      harmless,
      seed=run.config.seed,
      env_steps=run.counters.env_steps,
      # What compute_dtype = 'auto' came to, where that was asked for.
      auto_compute_dtype=precision.layer_policy(precision.AUTO).compute_dtype,
  )
  return snapshot


def _restore(run, snapshot):
  if snapshot.state.get('version') != run_lib.STATE_VERSION:
    raise errors.SetupError(
        f'The checkpoint {snapshot.folder} is of another version of'
        ' rnd_agents. Go on with that version, or choose another --root_dir.'
    )
  run.restore(snapshot)


def _forget_untrained(run, snapshot, fatal, has_rows):
  """Forgets a run with other settings that has not begun to learn."""
  pretraining_steps = snapshot.state.get('loop', {}).get('pretraining_steps', 0)
  if snapshot.iteration or pretraining_steps or has_rows:
    raise errors.SetupError(
        f'The run in {run.root_dir} cannot go on with other settings:'
        f' {"; ".join(fatal)}. Set them back, or choose another --root_dir.'
    )
  logging.warning(
      'Nothing was trained yet. The run begins anew with other settings: %s.',
      '; '.join(fatal),
  )
  run.checkpoints.forget_after(-1)
