# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of R2D3, tiny ones."""

import collections
import os
import re
import shutil
import signal
import socket
import types

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.networks import q_rnn_network
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.evaluation import evaluator
from rnd_agents.replay import demonstrations
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.training import callbacks
from rnd_agents.training import checkpoints
from rnd_agents.training import loops
from rnd_agents.training import off_policy
from rnd_agents.training import replay_learner
from tests import tiny_runs

_NUM_DEMONSTRATIONS = 3


@pytest.fixture(name='demonstration_file', scope='module')
def _demonstration_file(tmp_path_factory):
  """Episodes of the expert, of return 1."""
  path = os.fspath(tmp_path_factory.mktemp('demos') / 'recall.tfrecord')
  environment = loaders.load_environment(
      'rnd_agents/Recall-v0',
      num_environments=1,
      env_kwargs=dict(delay_env_steps=2),
  )
  specs = local.specs_of(environment)
  spec = demonstrations.trajectory_spec(
      specs.time_step.observation, specs.action
  )
  episodes = [
      found.trajectory
      for found in demonstration_recorder.record(
          environment,
          actors.ExpertActor(environment),
          range(_NUM_DEMONSTRATIONS),
      )
  ]
  demonstrations.write_episodes(path, spec, episodes)
  return path


def _with_demonstrations(path, ratio=0.5, num_pretraining_steps=0):
  return (
      f"ReplayTraining.demonstrations = '{path}'",
      f'ReplayTraining.demonstration_ratio = {ratio}',
      f'ReplayTraining.num_pretraining_steps = {num_pretraining_steps}',
  )


def _run(
    root_dir,
    num_env_steps,
    *bindings,
    settings=tiny_runs.DEMO_SETTINGS,
    train=tiny_runs.train,
):
  return train(root_dir, num_env_steps, *bindings, settings=settings, seed=3)


def _run_without_memory(root_dir, num_env_steps, *bindings, **more):
  settings = tiny_runs.without_memory(tiny_runs.DEMO_SETTINGS)
  return _run(root_dir, num_env_steps, *bindings, settings=settings, **more)


def _rows(root_dir):
  return tiny_runs.rows(root_dir, 'train')


def _memory(loop):
  """Arrays of what the collect policy remembers."""
  (state,) = loop._shards.get_state()['shards']
  return tf.nest.flatten(state['policy_state'])


def _listening():
  """Inodes of the TCP sockets of this process that wait for connections."""
  listening = set()
  for name in ('tcp', 'tcp6'):
    with open(f'/proc/self/net/{name}', encoding='utf-8') as file:
      rows = [line.split() for line in file.readlines()[1:]]
    listening |= {row[9] for row in rows if row[3] == '0A'}
  own = set()
  for name in os.listdir('/proc/self/fd'):
    try:
      own.add(os.readlink(f'/proc/self/fd/{name}'))
    except FileNotFoundError:
      continue
  return {inode for inode in listening if f'socket:[{inode}]' in own}


@pytest.fixture(name='counted', scope='module')
def _counted(demonstration_file, tmp_path_factory):
  """A run.

  Its (folder, what its agent remembered before evaluations, ports, what it left
  in memory, age of the own sequences of each batch in batches).
  """
  folder = tmp_path_factory.mktemp('counted') / 'run'
  evaluate, remembered = callbacks.Evaluate._evaluate, []
  before_run, opened = _listening(), set()
  add = prioritized_replay.PrioritizedReplay.add
  sample = prioritized_replay.PrioritizedReplay.sample
  update = prioritized_replay.PrioritizedReplay.update_priorities
  born, ages, drawn = [], [], []

  def adding(replay, found, **kwargs):
    born.extend([len(ages)] * len(found.is_demonstration))
    return add(replay, found, **kwargs)

  def sampling(replay, *args):
    batch = sample(replay, *args)
    drawn.append((batch.keys, batch.sequences.is_demonstration))
    own = batch.keys[~batch.sequences.is_demonstration]
    ages.append([len(ages) - born[key] for key in own])
    return batch

  def updating(replay, keys, priorities, is_demonstration):
    np.testing.assert_array_equal((keys, is_demonstration), drawn.pop())
    update(replay, keys, priorities, is_demonstration)

  def watching(callback, run):
    before = [part.copy() for part in _memory(run.loop)]
    opened.update(_listening() - before_run)
    evaluate(callback, run)
    for x, y in zip(before, _memory(run.loop), strict=True):
      np.testing.assert_array_equal(x, y)
    remembered.append(max(np.abs(x).max() for x in before))

  with pytest.MonkeyPatch.context() as context:
    context.setattr(callbacks.Evaluate, '_evaluate', watching)
    context.setattr(prioritized_replay.PrioritizedReplay, 'add', adding)
    context.setattr(prioritized_replay.PrioritizedReplay, 'sample', sampling)
    context.setattr(
        prioritized_replay.PrioritizedReplay, 'update_priorities', updating
    )
    with tiny_runs.left_behind() as left:
      result = _run(
          folder,
          100,
          *_with_demonstrations(demonstration_file, num_pretraining_steps=7),
      )
  assert result.finished
  return folder, remembered, opened, left, ages


