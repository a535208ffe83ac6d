"""Who asks for more than there is may wait: in the order of coming, told what for and behind how many; a device of any kind is
the one with most room. wait_test.py BUILD"""
from harness import *

METE = os.path.join(BUILD, "src/cli/mete")


class Waiter:
    """`mete create --wait` by hand."""

    def __init__(self, m, name, *words):
        self.name = name
        self.process = subprocess.Popen([METE, "create", name, "--soft", *words, "--wait"], env={**m.env, "METE_RUNTIME_DIR": m.dir},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)

    def ends(self, seconds=20):
        out, err = self.process.communicate(timeout=seconds * PATIENCE)
        return self.process.returncode, out, err


def names(c):
    return sorted(g["name"] for g in c.ask("grants")["grants"])


def waiting(c):
    return c.ask("grants")["waiting"]


def wait_for(c, count):
    return until(lambda: len(waiting(c)) == count, 20)


def create(c, name, device="0", gib=1, **fields):
    return c.ask("grant_create", name=name, driver="soft", devices=[{"device": device, "mem_bytes": gib << 30, **fields.pop("terms", {})}],
                 **fields)


def test_order(m):
    c = m.control()
    ok(create(c, "holder", gib=14)["ok"], "14 of 16 GiB are promised")
    first = Waiter(m, "first", "--mem", "12G")
    ok(wait_for(c, 1), "the first waits")
    second = Waiter(m, "second", "--mem", "1G")
    ok(wait_for(c, 2), "so does the second, who would fit: it came later")
    third = Waiter(m, "third", "--mem", "1G", "--device", "1")
    ok(until(lambda: "third" in names(c), 20), "who wants another device is not held up")
    same([(w["place"], w["devices"], w["room"]) for w in waiting(c)], [(1, [0], True), (2, [0], True)], "places")
    said = subprocess.run([METE, "ps"], env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdout=subprocess.PIPE, text=True).stdout
    ok(f"waiting: pid {first.process.pid} (" in said and f"waiting: pid {second.process.pid} (" in said and "place 2, device 0" in said,
       "mete ps shows who waits", said)
    answer = create(c, "late")
    same((answer["ok"], answer.get("code")), (False, "queued"), "who does not wait goes not before them")
    ok("2 requests for it came before" in answer["error"] and "--wait" in answer["error"], "and is told so", answer)
    answer = create(c, "late", wait=True)
    same((answer["code"], answer["place"], answer["for"]), ("waiting", 3, "queued"), "a request that waits is told its place")
    c.close()
    c = m.control()
    ok(wait_for(c, 2), "the place goes with the connection")
    second.process.send_signal(signal.SIGSTOP)
    ok(c.ask("grant_delete", name="holder")["ok"], "there is room")
    same(first.ends()[0], 0, "the first has it")
    same("second" in names(c), False, "the second, who is stopped, not yet")
    second.process.send_signal(signal.SIGCONT)
    status, _, err = second.ends()
    same(status, 0, "and then the second")
    ok("waiting, behind 1 who waits: device 0" in err, "it was told where it stood, and what for", err)
    third.ends()
    same(waiting(c), [], "nobody waits")
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.close()


def test_leave(m):
    c = m.control()
    create(c, "holder", gib=16)
    w = Waiter(m, "x", "--mem", "1G")
    wait_for(c, 1)
    w.process.send_signal(signal.SIGINT)
    w.ends()
    ok(wait_for(c, 0), "an interrupt leaves the queue")
    w = Waiter(m, "x", "--mem", "1G")
    wait_for(c, 1)
    w.process.kill()
    w.ends()
    ok(wait_for(c, 0), "so does whatever ends the asker")
    status, _, err = Waiter(m, "x", "--mem", "1G", "--timeout", "1s").ends()
    ok(status == 1 and "waited for 1s in vain, first of those who wait: device 0" in err, "--timeout gives up", status, err)
    same(waiting(c), [], "and leaves")
    same([Waiter(m, "x", "--mem", "1G", "--timeout", t).ends()[0] for t in ("0", "soon")], [2, 2], "another word is refused")
    answer = c.ask("grant_create", name="x", driver="soft", devices=[{"device": "0", "mem_bytes": 99 << 30}], wait=True)
    same(answer["code"], "over-device", "what will never be is not waited for")
    # An upgrade keeps places; a meted that was killed has them anew, as they ask again.
    w, w2 = Waiter(m, "one", "--mem", "8G"), None
    wait_for(c, 1)
    w2 = Waiter(m, "two", "--mem", "8G")
    wait_for(c, 2)
    pids = [one["pid"] for one in waiting(c)]
    same(c.ask("upgrade")["ok"], True, "an upgrade")
    same([one["pid"] for one in waiting(c)], pids, "keeps the queue")
    c.close()
    for waiter in (w, w2):  # who finds no meted here would start one of its own
        waiter.process.send_signal(signal.SIGSTOP)
    m.kill()
    m.start()
    for waiter in (w, w2):
        waiter.process.send_signal(signal.SIGCONT)
    c = m.control()
    ok(wait_for(c, 2), "a killed meted has those who wait again")
    c.ask("grant_delete", name="holder")
    same((w.ends()[0], w2.ends()[0]), (0, 0), "and both get what they waited for")
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.close()


