"""How long a Tiltfile takes to be evaluated, and how much memory.

Each program runs BENCH_RUNS times (default 10) on each project, in turns, so that a busy moment of the
machine hits both. Shown are the best and the median time, and the peak of resident memory.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = int(os.environ.get("BENCH_RUNS") or (3 if os.environ.get("BENCH_QUICK") else 10))
GNU_TIME = "/usr/bin/time" if os.access("/usr/bin/time", os.X_OK) else None

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: kind-kind
clusters: [{name: kind-kind, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: kind-kind, context: {cluster: kind-kind, user: kind-kind}}]
users: [{name: kind-kind, user: {}}]
"""

WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{i}
  labels: {{app: app-{i}, tier: backend}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: app-{i}}}
  template:
    metadata:
      labels: {{app: app-{i}}}
    spec:
      containers:
        - name: main
          image: example/app-{i}:1.0
          ports: [{{containerPort: 8080}}]
          env:
            - {{name: INDEX, value: "{i}"}}
            - {{name: LOG_LEVEL, value: debug}}
---
apiVersion: v1
kind: Service
metadata:
  name: app-{i}
spec:
  selector: {{app: app-{i}}}
  ports: [{{port: 80, targetPort: 8080}}]
---
"""

SMALL = {
    "Tiltfile": """\
docker_build('example/app-0', '.', dockerfile_contents='FROM scratch')
k8s_yaml('app.yaml')
k8s_resource('app-0', port_forwards=8080, resource_deps=['setup'], labels=['app'])
local_resource('setup', 'echo ready', deps=['app.yaml'])
""",
    "app.yaml": WORKLOAD.format(i=0),
}

YAML = {
    "Tiltfile": "k8s_yaml('all.yaml')\n",
    "all.yaml": "".join(WORKLOAD.format(i=i) for i in range(1000)),
}

LOCAL = {
    "Tiltfile": """\
for i in range(5000):
    local_resource('r%d' % i, 'echo %d' % i, deps=['f%d' % i], resource_deps=['r%d' % (i - 1)] if i % 10 else [])
""",
}

LOOPS = {
    "Tiltfile": """\
def name(i):
    return '%s-%d' % ('name', i)
for i in range(100000):
    name(i)
n = 0
for i in range(300000):
    n = n + i % 7
""",
}

CALLS = {"Tiltfile": "for i in range(300):\n    local('true')\n"}

HELM = {
    "Tiltfile": "k8s_yaml(helm('chart', name='bench', set=['replicas=2']))\n",
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
    "chart/values.yaml": "replicas: 1\n",
    "chart/templates/all.yaml": "".join(
        WORKLOAD.format(i=i).replace("replicas: 2", "replicas: {{ .Values.replicas }}") for i in range(20)
    ),
}

# The name, the files, and whether each run gets a fresh home folder, where an engine may keep what it learned.
PROJECTS = [
    ("small Tiltfile", SMALL, False),
    ("1,000 Deployments and Services", YAML, False),
    ("5,000 local_resource calls", LOCAL, False),
    ("100,000 calls and 300,000 rounds of a loop", LOOPS, False),
    ("300 local() calls", CALLS, False),
    ("helm(), first time", HELM, True),
    ("helm(), again", HELM, False),
]


class Program:
    """A program under measurement, with its own copy of the project and its own home folder."""

    def __init__(self, name, binary, files, root):
        self.name = name
        self.binary = os.path.abspath(binary)
        self.root = root
        self.work = os.path.join(root, "work")
        self.seconds = []
        self.kilobytes = []
        for path, text in files.items():
            path = os.path.join(self.work, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        with open(os.path.join(root, "kubeconfig"), "w", encoding="utf-8") as f:
            f.write(KUBECONFIG)
        self.fresh_home()

    def fresh_home(self):
        home = os.path.join(self.root, "home")
        shutil.rmtree(home, ignore_errors=True)
        os.mkdir(home)

    def command(self):
        return [self.binary, "alpha", "tiltfile-result", "-f", "Tiltfile"]

    def env(self):
        return {
            "PATH": os.environ["PATH"],
            "HOME": os.path.join(self.root, "home"),
            "KUBECONFIG": os.path.join(self.root, "kubeconfig"),
            "DO_NOT_TRACK": "1",
            "TILT_DISABLE_ANALYTICS": "1",
            "LC_ALL": "C",
        }

    def run(self, prefix=()):
        return subprocess.run([*prefix, *self.command()], cwd=self.work, env=self.env(), check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def measure(self):
        start = time.perf_counter()
        done = self.run()
        self.seconds.append(time.perf_counter() - start)
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
            sys.exit(f"{self.name} failed with exit code {done.returncode}: {' / '.join(words)}")

    def measure_memory(self):
        """Peak memory of the largest process. GNU time is small, so it does not count itself in."""
        if GNU_TIME:
            words = self.run([GNU_TIME, "-f", "%M"]).stderr.decode("utf-8", "replace").split()
            self.kilobytes.append(int(words[-1]))

    def instructions(self):
        """Instructions in user space: exact where the machine counts them, simulated otherwise."""
        if shutil.which("perf"):
            out = self.run(["perf", "stat", "-x,", "-e", "instructions:u"]).stderr.decode("utf-8", "replace")
            found = re.search(r"^(\d+),,instructions", out, re.MULTILINE)
            if found:
                return int(found.group(1))
        if shutil.which("valgrind"):
            prefix = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
            out = self.run(prefix).stderr.decode("utf-8", "replace")
            found = re.search(r"Collected : (\d+)", out)
            if found:
                return int(found.group(1))
        return None


def show(program, reference):
    best, median = min(program.seconds), statistics.median(program.seconds)
    text = f"  {program.name:8} best {best * 1000:8.1f} ms   median {median * 1000:8.1f} ms"
    if program.kilobytes:
        text += f"   peak {min(program.kilobytes) / 1024:7.1f} MB"
    if reference is not None and reference is not program:
        text += f"   {min(reference.seconds) / best:.1f}x as fast"
        if program.kilobytes:
            text += f", {min(program.kilobytes) / min(reference.kilobytes):.2f}x the memory"
    print(text, flush=True)


def bench(title, files, fresh, binaries, root):
    programs = []
    for name, binary in binaries:
        folder = os.path.join(root, name)
        os.makedirs(folder)
        programs.append(Program(name, binary, files, folder))
    if not fresh:
        for program in programs:
            program.run()
    for _ in range(RUNS):
        for program in programs:
            if fresh:
                program.fresh_home()
            program.measure()
    for program in programs:
        if fresh:
            program.fresh_home()
        program.measure_memory()
    print(title, flush=True)
    reference = programs[1] if len(programs) > 1 else None
    for program in programs:
        show(program, reference)
    instructions = programs[0].instructions()
    if instructions:
        print(f"  {programs[0].name:8} {instructions / 1e6:,.1f} million instructions", flush=True)


def run(binaries):
    if not GNU_TIME:
        print("memory is not measured: needs /usr/bin/time (Debian package `time`)", file=sys.stderr)
    print(f"## Evaluation: {RUNS} runs each")
    for i, (title, files, fresh) in enumerate(PROJECTS):
        with tempfile.TemporaryDirectory(prefix="engine-bench-") as root:
            bench(title, files, fresh, binaries, os.path.join(root, str(i)))
