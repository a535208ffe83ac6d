#!/usr/bin/env python3
"""
HIP's memory in every way that there is, by 4 processes of 3 threads at once, with CUDA's too, killed at any moment:
mix_test.py BUILD. METE_MIX_SECONDS: how long each mix runs; METE_MIX_WAYS: one of your own (letters of mixer.c);
METE_MIX_PROGRAM: the same program, compiled for another library.

The judge is the device's own count: never above the quota; when all stand still the account has all of it, to the byte where nothing is
charged to two; in the end both are 0. Where the quota has room for everything, no call is told "out of memory".
"""
import mmap
import os
import random
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "kill"))

from kit import BUILD, METE, MIB, Place, finish, ok, same, until

from device import Device

MIXER = os.environ.get("METE_MIX_PROGRAM") or os.path.join(BUILD, "tests/hip/hip_mixer")
STATE = struct.Struct("<IIQIIQ")
PAUSE, PAUSED, CALLS, ERROR, WAY, REFUSED = range(6)
SEED = int(os.environ.get("METE_MIX_SEED", time.time()))
SECONDS = float(os.environ.get("METE_MIX_SECONDS", 3))
dice = random.Random(SEED)
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "6G", "METE_SOFT_CONTEXT_MEMORY": "0"}


class Mixer:
    number = 0

    def __init__(self, mix, ways):
        Mixer.number += 1
        self.path = os.path.join(mix.place.meted.dir, f"state-{Mixer.number}")
        with open(self.path, "wb") as f:
            f.write(b"\0" * 4096)
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)
        self.process = subprocess.Popen([METE, "run", "--grant", mix.name, "--", MIXER, self.path, mix.shelf, str(dice.getrandbits(30)),
                                         str(mix.piece), "3", ways], env=mix.place.env, start_new_session=True)

    def state(self):
        return STATE.unpack_from(self.map)

    def ask(self, odd):
        struct.pack_into("<I", self.map, 0, (self.state()[PAUSE] | 1) + (not odd))

    def still(self):
        s = self.state()
        return s[PAUSE] % 2 == 1 and s[PAUSE] == s[PAUSED]

    def trouble(self):
        s = self.state()
        if s[ERROR]:
            return f"error {s[ERROR]} by way {chr(s[WAY])}"
        return f"it has ended: {self.process.returncode}" if self.process.poll() is not None else None

    def end(self):
        os.killpg(self.process.pid, 9)
        self.process.wait()


class Mix:
    def __init__(self, place, name, ways, quota, piece):
        self.place, self.name, self.ways, self.quota, self.piece = place, name, ways, quota, piece
        self.shelf = os.path.join(place.meted.dir, f"shelf-{name}")
        with open(self.shelf, "wb") as f:
            f.write(b"\0" * 4096)
        place.grant(name, quota)
        self.judge = Device(place.env["METE_SOFT_DIR"], os.path.join(place.meted.dir, f"judge-{name}"), place.env)
        self.exact = not set(ways) & set("fkxty")
        self.mixers = [Mixer(self, ways) for _ in range(4)]
        self.calls = 0

    def figures(self):
        share = self.place.share(self.name)
        return share["held_bytes"], self.judge.used()

    def agrees(self):
        held, used = self.figures()
        return held == used if self.exact else held >= used

    def compare(self):
        for m in self.mixers:
            m.ask(True)
        until(lambda: any(m.trouble() for m in self.mixers) or all(m.still() for m in self.mixers), 60)
        trouble = [t for t in (m.trouble() or ("" if m.still() else "it does not stand still") for m in self.mixers) if t]
        good = until(self.agrees, 15)
        figures = self.figures()
        for m in self.mixers:
            m.ask(False)
        return trouble or (None if good else "held {}, on the device {}".format(*figures))

    def run(self, kills):
        until(lambda: all(m.state()[CALLS] or m.trouble() for m in self.mixers), 60)
        end, rounds, wrong = time.monotonic() + SECONDS, 0, None
        while not wrong and (time.monotonic() < end or not rounds):
            time.sleep(0.3)
            if kills:
                i = dice.randrange(len(self.mixers))
                self.calls += self.mixers[i].state()[CALLS]
                wrong = self.mixers[i].trouble()
                self.mixers[i].end()
                self.mixers[i] = Mixer(self, self.ways)
                until(lambda: all(m.state()[CALLS] or m.trouble() for m in self.mixers), 60)
            wrong = wrong or self.compare()
            rounds += 1
        calls = self.calls + sum(m.state()[CALLS] for m in self.mixers)
        ok(not wrong, f"{self.ways}: {rounds} times all stood still after {calls} calls (seed {SEED})", wrong)
        return sum(m.state()[REFUSED] for m in self.mixers)

    def end(self):
        for m in self.mixers:
            m.end()
        ok(until(lambda: self.figures() == (0, 0), 30), f"{self.ways}: nothing stays", self.figures())
        ok(self.judge.most <= self.quota, f"{self.ways}: never more than the quota on the device", self.judge.most, self.quota)
        self.judge.close()
        self.place.ask("grant_delete", name=self.name)


place = Place(**ENV)
mixes = os.environ.get("METE_MIX_WAYS", "pqfkdwzyr,potvxwre,pgmiaqfvxotdkwzycer").split(",")
for n, ways in enumerate(mixes):
    tight = Mix(place, f"tight{n}", ways, 40 * MIB, 8 * MIB)
    tight.run(kills=True)
    tight.end()
roomy = Mix(place, "roomy", mixes[-1], 4096 * MIB, 4 * MIB)
same(roomy.run(kills=False), 0, "where there is room for everything nothing is refused")
roomy.end()
place.close()
finish()