def test_run(m):
    """mete run waits as well, for a device that is out of service, and for time."""
    c = m.control()
    env = {**m.env, "METE_RUNTIME_DIR": m.dir}
    c.ask("device_cordon", device="0", reason="fan")
    run = subprocess.Popen([METE, "run", "--soft", "--mem", "1G", "--wait", "--", "true"], env=env, stderr=subprocess.PIPE, text=True)
    ok(wait_for(c, 1) and not waiting(c)[0]["room"], "mete run waits for a device that is out of service")
    ok(create(c, "other", "1")["ok"], "and holds nobody up")
    c.ask("device_uncordon", device="0")
    err = run.communicate(timeout=30)[1]
    same(run.returncode, 0, "then it runs")
    ok("waiting, first of those who wait: device 0" in err and "fan" in err, "it has said why", err)
    create(c, "timed", terms={"policy": "burst", "cores": 80})
    w = Waiter(m, "half", "--mem", "1G", "--cores", "50", "--policy", "burst")
    ok(wait_for(c, 1) and waiting(c)[0]["room"], "time is waited for too")
    c.ask("grant_delete", name="timed")
    same(w.ends()[0], 0, "and given")
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.close()


def test_any(m):
    c = m.control()
    env = {**m.env, "METE_RUNTIME_DIR": m.dir}

    def at(answer):
        return [d["index"] for d in answer["grant"]["devices"]] if answer["ok"] else answer
    same(at(create(c, "a", "any")), [0], "any: the first where all are alike")
    same(at(create(c, "b", "any")), [1], "then the one with most room")
    create(c, "c", "1", 1)
    create(c, "d", "0", 1)
    create(c, "e", "0", 1)
    same(at(create(c, "f", "any", 1)), [1], "again")
    for name in names(c):
        c.ask("grant_delete", name=name)
    create(c, "a", "0", 1)
    create(c, "b", "0", 1)
    create(c, "c", "1", 2)
    same(at(create(c, "d", "any", 4)), [1], "with as much room the one with fewest tenants")
    same(at(create(c, "e", "any", 13)), [0], "where it fits")
    answer = create(c, "g", "any", 12)
    same(answer["code"], "over-promised", "where it fits nowhere the best one says why")
    answer = c.ask("grant_create", name="h", driver="soft", devices=[{"device": "any", "mem_bytes": 1 << 20}] * 2)
    same(sorted(at(answer)), [0, 1], "any twice: two devices")
    answer = c.ask("grant_create", name="i", driver="soft", devices=[{"device": "any", "mem_bytes": 1 << 20}, {"device": "1", "mem_bytes": 1 << 20}])
    same(sorted(at(answer)), [0, 1], "one by name, the other any")
    same(c.ask("grant_create", name="j", driver="soft", devices=[{"device": "any", "mem_bytes": 1 << 20}] * 3).get("code"), "unknown-device",
         "more than there are")
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.ask("device_cordon", device="0")
    same(at(create(c, "k", "any")), [1], "one that is out of service is none")
    c.ask("device_uncordon", device="0")
    create(c, "l", "1", 14)
    w = Waiter(m, "w", "--mem", "12G", "--device", "1")
    wait_for(c, 1)
    same(at(create(c, "n", "any", 1)), [0], "nor one for which others wait")
    w.process.kill()
    w.ends()
    done = subprocess.run([METE, "create", "cli", "--soft", "--device", "any", "--mem", "2G", "--json"], env=env, stdout=subprocess.PIPE, text=True)
    same((done.returncode, json.loads(done.stdout)["grant"]["devices"][0]["index"]), (0, 0), "mete create --device any")
    done = subprocess.run([METE, "run", "--soft", "--device", "any", "--mem", "2G", "-v", "--", "true"], env=env, stderr=subprocess.PIPE, text=True)
    ok(done.returncode == 0 and "device 0" in done.stderr, "mete run --device any", done.stderr)
    done = subprocess.run([METE, "create", "big", "--soft", "--device", "any", "--mem", "99G"], env=env, stderr=subprocess.PIPE, text=True)
    ok(done.returncode == 1 and "more than any device has" in done.stderr, "more than any has", done.stderr)
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.close()


