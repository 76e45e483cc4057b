# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of R2D3, tiny ones."""

import os
import re
import shutil
import signal
import sys
import types

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import q_rnn_network

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.replay import demonstrations
from rnd_agents.training import callbacks
from rnd_agents.training import checkpoints
from rnd_agents.training import replay_loop
from tests.training import tiny_runs

pytest.importorskip('reverb')

_NUM_DEMONSTRATIONS = 3
# Recall with two blanks: four steps an episode.
_TINY = (
    *tiny_runs.FAST,
    'train_eval.training = @ReplayTraining()',
    'load_environment.env = @Recall',
    'Recall.delay_env_steps = 2',
    'train_eval.num_environments = 2',
    'ReplayTraining.rollout_length = 10',
    'train_eval.warm_up_env_steps = 16',
    'ReplayTraining.unroll_length = 3',
    'ReplayTraining.burn_in_length = 1',
    'ReplayTraining.batch_size = 4',
    'ReplayTraining.env_steps_per_update = 4',
    'create_r2d3_agent.learning_rate = 1e-2',
    'train_eval.num_eval_episodes = 2',
    'train_eval.eval_interval_env_steps = 40',
    'train_eval.checkpoint_interval_iterations = 1',
    'create_q_networks.core = @LSTMCore()',
    'create_q_networks.fc_layer_params = (6,)',
    'create_q_networks.head_units = 6',
    'LSTMCore.units = 5',
    'R2D3Agent.n_step = 2',
    'R2D3Agent.margin_weight = 1.0',
    'PrioritizedReplay.max_sequences = 30',
    'PrioritizedReplay.max_demonstrations = 20',
    'PrioritizedReplay.min_sequences = 4',
)


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
  demonstrations.write(path, spec, episodes)
  return path


def _with_demonstrations(path, ratio=0.5, num_pretraining_steps=0):
  return (
      f"ReplayTraining.demonstrations = '{path}'",
      f'ReplayTraining.demonstration_ratio = {ratio}',
      f'ReplayTraining.num_pretraining_steps = {num_pretraining_steps}',
  )


def _run(root_dir, num_env_steps, *bindings):
  return tiny_runs.train(
      root_dir, num_env_steps, *bindings, settings=_TINY, seed=3
  )


def _rows(root_dir):
  return tiny_runs.rows(root_dir, 'train')


def _memory(loop):
  """Arrays of what the collect policy remembers."""
  (state,) = loop._shards.get_state()
  return tf.nest.flatten(state['policy_state'])


@pytest.fixture(name='counted', scope='module')
def _counted(demonstration_file, tmp_path_factory):
  """A run's (folder, what its agent remembered before evaluations)."""
  folder = tmp_path_factory.mktemp('counted') / 'run'
  evaluate, remembered = callbacks.Evaluate._evaluate, []

  def watching(callback, run):
    before = [part.copy() for part in _memory(run.loop)]
    evaluate(callback, run)
    for x, y in zip(before, _memory(run.loop), strict=True):
      np.testing.assert_array_equal(x, y)
    remembered.append(max(np.abs(x).max() for x in before))

  with pytest.MonkeyPatch.context() as context:
    context.setattr(callbacks.Evaluate, '_evaluate', watching)
    result = _run(
        folder,
        100,
        *_with_demonstrations(demonstration_file, num_pretraining_steps=7),
    )
  assert result.finished
  return folder, remembered


def test_counts_of_a_run_with_demonstrations(counted):
  folder, remembered = counted
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
  # Evaluations leave what the agent remembers.
  assert len(remembered) >= 2 and min(remembered) > 0


