# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows what one rollout with an unseen screen does to learning.

    python -m benchmarks.surprise surprise [--jobs=2] [--out=runs/experiments]

DeepSea at the paper's settings and with one of seven remedies; of each seed all
see the screen in the same update. Runs what is not finished, as experiments.py
does; benchmarks/surprise_report.py makes the table and the picture.
"""

from benchmarks import experiments

NUM_ENVIRONMENTS = 24
ROLLOUT_LENGTH = 21  # An episode of DeepSea and its reset.
NUM_UPDATES = 360
WARM_UP_ENV_STEPS = 4_096
SIZE = 20
# Chosen on seeds 100 and 101: it may come after about 60 updates, and 20 more
# pass until it does.
SCREEN = {'screen_chance': 2e-3, 'first_episode': 68}
CONTROL = 'no screen'
PAPER = "the paper's settings"

_UNSEEN = (
    "train/load_environment.env = 'benchmarks.unseen_screen:"
    "benchmarks/DeepSeaUnseenScreen-v0'"
)
_UNSEEN_KWARGS = (
    "train/load_environment.env_kwargs = {'size': %DEEP_SEA_SIZE,"
    " 'mapping_seed': 42, "
    + ', '.join(f'{key!r}: {value}' for key, value in SCREEN.items())
    + '}'
)
# What deep_sea.gin has otherwise than the paper, put back, and a small problem.
_BASE = (
    f'DEEP_SEA_SIZE = {SIZE}',
    f'train_eval.num_environments = {NUM_ENVIRONMENTS}',
    f'OnPolicyTraining.rollout_length = {ROLLOUT_LENGTH}',
    f'train_eval.warm_up_env_steps = {WARM_UP_ENV_STEPS}',
    'train_eval.num_env_steps = '
    f'{WARM_UP_ENV_STEPS + NUM_UPDATES * NUM_ENVIRONMENTS * (SIZE)}',
    'train_eval.eval_interval_env_steps = 10_000_000',
    'train_eval.checkpoint_interval_iterations = 100',
    'train_eval.save_policies = False',
    'create_rnd_networks.fc_layer_params = (64, 64)',
    'create_rnd_networks.target_fc_layer_params = (64,)',
    'create_rnd_ppo_agent.learning_rate = 1e-4',
    'create_rnd_ppo_agent.rnd_learning_rate = None',
    'RNDPPOAgent.importance_ratio_clipping = 0.1',
    'RNDPPOAgent.entropy_regularization = 0.001',
    'RNDPPOAgent.normalize_advantages = False',
)
_AGENT = 'create_rnd_ppo_agent.agent_class'
_REMEDIES = {
    PAPER: (),
    'gradient_clipping 0.5': ('RNDPPOAgent.gradient_clipping = 0.5',),
    'intrinsic_reward_clip 5': ('RNDPPOAgent.intrinsic_reward_clip = 5.0',),
    'intrinsic_reward_clip 0.5': ('RNDPPOAgent.intrinsic_reward_clip = 0.5',),
    'normalize_advantages': ('RNDPPOAgent.normalize_advantages = True',),
    'Adam beta_2 0.99': (
        'import benchmarks.surprise_agents',
        f'{_AGENT} = @ShortMemory',
    ),
    'target_kl 0.01': ('RNDPPOAgent.target_kl = 0.01',),
    'clipping at 10 median norms': (
        'import benchmarks.surprise_agents',
        f'{_AGENT} = @RelativeClipping',
    ),
}


def _jobs(seeds):
  return [
      experiments.Job(label, 'deep_sea.gin', seed, (*_BASE, *bindings))
      for seed in seeds
      for label, bindings in (
          (CONTROL, ()),
          *(
              (label, (_UNSEEN, _UNSEEN_KWARGS, *bindings))
              for label, bindings in _REMEDIES.items()
          ),
      )
  ]


GROUPS = {'surprise': _jobs(range(5))}


if __name__ == '__main__':
  experiments.main(__doc__, GROUPS)
