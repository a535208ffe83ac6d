#!/usr/bin/env python3
"""The quota of a vendor's memory: to the byte, by every call, in races, with processes that are killed: memory_test.py BUILD VENDOR."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "kill"))

from kit import METE, MIB, Place, finish, ok, same, until, verdicts

from device import Device

place = Place(sys.argv[2])
CASES = place.vendor.cases
ways = ["exact", "lower", "physical", "wrong", "reset"] + (["byhand", "workspace"] if sys.argv[2] == "ascend"
                                                               else ["byhand", "kept", "unplaced"])
judge = Device(place.env["METE_SOFT_DIR"], os.path.join(place.meted.dir, "judge"), place.env)
for way in ways:
    verdicts(place.run(CASES, way, str(64 * MIB)), way)
    ok(until(lambda: judge.used() == 0, 20), f"{way}: nothing stays on the device", judge.used())
ok(judge.most <= 65 * MIB, "the device never had more than the quota, and what the library adds to it", judge.most)
judge.close()

# The vendor's own variable shows the program the device that it was given, and that one alone.
done = place.run(CASES, "devices", env={place.vendor.visible: "1"})
same(len(done.stdout.splitlines()), 2, "a program that shows itself one device sees one")
done = place.run("env", f"{place.vendor.visible}=1", CASES, "quota", str(MIB), "4096", options=("--soft", "--device", "0"))
same(done.stdout.split(), ["0", str(place.vendor.no_memory)], "on a device that is not granted it gets no memory")
verdicts(place.run("env", f"{place.vendor.visible}=1", CASES, "exact", str(64 * MIB), options=("--soft", "--device", "1")),
         "on the second device, which is the grant's")

# The whole quota in blocks of many sizes, to the unit.
for step in (512, 4096, 100000, MIB, 7 * MIB, 64 * MIB):
    done = place.run(CASES, "quota", str(65 * MIB), str(step), mem="32M" if step == 512 else "64M")
    quota = (32 if step == 512 else 64) * MIB
    units = (step + 511) // 512 * 512
    same(done.stdout.split(), [str(quota // units * step), str(place.vendor.no_memory)], f"blocks of {step} bytes: as many as fit")

# What they compute is what they compute without mete.
bare = place.run(whole=[CASES, "sum", "1000"])
same(place.run(CASES, "sum", "1000").stdout, bare.stdout, "the same results as without mete")
same(bare.stdout, f"{sum(i % 256 for i in range(1000)) + 3000}\n", "which are right")

# Eight processes take what there is.
place.grant("races", 64 * MIB)
under = [METE, "run", "--grant", "races", "--", CASES]
racers = [place.start(whole=[*under, "race", str(MIB), "30"]) for _ in range(8)]
for r in racers:
    out, err = r.communicate(timeout=100)
    ok(r.returncode == 0 and int(out.split()[1]) == 30, "one of eight takes what is there, and is refused the rest", r.returncode, out, err)
same(place.share("races")["held_bytes"], 0, "after the race nothing is held")
ok(0 < place.share("races")["peak_bytes"] <= 64 * MIB, "and never more than the quota was", place.share("races"))

# kill -9 in the middle: whatever they held is there for the next.
for turn in range(3):
    holders = [place.start(whole=[*under, "hold", str(8 * MIB)]) for _ in range(4)]
    for h in holders:  # before the others take all that there is
        same(h.stdout.readline(), "held\n", f"round {turn + 1}: a program holds")
    holders += [place.start(whole=[*under, "race", str(MIB), "1000000"]) for _ in range(4)]
    programs = until(lambda: (lambda p: p if len(p) >= 8 else None)(place.processes("races")), 60)
    ok(programs, f"round {turn + 1}: eight programs hold and race")
    for pid in programs or []:
        os.kill(pid, signal.SIGKILL)
    for h in holders:
        h.communicate()
    ok(until(lambda: place.share("races")["held_bytes"] == 0, 30), f"round {turn + 1}: killed in the middle, nothing stays held",
       place.share("races"))
verdicts(place.run(whole=[*under, "exact", str(64 * MIB)]), "after the kills")

# CUDA and the vendor's API in one process are refused at the sum.
verdicts(place.run(CASES, "both", str(256 * MIB), mem="256M"), "CUDA beside")

# Without meted nothing is given; unless the operator says so. Without a grant the face does nothing.
words = ["env", "METE_SOCKET=/nowhere/socket", CASES, "quota", str(MIB), "4096"]
done = place.run(*words)
ok(done.returncode == 3 and "SetDevice: 10000" in done.stdout, "without meted a program gets no device", done.stdout, done.stderr)
done = place.run("env", "METE_OPEN=1", *words[1:])
ok(done.stdout.split()[0] >= str(MIB), "with METE_OPEN=1 it runs without a limit", done.stdout, done.stderr)
done = place.run("env", "-u", "METE_SOCKET", CASES, "quota", str(128 * MIB), str(MIB))
same(done.stdout.split(), [str(128 * MIB), "0"], "a program outside of any grant is let be")
place.close()
finish()
