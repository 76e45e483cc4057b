# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The update of R2D3 written out slowly, to compare the agent with.

Networks are stepped one frame at a time with a batch of one and a state that
is carried along. Targets, priorities, clipping and both optimizers are loops
over floats; nothing of `rnd_agents` runs but the networks.
"""

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import networks
from rnd_agents.agents import r2d3_agent
from tests.agents import agent_test_utils
from tests.ops import q_sequences

LAST = int(ts.StepType.LAST)
UNITS = 5
OBSERVATION = tf.TensorSpec([3], tf.float32, 'observation')
ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
# Of `create_q_networks`; 'own' is no network of ours.
CORES = {'lstm': networks.LSTMCore, 'gru': networks.GRUCore, 'none': None}
# Letters as in `agent_test_utils`; after an end, L is padding and R a repeat of
# the last step. Episodes end by death and by a time limit, in the burn-in and
# after it; the last row is nothing but padding.
ROWS = ('FMMTFMMM', 'MMMMLFMM', 'MLFMMTRR', 'MMMMMMMM', 'LLLLLLLL')
WEIGHTS = np.float32([0.3, 1.0, 0.7, 0.5, 0.9])
DEMONSTRATIONS = np.array([True, False, True, False, True])


class Settings(NamedTuple):
  """Arguments of `R2D3Agent` that this file knows how to follow."""

  burn_in_length: int = 2
  recurrent_state_init: str = 'stored'
  n_step: int = 3
  discount_factor: float = 0.9
  value_rescaling_epsilon: float | None = 1e-3
  double_q: bool = True
  n_step_weight: float = 1.0
  one_step_weight: float = 0.0
  margin_weight: float = 0.0
  margin: float = 0.3
  l2_weight: float = 0.0
  squared_error_scale: float = 0.5
  mean_over_time: bool = False
  priority_max_weight: float = 0.9
  priorities_from: str = 'n_step_errors'
  target_update_tau: float = 1.0
  target_update_period_train_steps: int = 2
  gradient_clipping: float | None = None


class OwnNetwork(network.Network):
  """Q values of a fading sum of observations, as a user would write it."""

  def __init__(self):
    super().__init__(OBSERVATION, tf.TensorSpec([UNITS], tf.float32), 'Own')
    self._into = tf.Variable(tf.random.normal([3, UNITS]), name='into')
    self._out = tf.Variable(tf.random.normal([UNITS, 3]), name='out')

  def call(self, observation, step_type, network_state=(), training=False):
    del training
    if observation.shape.rank == 2:
      state = self._next(observation, step_type, network_state)
      return tf.matmul(state, self._out), state
    states = []
    for t in range(observation.shape[1]):
      network_state = self._next(
          observation[:, t], step_type[:, t], network_state
      )
      states.append(network_state)
    return tf.matmul(tf.stack(states, 1), self._out), network_state

  def _next(self, observation, step_type, state):
    goes_on = tf.cast(step_type != ts.StepType.FIRST, tf.float32)
    return 0.7 * state * goes_on[:, tf.newaxis] + tf.tanh(
        tf.matmul(observation, self._into)
    )


def build_networks(core='lstm', seed=0):
  """A small network and its target, of weights that are all unlike 0."""
  tf.random.set_seed(seed)
  if core == 'own':
    nets = networks.QNetworks(OwnNetwork(), OwnNetwork())
    for net in nets:
      net.create_variables()
  else:
    core_class = CORES[core]
    nets = networks.create_q_networks(
        OBSERVATION,
        ACTION,
        fc_layer_params=(6,),
        core=None if core_class is None else core_class(UNITS),
        head_units=4,
    )
  random = np.random.RandomState(seed)
  for net in nets:
    for variable in net.variables:
      variable.assign_add(0.2 * random.normal(size=variable.shape))
  return nets


def build_agent(nets=None, core='lstm', seed=0, **settings):
  """An agent; `settings` go to its constructor."""
  if nets is None:
    nets = build_networks(core, seed)
  settings = {
      **Settings()._asdict(),
      'optimizer': tf.keras.optimizers.SGD(0.1),
      'action_spec': ACTION,
      'train_step_counter': tf.Variable(0, dtype=tf.int64),
      **nets._asdict(),
      **settings,
  }
  spec = nets.q_network.input_tensor_spec
  return r2d3_agent.R2D3Agent(ts.time_step_spec(spec), **settings)


def sequences(rows=ROWS, seed=0):
  """Random frames with episodes as written; a `Trajectory` [B, L]."""
  step_types, next_step_types, discounts = agent_test_utils.step_type_rows(
      [row.replace('R', 'L') for row in rows]
  )
  next_step_types[step_types == LAST] = ts.StepType.FIRST
  next_step_types[[[x == 'R' for x in row] for row in rows]] = LAST
  shape = step_types.shape
  random = np.random.RandomState(seed + 100)
  return trajectory.Trajectory(
      step_type=tf.constant(step_types),
      observation=agent_test_utils.sample(OBSERVATION, shape, seed),
      action=agent_test_utils.sample(ACTION, shape, seed + 1),
      policy_info=(),
      next_step_type=tf.constant(next_step_types),
      reward=tf.constant(2 * random.normal(size=shape), tf.float32),
      discount=tf.constant(discounts),
  )


def random_states(q_network, batch_size, seed=0):
  """States of another network: a flat list of arrays [B, units]."""
  random = np.random.RandomState(seed + 200)
  return [
      np.float32(0.7 * random.normal(size=[batch_size, *spec.shape]))
      for spec in tf.nest.flatten(q_network.state_spec)
  ]


def copy_networks(nets, others):
  """Gives `others` the weights of `nets`."""
  for net, other in zip(nets, others, strict=True):
    for x, y in zip(net.variables, other.variables, strict=True):
      y.assign(x)


def assert_networks_equal(agent, nets, tolerance=1e-5):
  """Compares both networks of an agent with others."""
  for net, other in zip(
      (agent._q_network, agent._target_q_network), nets, strict=True
  ):
    for x, y in zip(net.variables, other.variables, strict=True):
      np.testing.assert_allclose(x, y, rtol=0, atol=tolerance, err_msg=x.name)


def train(agent, experience, states, function=None):
  """One train step with all that a replay hands over."""
  return (function or agent.train)(
      experience,
      weights=tf.constant(WEIGHTS),
      network_state=tuple(map(tf.constant, states)),
      is_demonstration=tf.constant(DEMONSTRATIONS),
  )


class Sgd:
  """Gradient descent."""

  def __init__(self, learning_rate):
    self._rate = learning_rate

  def step(self, index, gradient):
    """What to add to the variable of that number."""
    del index
    return -self._rate * gradient


class Adam:
  """Kingma and Ba, 2015, in the order of their section 2's last sentence."""

  def __init__(self, learning_rate, epsilon):
    self._rate, self._epsilon = learning_rate, epsilon
    self._moments = {}

  def step(self, index, gradient):
    """What to add to the variable of that number."""
    count, m, v = self._moments.get(index, (0, 0.0, 0.0))
    count += 1
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    self._moments[index] = count, m, v
    rate = self._rate * math.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    return -rate * m / (np.sqrt(v) + self._epsilon)


