"""
A guarantee holds beside tenants that asked for no share (policy native, the default): they get what is left. The device's
own clock judges. Where the operator lets native run, no share can be guaranteed, and everything that shows it says so.
"""
from harness import *

METE = os.path.join(BUILD, "src/cli/mete")
LOAD = os.path.join(BUILD, "bench/share_load")


class Load:
    """Kernels of 5 ms, several in flight, in so many processes, until it is told to end."""

    def __init__(self, m, grant, processes):
        self.folder = tempfile.mkdtemp(prefix="load-", dir=m.dir)
        times = os.path.join(self.folder, "times")
        with open(times, "wb") as f:
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            f.write(now.to_bytes(8, "little") + (now + 600 * 10**9).to_bytes(8, "little") + b"\0" * 4080)
        self.process = subprocess.Popen([METE, "run", "--grant", grant, "--", LOAD, os.path.join(self.folder, "report"), times,
                                         "kernel=5ms", "window=8", f"processes={processes}"],
                                        env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdout=subprocess.DEVNULL, start_new_session=True)

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def served(m):
    """Device time in ns by process."""
    out = subprocess.run([METE, "soft", "devices", "--json"], env=m.env, stdout=subprocess.PIPE, check=True).stdout
    t = json.loads(out)["devices"][0]["time"]
    return {p["pid"]: p["served_ns"] for p in t["processes"]}


def parts(m, control, names, seconds):
    """What part of the time that the device served went to each tenant, by the device's clock."""
    before = served(m)
    time.sleep(seconds)
    after = served(m)
    of = {p["pid"]: name for name in names for p in control.grant(name)["processes"]}
    got = {name: 0 for name in names}
    for pid, ns in after.items():
        if pid in of:
            got[of[pid]] += ns - before.get(pid, 0)
    return [got[name] / sum(got.values()) for name in names]


def busy(control, name, count):
    return until(lambda: len(control.grant(name)["processes"]) == count, 20)


def guarantee_holds(m):
    c = m.control()
    m.make("paid", devices=[{"device": "0", "mem_bytes": GIB, "policy": "burst", "cores": 50}])
    m.make("free", GIB)
    loads = [Load(m, "free", 4), Load(m, "paid", 1)]
    ok(busy(c, "free", 4) and busy(c, "paid", 1), "both compute")
    time.sleep(2)
    paid, free = parts(m, c, ("paid", "free"), 6)
    ok(paid >= 0.47, f"who has 50 % guaranteed gets it beside four processes of a tenant without a share ({paid:.3f})", paid, free)
    ok(free >= 0.15, f"who has none gets what is left ({free:.3f})", paid, free)
    share = c.share("free")
    same((share["policy"], share["held_back"], share["tier"] != "none"), ("native", True, True), "it is shown as held back")
    ok("native (held)" in subprocess.run([METE, "ps", "--wide"], env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdout=subprocess.PIPE,
                                         text=True).stdout, "mete ps shows it")
    answer = c.ask("policy_set", device="0", native="allow")
    same((answer["ok"], answer.get("code")), (False, "over-promised"), "native cannot be let run over a guarantee")
    loads.pop().end()
    ok(until(lambda: c.ask("grant_delete", name="paid")["ok"], 10), "the guarantee ends")
    share = c.share("free")
    same((share["held_back"], share["tier"]), (False, "none"), "who has no share is held back no more")
    loads.pop().end()
    until(lambda: c.ask("grant_delete", name="free")["ok"], 10)
    c.close()


def fair_holds(m):
    """Beside policy fair as well, and where the operator has said that the device's time is shared, whatever a user asks for."""
    c = m.control()
    m.make("equal", devices=[{"device": "0", "mem_bytes": GIB, "policy": "fair"}])
    m.make("free", GIB)
    loads = [Load(m, "free", 4), Load(m, "equal", 1)]
    ok(busy(c, "free", 4) and busy(c, "equal", 1), "both compute")
    time.sleep(2)
    equal, free = parts(m, c, ("equal", "free"), 6)
    ok(abs(equal - free) < 0.1, f"a tenant of policy fair has as much as four processes without a share ({equal:.3f})", equal, free)
    same(c.share("free")["held_back"], True, "who is held back")
    for load in loads:
        load.end()
    ok(until(lambda: c.ask("grant_delete", name="equal")["ok"], 10), "it ends")
    same(c.share("free")["held_back"], False, "nobody shares the time out any more")
    env = {**m.env, "METE_RUNTIME_DIR": m.dir}
    same(subprocess.run([METE, "policy", "0", "fair"], env=env, stdout=subprocess.PIPE).returncode, 0, "mete policy 0 fair")
    same(c.share("free")["held_back"], True, "holds who is there")
    c.ask("grant_create", name="asks", driver="soft", devices=[{"device": "0", "mem_bytes": GIB, "policy": "native"}])
    same((c.share("asks")["policy"], c.share("asks")["held_back"]), ("native", True), "and whoever asks for --policy native")
    same(c.ask("grant_create", name="beside", driver="soft", devices=[{"device": "1", "mem_bytes": GIB}])["grant"]["devices"][0]["held_back"],
         False, "not on another device")
    m.kill()
    m.start()
    c.close()
    c = m.control()
    same(c.share("asks")["held_back"], True, "also after a restart")
    same(c.ask("policy_set", device="0", native="allow")["ok"], True, "unless the operator lets them run")
    same(c.share("asks")["held_back"], False, "then they are not held")
    c.ask("policy_set", device="0", native="hold")
    same(subprocess.run([METE, "policy", "0", "native"], env=env, stdout=subprocess.PIPE).returncode, 0, "mete policy 0 native")
    same(c.share("asks")["held_back"], False, "nor where nothing is shared out")
    for name in ("free", "asks", "beside"):
        until(lambda: c.ask("grant_delete", name=name)["ok"], 10)
    c.close()


def native_allowed(m):
    c = m.control()
    device = c.ask("policy_set", device="0", native="allow")["device"]
    same(device["native"], "allow", "the operator lets native run")
    answer = c.ask("grant_create", name="late", driver="soft", devices=[{"device": "0", "mem_bytes": GIB, "policy": "burst", "cores": 50}])
    same((answer["ok"], answer.get("code")), (False, "native-runs"), "no share is guaranteed there")
    ok("--native hold" in answer.get("error", ""), "the refusal names the remedy", answer)
    same(c.ask("grant_create", name="other", driver="soft", devices=[{"device": "1", "mem_bytes": GIB, "policy": "burst",
                                                                      "cores": 50}])["ok"], True, "on another device it is")
    env = {**m.env, "METE_RUNTIME_DIR": m.dir}
    doctor = subprocess.run([METE, "doctor"], env=env, stdout=subprocess.PIPE, text=True).stdout
    ok("native are not held back" in doctor, "doctor says so", doctor)
    m.kill()
    m.start()
    c.close()
    c = m.control()
    same(c.ask("devices")["devices"][0]["native"], "allow", "a restart does not change it")
    same(subprocess.run([METE, "policy", "0", "--native", "hold"], env=env, stdout=subprocess.PIPE).returncode, 0, "mete policy takes it back")
    same(c.ask("devices")["devices"][0]["native"], "hold", "and it is held again")
    same(subprocess.run([METE, "policy", "0", "--native", "maybe"], env=env, stderr=subprocess.PIPE).returncode, 2, "another word is refused")
    c.close()


m = Meted("--soft-only", env={"METE_SOFT_DURATION": "spin_*=5ms"})
guarantee_holds(m)
fair_holds(m)
native_allowed(m)
m.close()
finish()
