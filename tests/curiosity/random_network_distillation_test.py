# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RandomNetworkDistillation: its numbers in NumPy, refusals, training."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import encoding_network
from tf_agents.networks import sequential

from rnd_agents import curiosity
from rnd_agents.networks import encoders
from rnd_agents.networks import rnd_network

_to = curiosity.Transitions

_BOX = tf.TensorSpec([3], tf.float32)


def _make(spec=_BOX, observation_fn=None, **kwargs):
  seen = curiosity.observation_spec(spec, observation_fn)
  return curiosity.RandomNetworkDistillation(
      spec,
      rnd_network.RNDNetwork(seen, (8, 6), 5, conv_layers=()),
      rnd_network.RNDNetwork(seen, (7,), 5, conv_layers=(), trainable=False),
      observation_fn=observation_fn,
      **kwargs,
  )


def _observations(shape, seed=0):
  values = np.random.default_rng(seed).normal(2, 3, size=[*shape, 3])
  return values.astype(np.float32)


def _mlp(network, values):
  pairs = [v.numpy() for v in network.variables]
  for kernel, bias in zip(pairs[:-2:2], pairs[1:-2:2], strict=True):
    values = np.maximum(values @ kernel + bias, 0)
  return values @ pairs[-2] + pairs[-1]


def _slow_bonus(rnd, whitened):
  """Mean over the features of the squared difference, sample by sample."""
  flat = whitened.reshape([-1, whitened.shape[-1]])
  bonus = []
  for x in flat:
    difference = _mlp(rnd.rnd_network, x) - _mlp(rnd.target_rnd_network, x)
    bonus.append(sum(difference**2) / len(difference))
  return np.reshape(bonus, whitened.shape[:-1])


@pytest.mark.parametrize('in_graph', [False, True])
@pytest.mark.parametrize('shape', [(6,), (2, 5)])
def test_bonus_from_the_weights(shape, in_graph):
  rnd = _make()
  seen = _observations([50], 1)
  rnd.update_observation_statistics(seen)
  # The fresh statistic weighs 1e-4 samples beside these 50.
  mean, deviation = seen.mean(0), seen.std(0)
  observations = _observations(shape)
  observations[0] = 100.0  # Clipped.
  whitened = ((observations - mean) / deviation).clip(-5, 5)
  function = tf.function(rnd.bonus, autograph=False) if in_graph else rnd.bonus
  bonus = function(_to(observations))
  np.testing.assert_allclose(bonus, _slow_bonus(rnd, whitened), rtol=1e-3)


@pytest.mark.parametrize('clip_value', [1.0, None])
def test_clip_value(clip_value):
  rnd = _make(observation_clip_value=clip_value)
  observations = _observations([6])
  assert np.abs(observations).max() > 5
  inputs = observations if clip_value is None else observations.clip(-1, 1)
  np.testing.assert_array_equal(rnd.seen.whiten(observations), inputs)
  np.testing.assert_allclose(
      rnd.bonus(_to(observations)), _slow_bonus(rnd, inputs), rtol=1e-4
  )


def test_masked_observations_do_not_count():
  rnd = _make()
  observations = _observations([4, 6])
  mask = np.random.default_rng(1).random([4, 6]) < 0.5
  rnd.update_observation_statistics(
      np.where(mask[..., None], observations, 1e6).astype(np.float32),
      tf.constant(mask),
  )
  kept = observations[mask]
  np.testing.assert_allclose(
      rnd.seen.whiten(observations),
      ((observations - kept.mean(0)) / kept.std(0)).clip(-5, 5),
      rtol=1e-2,
      atol=1e-3,
  )


