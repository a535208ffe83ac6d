#!/usr/bin/env python3
"""
kill -9 at any moment, of clients, of the daemon, of both: kill.py random|steps --build FOLDER [options]

  random   workers take and give memory under one quota; one of them, or meted, or both, are killed at random moments
  steps    a program is killed after exactly N instructions of a call, for N all over the call

Whenever the survivors stand still, these accounts must agree to the byte: what the workers themselves believe to hold,
what meted says that the grant holds and that its processes hold, what `mete ps` prints, and what the device's pool has
given out, asked without mete in between. At no moment may the pool have given out more than the quota. In the end all of them are zero.

The script starts itself once more under `mete run`: inside, every process it starts is the tenant's.
"""
import argparse
import json
import mmap
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

QUOTA = 96 << 20
STATE = struct.Struct("<IIQQI")  # struct state of worker.c
STEP_CALLS = ("alloc", "alloc-more", "free", "async", "trim", "create", "release", "attach")


def options():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["random", "steps"])
    p.add_argument("--build", required=True)
    long = bool(os.environ.get("METE_TEST_LONG"))
    p.add_argument("--kills", type=int, default=1000 if long else 120)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--points", type=int, default=300 if long else 24, help="steps: moments per call")
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


count = failed = 0


def check(good, text):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def skip(text, why):
    global count
    count += 1
    print(f"ok {count} - {text} # SKIP {why}", flush=True)


