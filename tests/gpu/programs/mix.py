"""
Eight mixers (tests/kill/mixer.c) of four threads each take and give memory in every way, with kills: mix.py MIXER SECONDS PIECE WAYS

Twice they stand still and HELD is said, so that whoever started this can count; they go on when a line comes.
"""
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

STATE = struct.Struct("<IIQIIQI16s")  # struct state of mixer.c
mixer, seconds, piece, ways = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
folder = tempfile.mkdtemp(prefix="mete-m-")
shelf = os.path.join(folder, "shelf")
dice = random.Random(1)
with open(shelf, "wb") as f:
    f.write(bytes(65536))


class Mixer:
    def __init__(self, n):
        self.path = os.path.join(folder, str(n))
        with open(self.path, "wb") as f:
            f.write(bytes(4096))
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)
        self.process = subprocess.Popen([mixer, self.path, str(n), piece, "4", ways], env={**os.environ, "MIXER_SHELF": shelf})

    def state(self):
        return STATE.unpack_from(self.map)

    def ask(self, odd):
        struct.pack_into("<I", self.map, 0, (self.state()[0] | 1) + (not odd))

    def still(self):
        pause, paused, calls = self.state()[:3]
        return not calls or pause % 2 == 1 and pause == paused

    def wrong(self):
        error, way = self.state()[3:5]
        if error:
            return f"a mixer was told error {error} (way {chr(way)})"
        return f"a mixer has ended: {self.process.returncode}" if self.process.poll() is not None else None

    def kill(self):
        self.process.kill()
        self.process.wait()


mixers, count, killed, calls, wrong, slowest = [Mixer(n) for n in range(8)], 8, 0, 0, [], 0.0
for _ in range(2):
    end = time.monotonic() + seconds / 2
    while time.monotonic() < end and not wrong:
        time.sleep(dice.random() * 0.4)
        i = dice.randrange(8)
        if mixers[i].state()[2]:
            calls += mixers[i].state()[2]
            mixers[i].kill()
            mixers[i], count, killed = Mixer(count), count + 1, killed + 1
        wrong += [w for w in (m.wrong() for m in mixers) if w]
    began = time.monotonic()
    for m in mixers:
        m.ask(True)
    while not all(m.still() for m in mixers) and time.monotonic() < began + 30:
        time.sleep(0.01)
    slowest = max(slowest, time.monotonic() - began)
    if not all(m.still() for m in mixers):
        wrong.append("they do not stand still; their threads are in " + " ".join(m.state()[7].decode(errors="replace") for m in mixers))
    print("HELD", flush=True)
    sys.stdin.readline()
    for m in mixers:
        m.ask(False)
calls += sum(m.state()[2] for m in mixers)
refused = sum(m.state()[5] for m in mixers)
for m in mixers:
    m.kill()
print(f"{calls} calls, {killed} kills, {refused} refused at the end; they stood still within {slowest:.1f} s", *wrong, sep="\n")
print("FAIL" if wrong else "PASS")
