"""What `up` and its clients cost: how soon commands run, memory, processor time, floods, leftovers.

Everything is measured from outside: a save is timed from the write to the moment when the resource's command
has copied it.
"""

import os
import re
import statistics
import time

from instance import Failed, Instance

QUICK = bool(os.environ.get("BENCH_QUICK"))
FULL = bool(os.environ.get("BENCH_FULL"))
FLOOD_SECONDS = int(os.environ.get("FLOOD_SECONDS") or (5 if QUICK else 60))
SAVES = 10 if QUICK else 30
FILES = 5_000 if QUICK else 50_000
IDLE_SECONDS = 3 if QUICK else 10
# How long the first command, and all of them, may take to have run.
FIRST = 60
ALL = 900

# Prints 50,000 numbered lines in each second, then says how many there were.
FLOOD = f"""\
import sys, time
text = "x" * 80
start, n = time.monotonic(), 0
while time.monotonic() - start < {FLOOD_SECONDS}:
    due = int((time.monotonic() - start) * 50_000)
    sys.stdout.write("".join("line %d %s\\n" % (i, text) for i in range(n, due)))
    sys.stdout.flush()
    n = max(n, due)
    time.sleep(0.01)
open("flood-ended", "w").write(str(n))
time.sleep(1000)
"""

FAMILY = """\
sleep 1000 &
setsid sleep 1000 &
(setsid sleep 1000 &)
printf ready > ready-$1
exec sleep 1000
"""


def resources(count):
    """A project with local resources, each of which copies its file."""
    files = {f"src/r{i}/f": "0" for i in range(count)}
    files["out/.keep"] = ""
    files["Tiltfile"] = f"""\
for i in range({count}):
    local_resource('r%d' % i, 'cp src/r%d/f out/r%d' % (i, i), deps=['src/r%d' % i], allow_parallel=True)
"""
    return files


class Table:
    """Rows with a column for each program."""

    def __init__(self, programs):
        self.programs = programs
        header = "".join(f"{name:>12}" for name, _ in programs)
        ratio = "   tilt / engine" if len(programs) > 1 else ""
        print(f"{'':52}{header}{ratio}", flush=True)

    def row(self, title, unit, values, note=""):
        cells = "".join(f"{self.cell(it, unit):>12}" for it in values)
        ratio = ""
        numbers = [it for it in values if isinstance(it, (int, float))]
        if len(numbers) == 2 and unit in ("ms", "s", "MB", "%") and numbers[0] > 0:
            ratio = f"{numbers[1] / numbers[0]:12.1f}x"
        print(f"{title:52}{cells}{ratio}{'  ' + note if note else ''}", flush=True)

    def rows(self, found, notes):
        """All that a scene has found for each program, by `TITLE|UNIT`, and what has to be said to it."""
        for title in next((it for it in found if it), {}):
            name, unit = title.rsplit("|", 1)
            self.row(name, unit, [it.get(title, "-") for it in found])
        for note in notes:
            print(f"  ({note})", flush=True)

    def scene(self, scene):
        """Lets each program do the same, and shows what was found."""
        found, notes = [], []
        for name, binary in self.programs:
            try:
                found.append(scene(binary))
            except Failed as error:
                found.append({})
                notes.append(f"{name}: {error}")
        self.rows(found, notes)

    @staticmethod
    def cell(value, unit):
        if not isinstance(value, (int, float)):
            return str(value)
        if unit == "":
            return f"{value:,.0f}"
        digits = 1 if unit in ("%", "s", "MB") else 0
        return f"{value:,.{digits}f} {unit}"


def save(instance, i, text):
    start = time.perf_counter()
    instance.write(f"src/r{i}/f", text)
    instance.wait(f"out/r{i}", text, 60)
    return (time.perf_counter() - start) * 1000


def saves(instance, count, times=SAVES):
    """Times of saves in milliseconds, spread over the resources, each after a pause."""
    found = []
    for k in range(1, times + 1):
        time.sleep(0.4)
        found.append(save(instance, k * 7 % count, str(k)))
    return sorted(found)


def p50(values):
    return statistics.median(values)


def p95(values):
    return values[max(0, round(len(values) * 0.95) - 1)]


def all_run(instance, count):
    instance.start()
    instance.wait("out/r0", "0", FIRST)
    first = instance.since_start()
    for i in range(count):
        instance.wait(f"out/r{i}", "0", ALL)
    return first * 1000, instance.since_start()


def one(instance):
    first, _ = all_run(instance, 1)
    time.sleep(2)
    times = saves(instance, 1)
    time.sleep(2)
    before = instance.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    cpu = (instance.cpu_seconds() - before) / IDLE_SECONDS * 100

    def client(*args):
        return p50(sorted(instance.client(*args)[0] * 1000 for _ in range(3 if QUICK else 7)))

    return {
        "up, until the first command has run|ms": first,
        "save until the command has run, 1 resource, p50|ms": p50(times),
        "save until the command has run, 1 resource, p95|ms": p95(times),
        "processor time when idle|%": cpu,
        "memory, 1 resource|MB": instance.megabytes(),
        "get uiresources|ms": client("get", "uiresources"),
        "logs|ms": client("logs"),
        "trigger|ms": client("trigger", "r0"),
    }


