# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The archive: cells, and the best trajectory that was found to each.

A trajectory is a node: the node that it continues, and the actions since then,
so that trajectories share what they have in common. Nodes that no cell needs
any more are removed, or joined with the one node that continues them: at most
two nodes a cell stay.
"""

import ast
import collections
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from rnd_agents import errors

# The key of the one cell of a world in which episodes have ended.
ENDED = None
_NO_NODE = -1
# Nodes beyond twice those that were needed, before the needless are removed.
_SPARE_NODES = 10_000
_COLUMNS = {
    'world': np.int32,
    'visits': np.int64,
    'chosen': np.int64,
    'score': np.float64,
    'length': np.int64,
    'node': np.int64,
    'novelty': np.float64,
}
_COUNTS = ('visits', 'chosen', 'length')


class Node(NamedTuple):
  """A trajectory.

  Attributes:
    parent: Number of the node that it continues; -1 for the start of a world.
    actions: Actions since then, as `returning.Actions` packs them.
  """

  parent: int
  actions: bytes


class Archive:
  """Cells of one or more worlds, with the best trajectory to each.

  A world is an episode seed. A cell belongs to a world and has a key; states of
  equal keys share it. Cells are numbered in the order in which they were found,
  and so are worlds. A trajectory is better if it has a higher score, or the
  same score and fewer steps.

  Attributes:
    keys: Key of each cell, [cells]; `ENDED` for those of ended episodes.
    nodes: Nodes by their numbers.
  """

  def __init__(
      self, max_cells: int = 500_000, counts_unfinished: bool = False
  ):
    """Creates an empty Archive.

    Args:
      max_cells: Most cells that are kept, apart from the end of each world's
        episode.
      counts_unfinished: Whether the best trajectory of a world may be one whose
        episode has not ended.
    """
    self._max_cells = max_cells
    self._counts_unfinished = counts_unfinished
    self.keys: list[Hashable | None] = []
    self.nodes: dict[int, Node] = {}
    self._next_node = 0
    self._roots: list[int] = []  # Node by world.
    self._best: list[int | None] = []  # Cell by world.
    self._cells: dict[tuple[int, Hashable | None], int] = {}
    self._columns = {
        name: np.zeros(1024, dtype) for name, dtype in _COLUMNS.items()
    }
    self._num_nodes_needed = 0

  def __len__(self) -> int:
    return len(self.keys)

  @property
  def is_full(self) -> bool:
    """Whether new cells are refused, but for those of ended episodes."""
    return len(self) >= self._max_cells

  @property
  def num_worlds(self) -> int:
    """Number of worlds."""
    return len(self._roots)

  def column(self, name: str) -> np.ndarray:
    """Returns a number of each cell, [cells], a view.

    Args:
      name: 'world', 'visits' (steps that came there), 'chosen' (how often it
        was explored from), 'score' (sum of rewards), 'length' (in steps),
        'node' or 'novelty'.
    """
    return self._columns[name][: len(self)]

  def add_world(self, key: Hashable) -> int:
    """Adds a world, with the cell where its episode begins.

    Returns:
      The node of the beginning.
    """
    world = len(self._roots)
    node = self._add_node(_NO_NODE, b'')
    self._roots.append(node)
    self._best.append(None)
    self._add_cell(world, key, node, 0.0, 0)
    return node

  def cell_of(self, world: int, key: Hashable | None) -> int | None:
    """Returns the number of a cell, or None."""
    return self._cells.get((world, key))

  def offer(
      self,
      world: int,
      key: Hashable | None,
      parent: int,
      actions: bytes,
      score: float,
      length: int,
  ) -> int | None:
    """Counts a visit, and keeps the trajectory if it is the best to the cell.

    Args:
      world: Number of the world.
      key: Key of the state; `ENDED` if the episode has ended.
      parent: Node that the trajectory continues.
      actions: Actions since then, packed.
      score: Sum of rewards since the episode began.
      length: Steps since the episode began.

    Returns:
      The new node, or None if the trajectory was not kept.
    """
    cell = self._cells.get((world, key))
    if cell is None:
      if self.is_full and key is not ENDED:
        return None
      node = self._add_node(parent, actions)
      cell = self._add_cell(world, key, node, score, length)
    else:
      columns = self._columns
      columns['visits'][cell] += 1
      best = columns['score'][cell]
      if score < best or score == best and length >= columns['length'][cell]:
        return None
      node = self._add_node(parent, actions)
      columns['score'][cell] = score
      columns['length'][cell] = length
      columns['node'][cell] = node
    if key is ENDED or self._counts_unfinished:
      self._compare_with_best(world, cell)
    return node

  def choose(
      self,
      num_cells: int,
      rng: np.random.Generator,
      target_score: float | None = None,
  ) -> np.ndarray:
    """Draws cells to explore from, with replacement.

    The weight of a cell is novelty / sqrt(visits + 1), as Go-Explore's without
    the novelty, which is 1 unless set; 0 where episodes have ended. Worlds are
    equally likely: those of many cells would leave no turn to the others.

    Args:
      num_cells: Number of cells to draw.
      rng: The generator.
      target_score: Worlds whose best trajectory has that score are left out,
        and so are all but the first `num_cells` of the others, which get their
        turn later: a budget spent on all worlds at once would solve few.

    Returns:
      Numbers of cells, [num_cells]; empty if no cell has a weight.
    """
    weights = self.weights()
    if target_score is not None:
      unsolved = np.flatnonzero(~self.solved_worlds(target_score))
      weights[~np.isin(self.column('world'), unsolved[:num_cells])] = 0.0
    if self.num_worlds > 1:
      world = self.column('world')
      of_world = np.bincount(world, weights)
      weights /= np.where(of_world > 0.0, of_world, 1.0)[world]
    sums = np.cumsum(weights)
    if not len(sums) or not sums[-1] > 0.0:
      return np.zeros(0, np.int64)
    draws = rng.random(num_cells) * sums[-1]
    cells = np.searchsorted(sums, draws, side='right')
    np.add.at(self._columns['chosen'], cells, 1)
    return cells

  def weights(self) -> np.ndarray:
    """Returns the weight of each cell, [cells]."""
    weights = self.column('novelty') / np.sqrt(self.column('visits') + 1.0)
    for world in range(self.num_worlds):
      ended = self.cell_of(world, ENDED)
      if ended is not None:
        weights[ended] = 0.0
    return weights

  def set_novelty(self, cells: np.ndarray, novelty: np.ndarray) -> None:
    """Sets factors of the weights of cells; the last of equal cells wins."""
    self._columns['novelty'][cells] = novelty

  def best(self, world: int) -> int | None:
    """Returns the cell of the world's best trajectory, or None."""
    return self._best[world]

  def best_of_all(self) -> tuple[float | None, int | None]:
    """Returns score and length of the best trajectory, or (None, None)."""
    ranks = [self._rank(cell) for cell in self._best if cell is not None]
    score, negative_length = max(ranks, default=(None, 0))
    return score, None if score is None else -negative_length

  def solved_worlds(self, target_score: float) -> np.ndarray:
    """Returns whether the best score of each world is that high, [worlds]."""
    score = self._columns['score']
    return np.array([
        best is not None and score[best] >= target_score for best in self._best
    ])

  def actions_to(self, node: int) -> bytes:
    """Returns all actions from the beginning of the episode to a node."""
    parts = []
    while node != _NO_NODE:
      node, actions = self.nodes[node]
      parts.append(actions)
    return b''.join(reversed(parts))

  def sweep(self, is_due_only: bool = True) -> bool:
    """Removes nodes that no trajectory to a cell needs.

    Nodes that are not those of cells must not be used afterwards.

    Args:
      is_due_only: Whether to do nothing while there are few of them.

    Returns:
      Whether it was done.
    """
    limit = 2 * self._num_nodes_needed + _SPARE_NODES
    if is_due_only and len(self.nodes) < limit:
      return False
    wanted = {*self.column('node').tolist(), *self._roots}
    followers: dict[int, int] = collections.Counter()
    reached: set[int] = set()
    for node in wanted:
      while node != _NO_NODE and node not in reached:
        reached.add(node)
        node = self.nodes[node].parent
        followers[node] += 1
    kept: dict[int, Node] = {}
    for node in sorted(reached):  # Parents have lower numbers.
      parent, actions = self.nodes[node]
      if parent != _NO_NODE and parent not in kept:
        # It was joined to this node, its only follower.
        parent, before = self.nodes[parent]
        actions = before + actions
      self.nodes[node] = Node(parent, actions)
      if node in wanted or followers[node] > 1:
        kept[node] = self.nodes[node]
    self.nodes = kept
    self._num_nodes_needed = len(kept)
    return True

  def get_state(self) -> dict[str, Any]:
    """Returns everything as plain data; equal archives have equal states."""
    self.sweep(is_due_only=False)
    numbers = sorted(self.nodes)
    parents, actions = zip(*(self.nodes[number] for number in numbers))
    return {
        # Literals, one a line: nothing is executed when they are read.
        'keys': '\n'.join(map(repr, self.keys)).encode(),
        'best': list(self._best),
        'roots': list(self._roots),
        'next_node': self._next_node,
        'node_numbers': np.array(numbers),
        'node_parents': np.array(parents),
        'node_num_bytes': np.array([*map(len, actions)]),
        'node_actions': b''.join(actions),
        **{name: self.column(name).copy() for name in _COLUMNS},
    }

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores the state of `get_state`.

    Raises:
      SetupError: If it is not one, and a loop over it might not end.
    """
    lines = state['keys'].decode().split('\n')
    _check_state(state, len(lines))
    self.keys = [ast.literal_eval(line) for line in lines]
    self._best = list(state['best'])
    self._roots = list(state['roots'])
    self._next_node = state['next_node']
    ends = np.cumsum(state['node_num_bytes'])
    names = ('node_numbers', 'node_parents', 'node_num_bytes')
    self.nodes = {
        number: Node(parent, state['node_actions'][end - num_bytes : end])
        for number, parent, num_bytes, end in zip(
            *(state[name].tolist() for name in names), ends.tolist()
        )
    }
    self._num_nodes_needed = len(self.nodes)
    # Columns grow by factors of their length.
    self._columns = {
        name: np.concatenate([state[name], np.zeros(1024, dtype)])
        for name, dtype in _COLUMNS.items()
    }
    worlds = state['world'].tolist()
    self._cells = {
        pair: cell
        for cell, pair in enumerate(zip(worlds, self.keys, strict=True))
    }

  def _add_node(self, parent: int, actions: bytes) -> int:
    node = self._next_node
    self._next_node += 1
    self.nodes[node] = Node(parent, actions)
    return node

  def _add_cell(
      self,
      world: int,
      key: Hashable | None,
      node: int,
      score: float,
      length: int,
  ) -> int:
    cell = len(self.keys)
    if cell == len(self._columns['world']):
      self._columns = {
          name: np.concatenate([column, np.zeros_like(column)])
          for name, column in self._columns.items()
      }
    values = (world, 1, 0, score, length, node, 1.0)
    for name, value in zip(_COLUMNS, values, strict=True):
      self._columns[name][cell] = value
    self.keys.append(key)
    self._cells[world, key] = cell
    return cell

  def _compare_with_best(self, world: int, cell: int) -> None:
    """Makes the cell the world's best if its trajectory is."""
    best = self._best[world]
    if best is None or self._rank(cell) > self._rank(best):
      self._best[world] = cell

  def _rank(self, cell: int) -> tuple[float, int]:
    columns = self._columns
    return float(columns['score'][cell]), -int(columns['length'][cell])


