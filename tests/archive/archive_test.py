# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the archive against a slow, obvious one."""

import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.archive import archive as archive_lib


class _SlowArchive:
  """Whole trajectories in a dict."""

  def __init__(self):
    self.best = {}  # (world, key): (score, length, actions).
    self.visits = {}

  def offer(self, world, key, actions, score):
    place = world, key
    self.visits[place] = self.visits.get(place, 0) + 1
    known = self.best.get(place)
    if known is None or (score, -len(actions)) > (known[0], -known[1]):
      self.best[place] = score, len(actions), actions
      return True
    return False


def _random_walks(archive, slow, rng, num_walks):
  """Walks from chosen cells; checks every answer of the archive."""
  for _ in range(num_walks):
    cell = int(archive.choose(1, rng)[0])
    world = int(archive.column('world')[cell])
    assert archive.keys[cell] is not archive_lib.ENDED
    node, pending = int(archive.column('node')[cell]), b''
    score, _, actions = slow.best[world, archive.keys[cell]]
    for step in range(8):
      action = bytes([rng.integers(3)])
      pending, actions = pending + action, actions + action
      score += float(rng.integers(-1, 2))
      ended = step == 7 and rng.random() < 0.3
      key = archive_lib.ENDED if ended else int(rng.integers(30))
      kept = slow.offer(world, key, actions, score)
      found = archive.offer(world, key, node, pending, score, len(actions))
      assert (found is not None) == kept
      if kept:
        node, pending = found, b''
    archive.sweep(is_due_only=rng.random() < 0.9)


def _archive(num_worlds=2, **kwargs):
  archive, slow = archive_lib.Archive(**kwargs), _SlowArchive()
  for world in range(num_worlds):
    archive.add_world(-1)
    slow.offer(world, -1, b'', 0.0)
  return archive, slow


def _assert_equal(archive, slow):
  places = list(zip(archive.column('world').tolist(), archive.keys))
  assert sorted(map(str, places)) == sorted(map(str, slow.best))
  for cell, place in enumerate(places):
    score, length, actions = slow.best[place]
    assert archive.column('score')[cell] == score
    assert archive.column('length')[cell] == length
    node = int(archive.column('node')[cell])
    assert archive.actions_to(node) == actions
    assert archive.column('visits')[cell] == slow.visits[place]


@pytest.mark.parametrize('seed', range(3))
def test_keeps_what_a_slow_archive_keeps(seed):
  archive, slow = _archive()
  rng = np.random.default_rng(seed)
  _random_walks(archive, slow, rng, 300)
  _assert_equal(archive, slow)
  archive.sweep(is_due_only=False)
  assert len(archive.nodes) <= 2 * len(archive)
  _assert_equal(archive, slow)
  for world in range(2):  # The best of whole episodes alone.
    score, length, _ = slow.best[world, archive_lib.ENDED]
    best = archive.best(world)
    assert archive.keys[best] is archive_lib.ENDED
    assert archive.column('score')[best] == score
    assert archive.column('length')[best] == length


def test_best_of_unfinished_episodes_too():
  archive, slow = _archive(1, counts_unfinished=True)
  _random_walks(archive, slow, np.random.default_rng(0), 100)
  best = archive.best(0)
  # The root is at hand without a step, and no trajectory to show.
  ranks = [
      (score, -length) for score, length, _ in slow.best.values() if length
  ]
  assert max(ranks) == (
      archive.column('score')[best], -archive.column('length')[best]
  )


def test_state_restores_and_continues_alike():
  archive, slow = _archive()
  rng = np.random.default_rng(1)
  _random_walks(archive, slow, rng, 50)
  state = archive.get_state()
  copy = archive_lib.Archive()
  copy.set_state(state)
  for each in (archive, copy):
    _random_walks(each, _copied(slow), np.random.default_rng(2), 50)
  ours, theirs = archive.get_state(), copy.get_state()
  assert ours.keys() == theirs.keys()
  for name, array in ours.items():
    np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(
    ('name', 'damage'),
    [
        ('node_parents', lambda parents: np.roll(parents, -1)),  # In a circle.
        ('node_parents', lambda parents: parents + 10**6),
        ('node_num_bytes', np.negative),
        ('length', np.negative),
        ('node', lambda nodes: nodes + 10**6),
        ('world', lambda worlds: worlds - 1),
        ('visits', lambda visits: visits[1:]),
        ('best', lambda best: [10**6 for _ in best]),
        ('next_node', lambda node: 0),
    ],
)
def test_refuses_a_state_whose_numbers_lead_nowhere(name, damage):
  archive, slow = _archive()
  _random_walks(archive, slow, np.random.default_rng(1), 50)
  state = archive.get_state()
  state[name] = damage(state[name])
  with pytest.raises(errors.SetupError, match='archive'):
    archive_lib.Archive().set_state(state)


