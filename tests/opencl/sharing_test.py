#!/usr/bin/env python3
"""
One card for several: two OpenCL tenants at 30 and 70, one with CUDA beside one with OpenCL, both APIs in one program, a
tenant that stands still: sharing_test.py BUILD. PoCL's kernels run on the processor, so a busy machine takes from both; it is told to
use one thread for each tenant, who have their turns one after the other.
"""
import os
import signal
import subprocess

from kit import CASES, METE, MIB, Meted, Place, finish, ok, same, skip, until, verdicts
from shares import DEAR_SECONDS, DEAR_WINDOW, charged, measure


def pair(place, what, first, second, within):
    """Two tenants, (percent, words of a program) each; their shares of the card, and of what both got."""
    programs = []
    for name, (percent, words) in (("a", first), ("b", second)):
        control = place.meted.control()
        answer = control.ask("grant_create", name=name, driver=place.driver,
                             devices=[{"device": "0", "mem_bytes": 64 * MIB, "cores": percent, "cores_limit": percent}])
        control.close()
        ok(answer["ok"], f"{what}: the grant of {percent} %", answer)
    for name, (percent, words) in (("a", first), ("b", second)):
        programs.append(subprocess.Popen([METE, "run", "--grant", name, "--", *words], env=place.env, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))
    measure(what, programs, charged(lambda i: place.share("ab"[i])["charged_ms"]), (first[0], second[0]), within,
            seconds=DEAR_SECONDS, window=DEAR_WINDOW)
    control = place.meted.control()
    for name in ("a", "b"):
        ok(control.ask("grant_delete", name=name)["ok"], f"{what}: the grant ends")
    control.close()


ONE_THREAD = {"POCL_MAX_PTHREAD_COUNT": "1"}
place = Place(**ONE_THREAD)
place.driver = "opencl"
spin = [CASES, "spin", str(DEAR_SECONDS), "1024", "2000"]
pair(place, "two of OpenCL", (30, spin), (70, spin), 2)

# Standing still is not charged, and holds nobody up for long.
r = place.start(CASES, "spin", "3", "256", "2000", options=["--name", "still", "-c", "50"])
r.stdout.readline()
control = place.meted.control()
pid = until(lambda: [p["pid"] for p in control.grant("still")["processes"]], 10)[0]
os.kill(pid, signal.SIGSTOP)
other = place.run(CASES, "spin", "2", "256", "2000", options=["-c", "50"])
ok(other.returncode == 0 and int(other.stdout.split()[-1]) > 0, "beside one that stands still the other gets on", other.stdout, other.stderr)
os.kill(pid, signal.SIGCONT)
out, err = r.communicate(timeout=60)
ok(r.returncode == 0, "and the one that stood goes on", out, err)
control.close()
place.close()

# The software device and the machine's OpenCL device as one card.
first = Meted("--no-opencl")
control = first.control()
card = next(d["uuid"] for d in control.ask("devices")["devices"] if d["driver"] == "soft")
control.close()
first.close()
place = Place(METE_OPENCL_CARD=card, METE_SOFT_DURATION="spin_*=2ms", **ONE_THREAD)
place.driver = "soft"
if any(d["driver"] == "opencl" for d in place.devices["devices"]):
    skip("CUDA and OpenCL on one card", "this OpenCL device tells a UUID of its own")
    place.close()
    finish()
same({d["driver"] for d in place.devices["devices"]}, {"soft"}, "two APIs, one card: it is one device")
opencl = next(d for d in place.devices["drivers"] if d["kind"] == "opencl")
ok(not opencl["usable"] and "those of the drivers above" in opencl["status"], "and OpenCL has none of its own", opencl)
r = subprocess.run([METE, "run", "--soft", "--mem", "256M", CASES, "both", str(256 * MIB)], env=place.env, stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE, text=True, timeout=100)
verdicts(r.stdout)
same(r.returncode, 0, "a program with both is refused at the sum")
pair(place, "CUDA beside OpenCL", (30, [CASES, "cuda", str(DEAR_SECONDS)]), (70, spin), 3)
place.close()
finish()
