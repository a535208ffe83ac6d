#!/usr/bin/env python3
"""
Two tenants on one device, watched through NVML from inside each and from outside of both, with a real meted: each sees
its own quota, what its own processes hold, and its own processes; free and used always make up the total.
"""
import argparse
import json
import os
import signal
import subprocess
import sys

from place import Place, Report

M = 1 << 20


class Tenants:
    def __init__(self, place, report, holder):
        self.place, self.report, self.holder = place, report, holder
        self.uuids = [d["uuid"] for d in place.machine()["devices"]]

    def hold(self, grant, ordinal, *sizes):
        p = self.place.under(grant, self.holder, str(ordinal))
        self.report.same(p.hear(), "ready", f"{grant}: a program with a context on device {ordinal}")
        for n in sizes:
            self.report.same(p.tell(f"alloc {n}"), "ok", f"{grant}: it takes {n} bytes")
        return p

    def watch(self, grant):
        p = self.place.under(grant, *self.place.client())
        self.report.same(json.loads(p.hear())["init"], 0, f"{grant}: NVML starts")
        return p

    def look(self, watcher, name, how="look"):
        seen = json.loads(watcher.tell(how))
        if not self.report.ok("error" not in seen, f"{name}: every question is answered {seen.get('error', '')}"):
            return {"count": 0, "devices": []}
        for d in seen["devices"]:
            total, free, used = d["memory"]
            self.report.same(free + used, total, f"{name}: free and used make up the total of device {d['index']}")
            self.report.same(d["memory2"], d["memory"], f"{name}: both versions say the same")
            self.report.same(d["processes1"], d["processes"], f"{name}: both versions list the same processes")
            self.report.same(d["details"], d["processes"], f"{name}: the detailed list as well")
            self.report.same(d["graphics"], [], f"{name}: nobody draws")
        return seen

    def check(self, watcher, name, quotas, held, processes, how="look"):
        """quotas, held: by device of the tenant; processes: what each process of the first device holds."""
        seen = self.look(watcher, name, how)
        self.report.same([d["memory"][0] for d in seen["devices"]], quotas, f"{name}: the quotas")
        self.report.same([d["memory"][2] for d in seen["devices"]], held, f"{name}: what is held")
        if seen["devices"]:
            self.report.same(sorted(used for _, used in seen["devices"][0]["processes"]), sorted(processes),
                             f"{name}: its processes")
        return seen


def two_tenants(t):
    place, report = t.place, t.report
    place.mete("create", "a", "--soft", "--device", "0", "--mem", str(256 * M), "--device", "1", "--mem", str(64 * M))
    place.mete("create", "b", "--soft", "--device", "0", "--mem", str(128 * M))
    a1, a2, b1 = t.hold("a", 0, 10 * M, 5 * M), t.hold("a", 0, 20 * M), t.hold("b", 0, 100 * M)
    wa, wb = t.watch("a"), t.watch("b")
    seen = t.check(wa, "a", [256 * M, 64 * M], [35 * M, 0], [15 * M, 20 * M])
    report.same([d["uuid"] for d in seen["devices"]], t.uuids[:2], "a: its devices")
    mine = {pid for pid, _ in seen["devices"][0]["processes"]}
    report.ok({pid for pid, _ in seen["devices"][0]["samples"]} <= mine, "a: no utilisation of strangers")
    seen = t.check(wb, "b", [128 * M], [100 * M], [100 * M])
    report.same([d["uuid"] for d in seen["devices"]], t.uuids[:1], "b: its device")
    theirs = {pid for pid, _ in seen["devices"][0]["processes"]}
    report.ok(not mine & theirs, "no process is both a's and b's")
    whole = place.machine()["devices"][0]
    report.same(whole["memory"][2], 135 * M, "from outside: all that is held")
    report.same({pid for pid, _ in whole["processes"]}, mine | theirs, "from outside: all processes")

    agree(t, wa, a1, "a")
    agree(t, wb, b1, "b")
    only_own_work(t, wa, wb, b1)

    report.same(a2.tell(f"alloc {221 * M}"), "ok", "a: fills its quota to the last byte")
    t.check(wa, "a, full", [256 * M, 64 * M], [256 * M, 0], [15 * M, 241 * M])
    agree(t, wa, a1, "a, full")
    report.same(a1.tell("alloc 1"), "error 2", "a: one byte more is out of memory")
    t.check(wa, "a, refused", [256 * M, 64 * M], [256 * M, 0], [15 * M, 241 * M])
    place.mete("set", "a", "--device", "0", "--mem", str(300 * M))
    t.check(wa, "a, grown", [300 * M, 64 * M], [256 * M, 0], [15 * M, 241 * M])
    t.check(wa, "a, in a forked child", [300 * M, 64 * M], [256 * M, 0], [15 * M, 241 * M], "fork")
    t.check(wa, "a, after its descriptors were closed", [300 * M, 64 * M], [256 * M, 0], [15 * M, 241 * M], "close")
    report.same(a2.tell("free"), "ok", "a: gives memory back")
    seen = t.check(wa, "a, freed", [300 * M, 64 * M], [15 * M, 0], [15 * M])

    os.kill(seen["devices"][0]["processes"][0][0], signal.SIGKILL)
    a1.end()
    report.ok(place.until(lambda: held(wa) == 0), "a: what a killed process held has come back")
    t.check(wa, "a, killed", [300 * M, 64 * M], [0, 0], [])
    t.check(wb, "b, meanwhile", [128 * M], [100 * M], [100 * M])
    without_meted(t, wb)
    for p in (a2, b1, wa, wb):
        p.end()