class Control:
    """meted's control socket; every question on a connection of its own, since meted may be gone in between."""

    def __init__(self):
        self.path = os.path.join(os.environ["METE_RUNTIME_DIR"], "control.sock")

    def ask(self, wait=20.0, **request):
        end = time.monotonic() + wait
        while True:
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                    s.settimeout(10)
                    s.connect(self.path)
                    s.sendall(json.dumps(request).encode() + b"\n")
                    data = b""
                    while not data.endswith(b"\n"):
                        part = s.recv(65536)
                        if not part:
                            raise OSError("meted hung up")
                        data += part
                    return json.loads(data)
            except (OSError, ValueError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def pid(self):
        return self.ask(op="hello")["pid"]

    def held(self):
        """What meted says: of the grants as a whole, and of their processes and shared objects summed up."""
        grants = self.ask(op="grants")["grants"]
        whole = sum(d["held_bytes"] for g in grants for d in g["devices"])
        parts = sum(d["held_bytes"] for g in grants for p in g["processes"] for d in p["devices"])
        return whole, parts


def ps_held(build):
    """What `mete ps --json` says that the processes hold: the same by the way that an operator goes."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    out = subprocess.run([os.path.join(build, "src/cli/mete"), "ps", "--json"], env=env, stdout=subprocess.PIPE, timeout=60).stdout
    try:
        grants = json.loads(out)["grants"]
    except ValueError:
        return -1
    return sum(d["held_bytes"] for g in grants for p in g["processes"] for d in p["devices"])


class Pool:
    """What the device has given out, by a process that mete does not know."""

    def __init__(self, build):
        self.tool = os.path.join(build, "tests/behaviour/visible_test")
        self.env = {k: v for k, v in os.environ.items() if k in ("METE_SOFT_DIR", "PATH", "HOME") or k.startswith(("ASAN", "TSAN"))}
        self.env["LD_LIBRARY_PATH"] = os.path.join(build, "src/softdev")

    def held(self):
        out = subprocess.run([self.tool, "list"], env=self.env, stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
        _, total, _, free = out.split("\n")[0].split()
        return int(total) - int(free)


class Worker:
    def __init__(self, build, folder, number, seed):
        self.path = os.path.join(folder, f"state-{number}")
        with open(self.path, "wb") as f:
            f.write(b"\0" * 4096)
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)
        program = os.path.join(build, "tests/kill/worker")
        self.process = subprocess.Popen([program, self.path, str(seed), str(QUOTA // 12)])

    def state(self):
        return STATE.unpack_from(self.map)

    def pause(self):
        struct.pack_into("<I", self.map, 0, self.state()[0] | 1)

    def go_on(self):
        struct.pack_into("<I", self.map, 0, (self.state()[0] | 1) + 1)

    def stands_still(self):
        pause, paused = self.state()[:2]
        return pause % 2 == 1 and pause == paused

    def held(self):
        return self.state()[2]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.map.close()
        os.unlink(self.path)


def settle(what, wait=10.0):
    """Asks until the accounts agree; value: the last answer, as a list. Deaths are noticed within a moment, not at once."""
    end = time.monotonic() + wait
    while True:
        figures = what()
        if len(set(figures)) == 1 or time.monotonic() > end:
            return figures
        time.sleep(0.01)


def stand_still(workers):
    for w in workers:
        w.pause()
    end = time.monotonic() + 20
    while not all(w.stands_still() for w in workers):
        dead = [w for w in workers if w.process.poll() is not None]
        if dead or time.monotonic() > end:
            return f"{len(dead)} workers ended by themselves" if dead else "a worker hangs"
        time.sleep(0.001)
    return None


def random_kills(args, folder):
    dice = random.Random(args.seed)
    control, pool = Control(), Pool(args.build)
    workers = [Worker(args.build, folder, i, dice.getrandbits(31)) for i in range(args.workers)]
    number, compared, most, calls, killed, sum_held = args.workers, 0, 0, 0, {"client": 0, "daemon": 0, "both": 0}, 0
    trouble = []
    for turn in range(args.kills):
        time.sleep(dice.random() ** 3 * 0.08)
        what = dice.choices(("client", "daemon", "both"), (6, 2, 2))[0]
        killed[what] += 1
        victim = dice.randrange(len(workers))
        if what != "client":
            daemon = control.pid()
        if what != "daemon":
            workers[victim].process.send_signal(signal.SIGKILL)
        if what == "both":
            time.sleep(dice.random() * 0.002)
        if what != "client":
            try:
                os.kill(daemon, signal.SIGKILL)
            except ProcessLookupError:
                trouble.append(f"meted {daemon} was gone before it was killed")
        if what != "daemon":
            calls += workers[victim].state()[3]
            workers[victim].end()
            workers[victim] = Worker(args.build, folder, number, dice.getrandbits(31))
            number += 1
        if turn % 5 == 4:
            # A worker that has just been started has to come to its loop first.
            stuck = stand_still(workers)
            if stuck:
                trouble.append(f"after kill {turn + 1}: {stuck}")
                break
            figures = settle(lambda: [sum(w.held() for w in workers), *control.held(), pool.held(), ps_held(args.build)])
            compared += 1
            sum_held += figures[0]
            most = max(most, figures[3])
            if len(set(figures)) != 1:
                trouble.append(f"after kill {turn + 1} ({what}): workers {figures[0]}, grant {figures[1]}, processes {figures[2]}, "
                               f"pool {figures[3]}, mete ps {figures[4]} bytes")
                break
            errors = [w.state()[4] for w in workers if w.state()[4]]
            if errors:
                trouble.append(f"after kill {turn + 1}: a worker was told error {errors[0]}")
                break
            for w in workers:
                w.go_on()
        elif turn % 5 == 2:
            most = max(most, pool.held())
    calls += sum(w.state()[3] for w in workers)
    for w in workers:
        w.end()
    for line in trouble:
        print("#", line)
    check(not trouble, f"{turn + 1} kills ({killed['client']} of clients, {killed['daemon']} of meted, {killed['both']} of both) during "
          f"{calls} calls: {compared} times the accounts agreed to the byte")
    check(compared == 0 or sum_held > 0, f"something was held when they were compared ({sum_held // max(1, compared)} bytes on average)")
    check(most <= QUOTA, f"the pool never gave out more than the quota ({most} of {QUOTA} bytes)")
    figures = settle(lambda: [0, *control.held(), pool.held(), ps_held(args.build)])
    check(len(set(figures)) == 1, f"in the end all is zero (grant {figures[1]}, processes {figures[2]}, pool {figures[3]}, mete ps "
          f"{figures[4]})")


def steps(args, folder):
    dice = random.Random(args.seed)
    control, pool = Control(), Pool(args.build)
    stepper = os.path.join(args.build, "tests/kill/stepper")

    def step(call, n):
        r = subprocess.run([stepper, call, str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        if r.returncode:
            raise RuntimeError(f"stepper {call} {n}: {r.stderr.decode().strip()}")
        return r.stdout.decode().split()

    for call in STEP_CALLS:
        try:
            word, total = step(call, 5_000_000)
        except RuntimeError as e:
            check(False, str(e))
            continue
        total = int(total)
        # Every part of the call has its moments: one in each of as many equal parts.
        moments = sorted({int((i + dice.random()) * total / args.points) for i in range(args.points)} | {0, total - 1})
        wrong = []
        for n in moments:
            step(call, n)
            figures = settle(lambda: [0, *control.held(), pool.held()])
            if len(set(figures)) != 1:
                wrong.append(f"{call} killed after {n} instructions: grant {figures[1]}, processes {figures[2]}, pool {figures[3]} bytes")
                print("#", wrong[-1], flush=True)
                break
        unit = "system call stops" if call == "attach" else "instructions"
        check(word == "done" and not wrong, f"{call}: {total} {unit}, killed at {len(moments)} of them, nothing is left")
    daemon_steps(args, dice, control, pool, stepper)


def daemon_steps(args, dice, control, pool, stepper):
    """meted is stepped while it serves a request for credit, and killed; the one that takes its place finishes the work."""
    def step(n):
        return subprocess.run([stepper, "alloc-more", str(n), str(control.pid())], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=300)

    first = step(1_000_000)
    if first.returncode == 77:
        skip("meted stepped", first.stderr.decode().strip())
        return
    wrong, moments = [], []
    if first.returncode:
        wrong.append(first.stderr.decode().strip())
        total = 0
    else:
        total = int(first.stdout.split()[1])
        moments = sorted(int((i + dice.random()) * total / args.points) for i in range(args.points))
    for n in moments:
        r = step(n)
        if r.returncode:
            wrong.append(f"after {n} instructions: {r.stderr.decode().strip()}")
            break
        figures = settle(lambda: [0, *control.held(), pool.held()])
        if len(set(figures)) != 1:
            wrong.append(f"after {n} instructions: grant {figures[1]}, processes {figures[2]}, pool {figures[3]} bytes")
            break
    for line in wrong:
        print("#", line)
    check(not wrong, f"meted: {total} instructions for a request, killed at {len(moments)} of them; the call succeeded, nothing is left")


def outside(args):
    """A software device, a daemon and a grant for this test alone, and this script once more under it."""
    folder = tempfile.mkdtemp(prefix="mete-k-")
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
    env.pop("CUDA_VISIBLE_DEVICES", None)
    env.update(METE_RUNTIME_DIR=os.path.join(folder, "run"), METE_SOFT_DIR=os.path.join(folder, "soft"), METE_SOFT_DEVICES="1",
               METE_SOFT_MEMORY="1G", OCL_ICD_VENDORS="/nonexistent")
    os.mkdir(env["METE_RUNTIME_DIR"], 0o700)
    mete = os.path.join(args.build, "src/cli/mete")
    try:
        return subprocess.run([mete, "run", "--soft", "--device", "0", "--mem", str(QUOTA), "--name", "victim", "--", sys.executable,
                               "-B", os.path.abspath(__file__), *sys.argv[1:], "--inside"], env=env).returncode
    finally:
        if os.environ.get("METE_TEST_KEEP"):
            print("# kept", folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    args = options()
    args.build = os.path.abspath(args.build)
    if not args.inside:
        return outside(args)
    folder = tempfile.mkdtemp(prefix="mete-kw-")
    print(f"# seed {args.seed}", flush=True)
    try:
        (random_kills if args.what == "random" else steps)(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
