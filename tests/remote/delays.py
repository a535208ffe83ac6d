#!/usr/bin/env python3
"""
The behaviour tests over a worse line: delays.py BUILD "--delay MS --loss PERCENT" NAME[=WAY-ARGUMENTS]...

Each is run by way.py, the way `remote`, with these options. A selection of them; all with METE_TEST_LONG=1.
"""
import concurrent.futures
import os
import subprocess
import sys

QUICK = ("device", "copy", "memset", "stream", "launch")
here = os.path.dirname(os.path.abspath(__file__))
build, line, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
chosen = [p.partition("=") for p in programs]
if not os.environ.get("METE_TEST_LONG"):
    chosen = [p for p in chosen if p[0] in QUICK]
failed = 0


def behave(name, arguments):
    return subprocess.run([sys.executable, "-BS", os.path.join(here, "../way.py"), "remote", "--build", build, *line.split(),
                           *arguments.split(), "--", os.path.join(build, "tests/behaviour", name + "_test")], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


# Over a long line they mostly wait, each with a server of its own.
runs = concurrent.futures.ThreadPoolExecutor(3)
runs = [(name, runs.submit(behave, name, arguments)) for name, _, arguments in chosen]
print(f"1..{len(chosen)}")
for number, (name, run) in enumerate(runs, 1):
    done = run.result()
    if done.returncode == 77:
        print(f"ok {number} - {name}, {line} # SKIP {done.stdout.strip()[:200]}", flush=True)
        continue
    passed = sum(line.startswith("ok") for line in done.stdout.splitlines())
    good = done.returncode == 0 and passed > 0
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}, {line}: {passed} checks passed", flush=True)
    for said in [] if good else done.stdout.splitlines():
        if not said.startswith("ok"):
            print("#", said[:300], flush=True)
sys.exit(failed > 0)
