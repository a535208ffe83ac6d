#!/usr/bin/env python3
"""
The remote client over workers that are started by hand, on the software device: client_test.py BUILD

Each case of client_program runs with its own workers; its checks are counted here one by one.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = sys.argv[1]
PROGRAM = os.path.join(BUILD, "tests/remote/client/client_program")
count = failed = 0


def check(good, text):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


class Place:
    """A folder with the software device's state, some workers and a log."""

    def __init__(self, servers):
        self.dir = tempfile.mkdtemp(prefix="mete-rc-")
        self.log = os.path.join(self.dir, "log")
        env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k.startswith("METE_TEST_")}
        env.update(METE_SOFT_DIR=os.path.join(self.dir, "soft"), METE_SOFT_DEVICES="1", METE_SOFT_MEMORY="256M",
                   METE_RUNTIME_DIR=self.dir)
        self.env = env
        self.said = open(os.path.join(self.dir, "said"), "a+", encoding="utf-8")  # by workers, a sanitizer's reports among it
        self.sockets = [os.path.join(self.dir, f"s{i}") for i in range(servers)]
        self.workers = [self.worker(s) for s in self.sockets]

    def worker(self, path):
        end, ready = os.pipe()
        driver = os.path.join(BUILD, "src/softdev/libcuda.so.1")
        w = subprocess.Popen([os.path.join(BUILD, "src/remote/worker/mete-worker"), "--listen", path, "--driver", driver,
                              "--ready-fd", str(ready)], env=self.env, pass_fds=[ready], stderr=self.said)
        os.close(ready)
        os.read(end, 1)
        os.close(end)
        return w

    def start(self, case, **more):
        env = dict(self.env, METE_REMOTE=",".join(self.sockets), METE_LOG=self.log,
                   LD_LIBRARY_PATH=os.path.join(BUILD, "src/remote/client"), **more)
        return subprocess.Popen([PROGRAM, case], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def lines(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as f:
            return f.read().splitlines()

    def end(self):
        for w in self.workers:
            if w.poll() is None:
                w.kill()
            w.wait()
            if w.returncode not in (0, -9):
                self.said.seek(0)
                print(f"# a worker ended with {w.returncode}:", "".join(f"\n#   {line}" for line in self.said.read().splitlines()[:100]))
        self.said.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def silent(lines, workers, what):
    check(not lines and ended(workers), what)
    if lines or not ended(workers):
        print("#", workers, *lines, sep="\n# ")


def judge(case, out, status):
    bad = [line for line in out.splitlines() if line.startswith("not ok")]
    for line in bad:
        print("#", line)
    check(status == 0 and not bad, f"{case}: {out.count(chr(10) + 'ok ') + out.startswith('ok ')} checks, status {status}")


def run(case, servers=1, **more):
    p = Place(servers)
    try:
        program = p.start(case, **more)
        out, _ = program.communicate(timeout=120)
        judge(case, out, program.returncode)
        return p.lines(), [w.wait(timeout=20) for w in p.workers]
    finally:
        p.end()


def ended(statuses):
    return statuses == [0] * len(statuses)


# Ten seconds pass until it is given up, beside the other cases.
forlorn = Place(1)
forlorn.workers[0].kill()
forlorn.workers[0].wait()
nobody = forlorn.start("nobody")

lines, workers = run("handles")
check(sum("linked into it" in line for line in lines) == 1, "a refused table is spoken of once, and others than the runtime's are not")
check(any("-cudart shared" in line for line in lines), "a program with the vendor's runtime in it is told what to do")
check(ended(workers), "the worker ends with its client")
run("copies")
lines, workers = run("servers", 2)
silent(lines, workers, "two workers end with their client, and nothing had to be said")
run("gated")
run("late")
run("late", METE_REMOTE_WAIT="1")
run("graphs")
run("unloads")
lines, workers = run("obstacle")
check(not lines, "memory beside what the program has itself: nothing had to be said")

place = Place(1)
try:
    program = place.start("lost")
    while program.stdout.readline() not in ("# ready\n", ""):
        pass
    place.workers[0].kill()
    place.workers[0].wait()  # what has been waited for before is done until then, and may be said to be
    began = time.monotonic()
    program.stdin.write("go\n")
    program.stdin.flush()
    out, _ = program.communicate(timeout=60)
    took = time.monotonic() - began
    judge("a worker that is killed", out, program.returncode)
    check(took < 10, f"known after {took:.2f} s, whatever the load of the machine")
    told = [line for line in place.lines() if "CUDA_ERROR_DEVICE_UNAVAILABLE" in line]
    check(len(told) == 1, "one line in the log says so")
finally:
    place.end()

try:
    out, _ = nobody.communicate(timeout=60)
    judge("nobody behind the socket", out, nobody.returncode)
    check(any(forlorn.sockets[0] in line for line in forlorn.lines()), "the line in the log names the socket")
finally:
    forlorn.end()

print(f"1..{count}")
sys.exit(failed != 0)
