# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exploration bonuses for any agent."""

from rnd_agents.curiosity.combinations import BoundedFactor
from rnd_agents.curiosity.combinations import create_bounded_factor
from rnd_agents.curiosity.combinations import create_product
from rnd_agents.curiosity.combinations import create_sum
from rnd_agents.curiosity.combinations import Product
from rnd_agents.curiosity.combinations import Sum
from rnd_agents.curiosity.curiosity import Curiosity
from rnd_agents.curiosity.curiosity import key_observation_fn
from rnd_agents.curiosity.curiosity import newest_frame_observation_fn
from rnd_agents.curiosity.curiosity import observation_spec
from rnd_agents.curiosity.curiosity import PreviousRow
from rnd_agents.curiosity.curiosity import SeenObservations
from rnd_agents.curiosity.curiosity import Transitions
from rnd_agents.curiosity.elliptical_bonus import create_e3b
from rnd_agents.curiosity.elliptical_bonus import EllipticalBonus
from rnd_agents.curiosity.intrinsic_curiosity_module import create_icm
from rnd_agents.curiosity.intrinsic_curiosity_module import (
    IntrinsicCuriosityModule,
)
from rnd_agents.curiosity.inverse_model import InverseModel
from rnd_agents.curiosity.novel_d import create_novel_d
from rnd_agents.curiosity.novel_d import NovelD
from rnd_agents.curiosity.random_network_distillation import create_rnd
from rnd_agents.curiosity.random_network_distillation import (
    RandomNetworkDistillation,
)

__all__ = [
    'BoundedFactor',
    'Curiosity',
    'EllipticalBonus',
    'IntrinsicCuriosityModule',
    'InverseModel',
    'NovelD',
    'PreviousRow',
    'Product',
    'RandomNetworkDistillation',
    'SeenObservations',
    'Sum',
    'Transitions',
    'create_bounded_factor',
    'create_e3b',
    'create_icm',
    'create_novel_d',
    'create_product',
    'create_rnd',
    'create_sum',
    'key_observation_fn',
    'newest_frame_observation_fn',
    'observation_spec',
]
