# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small agents, hand-written rollouts, and a look into optimizers."""

import functools

import numpy as np
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import curiosity
from rnd_agents import networks
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.agents import rollout as rollout_lib
from rnd_agents.curiosity import curiosity as curiosity_lib

FLAT = tf.TensorSpec([3], tf.float32, 'observation')
DISCRETE = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
BOX = tensor_spec.BoundedTensorSpec([2], tf.float32, [-1.0, 0.0], [1.0, 4.0])
DICT = {'jump': DISCRETE, 'steer': BOX}

# One letter a row: First of an episode, Mid, Terminal last, time Limit's last.
# The last row has no transition of its own.
ROLLOUT = ('FMMTFMMLF', 'MLFTFMMMM', 'MMMMMMMMM', 'MTFMLFMMT')

_STEP_TYPES = {
    'F': ts.StepType.FIRST,
    'M': ts.StepType.MID,
    'T': ts.StepType.LAST,
    'L': ts.StepType.LAST,
}


def adam(learning_rate=3e-3):
  """Adam whose epsilon keeps the noise of float32 from being scaled up."""
  return tf.keras.optimizers.Adam(learning_rate, epsilon=1e-5)


def small_networks(observation_spec, action_spec, observation_fn=None, **sizes):
  """The package's networks, tiny."""
  rnd_settings = {
      'fc_layer_params': (8,),
      'target_fc_layer_params': (8,),
      'output_size': 4,
      **sizes.pop('rnd_settings', {}),
  }
  return networks.create_networks(
      observation_spec,
      action_spec,
      curiosity_lib.observation_spec(observation_spec, observation_fn),
      functools.partial(networks.create_rnd_networks, **rnd_settings),
      **{'fc_layer_params': (8,), **sizes},
  )


def build_agent(
    observation_spec=FLAT,
    action_spec=DISCRETE,
    seed=0,
    sizes=None,
    nets=None,
    reward_spec=None,
    **settings,
):
  """An agent on tiny networks; `settings` go to its constructor."""
  tf.random.set_seed(seed)
  if nets is None:
    nets = small_networks(
        observation_spec,
        action_spec,
        settings.get('rnd_observation_fn'),
        **(sizes or {}),
    )._asdict()
  settings = {
      'optimizer': adam(),
      'num_epochs': 2,
      'num_minibatches': 3,
      'train_step_counter': tf.Variable(0, dtype=tf.int64),
      **nets,
      **settings,
  }
  return rnd_ppo_agent.RNDPPOAgent(
      ts.time_step_spec(observation_spec, reward_spec), action_spec, **settings
  )


def stir(agent, seed=5, size=0.3):
  """Moves policy and values away from their small initial outputs."""
  random = np.random.RandomState(seed)
  variables = agent.actor_net.trainable_weights
  variables += agent._value_net.trainable_weights
  for variable in {v.ref(): v for v in variables}.values():
    variable.assign_add(size * random.normal(size=variable.shape))
  return agent


def copy_variables(source, target):
  """Gives one agent the variables of another that was built alike."""
  for a, b in zip(source.variables, target.variables, strict=True):
    b.assign(a)


def sample(spec, outer_shape, seed):
  """Random values for a nest of specs, normal where nothing bounds them."""
  random = np.random.RandomState(seed)

  def leaf(leaf_spec):
    shape = (*outer_shape, *leaf_spec.shape)
    if leaf_spec.dtype.is_floating:
      values = random.normal(size=shape)
      if tensor_spec.is_bounded(leaf_spec):
        low, high = leaf_spec.minimum, leaf_spec.maximum
        if np.all(np.abs([low, high]) < 1e6):
          values = random.uniform(low, high, shape)
    elif tensor_spec.is_bounded(leaf_spec):
      low, high = leaf_spec.minimum, leaf_spec.maximum
      values = random.randint(low, np.asarray(high, np.int64) + 1, shape)
    else:
      values = random.randint(0, 256, shape)
    return tf.constant(values, leaf_spec.dtype)

  return tf.nest.map_structure(leaf, spec)


