#!/usr/bin/env python3
"""
meted's kind levelzero, with a driver that tells of a card (empty.c); one card in several APIs; a loader that is not there and a driver
that dies or hangs in the probe; what `mete devices`, doctor and CDI say: library_test.py BUILD.
"""
import glob
import json
import os
import re
import shutil
import tempfile

from kit import CASES, EMPTY, METE, MIB, SOFT, UNINITIALIZED, Place, finish, need_loader, ok, same, until

UUID = "GPU-8680c156-0500-0000-0300-000000000000"


def driver_of(place):
    return next(d for d in place.ask("devices")["drivers"] if d["kind"] == "levelzero")


def diagnose(place):
    return json.loads(place.run(whole=[METE, "doctor", "--json"]).stdout)["checks"]


# No loader, or a file of its name that is none: one line, and all else as ever.
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "libze_loader.so.1"), "w", encoding="utf-8") as f:
    f.write("this is no library\n")
place = Place(plain=True, LD_LIBRARY_PATH=folder, ZE_ENABLE_ALT_DRIVERS=EMPTY)
driver = driver_of(place)
ok(not driver["usable"] and "no Level Zero loader" in driver["status"], "a loader that is none: one line", driver)
ok(any(d["driver"] == "soft" for d in place.ask("devices")["devices"]), "and the other devices are there")
place.close()

# Where the kernel has no card of Intel's nobody is asked; the loader here would say that it is none.
drm = os.path.join(folder, "drm")
vendor = os.path.join(drm, "renderD128/device/vendor")
os.makedirs(os.path.dirname(vendor))
for number, asked in (("0x1002", False), ("0x8086", True)):
    with open(vendor, "w", encoding="utf-8") as f:
        f.write(number + "\n")
    place = Place(plain=True, LD_LIBRARY_PATH=folder, METE_DRM_DIR=drm, METE_DEV_DIR=folder)
    status = driver_of(place)["status"]
    ok(("no Level Zero loader" if asked else "no card of Intel,") in status, f"a card of the vendor {number}: asked is {asked}", status)
    place.close()
shutil.rmtree(folder)
need_loader()

place = Place(ZE_ENABLE_ALT_DRIVERS=EMPTY)
devices = place.ask("devices")
mine = [d for d in devices["devices"] if d["driver"] == "levelzero"]
same([(d["uuid"], d["name"], d["total_bytes"]) for d in mine], [(UUID, "a card for tests", 1 << 30)], "meted finds a card of Level Zero's")
driver = driver_of(place)
ok(driver["usable"] and driver["version"] == "Level Zero 1.13" and "libze_loader" in driver["libcuda"], "and its driver is known", driver)
table = place.run(whole=[METE, "devices"]).stdout
ok(re.search(r"\blevelzero\b.*a card for tests", table), "`mete devices` shows the kind", table)
# The grant of such a card: the program sees it, by the driver that is named as the one behind.
seen = place.run(CASES, "devices", options=("--levelzero",), env={"METE_LEVELZERO_DRIVER": SOFT})
same(seen.stdout.split()[0], UNINITIALIZED, "a driver that has none of the grant's devices shows none")
ok("none of Level Zero's" in seen.stderr, "and the log says why", seen.stderr)
theirs = place.run("printenv", "METE_LEVELZERO_DRIVER", options=("--levelzero",), env={"ZE_ENABLE_ALT_DRIVERS": EMPTY})
same(theirs.stdout.strip(), EMPTY, "a driver that the user has named to the loader is the one behind the face")
default = place.run("printenv", "METE_LEVELZERO_DRIVER", options=(), env={"ZE_ENABLE_ALT_DRIVERS": EMPTY})
same(default.stdout.strip(), EMPTY, "where no option names a kind the card comes before the software device")
both = place.run(CASES, "devices", options=("--levelzero", "--soft"))
ok(both.returncode and "one of the two" in both.stderr, "a grant is of one driver", both.stderr)
wall = place.run(CASES, "devices", options=("--levelzero", "--wall"))
ok(wall.returncode and "a wall is for CUDA" in wall.stderr, "such a card cannot be behind a wall", wall.stderr)
inner = place.run(METE, "run", "--soft", "--mem", "8M", "--", CASES, "quota", str(9 * MIB), str(MIB), mem="16M")
same(inner.stdout.split()[0], str(8 * MIB), "a grant within a grant is the inner one")
own = place.run("printenv", "ZE_ENABLE_ALT_DRIVERS", options=("--levelzero",))
ok(own.stdout.strip().endswith("/shim/libmete-levelzero.so"), "programs find the face by the loader's variable", own.stdout)
said = [c for c in diagnose(place) if c["name"] == "levelzero"]
ok(said and "libmete-levelzero.so" in said[0]["detail"], "`mete doctor` says that Level Zero is metered", said)