def _copied(slow):
  copy = _SlowArchive()
  copy.best, copy.visits = dict(slow.best), dict(slow.visits)
  return copy


def test_choice_follows_visits_and_novelty():
  archive = archive_lib.Archive()
  root = archive.add_world('a')
  archive.offer(0, 'b', root, b'1', 0.0, 1)
  for _ in range(7):
    archive.offer(0, 'b', root, b'11', 0.0, 2)
  archive.offer(0, archive_lib.ENDED, root, b'2', 1.0, 1)
  archive.set_novelty(np.array([1]), np.array([4.0]))
  # 1 / sqrt(1 + 1), 4 / sqrt(8 + 1), and never where the episode has ended.
  expected = np.array([0.5**0.5, 4 / 3, 0.0])
  np.testing.assert_allclose(archive.weights(), expected)
  drawn = archive.choose(20_000, np.random.default_rng(0))
  shares = np.bincount(drawn, minlength=3) / 20_000
  np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.01)
  np.testing.assert_array_equal(archive.column('chosen'), shares * 20_000)


def test_worlds_are_equally_likely():
  archive = archive_lib.Archive()
  for _ in range(2):
    archive.add_world('a')
  for key in 'bcdefg':
    archive.offer(1, key, 1, b'1', 0.0, 1)
  drawn = archive.choose(20_000, np.random.default_rng(0))
  shares = np.bincount(drawn, minlength=8) / 20_000
  expected = [1 / 2] + [1 / 14] * 7
  np.testing.assert_allclose(shares, expected, atol=0.015)


def test_worlds_get_their_turn_when_others_are_solved():
  archive = archive_lib.Archive()
  for key in 'abc':
    archive.add_world(key)
  rng = np.random.default_rng(0)

  def chosen(target_score):
    return {
        int(cell)
        for _ in range(50)
        for cell in archive.choose(2, rng, target_score)
    }

  assert chosen(None) == {0, 1, 2}
  assert chosen(0.5) == {0, 1}
  archive.offer(0, archive_lib.ENDED, 0, b'1', 0.5, 1)
  assert chosen(0.6) == {0, 1}
  assert chosen(0.5) == {1, 2}
  for world in (1, 2):
    archive.offer(world, archive_lib.ENDED, world, b'1', 0.7, 1)
  assert not len(archive.choose(2, rng, target_score=0.5))


def test_full_archive_improves_what_it_has():
  archive = archive_lib.Archive(max_cells=2)
  root = archive.add_world(0)
  assert not archive.is_full
  assert archive.offer(0, 1, root, b'11', 0.0, 2) is not None
  assert archive.offer(0, 2, root, b'2', 9.0, 1) is None
  assert archive.is_full and len(archive) == 2
  resumed = archive_lib.Archive(max_cells=2)
  resumed.set_state(archive.get_state())
  assert resumed.is_full
  assert archive.offer(0, 1, root, b'1', 0.0, 1) is not None
  assert archive.actions_to(int(archive.column('node')[1])) == b'1'


def test_full_archive_takes_the_end_of_each_world():
  archive = archive_lib.Archive(max_cells=1)
  roots = [archive.add_world(0) for _ in range(2)]
  assert archive.offer(0, 1, roots[0], b'1', 0.0, 1) is None
  for world, root in enumerate(roots):
    ended = archive_lib.ENDED
    assert archive.offer(world, ended, root, b'11', 3.0, 2) is not None
    assert archive.offer(world, ended, root, b'2', 3.0, 1) is not None
  assert archive.best_of_all() == (3.0, 1)
  assert archive.solved_worlds(3.0).tolist() == [True, True]
