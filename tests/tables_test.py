# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from rnd_agents import tables


@pytest.mark.parametrize(('num_left', 'expected'), [
    (0, '   a  bb\nlong   1'),
    (1, 'a     bb\nlong   1'),
    (2, 'a     bb\nlong  1'),
])
def test_aligned(num_left, expected):
  assert tables.aligned([['a', 'bb'], ['long', '1']], num_left) == expected


def test_csv(tmp_path):
  path = tmp_path / 'new' / 'a.csv'
  tables.write_csv(str(path), ('x', 'y'), [(1, 2.5), (float('nan'), 'a,b')])
  assert path.read_bytes() == b'x,y\n1,2.5\n,"a,b"\n'


def test_only_a_table_of_the_same_columns_is_written_over(tmp_path):
  path = tmp_path / 'a.csv'
  assert tables.may_write_csv(str(path), ('x', 'y'))
  path.touch()
  assert tables.may_write_csv(str(path), ('x', 'y'))
  tables.write_csv(str(path), ('x', 'y'), [(1, 2)])
  assert tables.may_write_csv(str(path), ('x', 'y'))
  assert not tables.may_write_csv(str(path), ('x', 'z'))
  assert not tables.may_write_csv(str(tmp_path), ('x', 'y'))
