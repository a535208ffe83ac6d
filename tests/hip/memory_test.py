#!/usr/bin/env python3
"""The quota of HIP's memory: to the byte, by every call, in races, with processes that are killed: memory_test.py BUILD."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "kill"))

from kit import CASES, FACE, METE, MIB, SOFT, Place, finish, ok, same, until, verdicts

from device import Device

place = Place()
for words in (["exact", str(64 * MIB)], ["pools", str(64 * MIB)], ["fork", str(64 * MIB)], ["order"], ["ended", str(64 * MIB)]):
    verdicts(place.run(CASES, *words), words[0])

# Opened by hand, by whatever name; on a device that the library numbers otherwise than the program.
for name in ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.7"):
    verdicts(place.run(CASES, "-l", name, "exact", str(64 * MIB)), name)
verdicts(place.run(CASES, "exact", str(64 * MIB), options=("--soft", "--device", "1")), "device 1 alone")
verdicts(place.run(CASES, "order", options=("--soft", "--device", "1")), "device 1 alone")
same(len(place.run(CASES, "devices", options=("--soft", "--device", "1")).stdout.splitlines()), 2, "the program sees that one device")

# A program whose own library comes before ours has ours preloaded; then its calls of itself come by as well.
own = {"LD_LIBRARY_PATH": SOFT, "LD_PRELOAD": FACE, "METE_HIP_DRIVER": ""}
done = place.run("env", *(f"{n}={v}" for n, v in own.items()), CASES, "exact", str(64 * MIB))
verdicts(done, "the program's own library, found beside the preloaded face")

# What pools keep, by the device's own count. The judge may be the first to come: it says what the device is like.
judge = Device(place.env["METE_SOFT_DIR"], os.path.join(place.meted.dir, "judge"), place.env)
program = place.start(CASES, "kept", str(64 * MIB))
for turn in range(3):
    room = int(program.stdout.readline() or -1)
    used = judge.used()
    ok(used <= 64 * MIB - room, f"turn {turn + 1}: what pools keep is charged", used, room)
    ok(used <= 64 * MIB, "and the device has no more of it than the quota", used)
    program.stdin.write("\n")
    program.stdin.flush()
same((program.communicate(timeout=60)[1], program.returncode), ("", 0), "the program ends as it should")
for way in ("ipc", "fd", "pool"):
    for end in ((), ("dies",)):
        program = place.start(CASES, "shared", way, str(64 * MIB), *end)
        said = []
        while not said or said[-1] not in ("full\n", ""):
            said.append(program.stdout.readline())
        ok(judge.used() <= 64 * MIB, f"memory of another process by {way}, full: no more than the quota is on the device", judge.used())
        out, err = program.communicate("\n", timeout=60)
        for line in "".join([*said, out]).splitlines():
            if "ok " in line:
                ok(line.startswith("ok "), " ".join([*end, line.split(" - ", 1)[1]]))
        ok(program.returncode == 0 and "1.." in out, f"by {way}: the program ends as it should", program.returncode, err, said, out)
verdicts(place.run(CASES, "across", str(64 * MIB), options=("--soft", "--device", "0,1")), "a pool on another device than the stream")
ok(judge.most <= 64 * MIB, "never", judge.most)
judge.close()

# The whole quota in blocks of many sizes, to the unit.
for step in (512, 4096, 100000, MIB, 7 * MIB, 64 * MIB):
    done = place.run(CASES, "quota", str(65 * MIB), str(step), mem="32M" if step == 512 else "64M")
    quota = (32 if step == 512 else 64) * MIB
    units = (step + 511) // 512 * 512
    same(done.stdout.split(), [str(quota // units * step), "2"], f"blocks of {step} bytes: as many as fit, then refused")

# What they compute is what they compute without mete.
bare = place.run(whole=[CASES, "sum", "100"], env={"LD_LIBRARY_PATH": SOFT})
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

# CUDA and HIP in one process are refused at the sum.
verdicts(place.run(CASES, "both", str(256 * MIB), mem="256M"), "CUDA and HIP")

# Without meted nothing is given; unless the operator says so.
words = ["env", "METE_SOCKET=/nowhere/socket", CASES, "quota", str(MIB), "4096"]
done = place.run(*words)
same(done.stdout.split(), ["0", "3"], "without meted a program gets no memory")
done = place.run("env", "METE_OPEN=1", *words[1:])
ok(done.stdout.split()[0] > str(MIB), "with METE_OPEN=1 it runs without a limit", done.stdout, done.stderr)
place.close()
finish()