def test_counts_of_a_run_with_demonstrations(counted):
  folder, remembered, _, _, ages = counted
  rows = _rows(folder)
  # Two environments; of 5 rows of an episode one only begins the next.
  assert [int(row['env_steps']) for row in rows] == [32, 48, 64, 80, 96, 112]
  # Seven updates came before the first step; one for four steps after the
  # random ones.
  assert [int(row['train_steps']) for row in rows] == [
      7 + 4 * i for i in range(1, 7)
  ]
  # A window of three trained steps and one of the last: two an episode.
  for row in rows:
    assert float(row['demonstration_sequences']) == 2 * _NUM_DEMONSTRATIONS
  # 32 steps are 8 episodes; the last frames of two come with the next step.
  assert float(rows[0]['replay_sequences']) == 2 * 8 - 2
  assert float(rows[-1]['replay_sequences']) == 30
  rates = [float(row['demonstration_rate']) for row in rows]
  assert 0.2 < np.mean(rates) < 0.8
  for i, row in enumerate(rows):
    # Batches of demonstrations alone have no age.
    known = [np.mean(each) for each in ages[7 + 4 * i : 11 + 4 * i] if each]
    assert float(row['data_age_train_steps']) == pytest.approx(np.mean(known))
  # Evaluations leave what the agent remembers.
  assert len(remembered) >= 2 and min(remembered) > 0


def test_what_is_replayed_knows_its_episode(
    tmp_path, demonstration_file, monkeypatch
):
  batches = []
  sample = prioritized_replay.PrioritizedReplay.sample

  def watching(replay, *arguments):
    batches.append(sample(replay, *arguments).sequences)
    return sample(replay, *arguments)

  monkeypatch.setattr(prioritized_replay.PrioritizedReplay, 'sample', watching)
  _run_without_memory(
      tmp_path,
      100,
      *_with_demonstrations(demonstration_file),
      # From the first frame on, so that a sequence tells all by itself.
      'ReplayTraining.unroll_length = 4',
      'ReplayTraining.burn_in_length = 0',
      'create_r2d3_agent.curiosity_fn = @create_novel_d',
  )
  first_visits = {False: [], True: []}
  for sequences in batches:
    rows = sequences.trajectory
    for i, is_demonstration in enumerate(sequences.is_demonstration):
      places = [tuple(place) for place in rows.observation[i]]
      assert rows.step_type[i, 0] == ts.StepType.FIRST
      wanted = [places[t] not in places[:t] for t in range(1, len(places))]
      found = rows.policy_info['episodic'][i, 1:]
      np.testing.assert_array_equal(found, wanted)
      first_visits[bool(is_demonstration)] += wanted
  for kind in first_visits.values():
    assert 0 < np.mean(kind) < 1
  assert all(float(row['bonus_mean']) > 0 for row in _rows(tmp_path))


def test_a_run_opens_no_port(counted):
  assert not counted[2]
  with socket.create_server(('127.0.0.1', 0)):
    assert _listening()  # It would have been seen.


def test_a_run_leaves_nothing_in_memory(counted):
  assert counted[3] == []


