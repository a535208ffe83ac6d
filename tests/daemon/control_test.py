"""The control socket: every request, every refusal with its line, who may do what, and the end of grants."""
from harness import *

GPU1 = "GPU-6d657465-0000-4000-8000-000000000001"


def refused(c, code, part, op, **fields):
    answer = c.ask(op, **fields)
    good = answer and not answer["ok"] and answer["code"] == code and part in answer["error"]
    ok(good and "\n" not in answer["error"], f"{op}: {code}: \"{part}\"", fields, answer)


def entry(device="0", **fields):
    return [{"device": device, **fields}]


def test_hello(m):
    c = m.control()
    a = c.ask("hello")
    same((a["ok"], a["protocol"], a["pid"], a["runtime_dir"]), (True, 1, m.process.pid, m.dir), "hello")
    a = c.ask("devices")
    same([(d["index"], d["driver"], d["total_bytes"], d["granule_bytes"]) for d in a["devices"]],
         [(0, "soft", 16 * GIB, 512), (1, "soft", 16 * GIB, 512)], "devices")
    same([d["kind"] for d in a["drivers"]], ["nvidia", "soft", "hip", "musa", "maca", "corex", "ascend", "cambricon", "levelzero", "opencl"], "drivers")
    ok(a["drivers"][1]["usable"] and os.path.isabs(a["drivers"][1]["libcuda"]), "the soft one with its path", a)
    c.close()


def test_create(m):
    c = m.control()
    a = c.ask("grant_create", name="one", driver="soft", devices=entry(mem_bytes=4 * GIB + 511))
    g = a["grant"]
    same((g["name"], g["driver"]["kind"], g["devices"][0]["quota_bytes"]), ("one", "soft", 4 * GIB),
         "a grant, its quota cut to whole units")
    mode = os.stat(g["socket"])
    same((mode.st_mode & 0o777, mode.st_uid), (0o600, os.getuid()), "its socket is its owner's alone")
    a = c.ask("grant_create", name="pct", driver="auto", devices=entry(mem_pct=25))
    same(a["grant"]["devices"][0]["quota_bytes"], 4 * GIB, "a quarter of the device")
    a = c.ask("grant_create", devices=[{"device": "0"}, {"device": GPU1[:-2]}], driver="soft")
    ok(not a["ok"] and a["code"] == "ambiguous-device", "a prefix of two UUIDs is refused", a)
    a = c.ask("grant_create", devices=[{"device": "0"}, {"device": GPU1}], driver="soft")
    same([d["quota_bytes"] for d in a["grant"]["devices"]], [8 * GIB, 16 * GIB], "all that is not promised")
    same(a["grant"]["name"], "grant-1", "a name of meted's choice")
    same([d["promised_bytes"] for d in c.ask("devices")["devices"]], [16 * GIB, 16 * GIB], "all is promised")
    refused(c, "over-promised", "promised to others", "grant_create", driver="soft", devices=entry())
    refused(c, "over-promised", "0 B of 16 GiB", "grant_create", driver="soft", devices=entry(mem_bytes=512))
    a = c.ask("grant_create", name="over", driver="soft", devices=entry(mem_bytes=16 * GIB), overcommit=True)
    ok(a["ok"], "more than the device has, when asked for", a)
    for name in ("one", "pct", "grant-1", "over"):
        ok(c.ask("grant_delete", name=name)["ok"], f"delete {name}")
    same(os.listdir(f"{m.dir}/grants"), [], "the sockets are gone")
    same(c.ask("grants")["grants"], [], "and the grants")
    c.close()


