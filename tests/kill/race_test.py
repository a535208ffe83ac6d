"""
A module whose size is measured is loaded or unloaded, and races the end of something that the driver counts:
race_test.py BUILD [local|wall|remote]...

The end is a descriptor that is closed, a handle that is made, an importing process that closes or is killed, a library that
is unloaded; the image is one whose variables can be read, or one whose cannot. After each of the races the device's own count
is the account's and the quota's, to the byte, and never was it above the quota: everything that is asked for has room.
METE_RACE_ROUNDS: of loads of each kind of image that cannot be read, 30 by default; a third of it of the others.
"""
import atexit
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, SANITIZED, Meted, finish, ok, same, until  # noqa: E402

SEED = int(os.environ.get("METE_RACE_SEED", time.time()))
ROUNDS = int(os.environ.get("METE_RACE_ROUNDS", 10 if SANITIZED else 30))
METE = os.path.join(BUILD, "src/cli/mete")
RACER = os.path.join(BUILD, "tests/kill/racer")
MIB = 1 << 20
QUOTA = 64 * MIB
ENDS = {"local": ["descriptor", "handle", "importer", "killed", "library"], "wall": ["library"], "remote": ["library"]}
SOFT = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "2G", "METE_SOFT_CONTEXT_MEMORY": "0", "METE_SOFT_DURATION": "*=5ms"}


class Place:
    """A meted with a grant, the command that runs a program of the tenant, and the device's own count."""

    def __init__(self, way):
        self.way = way
        self.meted = Meted("--soft-only", env=SOFT)
        self.env = {**self.meted.env, "METE_RUNTIME_DIR": self.meted.dir}
        self.server = None
        if way == "remote":
            self.serve()
        else:
            self.meted.make("race", QUOTA, wall=way == "wall")
            self.command = [METE, "run", "--grant", "race"] + (["--wall"] if way == "wall" else [])
        self.device = Device(self.meted.env["METE_SOFT_DIR"], os.path.join(self.meted.dir, "sight"))

    def serve(self):
        keys = os.path.join(self.meted.dir, "keys")
        subprocess.run([METE, "key", "new", "tester", "--keys", keys], env=self.env, stdout=subprocess.DEVNULL, check=True)
        self.server = subprocess.Popen([METE, "serve", "--soft", "--keys", keys, "--listen", "127.0.0.1:0", "--json", "--device", "0",
                                        "--mem", str(QUOTA)], env=self.env, stdout=subprocess.PIPE)
        atexit.register(self.server.kill)
        address = json.loads(self.server.stdout.readline())["listen"][0]
        self.command = [METE, "run", "--remote", address, "--key", os.path.join(keys, "tester.key")]
        self.env = {k: v for k, v in self.env.items() if not k.startswith("METE_")}

    def figures(self):
        """What the grants hold, and what the device has given out."""
        c = self.meted.control()
        held = sum(d["held_bytes"] for g in c.ask("grants")["grants"] for d in g["devices"])
        c.close()
        return [held, self.device.used()]

    def race(self, *what):
        """What the program said that it should not, the figures that were not the quota, and how often it was a race."""
        racer = subprocess.Popen(self.command + ["--", RACER, *what, str(SEED), str(QUOTA)], env=self.env, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        said, apart, hits = [], [], 0
        for line in racer.stdout:
            if line == "rest\n":
                figures = until(lambda: self.figures() == [QUOTA, QUOTA], 0.5 if apart else 5) or self.figures()
                apart += [figures] if figures is not True else []
                racer.stdin.write("\n")
                racer.stdin.flush()
            elif line.startswith("hits "):
                hits = int(line.split()[1])
            else:
                said.append(line.strip())
        said += [f"ended with {racer.wait()}"] if racer.wait() else []
        return said, apart, hits

    def close(self):
        if self.server:
            self.server.terminate()
            self.server.wait()
        self.device.close()
        self.meted.close()


def check(place, call, end, image, rounds):
    what = f"{place.way}, {end} beside the {call} of a module, {image}"
    said, apart, hits = place.race(call, end, image, str(rounds))
    ok(not said and not apart, f"{what}: the account and the device's count are the quota each time", *said[:3],
       f"{len(apart)} of {rounds} times account and device: {apart[:3]}")
    ok(hits >= rounds / 5, f"{what}: the end fell within the {call} {hits} of {rounds} times")
    same(until(lambda: place.figures() == [0, 0], 20) or place.figures(), True, f"{what}: nothing is left")


def main():
    print(f"# seed {SEED}", flush=True)
    for way in sys.argv[2:] or ["local"]:
        place = Place(way)
        for end in ENDS[way]:
            check(place, "load", end, "packed", ROUNDS)
            check(place, "load", end, "plain", (ROUNDS + 2) // 3)
            if way == "local":  # behind a wall nobody waits for an unload
                check(place, "unload", end, "plain", (ROUNDS + 2) // 3)
        ok(place.device.most <= QUOTA, f"{way}: the device never counts more than the quota ({place.device.most} of {QUOTA} bytes, "
           f"{place.device.looks} looks)")
        place.close()
    finish()


main()
