# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learners: processes that share each optimizer step, with their own shards.

Learner 0 runs the run as if it were alone: it evaluates and writes all files.
Every call of its shards goes to all learners. Each carries it out for its own
shards and gets the results of all, so that the checkpoint holds the state of
every shard. On the whole rollout all learners train in step: what is of the
rollout (bonus, statistics, advantages, shuffling) each computes by itself, and
of each minibatch it takes a slice (`agents.replicas`).
"""

import contextlib
import itertools
import os
import pickle
import signal
import tempfile

import gin
import numpy as np
import tensorflow as tf
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents.agents import replicas
from rnd_agents.collecting import local
from rnd_agents.collecting import shards
from rnd_agents.environments import watchdog
from rnd_agents.training import experiment
from rnd_agents.training import run as run_lib
from rnd_agents.workers import shard_worker

# Names of calls that are of no shard.
_RESTORE = 'restore'
_END = 'end'


def train_eval(
    root_dir, make_shards=None, make_evaluator=None, num_learners=1, **more
):
  """As `experiment.train_eval`, where TF_CONFIG may tell of more learners.

  Args:
    root_dir: The run's folder; learners from 1 on do not use it.
    make_shards: As for `experiment.run`; only for one learner.
    make_evaluator: As for `experiment.run`.
    num_learners: Processes in TF_CONFIG, of which this is one; 1 without it.
    **more: Attributes of `Experiment`, which win over gin.

  Returns:
    A `Result`; None in learners from 1 on.

  Raises:
    UserError: If the settings cannot run, or the run had to stop.
  """
  config = experiment.Experiment(root_dir, **more)
  bound = getattr(config.training, 'num_learners', 1)
  if bound != num_learners:
    raise errors.SetupError(
        f'--learners={num_learners} needs OnPolicyTraining.num_learners ='
        f' {num_learners}, which it sets by itself, got'
        f' {type(config.training).__name__} with {bound}.'
    )
  if num_learners == 1:
    return experiment.run(config, make_shards, make_evaluator)
  if make_shards is not None:
    raise errors.SetupError(
        '--workers does not go with --learners: each learner collects by'
        ' itself.'
    )
  if config.num_shards % num_learners:
    raise errors.SetupError(
        'train_eval.num_shards must be a multiple of the number of learners,'
        f' got {config.num_shards} and {num_learners}: set --gin_bindings='
        f'"train_eval.num_shards = {num_learners}".'
    )
  if config.max_lag_rounds:
    raise errors.SetupError(
        'train_eval.max_lag_rounds = 1 does not go with --learners: they'
        ' collect and learn in turns.'
    )
  group = Group(replicas.of_processes(num_learners))
  _check_alike(group, config)
  if group.index:
    return _follow(config, group)
  result = experiment.run(
      config,
      lambda config, seeds, recipes: LearnerShards(group, recipes),
      make_evaluator,
  )
  group.exchange((_END, ()))
  return result


def _check_alike(group, config):
  """Refuses learners with other settings or versions than learner 0."""
  facts = dict(
      shard_worker.versions(), settings=gin.config_str(), seed=config.seed
  )
  first, *others = group.exchange(facts)
  for index, theirs in enumerate(others, 1):
    names = [name for name in first if theirs.get(name) != first[name]]
    if names:
      raise errors.SetupError(
          f'Learner {index} and learner 0 differ in {" and ".join(names)}: give'
          ' all of them the same command and versions.'
      )


def _follow(config, group):
  """What learners from 1 on do instead of `experiment.run`."""
  # Learner 0 says when to stop.
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
  config.check()
  seeds = run_lib.Seeds(config.seed)
  tf.keras.utils.set_random_seed(seeds.networks)
  collectors = LearnerShards(group, experiment.recipes(config, seeds))
  with contextlib.closing(collectors), watchdog.Watchdog(
      collectors.busy_with(), config.environment_timeout_s, lambda _: None
  ):
    collectors.serve(
        config.training.build_agent(collectors.specs, config.num_environments)
    )


class Group:
  """The processes of a `MultiWorkerMirroredStrategy`, which call it in step.

  Attributes:
    index: Of this process.
    size: Number of processes.
  """

  def __init__(self, strategy):
    self._strategy = strategy
    self._num_devices = len(strategy.extended.worker_devices)
    self.index = strategy.cluster_resolver.task_id
    self.size = strategy.num_replicas_in_sync // self._num_devices
    self._gather = tf.function(
        self._gather_words,
        input_signature=[tf.TensorSpec([None], tf.int64)],
        autograph=False,
    )

  def exchange(self, value):
    """Gives a value to all processes; returns what each gave, in order.

    Raises:
      LearnerLost: If another process has ended.
    """
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    words = np.frombuffer(data + bytes(-len(data) % 8), np.int64)
    with replicas.losses():
      sizes, words = local.as_numpy(self._gather(words))
    # The first device of each process brings all, the others nothing.
    parts = np.split(words, np.cumsum(sizes)[:-1])[:: self._num_devices]
    return [pickle.loads(part.tobytes()) for part in parts]

  def _gather_words(self, words):
    """Returns (number of words of each replica, the words of all)."""

    def of_replica(context):
      is_first = context.replica_id_in_sync_group % self._num_devices == 0
      return words if is_first else words[:0]

    def gather(own):
      context = tf.distribute.get_replica_context()
      own = tf.identity(own)
      size = tf.size(own, tf.int64)[tf.newaxis]
      return context.all_gather(size, 0), context.all_gather(own, 0)

    values = self._strategy.experimental_distribute_values_from_function(
        of_replica
    )
    return tf.nest.map_structure(
        lambda x: self._strategy.experimental_local_results(x)[0],
        self._strategy.run(gather, (values,)),
    )


class LearnerShards(shards.Shards):
  """The shards of all learners: i, i + N, i + 2 N ... are those of learner i.

  Learner 0 calls it as any `Shards`, the others call `serve`.
  """

  def __init__(self, group, recipes):
    """Makes the collectors of this learner's shards.

    Args:
      group: The `Group` of the learners.
      recipes: The `collector.Recipe`s of the shards of all.
    """
    own = recipes[group.index :: group.size]
    super().__init__([local.LocalCollector(recipe) for recipe in own])
    self._group = group
    size = self.num_environments // len(own)
    self._slices = [
        slice(i * size, (i + 1) * size) for i in range(len(recipes))
    ]

  def _map(self, name, *arguments):
    self._group.exchange((name, arguments))
    return self._carry_out(name, arguments)

  def _carry_out(self, name, arguments):
    """Makes a call of the own shards; returns the results of all shards."""
    own = [its[self._group.index :: self._group.size] for its in arguments]
    try:
      replies = [
          shard_worker.packed(shard_worker.Reply(result))
          for result in super()._map(name, *own)
      ]
    except errors.UserError as error:
      replies = [shard_worker.Reply(error=error)]
    of_all = self._group.exchange(replies)
    for reply in itertools.chain(*of_all):
      if reply.error is not None:
        raise reply.error
    return [
        shard_worker.unpacked(reply).result
        for round_ in zip(*of_all, strict=True)
        for reply in round_
    ]

  def share(self, agent):
    """Gives the other learners all variables of the agent."""
    with tempfile.TemporaryDirectory() as folder:
      tf.train.Checkpoint(agent=agent).write(os.path.join(folder, _RESTORE))
      files = {}
      for name in os.listdir(folder):
        with open(os.path.join(folder, name), 'rb') as file:
          files[name] = file.read()
    self._group.exchange((_RESTORE, (files,)))

  def serve(self, agent):
    """Does what learner 0 asks for, and trains with it, until it has finished.

    Args:
      agent: That of this learner.

    Raises:
      UserError: If learner 0 or another one has ended, or an environment
        failed.
    """
    train = common.function(agent.train)
    while True:
      name, arguments = self._group.exchange(None)[0]
      if name == _END:
        return
      if name == _RESTORE:
        _restore(agent, *arguments)
        continue
      if name == 'collect':
        self._check_equal(agent, arguments[0][0])
      results = self._carry_out(name, arguments)
      if name == 'collect':
        experience = local.as_tensors(self._joined(results).trajectory)
        with replicas.losses():
          train(experience).loss.numpy()

  def _check_equal(self, agent, values):
    """Refuses to go on with a policy that is not that of learner 0."""
    variables = agent.collect_policy.variables()
    if not all(map(np.array_equal, local.as_numpy(list(variables)), values)):
      raise errors.RunError(
          f'The policy of learner {self._group.index} is no longer that of'
          ' learner 0: the learners need equal processors and versions of'
          ' TensorFlow.'
      )


def _restore(agent, files):
  """Gives an agent the variables that `LearnerShards.share` sent."""
  with tempfile.TemporaryDirectory() as folder:
    for name, content in files.items():
      with open(os.path.join(folder, name), 'wb') as file:
        file.write(content)
    status = tf.train.Checkpoint(agent=agent).read(
        os.path.join(folder, _RESTORE)
    )
    status.assert_existing_objects_matched().assert_consumed()