def test_refusals(m):
    c = m.control()
    good = dict(driver="soft", devices=entry(mem_bytes=GIB))
    ok(c.ask("grant_create", name="here", **good)["ok"], "one good grant")
    refused(c, "name-taken", "here already", "grant_create", name="here", **good)
    for name in ("", "a/b", "..", ".x", "-x", "a b", "x" * 64, "\u00e9", 7):
        refused(c, "bad-name", "letters, digits", "grant_create", name=name, **good)
    refused(c, "no-driver", "auto, nvidia, hip, musa, maca, corex, ascend, cambricon, levelzero, soft or opencl", "grant_create", driver="amd", devices=entry())
    refused(c, "no-driver", "--soft-only", "grant_create", driver="nvidia", devices=entry())
    for devices in (None, [], {}, "0", [{"device": "0", "mem_bytes": 1}] * 17):
        refused(c, "malformed", "1 to 16", "grant_create", driver="soft", devices=devices)
    for bad in ([1], [{"device": 0}], [None]):
        refused(c, "malformed", "must be an object", "grant_create", driver="soft", devices=bad)
    refused(c, "unknown-device", "device 2:", "grant_create", driver="soft", devices=entry("2"))
    refused(c, "unknown-device", "device GPU-77", "grant_create", driver="soft", devices=entry("GPU-77"))
    refused(c, "unknown-device", "2 devices: say which", "grant_create", driver="soft", devices=[{}])
    refused(c, "malformed", "named twice", "grant_create", driver="soft",
            devices=[{"device": "0", "mem_bytes": GIB}, {"device": "GPU-6d657465-0000-4000-8000-000000000000"}])
    for size in (0, -1, 511):
        refused(c, "bad-size", "at least 512", "grant_create", driver="soft", devices=entry(mem_bytes=size))
    for size in ("1G", 1.5, None):
        refused(c, "malformed", "whole number", "grant_create", driver="soft", devices=entry(mem_bytes=size))
    for size in (16 * GIB + 512, (1 << 63) - 1):
        refused(c, "over-device", "has 16 GiB", "grant_create", driver="soft", devices=entry(mem_bytes=size))
    for pct in (0, -5, 101, 1e300):
        refused(c, "bad-size", "at most 100", "grant_create", driver="soft", devices=entry(mem_pct=pct))
    refused(c, "malformed", "only one", "grant_create", driver="soft", devices=entry(mem_pct=5, mem_bytes=5))
    for pid in (0, -1, 1 << 40, "1", 2 ** 22 + 5):
        refused(c, "malformed", "no living process", "grant_create", runner_pid=pid, **good)
    refused(c, "unknown-grant", "no grant none", "grants", name="none")
    refused(c, "unknown-grant", "no grant none", "grant_set", name="none", devices=entry(mem_bytes=1))
    refused(c, "malformed", "names no grant", "grant_delete")
    refused(c, "unknown-device", "the grant has none", "grant_set", name="here", devices=entry("1", mem_bytes=512))
    refused(c, "malformed", "give \"mem_bytes\"", "grant_set", name="here", devices=entry())
    refused(c, "over-device", "has 16 GiB", "grant_set", name="here", devices=entry(mem_bytes=17 * GIB))
    refused(c, "unknown-op", "no \"dance\"", "dance")
    refused(c, "busy", "1 grant", "stop")
    same(len(c.ask("grants")["grants"]), 1, "nothing was made by all that")
    c.ask("grant_delete", name="here")
    c.close()


