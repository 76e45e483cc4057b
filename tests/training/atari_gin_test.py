# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Atari experiments are those of the paper."""

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers
from rnd_agents.training import gin_files

pytest.importorskip('ale_py')

# Burda et al., 2018, tables 2 to 5 and appendices A.3 to A.5, typed in from
# there and not from the gin file.
_PAPER = {
    'load_atari.max_num_frames_per_episode': 18_000,
    'load_atari.repeat_action_probability': 0.25,
    'load_atari.frame_skip': 4,
    'load_atari.stack_size': 4,
    'load_atari.screen_size': 84,
    'load_atari.terminal_on_life_loss': False,
    'load_atari.noop_max': 0,
    'train_eval.num_environments': 128,
    'OnPolicyTraining.rollout_length': 128,
    'train_eval.warm_up_env_steps': 6_400 * 128,
    'train_eval.num_env_steps': 6_400 * 128 + 30_000 * 128 * 128,
    'create_rnd_ppo_agent.learning_rate': 0.0001,
    'RNDPPOAgent.num_epochs': 4,
    'RNDPPOAgent.num_minibatches': 4,
    'RNDPPOAgent.lambda_value': 0.95,
    'RNDPPOAgent.discount_factor': 0.999,
    'RNDPPOAgent.intrinsic_discount_factor': 0.99,
    'RNDPPOAgent.extrinsic_advantage_coefficient': 2,
    'RNDPPOAgent.intrinsic_advantage_coefficient': 1,
    'RNDPPOAgent.importance_ratio_clipping': 0.1,
    'RNDPPOAgent.entropy_regularization': 0.001,
    'RNDPPOAgent.predictor_proportion': 0.25,
    'create_rnd.observation_clip_value': 5,
    # Of the authors' code.
    'RNDPPOAgent.value_pred_loss_coef': 0.5,
    'RNDPPOAgent.gradient_clipping': None,
    'RNDPPOAgent.normalize_advantages': False,
    'RNDPPOAgent.normalize_observations': False,
    'RNDPPOAgent.normalize_rewards': False,
    'RNDPPOAgent.greedy_eval': False,
}
_GAMES = {
    'montezuma_revenge': 'ALE/MontezumaRevenge-v5',
    'freeway': 'ALE/Freeway-v5',
    'venture': 'ALE/Venture-v5',
    'private_eye': 'ALE/PrivateEye-v5',
    'gravitar': 'ALE/Gravitar-v5',
    'pitfall': 'ALE/Pitfall-v5',
    'solaris': 'ALE/Solaris-v5',
}


def _changed_from_the_paper():
  """Bound values by name, where they are not the paper's."""
  return {
      name: gin.query_parameter(name)
      for name, value in _PAPER.items()
      if gin.query_parameter(name) != value
  }


@pytest.mark.parametrize('game', _GAMES)
def test_every_game_has_the_numbers_of_the_paper(game):
  gin_files.parse([game])
  assert {name: gin.query_parameter(name) for name in _PAPER} == _PAPER
  assert gin.query_parameter('load_environment.env') == _GAMES[game]
  # What is learned from is the sign; what is reported is the score.
  reward_fn = gin.query_parameter('train/load_environment.reward_fn')
  assert reward_fn.scoped_configurable_fn is wrappers.sign_of_reward
  with pytest.raises(ValueError):
    gin.query_parameter('eval/load_environment.reward_fn')


@pytest.mark.parametrize(
    ('files', 'game'),
    [
        (['atari_paper_rnn'], 'montezuma_revenge'),
        (['venture', 'atari_rnn'], 'venture'),
    ],
)
def test_the_recurrent_policy_changes_nothing_else(files, game):
  gin_files.parse(files)
  assert {name: gin.query_parameter(name) for name in _PAPER} == _PAPER
  assert gin.query_parameter('load_environment.env') == _GAMES[game]
  assert gin.query_parameter('RNDPPOAgent.unroll_length') is None


def test_on_a_few_cores_an_update_is_that_of_the_paper():
  gin_files.parse(['venture', 'atari_cpu', 'atari_ppo'])
  assert _changed_from_the_paper() == {
      'train_eval.num_environments': 32,
      'train_eval.warm_up_env_steps': 1_600 * 32,
      'train_eval.num_env_steps': 50_000_000,
      # As many transitions a step of the predictor: all of 32, a quarter of
      # 128 environments.
      'RNDPPOAgent.predictor_proportion': 1.0,
      'RNDPPOAgent.intrinsic_advantage_coefficient': 0.0,
  }
  assert gin.query_parameter('load_environment.env') == _GAMES['venture']