def test_one_entry_of_a_dict():
  spec = {'image': tf.TensorSpec([2, 2], tf.uint8), 'position': _BOX}
  rnd = _make(spec, curiosity.key_observation_fn('position'))
  observations = {
      'image': tf.zeros([4, 2, 2], tf.uint8), 'position': _observations([4])
  }
  bonus = rnd.bonus(_to(observations))
  np.testing.assert_allclose(
      bonus, _slow_bonus(rnd, observations['position'].clip(-5, 5)), rtol=1e-4
  )
  # The rest is not seen, neither by the networks nor by the statistics.
  observations['image'] = tf.fill([4, 2, 2], tf.constant(9, tf.uint8))
  np.testing.assert_array_equal(rnd.bonus(_to(observations)), bonus)
  rnd.update_observation_statistics(observations)
  assert [v.shape for v in rnd.variables].count([2, 2]) == 0


def test_newest_of_stacked_frames():
  spec = tf.TensorSpec([4, 4, 4], tf.uint8)
  rnd = _make(spec, curiosity.newest_frame_observation_fn)
  frames = np.random.default_rng(0).integers(0, 6, [3, 2, 4, 4, 4])
  frames = frames.astype(np.uint8)
  bonus = rnd.bonus(_to(frames))
  # Channel 3 alone, as the bytes it is: 0 to 5, whitened by nothing yet.
  np.testing.assert_allclose(
      bonus,
      _slow_bonus(rnd, frames[..., 3].reshape([3, 2, 16]).astype(np.float32)),
      rtol=1e-4,
  )
  frames[..., :3] = 77
  np.testing.assert_array_equal(rnd.bonus(_to(frames)), bonus)
  # Each pixel has statistics of its own, in float64.
  rnd.update_observation_statistics(frames)
  newest = frames[..., 3].reshape([6, 16]).astype(np.float64)
  np.testing.assert_allclose(
      rnd.seen.whiten(frames).numpy().reshape([6, 16]),
      ((newest - newest.mean(0)) / newest.std(0)).clip(-5, 5),
      atol=2e-3,
  )


def test_discrete_entries_are_one_hot_for_functions_too():
  # Or state 3 would lie between 2 and 4, and be no news after those.
  spec = {'state': encoders.discrete_spec(4), 'reward': _BOX}
  rnd = _make(spec, curiosity.key_observation_fn('state'))
  states = tf.constant([0, 3, 1], tf.int64)
  observations = {'state': states, 'reward': _observations([3])}
  alone = _make(encoders.discrete_spec(4))
  for a, b in zip(rnd.variables, alone.variables, strict=True):
    b.assign(a)
  np.testing.assert_array_equal(
      rnd.bonus(_to(observations)), alone.bonus(_to(states))
  )


def test_discrete_observations_are_one_hot():
  rnd = _make(encoders.discrete_spec(4))
  states = tf.constant([0, 3, 1], tf.int64)
  np.testing.assert_allclose(
      rnd.bonus(_to(states)), _slow_bonus(rnd, np.eye(4)[[0, 3, 1]]), rtol=1e-4
  )
  # Every state is as far from every other: bonuses do not lie on a line.
  rnd.update_observation_statistics(tf.constant([0, 0, 3, 0], tf.int64))
  whitened = rnd.seen.whiten(states).numpy()
  np.testing.assert_allclose(
      whitened[:2, [0, 3]], [[0.57735, -0.57735], [-1.73205, 1.73205]],
      rtol=1e-3,
  )
  assert whitened[2, 1] == 5  # Never seen before.


def test_whole_of_a_nested_observation():
  spec = {'n': encoders.discrete_spec(3), 'x': _BOX}
  rnd = _make(spec)
  observations = {
      'n': tf.constant([[0, 2]], tf.int64), 'x': _observations([1, 2])
  }
  joined = np.concatenate(
      [np.eye(3)[[[0, 2]]], observations['x'].clip(-5, 5)], axis=-1
  )
  np.testing.assert_allclose(
      rnd.bonus(_to(observations)), _slow_bonus(rnd, joined), rtol=1e-4
  )
  rnd.update_observation_statistics(observations)
  whitened = rnd.seen.whiten(observations)['x']
  assert np.abs(whitened - observations['x']).min() > 0.01


