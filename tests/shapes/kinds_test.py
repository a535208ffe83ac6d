#!/usr/bin/env python3
"""
Kinds of devices whose library is CUDA or HIP under other names: how meted finds them, grants of them, and what shows them:
kinds_test.py BUILD. The libraries are the software device's stand-ins, which here tell UUIDs of their own.
"""
import glob
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "hip"))

from kit import AMD, BUILD, METE, MIB, Place, finish, ok, same, until

SHAPED = os.path.join(BUILD, "src/softdev/shaped")
LIBRARY = {kind: os.path.join(SHAPED, f"libmete-soft-{kind}.so") for kind in ("musa", "maca", "corex")}
SOFT = os.path.join(BUILD, "src/softdev")
MUSA, MACA, COREX = (os.path.join(BUILD, "tests/shapes", n) for n in ("musa_cases", "maca_cases", "corex_cases"))
OWN = {"METE_STAND_IN_CARDS": "1"}


def driver(place, kind):
    return next(d for d in place.ask("devices")["drivers"] if d["kind"] == kind)


place = Place("--libmusa", LIBRARY["musa"], "--libmaca", LIBRARY["maca"], "--libcorex", LIBRARY["corex"], **OWN)
devices = place.ask("devices")["devices"]
for kind, program in (("musa", MUSA), ("maca", MACA), ("corex", COREX)):
    mine = [d for d in devices if d["driver"] == kind]
    soft = [d["uuid"] for d in devices if d["driver"] == "soft"]
    ok(mine and not {d["uuid"] for d in mine} & set(soft), f"{kind}: meted finds cards of its own", devices)
    is_ = driver(place, kind)
    ok(is_["usable"] and is_["libcuda"] == LIBRARY[kind], f"{kind}: its driver is known", is_)
    ok(re.search(rf"\b{kind}\b", place.run(whole=[METE, "devices"]).stdout), f"{kind}: `mete devices` shows the kind")
    seen = place.run(program, "devices", options=(f"--{kind}",)).stdout
    ok(re.search(rf"^0( {64 * MIB})+ ", seen, re.M), f"{kind}: a program sees its share as the card's size", seen)
    got = place.run(program, "race", str(MIB), "3", options=(f"--{kind}",))
    same(got.stdout.split(), [str(64 * MIB), "3"], f"{kind}: and gets no more than its quota")
    other = place.run(program, "devices", options=(f"--{kind}", "--soft"))
    ok(other.returncode and "one of the two" in other.stderr, f"{kind}: a grant is of one driver", other.stderr)
    if kind != "corex":  # which has CUDA's names, so that there is a wall for it
        wall = place.run(program, "devices", options=(f"--{kind}", "--wall"))
        ok(wall.returncode and f"a device of kind {kind} has none" in wall.stderr, f"{kind}: such a card cannot be behind a wall", wall.stderr)
    named = place.run(program, "race", str(MIB), "1", options=("--device", mine[0]["uuid"]))
    same(named.stdout.split(), [str(64 * MIB), "1"], f"{kind}: named by its UUID, the device needs no word on its kind")
    place.grant(f"of-{kind}", 64 * MIB, driver=kind)
    under = [METE, "run", "--grant", f"of-{kind}", "--", program]
    racers = [place.start(whole=[*under, "race", str(MIB), "20"]) for _ in range(8)]
    for r in racers:
        out, err = r.communicate(timeout=100)
        ok(r.returncode == 0 and int(out.split()[1]) == 20, f"{kind}: one of eight takes what is there", r.returncode, out, err)
    share = place.share(f"of-{kind}")
    ok(share["held_bytes"] == 0 and share["peak_bytes"] <= 64 * MIB, f"{kind}: never more than the quota, and nothing left", share)
    holder = place.start(whole=[*under, "hold", str(8 * MIB)])
    same(holder.stdout.readline(), "held\n", f"{kind}: a program holds")
    ok(place.share(f"of-{kind}")["held_bytes"] >= 8 * MIB, f"{kind}: it is charged", place.share(f"of-{kind}"))
    os.kill(place.processes(f"of-{kind}")[0], signal.SIGKILL)
    holder.communicate()
    ok(until(lambda: place.share(f"of-{kind}")["held_bytes"] == 0, 30), f"{kind}: killed, it holds nothing", place.share(f"of-{kind}"))
seen = place.run("sh", "-c", 'echo "$METE_DRIVER"; for d in $(echo "$LD_LIBRARY_PATH" | tr : " "); do ls $d/libixml.so 2>/dev/null; done',
                 options=("--corex",)).stdout.split("\n")