def test_a_small_budget_changes_what_its_header_says():
  gin_files.parse(['montezuma_revenge_small_budget'])
  assert _changed_from_the_paper() == {
      'OnPolicyTraining.rollout_length': 32,
      'train_eval.warm_up_env_steps': 400 * 128,
      'train_eval.num_env_steps': 5_000_000,
      'RNDPPOAgent.normalize_advantages': True,
      'RNDPPOAgent.entropy_regularization': 0.01,
      'RNDPPOAgent.discount_factor': 0.995,
      'RNDPPOAgent.extrinsic_advantage_coefficient': 10.0,
      'RNDPPOAgent.value_pred_loss_coef': 10.0,
      'RNDPPOAgent.num_minibatches': 16,
      'create_rnd_ppo_agent.learning_rate': 3e-4,
  }
  assert gin.query_parameter('create_rnd_ppo_agent.rnd_learning_rate') == 1e-4
  with gin.config_scope('train'):
    environment = loaders.load_environment(num_environments=1)
  agent = agents.create_rnd_ppo_agent(*local.specs_of(environment))
  extrinsic, intrinsic = agent.streams
  assert (intrinsic.bonus_clip, intrinsic.termination_discount) == (0.1, 0.5)
  assert extrinsic.ends_with_episode and not intrinsic.ends_with_episode
  discounts = [environment.reset().discount]
  while environment.get_info()['lives'][0] == 6:
    discounts.append(environment.step(np.array([4])).discount)  # Down to death.
  np.testing.assert_allclose(discounts[:-1], 1)
  np.testing.assert_allclose(discounts[-1], 0.8)
  for _ in range(1_000 - len(discounts)):  # Step 1,000 is the last.
    environment.step(np.array([0]))
  assert environment.pop_episodes() == []
  time_step = environment.step(np.array([0]))
  assert time_step.is_last() and time_step.discount == 1


def test_venture_pays_a_screen_once_a_game():
  gin_files.parse(['venture_small_budget'])
  assert _changed_from_the_paper() == {
      'OnPolicyTraining.rollout_length': 32,
      'train_eval.warm_up_env_steps': 400 * 128,
      'train_eval.num_env_steps': 5_000_000,
      'RNDPPOAgent.normalize_advantages': True,
      'RNDPPOAgent.discount_factor': 0.995,
      'RNDPPOAgent.extrinsic_advantage_coefficient': 10.0,
      'RNDPPOAgent.value_pred_loss_coef': 10.0,
      'RNDPPOAgent.num_minibatches': 16,
      'create_rnd_ppo_agent.learning_rate': 3e-4,
  }
  # The player is as dim as 17 to 40 of 255 on the map.
  assert gin.query_parameter('create_encoder.pixel_exponent') == 0.25
  with gin.config_scope('eval'):
    environment = loaders.load_environment(num_environments=1)
  agent = agents.create_rnd_ppo_agent(*local.specs_of(environment))
  frames = np.random.default_rng(0).integers(0, 256, [4, 84, 84, 1], np.uint8)
  a, b, c, d = frames
  # A stack of four frames; the newest, the last, is the screen.
  screens = [np.concatenate([a, b, c, x], -1) for x in (a, b, b, b, c, a, d)]
  screens.append(np.concatenate([d, d, d, b], -1))
  observations = np.stack(screens)[np.newaxis]
  rollout = curiosity.Transitions(
      next_observation=tf.constant(observations[:, 1:]),
      observation=tf.constant(observations[:, :-1]),
      action=tf.zeros([1, 7], tf.int64),
      is_first=tf.constant([[True] + [False] * 6]),
  )
  novelty = agent.curiosity.novelty.bonus(rollout).numpy()
  assert novelty.min() > 0
  np.testing.assert_allclose(
      agent.curiosity.bonus(rollout), novelty * [[1, 0, 0, 1, 0, 1, 0]]
  )


def test_sizes_of_the_recurrent_policy_and_what_is_evaluated():
  """The authors' sizes, and whole episodes with the rooms that they visit.

  `digests_test.py` has a run of the feed-forward policy, `factory_test.py` its
  sizes, `atari_test.py` the rewards, `actor_critic_network_test.py` memories of
  images.
  """
  gin_files.parse(
      ['montezuma_revenge', 'atari_cpu', 'atari_rnn'],
      ['eval/load_atari.max_num_frames_per_episode = 80'],
  )
  with gin.config_scope('eval'):
    environment = loaders.load_environment(num_environments=1)
  agent = agents.create_rnd_ppo_agent(*local.specs_of(environment))
  # Convolutions 106,656, dense 590,080, GRU 393,984, residual layers 131,584,
  # logits 4,626 and values 514.
  for variables, count in (
      (agent._ppo_variables, 1_227_444),
      (agent.curiosity.trainable_variables, 2_203_296),
  ):
    assert sum(np.prod(v.shape) for v in variables) == count
  environment.reset()
  for _ in range(20):
    environment.step(np.zeros(1, np.int64))
  (episode,) = environment.pop_episodes()
  assert episode.length_env_steps == 20
  np.testing.assert_array_equal(environment.get_info()['rooms_visited'], [1])