def test_lines(m):
    c = m.control()
    for text in ("\n", "nonsense\n", "[1]\n", "null\n", "{\"op\":\n", "{}\n", "{\"op\":5}\n", b"\xff\xfe\x00{}\n",
                 "{\"op\":\"hello\",\"op\":\"hello\"}\n"):
        a = c.line(text)
        ok(a and not a["ok"] and a["code"] == "malformed", f"{text!r} is answered", a)
    ok(c.ask("hello")["ok"], "the connection goes on")
    a = c.line(b'{"op":"hello"}\n' * 50)
    ok(all(json.loads(c.file.readline())["ok"] for _ in range(49)) and a["ok"], "50 requests in one packet, 50 answers")
    a = c.line(b'{"op":"devices"}\n{"op":"hello"}\n{"op":"grants"}\n')
    same(["devices" in a] + [k in json.loads(c.file.readline()) for k in ("version", "grants")], [True] * 3,
         "answers come in order, also when the first takes longer")
    half = m.control()
    half.socket.sendall(b'{"op":"he')
    time.sleep(0.05)
    half.socket.sendall(b'llo"}\n')
    ok(json.loads(half.file.readline())["ok"], "a request may come in pieces")
    half.close()
    long = m.control()
    a = long.line(b"x" * 70000)
    ok(a and "64 KiB" in a["error"], "a line without end is refused", a)
    same(long.line("{}\n"), None, "and its connection closed")
    deep = m.control()
    a = deep.line(b"[" * 60000 + b"\n")
    ok(a and not a["ok"], "deeply nested nonsense", a)
    deep.close()
    # One that is under way goes to the next meted within what that one reads.
    for levels, good in ((64, True), (65, False), (2000, False)):
        deep = m.control()
        a = deep.line(b'{"op":"hello","more":' + b"[" * (levels - 1) + b'"]{\\"["' + b"]" * (levels - 1) + b"}\n")
        same((a["ok"], a.get("code")), (True, None) if good else (False, "malformed"), f"a request of {levels} levels")
        deep.close()
    before = m.descriptors()
    many = [m.control() for _ in range(100)]
    for x in many:
        x.socket.sendall(b'{"op":"devices"}\n')
        x.close()
    ok(until(lambda: m.descriptors() <= before), "who leaves without waiting for the answer leaves nothing behind",
       m.descriptors(), before)
    greedy = m.control()
    greedy.socket.settimeout(1)
    try:
        while True:
            greedy.socket.sendall(b'{"op":"grants"}\n' * 1000)
    except OSError:
        pass
    ok(m.control().ask("hello")["ok"], "one who never reads harms nobody")
    greedy.close()
    crowd = [m.control() for _ in range(300)]
    ok(until(lambda: "more than 256 connections" in m.log()), "too many connections are refused with a line")
    for x in crowd:
        x.close()
    ok(until(lambda: m.control().ask("hello")), "and meted goes on")
    c.close()


def test_runner(m):
    runner = subprocess.Popen(["sleep", "100"])
    path = m.make("run", GIB, runner_pid=runner.pid)
    c = m.control()
    refused(c, "busy", f"pid {runner.pid}", "grant_delete", name="run")
    a = m.client()
    a.hello(path)
    runner.kill()
    runner.wait()
    ok(until(lambda: c.grant("run")["state"] == "ending"), "a grant outlives its command while processes run")
    refused(c, "busy", "running programs", "grant_delete", name="run")
    a.kill()
    ok(until(lambda: not c.ask("grants")["grants"]), "and ends with the last of them")
    ok(until(lambda: not os.path.exists(path)), "its socket is gone")
    runner = subprocess.Popen(["sleep", "0.5"])
    m.make("short", GIB, runner_pid=runner.pid)
    runner.wait()
    ok(until(lambda: not c.ask("grants")["grants"]), "a command that never used a device ends its grant")
    c.close()


def test_in_the_way(m):
    with open(f"{m.dir}/grants/file.sock", "w") as f:
        f.write("mine")
    c = m.control()
    refused(c, "runtime", "is not a socket", "grant_create", name="file", driver="soft", devices=entry(mem_bytes=GIB))
    same(open(f"{m.dir}/grants/file.sock").read(), "mine", "it is left alone")
    same(c.ask("grants")["grants"], [], "no half-made grant stays")
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"{m.dir}/grants/stale.sock")
    s.close()
    ok(c.ask("grant_create", name="stale", driver="soft", devices=entry(mem_bytes=GIB))["ok"], "a stale socket is replaced")
    c.ask("grant_delete", name="stale")
    os.unlink(f"{m.dir}/grants/file.sock")
    c.close()