def step_type_rows(rows):
  """Letters to (step types, next step types, discounts), each [B, T+1]."""
  step_types = np.array([[_STEP_TYPES[x] for x in row] for row in rows])
  # What follows the last row is nobody's business: anything does.
  after = np.where(
      step_types[:, -1:] == ts.StepType.LAST, ts.StepType.FIRST, ts.StepType.MID
  )
  next_step_types = np.concatenate([step_types[:, 1:], after], axis=1)
  discounts = np.array(
      [[0.0 if x == 'T' else 1.0 for x in row[1:] + 'M'] for row in rows]
  )
  return (
      step_types.astype(np.int32),
      next_step_types.astype(np.int32),
      discounts.astype(np.float32),
  )


def rollout(agent, rows=ROLLOUT, seed=0, drift=0.3):
  """A random rollout [B, T+1] with episodes as written, one string a row.

  The agent's collect policy fills in the policy info. Random changes of the
  size of `drift` to the distribution's parameters, as if an older policy had
  collected, make importance ratios other than 1.
  """
  step_types, next_step_types, discounts = step_type_rows(rows)
  shape = step_types.shape
  spec = agent.collect_data_spec
  observations = sample(spec.observation, shape, seed)
  random = np.random.RandomState(seed + 100)
  rewards = random.normal(size=shape) + 0.5
  rewards[step_types == ts.StepType.LAST] = 0.0
  flat = tf.nest.map_structure(
      lambda x: tf.reshape(x, [-1, *x.shape[2:]]), observations
  )
  info = agent.collect_policy.action(ts.restart(flat, step_types.size)).info
  info = tf.nest.map_structure(
      lambda x: tf.reshape(x, [*shape, *x.shape[1:]]), info
  )

  def move(x):
    # Upwards, so that scales stay positive.
    noise = np.abs(random.normal(size=x.shape))
    return x + tf.constant(drift * noise, tf.float32)

  info = dict(
      info, dist_params=tf.nest.map_structure(move, info['dist_params'])
  )
  return trajectory.Trajectory(
      step_type=tf.constant(step_types),
      observation=observations,
      action=sample(spec.action, shape, seed + 1),
      policy_info=info,
      next_step_type=tf.constant(next_step_types),
      reward=tf.constant(rewards, tf.float32),
      discount=tf.constant(discounts),
  )


def readable_agent(whole_rollout, **settings):
  """An agent whose bonus is x[0]**2 and whose values are x[1:3]."""
  spec = FLAT
  first = tensor_spec.TensorSpec([1], tf.float32)
  predictor = networks.RNDNetwork(first, (), output_size=1)
  target = networks.RNDNetwork(first, (), output_size=1, trainable=False)
  for net, weight in ((predictor, 1.0), (target, 0.0)):
    net.variables[0].assign([[weight]])
  nets = {
      'actor_net': networks.create_networks(
          spec, DISCRETE, rnd_networks_fn=None, fc_layer_params=(8,)
      ).actor_net,
      'value_net': Slice(spec, 1, 3),
      'rnd_network': predictor,
      'target_rnd_network': target,
  }
  settings = {
      'observation_clip_value': None,
      # Fresh statistics divide by 1.
      'update_normalizers_in_train': False,
      **settings,
  }
  return build_agent(
      nets=nets,
      rnd_observation_fn=lambda x: x[..., :1],
      compute_value_and_advantage_in_train=whole_rollout,
      **settings,
  )