def _check_state(state: dict[str, Any], num_cells: int) -> None:
  """Raises SetupError if a state is not one of `Archive.get_state`."""
  numbers, parents = state['node_numbers'], state['node_parents']
  sizes = state['node_num_bytes']
  num_worlds = len(state['roots'])
  best = [cell for cell in state['best'] if cell is not None]
  if not (
      all(state[name].shape == (num_cells,) for name in _COLUMNS)
      and numbers.shape == parents.shape == sizes.shape
      and np.all(numbers[1:] > numbers[:-1])
      and np.all(parents < numbers)  # So that no node is its own ancestor.
      and np.all(np.isin(parents, np.append(numbers, _NO_NODE)))
      and np.all(np.isin(np.append(state['node'], state['roots']), numbers))
      and state['next_node'] > numbers.max()
      and sizes.min() >= 0
      and sizes.sum() == len(state['node_actions'])
      and all(state[name].min() >= 0 for name in _COUNTS)
      and np.all(np.isin(state['world'], range(num_worlds)))
      and len(state['best']) == num_worlds
      and np.all(np.isin(best, range(num_cells)))
  ):
    raise errors.SetupError(
        'The checkpoint holds an archive that no exploration has written:'
        ' trajectories without a beginning, or numbers out of range. Bring back'
        ' a copy, or choose another --root_dir.'
    )
