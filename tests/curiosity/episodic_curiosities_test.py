# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the curiosities with a memory of the episode, against loops."""

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents.curiosity import episodic_memory
from tests.curiosity import random_rollouts

_SPECS = random_rollouts.SPECS
of_trajectory = curiosity.Transitions.of_trajectory


def _rollouts(seed):
  for rollout in random_rollouts.cut(random_rollouts.rows(seed)):
    yield of_trajectory(rollout)


def _compiled(function, in_graph):
  return tf.function(function, autograph=False) if in_graph else function


@pytest.mark.parametrize('in_graph', [False, True])
def test_novel_d_equals_a_loop(in_graph):
  tf.keras.utils.set_random_seed(0)
  novel_d = curiosity.create_novel_d(*_SPECS)
  bonus_of = _compiled(novel_d.bonus, in_graph)
  update = _compiled(novel_d.update_statistics, in_graph)
  seen = {}
  paid = []
  for transitions in _rollouts(0):
    bonus = bonus_of(transitions).numpy()
    for b, t, begins, place, following in random_rollouts.by_environment(
        transitions
    ):
      if begins:
        seen[b] = {tuple(place)}
      before, after = (
          novel_d.novelty.errors(tf.constant(x[np.newaxis])).numpy()[0]
          for x in (place, following)
      )
      expected = max(after - 0.5 * before, 0)
      expected *= tuple(following) not in seen[b]
      seen[b].add(tuple(following))
      np.testing.assert_allclose(bonus[b, t], expected, rtol=1e-4, atol=1e-7)
      paid.append(expected > 0)
    update(transitions)  # The whitening, too, is another one afterwards.
  assert 0.2 < np.mean(paid) < 0.8


def test_novel_d_without_its_two_changes_is_rnd():
  tf.keras.utils.set_random_seed(0)
  rnd = curiosity.create_rnd(*_SPECS)
  novel_d = curiosity.NovelD(rnd, alpha=0, first_visits_only=False)
  for transitions in _rollouts(1):
    np.testing.assert_array_equal(
        novel_d.bonus(transitions), rnd.bonus(transitions)
    )
    np.testing.assert_array_equal(
        novel_d.loss(transitions.flatten()), rnd.loss(transitions.flatten())
    )
    novel_d.update_statistics(transitions)
  assert not novel_d.episodic_spec


def test_a_text_does_not_decide_which_visits_pay():
  with pytest.raises(errors.InvalidType, match='NovelD.first_visits_only .*Tr'):
    curiosity.NovelD(curiosity.create_rnd(*_SPECS), first_visits_only='False')


def test_places_of_one_key_are_one_place():
  novel_d = curiosity.NovelD(
      curiosity.create_rnd(*_SPECS), key_fn=lambda observation: observation > 0
  )
  (transitions, *_) = _rollouts(2)
  wanted = np.zeros_like(transitions.valid)
  seen = {}
  for b, t, begins, place, following in random_rollouts.by_environment(
      transitions
  ):
    if begins:
      seen[b] = {tuple(place > 0)}
    wanted[b, t] = tuple(following > 0) not in seen[b]
    seen[b].add(tuple(following > 0))
  valid = transitions.valid.numpy()
  np.testing.assert_array_equal(
      novel_d.episodic(transitions).numpy()[valid], wanted[valid]
  )


@pytest.mark.parametrize('in_graph', [False, True])
def test_e3b_equals_a_loop(in_graph):
  tf.keras.utils.set_random_seed(0)
  with gin.unlock_config():
    gin.bind_parameter('InverseModel.num_features', 5)
    gin.bind_parameter('EllipticalBonus.ridge', 0.2)
    e3b = curiosity.create_e3b(*_SPECS)
  bonus_of = _compiled(e3b.bonus, in_graph)
  update = _compiled(e3b.update_statistics, in_graph)
  covariances = {}
  for transitions in _rollouts(3):
    bonus = bonus_of(transitions).numpy()

    def features(place):
      f = e3b.model.features(tf.constant(place[np.newaxis]))
      return f.numpy()[0].astype(np.float64)

    for b, t, begins, place, following in random_rollouts.by_environment(
        transitions
    ):
      if begins:
        f = features(place)
        covariances[b] = 0.2 * np.eye(5) + np.outer(f, f)
      f = features(following)
      expected = f @ np.linalg.inv(covariances[b]) @ f
      np.testing.assert_allclose(bonus[b, t], expected, rtol=2e-4)
      covariances[b] += np.outer(f, f)
    update(transitions)


