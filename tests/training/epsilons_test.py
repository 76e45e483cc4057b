# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How often an agent acts at random."""

import functools

import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.training import epsilons


@pytest.mark.parametrize(
    ('env_steps', 'expected'),
    [(0, 1.0), (2_500, 0.7625), (5_000, 0.525), (10_000, 0.05), (10**9, 0.05)],
)
def test_linear(env_steps, expected):
  np.testing.assert_allclose(
      epsilons.linear_epsilon(env_steps, 3), [expected] * 3, rtol=1e-6
  )


@pytest.mark.parametrize(
    ('env_steps', 'expected'),
    [(0, 0.95), (100_000, 0.381091), (500_000, 0.056064)],
)
def test_exponential(env_steps, expected):
  np.testing.assert_allclose(
      epsilons.exponential_epsilon(env_steps, 2), [expected] * 2, atol=1e-6
  )


@pytest.mark.parametrize(
    ('epsilon_fn', 'message'),
    [
        (lambda steps, b: np.full([b], 1.5), 'at 0 .*gave'),
        # Only its end is no probability.
        (
            lambda steps, b: np.full([b], 1.0 - steps / 500.0),
            r'at 1000 .*\[-1.0, -1.0, -1.0\]',
        ),
        (lambda steps, b: np.full([b], np.nan), '0 and 1'),
        (lambda steps, b: 0.1, r'3 environments, .*\[\]'),
        (
            lambda steps, b: epsilons.linear_epsilon(
                steps, b, num_env_steps=0
            ),
            'linear_epsilon.num_env_steps .*got 0',
        ),
        (
            lambda steps, b: epsilons.exponential_epsilon(
                steps, b, decay_env_steps=-1
            ),
            'exponential_epsilon.decay_env_steps .*got -1',
        ),
        *(
            (
                functools.partial(epsilon_fn, **{name: 1.5 - 2 * is_negative}),
                f'{epsilon_fn.__name__}.{name} must be between 0 and 1',
            )
            for epsilon_fn, name in (
                (epsilons.linear_epsilon, 'first'),
                (epsilons.linear_epsilon, 'last'),
                (epsilons.exponential_epsilon, 'first'),
                (epsilons.exponential_epsilon, 'last'),
                (epsilons.ladder_epsilon, 'base'),
            )
            for is_negative in (False, True)
        ),
        (
            functools.partial(epsilons.ladder_epsilon, exponent=-1.0),
            'ladder_epsilon.exponent .*at least 0',
        ),
    ],
)
def test_what_gives_no_probabilities_is_refused(epsilon_fn, message):
  with pytest.raises(ValueError, match=message):
    epsilons.check_epsilon_fn(
        epsilon_fn, num_env_steps=1_000, num_environments=3
    )


@pytest.mark.parametrize(
    'epsilon_fn',
    [
        0.1,
        lambda env_steps: np.zeros([3]),
        lambda: np.zeros([3]),
        lambda env_steps, num_environments, more: np.zeros([3]),
        lambda env_steps, num_environments, *, more: np.zeros([3]),
    ],
)
def test_what_is_no_function_of_steps_and_environments(epsilon_fn):
  with pytest.raises(errors.InvalidType, match='epsilon_fn .*env_steps'):
    epsilons.check_epsilon_fn(epsilon_fn, 1_000, 3)


@pytest.mark.parametrize('epsilon', [['a'] * 3, [[0.1], [0.1, 0.2]], None])
def test_what_returns_no_numbers_is_refused(epsilon):
  with pytest.raises(errors.InvalidType, match='must return numbers'):
    epsilons.check_epsilon_fn(lambda *_: epsilon, 1_000, 3)


def test_a_list_of_numbers_will_do():
  epsilons.check_epsilon_fn(lambda *_: [0.0, 0.5, 1], 1_000, 3)


def test_all_that_there_are_give_probabilities():
  for epsilon_fn in (
      epsilons.ladder_epsilon,
      epsilons.linear_epsilon,
      epsilons.exponential_epsilon,
  ):
    for num_environments in (1, 3):
      epsilons.check_epsilon_fn(epsilon_fn, 10**6, num_environments)
