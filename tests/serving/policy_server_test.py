# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Simulators in threads ask and report; what the agent learns of it."""

import contextlib
import functools
import itertools
import threading
import time
import types

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.networks import q_network
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import errors
from rnd_agents.serving import policy_server
from tests.agents import agent_test_utils as utils

_SPEC = tf.TensorSpec([3], tf.float32)  # (simulator, episode, step of it).
_ACTION = tensor_spec.BoundedTensorSpec([], tf.float32, -1e9, 1e9)


class _Remembering(tf_policy.TFPolicy):
  """Acts by all that it has seen in the episode: its state."""

  def __init__(self):
    super().__init__(
        ts.time_step_spec(_SPEC), _ACTION, policy_state_spec=_SPEC,
        info_spec=_SPEC, clip=False,
    )

  def _action(self, time_step, policy_state, seed):
    seen = 2.0 * policy_state + time_step.observation
    action = tf.reduce_sum(seen, axis=-1)
    return policy_step.PolicyStep(action, seen, policy_state)


def _agent():
  return types.SimpleNamespace(collect_policy=_Remembering())


def _length(simulator, episode):
  return 2 + (3 * simulator + 5 * episode) % 7


def _time_steps(simulator, episode):
  """The time steps of an episode, which no action changes."""
  length = _length(simulator, episode)
  for step in range(length + 1):
    observation = np.array([simulator, episode, step], np.float32)
    reward = 100.0 * simulator + 10.0 * episode + step
    if step == 0:
      yield ts.restart(observation)
    elif step < length:
      yield ts.transition(observation, reward)
    else:
      end = ts.termination if episode % 2 else ts.truncation
      yield end(observation, reward)


def _rows(episodes):
  """Rows of a loop over the time steps of (simulator, episode), in order."""
  steps, seen = [], None
  for simulator, episode in episodes:
    for time_step in _time_steps(simulator, episode):
      if time_step.is_first():
        seen = np.zeros(3)
      before, seen = seen, 2.0 * seen + time_step.observation
      answer = policy_step.PolicyStep(seen.sum(), seen, before)
      steps.append((time_step, answer))
  return [
      trajectory.from_transition(time_step, answer, following[0])
      for (time_step, answer), following in zip(steps, steps[1:])
  ]


def _key(row):
  """(simulator, episode, step of it) of a row."""
  return tuple(int(x) for x in row.observation)


def _loop_over(keys):
  """Rows by key, of a loop over the episodes (simulator, episode)."""
  # What follows the end of an episode is always a restart.
  return {
      _key(row): row for key in keys for row in _rows([key, (0, 0)])
  }


def _check_rollouts(rollouts, expected):
  """Compares rollouts [B, T+1] with rows by key, and each row with the next.

  Returns:
    The keys of all rows.
  """
  keys = set()
  for b in range(rollouts[0].step_type.shape[0]):
    before = None
    for rollout in rollouts:
      for t in range(rollout.step_type.shape[1]):
        at = (b, t)
        row = tf.nest.map_structure(lambda x, at=at: x[at].numpy(), rollout)
        key = _key(row)
        tf.nest.map_structure(
            np.testing.assert_array_equal, row, expected[key]
        )
        if t == 0:  # The last row of the rollout before, or a new episode.
          assert key == before or key[2] == 0
        elif expected[before].is_boundary():
          assert key[2] == 0
        else:
          assert key == (*before[:2], before[2] + 1)
        before = key
        keys.add(key)
  return keys


def _play(session, simulator, episode):
  """Plays an episode, and checks the answers."""
  observation = np.empty(3, np.float32)  # Used again at every step.
  seen = np.zeros(3)
  for time_step in _time_steps(simulator, episode):
    observation[:] = time_step.observation
    seen = 2.0 * seen + observation
    action = session.action(time_step._replace(observation=observation))
    assert action == seen.sum(), (simulator, episode)


def _wait(is_true):
  limit = time.monotonic() + 60
  while not is_true():
    assert time.monotonic() < limit
    time.sleep(0.005)


def test_24_simulators_get_their_answers_and_make_rollouts():
  rollouts, wrong = [], []

  def simulate(server, simulator):
    try:
      with server.session() as session:
        for episode in range(6):
          _play(session, simulator, episode)
    except BaseException as error:  # pylint: disable=broad-exception-caught
      wrong.append(error)

  with policy_server.serve_policy(_agent(), 24, 5, rollouts.append) as server:
    threads = [
        threading.Thread(target=simulate, args=(server, i)) for i in range(24)
    ]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join(60)
      assert not thread.is_alive()

  assert not wrong
  episodes = [(i, episode) for i in range(24) for episode in range(6)]
  assert server.num_env_steps == sum(_length(*episode) for episode in episodes)
  assert rollouts and len(rollouts) == server.num_rollouts
  keys = _check_rollouts(rollouts, _loop_over(episodes))
  assert {key[0] for key in keys} == set(range(24))


