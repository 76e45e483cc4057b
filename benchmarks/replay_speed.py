# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time, memory and checkpoints of the replay of sequences, beside Reverb.

    pip install "rnd_agents[reverb]"
    python -m benchmarks.replay_speed

Speed: batches of R2D2's size, 64 windows of 40 frames of burn-in, 80 trained
and one more, with the state of an LSTM of 512 units, a fourth of them
demonstrations, drawn, and their priorities updated. `ours` is
`PrioritizedReplay`, with images compressed and not; `reverb` is a server in
this process with two tables, asked when a batch is needed, as ours is, so that
every draw knows all priorities. All end in NumPy arrays. Pictures are coarse
tiles with squares moving over them: both compress what they store, so the speed
depends on what they show.

Memory: resident memory of a process of its own that stores sequences of small
observations, the state with each one's first frame, over the bytes of the
arrays.

Checkpoints: of as many sequences, the first one and one after a few more.
"""

import multiprocessing
import tempfile
import time

from absl import app
from absl import flags
import numpy as np
import psutil
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from benchmarks import paired
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequences as sequence_cutting

_BATCH_SIZE = 64
_SETTINGS = sequence_cutting.SequenceSettings(80, burn_in_length=40)
_NUM_UNITS = 512
_OBSERVATIONS = {
    '4 floats': ((4,), 'float32'),
    '84x84x1': ((84, 84, 1), 'uint8'),
    '84x84x4': ((84, 84, 4), 'uint8'),
}
_BATCHES_PER_ROUND = 16
_RATIO = 0.25  # Of demonstrations.


def _spec(observation):
  shape, dtype = _OBSERVATIONS[observation]
  frame = trajectory.Trajectory(
      step_type=tf.TensorSpec([], tf.int32),
      observation=tf.TensorSpec(shape, dtype),
      action=tf.TensorSpec([], tf.int64),
      policy_info=(),
      next_step_type=tf.TensorSpec([], tf.int32),
      reward=tf.TensorSpec([], tf.float32),
      discount=tf.TensorSpec([], tf.float32),
  )
  state = tf.TensorSpec([_NUM_UNITS], tf.float32)
  return episode_cutter.sequence_spec(frame, _SETTINGS, [state, state])


def _pictures(rng, num_frames):
  tiles = rng.integers(0, 8, [12, 12, 1], np.uint8) * 32
  frames = np.repeat([tiles.repeat(7, 0).repeat(7, 1)], num_frames, axis=0)
  for corner, speed, grey in zip(
      rng.integers(0, 76, [6, 2]), rng.integers(-2, 3, [6, 2]),
      rng.integers(0, 256, 6),
  ):
    for t in range(num_frames):
      y, x = (corner + speed * t) % 76
      frames[t, y : y + 8, x : x + 8] = grey
  return frames


def _sequence(spec, rng, is_demonstration):
  """One [1, ...]: as in a run, states and small observations are noise."""

  def draw(leaf):
    dtype = leaf.dtype.as_numpy_dtype
    if dtype == np.uint8:
      length, _, _, channels = leaf.shape
      frames = _pictures(rng, length + channels - 1)
      return np.concatenate(
          [frames[i : i + length] for i in range(channels)], axis=-1
      )
    if dtype == np.float32 and leaf.shape.rank > 0:
      return np.tanh(rng.normal(size=leaf.shape)).astype(dtype)
    return np.zeros(leaf.shape, dtype)

  sequence = tf.nest.map_structure(draw, spec)
  row = sequence.trajectory
  sequence = sequence._replace(
      trajectory=row.replace(
          action=rng.integers(0, 18, row.action.shape),
          step_type=np.full_like(row.step_type, ts.StepType.MID),
          reward=(rng.random(row.reward.shape) < 0.02).astype(np.float32),
          discount=np.ones_like(row.discount),
      ),
      is_demonstration=np.bool_(is_demonstration),
  )
  return tf.nest.map_structure(lambda x: np.asarray(x)[np.newaxis], sequence)


class _Reverb:
  """The same two tables on a Reverb server."""

  def __init__(self, spec, max_sequences):
    import reverb  # pylint: disable=g-import-not-at-top

    self._spec = spec
    self._server = reverb.Server([
        reverb.Table(
            name,
            sampler=reverb.selectors.Prioritized(0.9),
            remover=reverb.selectors.Fifo(),
            max_size=max_sequences,
            rate_limiter=reverb.rate_limiters.MinSize(1),
        )
        for name in ('agent', 'demonstrations')
    ])
    self._client = self._server.localhost_client()
    self._writer = self._client.trajectory_writer(num_keep_alive_refs=1)
    self._rng = np.random.default_rng(0)

  def add(self, sequence):
    is_demonstration = bool(sequence.is_demonstration[0])
    self._writer.append([leaf[0] for leaf in tf.nest.flatten(sequence)])
    self._writer.create_item(
        'demonstrations' if is_demonstration else 'agent',
        1.0,
        [column[-1:] for column in self._writer.history],
    )
    self._writer.flush()

  add_demonstrations = add

  def draw(self):
    count = self._rng.binomial(_BATCH_SIZE, _RATIO)
    drawn = []
    for table, size in (
        ('agent', _BATCH_SIZE - count), ('demonstrations', count)
    ):
      if not size:
        continue
      found = [*self._client.sample(table, size, emit_timesteps=False)]
      self._client.mutate_priorities(
          table, {sample.info.key: 1.0 + self._rng.random() for sample in found}
      )
      drawn += found
    return [*map(np.concatenate, zip(*[sample.data for sample in drawn]))]

  def close(self):
    self._writer.close()
    self._server.stop()


class _Ours(prioritized_replay.PrioritizedReplay):

  def draw(self):
    batch = self.sample(_BATCH_SIZE, _RATIO)
    self.update_priorities(
        batch.keys,
        1.0 + self._generator.random(_BATCH_SIZE),
        batch.sequences.is_demonstration,
    )


def measure_speed(observation, num_sequences, num_rounds):
  """Prints sequences a second of adding and of drawing, and their ratios."""
  spec = _spec(observation)
  contenders = {
      'ours': _Ours(spec, num_sequences, num_sequences, seed=0),
      'reverb': _Reverb(spec, num_sequences),
  }
  if 'uint8' in _OBSERVATIONS[observation]:
    contenders['uncompressed'] = _Ours(
        spec, num_sequences, num_sequences, compress_images=False, seed=0
    )
  rng = np.random.default_rng(0)
  adding_s = dict.fromkeys(contenders, 0.0)
  for is_demonstration in (True, False):
    for _ in range(num_sequences):
      sequence = _sequence(spec, rng, is_demonstration)
      for name, replay in contenders.items():
        begin = time.perf_counter()
        if is_demonstration:
          replay.add_demonstrations(sequence)
        else:
          replay.add(sequence)
        adding_s[name] += time.perf_counter() - begin

  def repeated(use):
    def run():
      for _ in range(_BATCHES_PER_ROUND):
        use()
    return run

  times = paired.in_turns(
      {name: repeated(replay.draw) for name, replay in contenders.items()},
      num_rounds,
  )
  print(f'{observation}:')
  for name in times:
    seconds = paired.median_s(times, name) / _BATCHES_PER_ROUND
    print(
        f'  {name:12} add {2 * num_sequences / adding_s[name]:9,.0f}'
        f' sequences/s; draw and update {1000 * seconds:8.2f} ms a batch of'
        f' {_BATCH_SIZE}, {_BATCH_SIZE / seconds:9,.0f} sequences/s'
    )
  for name in times:
    if name != 'reverb':
      for clock, is_cpu in (('wall', False), ('CPU', True)):
        ratio = paired.ratios(times, name, 'reverb', is_cpu)
        print(f'  {clock:4} time of a batch, {name} over reverb: {ratio}')
  contenders['reverb'].close()


def _store(is_ours, num_sequences, results):
  """Puts (growth of resident memory, bytes of the arrays) into a queue."""
  spec = _spec('4 floats')
  rng = np.random.default_rng(0)
  process = psutil.Process()
  replay = (_Ours if is_ours else _Reverb)(spec, num_sequences)
  sequence = _sequence(spec, rng, False)
  num_bytes = sum(leaf.nbytes for leaf in tf.nest.flatten(sequence))
  replay.add(sequence)
  before = process.memory_info().rss
  for _ in range(num_sequences - 1):
    replay.add(_sequence(spec, rng, False))
  results.put(
      (process.memory_info().rss - before, num_bytes * (num_sequences - 1))
  )


def measure_memory(num_sequences):
  """Prints the memory of sequences over the bytes of their arrays."""
  context = multiprocessing.get_context('spawn')
  for name in ('ours', 'reverb'):
    results = context.Queue()
    process = context.Process(
        target=_store, args=(name == 'ours', num_sequences, results)
    )
    process.start()
    size, num_bytes = results.get()
    process.join()
    print(
        f'memory of {num_sequences:,} sequences of 4 floats, LSTM of'
        f' {_NUM_UNITS}, {name}: {size / 2**30:.2f} GiB,'
        f' {size / num_bytes:.3f} of their arrays'
    )


def measure_checkpoints(num_sequences, num_new):
  """Prints seconds of a first checkpoint and of one with a few more."""
  spec = _spec('4 floats')
  rng = np.random.default_rng(0)
  replay = _Ours(spec, num_sequences)
  for _ in range(num_sequences):
    replay.add(_sequence(spec, rng, False))
  with tempfile.TemporaryDirectory(dir='.') as folder:
    for new in (0, num_new, num_new, num_new):
      for _ in range(new):
        replay.add(_sequence(spec, rng, False))
      begin = time.perf_counter()
      replay.save(folder)
      print(
          f'checkpoint of {num_sequences:,} sequences,'
          f' {new or "all":,} new: {time.perf_counter() - begin:.2f} s'
          if new
          else f'first checkpoint of {num_sequences:,} sequences:'
          f' {time.perf_counter() - begin:.2f} s'
      )


def main(argv):
  del argv
  foreign_load = paired.ForeignLoad()
  print(paired.machine())
  for observation in _OBSERVATIONS:
    measure_speed(
        observation, flags.FLAGS.num_speed_sequences, flags.FLAGS.num_rounds
    )
  print(f'{flags.FLAGS.num_rounds} rounds, foreign load {foreign_load}')
  measure_memory(flags.FLAGS.num_sequences)
  measure_checkpoints(
      flags.FLAGS.num_sequences, flags.FLAGS.num_new_sequences
  )


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 10, 'Rounds that count.')
  flags.DEFINE_integer('num_speed_sequences', 500, 'In each table, for speed.')
  flags.DEFINE_integer(
      'num_new_sequences', 500, 'Between two checkpoints.'
  )
  # As many as R2D2's replay has.
  flags.DEFINE_integer('num_sequences', 100_000, 'For memory and checkpoints.')
  app.run(main)
