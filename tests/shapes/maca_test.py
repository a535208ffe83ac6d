#!/usr/bin/env python3
"""The quota of MACA's memory, as that of HIP's (tests/hip/memory_test.py): to the byte, by every call, races, kills: maca_test.py BUILD."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "hip"))

from kit import BUILD, METE, MIB, Place, finish, ok, same, until, verdicts

CASES = os.path.join(BUILD, "tests/shapes/maca_cases")

place = Place()
for words in (["exact", str(64 * MIB)], ["pools", str(64 * MIB)], ["fork", str(64 * MIB)], ["order"], ["ended", str(64 * MIB)]):
    verdicts(place.run(CASES, *words), words[0])
for way in ("ipc", "fd", "pool"):
    program = place.start(CASES, "shared", way, str(64 * MIB))
    out, err = program.communicate("\n", timeout=60)
    for line in out.splitlines():
        if "ok " in line:
            ok(line.startswith("ok "), f"{way}: {line.split(' - ', 1)[1]}")
    ok(program.returncode == 0 and "1.." in out, f"memory of another process by {way}: the program ends as it should", err, out)
for step in (4096, 100000, MIB, 64 * MIB):
    done = place.run(CASES, "quota", str(65 * MIB), str(step))
    same(done.stdout.split(), [str(64 * MIB // ((step + 511) // 512 * 512) * step), "2"], f"blocks of {step} bytes: as many as fit, then refused")
same(place.run(CASES, "devices").stdout.splitlines()[1].split()[:6], ["0", *[str(64 * MIB)] * 5],
     "sizes are the share's, in the properties as well, whose layout is not known")
bare = place.run(whole=[CASES, "sum", "100"], env={"LD_LIBRARY_PATH": os.path.join(BUILD, "src/softdev/shaped")})
same((place.run(CASES, "sum", "100").stdout, bare.stdout), ("328350 328350\n",) * 2, "results are those without mete, and right")

place.grant("races", 64 * MIB)
under = [METE, "run", "--grant", "races", "--", CASES]
racers = [place.start(whole=[*under, "race", str(MIB), "30"]) for _ in range(8)]
for r in racers:
    out, err = r.communicate(timeout=100)
    ok(r.returncode == 0 and int(out.split()[1]) == 30, "one of eight takes what is there, and is refused the rest", r.returncode, out, err)
same(place.share("races")["held_bytes"], 0, "after the race nothing is held")
ok(place.share("races")["peak_bytes"] <= 64 * MIB, "and never more than the quota was", place.share("races"))
holders = [place.start(whole=[*under, "hold", str(8 * MIB)]) for _ in range(4)]
for h in holders:
    same(h.stdout.readline(), "held\n", "a program holds")
holders += [place.start(whole=[*under, "race", str(MIB), "1000000"]) for _ in range(4)]
programs = until(lambda: (lambda p: p if len(p) >= 8 else None)(place.processes("races")), 60)
ok(programs, "eight programs hold and race")
for pid in programs or []:
    os.kill(pid, signal.SIGKILL)
for h in holders:
    h.communicate()
ok(until(lambda: place.share("races")["held_bytes"] == 0, 30), "killed in the middle, nothing stays held", place.share("races"))

verdicts(place.run(CASES, "both", str(256 * MIB), mem="256M"), "CUDA and MACA")
words = ["env", "METE_SOCKET=/nowhere/socket", CASES, "quota", str(MIB), "4096"]
same(place.run(*words).stdout.split(), ["0", "3"], "without meted a program gets no memory")
place.close()
finish()