def readable_rollout(agent, rows, rewards, bonus, values, intrinsic_values):
  """A rollout [1, T+1] of an agent of `readable_agent`; a letter each row.

  Rewards [T] are of each transition, the bonus [T+1] of arriving at each row,
  the values V_E and V_I [T+1] of each row.
  """
  experience = rollout(agent, [rows])
  observations = np.stack([np.sqrt(bonus), values, intrinsic_values], axis=-1)
  rewards = np.append(rewards, 1e3)  # The last row's belongs to no one.
  info = experience.policy_info
  if 'value_prediction' in info:
    info = dict(
        info,
        value_prediction=tf.constant([values], tf.float32),
        intrinsic_value_prediction=tf.constant([intrinsic_values], tf.float32),
    )
  return experience.replace(
      observation=tf.constant(observations[np.newaxis], tf.float32),
      reward=tf.constant(rewards[np.newaxis], tf.float32),
      policy_info=info,
  )


# Settings for all that an update can do.
EVERYTHING = dict(
    normalize_observations=True,
    normalize_rewards=True,
    normalize_advantages=True,
    gradient_clipping=0.1,
    policy_l2_reg=0.01,
    predictor_proportion=0.7,
    num_epochs=1,
)


def update(units, settings):
  """Builds an agent and trains it on a rollout of weighted rows.

  Units of a memory may be None. Returns (values of each variable, a list for
  the devices; metrics).
  """
  sizes = {} if units is None else {'core': networks.GRUCore(units)}
  agent = stir(build_agent(sizes=sizes, **settings))
  experience = rollout(agent)
  before = [v.numpy() for v in agent.variables]
  weights = tf.random.stateless_uniform(experience.reward.shape, [1, 2], 0.5, 2)
  train = agent.train
  if tf.distribute.has_strategy():
    train = common.function(train)
  info = train(experience, weights)
  assert sum(  # Policy, values, predictor, Adam's moments, statistics.
      not np.array_equal(x, v.numpy())
      for x, v in zip(before, agent.variables, strict=True)
  ) > 20
  return [
      [copy.numpy() for copy in getattr(v, 'values', [v])]
      for v in agent.variables
  ], [float(x) for x in (info.loss, *info.extra)]


def rows_of(agent, experience):
  """`Rows` and statistics of a rollout, as `train` computes them."""
  transitions = curiosity.Transitions.of_trajectory(experience)
  *evaluated, _ = agent._evaluate(experience, transitions)
  return agent._rows_of_rollout(experience, transitions, *evaluated)


def sampler_of(agent, experience):
  """Draws minibatches of a rollout, as `train` does."""
  return agent._sampler(rollout_lib.begins_transition(experience))


def loss_terms(agent, rows, minibatch, begins):
  """Terms of the loss on a minibatch of `Rows`, by name."""
  return agent._loss_terms(minibatch, *agent._curiosity_samples(rows, begins))


_STATELESS_SHUFFLE = tf.random.experimental.stateless_shuffle


def fix_shuffles(monkeypatch, period):
  """Makes agents shuffle as a `FixedShuffle` does."""
  monkeypatch.setattr(
      tf.random.experimental, 'stateless_shuffle', FixedShuffle(period)
  )


class FixedShuffle:
  """The same permutations every time, whatever the seed."""

  def __init__(self, period):
    """Takes the number of shuffles after which to begin again."""
    self._period = period
    self._calls = 0

  def __call__(self, values, seed):
    del seed
    shuffled = self.permutation(values, self._calls % self._period)
    self._calls += 1
    return shuffled

  @staticmethod
  def permutation(values, call):
    return _STATELESS_SHUFFLE(values, seed=[call, 7])


def adam_slots(optimizer, variable):
  """(momentum, velocity) of a variable under any generation of Adam."""
  if hasattr(optimizer, 'get_slot'):
    return [optimizer.get_slot(variable, name).numpy() for name in ('m', 'v')]
  index = optimizer._index_dict[optimizer._var_key(variable)]
  return [
      optimizer._momentums[index].numpy(),
      optimizer._velocities[index].numpy(),
  ]


class Slice(network.Network):
  """A network that hands out some entries of a flat observation."""

  def __init__(self, spec, first, last, name='Slice'):
    super().__init__(spec, state_spec=(), name=name)
    self._first, self._last = first, last

  def call(self, observation, step_type=None, network_state=(), training=False):
    return observation[..., self._first : self._last], network_state
