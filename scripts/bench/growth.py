"""How costs grow: the first load of many resources, removing them, and many files that change at once.

Processor time is that of the program itself, without its commands. It grows with the work, if it grows no faster than
the numbers do: ten times for ten times as many files, four times for four times as many resources.
"""

import signal
import subprocess
import sys
import time

from instance import Failed, Instance
from running import QUICK, Table, save

RESOURCES = [250, 500] if QUICK else [500, 1_000, 2_000]
FILES = [2_000, 20_000] if QUICK else [10_000, 100_000]
FIRST = 300

# Writes all files below a folder anew, then says so.
WRITE = """\
import os, sys
for folder, _, names in os.walk("tree"):
    for name in names:
        with open(os.path.join(folder, name), "w") as f:
            f.write(sys.argv[1])
open("written", "w").write(sys.argv[1])
"""


def many_resources(count):
    """Resources that wait for somebody, and one that does not."""
    return {
        "src/.keep": "",
        "out/.keep": "",
        "Tiltfile": f"""\
for i in range({count}):
    local_resource('r%d' % i, 'true', deps=['src/r%d' % i], auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)
local_resource('last', 'printf {count} > out/last')
""",
    }


def many_files(count):
    files = {f"tree/d{i // 1_000}/f{i}": "0" for i in range(count)}
    files |= {"src/r0/f": "0", "out/.keep": "", "write.py": WRITE}
    files["Tiltfile"] = """\
local_resource('many', 'cp written out/many', deps=['tree'], allow_parallel=True)
local_resource('r0', 'cp src/r0/f out/r0', deps=['src/r0'], allow_parallel=True)
"""
    files["written"] = "0"
    return files


def settled_cpu(instance):
    """Processor time, once it stays as it is."""
    last = instance.cpu_seconds()
    while True:
        time.sleep(1)
        now = instance.cpu_seconds()
        if now - last < 0.02:
            return now
        last = now


def load(binary, count):
    with Instance(binary, many_resources(count)) as instance:
        instance.start()
        instance.wait("out/last", str(count), FIRST)
        first = instance.cpu_seconds()
        settled = settled_cpu(instance)
        instance.write("Tiltfile", "local_resource('last', 'printf gone > out/last')\n")
        instance.wait("out/last", "gone", FIRST)
        removed = instance.cpu_seconds() - settled
    return {
        f"{count:,} resources: processor time until the first command|s": first,
        f"{count:,} resources: processor time to remove them|s": removed,
    }


def change(binary, count):
    with Instance(binary, many_files(count)) as instance:
        instance.start()
        for name in ("many", "r0"):
            instance.wait(f"out/{name}", "0", FIRST)
        # All folders are watched once nothing is left to do.
        before = settled_cpu(instance)
        writer = write(instance, "1")
        saves = []
        while instance.read("out/many") != "1":
            # Who saves during each update looks like a loop, and is held.
            time.sleep(0.4)
            saves.append(save(instance, 0, f"s{len(saves)}"))
            if instance.since_start() > FIRST:
                raise Failed("the changed files were not seen")
        writer.wait()
        spent = settled_cpu(instance) - before
        rendered = len(instance.client("get", "filewatch", "-o", "yaml")[1].stdout)
        write(instance, "2").wait()
        time.sleep(0.1)
        start = time.perf_counter()
        instance.process.send_signal(signal.SIGINT)
        instance.process.wait(FIRST)
        ended = time.perf_counter() - start
    return {
        f"{count:,} changed files: processor time|s": spent,
        f"{count:,} changed files: slowest save of another resource|ms": max(saves),
        f"{count:,} changed files: Ctrl-C until the end|ms": ended * 1000,
        f"{count:,} changed files: their file watches as YAML|MB": rendered / 1e6,
    }


def write(instance, text):
    return subprocess.Popen([sys.executable, "write.py", text], cwd=instance.work)


def run(binaries):
    print("## Growth: processor time of the program itself")
    table = Table(binaries)
    for scene, counts in ((load, RESOURCES), (change, FILES)):
        for count in counts:
            table.scene(lambda binary: scene(binary, count))
