"""Measures programs with Tilt's command line, from outside: `python3 scripts/bench ENGINE [TILT]`.

Both programs do the same, in turns, on projects that are generated in a temporary folder.
BENCH_QUICK=1 makes all of it short, BENCH_FULL=1 also does what takes Tilt minutes, and BENCH_ONLY=PART does one part of
it. Some need Docker, at DOCKER_HOST, or a cluster, at KUBECONFIG. Only the standard library is used, and only Linux is
known.
"""

import os
import sys

import containers
import editor
import evaluation
import growth
import images
import objects
import running

PARTS = {
    "evaluation": evaluation,
    "running": running,
    "growth": growth,
    "editor": editor,
    "images": images,
    "containers": containers,
    "objects": objects,
}


def main(argv):
    if not 2 <= len(argv) <= 3:
        sys.exit(__doc__)
    binaries = list(zip(["engine", "tilt"], map(os.path.abspath, argv[1:])))
    for name, binary in binaries:
        if not os.access(binary, os.X_OK):
            sys.exit(f"cannot run {name}: {binary}")
    load = os.getloadavg()[0]
    busy = ", busy with other things" if load > 0.5 else ""
    print(f"{os.cpu_count()} processors, load {load:.1f}{busy}")
    only = os.environ.get("BENCH_ONLY")
    if only and only not in PARTS:
        sys.exit(f"BENCH_ONLY={only} is none of: {', '.join(PARTS)}")
    for name, part in PARTS.items():
        if only in (None, "", name):
            part.run(binaries)


if __name__ == "__main__":
    main(sys.argv)
