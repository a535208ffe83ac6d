#!/usr/bin/env python3
"""
AMD's own libamdhip64 behind the face, where one is installed (Debian: libamdhip64-5), and meted's kind hip with a library that
tells what AMD's does: library_test.py BUILD. There is no card here: with AMD's own the path without a device is what is tried.
"""
import ctypes.util
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from kit import AMD, BUILD, CASES, FACE, METE, MIB, SHIM, SOFT, Place, finish, ok, same, skip, until

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "api/hip.toml")


def exports(path):
    text = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(m.groups() for m in re.finditer(r" (?:FUNC|NOTYPE) +(?:GLOBAL|WEAK) +DEFAULT +(?!UND)\w+ +([\w]+)@@([\w.]+)", text))


ours = exports(FACE)
same(exports(os.path.join(SOFT, "libmete-soft-hip.so")), ours, "face and software device export the same names and versions")
found = sorted(p for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/opt/rocm/lib")
               for p in glob.glob(f"{folder}/libamdhip64.so.[567]"))
if not found:
    skip("AMD's library behind the face", "no libamdhip64.so.5 to .7 is installed (Debian: libamdhip64-5)")
for real in found:
    theirs = exports(real)
    missing = sorted(n for n, v in theirs.items() if ours.get(n) != v)
    if real.endswith(".5"):
        same(missing, [], f"{real}: each of its {len(theirs)} exports is ours, with its version")
    else:
        ok(len(missing) < 40, f"{real}: exports that we do not know pass us by", missing)
    program = ("import ctypes, sys; h = ctypes.CDLL(sys.argv[1]); n = ctypes.c_int(-1); p = ctypes.c_void_p(); e = h.hipGetErrorName; "
               "e.restype = ctypes.c_char_p; r = h.hipGetDeviceCount(ctypes.byref(n)); "
               "print(h.hipInit(0), r, n.value, h.hipMalloc(ctypes.byref(p), ctypes.c_size_t(4096)), h.hipFree(None), e(r).decode())")
    bare = subprocess.run([sys.executable, "-c", program, real], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    place = Place()
    for name in (os.path.join(SHIM, "hip", os.path.basename(real)), "libamdhip64.so"):
        under = place.run(sys.executable, "-c", program, name, env={"METE_HIP_DRIVER": real})
        same((under.returncode, under.stdout), (bare.returncode, bare.stdout), f"{real} without a card, by the name {name}: as without mete")
    place.close()

# meted finds AMD's cards by a child of its own; one that dies or hangs is one line.
place = Place("--libhip", AMD)
devices = place.ask("devices")
mine = [d for d in devices["devices"] if d["driver"] == "hip"]
same([d["uuid"] for d in mine], ["GPU-00000000-0300-0000-0000-000000000000"], "a card that tells a serial number is called by its place")
driver = next(d for d in devices["drivers"] if d["kind"] == "hip")
ok(driver["usable"] and driver["version"] == "HIP 6.2" and driver["libcuda"] == os.path.realpath(AMD), "and its driver is known", driver)
table = place.run(whole=[METE, "devices"]).stdout
ok(re.search(r"\bhip\b.*a card for tests", table), "`mete devices` shows the kind", table)
env = {"METE_HIP_DRIVER": ""}
folder = os.path.join(place.meted.dir, "amd")
os.mkdir(folder)
os.symlink(AMD, os.path.join(folder, "libamdhip64.so.6"))
library_path = {"LD_LIBRARY_PATH": folder}
done = place.run(CASES, "quota", str(65 * MIB), str(MIB), options=("--hip",), env=library_path)
same(done.stdout.split(), [str(64 * MIB), "2"], "a program under a grant of such a card has its quota")
seen = place.run(CASES, "devices", options=("--hip",), env=library_path).stdout.split("\n")
same(seen[:2], ["0 1", f"0 {64 * MIB} {64 * MIB} {64 * MIB} {64 * MIB} {64 * MIB} a card for tests"], "and sees its share")
auto = place.run(CASES, "quota", str(65 * MIB), str(MIB), options=(), env=library_path)
same(auto.stdout.split(), [str(64 * MIB), "2"], "AMD's card comes before the software device where none is named")
both = place.run(CASES, "devices", options=("--hip", "--soft"))
ok(both.returncode and "one of the two" in both.stderr, "a grant is of one driver", both.stderr)
wall = place.run(CASES, "devices", options=("--hip", "--wall"))
ok(wall.returncode and "of kind hip" in wall.stderr, "such a card cannot be behind a wall", wall.stderr)
doctor = json.loads(place.run(whole=[METE, "doctor", "--json"]).stdout)
said = [c for c in doctor["checks"] if c["name"] == "hip"]
ok(said and "libmete-hip.so" in said[0]["detail"], "`mete doctor` says that HIP is metered", said)
# Containers get the kernel's device, the nodes of the card alone, and the face; nothing of CUDA's.
dev = os.path.join(place.meted.dir, "dev")
os.makedirs(os.path.join(dev, "dri/by-path"))
for node in ("kfd", "dri/renderD128", "dri/renderD129", "dri/card1"):
    open(os.path.join(dev, node), "w").close()
os.symlink("../renderD129", os.path.join(dev, "dri/by-path/pci-0000:03:00.0-render"))
os.symlink("../card1", os.path.join(dev, "dri/by-path/pci-0000:03:00.0-card"))
cdi = os.path.join(place.meted.dir, "cdi")
made = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": dev})
files = glob.glob(os.path.join(cdi, "mete.io-device.json"))
if ok(made.returncode == 0 and len(files) == 1, "a CDI file is made where AMD's card is the device", made.stdout, made.stderr, files):
    with open(files[0], encoding="utf-8") as f:
        of = {d["name"]: d["containerEdits"] for d in json.load(f)["devices"]}
    edits = of.get("0", {})
    same(sorted(n["path"] for n in edits.get("deviceNodes", [])), ["/dev/dri/card1", "/dev/dri/renderD129", "/dev/kfd"],
         "its nodes are those of the card")
    ok(any("--hip" in h["args"] for h in edits.get("hooks", [])), "its hook makes a grant of such a card", edits.get("hooks"))
lost = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": os.path.join(dev, "dri")})
ok(lost.returncode and "amdgpu" in lost.stderr, "without the kernel's driver it is refused with the remedy", lost.stderr)
place.close()

# A card in partitions: each is a device of its own, with its memory, its ledger and its nodes. HIP tells them apart by the function.
scratch = tempfile.mkdtemp(prefix="mete-hip-")
pci = os.path.join(scratch, "pci/0000:03:00.0")
os.makedirs(pci)
mode = os.path.join(pci, "current_compute_partition")
with open(mode, "w", encoding="utf-8") as f:
    f.write("TPX\n")
parts = {"AMD_HIP_ADDRESS": "0000:03:00.0,0000:03:00.1,0000:03:00.2", "METE_PCI_DIR": os.path.dirname(pci)}
place = Place("--libhip", AMD, **parts)
mine = [d for d in place.ask("devices")["devices"] if d["driver"] == "hip"]
same([d["uuid"][-8:] for d in mine], ["00000000", "01000000", "02000000"], "three partitions of one card are three devices")
same({d["total_bytes"] for d in mine}, {(8 << 30) // 3}, "each with its own memory")
same([d["partition"] for d in mine], [{"of": "0000:03:00.0", "mode": "TPX", "number": n} for n in range(3)], "each says which part it is, and of which card")
table = place.run(whole=[METE, "devices", "--wide"]).stdout
ok("a card for tests (TPX 2 of 0000:03:00.0)" in table, "so does `mete devices`", table)
given = [place.ask("grant_create", name=f"part-{i}", driver="hip", devices=[{"device": d["uuid"], "mem_bytes": 2 << 30}]) for i, d in enumerate(mine)]
ok(all(g["ok"] for g in given), "each has a ledger of its own", given)
more = place.ask("grant_create", name="more", driver="hip", devices=[{"device": mine[1]["uuid"], "mem_bytes": 2 << 30}])
ok(not more["ok"], "which ends at the partition's memory, not at the card's", more)
folder = os.path.join(scratch, "lib")
os.mkdir(folder)
os.symlink(AMD, os.path.join(folder, "libamdhip64.so.6"))
inside = {**parts, "METE_HIP_DRIVER": "", "LD_LIBRARY_PATH": folder}
chosen = ("--hip", "--device", mine[1]["uuid"])
seen = place.run(CASES, "devices", options=chosen, env=inside).stdout.split("\n")
same(seen[0], "0 1", "a program under a grant of a partition sees that one device")
done = place.run(CASES, "quota", str(65 * MIB), str(MIB), options=chosen, env=inside)
same(done.stdout.split(), [str(64 * MIB), "2"], "and has its quota there")
dev = os.path.join(scratch, "dev")
os.makedirs(os.path.join(dev, "dri/by-path"))
for node in ("kfd", "dri/renderD128", "dri/renderD136", "dri/renderD137"):
    open(os.path.join(dev, node), "w").close()
os.symlink("../renderD128", os.path.join(dev, "dri/by-path/pci-0000:03:00.0-render"))
for number, location, minor in ((0, 0, 0), (1, 768, 128), (2, 769, 136), (3, 768 | 2 << 28, 137)):
    os.makedirs(os.path.join(scratch, f"kfd/{number}"))
    with open(os.path.join(scratch, f"kfd/{number}/properties"), "w", encoding="utf-8") as f:
        f.write(f"simd_count 152\nlocation_id {location}\ndomain 0\ndrm_render_minor {minor}\n")
cdi = os.path.join(scratch, "cdi")
made = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": dev, "METE_KFD_DIR": os.path.join(scratch, "kfd")})
nodes = {}
if ok(made.returncode == 0, "a CDI file is made where the devices are partitions", made.stdout, made.stderr):
    with open(os.path.join(cdi, "mete.io-device.json"), encoding="utf-8") as f:
        nodes = {d["name"]: sorted(n["path"] for n in d["containerEdits"]["deviceNodes"]) for d in json.load(f)["devices"]}
same([nodes.get(n) for n in "012"], [["/dev/dri/renderD128", "/dev/kfd"], ["/dev/dri/renderD136", "/dev/kfd"], ["/dev/dri/renderD137", "/dev/kfd"]],
     "each gets the node of its own partition, wherever the kernel tells the number")
place.close()
with open(mode, "w", encoding="utf-8") as f:
    f.write("SPX\n")
place = Place("--libhip", AMD, METE_PCI_DIR=os.path.dirname(pci))
same([d["partition"] for d in place.ask("devices")["devices"] if d["driver"] == "hip"], [None], "a card that is in one piece is no partition")
place.close()
# A driver that tells the number nowhere in the place: one device and one line, not two with one name.
twice = {"AMD_HIP_ADDRESS": "0000:03:00.0,0000:03:00.0"}
place = Place("--libhip", AMD, **twice)
answer = place.ask("devices")
same(len([d for d in answer["devices"] if d["driver"] == "hip"]), 1, "of two devices that are called the same, one is shared")
status = next(d for d in answer["drivers"] if d["kind"] == "hip")["status"]
same(status, "1 device; 1 more are called the same as one of these, and are not shared", "and its driver says so")
seen = place.run(CASES, "devices", options=("--hip",), env={**twice, "METE_HIP_DRIVER": "", "LD_LIBRARY_PATH": folder}).stdout.split("\n")
same(seen[0], "0 1", "a program sees the one as well")
place.close()
shutil.rmtree(scratch)
for how, expected in (("crash", "signal 6"), ("hang", "did not answer within 10 s")):
    place = Place("--libhip", AMD, AMD_HIP=how)
    driver = until(lambda: (lambda d: d if d["status"] else None)(next(d for d in place.ask("devices")["drivers"] if d["kind"] == "hip")), 20)
    ok(driver and not driver["usable"] and expected in driver["status"], f"a library that {how}es: {expected}", driver)
    place.close()
place = Place("--no-hip")
driver = next(d for d in place.ask("devices")["drivers"] if d["kind"] == "hip")
ok("no_hip" in driver["status"] and not driver["usable"], "it can be left out", driver)
place.close()

# The software device in two APIs is one card.
place = Place("--libhip", os.path.join(SOFT, "libmete-soft-hip.so"))
devices = place.ask("devices")
same({d["driver"] for d in devices["devices"]}, {"soft"}, "one card in two APIs is one device")
driver = next(d for d in devices["drivers"] if d["kind"] == "hip")
ok(not driver["usable"] and "those of the drivers above" in driver["status"], "and HIP has none of its own", driver)
place.close()

# A card without a UUID that OpenCL finds at the same place is that card.
empty = os.path.join(BUILD, "tests/opencl/libempty_icd.so")
if os.path.exists(empty):
    vendors = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mete-hip-vendors-{os.getpid()}")
    os.mkdir(vendors)
    with open(os.path.join(vendors, "empty.icd"), "w", encoding="utf-8") as f:
        f.write(empty + "\n")
    for bus, kinds in (("3", ["hip"]), ("4", ["hip", "opencl"])):
        place = Place("--libhip", AMD, OCL_ICD_VENDORS=vendors, EMPTY_ICD_BUS=bus)
        devices = [d["driver"] for d in place.ask("devices")["devices"] if d["driver"] != "soft"]
        same(sorted(devices), kinds, f"HIP's card on bus 3 and OpenCL's on bus {bus}")
        place.close()
    os.unlink(os.path.join(vendors, "empty.icd"))
    os.rmdir(vendors)
else:
    skip("one card in HIP and OpenCL", "this build has no OpenCL")
finish()
