# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures how soon a network learns to read pictures of Crafter.

    python -m benchmarks.crafter_pictures --policy_dir=RUN/policies/policy \
      --gin_file=gin_configs/crafter.gin [--gin_bindings=...]

The network is the trunk that `create_networks` builds with these settings, with
heads for what the player faces and for how many of each item it has. It learns
by supervision from pictures of a saved policy, a tenth of whose actions are
random, and is tested on other worlds. A minute says about an encoder what a
trial of reinforcement learning says in twenty; it says nothing about policies.
"""

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from benchmarks import programs
from rnd_agents import networks
from rnd_agents import tables
from rnd_agents.evaluation import saved_policy
from rnd_agents.tasks import crafter
from rnd_agents.training import gin_files

_POLICY_DIR = flags.DEFINE_string('policy_dir', None, 'A policy for Crafter.')
_GIN_FILE = flags.DEFINE_multi_string('gin_file', [], 'The settings.')
_GIN_BINDINGS = flags.DEFINE_multi_string('gin_bindings', [], 'More of them.')
_NUM_STEPS = flags.DEFINE_integer(
    'num_steps', 900, 'Steps of each of sixteen worlds.', lower_bound=1
)
_TRAIN_STEPS = flags.DEFINE_list(
    'train_steps', ['75', '150', '300'], 'When the network is tested.'
)
_LEARNING_RATE = flags.DEFINE_float('learning_rate', 3e-4, "Adam's.")
_SEED = flags.DEFINE_integer('seed', 0, 'Seed of weights, worlds and batches.')

_NUM_WORLDS, _NUM_TEST_WORLDS = 16, 3
_RANDOM_SHARE = 0.1  # Of the actions, so that its habits are not all there is.
_BATCH_SIZE = 256
_NUM_COUNTS = 10  # Of an item: 0 to 9.


def facing(env):
  """Returns the name of what the player of a `Crafter` faces."""
  # Crafter's world has no public access to its cells.
  game = env._game
  material, thing = game._world[game._player.pos + game._player.facing]
  return type(thing).__name__.lower() if thing else str(material)


def item_counts(env):
  """Returns how many the player of a `Crafter` has of each item, int64 [16]."""
  return np.array(list(env._game._player.inventory.values()), np.int64)


def collect(policy, num_steps, seed):
  """Plays sixteen worlds, and the next ones when an episode ends.

  Args:
    policy: A `SavedPolicy`.
    num_steps: Steps of each world.
    seed: Seed of the worlds and of the random actions.

  Returns:
    A tuple of arrays (pictures uint8 [num_steps, 16, S, S, 3], names of what is
    faced [num_steps, 16], counts int64 [num_steps, 16, 16]).
  """
  rng = np.random.default_rng(seed)
  envs = [crafter.Crafter() for _ in range(_NUM_WORLDS)]
  seen = [
      env.reset(seed=int(rng.integers(2**31 - 1)))[0] for env in envs
  ]
  is_first = np.ones(_NUM_WORLDS, bool)
  state = policy.get_initial_state(_NUM_WORLDS)
  told = []
  for _ in range(num_steps):
    told.append((
        np.stack(seen),
        np.array([facing(env) for env in envs]),
        np.stack([item_counts(env) for env in envs]),
    ))
    step = policy.action(
        ts.TimeStep(
            tf.constant(np.where(is_first, 0, 1), tf.int32),
            tf.zeros(_NUM_WORLDS),
            tf.ones(_NUM_WORLDS),
            tf.constant(told[-1][0]),
        ),
        state,
    )
    state, actions = step.state, step.action.numpy()
    random = rng.integers(envs[0].action_space.n, size=_NUM_WORLDS)
    is_random = rng.random(_NUM_WORLDS) < _RANDOM_SHARE
    actions = np.where(is_random, random, actions)
    for i, (env, action) in enumerate(zip(envs, actions, strict=True)):
      seen[i], _, terminated, truncated, _ = env.step(action)
      is_first[i] = terminated or truncated
      if is_first[i]:
        seen[i], _ = env.reset()
  return tuple(np.stack(part) for part in zip(*told, strict=True))


class _Reader:
  """A trunk with two heads, and their optimizer."""

  def __init__(self, num_faced, num_items):
    env = crafter.Crafter()
    policy_network = networks.create_networks(
        tensor_spec.BoundedTensorSpec(
            env.observation_space.shape, tf.uint8, 0, 255
        ),
        tensor_spec.BoundedTensorSpec([], tf.int64, 0, env.action_space.n - 1),
        rnd_networks_fn=None,
    )[0]
    self._trunk = policy_network.actor_critic
    self._faced = tf.keras.layers.Dense(num_faced)
    self._counts = tf.keras.layers.Dense(num_items * _NUM_COUNTS)
    self._optimizer = tf.keras.optimizers.legacy.Adam(_LEARNING_RATE.value)

  def _logits(self, pictures):
    features = tf.cast(self._trunk.features(pictures), tf.float32)
    counts = self._counts(features)
    return self._faced(features), tf.reshape(
        counts, [tf.shape(counts)[0], -1, _NUM_COUNTS]
    )

  @tf.function(autograph=False)
  def train(self, pictures, *labels):
    with tf.GradientTape() as tape:
      loss = tf.add_n([
          tf.reduce_mean(
              tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
          )
          for label, logits in zip(labels, self._logits(pictures), strict=True)
      ])
    variables = tape.watched_variables()
    gradients = tape.gradient(loss, variables)
    self._optimizer.apply_gradients(zip(gradients, variables, strict=True))

  @tf.function(autograph=False)
  def accuracies(self, pictures, *labels):
    return [
        tf.reduce_mean(
            tf.cast(tf.argmax(logits, -1) == label, tf.float32)
        )
        for label, logits in zip(labels, self._logits(pictures), strict=True)
    ]


def main(argv):
  if len(argv) > 1 or _POLICY_DIR.value is None:
    raise app.UsageError('Give --policy_dir.')
  steps = sorted(map(int, _TRAIN_STEPS.value))
  gin_files.parse(_GIN_FILE.value, _GIN_BINDINGS.value)
  policy = saved_policy.SavedPolicy(_POLICY_DIR.value)
  print(f'Collecting {_NUM_STEPS.value * _NUM_WORLDS} pictures', flush=True)
  pictures, names, counts = collect(policy, _NUM_STEPS.value, _SEED.value)
  print(
      f'Mean and deviation of the pixels: {pictures.mean() / 255:.2f},'
      f' {pictures.std() / 255:.2f}',
      flush=True,
  )
  known, faced = np.unique(names, return_inverse=True)
  labels = faced.reshape(names.shape), np.minimum(counts, _NUM_COUNTS - 1)

  def rows(worlds):
    return [
        part[:, worlds].reshape([-1, *part.shape[2:]])
        for part in (pictures, *labels)
    ]

  test = rows(slice(_NUM_TEST_WORLDS))
  train = rows(slice(_NUM_TEST_WORLDS, None))
  tf.keras.utils.set_random_seed(_SEED.value)
  reader = _Reader(len(known), counts.shape[-1])
  rng = np.random.default_rng(_SEED.value)
  table = [('steps', 'faced', 'items')]
  for step in range(1, steps[-1] + 1):
    batch = rng.integers(len(train[0]), size=_BATCH_SIZE)
    reader.train(*(tf.constant(part[batch]) for part in train))
    if step in steps:
      parts = [
          [float(x) for x in reader.accuracies(*map(tf.constant, part))]
          for part in zip(
              *(np.array_split(x, 16) for x in test), strict=True
          )
      ]
      table.append((str(step), *(f'{x:.3f}' for x in np.mean(parts, axis=0))))
  print(tables.aligned(table))


if __name__ == '__main__':
  programs.run(main)
