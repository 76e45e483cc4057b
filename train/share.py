# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Uploads a run's policy and results to the Hugging Face Hub, with a card.

  python -m train.share --run_dir runs/x/seed_0 --repo_id me/x
  python -m train.evaluate --policy_dir hf://me/x --episodes 20

The results are those of all seeds of the experiment that lie beside the run.
Log in by `hf auth login` or the variable HF_TOKEN: huggingface_hub reads them.
"""

from collections.abc import Iterator, Sequence
import contextlib
import glob
import json
import os
import re
import shutil
import tempfile
from typing import Any

from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import run_files
from train import model_card

_POLICY = os.path.join('policies', 'policy')  # Where evaluate looks for it.
_PICTURES = ('learning_curve.png', 'visits.png')
# A binding with the lines that continue it.
_BINDING = r'^{} =.*\n(?:[ \t]+\S.*\n)*'
_LOGGERS = re.compile(_BINDING.format(r'\S*\bloggers'), re.M)
_MACRO = re.compile(_BINDING.format(r'([\w/]+)'), re.M)


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_string(
      'run_dir', None, 'Folder of the run.', required=True, **to)
  flags.DEFINE_string(
      'repo_id', None, 'OWNER/NAME on the Hub; it is created if there is none.',
      required=True, **to)
  flags.DEFINE_string(
      'policy', 'policy', 'Name of the policy in ROOT_DIR/policies.', **to)
  flags.DEFINE_bool('private', False, 'Whether only you see a new one.', **to)


def _import_hub() -> Any:
  try:
    import huggingface_hub
  except ImportError as error:
    raise errors.MissingPackage(
        'The Hub needs huggingface_hub: pip install "rnd_agents[share]", with'
        ' Python 3.11 or later.') from error
  return huggingface_hub


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
  """Turns errors of the Hub, of its library and of the network into one."""
  try:
    yield
  except Exception as error:  # They have no common class.
    reason = ' '.join(str(error).split())[:300]
    raise errors.SetupError(f'{what}: {reason}') from error


def fetch(policy_dir: str) -> str:
  """Returns the local folder of a policy, which `hf://` downloads first.

  Args:
    policy_dir: A folder, or hf://OWNER/NAME, perhaps with @REVISION.
  """
  if not policy_dir.startswith('hf://'):
    return policy_dir
  match = re.fullmatch(r'hf://([^/@]+/[^/@]+?)/?(?:@(.+))?', policy_dir)
  if not match:
    raise errors.InvalidValue(
        f'{policy_dir} is not hf://OWNER/NAME or hf://OWNER/NAME@REVISION.')
  hub = _import_hub()
  with _explained(f'{policy_dir} cannot be fetched'):
    folder = hub.snapshot_download(
        match[1], revision=match[2],
        allow_patterns=['policies/policy/*', run_files.CONFIG_FILE])
  print(f'Policy: hf://{match[1]}@{os.path.basename(folder)}')
  return os.path.join(folder, _POLICY)


def public_config(text: str) -> str:
  """Returns an operative config without what only its run needs to know.

  That is the settings of loggers, and macros that nothing else refers to.
  """
  # Addresses of servers may hold passwords, and only matter to training.
  macros = {found[1]: found[0] for found in _MACRO.finditer(text)}
  loggers, parts = [r'\w*Logger'], _LOGGERS.findall(text)
  while parts:  # The list, or some of its loggers, may be macros.
    part = parts.pop()
    loggers += re.findall(r'@(?:[\w./]+[./])?(\w+)', part)
    parts += [
        macros.pop(name)
        for name in re.findall(r'%([\w/]+)', part) if name in macros]
  names = '|'.join(loggers)
  of_loggers = _BINDING.format(rf'(?:\S*[./])?(?:{names})\.\w+')
  text = re.sub(of_loggers, '', _LOGGERS.sub('', text), flags=re.M)
  before = None

  def kept(found: re.Match[str]) -> str:
    return found[0] if found[1] in used else ''

  while text != before:  # A macro may refer to another one.
    before, used = text, set(re.findall(r'%([\w/]+)', text))
    text = _MACRO.sub(kept, text)
  return text


def write_folder(run_dir: str, policy: str, repo_id: str, folder: str) -> None:
  """Writes what is uploaded: everything of a run that others need.

  Args:
    run_dir: Folder of the run.
    policy: Name of the policy in its folder `policies`.
    repo_id: OWNER/NAME on the Hub, for the card.
    folder: Empty folder.

  Raises:
    MissingFile: If the run has no such policy.
  """
  source = os.path.join(run_dir, 'policies', policy)
  if not os.path.isfile(os.path.join(source, 'saved_model.pb')):
    raise errors.MissingFile(
        f'{run_dir} has no policies/{policy}/saved_model.pb: name the folder of'
        ' a run, and one of its policies by --policy.')
  shutil.copytree(source, os.path.join(folder, _POLICY))
  renamed = os.path.join(run_dir, run_files.RENAMED_KEYS_FILE)
  if os.path.isfile(renamed):
    shutil.copy(renamed, os.path.join(folder, run_files.RENAMED_KEYS_FILE))
  config = os.path.join(run_dir, run_files.CONFIG_FILE)
  with open(config, encoding='utf-8') as file:
    text = public_config(file.read())
  with open(os.path.join(folder, run_files.CONFIG_FILE), 'w') as file:
    file.write(text)
  pictures = [
      name for name in _PICTURES if os.path.isfile(os.path.join(run_dir, name))]
  for name in pictures:
    shutil.copy(os.path.join(run_dir, name), folder)
  videos = glob.glob(os.path.join(glob.escape(run_dir), 'videos', '*.mp4'))
  if videos:  # The name that the Hub shows beside the card.
    newest = max(videos, key=os.path.getmtime)
    shutil.copy(newest, os.path.join(folder, 'replay.mp4'))
  results = model_card.read_results(run_dir, policy)
  with open(os.path.join(folder, 'results.json'), 'w') as file:
    json.dump({k: x._asdict() for k, x in results.items()}, file, indent=2)
  card = model_card.render(run_dir, policy, repo_id, results, pictures)
  with open(os.path.join(folder, 'README.md'), 'w', encoding='utf-8') as file:
    file.write(card)


@programs.explaining('share', OSError, status=2)
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  programs.begin(argv)
  if not re.fullmatch(r'[\w.-]+/[\w.-]+', args.repo_id):
    raise errors.InvalidValue(
        f'--repo_id must be OWNER/NAME, got {args.repo_id}.')
  hub = _import_hub()
  with tempfile.TemporaryDirectory() as folder:
    write_folder(
        os.path.expanduser(args.run_dir), args.policy, args.repo_id, folder)
    with _explained(f'{args.repo_id} cannot be uploaded'):
      # Without --private, an organization's own rule decides.
      hub.create_repo(
          args.repo_id, private=args.private or None, exist_ok=True)
      commit = hub.upload_folder(
          repo_id=args.repo_id, folder_path=folder,
          delete_patterns='policies/*',  # Those of an earlier upload.
          commit_message='Share a policy of rnd_agents')
  print(f'{commit.repo_url}\nPlay it: python -m train.evaluate'
        f' --policy_dir=hf://{args.repo_id}')
  return 0


def run() -> None:
  """Runs the program, as the command `rnd-share` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