def test_a_run_frees_its_replay_at_once(tmp_path):
  with tiny_runs.replay_tables() as tables:
    no_margin = 'R2D3Agent.margin_weight = 0.0'
    _run_without_memory(tmp_path / 'finished', 48, no_margin)
    _run_without_memory(
        tmp_path / 'killed', 48, no_margin, train=tiny_runs.prepare
    )
    assert [table() for table in tables] == [None] * 4


def test_pretraining_comes_before_the_first_step(
    tmp_path, demonstration_file, monkeypatch
):
  seen = []
  update = replay_learner.ReplayLearner._update

  def watching(learner, demonstration_ratio):
    info = update(learner, demonstration_ratio)
    steps = int(learner._agent.train_step_counter.numpy())
    # The replay is empty before the first step.
    seen.append((learner._replay.sizes()['agent'], steps, info))
    return info

  monkeypatch.setattr(replay_learner.ReplayLearner, '_update', watching)
  _run(
      tmp_path,
      60,
      *_with_demonstrations(
          demonstration_file, ratio=0.25, num_pretraining_steps=150
      ),
      # Cue and question in one sequence, so that it is quickly learned.
      'ReplayTraining.unroll_length = 4',
      'ReplayTraining.burn_in_length = 0',
      'LSTMCore.units = 16',
      train=tiny_runs.prepare,
  )
  before = [entry for entry in seen if entry[0] == 0]
  assert [steps for _, steps, _ in before] == list(range(1, 151))
  assert all(info['demonstration_rate'] == 1.0 for _, _, info in before)
  losses = [info['margin_loss'] for _, _, info in before]
  assert np.mean(losses[-30:]) < 0.5 * np.mean(losses[:20])


def test_a_run_that_ends_before_its_first_iteration_goes_on(
    tmp_path, demonstration_file, monkeypatch
):
  update, warm_up = replay_learner.ReplayLearner._update, loops.Loop._warm_up
  seen = {'pretraining': [], 'random steps': []}
  ends = []

  def note(part, value):
    if len(seen[part]) == 4 and part not in ends:
      ends.append(part)
      if part == 'random steps':
        raise tiny_runs.Killed
      os.kill(os.getpid(), signal.SIGTERM)
    seen[part].append(value)

  def updating(learner, demonstration_ratio):
    if not learner._replay.sizes()['agent']:
      note('pretraining', int(learner._agent.train_step_counter.numpy()))
    return update(learner, demonstration_ratio)

  def warming_up(loop):
    note('random steps', loop._counters.env_steps)
    warm_up(loop)

  monkeypatch.setattr(replay_learner.ReplayLearner, '_update', updating)
  monkeypatch.setattr(loops.Loop, '_warm_up', warming_up)
  bindings = _with_demonstrations(demonstration_file, num_pretraining_steps=7)
  stopped = _run_without_memory(tmp_path, 60, *bindings)
  assert not stopped.finished
  with monkeypatch.context() as context, pytest.raises(tiny_runs.Killed):
    context.setattr(  # Saved after each update and step.
        callbacks.Checkpoint,
        'after_preparation',
        lambda callback, run, is_evaluation_due: run.save(),
    )
    _run_without_memory(tmp_path, 60, *bindings)
  assert _run_without_memory(tmp_path, 60, *bindings).finished
  # None is done twice, and none is left out. After four steps of each
  # environment a row only begins the next episode.
  assert seen == {
      'pretraining': [0, 1, 2, 3, 4, 5, 6],
      'random steps': [0, 4, 6, 8, 8, 10, 12, 14],
  }
  assert ends == ['pretraining', 'random steps']
  rows = _rows(tmp_path)
  assert [int(row['env_steps']) for row in rows] == [32, 48, 64]
  assert [int(row['train_steps']) for row in rows] == [11, 15, 19]
  for row in rows:
    assert float(row['demonstration_sequences']) == 2 * _NUM_DEMONSTRATIONS
  assert float(rows[0]['replay_sequences']) == 2 * 8 - 2


def test_a_number_that_is_not_finite_is_named_with_its_iteration(
    tmp_path, demonstration_file
):
  with pytest.raises(errors.RunError) as caught:
    _run_without_memory(
        tmp_path,
        100,
        *_with_demonstrations(demonstration_file),
        'create_r2d3_agent.learning_rate = 1e30',
    )
  message = str(caught.value)
  # The random steps are 16, and belong to the first iteration.
  steps = '(1[6-9]|[23][0-9])'
  assert re.match(f'In iteration 1, at {steps} environment steps, ', message)
  assert ' became nan' in message or ' became inf' in message
  assert 'create_r2d3_agent.learning_rate' in message


