# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings of small runs of two levels."""

from tests.training import tiny_runs

NUM_ENVIRONMENTS = 4
COMMON = (
    *tiny_runs.FAST,
    'create_rnd_ppo_agent.learning_rate = 1e-2',
    'create_networks.fc_layer_params = (8,)',
    'create_networks.value_fc_layer_params = (8,)',
    'create_q_networks.fc_layer_params = (6,)',
    'create_q_networks.head_units = 6',
    "load_environment.env = 'rnd_agents/StochasticChain-v0'",
    f'train_eval.num_environments = {NUM_ENVIRONMENTS}',
    'train_eval.warm_up_env_steps = 40',
    'train_eval.num_eval_episodes = 2',
    'train_eval.eval_interval_env_steps = 640',
    'train_eval.num_checkpoints = 20',
    'train_eval.training = @TwoLevelTraining()',
    'PrioritizedReplay.max_sequences = 200',
    'PrioritizedReplay.min_sequences = 4',
    'ReplayTraining.unroll_length = 2',
    'ReplayTraining.batch_size = 4',
    'R2D3Agent.n_step = 2',
    'R2D3Agent.discount_factor = 0.99',
    'RNDPPOAgent.discount_factor = 0.99',
    'RNDPPOAgent.num_epochs = 1',
    'RNDPPOAgent.num_minibatches = 2',
    'RNDPPOAgent.normalize_observations = True',
    'RNDPPOAgent.intrinsic_advantage_coefficient = 0.0',
)
# A goal policy with a memory off-policy, curious by the episode, over PPO.
OFF_ON = (
    *COMMON,
    'TwoLevelTraining.upper = @upper/ReplayTraining()',
    'TwoLevelTraining.lower = @lower/OnPolicyTraining()',
    'TwoLevelTraining.goal_length = 7',
    'lower/OnPolicyTraining.rollout_length = 8',
    'upper/ReplayTraining.rollout_length = 16',
    'upper/ReplayTraining.collect_length = 4',
    'upper/ReplayTraining.env_steps_per_update = 12',
    'upper/ReplayTraining.epsilon_fn = @linear_epsilon',
    'upper/linear_epsilon.num_env_steps = 300',
    'upper/create_r2d3_agent.curiosity_fn = @create_novel_d',
    'upper/create_q_networks.core = @GRUCore()',
    'GRUCore.units = 5',
    'create_rnd_networks.fc_layer_params = (6,)',
    'create_rnd_networks.target_fc_layer_params = (6,)',
)
