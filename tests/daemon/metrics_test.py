"""
Metrics: what is served is what docs/metrics.md explains and what the alert rules and the dashboard ask for; a real
Prometheus (when there is one) scrapes, and an alert fires; history.db keeps events and totals, and breaks without harm.
"""
import re
import urllib.parse
import urllib.request

from http_client import Local, get
from harness import *

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def names_in(text):
    return set(re.findall(r"^# TYPE (\w+)", text, re.M))


def test_documents(served, dcgm):
    described = set(re.findall(r"^\| `((?:mete|DCGM)_\w+)`", read("docs/metrics.md"), re.M))
    typed = set(re.findall(r"^# TYPE (\w+) ", served + dcgm, re.M))
    same(sorted(described), sorted(typed), "docs/metrics.md has every metric, and no other")
    said = {name: {word.strip() for word in labels.split(",") if word.strip()} for name, labels in
            re.findall(r"^\| `((?:mete|DCGM)_\w+)` \|([^|]*)\|", read("docs/metrics.md"), re.M)}
    shown = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", served + dcgm, re.M):
        shown.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    of_some = {"container", "pod", "namespace", "tenant"}  # lines of the device itself, and grants without these labels, lack them
    wrong = {name: (sorted(labels), sorted(said[name])) for name, labels in shown.items()
             if labels - said[name] or said[name] - labels - (of_some if name.startswith("DCGM") or "info" in name else set())}
    same(wrong, {}, "and the labels of each")
    for name in ("packaging/prometheus/mete.rules.yml", "packaging/grafana/mete.json"):
        asked = {n for n in re.findall(r"\bmete_[a-z_]+", read(name)) if n != "mete_"}
        same(sorted(asked - typed), [], f"{name} asks for what there is")
    board = json.loads(read("packaging/grafana/mete.json"))
    ok(board["uid"] and board["schemaVersion"] >= 38 and all(
        p["title"] and p["type"] and p["gridPos"]["x"] + p["gridPos"]["w"] <= 24 and
        all(t["expr"] for t in p["targets"]) for p in board["panels"]), "the dashboard has what one needs")
    same(len({p["id"] for p in board["panels"]}), len(board["panels"]), "its panels' ids are different")
    ok("pid=" not in served + dcgm, "no metric is by process")
    if not shutil.which("promtool"):
        skip("promtool", "prometheus is not installed")
        return
    for text, what in ((served, "metrics"), (dcgm, "those of dcgm's names")):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        ok(done.returncode == 0 or what != "metrics", f"promtool check metrics: {what}", done.stderr)
    done = subprocess.run(["promtool", "check", "rules", os.path.join(SOURCE, "packaging/prometheus/mete.rules.yml")],
                          capture_output=True, text=True)
    ok(done.returncode == 0, "promtool check rules", done.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask_prometheus(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=10) as f:
            return json.load(f)["data"]
    except OSError:
        return None


def test_prometheus(m, path):
    """Scrapes each second; a refusal makes an alert fire."""
    if not shutil.which("prometheus"):
        skip("a real Prometheus", "prometheus is not installed")
        return
    target = m.control().ask("hello")["http"]
    folder = os.path.join(m.dir, "prometheus")
    os.mkdir(folder)
    with open(os.path.join(folder, "p.yml"), "w", encoding="utf-8") as f:
        f.write(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n"
                f"rule_files: [{os.path.realpath(SOURCE)}/packaging/prometheus/mete.rules.yml]\n"
                f"scrape_configs: [{{job_name: mete, static_configs: [{{targets: ['{target}']}}]}}]\n")
    port = free_port()
    p = subprocess.Popen(["prometheus", f"--config.file={folder}/p.yml", f"--storage.tsdb.path={folder}/data",
                          f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        up = lambda: [r for r in (ask_prometheus(port, "query?query=up") or {}).get("result", []) if r["value"][1] == "1"]
        ok(until(up, 60), "Prometheus scrapes meted")
        held = urllib.parse.quote('mete_tenant_memory_held_bytes{tenant="one"}')
        ok(until(lambda: (ask_prometheus(port, f"query?query={held}") or {}).get("result"), 30), "it has its figures")
        client = m.client()
        client.hello(path)
        firing = lambda: [a for a in (ask_prometheus(port, "alerts") or {}).get("alerts", [])
                          if a["labels"]["alertname"] == "MeteMemoryRefused" and a["state"] == "firing"]

        def refused_and_firing():
            client.reserve(0, 8 * GIB // UNIT)
            time.sleep(0.2)
            return firing()

        alerts = until(refused_and_firing, 60)
        ok(alerts and alerts[0]["labels"]["device"] == "0", "a refusal makes an alert fire, with the device")
    finally:
        p.kill()
        p.wait()


def test_kept():
    """Events and totals outlive meted, also one that is killed; a broken file is moved away."""
    m = Meted()
    path = m.make("one", quota=GIB)
    client = m.client()
    client.hello(path)
    client.reserve(0, 8 * GIB // UNIT)
    last = m.control().ask("events")["last"]
    refused = 'mete_tenant_refusals_total{tenant="one",reason="memory"} 1'
    ok(refused in m.control().ask("metrics")["text"], "a refusal is counted")
    of_device = re.findall(r'^mete_device_memory_refusals_total\{device="0",uuid="[^"]*"\} (\d+)$', m.control().ask("metrics")["text"], re.M)
    same(of_device, ["1"], "for its device as well")
    m.kill(signal.SIGTERM)
    m.start()
    ok(refused in m.control().ask("metrics")["text"], "and still is by the next meted")
    short = m.make("short", quota=GIB)
    client2 = m.client()
    client2.hello(short)
    client2.reserve(0, 8 * GIB // UNIT)
    client2.close()
    until(lambda: not m.control().grant("short")["processes"])
    m.control().ask("grant_delete", name="short")
    text = lambda: m.control().ask("metrics")["text"]
    text()  # what was told is kept
    m.kill()
    m.start()
    ok(until(lambda: re.search(r'^mete_device_memory_refusals_total\{device="0"[^}]*\} 2$', text(), re.M), 20),
       "the device's outlives the tenant and a kill", text())
    events = m.control().ask("events")["events"]
    ok([e for e in events if e["kind"] == "refusal"] and events[-1]["id"] > last, "the events too; ids go on", events)
    m.control().ask("grant_create", name="two", driver="soft", devices=[{"device": "0", "mem_bytes": 512}])
    known = lambda: "two" in str(subprocess.run(
        [sys.executable, "-c", "import sqlite3,sys;print(open(sys.argv[1],'rb').read())",
         os.path.join(m.dir, "history.db")], capture_output=True, text=True).stdout)
    ok(until(known, 20), "events are written within seconds")
    m.kill()
    m.start()
    ok([e for e in m.control().ask("events")["events"] if e["tenant"] == "two"], "they survive a kill")
    m.kill()
    with open(os.path.join(m.dir, "history.db"), "wb") as f:
        f.write(b"no database at all" * 100)
    m.start()
    ok(m.up and m.control().grant("one"), "a broken history.db stops nobody")
    ok(os.path.exists(os.path.join(m.dir, "history.db.bad")), "it is moved away")
    ok([e for e in m.control().ask("events")["events"] if e["kind"] == "fault"], "and that is an event")
    m.close()


def dcgm_lines(m, name, device="0"):
    """By tenant, "" for what is nobody's."""
    text = m.control().ask("metrics", compat="dcgm")["text"]
    lines = re.findall(rf'^{name}\{{gpu="{device}"([^}}]*)\}} (\S+)$', text, re.M)
    return {(re.findall(r'tenant="([^"]*)"', labels) or [""])[0]: float(value) for labels, value in lines}


def test_native(m):
    """What is not measured has no figure; what is promised twice is there once."""
    native = m.make("native", quota=GIB)
    m.make("large", devices=[{"device": "0", "mem_bytes": 16 * GIB, "policy": "fair"}], overcommit=True)
    m.control().ask("grant_set", name="one", devices=[{"device": "0", "policy": "fair"}])
    allowed = m.control().ask("policy_set", device="0", native="allow")
    ok(allowed["ok"], "nothing holds the native one back", allowed)
    client = m.client()
    client.hello(native)
    client.reserve(0, GIB // 2 // UNIT)
    client.hold(0, GIB // 2 // UNIT)
    total = next(d for d in m.control().ask("devices")["devices"] if d["index"] == 0)["total_bytes"] / 2**20
    used, free = dcgm_lines(m, "DCGM_FI_DEV_FB_USED"), dcgm_lines(m, "DCGM_FI_DEV_FB_FREE")
    same((used.get("native"), sorted(used)), (512.0, ["", "large", "native", "one"]), "memory of each, and of nobody")
    ok(abs(sum(used.values()) + sum(free.values()) - total) < 0.01 and min(free.values()) >= 0,
       "what is used and free is the device's memory", used, free, total)
    for name in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"):
        ok("native" not in dcgm_lines(m, name), f"{name}: no 0 for a tenant that is not measured", dcgm_lines(m, name))
    ok(until(lambda: "" in dcgm_lines(m, "DCGM_FI_DEV_GPU_UTIL"), 20), "what the driver says beyond the measured ones is there")
    node = json.loads(get(Local(m.dir), "/api/v1/node")[1])
    share = next(t for t in node["tenants"] if t["name"] == "native")["shares"][0]
    same([share[k] for k in ("got_10s", "wanted_10s", "used_seconds")], [None] * 3, "the console is told nothing of it")
    device = next(d for d in node["devices"] if d["index"] == 0)
    same((device["got_10s"], device["utilisation"]), (None, 0.0), "nor a sum of the device, but the device's own utilisation")
    same(next(d for d in m.control().ask("devices")["devices"] if d["index"] == 0)["utilisation"], 0.0, "as `mete devices`")
    client.close()
    until(lambda: not m.control().grant("native")["processes"])
    for name in ("native", "large"):
        m.control().ask("grant_delete", name=name)
    m.control().ask("policy_set", device="0", native="hold")


def test_labels(m):
    """Whose work a grant is, as those have it who started it."""
    whole = "4f6c0a" * 10 + "4f6c"
    labels = {"container": whole, "pod": "train-7d9f", "namespace": "lab"}
    ask = lambda name, labels: m.control().ask("grant_create", name=name, driver="soft", labels=labels,
                                               devices=[{"device": "0", "mem_bytes": 512}])
    ok(ask("pod", labels)["ok"], "a grant with labels")
    found = re.search(r'^mete_tenant_info\{tenant="pod",.*$', m.control().ask("metrics")["text"], re.M)
    ok(found and all(f'{k}="{v}"' in found[0] for k, v in labels.items()), "the metrics have them, the container's id whole", found)
    later = {"container": "main", "pod": "train-7d9g"}
    answer = m.control().ask("grant_label", name="pod", labels=later)
    same(answer["grant"]["labels"], {**labels, **later}, "labels can be given later, those not given stay")
    labels = answer["grant"]["labels"]
    found = re.search(r'^DCGM_FI_DEV_FB_USED\{.*tenant="pod".*$', m.control().ask("metrics", compat="dcgm")["text"], re.M)
    ok(found and all(f'{k}="{v}"' in found[0] for k, v in labels.items()), "the lines under NVIDIA's names have them", found)
    for bad in ({"pod": 'a"b'}, [], None):
        same(m.control().ask("grant_label", name="pod", labels=bad)["code"], "malformed", f"labels {bad} are refused later, too")
    m.kill()
    m.start()
    same(m.control().grant("pod")["labels"], labels, "and the next meted too")
    node = json.loads(get(Local(m.dir), "/api/v1/node")[1])
    tenant = next(t for t in node["tenants"] if t["name"] == "pod")
    same({k: tenant[k] for k in labels}, labels, "and the console")
    for bad in ({"pod": 'a"b'}, {"pod": ""}, {"pod": "x" * 254}, {"pod": 7}, "pod"):
        same(ask("bad", bad)["code"], "malformed", f"labels {str(bad)[:30]} are refused")
    m.control().ask("grant_delete", name="pod")


def counter(m, series):
    found = re.search(rf"^{re.escape(series)} (\S+)$", m.control().ask("metrics")["text"], re.M)
    return float(found[1]) if found else None


def test_corrected():
    """
    A program that is stopped with work in flight is charged by estimate, and when it goes on for what it had: what was
    charged is taken back, and a counter does not count it again.
    """
    m = Meted()
    path = m.make("one", devices=[{"device": "0", "mem_bytes": 1 << 20, "cores": 90}])
    command = [os.path.join(BUILD, "tests/daemon/turn_client"), path, "0", "30000", "0", "600"]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worker.stdout.readline()
    worker.stdin.write("exact\n")
    worker.stdin.flush()
    worker.stdout.readline()
    used = 'mete_tenant_compute_used_seconds_total{tenant="one",device="0"}'
    seen, began = [], time.monotonic()

    def look():
        seen.append((counter(m, used), m.control().share("one")["charged_ms"] / 1e3))
        return seen[-1]

    corrected = lambda: sum(b[1] < a[1] - 1e-3 for a, b in zip(seen, seen[1:]))
    until(lambda: look()[0], 10)
    for _ in range(100):
        worker.send_signal(signal.SIGSTOP)
        until(lambda: not look(), 0.08)
        worker.send_signal(signal.SIGCONT)
        until(lambda: not look(), 0.05)
        if corrected() >= 5:
            break
    ok(corrected() >= 5, "what was charged by estimate was taken back", seen[-20:])
    ok(all(b[0] >= a[0] for a, b in zip(seen, seen[1:])), "the counter never falls", seen[-20:])
    ok(seen[-1][0] <= time.monotonic() - began + 0.5, "and is no more than the time that has passed", seen[-1])
    ok(until(lambda: abs(look()[0] - seen[-1][1]) < 0.1, 10), "and what was charged in the end", seen[-1])
    worker.kill()
    worker.wait()
    worker.stdin.close()
    worker.stdout.close()
    m.close()


m = Meted("--http", "127.0.0.1:0")
path = m.make("one", devices=[{"device": "0", "mem_bytes": GIB, "cores": 20}])
until(lambda: m.control().ask("devices")["devices"])
served, dcgm = (m.control().ask("metrics", **compat)["text"] for compat in ({}, {"compat": "dcgm"}))
same(m.control().ask("metrics", compat="x")["ok"], False, "other names there are none")
connection = Local(m.dir)
same(names_in(get(connection, "/metrics")[1].decode()), names_in(served), "the same over HTTP")
same(get(connection, "/metrics?compat=dcgm")[1].decode(), dcgm, "those of dcgm's names too")
same(get(connection, "/metrics?compat=x")[0], 400, "and no others")
ok('DCGM_FI_DEV_FB_FREE' in dcgm and 'tenant="one"} 1024' in dcgm, "a tenant's own figures", dcgm)
test_native(m)
test_labels(m)
test_documents(served, dcgm)
test_prometheus(m, path)
m.close()
test_kept()
test_corrected()
finish()