def test_weights_that_pretraining_destroys_are_not_saved(
    tmp_path, demonstration_file
):
  # The loss is finite still: the update after it would tell.
  with pytest.raises(errors.RunError) as caught:
    _run_without_memory(
        tmp_path,
        100,
        *_with_demonstrations(demonstration_file, num_pretraining_steps=1),
        'create_r2d3_agent.learning_rate = @PolynomialDecay()',
        'PolynomialDecay.decay_steps = 1',
        # The difference of the two is infinite, and so is the first rate.
        'PolynomialDecay.initial_learning_rate = 3e38',
        'PolynomialDecay.end_learning_rate = -3e38',
    )
  message = str(caught.value)
  assert 'at 0 environment steps, the policy or value ' in message
  assert ' is not finite' in message and 'last good checkpoint is' in message


def test_saving_now_and_then(monkeypatch):
  clock, saved = [0.0], []

  def save():
    clock[0] += 10.0
    saved.append(clock[0])

  monkeypatch.setattr(
      callbacks, 'time', types.SimpleNamespace(monotonic=lambda: clock[0])
  )
  callback = callbacks.Checkpoint(interval_iterations=1)
  run = types.SimpleNamespace(save=save)
  for _ in range(400):
    clock[0] += 1.0
    callback.after_preparation(run, is_evaluation_due=False)
  # A save takes ten seconds: two hundred pass before the next one.
  assert saved == [71.0, 282.0]


def test_evaluations_keep_to_multiples_of_their_interval():
  counters = types.SimpleNamespace(wall_time_s=0.0)
  evaluated = []
  run = types.SimpleNamespace(
      config=types.SimpleNamespace(
          eval_interval_env_steps=100, num_env_steps=450, num_eval_episodes=1
      ),
      counters=counters,
      stopped_by=None,
      count_time=lambda: None,
      evaluator=types.SimpleNamespace(
          run=lambda should_stop: [evaluated.append(counters.env_steps)]
      ),
      log=types.SimpleNamespace(write=print, last=lambda *names: None),
      counts=dict,
      summarize=lambda phase, episodes: {},
  )
  callback = callbacks.Evaluate(
      types.SimpleNamespace(after_evaluation=lambda run, episodes: None), None
  )
  for counters.env_steps in range(0, 481, 60):
    callback.after_iteration(run, None)
  assert evaluated == [120, 240, 300, 420, 480]


@pytest.fixture(name='whole', scope='module')
def _whole(demonstration_file, tmp_path_factory):
  """A run that was left alone, with demonstrations and a bonus."""
  folder = tmp_path_factory.mktemp('whole')
  _run_without_memory(folder, 150, *_exact(demonstration_file))
  return folder


def _exact(demonstration_file):
  return (
      *_with_demonstrations(demonstration_file),
      # An iteration of 16 steps leaves a part of an update due.
      'ReplayTraining.env_steps_per_update = 5',
      'create_r2d3_agent.curiosity_fn = @create_rnd',
      'create_r2d3_agent.rnd_learning_rate = 1e-2',
      'create_rnd_networks.fc_layer_params = (6,)',
      'create_rnd_networks.target_fc_layer_params = (6,)',
  )


def test_a_curious_run_pays_a_bonus(whole):
  rows = _rows(whole)
  assert all(float(row['bonus_mean']) > 0 for row in rows)
  assert float(rows[-1]['rnd_loss']) < float(rows[0]['rnd_loss'])