def test_episodes_of_several_sessions_follow_on_each_other():
  rollouts, num_rows = [], -1
  episodes = [(1, 0), (1, 1), (4, 0), (2, 0), (2, 1), (0, 0)]

  with policy_server.serve_policy(_agent(), 1, 9, rollouts.append) as server:
    for episode in episodes:
      with server.session() as session:
        _play(session, *episode)
      num_rows += _length(*episode) + 1
      _wait(lambda: len(rollouts) == (num_rows - 1) // 9)  # noqa: B023

  keys = _check_rollouts(rollouts, _loop_over(episodes))
  assert len(keys) == 9 * len(rollouts) + 1 >= num_rows - 8


def test_what_dies_in_an_episode_leaves_nothing():
  rollouts, died = [], []

  def simulate(server, is_closed):
    session = server.session()
    with session if is_closed else contextlib.nullcontext():
      for time_step in list(_time_steps(7, 1))[:-1]:
        session.action(time_step)
      raise KeyError('the simulator is gone')

  def run(*args):
    try:
      simulate(*args)
    except KeyError as error:
      died.append(str(error))

  with policy_server.serve_policy(_agent(), 2, 6, rollouts.append) as server:
    with server.session() as other, server.session() as late:
      time_steps = list(_time_steps(3, 0))
      for time_step in time_steps[:3]:
        other.action(time_step)
      for is_closed in (True, False):
        thread = threading.Thread(target=run, args=(server, is_closed))
        thread.start()
        thread.join()
      for time_step in time_steps[3:]:
        other.action(time_step)
      for episode in range(1, 4):
        _play(other, 3, episode)
        _play(late, 5, episode)  # In the place of those that died.
      _wait(lambda: rollouts)

  assert len(died) == 2
  episodes = [(i, episode) for i in (3, 5) for episode in range(4)]
  keys = _check_rollouts(rollouts, _loop_over(episodes))
  assert {key[0] for key in keys} == {3, 5}


def test_who_is_ahead_is_answered_and_recorded_again_from_its_next_episode():
  rollouts = []
  with policy_server.serve_policy(_agent(), 2, 4, rollouts.append) as server:
    fast, slow, third = (server.session() for _ in range(3))
    slow_steps, fast_steps = list(_time_steps(2, 0)), list(_time_steps(6, 3))
    for time_step in slow_steps[:5]:
      slow.action(time_step)
    # Of (6, 0) rows 0 to 4 wait; from 4 to (6, 1), 1 there is no room.
    for episode in range(3):
      _play(fast, 6, episode)
    for time_step in fast_steps[:2]:
      fast.action(time_step)
    _play(third, 9, 0)  # The two places are taken.
    for time_step in slow_steps[5:]:
      slow.action(time_step)
    _wait(lambda: len(rollouts) == 1)
    fast.action(fast_steps[2])
    slow.action(next(_time_steps(2, 1)))
    _wait(lambda: len(rollouts) == 2)

  recorded = [(6, 2, 0), (6, 2, 1), (6, 2, 2), (6, 3, 0), (6, 3, 1)]
  np.testing.assert_array_equal(
      [rollout.observation for rollout in rollouts],
      [
          [[(2, 0, k) for k in range(5)], [(6, 0, k) for k in range(5)]],
          [[(2, 0, k) for k in range(4, 9)], recorded],
      ],
  )


def test_who_is_ahead_waits_for_the_training_and_loses_nothing():
  rollouts, may_train = [], threading.Event()

  def train(rollout):
    rollouts.append(rollout)
    assert may_train.wait(60)

  def simulate():
    with server.session() as session:
      for episode in range(3):
        _play(session, 1, episode)

  with policy_server.serve_policy(_agent(), 1, 2, train) as server:
    thread = threading.Thread(target=simulate)
    thread.start()
    # Rows 0 to 2 are in training, 2 to 4 wait, 4 and 5 are there: step 5 was
    # the last, and a reset has followed it. For row 6 there is no room.
    _wait(lambda: server.num_env_steps == 5)
    thread.join(0.2)
    assert thread.is_alive() and server.num_env_steps == 5
    may_train.set()
    thread.join(60)

  seen = [rollout.observation[0].numpy().tolist() for rollout in rollouts]
  assert all(a[-1] == b[0] for a, b in zip(seen, seen[1:]))
  assert len(seen) == (5 + 3 + 8 + 3 - 1 - 1) // 2


def test_who_waits_for_a_late_training_goes_on_as_soon_as_it_begins():
  may_train = threading.Event()

  def train(rollout):
    del rollout
    assert may_train.wait(60)

  server = policy_server.PolicyServer(_agent().collect_policy, train, 1, 2)

  def simulate():
    with server.session() as session:
      _play(session, 1, 0)

  simulator = threading.Thread(target=simulate)
  simulator.start()
  # Rows 0 to 2 and 2 to 3 are there: for row 4 there is no room.
  _wait(lambda: server.num_env_steps == 4)
  simulator.join(0.2)
  assert simulator.is_alive() and server.num_env_steps == 4
  trainer = threading.Thread(target=server.run)
  trainer.start()
  try:
    simulator.join(60)
    assert not simulator.is_alive() and server.num_env_steps == 5
  finally:
    may_train.set()
    server.close()
    trainer.join(60)
    simulator.join(60)


def test_training_in_the_background_is_that_of_a_loop():
  agent, twin = (
      utils.stir(
          utils.build_agent(
              action_spec=utils.BOX, num_epochs=1, num_minibatches=2
          )
      )
      for _ in range(2)
  )
  utils.copy_variables(agent, twin)
  simulators = [
      [x for episode in range(3) for x in _time_steps(i, episode)]
      for i in (4, 5, 6)
  ]
  answers = [[] for _ in simulators]  # (action, policy info) of a time step.
  may_train = threading.Event()

  def train(rollout):
    assert may_train.wait(60)
    agent.train(rollout)

  def rows(first):
    """The rollout [3, 7] from a row on."""
    return tf.nest.map_structure(
        lambda *x: tf.reshape(tf.stack(x), [3, 7, *np.shape(x[0])]),
        *(
            trajectory.from_transition(
                time_steps[t],
                policy_step.PolicyStep(answer[t][0], (), answer[t][1]),
                time_steps[t + 1],
            )
            for time_steps, answer in zip(simulators, answers, strict=True)
            for t in range(first, first + 7)
        ),
    )

  with policy_server.serve_policy(agent, 3, 6, train) as server:
    sessions = [server.session() for _ in simulators]
    for first, last in ((0, 8), (8, 14)):
      for session, time_steps, answer in zip(sessions, simulators, answers):
        for time_step in time_steps[first:last]:
          info = twin.collect_policy.distribution(
              tf.nest.map_structure(
                  lambda x: tf.constant(np.asarray(x)[np.newaxis]), time_step
              )
          ).info
          answer.append((
              session.action(time_step),
              tf.nest.map_structure(lambda x: x[0], info),
          ))
      may_train.set()
      _wait(lambda: server.num_rollouts == (2 if last == 14 else 1))  # noqa: B023
      may_train.clear()
      twin.train(rows(last - 8))

  assert agent.train_step_counter.numpy() == 2 * 2
  for a, b in zip(agent.variables, twin.variables, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_session_that_completes_a_rollout_learns_before_its_answer():
  rollouts, learned_in = [], []
  # One that runs ahead of the others is not recorded for a while.
  in_step = threading.Barrier(3)

  def train(rollout):
    learned_in.append(threading.current_thread())
    rollouts.append(rollout)

  def simulate(simulator):
    time_steps = (_time_steps(simulator, episode) for episode in range(4))
    with server.session() as session:
      for time_step in itertools.islice(
          itertools.chain.from_iterable(time_steps), 21
      ):
        in_step.wait(60)
        session.action(time_step)

  with policy_server.serve_policy(
      _agent(), 3, 4, train, learns_in='session'
  ) as server:
    threads = [threading.Thread(target=simulate, args=(i,)) for i in range(3)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join(60)
      assert not thread.is_alive()
    # 20 rows of each simulator: five, and four for each rollout that follows.
    assert len(rollouts) == server.num_rollouts == 4

  assert set(learned_in) <= set(threads)
  episodes = [(i, episode) for i in range(3) for episode in range(4)]
  _check_rollouts(rollouts, _loop_over(episodes))


def test_two_tasks_of_a_simulator_have_data_and_time_of_their_own():
  moves, plans = [], []
  serve = functools.partial(policy_server.serve_policy, learns_in='session')
  with serve(_agent(), 1, 4, moves.append) as mover, serve(
      _agent(), 1, 2, plans.append
  ) as planner, mover.session() as moving, planner.session() as planning:
    for episode in range(5):
      plan = _time_steps(2, episode)
      for i, time_step in enumerate(_time_steps(6, episode)):
        if i % 3 == 0 and (decision := next(plan, None)):
          planning.action(decision)
        moving.action(time_step)
      for decision in plan:
        planning.action(decision)

  assert moves[0].step_type.shape == (1, 5)
  assert plans[0].step_type.shape == (1, 3)
  for rollouts, simulator in ((moves, 6), (plans, 2)):
    episodes = [(simulator, episode) for episode in range(5)]
    keys = _check_rollouts(rollouts, _loop_over(episodes))
    num_rows = sum(_length(*episode) + 1 for episode in episodes)
    assert num_rows - len(keys) <= rollouts[0].step_type.shape[1]


def test_who_calls_learn_trains_and_nobody_waits_for_it():
  rollouts = []
  with policy_server.serve_policy(
      _agent(), 1, 7, rollouts.append, learns_in='call'
  ) as server:
    session = server.session()
    assert not server.learn()
    _play(session, 6, 0)  # Six steps, and a rollout has eight rows.
    assert not server.learn()
    _play(session, 6, 1)
    assert server.learn() and not server.learn()
    for episode in range(2, 6):  # No room: some are not recorded.
      _play(session, 6, episode)
    assert server.learn() and server.num_rollouts == 2
    _play(session, 6, 6)
    _play(session, 6, 7)
    assert server.learn()

  keys = _check_rollouts(
      rollouts, _loop_over([(6, episode) for episode in range(8)])
  )
  assert (6, 7, 0) in keys or (6, 6, 0) in keys


@pytest.mark.parametrize('learns_in', ['session', 'call'])
def test_a_failure_of_training_reaches_who_learns(learns_in):
  def train(rollout):
    raise ZeroDivisionError('no learning rate')

  with pytest.raises(errors.RunError, match='no learning rate'):
    with policy_server.serve_policy(
        _agent(), 1, 1, train, learns_in=learns_in
    ) as server:
      _play(server.session(), 2, 0)
      server.learn()


def test_a_failure_of_training_reaches_who_asks():
  def train(rollout):
    raise ZeroDivisionError('no learning rate')

  with pytest.raises(errors.RunError, match='no learning rate') as at_the_end:
    with policy_server.serve_policy(_agent(), 1, 1, train) as server:
      session = server.session()
      _play(session, 2, 0)

      def fails():
        try:
          session.action(ts.restart(np.zeros(3, np.float32)))
          session.close()
        except errors.RunError as error:
          return isinstance(error.__cause__, ZeroDivisionError)

      _wait(fails)
  assert isinstance(at_the_end.value.__cause__, ZeroDivisionError)


def test_refuses_what_it_cannot_learn_from():
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
  dqn = dqn_agent.DqnAgent(
      ts.time_step_spec(_SPEC), spec, q_network.QNetwork(_SPEC, spec), None
  )
  serve = functools.partial(policy_server.serve_policy, dqn)
  with pytest.raises(errors.InvalidValue, match='rollout_length = 1, or give'):
    with serve(2, 8):
      pass
  with serve(2, 1), serve(2, 8, lambda rollout: None):
    pass
  with pytest.raises(errors.InvalidValue, match='learns_in .*session'):
    with serve(2, 1, learns_in='process'):
      pass
  with pytest.raises(errors.InvalidValue, match='serve_policy.num_env'):
    with serve(0, 1):
      pass
  ppo = utils.build_agent(num_minibatches=3)
  with pytest.raises(errors.InvalidValue, match='too few for RNDPPO'):
    with policy_server.serve_policy(ppo, 1, 4):
      pass


def test_refuses_time_steps_out_of_order():
  first, second, *_ = _time_steps(4, 0)
  with policy_server.serve_policy(_agent(), 1, 2, print) as server:
    session = server.session()
    for wrong in ((second,), (first, first)):
      *good, bad = wrong
      for time_step in good:
        session.action(time_step)
      with pytest.raises(errors.InvalidValue, match='ts.restart'):
        session.action(bad)
    for wrong in (
        dict(step_type=np.int32(7)),
        dict(discount=np.float32(5)),
        dict(discount=np.float32(-1)),
    ):
      with pytest.raises(errors.InvalidValue, match='step_type .*discount'):
        session.action(second._replace(**wrong))
  with pytest.raises(errors.InvalidValue, match='block of serve_policy has'):
    session.action(second)
