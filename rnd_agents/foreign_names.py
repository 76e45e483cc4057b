# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings of other libraries, and where this package has them.

The names are those of the GSoC project of 2019 on RND, of OpenAI's RND,
CleanRL, Stable-Baselines3, DI-engine and PARL.
"""

_CURIOSITY = 'create_rnd_ppo_agent.curiosity_fn'
_NETWORKS = 'create_networks'
_LENGTH = 'train_eval.num_env_steps'
_ROLLOUT = 'OnPolicyTraining.rollout_length'
_BATCH = 'RNDPPOAgent.num_minibatches, or ReplayTraining.batch_size'
_C_E = 'RNDPPOAgent.extrinsic_advantage_coefficient'
_C_I = 'RNDPPOAgent.intrinsic_advantage_coefficient'
_GAMMA_I = 'RNDPPOAgent.intrinsic_discount_factor'
_SHARE = 'RNDPPOAgent.predictor_proportion'
_EPOCHS = 'RNDPPOAgent.num_epochs'
_EPSILON = 'ReplayTraining.epsilon_fn'
_RATIO = 'ReplayTraining.demonstration_ratio'
_BURN_IN = 'ReplayTraining.burn_in_length'
_WHITENED = (
    'what RND sees is always whitened and bounded by'
    ' create_rnd.observation_clip_value'
)
_SCALED = (
    'the bonus is always divided by the deviation of its return;'
    ' RNDPPOAgent.normalize_rewards scales the extrinsic reward'
)
# What to use, by foreign name.
INSTEAD = dict(
    # GSoC.
    use_rnd=f'{_C_I}, which is 0 without RND; or {_CURIOSITY}',
    rnd_normalize_rewards=_SCALED,
    rnd_normalize_observations=_WHITENED,
    rnd_observation_clip_value='create_rnd.observation_clip_value',
    rnd_ext_reward_factor=_C_E,
    rnd_int_reward_factor=_C_I,
    num_parallel_environments='train_eval.num_environments',
    num_environment_steps=_LENGTH,
    collect_episodes_per_iteration=f'{_ROLLOUT}, in steps',
    norm_init_episodes='train_eval.warm_up_env_steps, in steps',
    # TF-Agents' DqnAgent.
    observation_and_action_constraint_splitter=(
        'load_environment.action_mask_key'
    ),
    # Most of them.
    learning_rate=(
        'create_rnd_ppo_agent.learning_rate or create_r2d3_agent.learning_rate;'
        ' in Python, that of the optimizer'
    ),
    # OpenAI and CleanRL.
    int_coef=_C_I,
    int_coeff=_C_I,
    ext_coef=_C_E,
    ext_coeff=_C_E,
    int_gamma=_GAMMA_I,
    gamma_int=_GAMMA_I,
    gamma_ext='RNDPPOAgent.discount_factor',
    proportion_of_exp_used_for_predictor_update=_SHARE,
    update_proportion=_SHARE,
    num_iterations_obs_norm_init='train_eval.warm_up_env_steps, in steps',
    use_news='RNDPPOAgent.episodic_intrinsic_stream',
    env_id='load_environment.env',
    num_env='train_eval.num_environments',
    num_envs='train_eval.num_environments',
    num_steps=_ROLLOUT,
    update_epochs=_EPOCHS,
    norm_adv='RNDPPOAgent.normalize_advantages',
    clip_coef='RNDPPOAgent.importance_ratio_clipping',
    clip_vloss='RNDPPOAgent.value_clipping',
    anneal_lr='create_rnd_ppo_agent.learning_rate, which takes a schedule',
    sticky_action='load_atari.repeat_action_probability',
    # CleanRL and Stable-Baselines3.
    total_timesteps=_LENGTH,
    n_envs='train_eval.num_environments',
    info_keywords='load_environment.info_keys',
    n_steps=_ROLLOUT,
    n_epochs=_EPOCHS,
    clip_range='RNDPPOAgent.importance_ratio_clipping',
    clip_range_vf='RNDPPOAgent.value_clipping',
    gae_lambda='RNDPPOAgent.lambda_value',
    ent_coef='RNDPPOAgent.entropy_regularization',
    vf_coef='RNDPPOAgent.value_pred_loss_coef',
    max_grad_norm='RNDPPOAgent.gradient_clipping',
    gamma='RNDPPOAgent.discount_factor, or R2D3Agent.discount_factor',
    normalize_advantage='RNDPPOAgent.normalize_advantages',
    net_arch=f'{_NETWORKS}.fc_layer_params',
    policy_kwargs=_NETWORKS,
    lstm_hidden_size=f'{_NETWORKS}.core',
    learning_starts='train_eval.warm_up_env_steps',
    buffer_size='PrioritizedReplay.max_sequences',
    train_freq='ReplayTraining.env_steps_per_update',
    exploration_fraction=_EPSILON,
    exploration_final_eps=_EPSILON,
    eval_freq='train_eval.eval_interval_env_steps',
    n_eval_episodes='train_eval.num_eval_episodes',
    # DI-engine.
    pho=_RATIO,
    nstep='R2D3Agent.n_step',
    burnin_step=_BURN_IN,
    unroll_len='ReplayTraining.unroll_length',
    learn_unroll_len='ReplayTraining.unroll_length',
    null_padding="ReplayTraining.window_remainder = 'pad'",
    last_fn_type='ReplayTraining.window_remainder',
    lambda1='R2D3Agent.n_step_weight',
    lambda2='R2D3Agent.margin_weight',
    lambda3='create_r2d3_agent.weight_decay',
    lambda_one_step_td='R2D3Agent.one_step_weight',
    margin_function='R2D3Agent.margin',
    value_rescale='R2D3Agent.value_rescaling_epsilon',
    target_update_theta='R2D3Agent.target_update_tau',
    target_update_freq='R2D3Agent.target_update_period_train_steps',
    priority_IS_weight='ReplayTraining.importance_exponent',
    per_train_iter_k='ReplayTraining.num_pretraining_steps',
    replay_buffer_size='PrioritizedReplay.max_sequences',
    update_per_collect='ReplayTraining.env_steps_per_update',
    epoch_per_collect=_EPOCHS,
    n_sample=_ROLLOUT,
    n_episode=_ROLLOUT,
    collector_env_num='train_eval.num_environments',
    n_evaluator_episode='train_eval.num_eval_episodes',
    stop_value='train_eval.stop_at_return',
    intrinsic_reward_weight=_C_I,
    obs_norm=_WHITENED,
    ignore_done='RNDPPOAgent.bootstrap_at_time_limit',
    value_weight='RNDPPOAgent.value_pred_loss_coef',
    entropy_weight='RNDPPOAgent.entropy_regularization',
    clip_ratio='RNDPPOAgent.importance_ratio_clipping',
    grad_clip_value='RNDPPOAgent.gradient_clipping',
    dynamic_seed=(
        'the flag --seed: each episode of training has another start, and those'
        ' of evaluations stay the same'
    ),
    # PARL.
    TRAINING_INTERVAL=f'{_ROLLOUT}, or ReplayTraining.env_steps_per_update',
    batch_size=_BATCH,
    minibatch_size='RNDPPOAgent.num_minibatches',
)


def advice(name: str) -> str:
  """Returns a sentence for a foreign name, with a space before it, or ''."""
  instead = INSTEAD.get(name)
  return f' Instead of {name} use {instead}.' if instead else ''
