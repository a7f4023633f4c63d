"""What deploying costs: the time until 20 Deployments with their Services and ConfigMaps are ready, above the time that
`kubectl apply` takes for the same; and a second `up` that finds everything as it is.

The cluster is the one that KUBECONFIG names; `scripts/cluster.sh run make bench` has one.
"""

import os
import re
import subprocess
import threading
import time
import uuid

from instance import Failed, Instance
from running import QUICK, Table, p50

COUNT = 5 if QUICK else 20
ROUNDS = 1 if QUICK else 5
KEPT = ("KUBE",)
LOADED = re.compile(rb"Successfully loaded Tiltfile")
DONE = re.compile(rb"DONE IN")


def objects(namespace):
    found = []
    for i in range(COUNT):
        metadata = f"metadata: {{name: web{i}, namespace: {namespace}}}"
        labels = f"{{app: web{i}}}"
        found += [
            f"apiVersion: v1\nkind: ConfigMap\n{metadata}\ndata: {{key: value}}\n",
            f"apiVersion: v1\nkind: Service\n{metadata}\nspec: {{selector: {labels}, ports: [{{port: 80}}]}}\n",
            f"apiVersion: apps/v1\nkind: Deployment\n{metadata}\nspec:\n  selector: {{matchLabels: {labels}}}\n"
            f"  template:\n    metadata: {{labels: {labels}}}\n    spec:\n      terminationGracePeriodSeconds: 0\n"
            "      containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '100000']}]\n",
        ]
    return "---\n".join(found)


def kubectl(*args):
    subprocess.run(["kubectl", *args], stdout=subprocess.DEVNULL, check=True)


class Ready:
    """Tells when all Deployments of a namespace are available, as the API server tells it."""

    def __init__(self, namespace):
        path = 'jsonpath={.object.metadata.name} {.object.status.availableReplicas}{"\\n"}'
        command = ["kubectl", "get", "deployments", "--namespace", namespace, "--watch", "--output-watch-events", "--output"]
        # Nothing is there yet, so that its first lines are those of what is about to be made.
        self.process = subprocess.Popen([*command, path], stdout=subprocess.PIPE, text=True)
        self.all = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()
        time.sleep(1)

    def read(self):
        ready = set()
        for line in self.process.stdout:
            words = line.split()
            if len(words) == 2 and words[1] == "1":
                ready.add(words[0])
            if len(ready) == COUNT:
                self.all.set()

    def wait(self):
        if not self.all.wait(180):
            raise Failed("not all Deployments are ready")

    def end(self):
        self.process.kill()
        self.process.wait()


class Project(Instance):
    """A namespace with all objects; it is gone at the end, too."""

    def __init__(self, binary):
        self.namespace = f"bench-{uuid.uuid4().hex[:8]}"
        yaml = objects(self.namespace)
        super().__init__(binary, {"Tiltfile": "k8s_yaml('objects.yaml')\n", "objects.yaml": yaml})
        kubectl("create", "namespace", self.namespace)
        self.ready = Ready(self.namespace)

    def __exit__(self, *error):
        super().__exit__(*error)
        self.ready.end()
        # The next one is not to be measured beside the end of this one.
        kubectl("delete", "namespace", self.namespace)

    def env(self):
        kept = {key: value for key, value in os.environ.items() if key.startswith(KEPT)}
        return {**super().env(), **kept}

    def first(self):
        """How many milliseconds until everything is ready; without a program, as `kubectl` does it."""
        start = time.perf_counter()
        if self.binary:
            self.start()
        else:
            kubectl("apply", "--filename", self.path("objects.yaml"))
        self.ready.wait()
        return (time.perf_counter() - start) * 1000

    def again(self):
        """How many milliseconds another `up` takes after it has read the Tiltfile."""
        self.until(DONE, COUNT)
        self.process.terminate()
        self.process.wait(30)
        self.start()
        loaded = self.until(LOADED, 1)
        return (self.until(DONE, COUNT) - loaded) * 1000

    def until(self, pattern, count):
        deadline = time.perf_counter() + 120
        while True:
            with open(os.path.join(self.root, "log"), "rb") as f:
                log = f.read()
            if len(pattern.findall(log)) >= count:
                return time.perf_counter()
            if self.process.poll() is not None or time.perf_counter() > deadline:
                raise Failed(log[-500:].decode(errors="replace"))
            time.sleep(0.002)


def run(binaries):
    print(f"## Objects: {COUNT} Deployments, each with a Service and a ConfigMap")
    if not os.environ.get("KUBECONFIG"):
        print("skipped: KUBECONFIG is not set; scripts/cluster.sh run has a cluster")
        return
    floor, first, again = [], [[] for _ in binaries], [[] for _ in binaries]
    for _ in range(ROUNDS):
        with Project("") as project:
            floor.append(project.first())
        for i, (_, binary) in enumerate(binaries):
            with Project(binary) as project:
                first[i].append(project.first())
                again[i].append(project.again())
    print(f"kubectl apply, until all are ready: {p50(floor):,.0f} ms")
    table = Table(binaries)
    table.row("up, until all are ready", "ms", [p50(it) for it in first])
    table.row("the same, above kubectl", "ms", [p50(it) - p50(floor) for it in first])
    table.row("up again, from the Tiltfile until all is checked", "ms", [p50(it) for it in again])
