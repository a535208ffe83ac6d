#!/usr/bin/env python3
"""
Every command of docs/ci.md runs and ends as the page says: ci_doc_test.py SOURCE_ROOT BUILD_ROOT

./tests is the program of examples/ci, mete the one of the build tree. A comment "ends with N" is the status; else it is 0.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, build = (os.path.abspath(p) for p in sys.argv[1:3])
count = failed = 0


def ok(good, what, *shown):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for s in shown if not good else ():
        print("".join(f"#   {line}\n" for line in str(s).splitlines()[:20]), end="", flush=True)


def commands():
    with open(os.path.join(source, "docs/ci.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```\n(.*?)^```", f.read(), re.M | re.S)
    for line in "".join(blocks).splitlines():
        command, _, comment = line.partition(" # ")
        wanted = re.search(r"ends with (\d+)", comment)
        yield command.strip(), int(wanted.group(1)) if wanted else 0


with tempfile.TemporaryDirectory() as scratch:
    os.symlink(os.path.join(build, "src/cli/mete"), os.path.join(scratch, "mete"))
    shutil.copy(os.path.join(build, "examples/kernels_test"), os.path.join(scratch, "tests"))
    with open(os.path.join(scratch, "tests.py"), "w", encoding="utf-8") as script:
        script.write("import ctypes\nctypes.CDLL('libcuda.so.1')\n")
    os.mkdir(os.path.join(scratch, "run"), 0o700)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_", "LD_"))}
    env.update(PATH=scratch + ":" + env["PATH"], METE_RUNTIME_DIR=os.path.join(scratch, "run"))
    for command, status in commands():
        done = subprocess.run(["bash", "-c", command], cwd=scratch, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=100, check=False)
        ok(done.returncode == status, f"{command}: {status}", f"it ended with {done.returncode}", done.stdout, done.stderr)
        if status == 99:
            ok("mete: check: " in done.stderr, f"{command}: a report", done.stderr)
    checks = os.path.join(scratch, "checks.txt")
    ok(os.path.exists(checks) and not os.path.getsize(checks), "--report: a file, empty where there is nothing to report")
    with open(os.path.join(source, "examples/ci/workflow.yml"), encoding="utf-8") as f:
        steps = re.findall(r"^\s+run: (mete .*)$", f.read(), re.M)
    ok(len(steps) == 4, "the workflow has its steps", steps)
    for command in steps:
        done = subprocess.run(["bash", "-c", command], cwd=scratch, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=100, check=False)
        ok(done.returncode == 0, f"workflow: {command}", done.returncode, done.stdout, done.stderr)
print(f"1..{count}")
sys.exit(1 if failed else 0)
