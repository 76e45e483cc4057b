# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Installs rnd_agents: `pip install .`, or `pip install '.[dev,box2d]'`."""

import os
import sys

# Kept free of newer syntax, so that an older Python gets the sentence below
# and not a SyntaxError. pip asks for metadata first (egg_info, dist_info) and
# then says by itself, in one line, that PYTHON_REQUIRES is not met.
PYTHON_REQUIRES = '>=3.10,<3.12'
_SERVES = (3, 10) <= sys.version_info[:2] < (3, 12)
if not _SERVES and not {'egg_info', 'dist_info'} & set(sys.argv):
  sys.exit(
      'rnd_agents needs Python 3.10 or 3.11 (TensorFlow 2.15 has no build for '
      'others); this is Python %d.%d.' % sys.version_info[:2]
  )

import setuptools  # noqa: E402 (absent from a bare Python 3.12)

_ROOT = os.path.dirname(os.path.abspath(__file__))


def _version():
  namespace = {}
  with open(os.path.join(_ROOT, 'rnd_agents', 'version.py')) as source:
    exec(source.read(), namespace)  # Importing it would import TensorFlow.
  return namespace['__version__']


def _readme():
  path = os.path.join(_ROOT, 'README.md')
  if not os.path.exists(path):
    return ''
  with open(path, encoding='utf-8') as source:
    return source.read()


# tf-agents 0.19.0 names no TensorFlow; 2.15 is the one that it was built for.
# It also brings pygame 2.1.3, which renders gymnasium's classic control, so
# that gymnasium's extra of that name (another pygame) is not asked for.
INSTALL_REQUIRES = [
    'absl-py>=1.0',
    'gin-config>=0.5.0',
    'gymnasium>=1.1,<1.4',  # 1.4 refuses the typing-extensions of tf-agents.
    'matplotlib>=3.7',
    'numpy>=1.23.5,<2',
    'setuptools<81',  # TensorBoard 2.15 imports pkg_resources.
    'tensorflow>=2.15,<2.16',
    'tf-agents==0.19.0',
    'tqdm>=4.60',
]

EXTRAS_REQUIRE = {
    'atari': ['ale-py>=0.12.1', 'opencv-python-headless<4.12'],
    'box2d': ['box2d==2.3.10'],
    'minigrid': ['minigrid>=3.0'],
    # Gymnasium's renderer of MuJoCo imports imageio, whether it films or not.
    'mujoco': ['imageio>=2.14', 'mujoco>=3.1'],
    'reverb': ['dm-reverb~=0.14.0'],
    'video': ['imageio-ffmpeg>=0.4.9'],
    'dev': ['pytest>=7.4', 'pytest-xdist>=3.3', 'ruff>=0.8'],
}

setuptools.setup(
    name='rnd_agents',
    version=_version(),
    description=(
        'Exploration by Random Network Distillation for TF-Agents, with PPO.'
    ),
    long_description=_readme(),
    long_description_content_type='text/markdown',
    author='The rnd_agents Authors',
    license='Apache-2.0',
    python_requires=PYTHON_REQUIRES,
    install_requires=INSTALL_REQUIRES,
    extras_require=EXTRAS_REQUIRE,
    # gin_configs/ lies at the top for people to find and is installed inside
    # rnd_agents, where a program finds it from any directory.
    packages=setuptools.find_packages(
        include=['rnd_agents', 'rnd_agents.*', 'train', 'train.*']
    ) + ['rnd_agents.gin_configs'],
    package_dir={'rnd_agents.gin_configs': 'gin_configs'},
    package_data={'rnd_agents.gin_configs': ['*.gin', '**/*.gin']},
    zip_safe=False,
    classifiers=[
        'Intended Audience :: Science/Research',
        'License :: OSI Approved :: Apache Software License',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
    ],
)