def test_place(m):
    """--place, and the rule of meted.yaml: which device a grant is on that names none."""
    c = m.control()
    env = {**m.env, "METE_RUNTIME_DIR": m.dir}
    env.pop("CUDA_VISIBLE_DEVICES", None)

    def on(name, *words, **more):
        done = subprocess.run([METE, "create", name, "--soft", "--mem", "2G", "--json", *words], env={**env, **more},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return json.loads(done.stdout)["grant"]["devices"][0]["index"] if not done.returncode else done.stderr

    create(c, "half", "1", 8)
    same(c.ask("devices")["placement"], "first", "the rule is told")
    same(on("a"), 0, "without a rule: the first")
    same([on("b", "--place", "binpack"), on("c", "--place", "binpack", "--device", "any")], [1, 1], "binpack: where least is left")
    same(on("d", "--place", "spread"), 0, "spread: where most is left")
    same(on("e", "--place", "fit", "--cores", "25"), 1, "fit: where least is broken")
    ok("no such rule; give spread, binpack or fit" in on("f", "--place", "best"), "another word")
    ok("--place fit with --device 1" in on("f", "--place", "fit", "--device", "1"), "a device that is named is not placed")
    same(on("g", "--place", "binpack", CUDA_VISIBLE_DEVICES="0"), 0, "CUDA_VISIBLE_DEVICES is a choice of its own")
    same(c.ask("grant_create", name="h", driver="soft", placement="best", devices=[{"device": "any", "mem_bytes": 1 << 20}]).get("code"),
         "malformed", "meted refuses another word too")
    run = subprocess.run([METE, "run", "--soft", "--mem", "1G", "--place", "binpack", "-v", "--", "true"], env=env, stderr=subprocess.PIPE,
                         text=True)
    ok(run.returncode == 0 and "device 1" in run.stderr, "mete run --place", run.stderr)
    run = subprocess.run([METE, "run", "--grant", "a", "--place", "binpack", "--", "true"], env=env, stderr=subprocess.PIPE, text=True)
    ok(run.returncode and "--grant a with --place" in run.stderr, "a grant that exists is not placed", run.returncode, run.stderr)
    with open(os.path.join(m.dir, "meted.yaml"), "w") as file:
        file.write("placement:\n  rule: binpack\n")
    own = Meted("--config", os.path.join(m.dir, "meted.yaml"))
    c2 = own.control()
    env["METE_RUNTIME_DIR"] = own.dir
    create(c2, "half", "1", 8)
    same(c2.ask("devices")["placement"], "binpack", "the setting is told")
    same([on("a"), on("b", "--place", "spread"), on("c", "--device", "0")], [1, 0, 0], "the setting holds where nobody says otherwise")
    with open(os.path.join(m.dir, "meted.yaml"), "w") as file:
        file.write("placement:\n  rule: spread\n")
    own.process.send_signal(signal.SIGHUP)
    ok(until(lambda: c2.ask("devices")["placement"] == "spread"), "read again with SIGHUP")
    same(on("d"), 0, "and in force")
    c2.close()
    own.process.terminate()
    own.process.wait()
    c.close()



m = Meted("--soft-only")
test_order(m)
test_leave(m)
test_run(m)
test_any(m)
test_place(m)
m.close()
finish()