class SlowAgent:
  """Trains two networks of its own.

  Args:
    nets: `QNetworks`.
    optimizer: `Sgd` or `Adam`.
    settings: `Settings`.
  """

  def __init__(self, nets, optimizer, settings):
    self.nets = nets
    self.settings = settings
    self._optimizer = optimizer
    self._num_train_steps = 0
    # Traced once, so that a thousand single frames take no minute.
    self._calls = [tf.function(net, autograph=False) for net in nets]

  def _frames(self, number, experience, b, states):
    """Q values [A] of each frame after the burn-in by a network, a list."""
    net, call = self.nets[number], self._calls[number]
    settings = self.settings
    state = ()
    if net.state_spec:
      state = net.get_initial_state(batch_size=1)
      if states is not None and settings.recurrent_state_init == 'stored':
        flat = [tf.constant(x[b : b + 1]) for x in states]
        state = tf.nest.pack_sequence_as(net.state_spec, flat)
    result = []
    for t in range(experience.step_type.shape[1]):
      if t == settings.burn_in_length:
        # As numbers: no gradient leads back.
        state = tf.nest.map_structure(lambda x: tf.constant(x.numpy()), state)
      q_values, state = call(
          experience.observation[b : b + 1, t],
          experience.step_type[b : b + 1, t],
          network_state=state,
      )
      result.append(q_values[0])
    return result[settings.burn_in_length :]

  def _steps(self, experience, b, states, is_demonstration):
    """The steps of a sequence in which somebody acted, a list of dicts."""
    settings, start = self.settings, self.settings.burn_in_length
    online = self._frames(0, experience, b, states)
    target = self._frames(1, experience, b, states)
    is_last = experience.step_type[b, start:].numpy() == LAST
    numbers = [
        np.array([x.numpy() for x in q], np.float64) for q in (online, target)
    ]

    def targets(n):
      return q_sequences.slow_targets(
          *numbers,
          experience.reward[b, start:-1].numpy(),
          experience.discount[b, start:-1].numpy(),
          is_last,
          settings.discount_factor,
          n,
          settings.value_rescaling_epsilon,
          settings.double_q,
      )

    steps = []
    for t, (y_n, y_1) in enumerate(zip(targets(settings.n_step), targets(1))):
      if is_last[t]:
        continue
      action = int(experience.action[b, start + t])
      q = online[t][action]
      others = [online[t][a] + settings.margin for a in range(3) if a != action]
      margin = 0.0
      if is_demonstration[b] and settings.margin_weight:
        margin = tf.reduce_max(tf.stack([q, *others])) - q
      steps.append(dict(
          q=q,
          target=y_n,
          n_step_error=y_n - q,
          one_step_error=y_1 - q,
          margin=margin,
          agrees=np.argmax(online[t].numpy()) == action,
          demonstrated=bool(is_demonstration[b]),
      ))
      steps[-1]['loss'] = (
          settings.n_step_weight * settings.squared_error_scale * (y_n - q) ** 2
          + settings.one_step_weight
          * settings.squared_error_scale
          * (y_1 - q) ** 2
          + settings.margin_weight * margin
      )
    return steps

  def _priority(self, steps):
    sizes = []
    for step in steps:
      size = abs(float(step['n_step_error']))
      if self.settings.priorities_from == 'both_errors':
        size += abs(float(step['one_step_error']))
      if self.settings.priorities_from == 'losses':
        size = float(step['loss'])
      sizes.append(size)
    if not sizes:
      return 0.0
    eta = self.settings.priority_max_weight
    return eta * max(sizes) + (1 - eta) * sum(sizes) / len(sizes)

  def train(self, experience, weights=None, states=None, is_demonstration=None):
    """One step; returns (loss, a dict of what `R2D3LossInfo` says)."""
    settings = self.settings
    batch_size = experience.step_type.shape[0]
    weights = [1.0] * batch_size if weights is None else weights
    if is_demonstration is None:
      is_demonstration = [False] * batch_size
    variables = self.nets.q_network.trainable_variables
    with tf.GradientTape() as tape:
      loss, all_steps, priorities = 0.0, [], []
      for b in range(batch_size):
        steps = self._steps(experience, b, states, is_demonstration)
        trained = list(steps)
        for t in range(settings.burn_in_length, experience.reward.shape[1]):
          if experience.step_type[b, t] == experience.next_step_type[b, t] == 2:
            trained.append(steps[-1])
        total = sum(step['loss'] for step in trained)
        if settings.mean_over_time:
          total /= max(len(trained), 1)
        loss += float(weights[b]) * total / batch_size
        all_steps += steps
        priorities.append(self._priority(steps))
      squares = sum(tf.reduce_sum(v * v) for v in variables)
      loss += settings.l2_weight * squares
    gradients = [
        np.asarray(g, np.float64) for g in tape.gradient(loss, variables)
    ]
    norm = math.sqrt(sum((g**2).sum() for g in gradients))
    clipping = settings.gradient_clipping
    for i, (variable, gradient) in enumerate(zip(variables, gradients)):
      if clipping is not None and norm > clipping:
        gradient = gradient * clipping / norm
      variable.assign_add(self._optimizer.step(i, gradient))
    self._num_train_steps += 1
    if self._num_train_steps % settings.target_update_period_train_steps == 0:
      tau = settings.target_update_tau
      online, target = (net.variables for net in self.nets)
      for x, y in zip(online, target, strict=True):
        y.assign(tau * x + (1 - tau) * y)
    info = _figures(all_steps, settings)
    info.update(
        gradient_norm=norm,
        demonstration_rate=np.mean(is_demonstration),
        priorities=priorities,
        l2_loss=float(squares) if settings.l2_weight else 0.0,
        rnd_loss=0.0,
        bonus_mean=0.0,
    )
    return float(loss), info


def _figures(steps, settings):
  """Means over the steps that the agent reports."""

  def mean(values):
    values = [float(x) for x in values]
    return sum(values) / max(len(values), 1)

  demonstrated = [step for step in steps if step['demonstrated']]
  has_one_step = settings.one_step_weight > 0
  return dict(
      td_loss=mean(step['n_step_error'] ** 2 for step in steps),
      one_step_loss=has_one_step
      * mean(step['one_step_error'] ** 2 for step in steps),
      margin_loss=mean(step['margin'] for step in demonstrated),
      td_error_mean=mean(abs(step['n_step_error']) for step in steps),
      q_mean=mean(step['q'] for step in steps),
      target_mean=mean(step['target'] for step in steps),
      demonstration_agreement=mean(step['agrees'] for step in demonstrated),
  )
