"""How good the choices of `auto` are: every executor beside the one that it takes, cold and warm.

    python benchmarks/auto.py [-o FILE.json] [--sizes N …] [--] [NAME …]

Each run is a process of its own. A cold one finds no generated code, a warm one what all executors
have kept. What is timed is what a user waits for: preparing and running a plan once, after the
package is imported. A choice is good if it takes at most 1.5 times as long as the best executor, or
at most 20 ms longer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gpgpu_legacy.algorithms.registry import find_algorithm, shipped_algorithms
from gpgpu_legacy.measure.timing import this_platform
from gpgpu_legacy.runtime.executor import available

SIZES = (64, 128, 256, 512, 1024, 2048)
LIMIT_S = 20.0
RATIO, GRACE_S = 1.5, 0.02

CHILD = """
import json, sys, time
what, parameters, name = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.api.run import Request
from gpgpu_legacy.runtime.executor import executors
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE
import numpy
p = find(what, **parameters)
plan, inputs = p.plan(), p.inputs()
from gpgpu_legacy.predict import auto
started = time.perf_counter()
executor, _ = Request(plan, inputs, name, DEFAULT_MACHINE).run()
print(json.dumps([executor.name, time.perf_counter() - started]))
"""


def run(what: str, parameters: dict[str, int], name: str, folder: str) -> tuple[str, float] | str:
    """The executor that ran it, and the seconds; or why none did, in words."""
    words = [sys.executable, "-c", CHILD, what, json.dumps(parameters), name]
    environment = {**os.environ, "XDG_CACHE_HOME": folder, "GPGPU_LEGACY_TUNING": "off"}
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, env=environment, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        return "over a minute"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    executor, seconds = json.loads(done.stdout.splitlines()[-1])
    return executor, seconds


def cases(names: list[str], at: list[int]) -> list[tuple[str, dict[str, int]]]:
    """Shipped algorithms, or the named ones, with each size as their n, or width and height."""
    found = [find_algorithm(name) for name in names] or shipped_algorithms()
    sizes = []
    for algorithm in found:
        own = [name for name in ("n", "width", "height") if name in algorithm.parameters]
        for size in at if own else (0,):
            given = dict.fromkeys(own, size)
            sizes.append((names[found.index(algorithm)] if names else algorithm.name, given))
    return sizes


def main() -> None:
    """Measure, print a line for each case, and write all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="algorithms or FILE.py[:function]; default: all")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    given = parser.parse_args()
    others = [one.name for one in available() if not one.capabilities.runs_driver_programs]
    rows, slow = [], set()
    for what, parameters in cases(given.names, given.sizes):
        times: dict[str, dict[str, float]] = {"cold": {}, "warm": {}}
        chosen = {}
        with tempfile.TemporaryDirectory() as shared:
            for name in others:  # the warm runs find what these keep
                if (what, name) not in slow:
                    run(what, parameters, name, shared)
            for name in ("auto", *others):
                for state, by_name in times.items():
                    with tempfile.TemporaryDirectory() as own:
                        folder = own if state == "cold" else shared
                        answer = (
                            None if (what, name) in slow else run(what, parameters, name, folder)
                        )
                    if answer is None or isinstance(answer, str):
                        continue
                    by_name[name] = answer[1]
                    if name == "auto":
                        chosen[state] = answer[0]
                    elif answer[1] > LIMIT_S:
                        slow.add((what, name))
        for state, by_name in times.items():
            if "auto" not in by_name or len(by_name) < 2:
                continue
            best = min(seconds for name, seconds in by_name.items() if name != "auto")
            good = by_name["auto"] <= max(RATIO * best, best + GRACE_S)
            rows.append({"what": what, **parameters, "state": state, "auto": chosen[state],
                         "good": good, "seconds": by_name})  # fmt: skip
            shown = ", ".join(f"{name} {1e3 * s:.0f}" for name, s in by_name.items())
            verdict = f"{chosen[state]} {'good' if good else 'BAD'}"
            print(f"{what} {parameters} {state}: {verdict}; ms: {shown}", flush=True)
    good = sum(row["good"] for row in rows)
    limit = f"{RATIO} times the best, or {1e3 * GRACE_S:.0f} ms"
    print(f"{good} of {len(rows)} choices are within {limit}")
    if given.output is not None:
        platform = this_platform()
        text = json.dumps(
            {"device": platform.device, "driver": platform.driver, "cases": rows}, indent=1
        )
        given.output.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