def test_pretraining_comes_before_the_first_step(
    tmp_path, demonstration_file, monkeypatch
):
  seen = []
  update = replay_loop.ReplayLoop._update

  def watching(loop, demonstration_ratio):
    info = update(loop, demonstration_ratio)
    steps = int(loop._agent.train_step_counter.numpy())
    seen.append((loop._counters.env_steps, steps, info))
    return info

  monkeypatch.setattr(replay_loop.ReplayLoop, '_update', watching)
  _run(
      tmp_path,
      60,
      *_with_demonstrations(
          demonstration_file, ratio=0.25, num_pretraining_steps=300
      ),
      # Cue and question in one sequence, so that it is quickly learned.
      'ReplayTraining.unroll_length = 4',
      'ReplayTraining.burn_in_length = 0',
      'LSTMCore.units = 16',
  )
  before = [entry for entry in seen if entry[0] == 0]
  assert [steps for _, steps, _ in before] == list(range(1, 301))
  assert all(info['demonstration_rate'] == 1.0 for _, _, info in before)
  losses = [info['margin_loss'] for _, _, info in before]
  assert np.mean(losses[-100:]) < 0.5 * np.mean(losses[:20])


class _Killed(BaseException):
  """Ends a run without anything being saved."""


@pytest.mark.parametrize(
    ('where', 'how'), [('pretraining', 'stopped'), ('random steps', 'killed')]
)
def test_a_run_that_ends_before_its_first_iteration_goes_on(
    tmp_path, demonstration_file, monkeypatch, where, how
):
  update, step = replay_loop.ReplayLoop._update, replay_loop.ReplayLoop._step
  seen = {'pretraining': [], 'random steps': []}
  ends = []

  def note(part, value):
    if part == where and len(seen[part]) == 4 and not ends:
      ends.append(how)
      if how == 'killed':
        raise _Killed
      os.kill(os.getpid(), signal.SIGTERM)
    seen[part].append(value)

  def updating(loop, demonstration_ratio):
    if loop._counters.env_steps == 0:
      note('pretraining', int(loop._agent.train_step_counter.numpy()))
    return update(loop, demonstration_ratio)

  def stepping(loop, epsilon):
    if loop._counters.iteration == 0 and loop._counters.env_steps < 16:
      note('random steps', loop._counters.env_steps)
    return step(loop, epsilon)

  monkeypatch.setattr(replay_loop.ReplayLoop, '_update', updating)
  monkeypatch.setattr(replay_loop.ReplayLoop, '_step', stepping)
  if how == 'killed':  # Saved after each update and step.
    monkeypatch.setattr(
        callbacks.Checkpoint,
        'after_preparation',
        lambda callback, run, can_save: run.save(),
    )
  bindings = _with_demonstrations(demonstration_file, num_pretraining_steps=7)
  if how == 'killed':
    with pytest.raises(_Killed):
      _run(tmp_path, 60, *bindings)
  else:
    assert not _run(tmp_path, 60, *bindings).finished
  assert _run(tmp_path, 60, *bindings).finished
  # None is done twice, and none is left out. After four steps of each
  # environment a row only begins the next episode.
  assert seen == {
      'pretraining': [0, 1, 2, 3, 4, 5, 6],
      'random steps': [0, 4, 6, 8, 8, 10, 12, 14],
  }
  assert ends == [how]
  rows = _rows(tmp_path)
  assert [int(row['env_steps']) for row in rows] == [32, 48, 64]
  assert [int(row['train_steps']) for row in rows] == [11, 15, 19]
  for row in rows:
    assert float(row['demonstration_sequences']) == 2 * _NUM_DEMONSTRATIONS
  assert float(rows[0]['replay_sequences']) == 2 * 8 - 2


@pytest.mark.parametrize('num_pretraining_steps', [0, 5])
def test_a_number_that_is_not_finite_is_named_with_its_iteration(
    tmp_path, demonstration_file, num_pretraining_steps
):
  with pytest.raises(errors.RunError) as caught:
    _run(
        tmp_path,
        100,
        *_with_demonstrations(
            demonstration_file, num_pretraining_steps=num_pretraining_steps
        ),
        'create_r2d3_agent.learning_rate = 1e30',
    )
  message = str(caught.value)
  # The random steps are 16, and belong to the first iteration.
  steps = '0' if num_pretraining_steps else '(1[6-9]|[23][0-9])'
  assert re.match(f'In iteration 1, at {steps} environment steps, ', message)
  assert ' became nan' in message or ' became inf' in message
  assert 'Lower create_r2d3_agent.learning_rate, or set' in message