# Containers get the card's own nodes of /dev/dri, and the face.
machine = tempfile.mkdtemp()
dev = os.path.join(machine, "dev")
drm = os.path.join(machine, "drm")
os.makedirs(os.path.join(dev, "dri/by-path"))
for node in ("dri/renderD128", "dri/renderD129", "dri/card1"):
    open(os.path.join(dev, node), "w", encoding="utf-8").close()
os.symlink("../renderD129", os.path.join(dev, "dri/by-path/pci-0000:03:00.0-render"))
os.symlink("../card1", os.path.join(dev, "dri/by-path/pci-0000:03:00.0-card"))


def card(render, vendor, address):
    folder = os.path.join(machine, "devices", address)
    os.makedirs(folder)
    os.makedirs(os.path.join(drm, render))
    with open(os.path.join(folder, "vendor"), "w", encoding="utf-8") as f:
        f.write(vendor + "\n")
    os.symlink(folder, os.path.join(drm, render, "device"))


def generated(place, name):
    cdi = os.path.join(place.meted.dir, name)
    made = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": dev, "METE_DRM_DIR": drm})
    files = glob.glob(os.path.join(cdi, "mete.io-device.json"))
    if made.returncode or not files:
        return None, made.stderr
    with open(files[0], encoding="utf-8") as f:
        return {d["name"]: d["containerEdits"] for d in json.load(f)["devices"]}.get("0", {}), ""


edits, err = generated(place, "cdi")
if ok(edits is not None, "a CDI file is made where such a card is the device", err):
    same(sorted(n["path"] for n in edits.get("deviceNodes", [])), ["/dev/dri/card1", "/dev/dri/renderD129"], "its nodes are those of the card")
    ok(any("--levelzero" in h["args"] for h in edits.get("hooks", [])), "its hook makes a grant of such a card", edits.get("hooks"))
    ok("ZE_ENABLE_ALT_DRIVERS=/usr/lib/mete/shim/libmete-levelzero.so" in edits.get("env", []), "and the loader is told of the face",
       edits.get("env"))
place.close()

# A card with a number of its own is found where it is the only one of Intel's.
place = Place(ZE_ENABLE_ALT_DRIVERS=EMPTY, LEVELZERO_OWN_UUID="1")
edits, err = generated(place, "cdi")
ok(edits is None and "nodes are not known" in err, "a card whose UUID is no place, and none in the machine: refused", err)
card("renderD128", "0x10de", "0000:01:00.0")
card("renderD129", "0x8086", "0000:03:00.0")
edits, err = generated(place, "cdi2")
same(sorted(n["path"] for n in (edits or {}).get("deviceNodes", [])), ["/dev/dri/card1", "/dev/dri/renderD129"],
     "the only card of Intel's in the machine is the one")
card("renderD130", "0x8086", "0000:04:00.0")
edits, err = generated(place, "cdi3")
ok(edits is None and "nodes are not known" in err, "of two nobody knows which", err)
place.close()
shutil.rmtree(machine)

for how, expected in (("crash", "signal 6"), ("hang", "did not answer within 10 s")):
    place = Place(ZE_ENABLE_ALT_DRIVERS=EMPTY, LEVELZERO_SICK=how)
    driver = until(lambda: (lambda d: d if d["status"] else None)(driver_of(place)), 20)
    ok(driver and not driver["usable"] and expected in driver["status"], f"a driver that {how}es: {expected}", driver)
    same(driver["state"], "failed", "and it has failed")
    said = [c for c in diagnose(place) if c["name"] == "levelzero" and expected in c["detail"]]
    ok(said and said[0]["status"] == "warning" and "driver.no_levelzero" in said[0]["remedy"], "`mete doctor` shows that with the remedy", said)
    place.close()
place = Place("--no-levelzero")
same(driver_of(place)["state"], "off", "a setting that leaves it out is no failure")
ok(not [c for c in diagnose(place) if c["status"] == "warning" and c["name"] == "levelzero"], "and `mete doctor` does not warn of it")
ok("no_levelzero" in driver_of(place)["status"] and not driver_of(place)["usable"], "it can be left out", driver_of(place))
place.close()
place = Place(ZE_ENABLE_ALT_DRIVERS="/nowhere/libze.so")
said = [c for c in diagnose(place) if "no driver that starts" in c["detail"]]
ok(said and "libze1" in said[0]["remedy"], "`mete doctor` says what to install for the cards that are there", said)
ok("no driver that starts" in driver_of(place)["status"] and not driver_of(place)["usable"], "a loader without a driver: one line",
   driver_of(place))
place.close()

# The software device in two APIs is one card.
place = Place(ZE_ENABLE_ALT_DRIVERS=SOFT)
same({d["driver"] for d in place.ask("devices")["devices"]}, {"soft"}, "one card in two APIs is one device")
driver = driver_of(place)
ok(not driver["usable"] and "those of the drivers above" in driver["status"], "and Level Zero has none of its own", driver)
same(driver["state"], "joined", "which is no failure")
said = place.run("true", options=("--levelzero",)).stderr
ok("devices of other kinds: soft:0 (" in said and "--device KIND:INDEX" in said, "who asks for it is told which devices those are", said)
place.close()
finish()
