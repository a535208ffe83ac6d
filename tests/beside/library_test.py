#!/usr/bin/env python3
"""
meted's kinds ascend and cambricon: found by a child that asks the vendor's library (here: the stand-in), joined with the software device
where the card is the same, chosen by name, shown; and libraries that are missing, of another version, or that crash: library_test.py BUILD
VENDOR.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from kit import BUILD, METE, MIB, SHIM, VENDORS, Place, finish, ok, same, until

word = sys.argv[2]
vendor = VENDORS[word]
FACE = os.path.join(SHIM, f"libmete-{word}.so")
NODES = {"ascend": (["davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc"], "davinci1"),
         "cambricon": (["cambricon_dev0", "cambricon_dev1", "cambricon_ctl", "cambricon_ipcm0"], "cambricon_dev1")}
VERSION = {"ascend": "AscendCL 1.16.0", "cambricon": "CNDrv 2.15.5"}[word]
# A chip's number where nothing else is told; else its place on the bus.
UUID = {"ascend": "GPU-41434c30-0000-0000-0000-000000000000", "cambricon": "GPU-00000000-4000-0000-0000-000000000000"}[word]
OWN = {"METE_STAND_IN_CARDS": "1"}
LIB = f"--lib{word}"


def driver_of(place):
    return until(lambda: (lambda d: d if d["status"] else None)(next(d for d in place.ask("devices")["drivers"] if d["kind"] == word)), 20)


# A part of a chip by a template, which Ascend's runtime tells of newer versions.
if word == "ascend":
    place = Place(word, LIB, vendor.library, METE_STAND_IN_VIRTUAL="1", **OWN)
    parts = [d["partition"] for d in place.ask("devices")["devices"] if d["driver"] == word]
    same(parts, [{"of": f"chip {n}", "mode": "vNPU", "number": None} for n in range(2)], "a virtual NPU names its chip")
    place.close()

# A card of its own kind.
place = Place(word, LIB, vendor.library, **OWN)
place.env.pop("METE_FACES")
devices = place.ask("devices")
mine = [d for d in devices["devices"] if d["driver"] == word]
same(len(mine), 2, "the child finds the two cards")
same(mine[0]["uuid"], UUID, "a card that tells no UUID has one from what it tells")
same([d["partition"] for d in mine], [None, None], "whole cards are no partitions")
driver = driver_of(place)
ok(driver["usable"] and driver["version"] == VERSION and driver["libcuda"] == os.path.realpath(vendor.library), "its driver is known", driver)
table = place.run(whole=[METE, "devices"]).stdout
ok(re.search(rf"\b{word}\b.*stand-in", table), "`mete devices` shows the kind", table)
quota = [vendor.cases, "quota", str(65 * MIB), str(MIB)]
for what, options in (("named by its kind", (f"--{word}",)), ("the first where none is named", ()), ("named by its UUID", ("--device", UUID))):
    done = place.run(*quota, options=options)
    same(done.stdout.split(), [str(64 * MIB), str(vendor.no_memory)], f"a program under a grant of such a card has its quota: {what}")
done = place.run(vendor.cases, "devices", options=(f"--{word}", "--device", "1"))
same(done.stdout.split(), ["1", str(64 * MIB)], "of two cards it sees the one of its grant, by the vendor's own variable")
both = place.run(vendor.cases, "devices", options=(f"--{word}", "--soft"))
ok(both.returncode and "one of the two" in both.stderr, "a grant is of one driver", both.stderr)
wall = place.run(vendor.cases, "devices", options=(f"--{word}", "--wall"))
ok(wall.returncode and f"of kind {word}" in wall.stderr, "such a card cannot be behind a wall", wall.stderr)
text = place.run("sh", "-c", "echo $LD_PRELOAD", options=(f"--{word}",)).stdout
ok(FACE in text, "the face is preloaded", text)
text = place.run("sh", "-c", f"{METE} run --soft -- sh -c 'echo $LD_PRELOAD'", options=(f"--{word}",)).stdout
ok(FACE not in text, "an inner run takes it out again", text)
doctor = json.loads(place.run(whole=[METE, "doctor", "--json"]).stdout)
said = [c for c in doctor["checks"] if c["name"] == word]
ok(said and os.path.basename(FACE) in said[0]["detail"], "`mete doctor` says that they are metered", said)
metrics = place.ask("devices")["devices"]
ok(any(d["driver"] == word and d["total_bytes"] for d in metrics), "and its memory is known", metrics)

# Containers get the card's nodes, those that all share, and the face.
nodes, own = NODES[word]
dev = os.path.join(place.meted.dir, "dev")
os.makedirs(dev)
for node in nodes:
    open(os.path.join(dev, node), "w").close()
cdi = os.path.join(place.meted.dir, "cdi")
made = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": dev})
files = glob.glob(os.path.join(cdi, "mete.io-device.json"))
if ok(made.returncode == 0 and len(files) == 1, "a CDI file is made where such a card is the device", made.stdout, made.stderr, files):
    with open(files[0], encoding="utf-8") as f:
        of = {d["name"]: d["containerEdits"] for d in json.load(f)["devices"]}
    paths = {n["path"] for n in of["1"].get("deviceNodes", [])}
    other = {f"/dev/{n}" for n in nodes if re.search(r"\d$", n) and n != own}
    ok(f"/dev/{own}" in paths and not paths & other, "its nodes are those of the card", paths)
    ok({f"/dev/{n}" for n in nodes if not re.search(r"\d$", n)} <= paths, "and those that all cards share", paths)
    ok(any(f"--{word}" in h["args"] for h in of["1"].get("hooks", [])), "its hook makes a grant of such a card", of["1"].get("hooks"))
lost = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": os.path.join(dev, "none")})
ok(lost.returncode and "driver" in lost.stderr, "without the kernel's driver it is refused with the remedy", lost.stderr)
place.close()

# The same card in two APIs is one device.
place = Place(word, LIB, vendor.library)
same({d["driver"] for d in place.ask("devices")["devices"]}, {"soft"}, "one card in two APIs is one device")
driver = driver_of(place)
ok(not driver["usable"] and "those of the drivers above" in driver["status"], "and this one has none of its own", driver)
place.close()

# A library that prints is no worse for it.
place = Place(word, LIB, vendor.library, METE_STAND_IN="print", **OWN)
driver = driver_of(place)
ok(driver["usable"], "what a library prints is not taken for the answer", driver)
place.close()

# Libraries that are none.
for how, expected in (("crash", "signal 6"), ("hang", "did not answer within 10 s")):
    place = Place(word, LIB, vendor.library, METE_STAND_IN=how)
    driver = driver_of(place)
    ok(driver and not driver["usable"] and expected in driver["status"], f"a library that {how}es: {expected}", driver)
    place.close()
other = os.path.join(BUILD, "tests/beside/libmete-soft-npu.so")
dev = tempfile.mkdtemp()
node = {"ascend": "davinci_manager", "cambricon": "cambricon_ctl"}[word]
HERE, NOWHERE = os.path.join(dev, "here"), os.path.join(dev, "nowhere")
for folder in (HERE, NOWHERE):
    os.mkdir(folder)
open(os.path.join(HERE, node), "w", encoding="utf-8").close()
for what, options, where, expected in (("none is installed", (), HERE, f"no lib{'ascendcl' if word == 'ascend' else 'cndrv'}.so here"),
                                       ("no card", (), NOWHERE, f"no /dev/{node}"),
                                       ("left out", (f"--no-{word}",), HERE, f"no_{word}"),
                                       ("another library", (LIB, other), NOWHERE, "is none that this meted knows")):
    place = Place(word, *options, METE_DEV_DIR=where, LD_LIBRARY_PATH="")  # that of whoever runs the test may lead to the stand-in
    driver = driver_of(place)
    ok(driver and not driver["usable"] and expected in driver["status"], f"{what}: one line", driver)
    place.close()
shutil.rmtree(dev)
checked = subprocess.run([os.path.join(BUILD, "src/daemon/meted"), LIB, "/nowhere/lib.so", "--check-config"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
ok(checked.returncode and LIB in checked.stdout, "a library that is not there is named by --check-config", checked.stdout)

# A program that uses nothing of the vendor's, and one whose library lacks calls, run as without mete.
place = Place(word)
done = place.run("sh", "-c", "echo fine")
same((done.stdout, done.stderr), ("fine\n", ""), "a program without the vendor's library")
old = os.path.join(place.meted.dir, "old.c")
call = {"ascend": "aclrtMallocAlign32(&p, 64, 0)", "cambricon": "cnrtMallocConstant(&p, 64)"}[word]
declare = {"ascend": "int aclrtMallocAlign32(void **, unsigned long, int)", "cambricon": "int cnrtMallocConstant(void **, unsigned long)"}[word]
with open(old, "w", encoding="utf-8") as f:
    f.write(f'#include <stdio.h>\n{declare};\nint main(void) {{ void *p; printf("%d\\n", {call}); return 0; }}\n')
stub = os.path.join(place.meted.dir, "stub.c")
with open(stub, "w", encoding="utf-8") as f:
    name = call.split("(")[0]
    f.write(f"int {name}(void **p, unsigned long n) {{ *p = 0; return 17; }}\n")
cc = os.environ.get("CC", "cc").split()
lib = os.path.join(place.meted.dir, os.path.basename(vendor.library) if word == "ascend" else "libcnrt.so")
subprocess.run([*cc, "-shared", "-fPIC", "-o", lib, stub], check=True)
program = os.path.join(place.meted.dir, "old")
subprocess.run([*cc, "-o", program, old, lib, f"-Wl,-rpath,{place.meted.dir}"], check=True)
same(place.run(program).stdout, "17\n", "a library with that one call alone: its own answer")

# A call that this release does not know is found by who asks for it: it is counted, and refused with --strict.
ask, known = {"ascend": ("int aclrtMallocNewer(void **, unsigned long, int)", "aclrtMalloc(&p, 512, 0)"),
              "cambricon": ("int cnrtMallocNewer(void **, unsigned long)", "cnrtMalloc(&p, 512)")}[word]
more, place_call = known.split("(")[0], {"ascend": "aclrtSetDevice", "cambricon": "cnrtSetDevice"}[word]
with open(old, "w", encoding="utf-8") as f:
    f.write(f"#include <stdio.h>\n{ask};\nint {place_call}(int);\nint {more}(void **, unsigned long, ...);\nint {more}Host(void **, unsigned long);\n"
            f"int main(int n, char **v) {{ void *p; if (n > 8) return {more}Newer(&p, 1{', 0' * (word == 'ascend')}) + {more}Host(&p, 1);"
            f" {place_call}(0); printf(\"%d\\n\", {known}); fflush(stdout); getchar(); return 0; }}\n")
with open(stub, "w", encoding="utf-8") as f:
    f.write(f"int {more}Newer(void) {{ return 0; }}\nint {more}Host(void) {{ return 0; }}\n")
newer = os.path.join(place.meted.dir, "libnewer.so")
subprocess.run([*cc, "-shared", "-fPIC", "-o", newer, stub], check=True)
subprocess.run([*cc, "-o", program, old, newer, vendor.library if word == "ascend" else vendor.library.replace("cndrv", "cnrt"),
                "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{os.path.dirname(vendor.library)}:{place.meted.dir}"], check=True)
with place.start(program, options=("--soft", "--name", "newer")) as running:
    same(running.stdout.readline(), "0\n", "a program that asks for a newer call runs")
    grant = [g for g in place.ask("grants")["grants"] if g["name"] == "newer"][0]
    same(grant["unknown_calls"], 1, "and that call is counted")
    running.communicate("\n")
done = place.run(program, options=("--soft", "--strict"))
ok(done.stdout.strip() not in ("", "0") and f"{more}Newer" in done.stderr and "--strict" in done.stderr,
   "with --strict it is refused, and told why", done)
place.close()
finish()
