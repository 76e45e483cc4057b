# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exploration bonuses for any agent."""

from rnd_agents.curiosity.coarse_views import coarse_view
from rnd_agents.curiosity.combinations import BoundedFactor
from rnd_agents.curiosity.combinations import create_bounded_factor
from rnd_agents.curiosity.combinations import create_product
from rnd_agents.curiosity.combinations import create_sum
from rnd_agents.curiosity.combinations import Product
from rnd_agents.curiosity.combinations import Sum
from rnd_agents.curiosity.count_bonus import CountBonus
from rnd_agents.curiosity.count_bonus import create_counts
from rnd_agents.curiosity.curiosity import Curiosity
from rnd_agents.curiosity.curiosity import key_observation_fn
from rnd_agents.curiosity.curiosity import newest_frame_observation_fn
from rnd_agents.curiosity.curiosity import observation_spec
from rnd_agents.curiosity.curiosity import PreviousRow
from rnd_agents.curiosity.curiosity import SeenObservations
from rnd_agents.curiosity.curiosity import Transitions
from rnd_agents.curiosity.distributional_rnd import create_drnd
from rnd_agents.curiosity.distributional_rnd import DistributionalRND
from rnd_agents.curiosity.elliptical_bonus import create_e3b
from rnd_agents.curiosity.elliptical_bonus import EllipticalBonus
from rnd_agents.curiosity.intrinsic_curiosity_module import create_icm
from rnd_agents.curiosity.intrinsic_curiosity_module import (
    IntrinsicCuriosityModule,
)
from rnd_agents.curiosity.inverse_model import InverseModel
from rnd_agents.curiosity.learning_progress import create_lpm
from rnd_agents.curiosity.learning_progress import LearningProgress
from rnd_agents.curiosity.neighbor_bonus import create_ngu_episodic
from rnd_agents.curiosity.neighbor_bonus import NeighborBonus
from rnd_agents.curiosity.novel_d import create_novel_d
from rnd_agents.curiosity.novel_d import NovelD
from rnd_agents.curiosity.random_network_distillation import create_rnd
from rnd_agents.curiosity.random_network_distillation import (
    RandomNetworkDistillation,
)
from rnd_agents.curiosity.temporal_distance import create_etd
from rnd_agents.curiosity.temporal_distance import TemporalDistance

__all__ = [
    'BoundedFactor',
    'CountBonus',
    'Curiosity',
    'DistributionalRND',
    'EllipticalBonus',
    'IntrinsicCuriosityModule',
    'InverseModel',
    'LearningProgress',
    'NeighborBonus',
    'NovelD',
    'PreviousRow',
    'Product',
    'RandomNetworkDistillation',
    'SeenObservations',
    'Sum',
    'TemporalDistance',
    'Transitions',
    'coarse_view',
    'create_bounded_factor',
    'create_counts',
    'create_drnd',
    'create_e3b',
    'create_etd',
    'create_icm',
    'create_lpm',
    'create_ngu_episodic',
    'create_novel_d',
    'create_product',
    'create_rnd',
    'create_sum',
    'key_observation_fn',
    'newest_frame_observation_fn',
    'observation_spec',
]