def test_states_of_demonstrations(caplog):
  """Those of another network's shapes are none; it is said."""
  caplog.set_level('INFO', logger='absl')
  spec = [tf.TensorSpec([5], tf.float32)] * 2
  random = np.random.default_rng(0)

  def episode(units, is_stored=True):
    states = tuple(random.normal(size=[2, 4, units]).astype(np.float32))
    return types.SimpleNamespace(
        step_type=np.zeros([4], np.int32),
        policy_info={'network_state': states} if is_stored else (),
    )

  fitting = episode(5)
  replay_learner._stored_states(fitting, spec)
  states = replay_learner._stored_states(fitting, spec)
  for x, y in zip(states, fitting.policy_info['network_state'], strict=True):
    np.testing.assert_array_equal(x, y)
  assert caplog.text.count('states of this network') == 1
  assert 'states of zeros' not in caplog.text
  others = episode(6), episode(7), episode(6), episode(5, is_stored=False)
  for other in others:
    states = replay_learner._stored_states(other, spec)
    assert [part.shape for part in states] == [(4, 5), (4, 5)]
    assert not np.any(states)
  for units in (6, 7):  # Each kind once, however many episodes there are.
    assert caplog.text.count(f'[[{units}], [{units}]], not [[5], [5]]') == 1


@gin.configurable(module='replay_run_test')
def lstm_q_networks(observation_spec, action_spec, units=4):
  return networks.QNetworks(*(
      q_rnn_network.QRnnNetwork(
          observation_spec,
          action_spec,
          input_fc_layer_params=None,
          output_fc_layer_params=None,
          lstm_size=(units,),
      )
      for _ in range(2)
  ))


def test_a_run_with_a_q_network_of_ones_own(tmp_path):
  tiny_runs.train(
      tmp_path,
      60,
      'create_r2d3_agent.q_networks_fn = @lstm_q_networks',
      'lstm_q_networks.units = 7',
      "ReplayTraining.window_remainder = 'fill'",
      'R2D3Agent.l2_weight = 1e-3',
      'R2D3Agent.margin_weight = 0.0',
      # Bindings of networks that are not built are refused.
      settings=[
          line
          for line in tiny_runs.DEMO_SETTINGS
          if not line.startswith(('create_q_networks', 'LSTMCore'))
      ],
  )
  rows = _rows(tmp_path)
  assert int(rows[-1]['train_steps']) > 4
  _, variables = tiny_runs.checkpoint(tmp_path)
  kernels = [
      value for name, value in variables.items()
      if '_q_network' in name and value.shape == (7, 2)
  ]
  assert kernels  # From the LSTM's output to the actions.
  assert all(float(row['l2_loss']) > 1 for row in rows)


_CANNOT_RUN = {
    'ReplayTraining.demonstration_ratio = 0.5': 'demonstrations is missing',
    "ReplayTraining.demonstrations = 'no_such_file'"
    '\nReplayTraining.demonstration_ratio = 0.5': 'no_such_file',
    "ReplayTraining.demonstrations = 'file'": 'set .*demonstration_ratio',
    'ReplayTraining.demonstration_ratio = 1.5': 'ratio .*got 1.5',
    'ReplayTraining.batch_size = 0': 'batch_size .*got 0',
    'ReplayTraining.env_steps_per_update = 1e-9': (
        'env_steps_per_update must be at least 0.001, .*got 1e-09'
    ),
    'ReplayTraining.env_steps_per_update = 20_000': (
        'env_steps_per_update must be at most train_eval.num_env_steps = 100,'
        ' got 20000: the run would end before its first update'
    ),
    'ReplayTraining.epsilon_fn = 3': 'epsilon_fn .*function',
    'ReplayTraining.epsilon_fn = @linear_epsilon'
    '\nlinear_epsilon.first = 1.5': 'linear_epsilon.first .*0 and 1',
    'ReplayTraining.importance_exponent = -1.0': 'exponent .*got -1.0',
    'create_r2d3_agent.weight_decay = -1e-5': 'weight_decay .*got -1e-05',
    'ReplayTraining.importance_anneal_train_steps = 0': 'anneal_.*got 0',
    '\n'.join((
        'create_r2d3_agent.curiosity_fn = @create_rnd',
        *_with_demonstrations('file', num_pretraining_steps=3),
    )): 'num_pretraining_steps .*got 3',
    'R2D3Agent.collect_epsilon = 0.1': 'ReplayTraining.epsilon_fn',
    'ReplayTraining.window_remainder = "keep"': "'drop', 'shift'",
    'R2D3Agent.burn_in_length = 3': 'ReplayTraining.burn_in_length',
}


@pytest.mark.parametrize('bindings', _CANNOT_RUN)
def test_what_cannot_run_says_so_before_the_first_step(bindings, tmp_path):
  with pytest.raises(errors.UserError, match=_CANNOT_RUN[bindings]):
    _run_without_memory(tmp_path, 100, *bindings.splitlines())


