"""What images cost: the time until one is ready to be deployed, and the memory that a large context takes.

An image is ready when the update goes on to deploy it, as the log says. Docker is the one that DOCKER_HOST names.
"""

import os
import re
import subprocess
import time
import uuid

from instance import Failed, Instance
from running import QUICK, Table, p50

FILES = 2_000 if QUICK else 20_000
REBUILDS = 3 if QUICK else 5
RESTARTS = 2 if QUICK else 3
BIG_MEGABYTES = 200 if QUICK else 2_000

BEGUN = re.compile(rb"\xe2\x94\x82 Initial Build\n")
READY = re.compile(rb"STEP \d+/\d+ \xe2\x80\x94 Deploying\n")

MANY = "FROM busybox\nCOPY . /app\nCMD exec sleep 100000\n"
# The context travels, but is not stored a second time in a layer.
BIG = "FROM busybox\nRUN --mount=type=bind,target=/context cat /context/*.bin | wc -c > /size\nCMD exec sleep 100000\n"


class Project(Instance):
    """A Compose project with one image; its containers and images are gone at the end, too."""

    def __init__(self, binary, dockerfile):
        self.name = f"bench-{uuid.uuid4().hex[:12]}"
        super().__init__(binary, {
            "Tiltfile": f"docker_compose('compose.yml', project_name='{self.name}')\n"
                        f"docker_build('{self.name}', 'context')\n",
            "compose.yml": f"services:\n  web: {{image: {self.name}, network_mode: none, stop_grace_period: 0s}}\n",
            "context/Dockerfile": dockerfile,
        })

    def __exit__(self, *error):
        super().__exit__(*error)
        label = f"label=com.docker.compose.project={self.name}"
        self.docker("rm", "--force", *self.docker("ps", "--all", "--quiet", "--filter", label))
        self.docker("rmi", "--force", *self.docker("images", "--quiet", self.name))

    @staticmethod
    def docker(*args):
        if args[-1].startswith("--"):
            return []
        done = subprocess.run(["docker", *args], capture_output=True, text=True, check=False)
        return sorted(set(done.stdout.split()))

    def env(self):
        docker = {key: value for key, value in os.environ.items() if key.startswith("DOCKER_")}
        return {**super().env(), **docker}

    def log(self):
        with open(os.path.join(self.root, "log"), "rb") as f:
            return f.read()

    def until(self, pattern, count, seconds=600):
        """Waits until the log has something for the so-manieth time; returns when that was."""
        deadline = time.perf_counter() + seconds
        while len(pattern.findall(self.log())) < count:
            if self.process.poll() is not None or time.perf_counter() > deadline:
                raise Failed(self.log()[-500:].decode(errors="replace"))
            time.sleep(0.001)
        return time.perf_counter()

    def first(self):
        """Starts, and returns how many milliseconds the image took to be ready."""
        self.start()
        begun = self.until(BEGUN, 1)
        return (self.until(READY, 1) - begun) * 1000

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def peak_megabytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def many_files(binary):
    with Project(binary, MANY) as project:
        for i in range(FILES):
            # No two programs have the same content, which Docker would have built before.
            project.write(f"context/d{i // 500}/f{i}", f"file {i} of {project.name}\n" * 20)
        found = {f"{FILES:,} files: first build|ms": project.first()}
        times = []
        for k in range(REBUILDS):
            # The update before has to be over.
            project.until(re.compile(rb"DONE IN"), k + 1)
            time.sleep(0.5)
            start = time.perf_counter()
            project.write(f"context/d0/f{k}", f"changed {k}\n")
            times.append((project.until(READY, k + 2) - start) * 1000)
        found[f"{FILES:,} files: one changed, p50 of {REBUILDS}|ms"] = p50(times)
        project.until(re.compile(rb"DONE IN"), REBUILDS + 1)
        times = []
        for _ in range(RESTARTS):
            project.stop()
            times.append(project.first())
        found[f"{FILES:,} files: none changed, after a restart|ms"] = p50(times)
        return found


def big_context(binary):
    with Project(binary, BIG) as project:
        block = os.urandom(1 << 20)
        for i in range(10):
            with open(project.path(f"context/{i}.bin"), "wb") as f:
                for _ in range(BIG_MEGABYTES // 10):
                    f.write(block)
        took = project.first()
        return {
            f"{BIG_MEGABYTES:,} MB: first build|ms": took,
            f"{BIG_MEGABYTES:,} MB: memory, peak|MB": project.peak_megabytes(),
        }


def run(binaries):
    print(f"## Images: {FILES:,} small files, and {BIG_MEGABYTES:,} MB in big ones")
    if not os.environ.get("DOCKER_HOST"):
        print("skipped: DOCKER_HOST is not set; scripts/ground.sh run has one")
        return
    table = Table(binaries)
    for scene in (many_files, big_context):
        table.scene(scene)