def only_own_work(t, idle_watcher, busy_watcher, busy):
    """A kernel of b keeps the device busy: b sees that, from outside it is seen, a sees a device at rest."""
    def used(w):
        w.tell("look")
        return json.loads(w.tell("wait 0.3"))["devices"][0]["utilisation"]

    t.report.same(busy.tell("work 4000"), "ok", "b: a kernel runs")
    # Of a third of a second the kernel's thread may get nothing: what is seen in any of them, while it runs.
    t.report.ok(any(used(busy_watcher) >= 50 for _ in range(6)), "b sees its work")
    t.report.same(used(idle_watcher), 0, "a sees none of it")
    t.report.ok(t.place.machine()["devices"][0]["utilisation"] >= 50, "from outside the device is busy")
    t.report.same(busy.tell("free"), "ok", "b: gives its memory back")
    t.report.same(busy.tell(f"alloc {100 * M}"), "ok", "and takes as much again")


def agree(t, watcher, holder, name):
    """The driver API and NVML say the same of device 0."""
    t.report.same([int(n) for n in holder.tell("info").split()], t.look(watcher, name)["devices"][0]["memory"],
                  f"{name}: cuMemGetInfo and NVML agree")


def held(watcher):
    seen = json.loads(watcher.tell("look"))
    return seen["devices"][0]["memory"][2] if seen.get("devices") else None


def without_meted(t, watcher):
    """meted is killed; whoever runs programs under it starts it again."""
    pid = t.place.control("hello")["pid"]
    os.kill(pid, signal.SIGKILL)
    seen = t.look(watcher, "b, meted killed")
    t.report.same([d["memory"][0] for d in seen["devices"]], [128 * M], "b: the quota is still known")
    t.report.ok(t.place.until(lambda: (t.place.control("hello") or {}).get("pid", pid) != pid), "meted is there again")
    t.report.ok(t.place.until(lambda: held(watcher) == 100 * M), "b: and knows what is held")
    t.check(watcher, "b, with the new meted", [128 * M], [100 * M], [100 * M])


def started(t, **env):
    """nvmlInit through the shim in an environment: its result and what is in the log."""
    log = os.path.join(t.place.folder, "log")
    p = t.place.direct(*t.place.client(), **{"LD_LIBRARY_PATH": t.place.shim, "METE_LOG": log,
                                             "METE_NVML": t.place.soft + "/libnvidia-ml.so.1", **env})
    first = json.loads(p.hear())["init"]
    seen = json.loads(p.tell("look")) if first == 0 else None
    p.end()
    try:
        with open(log, encoding="utf-8") as f:
            lines = f.read().splitlines()
        os.unlink(log)
    except FileNotFoundError:
        lines = []
    return first, seen, lines


def bad_starts(t):
    report, nowhere = t.report, os.path.join(t.place.folder, "nowhere.sock")
    r, _, log = started(t, METE_SOCKET=nowhere)
    report.same(r, 999, "no meted behind METE_SOCKET: nvmlInit fails")
    report.ok(len(log) == 1 and nowhere in log[0], f"and one line says why: {log}")
    r, seen, _ = started(t, METE_SOCKET=nowhere, METE_OPEN="1")
    report.same((r, seen and seen["devices"][0]["memory"][0]), (0, 1024 * M), "METE_OPEN=1: runs, with the whole device")
    for path in (nowhere, "libnvidia-ml.so.1", t.place.shim + "/libnvidia-ml.so.1"):
        r, _, log = started(t, METE_NVML=path)
        report.same(r, 12, f"METE_NVML={path}: there is no driver")
        report.ok(len(log) == 1 and path in log[0], f"and one line says why: {log}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--client", required=True)
    p.add_argument("--holder", required=True)
    a = p.parse_args()
    report = Report()
    with Place(a.build, [1024 * M, 512 * M]) as place:
        t = Tenants(place, report, a.holder)
        bad_starts(t)
        two_tenants(t)
        for name in ("a", "b"):
            place.mete("delete", name)
        report.same([d["memory"][2] for d in place.machine()["devices"]], [0, 0], "in the end nothing is held")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