def test_demonstrations_that_are_too_short_to_keep(
    tmp_path, demonstration_file
):
  with pytest.raises(errors.UserError, match='5 steps.*drop'):
    _run_without_memory(
        tmp_path,
        100,
        *_with_demonstrations(demonstration_file),
        'ReplayTraining.unroll_length = 5',
        "ReplayTraining.window_remainder = 'drop'",
    )


def test_a_resumed_run_is_the_run_left_alone(
    tmp_path, demonstration_file, monkeypatch, whole
):
  """Killed between replay and variables: nothing of it must come twice."""
  path = tmp_path / 'moved.tfrecord'
  for suffix in ('', '.spec'):
    shutil.copy(demonstration_file + suffix, os.fspath(path) + suffix)
  bindings = _exact(path)
  save, saves = checkpoints.Checkpoints.save, []

  def dying(self, iteration, state):
    self.wait()  # As `save` does before it asks for the state.
    state = state()
    saves.append(len([*tmp_path.glob('run/checkpoints/replay/*')]))
    if len(saves) in (1, 6):  # With nothing saved before, and with four.
      raise tiny_runs.Killed
    return save(self, iteration, state)

  monkeypatch.setattr(checkpoints.Checkpoints, 'save', dying)
  for num_saves in (1, 6):
    with pytest.raises(tiny_runs.Killed):
      _run_without_memory(tmp_path / 'run', 150, *bindings)
    # The replay is saved first.
    assert saves[0] and len(saves) == num_saves
  path.unlink()  # What was saved has the demonstrations.
  assert _run_without_memory(tmp_path / 'run', 150, *bindings).finished
  tiny_runs.assert_same_run(tmp_path / 'run', whole)
  rows = _rows(tmp_path / 'run')
  assert len(rows) > 5 and float(rows[-1]['replay_sequences']) == 30  # Evicted.


def test_the_checkpoint_before_a_segment_of_another_content_is_taken(
    tmp_path, demonstration_file, whole, caplog
):
  root_dir = tmp_path / 'run'
  shutil.copytree(whole, root_dir)
  path = max(root_dir.glob('checkpoints/replay/agent_*'))
  path.write_bytes(min(root_dir.glob('checkpoints/replay/a*')).read_bytes())
  assert _run_without_memory(
      root_dir, 150, *_exact(demonstration_file)
  ).finished
  assert f'replay/{path.name} has changed' in caplog.text
  tiny_runs.assert_same_run(root_dir, whole)


def test_a_damaged_replay_is_replaced_where_that_is_allowed(
    tmp_path, demonstration_file, whole
):
  root_dir = tmp_path / 'run'
  shutil.copytree(whole, root_dir)
  bindings = _exact(demonstration_file)
  # All checkpoints need it.
  (path,) = root_dir.glob('checkpoints/replay/demonstrations_*')
  path.write_bytes(path.read_bytes()[:-20])
  with pytest.raises(
      errors.UserError, match=f'{path}.* damaged.*replaces_damaged_replay'
  ):
    _run_without_memory(root_dir, 250, *bindings)
  result = _run_without_memory(
      root_dir, 250, *bindings, 'ReplayTraining.replaces_damaged_replay = True'
  )
  assert result.finished
  rows = _rows(root_dir)
  sizes = [int(float(row['replay_sequences'])) for row in rows]
  # It was full; two sequences an episode of four steps come in from anew.
  (anew,) = [i for i in range(1, len(sizes)) if sizes[i] < sizes[i - 1]]
  assert sizes[anew - 1] == 30 and sizes[anew] == 8
  for row in rows:
    assert float(row['demonstration_sequences']) == 2 * _NUM_DEMONSTRATIONS