def test_discount_factor_of_the_returns():
  # Without memory the values are the rewards: variance 35 / 12.
  rnd = _make(discount_factor=0.0)
  bonus = tf.constant([[1.0, 3, 5], [2, 4, 6]])
  rnd.update_return_statistics(bonus)
  np.testing.assert_allclose(
      rnd.normalize_bonus(bonus), bonus / (35 / 12) ** 0.5, rtol=1e-4
  )


def test_order_of_a_rollout():
  # The bonus a rollout earned does not depend on its own statistics update,
  # but the next one's does.
  rnd = _make()
  observations = _observations([2, 4])
  bonus = rnd.bonus(_to(observations))
  rnd.update_return_statistics(bonus)
  np.testing.assert_array_equal(rnd.bonus(_to(observations)), bonus)
  rnd.update_observation_statistics(observations)
  assert np.abs(rnd.bonus(_to(observations)) - bonus).min() > 1e-3


def test_loss_is_the_mean_of_the_bonus():
  rnd = _make()
  observations = _observations([8])
  bonus = rnd.bonus(_to(observations)).numpy()
  np.testing.assert_allclose(
      rnd.loss(_to(observations)), bonus.mean(), rtol=1e-5
  )
  mask = np.array([True, False, True, True, False, False, False, False])
  np.testing.assert_allclose(
      rnd.loss(_to(observations, mask)), bonus[mask].mean(), rtol=1e-5
  )
  assert rnd.loss(_to(observations, mask & False)) == 0
  weights = np.arange(8, dtype=np.float32) / 100
  np.testing.assert_allclose(
      rnd.loss(_to(observations, mask), weights),
      (weights * bonus)[mask].mean(),
      rtol=1e-5,
  )