def as_other(m, requests):
    """Asks as another user; the answers."""
    script = ("import json,os,socket,sys\nos.setgid(65534)\nos.setuid(65534)\ns=socket.socket(socket.AF_UNIX)\n"
              "s.connect(sys.argv[1])\nf=s.makefile('rw')\n"
              "for r in json.loads(sys.argv[2]):\n f.write(json.dumps(r)+'\\n')\n f.flush()\n"
              " print(f.readline().strip() or 'null',flush=True)\n")
    out = subprocess.run([sys.executable, "-c", script, f"{m.dir}/control.sock", json.dumps(requests)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
    return [json.loads(line) for line in out.stdout.splitlines()], out.stderr


def test_users():
    if os.getuid():
        return skip("other users", "only root can become another user")
    s = Meted("--system", "--soft-only")
    s.make("roots", GIB)
    create = {"op": "grant_create", "name": "theirs", "driver": "soft", "devices": entry(mem_bytes=GIB)}
    answers, err = as_other(s, [create, {"op": "grants"}, {"op": "grant_delete", "name": "roots"},
                                {"op": "grant_set", "name": "roots", "devices": entry(mem_bytes=512)}, {"op": "stop"},
                                {"op": "grant_set", "name": "theirs", "devices": entry(mem_bytes=2 * GIB)},
                                {**create, "name": "greedy", "overcommit": True},
                                {"op": "grant_set", "name": "theirs", "devices": entry(**{"class": "high"})},
                                {"op": "grant_set", "name": "theirs", "devices": entry(**{"class": "low"})},
                                {"op": "policy_set", "device": "0", "policy": "fair"}])
    if not ok(len(answers) == 10, "any user is served by a system meted", answers, err):
        return
    ok(answers[0]["ok"], "and may make a grant", answers[0])
    st = os.stat(f"{s.dir}/grants/theirs.sock")
    same((st.st_uid, st.st_gid, st.st_mode & 0o777), (65534, 65534, 0o600), "whose socket is theirs")
    same([g["name"] for g in answers[1]["grants"]], ["roots", "theirs"], "they see all grants")
    same([a["code"] for a in answers[2:5]], ["not-yours"] * 3, "and change nobody else's")
    ok(answers[5]["ok"], "but their own")
    ok("only root may promise more" in answers[6].get("error", ""), "they do not overcommit what others were promised",
       answers[6])
    ok(answers[7].get("code") == "not-yours" and "class normal" in answers[7]["error"], "nor go before others",
       answers[7])
    ok(answers[8]["ok"], "but behind them", answers[8])
    same(answers[9].get("code"), "not-yours", "nor say what holds for all")
    c = s.control()
    ok(c.ask("grant_set", name="theirs", devices=entry(**{"class": "high"}))["ok"], "which root does")
    ok(c.ask("grant_delete", name="theirs")["ok"], "root may change all")
    c.close()
    s.close()
    p = Meted("--soft-only")
    os.chmod(p.dir, 0o755)
    os.chmod(f"{p.dir}/control.sock", 0o666)
    answers, err = as_other(p, [{"op": "hello"}])
    ok(answers in ([None], []), "a private meted does not serve another user, whatever the file modes say", answers)
    p.close()


def test_idle():
    m = Meted("--exit-when-idle", "1", "--soft-only")
    start = time.monotonic()
    c = m.control()
    time.sleep(1.5)
    ok(m.process.poll() is None, "a connection keeps meted")
    runner = subprocess.Popen(["sleep", "2"])
    m.make("idle", GIB, runner_pid=runner.pid)
    c.close()
    runner.wait()
    ok(m.process.poll() is None, "a grant keeps it")
    same(m.wait(10), 0, "it ends by itself when there is nothing any more")
    same([f for f in os.listdir(m.dir) if f.endswith(".sock")], [], "its socket is gone")
    m.close()
    m = Meted("--exit-when-idle", "100", "--soft-only")
    ok(m.control().ask("stop")["ok"], "stop")
    same(m.wait(10), 0, "ends it at once")
    m.close()


m = Meted("--soft-only")
for test in [test_hello, test_create, test_refusals, test_lines, test_runner, test_in_the_way]:
    print(f"# {test.__name__}", flush=True)
    test(m)
m.close()
for test in [test_users, test_idle]:
    print(f"# {test.__name__}", flush=True)
    test()
finish()
