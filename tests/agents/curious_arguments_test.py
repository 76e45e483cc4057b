# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a CuriousAgent and the factories around it refuse."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.networks import q_network
from tf_agents.networks import q_rnn_network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents import observations
from rnd_agents.statistics import running_statistics
from rnd_agents.training import off_policy
from tests.agents import curious_agent_test as test_utils

_TIME_STEP = ts.time_step_spec(test_utils.VECTOR)
_SPECS = _TIME_STEP, test_utils.ACTION
_CLOCK = dict(clock=tensor_spec.BoundedTensorSpec([2], tf.int64, 0, 10**9))
_OBSERVATIONS = np.ones([1, 2, 2], np.float32)


def _around(*args, **kwargs):
  return agents.CuriousAgent(test_utils.Recorder(), *args, **kwargs)


def _around_normalized(agent):
  return agents.CuriousAgent(
      agent,
      observation_normalizer=running_statistics.create_observation_normalizer(
          _CLOCK, observations.network_spec(_CLOCK), False
      ),
  )


def _around_dqn(network=None, **kwargs):
  specs = test_utils.VECTOR, test_utils.CHOICE
  return agents.CuriousAgent(
      dqn_agent.DqnAgent(
          _TIME_STEP,
          test_utils.CHOICE,
          network(*specs) if network else q_network.QNetwork(*specs),
          tf.keras.optimizers.Adam(),
          **kwargs,
      )
  )


def _train(agent):
  agent.train(
      test_utils.rows_of([[0, 1]], _OBSERVATIONS, [[0, 0]], [[1, 1]])
  )


def _create(**kwargs):
  return agents.create_curious_agent(*_SPECS, **kwargs)


_REFUSED = {
    'write @PolynomialDecay': lambda: _around(
        bonus_weight=tf.keras.optimizers.schedules.PolynomialDecay
    ),
    'TFAgent': lambda: agents.CuriousAgent(None),
    'n_step': lambda: _around_dqn(n_step_update=2),
    'R2D3Agent': lambda: _around_dqn(
        functools.partial(q_rnn_network.QRnnNetwork, lstm_size=(4,))
    ),
    'emit_log': lambda: _around_dqn(emit_log_probability=True),
    'discount_factor': lambda: agents.CuriousAgent(
        test_utils.Recorder(gamma=None), n_step=2
    ),
    'bonus_weight': lambda: _around(bonus_weight=-1),
    'predictor_learns_from': lambda: _around(predictor_learns_from='both'),
    'greedy_eval must be True or': lambda: _around(greedy_eval='False'),
    'Curiosity': lambda: _around('rnd'),
    'rnd_optimizer': lambda: _around(curiosity.create_rnd(*_SPECS)),
    'unroll_length': lambda: _train(_around(n_step=3)),
    # Before the random steps, and not at the first update.
    'unroll_length = 3 or more': lambda: off_policy.ReplayTraining(
        unroll_length=2
    ).sequence_spec(_around(n_step=3)),
    'unroll_length above 1': lambda: off_policy.ReplayTraining(
        unroll_length=1
    ).sequence_spec(
        _around(curiosity.create_etd(*_SPECS), tf.keras.optimizers.Adam())
    ),
    'episode so far': lambda: _train(
        _around(curiosity.create_novel_d(*_SPECS), tf.keras.optimizers.Adam())
    ),
    'one reward a step, .*2': lambda: agents.create_curious_agent(
        ts.time_step_spec(test_utils.VECTOR, tf.TensorSpec([2])),
        test_utils.ACTION,
        agent_fn=agents.create_sac_agent,
    ),
    'observation/clock is int64 .*must be float32': lambda: _around_normalized(
        test_utils.Recorder(_CLOCK)
    ),
    'scale them in a wrapper': lambda: agents.create_curious_agent(
        ts.time_step_spec(_CLOCK),
        test_utils.CHOICE,
        agent_fn=functools.partial(agents.create_dqn_agent, optimism=1.0),
    ),
    'normalize_observations must be True or': lambda: _create(
        agent_fn=agents.create_sac_agent, normalize_observations='False'
    ),
    'agent_fn': _create,
    'burn_in_length': lambda: _create(
        burn_in_length=1, agent_fn=agents.create_sac_agent
    ),
    'tau': lambda: agents.create_sac_agent(*_SPECS, target_update_tau=2.0),
    'create_sac_agent.fc_layer_params': lambda: agents.create_sac_agent(
        *_SPECS, fc_layer_params=(0,)
    ),
    'create_td3_agent.conv_layers': lambda: agents.create_td3_agent(
        *_SPECS, conv_layers=((8, 3, 1),)
    ),
    'create_curious_agent.agent_fn': lambda: agents.create_td3_agent(
        _TIME_STEP, test_utils.CHOICE
    ),
    'load_environment.wrappers': lambda: agents.create_sac_agent(
        _TIME_STEP,
        tensor_spec.BoundedTensorSpec([2], tf.float32, -1.0, [1.0, 3.4e38]),
    ),
    r'vectors, .*shape=\(\)': lambda: agents.create_sac_agent(
        _TIME_STEP, tensor_spec.BoundedTensorSpec([], tf.float32, -1.0, 1.0)
    ),
    'vectors, .*2, 2': lambda: agents.create_sac_agent(
        _TIME_STEP, tensor_spec.BoundedTensorSpec([2, 2], tf.float32, -1.0, 1.0)
    ),
    'TemporalDistance .*sampled': lambda: _around(
        curiosity.create_etd(*_SPECS),
        tf.keras.optimizers.Adam(),
        predictor_learns_from='collected',
    ),
    'Product .*sampled': lambda: _around(
        curiosity.create_product(
            *_SPECS, curiosity_fns=[curiosity.create_rnd, curiosity.create_etd]
        ),
        tf.keras.optimizers.Adam(),
        predictor_learns_from='collected',
    ),
}


@pytest.mark.parametrize('word', _REFUSED)
def test_what_does_not_fit_is_refused(word):
  with pytest.raises((errors.InvalidValue, errors.InvalidType), match=word):
    _REFUSED[word]()


def test_optimism_takes_a_normalizer_that_whitens_nothing():
  choice = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 3)
  agent = agents.create_curious_agent(
      ts.time_step_spec(choice),
      test_utils.CHOICE,
      agent_fn=functools.partial(agents.create_dqn_agent, optimism=100.0),
      normalize_observations=True,
  )
  assert agent.observation_normalizer.whitened == [False]
  steps = ts.restart(tf.constant([2, 3], tf.int64), 2)
  for action in range(3):
    row = trajectory.from_transition(
        steps,
        policy_step.PolicyStep(tf.fill([2], tf.constant(action, tf.int64))),
        steps,
    )
    if action != 1:
      agent.update_statistics(row)
  # Of the two that were tried once a quarter of the optimism is left.
  action = agent.sampled_policy.distribution(steps).action
  np.testing.assert_array_equal(np.argmax(action.logits, axis=-1), [1, 1])