def test_masked_samples_leave_no_gradient():
  rnd = _make()
  observations = _observations([8])
  mask = np.arange(8) < 3

  def gradients(*transitions):
    with tf.GradientTape() as tape:
      loss = rnd.loss(_to(*transitions))
    return tape.gradient(loss, rnd.trainable_variables)

  masked = gradients(observations, mask)
  kept = gradients(observations[:3])
  whole = gradients(observations)
  for a, b, c in zip(masked, kept, whole, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    assert np.abs(a - c).max() > 1e-3


def test_known_target_features_spare_the_target():
  rnd = _make()
  observations = _observations([8])
  features = rnd.target_features(observations)
  np.testing.assert_allclose(
      features,
      _mlp(rnd.target_rnd_network, observations.clip(-5, 5)),
      rtol=1e-3,
      atol=1e-4,
  )
  np.testing.assert_array_equal(rnd.constants(_to(observations)), features)
  for use in (rnd.bonus, rnd.loss):
    np.testing.assert_array_equal(
        use(_to(observations), constants=features), use(_to(observations))
    )
  # They are used, not computed again.
  np.testing.assert_allclose(
      rnd.loss(_to(observations), constants=features + 1),
      np.square(
          _mlp(rnd.rnd_network, observations.clip(-5, 5)) - features - 1
      ).mean(),
      rtol=1e-4,
  )


def test_no_gradient_passes_the_bonus_or_the_target():
  rnd = _make()
  observations = _observations([8])
  everything = rnd.rnd_network.variables + rnd.target_rnd_network.variables
  with tf.GradientTape(persistent=True) as tape:
    tape.watch(everything)
    bonus = rnd.bonus(_to(observations))
    features = rnd.target_features(observations)
    loss = rnd.loss(_to(observations))
  assert tape.gradient(bonus, everything) == [None] * 10
  assert tape.gradient(features, everything) == [None] * 10
  found = [g is not None for g in tape.gradient(loss, everything)]
  assert found == [True] * 6 + [False] * 4
  ours = [v.ref() for v in rnd.trainable_variables]
  assert ours == [v.ref() for v in everything[:6]]


def test_loss_function_of_the_user():
  def absolute_error(predictions, targets):
    return tf.reduce_mean(tf.abs(predictions - targets), -1)

  rnd = _make(loss_fn=absolute_error)
  inputs = _observations([8]).clip(-5, 5)
  expected = np.abs(
      _mlp(rnd.rnd_network, inputs) - _mlp(rnd.target_rnd_network, inputs)
  ).mean(-1)
  np.testing.assert_allclose(rnd.bonus(_to(inputs)), expected, rtol=1e-4)
  np.testing.assert_allclose(rnd.loss(_to(inputs)), expected.mean(), rtol=1e-4)


# What is refused.


def _net(trainable=True, output_size=4, spec=_BOX, fc_layer_params=(6,)):
  return rnd_network.RNDNetwork(
      spec, fc_layer_params, output_size, trainable=trainable
  )


def _encoder(initializer, spec=_BOX):
  return encoding_network.EncodingNetwork(
      spec, fc_layer_params=(6, 4), kernel_initializer=initializer
  )


def _frozen(network):
  network.create_variables()
  network.trainable = False
  return network


def _pair(predictor, target, spec=_BOX, **kwargs):
  return curiosity.RandomNetworkDistillation(spec, predictor, target, **kwargs)


def _copies():
  original = _encoder(tf.keras.initializers.Orthogonal(seed=1))
  return original, _frozen(original.copy())


def _shared_initializer():
  shared = tf.keras.initializers.Orthogonal(2**0.5)
  return _encoder(shared), _frozen(_encoder(shared))


def _same_seed():
  first, second = (
      _encoder(tf.keras.initializers.GlorotUniform(seed=3)) for _ in range(2)
  )
  return first, _frozen(second)


def _copied_weights():
  predictor, target = _net(), _net(False)
  for ours, theirs in zip(predictor.variables, target.variables, strict=True):
    theirs.assign(ours)
  return predictor, target


def _silent():
  """Different weights, but outputs that are 0 for any input."""
  predictor, target = _net(), _net(False)
  for network in (predictor, target):
    for variable in network.variables[-2:]:
      variable.assign(tf.zeros_like(variable))
  return predictor, target


@pytest.mark.filterwarnings('ignore:The initializer Orthogonal is unseeded')
@pytest.mark.parametrize(
    'pair', [_copies, _shared_initializer, _same_seed, _copied_weights, _silent]
)
def test_equal_networks_are_refused(pair):
  with pytest.raises(ValueError, match='error is 0.*initializer'):
    _pair(*pair())


def test_a_copy_of_our_network_is_another_network():
  predictor = _net()
  rnd = _pair(predictor, _frozen(predictor.copy()))
  assert (rnd.bonus(_to(tf.ones([2, 3]))).numpy() > 1e-3).all()


def test_one_network_is_no_pair():
  network = _net(trainable=False)
  with pytest.raises(ValueError, match='one object'):
    _pair(network, network)


def test_outputs_of_one_shape():
  with pytest.raises(ValueError, match=r'one shape, got \(4,\) and \(5,\)'):
    _pair(_net(), _net(False, output_size=5))
  # 1 would broadcast.
  with pytest.raises(ValueError, match=r'one shape, got \(4,\) and \(1,\)'):
    _pair(_net(), _net(False, output_size=1))


def test_the_target_is_frozen_and_something_must_be_left_to_learn():
  rnd = _pair(_net(), _net())
  assert not rnd.target_rnd_network.trainable_variables
  assert len(rnd.trainable_variables) == 4
  with pytest.raises(ValueError, match='rnd_network has nothing to learn'):
    _pair(_frozen(_net()), _net())


@pytest.mark.parametrize('which', ['rnd_network', 'target_rnd_network'])
@pytest.mark.parametrize(
    'wrong',
    [
        tf.TensorSpec([2], tf.float32),
        tf.TensorSpec([3, 1], tf.float32),
        {'x': _BOX},
        (_BOX, _BOX),
        tf.TensorSpec([3], tf.float64),
    ],
    ids=['size', 'rank', 'dict', 'tuple', 'dtype'],
)
def test_wrong_input_is_refused(wrong, which):
  networks = {'rnd_network': _net(), 'target_rnd_network': _net(False)}
  networks[which] = _net(which == 'rnd_network', spec=wrong)
  with pytest.raises(
      ValueError, match=rf'^{which} does not take.*curiosity.observation_spec'
  ):
    _pair(networks['rnd_network'], networks['target_rnd_network'])


def test_networks_on_the_environments_own_spec_are_refused():
  # Discrete observations reach RND one-hot, and of stacked frames one alone:
  # building on the raw spec is the likely mistake.
  choice = encoders.discrete_spec(5)
  frames = tf.TensorSpec([6, 6, 4], tf.uint8)
  newest = curiosity.newest_frame_observation_fn
  for spec, observation_fn in ((choice, None), (frames, newest)):
    with pytest.raises(ValueError, match='curiosity.observation_spec'):
      _pair(
          _net(spec=spec),
          _net(False, spec=spec),
          spec,
          observation_fn=observation_fn,
      )
    right = curiosity.observation_spec(spec, observation_fn)
    rnd = _pair(
        _net(spec=right),
        _net(False, spec=right),
        spec,
        observation_fn=observation_fn,
    )
    bonus = rnd.bonus(_to(tf.ones([2, 3] + spec.shape, spec.dtype)))
    assert bonus.shape == [2, 3] and (bonus.numpy() > 0).all()


@pytest.mark.parametrize(
    ('observation_fn', 'message'),
    [
        (
            curiosity.key_observation_fn('imgae'),
            r"\{'image': \[6, 6, 4\]\}: KeyError",
        ),
        (
            curiosity.newest_frame_observation_fn,
            # KeyError since Python 3.12, in which slices can be keys.
            'newest_frame_observation_fn .*(Type|Key)Error',
        ),
    ],
)
def test_a_function_of_other_observations(observation_fn, message):
  spec = {'image': tf.TensorSpec([6, 6, 4], tf.uint8)}
  with pytest.raises(ValueError, match=message):
    curiosity.observation_spec(spec, observation_fn)
  right = curiosity.observation_spec(
      spec, curiosity.key_observation_fn('image')
  )
  assert right == tf.TensorSpec([6, 6, 4], tf.float32)


def test_networks_built_late():
  # A network that was given no input spec is built on what RND sees.
  def late(trainable):
    network = sequential.Sequential([tf.keras.layers.Dense(4)])
    if not trainable:
      network.trainable = False
    return network

  rnd = _pair(late(True), late(False))
  assert [tuple(v.shape) for v in rnd.trainable_variables] == [(3, 4), (4,)]
  kernels = [
      network.variables[0].numpy()
      for network in (rnd.rnd_network, rnd.target_rnd_network)
  ]
  inputs = np.float32([[1.0, -2.0, 0.5]])
  np.testing.assert_allclose(
      rnd.bonus(_to(inputs)),
      np.square(inputs @ (kernels[0] - kernels[1])).mean(-1),
      rtol=1e-5,
  )


# Under training, and after a restart.

_DICT = {'x': tf.TensorSpec([3], tf.float32), 'n': encoders.discrete_spec(4)}


def _trained_rnd(spec=_DICT):
  seen = curiosity.observation_spec(spec)
  return curiosity.RandomNetworkDistillation(
      spec,
      rnd_network.RNDNetwork(seen, (32, 32), 8),
      rnd_network.RNDNetwork(seen, (32,), 8, trainable=False),
  )


def _mixed(seed, shape):
  rng = np.random.default_rng(seed)
  return {
      'x': tf.constant(rng.normal(1, 2, [*shape, 3]), tf.float32),
      'n': tf.constant(rng.integers(0, 4, shape), tf.int64),
  }


def _step_fn(rnd):
  optimizer = tf.keras.optimizers.legacy.Adam(1e-3)

  @tf.function
  def step(observations):
    with tf.GradientTape() as tape:
      loss = rnd.loss(_to(observations))
    variables = rnd.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss

  return step


def test_training_moves_the_predictor_alone():
  rnd = _trained_rnd()
  rnd.update_observation_statistics(_mixed(1, [4, 50]))
  rnd.update_return_statistics(rnd.bonus(_to(_mixed(1, [4, 50]))))
  observations = _mixed(0, [64])
  before = {v.ref(): v.numpy() for v in rnd.variables}
  first = rnd.loss(_to(observations))
  step = _step_fn(rnd)
  losses = [step(observations).numpy() for _ in range(60)]
  np.testing.assert_allclose(losses[0], first, rtol=1e-5)
  assert losses[-1] < 0.5 * losses[0]
  assert rnd.loss(_to(observations)) < losses[30] < losses[0]

  trained = {v.ref() for v in rnd.rnd_network.variables}
  assert len(trained) == 6 and len(before) > 16
  for reference, value in before.items():
    moved = (reference.deref().numpy() != value).any()
    assert moved == (reference in trained), reference.deref().name


def test_a_familiar_state_loses_its_bonus_and_a_distant_one_does_not():
  rnd = _trained_rnd(tf.TensorSpec([3], tf.float32))
  familiar = tf.constant([[1.0, -0.5, 0.5]])
  distant = tf.constant([[-2.0, 2.0, 3.0]])
  start = rnd.bonus(_to(familiar)).numpy()[0]
  assert start > 0.01
  step = _step_fn(rnd)
  batch = tf.repeat(familiar, 8, axis=0)
  halfway = None
  for i in range(200):
    step(batch)
    if i == 10:
      halfway = rnd.bonus(_to(familiar)).numpy()[0]
  end = rnd.bonus(_to(familiar)).numpy()[0]
  assert end * 100 < start
  assert end < halfway < start
  assert rnd.bonus(_to(distant)).numpy()[0] > 10 * end
  assert rnd.bonus(_to(distant)).numpy()[0] > 0.1 * start


def test_a_checkpoint_holds_everything(tmp_path):
  rnd = _trained_rnd()
  step = _step_fn(rnd)

  def rollout(module, seed):
    """One rollout's normalised bonus, in the authors' order."""
    observations = _mixed(seed, [3, 5])
    bonus = module.bonus(_to(observations))
    module.update_return_statistics(bonus)
    module.update_observation_statistics(observations)
    return module.normalize_bonus(bonus).numpy()

  rollout(rnd, 0)
  for _ in range(5):
    step(_mixed(0, [16]))
  path = tf.train.Checkpoint(curiosity=rnd).save(tmp_path / 'c')

  other = _trained_rnd()
  fresh = rollout(_trained_rnd(), 1)
  tf.train.Checkpoint(curiosity=other).restore(path).assert_consumed()
  for ours, theirs in (
      (rnd.rnd_network, other.rnd_network),
      (rnd.target_rnd_network, other.target_rnd_network),
  ):
    for a, b in zip(ours.variables, theirs.variables, strict=True):
      np.testing.assert_array_equal(a, b)
  for seed in (1, 2):
    expected = rollout(rnd, seed)
    np.testing.assert_array_equal(rollout(other, seed), expected)
  # A restart that lost any of it would show: from the weights to the sums.
  assert np.abs(fresh - expected).max() > 0.01
  for lost in ('rnd_network', 'target_rnd_network', 'seen',
               '_return_scaler'):
    partial = _trained_rnd()
    tf.train.Checkpoint(curiosity=partial).restore(path)
    setattr(partial, lost, getattr(_trained_rnd(), lost))
    rnd_again = _trained_rnd()
    tf.train.Checkpoint(curiosity=rnd_again).restore(path)
    whole = rollout(rnd_again, 1)
    assert np.abs(rollout(partial, 1) - whole).max() > 1e-3, lost