@pytest.mark.parametrize('in_graph', [False, True])
def test_neighbor_bonus_equals_a_loop(in_graph):
  tf.keras.utils.set_random_seed(0)
  gin.bind_parameter('InverseModel.num_features', 5)
  gin.bind_parameter('NeighborBonus.num_neighbors', 3)
  gin.bind_parameter('NeighborBonus.max_rows', 4)
  # So that some rows are like too many others, and pay nothing.
  gin.bind_parameter('NeighborBonus.max_similarity', 1.5)
  module = curiosity.create_ngu_episodic(*_SPECS)
  bonus_of = _compiled(module.bonus, in_graph)
  update = _compiled(module.update_statistics, in_graph)

  def features(place):
    f = module.model.features(tf.constant(place[np.newaxis]))
    return f.numpy()[0].astype(np.float64)

  remembered, all_distances, paid = {}, [], []
  for transitions in _rollouts(3):
    bonus = bonus_of(transitions).numpy()
    within = {b: [] for b in range(len(bonus))}  # Of this rollout.
    nearest = {}
    for b, t, begins, place, following in random_rollouts.by_environment(
        transitions
    ):
      if begins:
        remembered[b], within[b] = [], [features(place)]
      f = features(following)
      # The memory forgets between calls alone.
      nearest[b, t] = sorted(
          np.sum((f - g) ** 2) for g in remembered[b] + within[b]
      )[:3]
      within[b].append(f)
      all_distances += nearest[b, t]
    mean = np.mean(all_distances)
    for (b, t), distances in nearest.items():
      kernels = [
          1e-3 / (max(d / mean - 8e-3, 0) + 1e-3) for d in distances
      ]
      similarity = np.sqrt(sum(kernels)) + 1e-3
      expected = 0 if similarity > 1.5 else 1 / similarity
      np.testing.assert_allclose(bonus[b, t], expected, rtol=2e-3)
      paid.append(expected > 0)
    for b, rows in within.items():
      remembered[b] = (remembered[b] + rows)[-4:]
    update(transitions)
  assert 0.3 < np.mean(paid) < 0.99


def _created(name):
  tf.keras.utils.set_random_seed(0)
  if name == 'product':
    return curiosity.create_product(
        *_SPECS, [curiosity.create_novel_d, curiosity.create_e3b]
    )
  return getattr(curiosity, f'create_{name}')(*_SPECS)


def test_watching_row_by_row_equals_rollouts(monkeypatch):
  # Whitening that follows rows is another one than that of rollouts.
  monkeypatch.setattr(
      curiosity.SeenObservations, 'update', lambda *arguments: None
  )
  by_rollout, by_row = _created('product'), _created('product')
  rows = random_rollouts.rows(4)
  previous = curiosity.PreviousRow(
      tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape[2:], x.dtype), rows)
  )
  watched = []
  for t in range(rows.step_type.shape[1]):
    row = tf.nest.map_structure(lambda x, t=t: x[:, t], rows)
    watched.append(by_row.watch(previous.join(row)))
  expected = []
  for rollout in random_rollouts.cut(rows):
    expected.append(by_rollout.episodic(of_trajectory(rollout)))
    by_rollout.update_statistics(of_trajectory(rollout))
  valid = of_trajectory(rows).valid.numpy()
  for leaf in range(len(tf.nest.flatten(by_row.episodic_spec))):
    actual = np.stack([tf.nest.flatten(x)[leaf] for x in watched[1:]], axis=1)
    wanted = np.concatenate(
        [tf.nest.flatten(x)[leaf] for x in expected], axis=1
    )
    np.testing.assert_allclose(actual[valid], wanted[valid], rtol=1e-4)
    assert len(np.unique(wanted[valid])) > 1


def _leaves(episodic):
  return np.stack(tf.nest.flatten(episodic), axis=-1)


@pytest.fixture
def whole(monkeypatch):
  """Random rows, and what curiosities know of all transitions at once."""
  monkeypatch.setattr(
      curiosity.SeenObservations, 'update', lambda *arguments: None
  )
  rows = random_rollouts.rows(7, num_rows=19)
  known = _created('product').episodic(of_trajectory(rows))
  return rows, _leaves(known)


def test_a_memory_goes_on_behind_padding(whole):
  rows, wanted = whole
  module = _created('product')
  found = [[] for _ in wanted]
  for rollout in random_rollouts.cut_unevenly(rows, seed=8):
    transitions = of_trajectory(rollout)
    leaves = _leaves(module.episodic(transitions))
    for b, t, *_ in random_rollouts.by_environment(transitions):
      found[b].append(leaves[b, t])
    module.update_statistics(transitions)
  valid = of_trajectory(rows).valid.numpy()
  for b, of_environment in enumerate(found):
    np.testing.assert_allclose(of_environment, wanted[b][valid[b]], rtol=1e-4)


