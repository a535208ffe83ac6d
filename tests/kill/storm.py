#!/usr/bin/env python3
"""
meted is killed, and replaced, again and again while tenants compute: storm.py --build FOLDER [--kills N] [--upgrades N]
[--burners N]

Tenants: two whose memory and time are shared out, one of memory alone, and one behind a wall; each with programs that
launch kernels, take and give memory. Whenever they stand still, the accounts must agree to the byte: what the programs
believe to hold, what meted says of grants and of processes, and what the device has given out. No program may have seen
an error, and none may have ended. After each upgrade the longest time that a launch took is noted. Burners are programs
that would have a core each.
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

STATE = struct.Struct("<IIQQIIQ")  # struct state of loader.c
PAUSE, PAUSED, HELD, CALLS, ERROR, LAUNCHES, LONGEST = range(7)
QUOTA = 96 << 20
count = failed = 0


def check(good, text, *shown):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)
    for thing in () if good else shown:
        print("#", thing, flush=True)
    return good


class Program:
    def __init__(self, storm, number, tool, grant, wall=False):
        self.path = os.path.join(storm.folder, f"state-{number}")
        self.name = f"{tool} {number} of {grant}"
        with open(self.path, "wb") as f:
            f.write(b"\0" * 4096)
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)
        command = [storm.mete, "run", "--grant", grant] + (["--wall"] if wall else [])
        command += ["--", os.path.join(storm.build, "tests/kill", tool), self.path, str(number), str(QUOTA // 24)]
        self.process = subprocess.Popen(command, env=storm.env, stderr=subprocess.PIPE, text=True)

    def state(self):
        return STATE.unpack_from(self.map)

    def ask(self, odd):
        struct.pack_into("<I", self.map, 0, (self.state()[PAUSE] | 1) + (not odd))

    def stands_still(self):
        s = self.state()
        return s[PAUSE] % 2 == 1 and s[PAUSE] == s[PAUSED]


class Storm:
    def __init__(self, args):
        self.build = os.path.abspath(args.build)
        self.mete = os.path.join(self.build, "src/cli/mete")
        self.meted = os.path.join(self.build, "src/daemon/meted")
        self.folder = tempfile.mkdtemp(prefix="mete-storm-")
        self.run = os.path.join(self.folder, "run")
        os.mkdir(self.run, 0o700)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_VISIBLE"))}
        self.env.update(METE_RUNTIME_DIR=self.run, METE_SOFT_DIR=os.path.join(self.folder, "soft"), METE_SOFT_DEVICES="1",
                        METE_SOFT_MEMORY="1G")
        self.process = None
        self.programs = []
        self.start()

    def start(self):
        ready, tell = os.pipe()
        if self.process:
            self.process.wait()
        self.process = subprocess.Popen([self.meted, "--runtime-dir", self.run, "--soft-only", "--ready-fd", str(tell)], env=self.env,
                                        pass_fds=[tell], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(tell)
        up = os.read(ready, 1) != b""
        os.close(ready)
        if not up:
            # `mete run` has been quicker: it starts a meted as well when there is none.
            error = self.process.communicate()[1].decode()
            if "already serves" not in error:
                raise SystemExit(f"Bail out! meted does not start: {error}")

    def ask(self, op, **fields):
        """meted may have gone, or just be coming."""
        end = time.monotonic() + 30
        while True:
            try:
                return self.ask_once(op, **fields)
            except (OSError, ValueError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def ask_once(self, op, **fields):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(30)
            s.connect(os.path.join(self.run, "control.sock"))
            s.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")
            data = b""
            while not data.endswith(b"\n"):
                part = s.recv(1 << 20)
                if not part:
                    raise OSError("meted hung up")
                data += part
        return json.loads(data)

    def kill(self):
        os.kill(self.ask("hello")["pid"], signal.SIGKILL)
        self.start()

    def tenants(self):
        for name, fields in (("local", {"policy": "burst", "cores": 40}), ("other", {"policy": "fair"}), ("memory", {}),
                             ("walled", {"policy": "fair"})):
            a = self.ask("grant_create", name=name, driver="soft", wall=name == "walled",
                         devices=[{"device": "0", "mem_bytes": QUOTA, **fields}])
            if not a["ok"]:
                raise SystemExit(f"Bail out! {a}")
        for tool, grant, wall in (("loader", "local", False), ("worker", "local", False), ("loader", "other", False),
                                  ("worker", "memory", False), ("loader", "walled", True), ("loader", "walled", True)):
            self.programs.append(Program(self, len(self.programs), tool, grant, wall))
        self.wait(lambda: all(p.state()[CALLS] for p in self.programs))

    def wait(self, what, seconds=60):
        end = time.monotonic() + seconds
        while not what() and time.monotonic() < end:
            time.sleep(0.002)
        return what()

    def trouble(self):
        bad = [f"{p.name} was told error {p.state()[ERROR]}" for p in self.programs if p.state()[ERROR]]
        return bad + [f"{p.name} has ended: {p.process.returncode}: {p.process.stderr.read()[-800:]}" for p in self.programs
                      if p.process.poll() is not None]

    def figures(self):
        """The programs' own word, the grants', their processes', the device's."""
        grants = self.ask("grants")["grants"]
        parts = sum(d["held_bytes"] for g in grants for p in g["processes"] for d in p["devices"])
        out = subprocess.run([os.path.join(self.build, "tests/behaviour/visible_test"), "list"], stdout=subprocess.PIPE, text=True,
                             env={**{k: v for k, v in self.env.items() if k != "METE_RUNTIME_DIR"},
                                  "LD_LIBRARY_PATH": os.path.join(self.build, "src/softdev")}).stdout
        _, total, _, free = out.split("\n")[0].split()
        return [sum(p.state()[HELD] for p in self.programs), sum(d["held_bytes"] for g in grants for d in g["devices"]), parts,
                int(total) - int(free)]

    def compare(self):
        """Value: None, or what does not agree. What modules and contexts take is the same each time."""
        for p in self.programs:
            p.ask(True)
        if not self.wait(lambda: all(p.stands_still() for p in self.programs)):
            return f"hangs: {[p.name for p in self.programs if not p.stands_still()]} {self.trouble()}"
        end = time.monotonic() + 15
        while True:
            own, grants, parts, device = self.figures()
            good = grants == parts and own + self.base(grants - own) == grants and grants + self.beside(device - grants) == device
            if good or time.monotonic() > end:
                break
            time.sleep(0.02)
        for p in self.programs:
            p.ask(False)
        return None if good else f"programs {own} (+{self.of_contexts}), grants {grants}, processes {parts}, device {device} " \
                                 f"(-{self.of_others}) bytes"

    of_contexts = of_others = None

    def base(self, bytes):
        self.of_contexts = bytes if self.of_contexts is None else self.of_contexts
        return self.of_contexts

    def beside(self, bytes):
        self.of_others = bytes if self.of_others is None else self.of_others
        return self.of_others

    def longest(self):
        return max(p.state()[LONGEST] for p in self.programs if "loader" in p.name) / 1e6

    def reset(self):
        for p in self.programs:
            struct.pack_into("<Q", p.map, 32, 0)

    def end(self):
        for p in self.programs:
            p.process.terminate()
        for p in self.programs:
            p.process.wait()

    def close(self):
        for p in self.programs:
            p.process.kill()
            p.process.wait()
        try:
            os.kill(self.ask("hello")["pid"], signal.SIGKILL)
        except OSError:
            pass
        if self.process.poll() is None:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def kills(storm, args, dice):
    wrong = []
    for i in range(args.kills):
        time.sleep(dice.random() ** 3 * 0.1)
        storm.kill()
        if i % 5 == 4 or i == args.kills - 1:
            wrong = [w for w in [storm.compare()] + storm.trouble() if w]
            if wrong:
                break
            if args.kills > 100 and i % 50 == 49:
                print(f"# {i + 1} kills, {sum(p.state()[CALLS] for p in storm.programs)} calls", flush=True)
    check(not wrong, f"{i + 1} kills of meted, {sum(p.state()[CALLS] for p in storm.programs)} calls: accounts agree to the byte, no "
          "program saw an error", *wrong)


def upgrades(storm, args, dice):
    wrong, pauses, longest, before = [], [], [], []
    for i in range(args.upgrades):
        storm.reset()
        time.sleep(0.4)
        before.append(storm.longest())
        storm.reset()
        answer = storm.ask("upgrade")
        time.sleep(0.4)
        if not answer["ok"]:
            wrong.append(answer)
            break
        pauses.append(answer["pause_ms"])
        longest.append(storm.longest())
        wrong = [w for w in [storm.compare()] + storm.trouble() if w]
        if wrong:
            break
    print(f"# no turns for {', '.join(f'{p:.1f}' for p in pauses)} ms")
    print(f"# the longest launch and wait in 0.4 s without: {', '.join(f'{p:.0f}' for p in before)} ms, with an upgrade: "
          f"{', '.join(f'{p:.0f}' for p in longest)} ms")
    check(not wrong, f"{len(pauses)} upgrades in a row: accounts agree to the byte, no program saw an error", *wrong)


def main():
    p = argparse.ArgumentParser()
    long = bool(os.environ.get("METE_TEST_LONG"))
    p.add_argument("--build", required=True)
    p.add_argument("--kills", type=int, default=1000 if long else 6)
    p.add_argument("--upgrades", type=int, default=10 if long else 2)
    p.add_argument("--burners", type=int, default=0)
    p.add_argument("--seed", type=int, default=int(time.time()))
    args = p.parse_args()
    print(f"# seed {args.seed}", flush=True)
    dice = random.Random(args.seed)
    storm = Storm(args)
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.burners)]
    try:
        storm.tenants()
        wrong = storm.compare()
        check(not wrong and not storm.trouble(), "tenants compute", wrong, *storm.trouble())
        if args.upgrades:
            upgrades(storm, args, dice)
        if args.kills:
            kills(storm, args, dice)
        storm.end()
        check(storm.wait(lambda: sum(storm.figures()[1:3]) == 0), "in the end all is given back", storm.figures())
    finally:
        storm.close()
        for b in burners:
            b.kill()
            b.wait()
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
