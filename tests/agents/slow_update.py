# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The update of RND-PPO written out slowly, to compare the agent with.

Nothing of `rnd_agents` runs here but the networks: returns, statistics and
filter are loops of numpy in float64, losses are spelled out.
"""

import numpy as np
import tensorflow as tf

from tests.agents import agent_test_utils
from tests.agents import slow_streams


class SlowAgent:
  """Trains the networks of `twin`, and nothing else of it.

  Args:
    twin: An agent whose networks and optimizers this takes over.
    settings: `slow_streams.Settings`.
  """

  def __init__(self, twin, settings):
    self.twin = twin
    self.settings = settings
    self.actor_net = twin.actor_net
    self.value_net = twin._value_net.value_net
    self.predictor = twin.curiosity.rnd_network
    self.target = twin.curiosity.target_rnd_network
    self.optimizer = twin._optimizer
    self.rnd_optimizer = twin._rnd_optimizer
    self.rnd_observations = slow_streams.Samples()
    self.intrinsic_returns = slow_streams.Samples()
    self.extrinsic_returns = slow_streams.Samples()
    self.policy_observations = slow_streams.Samples()
    self.filter = None
    self.extrinsic_filter = None
    self.advantage_deviation = 0.0
    self.kl_beta = settings.initial_adaptive_kl_beta
    self._behind_policy = self._behind(self.actor_net, _parameters)
    self._behind_values = self._behind(self.value_net, lambda values: [values])

  # Statistics.

  def _whiten(self, observations):
    clip = self.settings.observation_clip_value
    return self.rnd_observations.whiten(observations, clip).astype(np.float32)

  def _inputs(self, observations):
    if not self.settings.normalize_observations:
      return observations
    return self.policy_observations.whiten(observations, 5.0).astype(np.float32)

  def _run_filters(self, bonus, rewards, step_types):
    settings = self.settings
    if self.filter is None:
      self.filter = np.zeros(len(bonus))
      self.extrinsic_filter = np.zeros(len(bonus))
    for b in range(len(bonus)):
      for t in range(bonus.shape[1]):
        if step_types[b, t] == slow_streams.LAST:
          continue
        if step_types[b, t] == slow_streams.FIRST:
          self.extrinsic_filter[b] = 0.0
        if settings.normalize_rewards:
          self.extrinsic_filter[b] *= settings.discount_factor
          self.extrinsic_filter[b] += rewards[b, t]
          self.extrinsic_returns.add([self.extrinsic_filter[b]])
        self.filter[b] *= settings.intrinsic_discount_factor
        self.filter[b] += bonus[b, t]
        self.intrinsic_returns.add([self.filter[b]])

  # Losses, on one minibatch.

  def _distribution_terms(self, observations, actions):
    """(log probabilities, entropies), each [M], leaf by leaf."""
    distributions, _ = self.actor_net(observations)
    logs, entropies = 0.0, 0.0
    for distribution, action in zip(
        tf.nest.flatten(distributions), tf.nest.flatten(actions), strict=True
    ):
      log, entropy = _log_probability(distribution.parameters, action)
      logs, entropies = logs + log, entropies + entropy
    return logs, entropies

  def _loss(self, batch):
    settings = self.settings
    weight = batch['weight']
    observations = tf.nest.map_structure(self._inputs, batch['observation'])
    logs, entropies = self._distribution_terms(observations, batch['action'])
    if settings.log_prob_clipping:
      logs = tf.clip_by_value(
          logs, -settings.log_prob_clipping, settings.log_prob_clipping
      )
    values, _ = self.value_net(observations)
    ratio = tf.exp(logs - batch['old_log'])
    most = settings.dual_clip or np.inf
    epsilon = settings.importance_ratio_clipping or np.inf
    gain = tf.minimum(
        ratio * batch['advantage'],
        tf.minimum(tf.maximum(ratio, 1 - epsilon), 1 + epsilon)
        * batch['advantage'],
    )
    bad = batch['advantage'] < 0
    gain = tf.where(bad & (ratio > most), most * batch['advantage'], gain)
    terms = {
        'policy': -tf.reduce_mean(weight * gain),
        'entropy': -settings.entropy_regularization
        * tf.reduce_mean(weight * entropies),
        'l2': self._l2_loss(),
    }
    for head, stream in enumerate(settings.streams()):
      if stream.source == 'bonus' and not stream.coefficient:
        continue
      value, old = values[:, head], batch['old_values'][:, head]
      error = (value - batch['returns'][:, head]) ** 2
      if settings.value_clipping:
        move = tf.maximum(value - old, -settings.value_clipping)
        near = old + tf.minimum(move, settings.value_clipping)
        error = tf.maximum(error, (near - batch['returns'][:, head]) ** 2)
      terms[stream.name] = settings.value_pred_loss_coef * tf.reduce_mean(
          weight * error
      )
    if settings.initial_adaptive_kl_beta or settings.kl_cutoff_factor:
      kl = tf.reduce_mean(weight * self._kl_divergences(batch))
      over = kl - settings.kl_cutoff_factor * settings.adaptive_kl_target
      terms['penalty'] = self.kl_beta * kl
      if settings.kl_cutoff_factor:
        terms['penalty'] += settings.kl_cutoff_coef * tf.maximum(over, 0) ** 2
    ratio = ratio.numpy()
    figures = {
        'mean_entropy': np.mean(entropies),
        'clip_fraction': np.mean(np.abs(ratio - 1) > epsilon),
        'kl': np.mean(ratio - 1 - np.log(ratio)),
    }
    return terms, figures

  def _kl_divergences(self, batch):
    """KL(old, new), [M]: sums over the leaves of the action."""
    observations = tf.nest.map_structure(self._inputs, batch['observation'])
    return sum(
        _kl(old, new)
        for old, new in zip(
            batch['old_parameters'],
            self._new_parameters(observations),
            strict=True,
        )
    )

  def _new_parameters(self, observations):
    distributions, _ = self.actor_net(observations)
    return [_leaf(d.parameters) for d in tf.nest.flatten(distributions)]

  def _l2_loss(self):
    settings = self.settings
    policy, value = self._behind_policy, self._behind_values
    total = tf.constant(0.0)
    for variables, coefficient in (
        (policy - value, settings.policy_l2_reg),
        (value - policy, settings.value_function_l2_reg),
        (policy & value, settings.shared_vars_l2_reg),
    ):
      for variable in variables:
        variable = variable.deref()
        if 'kernel' in variable.name:
          total += coefficient * tf.reduce_sum(variable**2)
    return total

  def _behind(self, net, outputs_of):
    """What the outputs have a gradient in, references to variables."""
    observation = tf.nest.map_structure(
        lambda spec: tf.ones([2, *spec.shape], spec.dtype),
        net.input_tensor_spec,
    )
    with tf.GradientTape() as tape:
      outputs = outputs_of(net(observation)[0])
    gradients = tape.gradient(outputs, net.trainable_weights)
    return {
        v.ref()
        for v, gradient in zip(net.trainable_weights, gradients, strict=True)
        if gradient is not None
    }

  def _predictor_loss(self, arrivals, weight):
    inputs = self._whiten(arrivals)
    features, _ = self.predictor(inputs)
    goal = self.target(inputs)[0].numpy()
    errors = tf.reduce_mean((features - goal) ** 2, axis=-1)
    return tf.reduce_mean(weight * errors)

  # The update.

  def train(self, experience, weights=None):
    """One rollout; returns (means of its steps, streams), both by name."""
    data = self._streams(experience)
    step_types = experience.step_type.numpy()
    batch_size, num_rows = step_types.shape
    weight = np.ones([batch_size, num_rows], np.float32)
    if weights is not None:
      weights = np.asarray(weights, np.float32)
      weight *= weights[:, np.newaxis] if weights.ndim == 1 else weights
    data['weight'] = weight
    samples = self._samples(step_types)
    policy = [ref.deref() for ref in self._behind_policy]
    before = [v.numpy().astype(np.float64) for v in policy]
    size = len(samples) // self.settings.num_minibatches
    first = [samples[i] for i in self._order(samples)[:size]]
    old = self._logs(data, first)

    def kl():
      change = self._logs(data, first) - old
      return np.mean(np.exp(change) - 1 - change)

    steps = self._steps(data, samples)
    if self.kl_beta:
      kls = self._kls(data, samples)
      target = self.settings.adaptive_kl_target
      tolerance = self.settings.adaptive_kl_tolerance
      if np.mean(kls) < (1 - tolerance) * target:
        self.kl_beta /= 1.5
      if np.mean(kls) > (1 + tolerance) * target:
        self.kl_beta *= 1.5
    num_halvings = 0
    if self.settings.target_kl is not None:
      num_halvings = self._shorten(policy, before, kl)
    change = np.sqrt(
        sum(
            np.sum(np.square(variable.numpy() - old))
            for variable, old in zip(policy, before, strict=True)
        )
    )
    if self.settings.normalize_observations:
      for b in range(batch_size):
        for t in range(num_rows - 1):
          self.policy_observations.add(experience.observation[b, t : t + 1])
    means = {name: np.mean([step[name] for step in steps]) for name in steps[0]}
    num_steps = self.settings.num_epochs * self.settings.num_minibatches
    return dict(
        means,
        update_size=change / self.optimizer.learning_rate.numpy(),
        skipped_train_steps=num_steps - len(steps),
        num_halvings=num_halvings,
    ), data

  def _shorten(self, variables, before, kl):
    """Halves the way from `before` while the policy is too far."""
    ways = [v.numpy() - old for v, old in zip(variables, before, strict=True)]
    num_halvings = 0
    while kl() > 1.5 * self.settings.target_kl:
      num_halvings += 1
      for variable, old, way in zip(variables, before, ways, strict=True):
        variable.assign((old + way / 2**num_halvings).astype(np.float32))
    return num_halvings

  def _order(self, samples, epoch=0):
    indices = tf.range(len(samples))
    return agent_test_utils.FixedShuffle.permutation(indices, epoch).numpy()

  def _steps(self, data, samples):
    """Losses of each optimizer step, until one is too far from the start."""
    steps = []
    for epoch in range(self.settings.num_epochs):
      order = self._order(samples, epoch)
      bounds = [
          len(samples) * part // self.settings.num_minibatches
          for part in range(self.settings.num_minibatches + 1)
      ]
      for start, end in zip(bounds[:-1], bounds[1:], strict=True):
        chosen = [samples[i] for i in order[start:end]]
        steps.append({
            name: float(number)
            for name, number in self._step(data, chosen).items()
        })
        target_kl = self.settings.target_kl
        if target_kl is not None and steps[-1]['kl'] > 1.5 * target_kl:
          return steps
    return steps

  def _samples(self, step_types):
    """What minibatches are drawn from: rows (b, t) that are no boundary."""
    batch_size, num_rows = step_types.shape
    return [
        (b, t)
        for b in range(batch_size)
        for t in range(num_rows - 1)
        if step_types[b, t] != slow_streams.LAST
    ]

  def _share(self, chosen):
    """What of a minibatch the predictor learns from."""
    size = self.settings.predictor_proportion * len(chosen)
    return chosen[: max(1, int(np.round(size)))]

  def _streams(self, experience):
    settings = self.settings
    step_types = experience.step_type.numpy()
    discounts = experience.discount.numpy()
    rewards = experience.reward.numpy().astype(np.float64)[:, :-1]
    explores = settings.intrinsic_advantage_coefficient != 0
    batch_size, num_rows = step_types.shape
    observations = experience.observation
    inputs = tf.nest.map_structure(
        lambda x: tf.convert_to_tensor(self._inputs(x)), observations
    )
    values = self.value_net(inputs)[0].numpy().astype(np.float64)
    bonus = np.zeros([batch_size, num_rows - 1])
    if explores:
      arrivals = tf.nest.map_structure(lambda x: x[:, 1:], observations)
      seen = self._whiten(arrivals)
      difference = self.predictor(seen)[0] - self.target(seen)[0]
      bonus = np.mean(np.square(difference.numpy()), axis=-1)
    self._run_filters(bonus, rewards, step_types)
    if settings.normalize_rewards:
      deviation = np.sqrt(self.extrinsic_returns.moments()[1])
      rewards = rewards / np.maximum(deviation, settings.least_reward_deviation)
      bound = settings.reward_norm_clipping
      rewards = np.clip(rewards, -bound, bound)
    intrinsic_rewards = bonus / np.sqrt(self.intrinsic_returns.moments()[1])
    clip = settings.intrinsic_reward_clip or np.inf
    is_clipped = intrinsic_rewards > clip
    intrinsic_rewards = np.minimum(intrinsic_rewards, clip)
    sources = {'reward': rewards, 'bonus': intrinsic_rewards}
    if rewards.ndim == 3:
      sources.update(enumerate(np.moveaxis(rewards, -1, 0)))

    def of_streams(estimate):
      return [
          np.stack([
              estimate(settings, stream, *of_environment)
              for of_environment in zip(
                  sources[stream.source],
                  values[..., head],
                  step_types,
                  discounts,
                  strict=True,
              )
          ])
          for head, stream in enumerate(settings.streams())
      ]

    estimates = of_streams(slow_streams.gae)
    returns = np.stack(estimates, -1) + values[:, :-1]
    if not (settings.use_gae and settings.use_td_lambda_return):
      returns = np.stack(of_streams(slow_streams.monte_carlo), -1)
    if not settings.use_gae:
      estimates = np.moveaxis(returns - values[:, :-1], -1, 0)
    advantages = sum(
        stream.coefficient * advantages * (explores or stream.source != 'bonus')
        for stream, advantages in zip(
            settings.streams(), estimates, strict=True
        )
    )
    if settings.normalize_advantages:
      kept = advantages[step_types[:, :-1] != slow_streams.LAST]
      self.advantage_deviation = max(
          kept.std(), settings.advantage_scale_decay * self.advantage_deviation
      )
      scale = np.sqrt(self.advantage_deviation**2 + 1e-8)
      advantages = (advantages - kept.mean()) / scale
    if explores:
      for b, t in zip(*np.nonzero(step_types[:, :-1] != slow_streams.LAST)):
        self.rnd_observations.add(observations[b, t + 1 : t + 2])
    old_log = sum(
        _log_probability(parameters, action)[0]
        for parameters, action in _old_distributions(experience)
    )
    return dict(
        experience=experience,
        advantage=advantages,
        returns=returns,
        old_values=values[:, :-1],
        old_log=old_log.numpy(),
        bonus=bonus,
        extrinsic_rewards=rewards,
        intrinsic_rewards=intrinsic_rewards,
        is_clipped=is_clipped,
    )

  def _batch(self, data, chosen):
    def pick(x):
      return np.stack([np.asarray(x[b, t]) for b, t in chosen])

    names = ('advantage', 'returns', 'old_values', 'old_log', 'weight')
    experience = data['experience']
    return dict(
        {name: pick(data[name]).astype(np.float32) for name in names},
        observation=tf.nest.map_structure(pick, experience.observation),
        action=tf.nest.map_structure(pick, experience.action),
        old_parameters=[
            {name: pick(x) for name, x in _leaf(parameters).items()}
            for parameters, _ in _old_distributions(experience)
        ],
    )

  def _kls(self, data, chosen):
    """KL(old, new) under the weights of now, times the weights of rows."""
    batch = self._batch(data, chosen)
    return (batch['weight'] * self._kl_divergences(batch)).numpy()

  def _logs(self, data, chosen):
    """Log probabilities of the actions under the weights of now."""
    batch = self._batch(data, chosen)
    observations = tf.nest.map_structure(self._inputs, batch['observation'])
    logs, _ = self._distribution_terms(observations, batch['action'])
    return logs.numpy().astype(np.float64)

  def _step(self, data, chosen):
    experience = data['experience']
    batch = self._batch(data, chosen)
    explores = self.settings.intrinsic_advantage_coefficient != 0
    share = self._share(chosen)
    with tf.GradientTape() as tape:
      losses, figures = self._loss(batch)
      if explores:
        arrivals = np.stack([
            experience.observation[b, t + 1].numpy() for b, t in share
        ])
        losses['rnd'] = self._predictor_loss(
            arrivals, batch['weight'][: len(share)]
        )
      total = sum(losses.values())
    ppo = list(self.twin._ppo_variables)
    rnd = list(self.predictor.trainable_variables) if explores else []
    gradients = tape.gradient(total, ppo + rnd)
    pairs = [
        pair
        for pair in zip(gradients[: len(ppo)], ppo, strict=True)
        if pair[0] is not None
    ]
    norm = np.sqrt(sum(np.sum(np.square(x)) for x, _ in pairs))
    limit = self.settings.gradient_clipping
    if limit and norm > limit:
      pairs = [(x * (limit / norm), variable) for x, variable in pairs]
    rnd_pairs = list(zip(gradients[len(ppo) :], rnd, strict=True))
    if self.rnd_optimizer is None:
      self.optimizer.apply_gradients(pairs + rnd_pairs)
    else:
      self.optimizer.apply_gradients(pairs)
      self.rnd_optimizer.apply_gradients(rnd_pairs)
    figures['norm'] = norm
    figures['rnd_norm'] = np.sqrt(
        sum(np.sum(np.square(x)) for x, _ in rnd_pairs)
    )
    return dict(losses, total=total, **figures)


def _old_distributions(experience):
  """Pairs (parameters, actions) of the collecting policy, leaf by leaf."""
  parameters = experience.policy_info['dist_params']
  if not isinstance(experience.action, dict):
    return [(parameters, experience.action)]
  return [
      (parameters[name], experience.action[name])
      for name in sorted(experience.action)
  ]


def _log_probability(parameters, action):
  """(log probability, entropy) [...] of categorical or normal parameters."""
  if 'distribution' in parameters:  # Independent parts of one action.
    parts = parameters['distribution']
    log, entropy = _log_probability(getattr(parts, 'parameters', parts), action)
    return tf.reduce_sum(log, -1), tf.reduce_sum(entropy, -1)
  if parameters.get('logits') is not None:
    logs = tf.nn.log_softmax(parameters['logits'])
    taken = tf.gather(logs, action, batch_dims=len(action.shape))
    entropy = -tf.reduce_sum(tf.exp(logs) * logs, axis=-1)
    return taken, entropy
  scale = parameters['scale']
  distance = (action - parameters['loc']) / scale
  logs = -0.5 * distance**2 - tf.math.log(scale) - 0.5 * np.log(2 * np.pi)
  entropy = 0.5 + 0.5 * np.log(2 * np.pi) + tf.math.log(scale)
  return logs, entropy


def _leaf(parameters):
  """The tensors of categorical or normal parameters."""
  if 'distribution' in parameters:
    parts = parameters['distribution']
    return _leaf(getattr(parts, 'parameters', parts))
  if parameters.get('logits') is not None:
    return dict(logits=parameters['logits'])
  return dict(loc=parameters['loc'], scale=parameters['scale'])


def _kl(old, new):
  """KL(old, new), [M], of categorical or normal parameters."""
  if 'logits' in old:
    logs, new_logs = map(tf.nn.log_softmax, (old['logits'], new['logits']))
    return tf.reduce_sum(tf.exp(logs) * (logs - new_logs), axis=-1)
  square = old['scale'] ** 2 + (old['loc'] - new['loc']) ** 2
  kl = tf.math.log(new['scale'] / old['scale'])
  return tf.reduce_sum(kl + square / (2 * new['scale'] ** 2) - 0.5, axis=-1)


def _parameters(distributions):
  """The tensors that distributions are made of."""
  return [
      getattr(d, 'distribution', d).parameters[name]
      for d in tf.nest.flatten(distributions)
      for name in ('logits', 'loc', 'scale')
      if getattr(d, 'distribution', d).parameters.get(name) is not None
  ]
