# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times an RND-PPO iteration over one of TF-Agents' PPO.

    python -m benchmarks.iteration_time --case=mountain_car

Both have 64-64 tanh networks for the policy and for the values, Adam, the same
normalizers, and make `num_epochs` times 4 optimizer steps, on minibatches of
1,024 transitions, on a rollout of 32 environments and 128 transitions each.

*   RND-PPO: `RNDPPOAgent.train` on the rollout. That is all of it: bonus,
    statistics, both streams of advantages, policy, values, predictor.
*   Stock: TF-Agents' `PPOClipAgent`. Its `train` makes one step on all it gets,
    so it gets what a `PPOLearner` would hand it, `preprocess_sequence`, then
    shuffled minibatches, but from one loop inside one `tf.function`: the
    fastest way to run it. The normalizers are updated, too.

`train` is timed on one rollout, with the observations, actions and rewards the
same for both. `iteration` collects a rollout first, each from an environment of
its own.
"""

import functools

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
import tensorflow as tf
from tf_agents.agents.ppo import ppo_clip_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.networks import actor_distribution_network
from tf_agents.networks import value_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from benchmarks import paired
from rnd_agents import agents
from rnd_agents import environments
from rnd_agents import networks

_NUM_ENVS = 32
_ROLLOUT_LENGTH = 128
_NUM_MINIBATCHES = 4
_UNITS = (64, 64)

# Arguments of `load_environment`; whether the normalizers are on.
_CASES = {
    'mountain_car': (dict(env='MountainCar-v0'), True),
    'deep_sea': (
        dict(
            env='rnd_agents/DeepSea-v0',
            vectorization='vector_entry_point',
            env_kwargs=dict(size=20),
        ),
        False,
    ),
    'minigrid': (dict(env='MiniGrid-DoorKey-8x8-v0'), False),
}


class Contender:
  """An agent with its own environment, driver and buffer."""

  def __init__(self, case, num_epochs):
    env_arguments, self._normalize = _CASES[case]
    self._num_epochs = num_epochs
    self._env = tf_py_environment.TFPyEnvironment(
        environments.loaders.load_environment(
            num_environments=_NUM_ENVS, seed=0, **env_arguments
        )
    )
    self.agent = self._create_agent()
    self.agent.initialize()
    self._buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        self.agent.collect_data_spec, _NUM_ENVS, _ROLLOUT_LENGTH + 1
    )
    self._collect = common.function(
        dynamic_step_driver.DynamicStepDriver(
            self._env,
            self.agent.collect_policy,
            [self._buffer.add_batch],
            num_steps=_NUM_ENVS * (_ROLLOUT_LENGTH + 2),  # Never reached.
        ).run
    )
    self.train = common.function(self._train)
    self._train_on_buffer = common.function(
        lambda: self._train(self._buffer.gather_all())
    )

  def rollout(self):
    """A `Trajectory` [B, T+1]."""
    self._collect(maximum_iterations=tf.constant(_ROLLOUT_LENGTH + 1))
    return self._buffer.gather_all()

  def iteration(self):
    # The buffer still has the row before these.
    self._collect(maximum_iterations=tf.constant(_ROLLOUT_LENGTH))
    self._train_on_buffer().numpy()


class RndPpo(Contender):
  """`RNDPPOAgent` with the networks of gin_configs/."""

  def __init__(
      self, case, num_epochs, predictor_proportion, predictor=(128, 128, 64)
  ):
    self._predictor_proportion = predictor_proportion
    self._predictor = predictor
    super().__init__(case, num_epochs)

  def _networks(self):
    """Arguments of the agent for its networks and its curiosity."""
    return networks.create_networks(
        self._env.observation_spec(),
        self._env.action_spec(),
        fc_layer_params=_UNITS,
        value_fc_layer_params=_UNITS,
        rnd_networks_fn=functools.partial(
            networks.create_rnd_networks,
            fc_layer_params=self._predictor[:-1],
            target_fc_layer_params=self._predictor[:1],
            output_size=self._predictor[-1],
        ),
    )._asdict()

  def _create_agent(self):
    env = self._env
    return agents.RNDPPOAgent(
        env.time_step_spec(),
        env.action_spec(),
        tf.keras.optimizers.Adam(3e-4),
        rnd_optimizer=tf.keras.optimizers.Adam(1e-4),
        num_epochs=self._num_epochs,
        num_minibatches=_NUM_MINIBATCHES,
        importance_ratio_clipping=0.2,
        entropy_regularization=0.01,
        predictor_proportion=self._predictor_proportion,
        normalize_advantages=True,
        normalize_observations=self._normalize,
        normalize_rewards=self._normalize,
        train_step_counter=tf.Variable(0, dtype=tf.int64),
        **self._networks(),
    )

  def _train(self, experience):
    return self.agent.train(experience).loss


class StockPpo(Contender):
  """TF-Agents' `PPOClipAgent` on minibatches."""

  def _create_agent(self):
    env = self._env
    layers = dict(
        fc_layer_params=_UNITS, activation_fn=tf.keras.activations.tanh
    )
    agent = ppo_clip_agent.PPOClipAgent(
        env.time_step_spec(),
        env.action_spec(),
        tf.keras.optimizers.Adam(3e-4),
        actor_distribution_network.ActorDistributionNetwork(
            env.observation_spec(), env.action_spec(), **layers
        ),
        value_network.ValueNetwork(env.observation_spec(), **layers),
        importance_ratio_clipping=0.2,
        entropy_regularization=0.01,
        use_gae=True,
        use_td_lambda_return=True,
        normalize_observations=self._normalize,
        normalize_rewards=self._normalize,
        num_epochs=1,
        compute_value_and_advantage_in_train=False,
        update_normalizers_in_train=False,
        train_step_counter=tf.Variable(0, dtype=tf.int64),
    )
    agent.initialize()
    agent._optimizer.build(  # Not possible inside the loop of `_train`.
        agent.actor_net.trainable_weights + agent._value_net.trainable_weights
    )
    return agent

  def with_own_info(self, rollout):
    """Another agent's rollout with what this agent's policy says of it."""
    step = self.agent.collect_policy.action(
        ts.TimeStep(*(
            tf.nest.map_structure(
                lambda x: tf.reshape(x, [-1, *x.shape[2:]]), field
            )
            for field in (
                rollout.step_type,
                rollout.reward,
                rollout.discount,
                rollout.observation,
            )
        ))
    )
    return rollout.replace(
        policy_info=tf.nest.map_structure(
            lambda x: tf.reshape(x, [_NUM_ENVS, -1, *x.shape[1:]]), step.info
        )
    )

  def _train(self, experience):
    agent = self.agent
    agent.update_observation_normalizer(experience.observation)
    agent.update_reward_normalizer(experience.reward)
    num_rows = _NUM_ENVS * _ROLLOUT_LENGTH
    rows = tf.nest.map_structure(
        # Of T+1 rows T have a transition.
        lambda x: tf.reshape(
            x[:, :_ROLLOUT_LENGTH], [num_rows, 1, *x.shape[2:]]
        ),
        agent.preprocess_sequence(experience),
    )
    indices = tf.concat(
        [
            tf.random.shuffle(tf.range(num_rows))
            for _ in range(self._num_epochs)
        ],
        axis=0,
    )
    size = num_rows // _NUM_MINIBATCHES

    def step(i, _):
      chosen = indices[i * size : (i + 1) * size]
      minibatch = tf.nest.map_structure(lambda x: tf.gather(x, chosen), rows)
      return i + 1, agent.train(minibatch).loss

    return tf.while_loop(
        lambda i, _: i < self._num_epochs * _NUM_MINIBATCHES,
        step,
        (tf.constant(0), tf.constant(0.0)),
        parallel_iterations=1,
    )[1]


