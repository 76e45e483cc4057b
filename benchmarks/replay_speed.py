# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What replaying sequences costs: time of a batch, memory of a stored state.

    pip install "rnd_agents[reverb]"
    python -m benchmarks.replay_speed

Speed: batches of R2D2's size, 64 windows of 40 frames of burn-in, 80 trained
and one more, with the state of an LSTM of 512 units. `replay` is
`PrioritizedReplay.sample`, a fourth of it demonstrations; `dataset` is Reverb's
`TrajectoryDataset` on the agent's table of the same server, which draws 128
sequences ahead, so that their priorities are two batches old. Both end in NumPy
arrays. Pictures are coarse tiles with squares moving over them: Reverb
compresses what it stores, so its speed depends on what they show.

Memory: resident memory of a process of its own that stores sequences, the
state with each one's first frame, or with every frame. Observations are small.
Of the latter as many as half of the free memory holds; the rest is reckoned.
"""

import math
import multiprocessing
import time

from absl import app
from absl import flags
import numpy as np
import psutil
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from benchmarks import paired
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequences as sequence_cutting

_BATCH_SIZE = 64
_SETTINGS = sequence_cutting.SequenceSettings(80, burn_in_length=40)
_NUM_UNITS = 512
_OBSERVATIONS = {
    '4 floats': ((4,), 'float32'), '84x84x1': ((84, 84, 1), 'uint8')
}
_BATCHES_PER_ROUND = 16


def _spec(observation, states_per_sequence=()):
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
  state = tf.TensorSpec([*states_per_sequence, _NUM_UNITS], tf.float32)
  return sequence_cutting.sequence_spec(frame, _SETTINGS, [state, state])


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
  """Numbers as a run has them: states and small observations are noise."""

  def draw(leaf):
    dtype = leaf.dtype.as_numpy_dtype
    if dtype == np.uint8:
      return _pictures(rng, leaf.shape[0])
    if dtype == np.float32 and leaf.shape.rank > 0:
      return np.tanh(rng.normal(size=leaf.shape)).astype(dtype)
    return np.zeros(leaf.shape, dtype)

  sequence = tf.nest.map_structure(draw, spec)
  row = sequence.trajectory
  return sequence._replace(
      trajectory=row.replace(
          action=rng.integers(0, 18, row.action.shape),
          step_type=np.full_like(row.step_type, ts.StepType.MID),
          reward=(rng.random(row.reward.shape) < 0.02).astype(np.float32),
          discount=np.ones_like(row.discount),
      ),
      is_demonstration=np.bool_(is_demonstration),
  )


def _draw_from_dataset(replay, spec):
  """Draws the batches of a round from a `TrajectoryDataset` made for it.

  One that lived on would draw ahead in the turn of others.
  """
  import reverb  # pylint: disable=g-import-not-at-top

  leaves = tf.nest.flatten(spec)
  dataset = reverb.TrajectoryDataset(
      replay._client.server_address,
      prioritized_replay.AGENT,
      dtypes=[leaf.dtype for leaf in leaves],
      shapes=[tf.TensorShape([1]).concatenate(leaf.shape) for leaf in leaves],
      max_in_flight_samples_per_worker=2 * _BATCH_SIZE,
      num_workers_per_iterator=1,
      rate_limiter_timeout_ms=10_000,
  )
  batches = dataset.batch(_BATCH_SIZE).take(_BATCHES_PER_ROUND)
  for _ in batches.as_numpy_iterator():
    pass


def measure_speed(observation, num_sequences, num_rounds):
  """Prints sequences a second of adding and of both ways to sample."""
  spec = _spec(observation)
  rng = np.random.default_rng(0)
  replay = prioritized_replay.PrioritizedReplay(
      spec, num_sequences, num_sequences, min_sequences=1, seed=0
  )
  for add, is_demonstration in (
      (replay.add_demonstration, True), (replay.add, False)
  ):
    sequences = [
        _sequence(spec, rng, is_demonstration) for _ in range(num_sequences)
    ]
    begin = time.perf_counter()
    for sequence in sequences:
      add(sequence)
    adding_s = time.perf_counter() - begin
  batch = replay.sample(_BATCH_SIZE, 0.25)

  def repeated(use):
    def run():
      for _ in range(_BATCHES_PER_ROUND):
        use()
    return run

  times = paired.in_turns(
      {
          'replay': repeated(lambda: replay.sample(_BATCH_SIZE, 0.25)),
          'dataset': lambda: _draw_from_dataset(replay, spec),
          'update': repeated(lambda: replay.update_priorities(
              batch.keys, batch.probabilities, batch.sequences.is_demonstration
          )),
      },
      num_rounds,
  )
  print(f'{observation}: add {num_sequences / adding_s:,.0f} sequences/s')
  for name in times:
    seconds = paired.median_s(times, name) / _BATCHES_PER_ROUND
    print(
        f'  {name:8} {1000 * seconds:8.2f} ms a batch of {_BATCH_SIZE},'
        f' {_BATCH_SIZE / seconds:10,.0f} sequences/s'
    )
  for clock, is_cpu in (('wall', False), ('CPU', True)):
    ratio = paired.ratios(times, 'replay', 'dataset', is_cpu)
    print(f'  {clock:4} time, replay over dataset: {ratio}')
  replay.close()


def _store(states_per_sequence, num_sequences, results):
  """Puts the bytes that resident memory grew by into a queue."""
  spec = _spec('4 floats', states_per_sequence)
  rng = np.random.default_rng(0)
  process = psutil.Process()
  replay = prioritized_replay.PrioritizedReplay(spec, num_sequences)
  replay.add(_sequence(spec, rng, False))
  before = process.memory_info().rss
  for _ in range(num_sequences - 1):
    replay.add(_sequence(spec, rng, False))
  results.put(process.memory_info().rss - before)
  replay.close()


def measure_memory(num_sequences):
  """Prints the memory of sequences with a state for all, and one a frame."""
  context = multiprocessing.get_context('spawn')
  print(f'Memory of sequences, LSTM of {_NUM_UNITS} units')
  for name, states in (
      ('once a sequence', ()), ('once a step', (_SETTINGS.num_frames,))
  ):
    state_bytes = 2 * _NUM_UNITS * 4 * math.prod(states)
    room = psutil.virtual_memory().available // 2 // state_bytes
    stored = min(num_sequences, room)
    results = context.Queue()
    process = context.Process(target=_store, args=(states, stored, results))
    process.start()
    size = results.get()
    process.join()
    each = size / (stored - 1)
    print(
        f'  state {name:16} {stored:7,} take {size / 2**20:8,.0f} MiB,'
        f' {each / 2**10:6.1f} KiB each: {num_sequences:,} take'
        f' {each * num_sequences / 2**30:.1f} GiB'
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


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 10, 'Rounds that count.')
  flags.DEFINE_integer('num_speed_sequences', 500, 'In each table, for speed.')
  # As many as R2D2's replay has.
  flags.DEFINE_integer('num_sequences', 100_000, 'For memory.')
  app.run(main)