def hundred(instance):
    _, everything = all_run(instance, 100)
    time.sleep(2)
    times = saves(instance, 100)
    return {
        "up, until 100 resources have run|s": everything,
        "save until the command has run, 100 resources, p50|ms": p50(times),
        "save until the command has run, 100 resources, p95|ms": p95(times),
    }


def five_hundred(instance):
    _, everything = all_run(instance, 500)
    return {"up, until 500 resources have run|s": everything}


def two_thousand(instance):
    _, everything = all_run(instance, 2000)
    time.sleep(5)
    return {
        "up, until 2,000 resources have run|s": everything,
        "save until the command has run, 2,000 resources, p50|ms": p50(saves(instance, 2000, 10)),
        "memory, 2,000 resources|MB": instance.megabytes(),
    }


def many_files(instance):
    first, _ = all_run(instance, 1)
    # The first save is seen once all folders are watched.
    seen = None
    for k in range(1, 1000):
        instance.write("src/r0/f", str(k))
        try:
            instance.wait("out/r0", str(k), 1)
            seen = instance.since_start()
            break
        except Failed:
            continue
    time.sleep(2)
    return {
        f"up, until the first command has run, {FILES:,} files|ms": first,
        f"up, until a save has run, {FILES:,} files|s": seen,
        f"save until the command has run, {FILES:,} files|ms": p50(saves(instance, 1, 5)),
    }


def flood(instance):
    instance.start()
    instance.wait("out/r0", "0", FIRST)
    times, peak, k = [], 0, 0
    while instance.read("flood-ended") is None and instance.since_start() < FLOOD_SECONDS + 60:
        k += 1
        times.append(save(instance, 0, str(k)))
        until = time.perf_counter() + 0.4
        while time.perf_counter() < until:
            peak = max(peak, instance.megabytes())
            time.sleep(0.02)
    printed = int(instance.read("flood-ended") or 0)
    time.sleep(2)
    seconds, done = instance.client("logs", "flood")
    kept = len(re.findall(rb"line \d+ x", done.stdout))
    said = sum(int(it.replace(b",", b"")) for it in re.findall(rb"\[([\d,]+) older lines", done.stderr))
    return {
        f"flood: memory, peak in {FLOOD_SECONDS} s|MB": peak,
        "flood: save of another resource, p50|ms": p50(times),
        "flood: save of another resource, p95|ms": p95(sorted(times)),
        "flood: lines printed|": printed,
        "flood: lines that logs prints|": kept,
        "flood: lines that logs says are gone|": said,
        "flood: logs|ms": seconds * 1000,
    }


def leftovers(instance):
    instance.start()
    for name in ("cmd", "serve"):
        instance.wait(f"ready-{name}", "ready", 60)
    instance.kill()
    time.sleep(3)
    return {"processes left 3 s after kill -9|": len(instance.processes())}


MANY_FILES = {**resources(1), **{f"src/r0/d{i // 500}/f{i}": "" for i in range(FILES)}}
FLOODED = {**resources(1), "flood.py": FLOOD}
FLOODED["Tiltfile"] += "local_resource('flood', serve_cmd='python3 flood.py', allow_parallel=True)\n"
FAMILIES = {
    "family.sh": FAMILY,
    "Tiltfile": """\
local_resource('cmd', 'sh family.sh cmd', allow_parallel=True)
local_resource('serve', serve_cmd='sh family.sh serve', allow_parallel=True)
""",
}

# What is measured, on which project, and whether it takes Tilt minutes.
SCENES = [
    (one, resources(1), False),
    (hundred, resources(100), False),
    (five_hundred, resources(500), True),
    (two_thousand, resources(2000), True),
    (many_files, MANY_FILES, False),
    (flood, FLOODED, False),
    (leftovers, FAMILIES, False),
]
SKIPPED_WHEN_QUICK = [five_hundred, two_thousand]


def measure(scene, files, binary):
    """What was measured, or what went wrong. Tilt sometimes never runs its first command: it may try again."""
    for _ in range(3):
        with Instance(binary, files) as instance:
            try:
                return scene(instance), ""
            except Failed as error:
                problem = str(error).strip().replace("\n", " / ")
    return {}, problem


def run(binaries):
    print(f"## Running: {SAVES} saves each, a flood of {FLOOD_SECONDS} s")
    table = Table(binaries)
    for scene, files, is_slow in SCENES:
        if QUICK and scene in SKIPPED_WHEN_QUICK:
            print(f"{scene.__name__.replace('_', ' ')}: skipped, as BENCH_QUICK is set")
            continue
        found, notes = [], []
        for name, binary in binaries:
            if name == "tilt" and is_slow and not FULL:
                found.append({})
                notes.append("tilt skipped: takes minutes, BENCH_FULL=1 does it")
                continue
            rows, problem = measure(scene, files, binary)
            found.append(rows)
            if problem:
                notes.append(f"{name}: {problem}")
        table.rows(found, notes)
