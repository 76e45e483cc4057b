# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server with as much of the Hugging Face Hub's HTTP as its library needs."""

import base64
import contextlib
import hashlib
import http.server
import json
import threading
import urllib.parse

TOKEN = 'hf_of_the_test'


class _Hub(http.server.ThreadingHTTPServer):
  """Repositories in memory: lists of commits, dicts of files."""

  def __init__(self):
    super().__init__(('127.0.0.1', 0), _Handler)
    self.repositories = {}
    self.are_private = {}

  @property
  def url(self):
    return f'http://127.0.0.1:{self.server_port}'


class _Handler(http.server.BaseHTTPRequestHandler):

  def log_message(self, *unused):
    pass

  def _answer(self, status, content=b'', **headers):
    if not isinstance(content, bytes):
      content = json.dumps(content).encode()
    self.send_response(status)
    self.send_header('Content-Length', str(len(content)))
    for name, value in headers.items():
      self.send_header(name.replace('_', '-'), value)
    self.end_headers()
    if self.command != 'HEAD':
      self.wfile.write(content)

  def do_POST(self):  # pylint: disable=invalid-name
    body = self.rfile.read(int(self.headers['Content-Length']))
    if self.headers['Authorization'] != f'Bearer {TOKEN}':
      self._answer(401, dict(error='Log in.'))
      return
    hub, path = self.server, self.path
    if path == '/api/repos/create':
      wanted = json.loads(body)
      name = f'{wanted["organization"]}/{wanted["name"]}'
      known = name in hub.repositories
      if not known:
        hub.repositories[name] = [{'.gitattributes': b''}]
        hub.are_private[name] = True in (
            wanted.get('private'), wanted.get('visibility') == 'private')
      self._answer(409 if known else 200, dict(url=f'{hub.url}/{name}'))
    elif path == '/api/validate-yaml':
      self._answer(200, dict(errors=[], warnings=[]))
    elif path.endswith('/preupload/main'):
      files = [dict(path=file['path'], uploadMode='regular', shouldIgnore=False)
               for file in json.loads(body)['files']]
      self._answer(200, dict(files=files))
    elif path.endswith('/commit/main'):
      name = path.removeprefix('/api/models/').removesuffix('/commit/main')
      files = dict(hub.repositories[name][-1])
      for line in body.splitlines():
        each = json.loads(line)
        value = each['value']
        if each['key'] == 'file':
          files[value['path']] = base64.b64decode(value['content'])
        elif each['key'] == 'deletedFile':
          del files[value['path']]
      hub.repositories[name].append(files)
      revision = _revision(hub.repositories[name])
      self._answer(200, dict(
          success=True, commitOid=revision,
          commitUrl=f'{hub.url}/{name}/commit/{revision}'))
    else:
      self._answer(404, dict(error=f'POST {path}?'))

  def do_GET(self):  # pylint: disable=invalid-name
    hub = self.server
    path = urllib.parse.unquote(self.path.partition('?')[0]).strip('/')
    api, _, rest = path.partition('api/models/')
    parts = (rest if not api else path).split('/')
    name, verb, revision = '/'.join(parts[:2]), *(parts[2:4] + ['', ''])[:2]
    commits = hub.repositories.get(name)
    if not commits:
      self._answer(404, X_Error_Code='RepoNotFound')
      return
    numbers = {_revision(commits[:i + 1]): i for i in range(len(commits))}
    numbers |= {'main': len(commits) - 1, '': len(commits) - 1}
    if revision not in numbers:
      self._answer(404, X_Error_Code='RevisionNotFound')
      return
    number = numbers[revision]
    files, sha = commits[number], _revision(commits[:number + 1])
    if verb in ('', 'revision'):
      self._answer(200, dict(
          id=name, modelId=name, sha=sha, private=False, tags=[], downloads=0,
          siblings=[dict(rfilename=file) for file in files]))
    elif verb == 'tree':
      self._answer(200, [
          dict(type='file', path=file, size=len(content), oid=_oid(content))
          for file, content in files.items()])
    elif verb == 'resolve':
      content = files.get('/'.join(parts[4:]))
      if content is None:
        self._answer(404, X_Error_Code='EntryNotFound')
      else:
        self._answer(
            200, content, ETag=f'"{_oid(content)}"', X_Repo_Commit=sha)
    else:
      self._answer(404, dict(error=f'GET {self.path}?'))

  do_HEAD = do_GET  # pylint: disable=invalid-name


def _oid(content):
  return hashlib.sha1(content).hexdigest()


def _revision(commits):
  return _oid(repr(commits).encode())


@contextlib.contextmanager
def served():
  """Yields the server while it answers."""
  hub = _Hub()
  thread = threading.Thread(target=hub.serve_forever, daemon=True)
  thread.start()
  try:
    yield hub
  finally:
    hub.shutdown()
    hub.server_close()
    thread.join()
