"""One `up` of a program on a generated project, and what can be seen of it from outside."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: kind-kind
clusters: [{name: kind-kind, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: kind-kind, context: {cluster: kind-kind, user: kind-kind}}]
users: [{name: kind-kind, user: {}}]
"""

# The variable by which every process below an instance is found, wherever it went.
MARK = "ENGINE_BENCH_INSTANCE"
POLL = 0.0005


class Failed(Exception):
    """What was to be measured did not happen."""


class Instance:
    """Owns a folder and a process; both are gone at the end of `with`."""

    def __init__(self, binary, files):
        self.binary = binary
        self.root = tempfile.mkdtemp(prefix="engine-bench-")
        self.work = os.path.join(self.root, "work")
        os.makedirs(os.path.join(self.root, "home"))
        for path, text in {"../kubeconfig": KUBECONFIG, **files}.items():
            self.write(path, text)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.root, ignore_errors=True)

    def path(self, name):
        return os.path.normpath(os.path.join(self.work, name))

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def env(self):
        return {
            "PATH": os.environ["PATH"],
            "HOME": os.path.join(self.root, "home"),
            "KUBECONFIG": os.path.join(self.root, "kubeconfig"),
            "TILT_PORT": str(self.port),
            # Without this, Tilt fetches its web page when it starts.
            "TILT_WEB_MODE": "prod",
            "DO_NOT_TRACK": "1",
            "TILT_DISABLE_ANALYTICS": "1",
            "LC_ALL": "C",
            MARK: self.root,
        }

    def start(self):
        self.started = time.perf_counter()
        with open(os.path.join(self.root, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [self.binary, "up", "--stream"], cwd=self.work, env=self.env(), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def since_start(self):
        return time.perf_counter() - self.started

    def wait(self, name, text, seconds):
        """Waits until a file has this text."""
        deadline = time.perf_counter() + seconds
        while self.read(name) != text:
            if self.process.poll() is not None or time.perf_counter() > deadline:
                with open(os.path.join(self.root, "log"), encoding="utf-8", errors="replace") as f:
                    tail = f.read()[-500:]
                raise Failed(f"{name} was not written: {tail}")
            time.sleep(POLL)

    def client(self, *args):
        """Runs a client; returns seconds and the finished process."""
        start = time.perf_counter()
        done = subprocess.run([self.binary, *args], cwd=self.work, env={**self.env(), MARK: ""},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        if done.returncode != 0:
            raise Failed(f"{args}: {done.stderr.decode(errors='replace')[-300:]}")
        return time.perf_counter() - start, done

    def megabytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def processes(self):
        """Everything below the instance that still runs."""
        mark = f"{MARK}={self.root}\0".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found