def test_weights_that_pretraining_destroys_are_not_saved(
    tmp_path, demonstration_file
):
  # The loss is finite still: the update after it would tell.
  with pytest.raises(errors.RunError) as caught:
    _run(
        tmp_path,
        100,
        *_with_demonstrations(demonstration_file, num_pretraining_steps=1),
        'create_r2d3_agent.learning_rate = 1e39',
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
  for step in range(400):
    clock[0] += 1.0
    callback.after_preparation(run, can_save=True)
    if step == 100:  # Where it may not, nothing is saved, and time goes by.
      callback.after_preparation(run, can_save=False)
  # A save takes ten seconds: two hundred pass before the next one.
  assert saved == [71.0, 282.0]


def test_everything_comes_back(tmp_path, demonstration_file, monkeypatch):
  bindings = _with_demonstrations(demonstration_file)
  states = []

  def summary(loop):
    """Of all that a resumed run must have again."""
    sizes = loop.replay.sizes()
    found = {}
    for table, size in sizes.items():
      samples = loop.replay._client.sample(
          table, 400, emit_timesteps=False
      )
      for sample in samples:
        found[sample.info.key] = (
            sample.info.priority,
            [np.asarray(leaf).tolist() for leaf in sample.data],
        )
      assert sum(1 for _ in found) <= sum(sizes.values()) and size
    return dict(
        sizes=sizes,
        items=found,
        replay_state=loop.replay.state(),
        env_steps=loop._counters.env_steps,
        train_steps=int(loop._agent.train_step_counter.numpy()),
        iteration=loop._counters.iteration,
        updates_due=loop._updates_due,
        cutter=str(loop._cutter.get_state()),
        policy_state=[part.tolist() for part in _memory(loop)],
        last_row=[
            part.tolist()
            for part in tf.nest.flatten(loop._shards.get_state()[0]['last_row'])
        ],
        variables=[v.numpy().tolist() for v in loop._agent.variables],
    )

  close = replay_loop.ReplayLoop.close
  restore = replay_loop.ReplayLoop.set_state

  def closing(loop):
    states.append(summary(loop))
    close(loop)

  def restoring(loop, state, episodes_go_on):
    assert episodes_go_on
    restore(loop, state, episodes_go_on)
    states.append(summary(loop))

  monkeypatch.setattr(replay_loop.ReplayLoop, 'close', closing)
  monkeypatch.setattr(replay_loop.ReplayLoop, 'set_state', restoring)
  _run(tmp_path, 60, *bindings)
  _run(tmp_path, 120, *bindings)
  saved, restored, end = states
  # Each table was drawn from often enough to see all of it, or nearly.
  items = saved.pop('items'), restored.pop('items')
  common = items[0].keys() & items[1].keys()
  assert len(common) > 0.8 * sum(saved['sizes'].values())
  for key in common:
    assert items[0][key] == items[1][key]
  assert saved == restored
  assert end['env_steps'] >= 120 and end['train_steps'] > saved['train_steps']
  assert [int(row['iteration']) for row in _rows(tmp_path)] == list(
      range(1, end['iteration'] + 1)
  )


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
  states = replay_loop._stored_states(fitting, spec)
  for x, y in zip(
      states, fitting.policy_info['network_state'], strict=True
  ):
    np.testing.assert_array_equal(x, y)
  assert 'taken for those of this network' in caplog.text
  assert 'begin from zero' not in caplog.text
  for other in (episode(6), episode(5, is_stored=False)):
    states = replay_loop._stored_states(other, spec)
    assert [part.shape for part in states] == [(4, 5), (4, 5)]
    assert not np.any(states)
  assert '[[6], [6]], not [[5], [5]]: they begin from zero' in caplog.text


def test_a_curious_run_pays_a_bonus(tmp_path):
  _run(
      tmp_path,
      60,
      'create_r2d3_agent.curiosity_fn = @create_rnd',
      'create_r2d3_agent.rnd_learning_rate = 1e-2',
      'create_rnd_networks.fc_layer_params = (6,)',
      'create_rnd_networks.target_fc_layer_params = (6,)',
      'R2D3Agent.margin_weight = 0.0',
  )
  rows = _rows(tmp_path)
  assert all(float(row['bonus_mean']) > 0 for row in rows)
  assert 'demonstration_rate' not in rows[0]
  assert float(rows[-1]['rnd_loss']) < float(rows[0]['rnd_loss'])


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
  _run(
      tmp_path,
      60,
      'create_r2d3_agent.q_networks_fn = @lstm_q_networks',
      'lstm_q_networks.units = 7',
      "ReplayTraining.window_remainder = 'fill'",
      'R2D3Agent.l2_weight = 1e-3',
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


@pytest.mark.parametrize(
    ('bindings', 'match'),
    [
        (
            ['ReplayTraining.demonstration_ratio = 0.5'],
            'ReplayTraining.demonstrations is missing.*collect_demos',
        ),
        (
            [
                "ReplayTraining.demonstrations = 'no_such_file'",
                'ReplayTraining.demonstration_ratio = 0.5',
            ],
            'no_such_file',
        ),
        (
            ["ReplayTraining.demonstrations = 'file'"],
            'would never be used: set demonstration_ratio',
        ),
        (
            ['ReplayTraining.demonstration_ratio = 1.5'],
            'demonstration_ratio must be between 0 and 1, got 1.5',
        ),
        (['ReplayTraining.batch_size = 0'], 'batch_size must be above 0'),
        (
            ['ReplayTraining.epsilon_fn = 3'],
            'epsilon_fn must be a function, such as @ladder_epsilon',
        ),
        (
            [
                'ReplayTraining.epsilon_fn = @linear_epsilon',
                'linear_epsilon.first = 1.5',
            ],
            'Each epsilon must be between 0 and 1; at 0 environment steps',
        ),
        (
            ['ReplayTraining.importance_exponent = -1.0'],
            'importance_exponent must be between 0 and 1, got -1.0',
        ),
        (
            ['create_r2d3_agent.weight_decay = -1e-5'],
            'weight_decay must be at least 0, got -1e-05',
        ),
        (
            ['ReplayTraining.importance_anneal_train_steps = 0'],
            'importance_anneal_train_steps must be above 0, got 0',
        ),
        (
            [
                'create_r2d3_agent.curiosity_fn = @create_rnd',
                *_with_demonstrations('file', num_pretraining_steps=3),
            ],
            'num_pretraining_steps must be 0, got 3',
        ),
        (
            ['R2D3Agent.collect_epsilon = 0.1'],
            'no effect: use ReplayTraining.epsilon_fn',
        ),
        (
            ['PrioritizedReplay.min_sequences = 100'],
            'min_sequences=100 must be from 1 to max_sequences=30',
        ),
        (
            ['ReplayTraining.window_remainder = "keep"'],
            "'pad', 'fill', 'drop', 'shift'",
        ),
        (
            ['R2D3Agent.burn_in_length = 3'],
            'no effect: use ReplayTraining.burn_in_length',
        ),
        (['R2D3Agent.n_step = 0'], 'n_step must be an integer from 1'),
        (
            ["load_environment.env = 'Pendulum-v1'"],
            'needs one discrete action from 0',
        ),
    ],
)
def test_what_cannot_run_says_so_before_the_first_step(
    bindings, match, tmp_path
):
  with pytest.raises(errors.UserError, match=match):
    _run(tmp_path, 100, *bindings)


def test_demonstrations_that_are_too_short_to_keep(
    tmp_path, demonstration_file
):
  with pytest.raises(errors.UserError, match='has 5 steps.*drop'):
    _run(
        tmp_path,
        100,
        *_with_demonstrations(demonstration_file),
        'ReplayTraining.unroll_length = 5',
        "ReplayTraining.window_remainder = 'drop'",
    )


@pytest.mark.parametrize('after_saves', [0, 2])
def test_a_kill_between_replay_and_variables(
    tmp_path, demonstration_file, monkeypatch, after_saves
):
  """The replay is saved first; nothing of it must come twice."""
  path = tmp_path / 'moved.tfrecord'
  for suffix in ('', '.spec'):
    shutil.copy(demonstration_file + suffix, os.fspath(path) + suffix)
  bindings = _with_demonstrations(path)
  save, saves = checkpoints.Checkpoints.save, []

  def dying(self, *args, **kwargs):
    saves.append(len([*tmp_path.glob('run/checkpoints/replay/replay_*')]))
    if len(saves) == after_saves + 1:
      raise _Killed
    return save(self, *args, **kwargs)

  monkeypatch.setattr(checkpoints.Checkpoints, 'save', dying)
  with pytest.raises(_Killed):
    _run(tmp_path / 'run', 60, *bindings)
  assert saves == [1, 2, 2][: after_saves + 1]
  if after_saves:
    path.unlink()  # What was saved has the demonstrations.
  assert _run(tmp_path / 'run', 60, *bindings).finished
  for row in _rows(tmp_path / 'run'):
    assert float(row['demonstration_sequences']) == 2 * _NUM_DEMONSTRATIONS


def test_a_kill_while_an_old_replay_is_deleted(tmp_path, monkeypatch):
  rmtree = shutil.rmtree

  def dying(path, *args, **kwargs):
    if os.path.isfile(os.path.join(path, 'state.json')):
      os.remove(os.path.join(path, 'state.json'))
      raise _Killed
    rmtree(path, *args, **kwargs)

  with monkeypatch.context() as context:
    context.setattr(shutil, 'rmtree', dying)
    with pytest.raises(_Killed):
      _run(tmp_path, 200)
  assert _run(tmp_path, 60).finished


def test_a_replay_that_is_damaged_or_gone(
    counted, tmp_path, demonstration_file
):
  root_dir = tmp_path / 'run'
  shutil.copytree(counted[0], root_dir)
  bindings = _with_demonstrations(demonstration_file, num_pretraining_steps=7)
  for name in ('chunks.tfrecord', 'state.json'):
    path = max(root_dir.glob(f'checkpoints/replay/replay_*/{name}'))
    content = path.read_bytes()
    path.write_bytes(content[:20])
    with pytest.raises(errors.UserError, match='replay_.* is damaged'):
      _run(root_dir, 120, *bindings)
    path.write_bytes(content)
  shutil.rmtree(root_dir / 'checkpoints' / 'replay')
  with pytest.raises(errors.UserError, match='no replay any more'):
    _run(root_dir, 120, *bindings)


def test_batches_without_a_demonstration_tell_nothing_of_them():
  infos = [
      dict(loss=2.0, demonstration_rate=0.0, margin_loss=0.0,
           demonstration_agreement=0.0),
      dict(loss=4.0, demonstration_rate=0.5, margin_loss=0.6,
           demonstration_agreement=0.75),
      dict(loss=6.0, demonstration_rate=0.25, margin_loss=0.2,
           demonstration_agreement=0.25),
  ]
  assert replay_loop._means(infos) == pytest.approx(
      dict(loss=4.0, demonstration_rate=0.25, margin_loss=0.4,
           demonstration_agreement=0.5)
  )
  # None at all: no number.
  assert replay_loop._means(infos[:1]) == dict(loss=2.0, demonstration_rate=0.0)
  assert replay_loop._means([]) == {}


def test_the_importance_exponent_rises_to_one():
  settings = types.SimpleNamespace(
      importance_exponent=0.4, importance_anneal_train_steps=10
  )
  counter = tf.Variable(0, dtype=tf.int64)
  loop = types.SimpleNamespace(
      _settings=settings,
      _agent=types.SimpleNamespace(train_step_counter=counter),
  )
  exponent = tf.function(
      lambda: replay_loop.ReplayLoop._importance_exponent(loop)
  )
  found = []
  for step in (0, 5, 10, 30):
    counter.assign(step)
    found.append(float(exponent()))
  np.testing.assert_allclose(found, [0.4, 0.7, 1.0, 1.0], rtol=1e-6)
  settings.importance_anneal_train_steps = None
  assert replay_loop.ReplayLoop._importance_exponent(loop) == 0.4


def test_without_reverb_it_says_what_to_install(tmp_path, monkeypatch):
  monkeypatch.setitem(sys.modules, 'reverb', None)
  with pytest.raises(errors.UserError, match='pip install'):
    _run(tmp_path, 100)
