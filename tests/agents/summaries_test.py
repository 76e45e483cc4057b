# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What one `train` leaves for TensorBoard."""

import glob

import numpy as np
import tensorflow as tf
from tf_agents.utils import common

from rnd_agents.agents import optimizers
from tests.agents import agent_test_utils


def _read(folder):
  """(step, value) of every scalar, by tag, and the tags of histograms."""
  scalars, histograms = {}, set()
  (path,) = glob.glob(f'{folder}/*')
  for record in tf.data.TFRecordDataset(path):
    event = tf.compat.v1.Event.FromString(record.numpy())
    for value in event.summary.value:
      if value.metadata.plugin_data.plugin_name == 'histograms':
        histograms.add(value.tag)
      elif value.metadata.plugin_data.plugin_name == 'scalars':
        number = float(tf.make_ndarray(value.tensor))
        scalars.setdefault(value.tag, []).append((event.step, number))
  return scalars, histograms


def test_legacy_optimizers_with_a_schedule():
  schedule = tf.keras.optimizers.schedules.PolynomialDecay(
      1e-3, decay_steps=10, end_learning_rate=0.0
  )
  # After 6 of 10 steps: that of the next one, or of the last.
  for optimizer, expected in (
      (tf.keras.optimizers.legacy.Adam(schedule), 4e-4),
      (tf.keras.optimizers.Adam(schedule), 5e-4),
      (tf.compat.v1.train.AdamOptimizer(lambda: 3e-4), 3e-4),
  ):
    agent = agent_test_utils.build_agent(optimizer=optimizer)
    agent.train(agent_test_utils.rollout(agent))
    np.testing.assert_allclose(
        optimizers.learning_rate(optimizer), expected, rtol=1e-5
    )


def test_scalars_of_every_update_at_the_step_after_it(tmp_path):
  agent = agent_test_utils.build_agent(
      optimizer=tf.keras.optimizers.Adam(3e-3), summarize_grads_and_vars=True
  )
  experience = agent_test_utils.rollout(agent)
  train = common.function(agent.train)
  writer = tf.summary.create_file_writer(str(tmp_path))
  with writer.as_default(), tf.summary.record_if(True):
    infos = [train(experience).extra for _ in range(2)]
  writer.close()

  scalars, histograms = _read(tmp_path)
  for name in infos[0]._fields:
    scope = 'Losses' if name.endswith('_loss') else 'RNDPPO'
    written = scalars.pop(f'{scope}/{name}')
    expected = [(6, getattr(infos[0], name)), (12, getattr(infos[1], name))]
    np.testing.assert_allclose(written, expected, rtol=1e-6, err_msg=name)
  rates = scalars.pop('LearningRate/learning_rate')
  np.testing.assert_allclose(rates, [(6, 3e-3), (12, 3e-3)], rtol=1e-6)
  assert not scalars
  assert len(histograms) == 8 + 4


def _written(folder, agent, *experiences):
  """(step, value) of every scalar of updates, by name."""
  writer = tf.summary.create_file_writer(str(folder))
  train = common.function(agent.train)
  with writer.as_default(), tf.summary.record_if(True):
    for experience in experiences:
      train(experience)
  writer.close()
  scalars, _ = _read(folder)
  return {tag.partition('/')[2]: found for tag, found in scalars.items()}


def test_episodes_have_a_bonus_only_where_one_ended(tmp_path):
  agent = agent_test_utils.build_agent()
  running, ending = (
      agent_test_utils.rollout(agent, rows)
      for rows in (['FMMMMMMMM'] * 4, ['FMMTFMMMM'] * 4)
  )
  scalars = _written(tmp_path, agent, running, ending)
  (_, none), (step, some) = scalars['num_ended_episodes']
  assert (none, some) == (0.0, 4.0)
  # A 0 would be the sum of an episode in which nothing was new.
  ((at, value),) = scalars['intrinsic_episode_return_mean']
  assert at == step and value > 0.0
  assert len(scalars['intrinsic_reward_mean']) == 2


def test_a_part_of_a_rollout_leaves_no_statistics_of_it(tmp_path):
  agent = agent_test_utils.build_agent(
      compute_value_and_advantage_in_train=False,
      update_normalizers_in_train=False,
      num_epochs=1,
  )
  rows = agent.preprocess_sequence(agent_test_utils.rollout(agent))
  scalars = _written(tmp_path, agent, rows)
  assert 'rnd_loss' in scalars and 'update_size' in scalars
  # They were not computed: a mean bonus of 0 would be a fault.
  unknown = ['bonus_mean', 'extrinsic_return_mean', 'num_ended_episodes']
  assert not scalars.keys() & unknown