ok(seen[0] == LIBRARY["corex"] and seen[1].endswith("shim/corex/libixml.so"), "corex: CUDA's face stands before it, NVML's before libixml.so", seen)
auto = place.run(MUSA, "race", str(MIB), "1", options=())
same(auto.stdout.split(), [str(64 * MIB), "1"], "a vendor's card comes before the software device where none is named")

# An index that cards of several kinds have names none of them; the software device's yields to theirs.
for words in (("cordon", "0"), ("uncordon", "0"), ("drain", "0", "--grace", "1"), ("policy", "0", "fair"), ("events", "--device", "0")):
    said = place.run(whole=[METE, *words])
    ok(said.returncode and re.search(r"several kinds.* musa:0, maca:0, corex:0", said.stderr), f"`mete {' '.join(words)}` is refused with the remedy",
       said.stdout, said.stderr)
answer = place.ask("device_cordon", device="0")
same(answer.get("code"), "ambiguous-device", "and so it is on the control socket")
for kind, word in (("maca", "maca:0"), ("soft", "soft:0")):
    uuid = next(d["uuid"] for d in devices if (d["driver"], d["index"]) == (kind, 0))

    def states():
        return {d["uuid"]: d["state"] for d in place.ask("devices")["devices"] if d["state"] != "active"}

    said = place.run(whole=[METE, "cordon", word])
    same((said.returncode, states()), (0, {uuid: "cordoned"}), f"{word} is that device alone")
    refused = place.run("true", options=("--device", word))
    ok(refused.returncode and f"mete uncordon {kind}:0" in refused.stderr, "who wants it is told how it comes back", refused.stderr)
    said = place.run(whole=[METE, "uncordon", word])
    same((said.returncode, states()), (0, {}), f"and {word} is back")
done = place.run(MACA, "devices", options=("--device", "maca:0:32M"), mem=None)
ok(re.search(rf"^0( {32 * MIB})+ ", done.stdout, re.M), "--device maca:0:32M is a card of that kind, with a size", done.stdout, done.stderr)
lost = place.run("true", options=("--device", "hip:0"))
ok(lost.returncode and "hip:0: no such device" in lost.stderr and "musa:0 (" in lost.stderr, "a kind without such a device: all are named", lost.stderr)
for word in ("maca:0", next(d["uuid"] for d in devices if (d["driver"], d["index"]) == ("maca", 0))):
    made = place.ask("grant_create", name="named", devices=[{"device": word, "mem_bytes": MIB}])
    same((made["ok"], made.get("grant", {}).get("driver", {}).get("kind")), (True, "maca"), f"on the control socket {word} needs no word on its kind either")
    place.ask("grant_delete", name="named")
bad = place.ask("grant_create", name="bad", devices=[{"device": "hip:0", "mem_bytes": MIB}])
ok(not bad["ok"] and "hip" in bad["error"], "and of a kind without devices there is none", bad)
bad = place.ask("grant_create", name="bad", driver="musa", devices=[{"device": "maca:0", "mem_bytes": MIB}])
same((bad["ok"], bad.get("code")), (False, "unknown-device"), "a word on another kind holds")
said = place.run("true", options=("--maca", "--spill"))
ok(said.returncode and "CUDA's alone" in said.stderr and "--spill" in said.stderr, "--spill where no memory can leave is refused", said.stderr)
same(place.run("true", options=("--musa", "--spill")).returncode, 0, "and taken where the face is CUDA's")
listed = [place.run(whole=[METE, "ps", *words]).stdout for words in ((), ("--wide",))]
for text in listed:
    ok(re.search(r"^NAME .* DEV +DRIVER ", text) and re.search(r"^of-maca .* maca ", text, re.M), "`mete ps` names the kinds where there are several", text)
bad = place.ask("devices", driver="junk")
ok(not bad["ok"] and bad["code"] == "no-driver" and "cambricon" in bad["error"], "`devices` refuses a driver that there is not", bad)
bad = place.ask("grant_create", name="bad", driver="mosa", devices=[{"device": "0", "mem_bytes": MIB}])
ok(not bad["ok"] and "musa" in json.dumps(bad), "another word is no driver", bad)
doctor = json.loads(place.run(whole=[METE, "doctor", "--json"]).stdout)
ok([c for c in doctor["checks"] if c["name"] in ("shapes", "musa", "maca", "corex")], "`mete doctor` speaks of them", [c["name"] for c in doctor["checks"]])

