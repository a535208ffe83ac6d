#!/usr/bin/env python3
"""The quota of OpenCL's memory: to the byte, in races, with processes that are killed: memory_test.py BUILD."""
import os
import signal
import sys

from kit import CASES, MIB, Place, finish, ok, same, until, verdicts

place = Place()

for case in (("exact", str(64 * MIB)), ("refund", str(64 * MIB)), ("queues",)):
    done = place.run(CASES, *case)
    verdicts(done.stdout)
    ok(done.returncode in (0, 1) and "1.." in done.stdout, f"{case[0]}: the program ends as it should", done.returncode, done.stderr,
       done.stdout[-300:])

# The whole quota in blocks of many sizes, to the unit.
for step in (512, 4096, 100000, MIB, 7 * MIB, 64 * MIB):
    done = place.run(CASES, "quota", str(65 * MIB), str(step))
    units = (step + 511) // 512 * 512
    most = min(64 * MIB // units, 65536) * step
    if most // step < 65536:
        same(done.stdout.split(), [str(most), "-4"], f"blocks of {step} bytes: as many as fit, then refused")

# What a program leaves behind goes back with it.
place.grant("races", 64 * MIB)
same(place.bare(CASES, "devices").returncode, 0, "the case runs bare")
racers = [place.start(whole=[place.words()[0], "run", "--grant", "races", "--", CASES, "race", str(MIB), "30"]) for _ in range(8)]
for r in racers:
    out, err = r.communicate(timeout=100)
    ok(r.returncode == 0 and int(out.split()[1]) == 30, "one of eight takes what is there, and is refused the rest", r.returncode, out, err)
same(place.share("races")["held_bytes"], 0, "after the race nothing is held")
ok(place.share("races")["peak_bytes"] <= 64 * MIB, "and never more than the quota was")

# kill -9 in the middle: whatever they held is there for the next.
for round in range(3):
    holders = [place.start(whole=[place.words()[0], "run", "--grant", "races", "--", CASES, *words])
               for words in [("hold", str(8 * MIB))] * 4 + [("race", str(MIB), "100000")] * 4]
    control = place.meted.control()
    programs = until(lambda: (lambda p: p if len(p) >= 8 else None)([p["pid"] for p in control.grant("races")["processes"]]), 60)
    ok(until(lambda: control.share("races")["held_bytes"] > 0, 30), "memory is held")
    control.close()
    ok(programs, f"round {round + 1}: eight programs hold and race")
    for pid in programs or []:
        os.kill(pid, signal.SIGKILL)
    for h in holders:
        h.communicate()
    ok(until(lambda: place.share("races")["held_bytes"] == 0, 30), f"round {round + 1}: killed in the middle, nothing stays held",
       place.share("races"))
done = place.bare(place.words()[0], "run", "--grant", "races", "--", CASES, "exact", str(64 * MIB))
ok(done.returncode == 0, "and all of the quota is there for the next program", done.stdout[-500:], done.stderr)
place.close()
finish()
