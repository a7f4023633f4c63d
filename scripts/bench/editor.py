"""What somebody feels who writes a Tiltfile: the language server, asked over its standard input and output.

The file has 2,000 lines: loads of extensions, functions, builds and resources. "First" counts from the start of the
program until its first completion; diagnostics count from a keystroke until they arrive.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from instance import Failed
from running import QUICK, Table, p50

LINES = 2_000
KEYSTROKES = 10 if QUICK else 100
COMPLETIONS = 10 if QUICK else 100

HEAD = """\
load('ext://restart_process', 'docker_build_with_restart')
load('ext://helm_resource', 'helm_resource', 'helm_repo')
load('ext://uibutton', 'cmd_button', 'location', 'text_input')
load('ext://namespace', 'namespace_create')
load('ext://secret', 'secret_from_dict')
"""
SERVICE = """\

def deploy_{i}(name='svc-{i}', replicas=1, labels=['group-{i}']):
    '''Deploys service {i}.'''
    docker_build('example/svc-{i}', './svc-{i}', dockerfile='./svc-{i}/Dockerfile', live_update=[
        sync('./svc-{i}/src', '/app/src'),
        run('make', trigger=['./svc-{i}/Makefile']),
    ])
    k8s_yaml(helm('./charts/svc', name=name, set=['replicas=%d' % replicas]))
    k8s_resource(name, port_forwards=[port_forward({port}, 8080, name='http')], labels=labels)
    local_resource('test-{i}', cmd='make test', deps=['./svc-{i}'], resource_deps=[name])
deploy_{i}()
"""


def tiltfile():
    """A text of so many lines that is without mistakes, with room for a word at its end."""
    lines = HEAD.splitlines()
    i = 0
    while len(lines) + SERVICE.count("\n") < LINES:
        lines += SERVICE.format(i=i, port=9000 + i).splitlines()
        i += 1
    lines += [f"# line {n}" for n in range(len(lines), LINES)]
    return "\n".join(lines) + "\n"


class Server:
    """A language server and its folder; both are gone at the end of `with`."""

    def __init__(self, binary):
        self.root = tempfile.mkdtemp(prefix="engine-bench-")
        self.uri = f"file://{self.root}/Tiltfile"
        self.started = time.perf_counter()
        env = {"PATH": os.environ["PATH"], "HOME": self.root, "DO_NOT_TRACK": "1", "TILT_DISABLE_ANALYTICS": "1"}
        self.process = subprocess.Popen([binary, "lsp", "start"], cwd=self.root, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        self.buffer = b""
        self.n_asked = 0
        self.version = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def fill(self, deadline):
        wait = deadline - time.perf_counter()
        if wait <= 0 or not select.select([self.process.stdout], [], [], wait)[0]:
            raise Failed("the language server does not answer")
        read = os.read(self.process.stdout.fileno(), 1 << 20)
        if not read:
            raise Failed("the language server ended")
        self.buffer += read

    def receive(self, is_wanted, seconds=30):
        """The next message that is wanted; others are skipped."""
        deadline = time.perf_counter() + seconds
        while True:
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]) if end else None
            if length is None or len(rest) < length:
                self.fill(deadline)
                continue
            self.buffer = rest[length:]
            message = json.loads(rest[:length])
            if is_wanted(message):
                return message

    def ask(self, method, params):
        self.n_asked += 1
        self.send({"id": self.n_asked, "method": method, "params": params})
        return self.receive(lambda it: it.get("id") == self.n_asked and "method" not in it)

    def begin(self):
        self.ask("initialize", {"processId": None, "rootUri": f"file://{self.root}", "capabilities": {}})
        self.send({"method": "initialized", "params": {}})

    def open(self, text):
        document = {"uri": self.uri, "languageId": "tiltfile", "version": 0, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def change(self, text):
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        changes = [{"text": text}]
        self.send({"method": "textDocument/didChange", "params": {"textDocument": document, "contentChanges": changes}})

    def complete(self, line, character):
        position = {"line": line, "character": character}
        answer = self.ask("textDocument/completion", {"textDocument": {"uri": self.uri}, "position": position})
        found = answer.get("result") or []
        return [it["label"] for it in (found["items"] if isinstance(found, dict) else found)]

    def mistakes(self):
        is_ours = lambda it: it.get("method") == "textDocument/publishDiagnostics" and it["params"]["uri"] == self.uri
        return self.receive(is_ours)["params"]["diagnostics"]


def measure(binary):
    text = tiltfile()
    with Server(binary) as server:
        server.begin()
        server.open(text + "docker_b")
        if not any(it.startswith("docker_build") for it in server.complete(LINES, len("docker_b"))):
            raise Failed("docker_build is not offered")
        found = {"first completion, since the start of the program|ms":
                 (time.perf_counter() - server.started) * 1000}
        times = []
        for _ in range(COMPLETIONS):
            start = time.perf_counter()
            server.complete(LINES, len("docker_b"))
            times.append((time.perf_counter() - start) * 1000)
        found[f"completion, p50 of {COMPLETIONS}|ms"] = p50(times)
        found["completion, slowest|ms"] = max(times)
    with Server(binary) as server:
        server.begin()
        server.open(text)
        server.mistakes()
        times = []
        for k in range(KEYSTROKES):
            start = time.perf_counter()
            # One keystroke makes a mistake, the next one mends it.
            server.change(text + ("f(" if k % 2 == 0 else ""))
            if bool(server.mistakes()) != (k % 2 == 0):
                raise Failed("the mistakes are others than those of the text")
            times.append((time.perf_counter() - start) * 1000)
        found[f"diagnostics after a keystroke, p50 of {KEYSTROKES}|ms"] = p50(times)
        found["diagnostics after a keystroke, slowest|ms"] = max(times)
    return found


def run(binaries):
    print(f"## Editor: a Tiltfile of {LINES:,} lines")
    Table(binaries).scene(measure)
