"""Measures programs with Tilt's command line, from outside: `python3 scripts/bench ENGINE [TILT]`.

Both programs do the same, in turns, on projects that are generated in a temporary folder.
BENCH_QUICK=1 makes all of it short, BENCH_FULL=1 also does what takes Tilt minutes. BENCH_ONLY=evaluation,
BENCH_ONLY=running or BENCH_ONLY=images does one part; images need Docker, at DOCKER_HOST. Only the standard library is used, and only Linux is known.
"""

import os
import sys

import evaluation
import images
import running


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
    if only in (None, "", "evaluation"):
        evaluation.run(binaries)
    if only in (None, "", "running"):
        running.run(binaries)
    if only in (None, "", "images"):
        images.run(binaries)


if __name__ == "__main__":
    main(sys.argv)