def test_demonstrations_that_are_read_again_count_once(
    tmp_path, demonstration_file, monkeypatch
):
  bindings = (
      *_with_demonstrations(demonstration_file),
      'R2D3Agent.normalize_observations = True',
      'ReplayTraining.replaces_damaged_replay = True',
  )
  _run_without_memory(tmp_path, 60, *bindings)
  (path,) = tmp_path.glob('checkpoints/replay/demonstrations_*')
  path.write_bytes(path.read_bytes()[:-20])
  set_state, found = replay_learner.ReplayLearner.set_state, []

  def setting(self, *args):
    statistics = self._agent.observation_normalizer.variables
    found.extend(each.numpy() for each in statistics)
    set_state(self, *args)
    for before, after in zip(found, statistics, strict=True):
      np.testing.assert_array_equal(after.numpy(), before)

  monkeypatch.setattr(replay_learner.ReplayLearner, 'set_state', setting)
  assert _run_without_memory(tmp_path, 90, *bindings).finished
  assert found


def test_pretraining_is_evaluated_and_ends_the_run_that_has_solved_it(
    tmp_path, demonstration_file, monkeypatch
):
  bindings = (
      *_with_demonstrations(demonstration_file, num_pretraining_steps=7),
      'ReplayTraining.pretraining_eval_interval_train_steps = 3',
  )
  sample, calls = prioritized_replay.PrioritizedReplay.sample, []

  def dying(replay, *arguments):
    calls.append(arguments)
    if len(calls) == 6:
      raise tiny_runs.Killed
    return sample(replay, *arguments)

  monkeypatch.setattr(prioritized_replay.PrioritizedReplay, 'sample', dying)
  with pytest.raises(tiny_runs.Killed):
    _run_without_memory(tmp_path, 60, *bindings)
  _run_without_memory(tmp_path, 60, *bindings)
  found = [
      (int(row['env_steps']), int(row['train_steps']))
      for row in tiny_runs.rows(tmp_path, 'eval')
  ]
  # The evaluation after step 3, before the kill, is not there twice.
  assert found[:3] == [(0, 3), (0, 6), (48, 15)]

  monkeypatch.setattr(
      evaluator, 'summarize_episodes', lambda *args: {'success_rate': 1.0}
  )
  result = _run_without_memory(
      tmp_path / 'solved',
      60,
      *bindings,
      'train_eval.stop_at_success_rate = 1.0',
  )
  assert result.finished and result.env_steps == 0
  (row,) = tiny_runs.rows(tmp_path / 'solved', 'eval')
  assert row['train_steps'] == '3'


def test_batches_without_a_demonstration_tell_nothing_of_them():
  infos = [
      dict(loss=2.0, demonstration_rate=0.0, margin_loss=0.0,
           demonstration_agreement=0.0),
      dict(loss=4.0, demonstration_rate=0.5, margin_loss=0.6,
           demonstration_agreement=0.75),
      dict(loss=6.0, demonstration_rate=0.25, margin_loss=0.2,
           demonstration_agreement=0.25),
  ]
  assert replay_learner._means(infos) == pytest.approx(
      dict(loss=4.0, demonstration_rate=0.25, margin_loss=0.4,
           demonstration_agreement=0.5)
  )
  # None at all: no number.
  assert replay_learner._means(infos[:1]) == dict(
      loss=2.0, demonstration_rate=0.0
  )
  assert replay_learner._means([]) == {}


@pytest.mark.parametrize(
    ('anneal_train_steps', 'exponents'),
    [(10, [0.4, 0.7, 1.0, 1.0]), (None, [0.4] * 4)],
)
def test_the_importance_exponent_rises_to_one(anneal_train_steps, exponents):
  counter = tf.Variable(0, dtype=tf.int64)
  extra = collections.namedtuple('Extra', ['priorities'])
  learner = object.__new__(replay_learner.ReplayLearner)
  learner._config = off_policy.ReplayTraining(
      importance_exponent=0.4, importance_anneal_train_steps=anneal_train_steps
  )
  learner._agent = types.SimpleNamespace(
      train_step_counter=counter,
      train=lambda _, weights, **more: tf_agent.LossInfo((), extra(weights)),
  )
  batch = episode_cutter.Sequence((), (), ())
  # Of four sequences: N P is 2 and 1/2.
  weights = tf.function(
      lambda: learner._train_on_batch(
          batch, tf.constant([0.5, 0.125]), tf.constant([4, 4])
      )[1]
  )
  for step, exponent in zip((0, 5, 10, 30), exponents, strict=True):
    counter.assign(step)
    np.testing.assert_allclose(weights(), [0.25**exponent, 1.0], rtol=1e-6)
