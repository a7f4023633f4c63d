"""What live update costs: the time from a save until all running containers show the new content.

Containers are looked into from outside, through /proc, which takes root. Docker is the one that DOCKER_HOST names, the
cluster the one that KUBECONFIG names, on this machine; `scripts/cluster.sh run make bench` has both.
"""

import os
import statistics
import subprocess
import time
import uuid

from instance import POLL, Failed, Instance
from running import QUICK, Table, p50

SAVES = 5 if QUICK else 12
MANY = 200 if QUICK else 1_000
# How many containers, and how many files are saved at once.
SCENES = [(1, 1), (1, MANY), (10, 1)]
KEPT = ("DOCKER_", "KUBE")


class Project(Instance):
    """One image with live update, run so many times; what it made is gone at the end, too."""

    def __init__(self, binary, is_cluster, replicas, files):
        self.name = f"bench-{uuid.uuid4().hex[:12]}"
        self.replicas, self.n_files = replicas, files
        deployed = "k8s_yaml('pods.yaml')" if is_cluster else f"docker_compose('compose.yml', project_name='{self.name}')"
        services = "".join(
            f"  s{i}: {{image: {self.name}, network_mode: none, stop_grace_period: 0s}}\n" for i in range(replicas))
        super().__init__(binary, {
            "Tiltfile": f"{deployed}\ndocker_build('{self.name}', '.', live_update=[sync('src', '/app')])\n",
            "Dockerfile": f'FROM busybox\nCOPY src /app\nCMD ["sh", "-c", "while true; do sleep 1000; done", "{self.name}"]\n',
            "compose.yml": f"services:\n{services}",
            "pods.yaml": self.deployment(),
            **{f"src/f{i}": "0" for i in range(files)},
        })

    def deployment(self):
        labels = f"{{app: {self.name}}}"
        return (f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {self.name}}}\nspec:\n"
                f"  replicas: {self.replicas}\n  selector: {{matchLabels: {labels}}}\n  template:\n"
                f"    metadata: {{labels: {labels}}}\n    spec:\n      terminationGracePeriodSeconds: 0\n"
                f"      containers: [{{name: main, image: {self.name}}}]\n")

    def __exit__(self, *error):
        if self.process:
            self.process.terminate()
            self.process.wait(30)
            subprocess.run([self.binary, "down"], cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=120, check=False)
        super().__exit__(*error)

    def env(self):
        kept = {key: value for key, value in os.environ.items() if key.startswith(KEPT)}
        return {**super().env(), **kept}

    def containers(self):
        """The file systems of all containers that run, as this machine sees them."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            root = f"/proc/{pid}/root"
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    is_it = f.read().endswith(f"\0{self.name}\0".encode())
                if is_it and os.path.exists(f"{root}/app/f0") and os.stat(root).st_ino != os.stat("/").st_ino:
                    found.append(root)
            except OSError:
                pass
        return found

    def ready(self):
        """Starts, and returns the containers when all of them run and can be updated."""
        self.start()
        deadline = time.perf_counter() + 120
        while len(found := self.containers()) < self.replicas:
            if self.process.poll() is not None or time.perf_counter() > deadline:
                with open(os.path.join(self.root, "log"), encoding="utf-8", errors="replace") as f:
                    raise Failed(f"no containers: {f.read()[-500:]}")
            time.sleep(0.05)
        time.sleep(5)
        return found

    def save(self, containers, text):
        """Saves all files; returns how many milliseconds it takes until all containers have them."""
        start = time.perf_counter()
        for i in range(self.n_files):
            self.write(f"src/f{i}", text)
        left = [(root, i) for root in containers for i in reversed(range(self.n_files))]
        while left:
            root, i = left[-1]
            with open(f"{root}/app/f{i}", encoding="utf-8") as f:
                is_there = f.read() == text
            if is_there:
                left.pop()
            elif time.perf_counter() - start > 60:
                raise Failed(f"{len(left)} files never arrived")
            else:
                time.sleep(POLL)
        return (time.perf_counter() - start) * 1000


def live_update(binary, is_cluster, replicas, files):
    with Project(binary, is_cluster, replicas, files) as project:
        containers = project.ready()
        times = []
        for k in range(1, SAVES + 1):
            times.append(project.save(containers, str(k)))
            time.sleep(1)
        return p50(times)


def writing():
    """How long the files take to be written if nobody looks: whatever is measured includes it."""
    with Instance("", {f"src/f{i}": "0" for i in range(MANY)}) as folder:
        times = []
        for k in range(SAVES):
            time.sleep(1)
            start = time.perf_counter()
            for i in range(MANY):
                folder.write(f"src/f{i}", str(k))
            times.append((time.perf_counter() - start) * 1000)
        return statistics.median(times)


def run(binaries):
    print("## Live update: from a save to the content in all containers, p50")
    if not os.environ.get("DOCKER_HOST"):
        print("skipped: DOCKER_HOST is not set; scripts/ground.sh run has one, scripts/cluster.sh run a cluster too")
        return
    table = Table(binaries)
    for is_cluster in (False, True):
        if is_cluster and not os.environ.get("KUBECONFIG"):
            print("pods: skipped: KUBECONFIG is not set; scripts/cluster.sh run has a cluster")
            return
        for replicas, files in SCENES:
            what = "pod" if is_cluster else "service"
            title = f"{files:,} file{'s' * (files > 1)}, {replicas} {what}{'s' * (replicas > 1)}"
            found, notes = [], []
            for name, binary in binaries:
                try:
                    found.append(live_update(binary, is_cluster, replicas, files))
                except Failed as error:
                    found.append("-")
                    notes.append(f"{name}: {error}")
            table.row(title, "ms", found, *notes[:1])
    print(f"only writing {MANY:,} files takes {writing():.0f} ms of that")
