# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the time of Atari's iterations goes, part by part: for `atari_speed`.

Environment, agent and loop are those of `train_eval` under the gin bindings.
"""

import functools

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from benchmarks import atari_rivals
from benchmarks import paired
from rnd_agents import curiosity
from rnd_agents.agents import rollouts as rollouts_lib
from rnd_agents.agents import rows as rows_lib
from rnd_agents.collecting import local
from rnd_agents.collecting import seeded_policy
from rnd_agents.ops import rollout_parts
from rnd_agents.training import experiment
from rnd_agents.training import loops
from rnd_agents.training import on_policy
from rnd_agents.training import run as run_lib

# What is measured, under the part that it is in.
WITHIN = {
    'collecting': ('environment', 'acting'),
    'training': ('bonus', 'values', 'GAE', 'learning'),
}


class Session:
  """A run of `train_eval` taken apart. Its loop has had one iteration."""

  def __init__(self):
    config = experiment.Experiment(root_dir='')  # Writes nothing.
    self.num_envs = config.num_environments
    self.rollout_length = config.training.rollout_length
    seeds = run_lib.Seeds(config.seed)
    tf.keras.utils.set_random_seed(seeds.networks)
    self._collectors = experiment.local_shards(
        config, seeds, experiment.recipes(config, seeds)
    )
    (self._env,) = self._collectors.busy_with()
    self.agent = config.training.build_agent(
        self._collectors.specs, self.num_envs
    )
    self._learner = on_policy.OnPolicyLearner(self.agent, self.rollout_length)
    loop = loops.Loop(
        self.agent,
        self._learner,
        self._collectors,
        loops.Counters(),
        self.rollout_length,
        self.rollout_length,
    )
    loop.begin()
    next(loop.iterations())
    self._rollout = self._collect()
    self.experience = local.as_tensors(self._rollout.trajectory)
    self.rows = common.function(self._rows)(self.experience)

  def close(self):
    self._collectors.close()

  def _rows(self, experience):
    rollouts = self.agent._rollouts
    evaluated, _ = rollouts.evaluate(experience)
    return rollouts.rows(experience, evaluated, True)[0]

  def _collect(self):
    variables = local.as_numpy(list(self.agent.collect_policy.variables()))
    return self._collectors.collect(lambda _: variables, self.rollout_length)

  # Contenders of `paired.in_turns`. pylint: disable=protected-access

  def collecting(self):
    self._collect()

  def training(self):
    loss_info, _ = self._learner._train(
        local.as_tensors(self._rollout.trajectory)
    )
    loss_info.loss.numpy()

  def environment(self):
    """A function that takes the steps of a rollout, at random."""
    actions = np.random.RandomState(0).randint(
        self._env.action_spec().maximum + 1,
        size=[self.rollout_length, self.num_envs],
    )

    def run():
      for action in actions:
        self._env.step(action)

    return run

  def acting(self):
    """A function that chooses the actions of a rollout."""
    policy = seeded_policy.SeededPolicy(
        self.agent.collect_policy, tf.random.Generator.from_seed(0)
    )
    first_rows = tf.nest.map_structure(lambda x: x[:, 0], self.experience)
    time_step = ts.TimeStep(
        first_rows.step_type,
        first_rows.reward,
        first_rows.discount,
        first_rows.observation,
    )

    def step(i, total):
      # The sum keeps the graph from leaving actions out.
      actions = tf.cast(policy.action(time_step).action, tf.int64)
      return i + 1, total + tf.reduce_sum(actions)

    @common.function
    def act():
      return tf.while_loop(
          lambda i, _: i < self.rollout_length,
          step,
          (tf.constant(0), tf.constant(0, tf.int64)),
          parallel_iterations=1,
      )[1]

    return lambda: act().numpy()

  def bonus(self):
    """A function that does all that RND does once a rollout."""
    rnd = self.agent.curiosity

    @common.function
    def run(experience):
      transitions = curiosity.Transitions.of_trajectory(experience)
      bonus = rnd.bonus(transitions)
      rnd.update_return_statistics(bonus, transitions.valid)
      rnd.update_statistics(transitions)
      return tf.reduce_sum(rnd.normalize_bonus(bonus)) + tf.reduce_sum(
          rnd.constants(transitions)
      )

    return lambda: run(self.experience).numpy()

  def values(self):
    """A function that values all observations of a rollout."""
    policy = self.agent.collect_policy
    run = common.function(
        lambda x: tf.reduce_sum(
            rollout_parts.by_environment(
                policy.values, x.observation, x.step_type, ()
            )
        )
    )
    return lambda: run(self.experience).numpy()

  def gae(self):
    """A function from rewards, bonus and values to advantages and returns."""
    shape = [self.num_envs, self.rollout_length]
    bonus = tf.random.uniform(shape)
    values = tf.random.uniform([shape[0], shape[1] + 1, 2])
    rollouts = self.agent._rollouts
    bonuses = {self.agent.curiosity: bonus}

    @common.function
    def run(experience):
      streams = rollouts.return_streams(
          experience, rollouts.rewards(experience, bonuses), values
      )
      return tf.reduce_sum(streams.advantages) + tf.reduce_sum(streams.returns)

    return lambda: run(self.experience).numpy()

  def learning(self, target=None, predictor_proportion=None):
    """A function that makes all optimizer steps on a rollout.

    Args:
      target: When the target's features are computed: 'minibatch', in each of
        them; 'rollout', once before them; None, they are known.
      predictor_proportion: In place of the agent's.
    """
    agent, update = self.agent, self.agent._update
    own_proportion = update.predictor_proportion
    valid = rollouts_lib.begins_transition(self.experience)

    @common.function
    def run(rows):
      rows = rows_lib.Rows(rows)
      if target is not None:
        del rows['constants']
      if target == 'rollout':
        # The last rows begin no transition: what they get is not used.
        features = agent.curiosity.target_features(rows['observation'])
        rows['constants'] = [tf.roll(features, -1, axis=0)]
      if predictor_proportion is not None:
        update.predictor_proportion = predictor_proportion  # Of this graph.
      try:
        return update(rows, agent._samples(valid), agent.num_minibatches)[0]
      finally:
        update.predictor_proportion = own_proportion

    return lambda: run(dict(self.rows)).numpy()

  def num_steps(self):
    """Optimizer steps so far."""
    return self.agent.train_step_counter.numpy()


def split(num_rounds):
  """Times a rollout's parts in turns.

  Returns:
    A dict: by part, its median seconds. Those of `WITHIN` come besides the
    whole that they are in.
  """
  session = Session()
  times = paired.in_turns(
      {
          'collecting': session.collecting,
          'environment': session.environment(),
          'acting': session.acting(),
          'training': session.training,
          'bonus': session.bonus(),
          'values': session.values(),
          'GAE': session.gae(),
          'learning': session.learning(),
      },
      num_rounds,
      num_warm_up_rounds=1,
  )
  session.close()
  return {part: paired.median_s(times, part) for part in times}


def compare_learning(rival_python, rival_script, num_rounds):
  """Times minibatches of ours and, where there is one, of the rival.

  Args:
    rival_python: A Python with PyTorch, or None.
    rival_script: Path of atari_rivals.py.
    num_rounds: Rounds that count.

  Returns:
    A tuple (times, versions, foreign load): by name, (wall seconds, CPU
    seconds) of a minibatch in each round.
  """
  load = paired.ForeignLoad()
  session = Session()
  num_samples = session.num_envs * session.rollout_length
  size = num_samples // session.agent.num_minibatches
  contenders = {
      'ours: target once, predictor on a quarter': session.learning('rollout'),
      'ours: target in each minibatch': session.learning('minibatch'),
      'ours: target in each minibatch, predictor on all': session.learning(
          'minibatch', predictor_proportion=1.0
      ),
  }
  before = session.num_steps()
  next(iter(contenders.values()))()
  minibatches = dict.fromkeys(contenders, session.num_steps() - before)
  versions = f'minibatches of {size}'
  twin = None
  twin_cpu_s = {}  # By name, of each call.
  if rival_python is not None:
    twin = paired.LineProcess(
        [rival_python, rival_script, 'twin', str(num_samples), str(size)]
    )
    versions += f'; torch: {twin.greeting}'

    def learn(name, variant):
      twin_cpu_s[name].append(float(twin.ask(f'{variant} 4')))

    for variant in atari_rivals.VARIANTS:
      name = f'torch, {variant}'
      twin_cpu_s[name] = []
      contenders[name] = functools.partial(learn, name, variant)
      minibatches[name] = 4
  times = paired.in_turns(contenders, num_rounds, num_warm_up_rounds=1)
  session.close()
  if twin is not None:
    twin.close()
  for name, used in twin_cpu_s.items():
    times[name] = [
        (wall_s, used_s)
        for (wall_s, _), used_s in zip(
            times[name], used[-num_rounds:], strict=True
        )
    ]
  per_minibatch = {
      name: [
          (wall_s / minibatches[name], used_s / minibatches[name])
          for wall_s, used_s in times[name]
      ]
      for name in times
  }
  return per_minibatch, versions, str(load)
