#!/usr/bin/env python3
"""
A kill storm over TLS: programs under `mete run --remote` that work and die at random, with all that belongs to them or
alone; whose relay does, or their session on the server, or their worker; in the long storm also `mete serve` and meted,
which are started again. Afterwards nothing may be left, on either side: no grant, no memory of the device, no process, no
socket, no descriptor, and neither meted nor `mete serve` grown.

    storm_remote_test.py BUILD
"""
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../daemon"), HERE]
sys.dont_write_bytecode = True
from harness import *  # noqa: E402,F403
from storm import LONG, PATIENCE, STATUS, Storm, children, descriptors, descriptors_at_rest, kill_one, resident  # noqa: E402

# Under a sanitizer each wind that kills a part blows a dozen times in half of the time, too; gcc's build has all of it.
SECONDS, CLIENTS, NAMES = (300, 100, 8) if LONG else (4 if PATIENCE > 1 else 8, 8, 3)
METE = os.path.join(BUILD, "src/cli/mete")
PROGRAM = os.path.join(BUILD, "tests/remote/storm_client")
# `mete run`: the server has no room or refuses; the program was killed alone.
STATUSES = {**STATUS, 125: "refused", 137: "killed"}


class Place:
    """A meted, a server in front of it, and what clients need."""

    def __init__(self):
        self.m = Meted("--soft-only", env={"METE_SOFT_CONTEXT_MEMORY": "1M", "METE_SOFT_DEVICES": "1"})
        self.keys = os.path.join(self.m.dir, "keys")
        self.sockets = os.path.join(self.m.dir, "sockets")
        os.mkdir(self.sockets, 0o700)
        env = dict(self.m.env, METE_RUNTIME_DIR=self.m.dir)
        for i in range(NAMES):
            subprocess.run([METE, "key", "new", f"client{i}", "--keys", self.keys], env=env, check=True, stdout=subprocess.DEVNULL)
        self.server_env, self.address = env, "127.0.0.1:0"
        self.events = open(os.devnull, "wb")
        self.serve()
        self.client_env = {k: v for k, v in self.m.env.items() if not k.startswith("METE_")}
        self.client_env["XDG_RUNTIME_DIR"] = self.sockets
        # At its end a program of the address sanitizer's waits for a child that looks for leaks, for ever where the storm has killed
        # that one. `serve` and `relay` look for leaks in the same programs.
        self.client_env["ASAN_OPTIONS"] = self.client_env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

    def serve(self):
        """Starts the server, where it was before if it was."""
        self.server = subprocess.Popen([METE, "serve", "--soft", "--mem", "64M", "--overcommit", "--keys", self.keys, "--listen",
                                        self.address, "--json"], env=self.server_env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = self.server.stdout.readline()
        if not line:
            self.server.stdout.close()
            self.server.wait()
            return False
        self.address = json.loads(line)["listen"][0]
        self.drain = subprocess.Popen(["cat"], stdin=self.server.stdout, stdout=self.events)
        return True

    def server_ended(self):
        self.server.wait()
        self.drain.wait()
        self.server.stdout.close()

    def kill_server(self):
        self.server.kill()
        self.server_ended()
        if not until(self.serve, 20):  # another program may have got its port for a moment
            raise SystemExit("Bail out! mete serve does not start again")
        return True

    def kill_meted(self):
        self.m.process.kill()
        self.m.process.wait()
        self.m.process.stderr.close()
        return self.m.start()

    def start(self):
        key = os.path.join(self.keys, f"client{random.randrange(NAMES)}.key")
        return subprocess.Popen([METE, "run", "--remote", self.address, "--key", key, "--", PROGRAM,
                                 str(random.getrandbits(31)), str(random.choice([1, 10, 100]))], env=self.client_env,
                                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                start_new_session=True)

    def grants(self):
        c = self.m.control()
        answer = c.ask("grants")["grants"]
        c.close()
        return answer

    def used(self):
        c = self.m.control()
        used = c.ask("devices")["devices"][0]["used_bytes"]
        c.close()
        return used

    def kill_worker(self):
        return kill_one([p["pid"] for g in self.grants() for p in g["processes"]])

    def kill_session(self):
        return kill_one(children(self.server.pid))

    def quiet(self):
        """Nobody is there any more, and the grants that were made for them are gone."""
        return until(lambda: not self.grants() and not children(self.server.pid) and not children(self.m.process.pid), 40)

    def end(self):
        self.server.terminate()
        same(self.server.wait(20), 0, "the server ends as it is told")
        self.server_ended()
        self.events.close()
        self.m.process.terminate()
        self.m.process.wait()
        self.m.process.stderr.close()


def ours(folder):
    """Processes that still have this folder in their command line or environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as a, open(f"/proc/{pid}/environ", "rb") as b:
                if folder.encode() in a.read() + b.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def main():
    random.seed(int(os.environ.get("METE_TEST_SEED", "1")))
    p = Place()

    def part_of_client(storm):
        """A relay, or the program alone, whose `mete run` lives."""
        try:
            return kill_one(children(random.choice(storm.running).pid))
        except FileNotFoundError:
            return False

    winds = [(0.1, "worker killed", p.kill_worker), (0.1, "session killed", p.kill_session),
             (0.1, "part of a client killed", lambda: part_of_client(storm))]
    if LONG:
        winds += [(0.005, "server killed", p.kill_server), (0.005, "meted killed", p.kill_meted)]
    storm = Storm(CLIENTS, p.start, winds, STATUSES)
    for _ in range(5 * CLIENTS):  # so that what is grown once is grown
        storm.blow()
    storm.end()
    ok(p.quiet(), "after some clients nobody is there", p.grants(), children(p.server.pid), children(p.m.process.pid))
    meted, server = p.m.process.pid, p.server.pid
    before = [(descriptors_at_rest(pid), resident(pid)) for pid in (meted, server)]
    used = p.used()
    storm.rage(SECONDS)
    print(f"# {storm.ends}")
    meted, server = p.m.process.pid, p.server.pid  # perhaps others than before
    ok(all(storm.ends[w] for w in ("done", "killed", *(name for _, name, _ in winds))),
       "the storm had all its winds", storm.ends)
    same(storm.ends["wrong"], 0, "no client got a wrong answer")
    ok(p.quiet(), "nobody is there any more, and no grant", p.grants(), children(server), children(meted))
    ok(until(lambda: p.used() <= used, 30), "the device's memory is free", p.used(), used)
    for name, pid, (fds, kib) in zip(("meted", "the server"), (meted, server), before):
        ok(until(lambda: descriptors(pid) <= fds, 30), f"no descriptor of {name} is left open", fds, descriptors(pid))
        grown = resident(pid) - kib
        # A sanitizer keeps what has been freed.
        ok(grown < 4096 or PATIENCE > 1, f"{name} has not grown ({grown} KiB)")
    same(len(os.listdir(os.path.join(p.m.dir, "pages"))), 0, "no page is left")
    ok(until(lambda: not os.listdir(os.path.join(p.m.dir, "workers")), 30), "no socket of a worker is left",
       os.listdir(os.path.join(p.m.dir, "workers")))
    p.end()
    ok(until(lambda: not ours(p.m.dir), 15), "no process of either side is left", ours(p.m.dir))
    # Where mete and its relays were killed at once, the next client removes what they left.
    subprocess.run([METE, "run", "--remote", "127.0.0.1:1", "--plain", "--", "true"], env=p.client_env,
                   stderr=subprocess.DEVNULL)
    same(os.listdir(p.sockets), [], "no socket of a client is left")
    finish()


if __name__ == "__main__":
    main()