def test_a_memory_goes_on_where_an_environment_has_no_row(whole):
  rows, wanted = whole
  module = _created('product')
  num_environments, num_rows = rows.step_type.shape
  previous = curiosity.PreviousRow(
      tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape[2:], x.dtype), rows)
  )

  @tf.function
  def watch(row, has_row):
    transitions = previous.join(row, has_row)
    return transitions.valid, module.watch(transitions)

  rng, at = np.random.default_rng(10), np.zeros(num_environments, int)
  while (at < num_rows).any():
    has_row = (at < num_rows) & (rng.random(num_environments) < 0.5)
    # What is no row may be anything.
    columns = np.where(has_row, at, rng.integers(num_rows, size=len(at)))
    row = tf.nest.map_structure(
        lambda x, at=columns: tf.gather(x, at, batch_dims=1), rows
    )
    valid, episodic = watch(row, tf.constant(has_row))
    for b in np.flatnonzero(valid):
      np.testing.assert_allclose(
          _leaves(episodic)[b], wanted[b, at[b] - 1], rtol=1e-4
      )
    at += has_row


@pytest.mark.parametrize('name', ['novel_d', 'e3b', 'product'])
def test_replayed_transitions_bring_their_part_of_the_episode(name):
  module = _created(name)
  rollout = next(random_rollouts.cut(random_rollouts.rows(5)))
  transitions = of_trajectory(rollout)
  with pytest.raises(errors.InvalidValue, match='episodic'):
    module.rewards(transitions)
  episodic = module.episodic(transitions)
  stored = tf.nest.map_structure(
      lambda x: tf.concat([tf.zeros_like(x[:, :1]), x], axis=1), episodic
  )
  replayed = of_trajectory(rollout.replace(policy_info=dict(episodic=stored)))
  wanted = module.normalize_bonus(module.bonus(transitions))
  wanted = tf.where(transitions.valid, wanted, 0.0).numpy().ravel()
  flat = replayed.flatten()
  rewards = module.rewards(flat, module.constants(flat))
  np.testing.assert_allclose(rewards, wanted, rtol=1e-4, atol=1e-6)
  assert np.count_nonzero(wanted) > 5


def test_memories_survive_a_restart(tmp_path):
  first, *others = _rollouts(6)
  module = _created('product')
  module.update_statistics(first)
  checkpoint = tf.train.Checkpoint(module=module)
  path = checkpoint.write(str(tmp_path / 'checkpoint'))
  wanted = module.bonus(others[0])
  for restores in (True, False):
    again = _created('product')
    if restores:
      tf.train.Checkpoint(module=again).read(path).assert_consumed()
    is_equal = np.array_equal(again.bonus(others[0]), wanted)
    assert is_equal == restores


def test_another_number_of_environments_begins_anew():
  differ = False
  for seed in range(4):
    module = _created('novel_d')
    first, second, *_ = _rollouts(seed)
    module.update_statistics(first)
    fewer = tf.nest.map_structure(
        lambda x: None if x is None else x[:2], second
    )
    with_memory = module.episodic(second).numpy()[:2]
    without = module.episodic(fewer).numpy()
    assert (without >= with_memory).all()
    differ |= (without > with_memory).any()
  assert differ


@pytest.mark.parametrize(
    'novelty_fn', [curiosity.create_icm, curiosity.create_lpm]
)
def test_novel_d_refuses_a_novelty_of_more_than_observations(novelty_fn):
  with pytest.raises(errors.InvalidValue, match='create_novel_d.novelty_fn'):
    curiosity.create_novel_d(*_SPECS, novelty_fn=novelty_fn)
  # Only next observations are judged.
  gin.bind_parameter('NovelD.alpha', 0.0)
  curiosity.create_novel_d(*_SPECS, novelty_fn=novelty_fn)


def test_bare_observations_are_refused():
  for name in ('novel_d', 'e3b', 'icm'):
    with pytest.raises(errors.InvalidValue, match='needs whole transitions'):
      _created(name).bonus(curiosity.Transitions(tf.zeros([4, 5, 3])))


@pytest.mark.parametrize('in_graph', [False, True])
def test_fingerprints_are_of_all_entries_and_of_the_sign_of_no_zero(in_graph):
  call = tf.function(episodic_memory.fingerprints)
  hashes = (call if in_graph else episodic_memory.fingerprints)(
      dict(
          a=tf.constant([[1.0, 1.0, 0.0, -0.0, 2.0]])[..., tf.newaxis],
          b=tf.constant([[True, False, True, True, True]]),
          c=tf.constant([[7, 7, 7, 7, 7]], tf.int64),
          d=tf.constant([[-1, -1, 3, 3, 3]], tf.int8),
      )
  ).numpy()[0]
  assert hashes[2] == hashes[3]
  assert len(set(hashes)) == 4