# A container gets the nodes of the vendor's cards and the face.
dev = os.path.join(place.meted.dir, "dev")
os.makedirs(os.path.join(dev, "dri"))
for node in ("mtgpu.0", "mtgpu.1", "dri/card0", "dri/renderD128", "dri/card1", "dri/renderD129"):
    open(os.path.join(dev, node), "w").close()
drm = os.path.join(place.meted.dir, "drm")
for node, number in (("card0", "0x1ed5"), ("renderD128", "0x1ed5"), ("card1", "0x8086"), ("renderD129", "0x8086")):
    os.makedirs(os.path.join(drm, node, "device"))
    with open(os.path.join(drm, node, "device/vendor"), "w", encoding="utf-8") as f:
        f.write(number + "\n")
cdi = os.path.join(place.meted.dir, "cdi")
made = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": dev, "METE_DRM_DIR": drm})
files = glob.glob(os.path.join(cdi, "mete.io-device.json"))
if ok(made.returncode == 0 and len(files) == 1, "a CDI file is made", made.stdout, made.stderr, files):
    with open(files[0], encoding="utf-8") as f:
        edits = next(d["containerEdits"] for d in json.load(f)["devices"] if d["name"] == "0")
    same(sorted(n["path"] for n in edits.get("deviceNodes", [])), ["/dev/dri/card0", "/dev/dri/renderD128", "/dev/mtgpu.0", "/dev/mtgpu.1"],
         "its nodes are those of the vendor's cards, and no other card's of /dev/dri")
    ok(any("--musa" in h["args"] for h in edits.get("hooks", [])), "its hook makes a grant of such a card", edits.get("hooks"))
lost = place.run(whole=[METE, "cdi", "generate", "--dir", cdi], env={"METE_DEV_DIR": os.path.join(dev, "dri")})
ok(lost.returncode and "/dev/mtgpu*" in lost.stderr, "without the kernel's driver it is refused with the remedy", lost.stderr)
place.close()

# Iluvatar's library has CUDA's own names; here it is the software device's, whose cards meted knows.
place = Place("--libcorex", os.path.join(SOFT, "libcuda.so.1"))
is_ = until(lambda: (lambda d: d if d["status"] else None)(driver(place, "corex")), 20)
ok(is_ and not is_["usable"] and "those of the drivers above" in is_["status"], "Iluvatar's: asked as NVIDIA's, and the same card is one device", is_)
place.close()

# The same cards under two names are one device; a library that is none, or hangs, or is not there, is one line.
place = Place("--libmusa", LIBRARY["musa"], "--libmaca", AMD)
devices = place.ask("devices")
same({d["driver"] for d in devices["devices"]}, {"soft"}, "one card in two APIs is one device")
ok("those of the drivers above" in driver(place, "musa")["status"], "and MUSA has none of its own", driver(place, "musa"))
ok("lacks calls that the one of MetaX has" in driver(place, "maca")["status"], "a library without the calls is one line", driver(place, "maca"))
ok("no /dev/iluvatar*" in driver(place, "corex")["status"], "where the kernel has no such card nobody is asked", driver(place, "corex"))
done = place.run(MUSA, "devices", options=("--musa",))
ok(done.returncode and "no device of Moore Threads'" in done.stderr, "a grant of such a card is refused", done.stderr)

# On the software device programs of all APIs are under one grant.
both = place.run(MUSA, "both", str(256 * MIB), mem="256M")
free, refused, given = (both.stdout.split() + ["", "", ""])[:3]
ok(refused == "2" and given == "0" and 0 < int(free or 0) <= 128 * MIB, "CUDA and MUSA in one program are refused at the sum", both.stdout, both.stderr)
same(place.run(MUSA, "plain").stdout.split("\n")[:2], [f"{8 * MIB} {8 * MIB} 1", "0"], "calls by their plain names take 64 bits, and are charged")
same(place.run(MUSA, "tables").stdout, "801 0 0 1\n", "tables of inner functions are refused, by whatever way they are asked for")
without = place.run("env", "METE_SOCKET=/nowhere/socket", MUSA, "hold", "4096")
ok("init: 802" in without.stdout, "without meted a program cannot begin", without.stdout, without.stderr)
inner = place.run(METE, "run", "--soft", "--mem", "32M", "--", MUSA, "race", str(MIB), "1")
same(inner.stdout.split(), [str(32 * MIB), "1"], "a grant inside a grant is the inner one's", )
place.close()
finish()
