#!/usr/bin/env python3
"""
OpenCL's devices as meted and as programs see them, and what does not work: no loader, no driver, one that crashes, a layer
of the user's own, no meted: devices_test.py BUILD.
"""
import json
import os
import subprocess
import tempfile
import time

from kit import CASES, GIB, LAYER, METE, MIB, Meted, Place, finish, ok, same

place = Place()
folder = tempfile.mkdtemp(prefix="vendors-", dir=place.meted.dir)


def devices(env):
    r = subprocess.run([METE, "devices", "--json"], env=env, stdout=subprocess.PIPE, text=True)
    return json.loads(r.stdout)["devices"]


def asked(**env):
    """What another meted says of drivers in this environment."""
    m = Meted(env=env)
    control = m.control()
    answer = control.ask("devices")
    control.close()
    m.close()
    return answer


kinds = {d["driver"] for d in place.devices["devices"]}
ok({"soft", "opencl"} <= kinds, "devices of both kinds are there", kinds)
shown = devices(place.env)
again = devices(dict(place.env, OPENCL_LAYERS="/nonexistent/layer.so"))
same([d["uuid"] for d in again], [d["uuid"] for d in shown], "a device keeps its UUID from one question to the next")
table = subprocess.run([METE, "devices", "--wide"], env=place.env, stdout=subprocess.PIPE, text=True).stdout
ok("opencl" in table, "`mete devices` shows the kind", table)

# The program.
count, total, most = place.run(CASES, "devices", mem="100M").stdout.split()
same([count, total], ["1", str(100 * MIB)], "the share is what the device says it has")
ok(int(most) <= 100 * MIB, "and its largest block is not larger", most)
r = place.run("sh", "-c", "echo $OPENCL_LAYERS", env={"OPENCL_LAYERS": "/opt/own/layer.so"})
same(r.stdout.strip(), f"{os.path.realpath(LAYER)}:/opt/own/layer.so", "the user's own layer stays, behind ours")
r = place.run(METE, "run", "--opencl", "--mem", "1M", "sh", "-c", "echo $OPENCL_LAYERS")
same(r.stdout.strip(), os.path.realpath(LAYER), "a run within a run names it once")
r = subprocess.run([METE, "run", "--device", place.uuid, "--mem", "32M", CASES, "devices"], env=place.env, stdout=subprocess.PIPE, text=True)
same(r.stdout.split()[1:2], [str(32 * MIB)], "a device named by its UUID needs no word on its driver")
r = subprocess.run([METE, "run", "--soft", "--mem", "32M", CASES, "devices"], env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
ok(r.returncode == 3 and "clGetDeviceIDs: -1" in r.stdout, "a device that is not granted is not there", r.stdout, r.stderr)
ok("has no device of the grant" in r.stderr, "and the log says why", r.stderr)
r = subprocess.run([METE, "run", "--opencl", "--soft", "true"], env=place.env, stderr=subprocess.PIPE, text=True)
ok(r.returncode and "--soft with --opencl" in r.stderr, "two kinds in one grant are refused", r.stderr)
r = subprocess.run([METE, "run", "--opencl", "--wall", "true"], env=place.env, stderr=subprocess.PIPE, text=True)
ok(r.returncode and "a wall is for CUDA" in r.stderr, "a wall for OpenCL alone is refused", r.stderr)
r = subprocess.run([METE, "run", "--opencl", "--guard", "true"], env=place.env, stderr=subprocess.PIPE, text=True)
ok(r.returncode and "kind opencl is not NVIDIA's" in r.stderr, "so is the guard, which would limit another driver", r.stderr)

r = subprocess.run([METE, "cdi", "create", "--device", place.uuid, "--mem", "1M"], env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
ok(r.returncode and "OpenCL alone cannot be given to a container" in r.stderr, "a container cannot have a device with OpenCL alone, in one line", r.stderr)
r = subprocess.run([METE, "doctor", "--json"], env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
said = next((c for c in json.loads(r.stdout)["checks"] if c["name"] == "opencl"), None)
ok(said and said["status"] == "ok" and LAYER in said["detail"], "`mete doctor` names the loader and the layer", said)

# No meted.
env = dict(place.env, OPENCL_LAYERS=LAYER, METE_SOCKET=os.path.join(folder, "nobody"), METE_LOG="stderr")
r = subprocess.run([CASES, "devices"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
ok(r.returncode == 3 and "clGetDeviceIDs: -5" in r.stdout, "without meted there is no device", r.stdout)
same(r.stderr.count("cannot attach to meted"), 1, "said once")
r = subprocess.run([CASES, "devices"], env=dict(env, METE_OPEN="1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
ok(r.returncode == 0 and int(r.stdout.split()[1]) > GIB // 2, "METE_OPEN=1: then it runs without a limit", r.stdout, r.stderr)
env.pop("METE_SOCKET")
r = subprocess.run([CASES, "devices"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
ok(r.returncode == 0 and not r.stderr, "outside a grant the layer does nothing", r.stderr)

# What the probe meets.
answer = asked(OCL_ICD_VENDORS=os.path.join(folder, "empty"))
said = {d["kind"]: d for d in answer["drivers"]}
ok(not said["opencl"]["usable"] and "no vendor's driver" in said["opencl"]["status"], "a loader without drivers is one line",
   said["opencl"])
with open(os.path.join(folder, "crash.icd"), "w", encoding="utf-8") as f:
    f.write(os.path.join(os.path.dirname(CASES), "libcrash_icd.so") + "\n")
answer = asked(OCL_ICD_VENDORS=folder)
said = {d["kind"]: d for d in answer["drivers"]}
ok(not said["opencl"]["usable"] and "signal 6" in said["opencl"]["status"], "a driver that crashes is one line", said["opencl"])
ok(said["soft"]["usable"] and any(d["driver"] == "soft" for d in answer["devices"]), "and the other kinds are there")
with open(os.path.join(folder, "crash.icd"), "w", encoding="utf-8") as f:
    f.write(os.path.join(os.path.dirname(CASES), "libhang_icd.so") + "\n")
begun = time.monotonic()
answer = asked(OCL_ICD_VENDORS=folder)
said = {d["kind"]: d for d in answer["drivers"]}
ok("did not answer within 10 s" in said["opencl"]["status"] and said["soft"]["usable"],
   "a driver that hangs, and has started a process that holds on, is one line", said["opencl"])
ok(time.monotonic() - begun < 40, "and meted does not wait for that process", time.monotonic() - begun)
m = Meted(env={"OCL_ICD_VENDORS": folder})
for words in (["--soft"], []):
    begun = time.monotonic()
    r = subprocess.run([METE, "run", *words, "--mem", "1M", "true"], env=dict(m.env, METE_RUNTIME_DIR=m.dir), stderr=subprocess.PIPE, text=True)
    ok(r.returncode == 0 and time.monotonic() - begun < 8, f"`mete run {' '.join(words)}` does not wait for it", r.stderr, time.monotonic() - begun)
said = {d["kind"]: d for d in m.control().ask("devices")["drivers"]}
ok("did not answer within 10 s" in said["opencl"]["status"] and said["soft"]["usable"], "who asks for all devices does", said["opencl"])
m.close()
m = Meted("--no-opencl")
control = m.control()
said = {d["kind"]: d for d in control.ask("devices")["drivers"]}
ok("no_opencl" in said["opencl"]["status"] and not said["opencl"]["usable"], "it can be left out", said["opencl"])
control.close()
m.close()
place.close()
finish()
