# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The update of recurrent RND-PPO written out slowly: one step at a time."""

import tensorflow as tf

from tests.agents import agent_test_utils
from tests.agents import slow_streams
from tests.agents import slow_update


class SlowRecurrentAgent(slow_update.SlowAgent):
  """A `SlowAgent` that carries a state from row to row.

  Its twin has two views of one recurrent network; `chunking` is how the agent
  is told to cut, by its own names.
  """

  def __init__(self, twin, settings, chunking):
    super().__init__(twin, settings)
    self.network = self.actor_net.actor_critic
    # Traced once: a thousand single rows take seconds otherwise.
    self._call = tf.function(self._apply, autograph=False)
    self.chunking = chunking
    self._rollout = None
    self._chunks = None  # Of the minibatch; None for whole rollouts.
    self.value_net = _Values(self, self.value_net.trainable_weights)

  # Networks, a row at a time.

  def _stored(self, b, t):
    """The state that was stored with a row, [1, units]..., or 0."""
    if self.chunking['recurrent_state_init'] == 'zero':
      return self.network.get_initial_state(batch_size=1)
    flat = self._rollout.policy_info['network_state']
    return tf.nest.pack_sequence_as(
        self.network.state_spec, [x[b : b + 1, t] for x in flat]
    )

  def _apply(self, observation, step_type, state):
    (distribution, value), state = self.network(
        observation, step_type, network_state=state
    )
    return (distribution.logits, value), state

  def _row(self, b, t, state):
    """((logits, values), state) of a row, each of a batch of one."""
    observation = self._inputs(self._rollout.observation[b : b + 1, t])
    step_type = self._rollout.step_type[b : b + 1, t]
    return self._call(tf.convert_to_tensor(observation), step_type, state)

  def _state_at(self, b, start):
    """The state before a chunk's first row, after its burn-in."""
    burn_in = self.chunking['burn_in_length']
    if start < burn_in:
      return self._stored(b, start)
    state = self._stored(b, start - burn_in)
    for t in range(start - burn_in, start):
      _, state = self._row(b, t, state)
    # As numbers: no gradient leads back.
    return tf.nest.map_structure(lambda x: tf.constant(x.numpy()), state)

  def _unrolled(self):
    """(logits, values) at the rows that the minibatch learns from."""
    logits, values = [], []
    for b, rows in self._chunks:
      state = self._state_at(b, rows[0])
      for i, t in enumerate(rows):
        if i and t == rows[i - 1]:  # 'fill': the same sample once more.
          logits.append(logits[-1])
          values.append(values[-1])
          continue
        (row_logits, value), state = self._row(b, t, state)
        if self._rollout.step_type[b, t] == slow_streams.LAST:
          continue
        logits.append(row_logits)
        values.append(value)
    return tf.concat(logits, 0), tf.concat(values, 0)

  def _whole_rollout_values(self):
    batch_size, num_rows = self._rollout.step_type.shape
    values = []
    for b in range(batch_size):
      state, row_values = self._stored(b, 0), []
      for t in range(num_rows):
        (_, value), state = self._row(b, t, state)
        row_values.append(value[0])
      values.append(tf.stack(row_values))
    return tf.stack(values)

  def _distribution_terms(self, observations, actions):
    del observations
    logits, _ = self._unrolled()
    return slow_update._log_probability({'logits': logits}, actions)

  def _new_parameters(self, observations):
    del observations
    return [dict(logits=self._unrolled()[0])]

  # The update.

  def train(self, experience, weights=None):
    self._rollout = experience
    return super().train(experience, weights)

  def _samples(self, step_types):
    """Chunks (environment, rows), each with a row to learn from at least."""
    batch_size, num_rows = step_types.shape
    num_steps = num_rows - 1
    length = self.chunking['unroll_length'] or num_steps
    chunks = []
    for b in range(batch_size):
      for start in range(0, num_steps, length):
        rows = list(range(start, min(start + length, num_steps)))
        missing = length - len(rows)
        if missing and self.chunking['unroll_remainder'] == 'drop':
          continue
        kept = [t for t in rows if step_types[b, t] != slow_streams.LAST]
        if not kept:
          continue
        if self.chunking['unroll_remainder'] == 'fill' and rows[-1] in kept:
          rows += [rows[-1]] * missing
        chunks.append((b, rows))
    return chunks

  def _logs(self, data, chosen):
    return self._on_chunks(super()._logs, data, chosen)

  def _kls(self, data, chosen):
    return self._on_chunks(super()._kls, data, chosen)

  def _step(self, data, chosen):
    return self._on_chunks(super()._step, data, chosen)

  def _on_chunks(self, of_rows, data, chosen):
    self._chunks = chosen
    step_types = self._rollout.step_type.numpy()
    flat = [
        (b, t)
        for b, rows in chosen
        for t in rows
        if step_types[b, t] != slow_streams.LAST
    ]
    result = of_rows(data, flat)
    self._chunks = None
    return result

  def _share(self, chosen):
    # RND has no memory: each row once, whatever fills up the chunks.
    return super()._share(list(dict.fromkeys(chosen)))


class _Values:
  """The value network as `SlowAgent` calls it."""

  def __init__(self, slow, trainable_weights):
    self._slow = slow
    self.trainable_weights = trainable_weights

  def __call__(self, observations):
    del observations
    if self._slow._chunks is None:
      return self._slow._whole_rollout_values(), ()
    return self._slow._unrolled()[1], ()


def with_states(experience, seed=9):
  """A rollout whose stored states are random: those of another network."""
  info = dict(experience.policy_info)
  info['network_state'] = tuple(
      0.5 * agent_test_utils.sample(
          tf.TensorSpec(x.shape[2:]), x.shape[:2], seed + i
      )
      for i, x in enumerate(info['network_state'])
  )
  return experience.replace(policy_info=info)
