#!/usr/bin/env python3
"""The quota of Level Zero's memory: to the byte, by every call, in races, with processes that are killed: memory_test.py BUILD."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "kill"))

from kit import CASES, METE, MIB, OOM, SHIM, SOFT, UNINITIALIZED, Place, finish, need_loader, ok, same, until, verdicts

from device import Device

need_loader()
place = Place()
judge = Device(place.env["METE_SOFT_DIR"], os.path.join(place.meted.dir, "judge"), place.env)
for words in (["exact", str(64 * MIB)], ["later", str(64 * MIB)], ["shared", str(64 * MIB)], ["shared", str(64 * MIB), "dies"], ["shared", str(64 * MIB), "frees"],
              ["fork", str(64 * MIB)], ["order"], ["bad"]):
    verdicts(place.run(CASES, *words), " ".join(words))
ok(judge.most <= 64 * MIB, "by the device's own count there was never more than the quota", judge.most)
judge.close()

# By the name that the loader looks for by itself, where a program's environment has lost the variable; and on a device that
# the driver numbers otherwise than the program.
lost = ["env", "-u", "ZE_ENABLE_ALT_DRIVERS", CASES]
verdicts(place.run(*lost, "exact", str(64 * MIB)), "without ZE_ENABLE_ALT_DRIVERS")
verdicts(place.run(CASES, "exact", str(64 * MIB), options=("--soft", "--device", "1")), "device 1 alone")
verdicts(place.run(CASES, "order", options=("--soft", "--device", "1")), "device 1 alone")
seen = place.run(CASES, "devices").stdout.splitlines()
same(seen, ["0 1", " ".join([str(64 * MIB)] * 6) + " mete software device (stand-in)"], "the program sees its one device, and its share")
same(len(place.bare(CASES, "devices").stdout.splitlines()), 3, "without mete it sees two")
# The loader that stands between the program and the driver, and checks what each is given.
validated = place.run("env", "ZE_ENABLE_VALIDATION_LAYER=1", "ZE_ENABLE_PARAMETER_VALIDATION=1", CASES, "exact", str(64 * MIB))
verdicts(validated, "with the loader's validation layer")

# The whole quota in blocks of many sizes, to the unit.
for step in (512, 4096, 100000, MIB, 7 * MIB, 64 * MIB):
    done = place.run(CASES, "quota", str(65 * MIB), str(step), mem="32M" if step == 512 else "64M")
    quota = (32 if step == 512 else 64) * MIB
    units = (step + 511) // 512 * 512
    same(done.stdout.split(), [str(quota // units * step), OOM], f"blocks of {step} bytes: as many as fit, then refused")

# What they compute is what they compute without mete.
bare = place.bare(CASES, "sum", "100")
same(place.run(CASES, "sum", "100").stdout, bare.stdout, "the same results as without mete")
same(bare.stdout, "328350 328350\n", "which are right")

# Eight processes take what there is.
place.grant("races", 64 * MIB)
under = [METE, "run", "--grant", "races", "--", CASES]
racers = [place.start(whole=[*under, "race", str(MIB), "30"]) for _ in range(8)]
for r in racers:
    out, err = r.communicate(timeout=100)
    ok(r.returncode == 0 and int(out.split()[1]) == 30, "one of eight takes what is there, and is refused the rest", r.returncode, out, err)
same(place.share("races")["held_bytes"], 0, "after the race nothing is held")
ok(place.share("races")["peak_bytes"] <= 64 * MIB, "and never more than the quota was", place.share("races"))

# kill -9 in the middle: whatever they held is there for the next.
for turn in range(3):
    holders = [place.start(whole=[*under, "hold", str(8 * MIB)]) for _ in range(4)]
    for h in holders:  # before the others take all that there is
        same(h.stdout.readline(), "held\n", f"round {turn + 1}: a program holds")
    holders += [place.start(whole=[*under, "race", str(MIB), "1000000"]) for _ in range(4)]
    programs = until(lambda: (lambda p: p if len(p) >= 8 else None)(place.processes("races")), 60)
    ok(until(lambda: place.share("races")["held_bytes"] > 0, 30), "memory is held")
    ok(programs, f"round {turn + 1}: eight programs hold and race")
    for pid in programs or []:
        os.kill(pid, signal.SIGKILL)
    for h in holders:
        h.communicate()
    ok(until(lambda: place.share("races")["held_bytes"] == 0, 30), f"round {turn + 1}: killed in the middle, nothing stays held",
       place.share("races"))
verdicts(place.run(whole=[*under, "exact", str(64 * MIB)]), "after the kills")

# CUDA and Level Zero in one process are refused at the sum.
verdicts(place.run(CASES, "both", str(256 * MIB), mem="256M"), "CUDA and Level Zero")

# Contexts, queues, lists and memory that come and go in four threads, with work whose time is limited, and not.
storm = Place(METE_SOFT_DURATION="spin_*=100us")
for options in (("--soft", "-c", "60", "-C", "60"), ("--soft",)):
    verdicts(storm.run(CASES, "storm", "4", str(64 * MIB), options=options), " ".join(("a storm", *options)))
storm.close()

# Without meted nothing is given; unless the operator says so. Without a driver behind it the face is none.
words = ["env", "METE_SOCKET=/nowhere/socket", CASES, "quota", str(MIB), "4096"]
same(place.run(*words).stdout.split(), ["0", UNINITIALIZED], "without meted a program gets no device")
done = place.run("env", "METE_OPEN=1", *words[1:])
ok(int(done.stdout.split()[0]) > MIB, "with METE_OPEN=1 it runs without a limit", done.stdout, done.stderr)
for driver in ("/nowhere/libze.so", os.path.join(SHIM, "libmete-core.so"), os.path.join(SHIM, "libmete-levelzero.so"), "libze.so"):
    done = place.run("env", f"METE_LEVELZERO_DRIVER={driver}", CASES, "quota", str(MIB), "4096")
    ok(done.stdout.split() == ["0", UNINITIALIZED] and "METE_LEVELZERO_DRIVER" in done.stderr,
       f"{os.path.basename(driver)} is no driver: one line, and no device", done.returncode, done.stdout, done.stderr)
plain = place.run(whole=[CASES, "quota", str(MIB), "4096"], env={"ZE_ENABLE_ALT_DRIVERS": os.path.join(SHIM, "libmete-levelzero.so"),
                                                               "METE_LEVELZERO_DRIVER": SOFT})
ok(int(plain.stdout.split()[0]) > MIB, "without a grant the face hands everything on", plain.stdout, plain.stderr)
place.close()
finish()