def measure(case, num_epochs, predictor, num_rounds, repeats):
  """Times both; returns by part ('train', 'iteration') what `in_turns` does."""
  rnd = RndPpo(case, num_epochs, *predictor)
  stock = StockPpo(case, num_epochs)
  rollout = rnd.rollout()
  stock_rollout = stock.with_own_info(rollout)
  stock.rollout()  # Fills the buffer.

  def repeated(fn):
    def run():
      for _ in range(repeats):
        fn()

    return run

  times = {
      'train': paired.in_turns(
          {
              'rnd': repeated(lambda: rnd.train(rollout).numpy()),
              'stock': repeated(lambda: stock.train(stock_rollout).numpy()),
          },
          num_rounds,
      ),
      'iteration': paired.in_turns(
          {
              'rnd': repeated(rnd.iteration),
              'stock': repeated(stock.iteration),
          },
          num_rounds,
      ),
  }
  # Equal work, or the ratio means nothing.
  steps = [c.agent.train_step_counter.numpy() for c in (rnd, stock)]
  assert steps[0] == steps[1] > 0, steps
  return times


def main(argv):
  del argv
  args = flags.FLAGS
  foreign_load = paired.ForeignLoad()
  repeats = 3
  times = measure(
      args.case,
      args.num_epochs,
      (args.predictor_proportion, [int(units) for units in args.predictor]),
      args.num_rounds,
      repeats,
  )
  print(paired.machine())
  print(
      f'{args.case}, num_epochs={args.num_epochs}, predictor_proportion='
      f'{args.predictor_proportion:g}, predictor={",".join(args.predictor)};'
      f' {args.num_rounds} rounds, foreign load {foreign_load}'
  )
  print('Time of one (medians), and RND-PPO over stock: median (span)')
  for part, part_times in times.items():
    rnd_ms, stock_ms = (
        1000 * paired.median_s(part_times, name) / repeats
        for name in ('rnd', 'stock')
    )
    print(
        f'{part:10} RND-PPO {rnd_ms:7.1f} ms, stock {stock_ms:7.1f} ms;'
        f' wall {paired.ratios(part_times, "rnd", "stock")},'
        f' CPU {paired.ratios(part_times, "rnd", "stock", cpu=True)}'
    )


if __name__ == '__main__':
  flags.DEFINE_enum('case', 'mountain_car', list(_CASES), 'The environment.')
  flags.DEFINE_integer('num_rounds', 30, 'Rounds that count.')
  flags.DEFINE_integer('num_epochs', 4, 'Of both.')
  flags.DEFINE_float('predictor_proportion', 0.25, 'Of `RNDPPOAgent`.')
  flags.DEFINE_list(
      'predictor', '128,128,64', 'Units of its layers; the target has two.'
  )
  app.run(main)
