"""
Alerts: each fires when it should, with its words, and not otherwise (alerts.yml); each has its section in docs/operating.md,
and no section is without its alert; and in a real Prometheus one fires when a device reports an error.
"""
import re
import urllib.request

from harness import *

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RULES = os.path.join(SOURCE, "packaging/prometheus/mete.rules.yml")
UNIT_TESTS = os.path.join(SOURCE, "tests/daemon/alerts.yml")
METE = os.path.join(BUILD, "src/cli/mete")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def rules():
    """{alert: its text}"""
    parts = re.split(r"^ *- alert: (\w+)$", read(RULES), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_documents():
    alerts = rules()
    ok(len(alerts) >= 10, "there are alerts", sorted(alerts))
    same([a for a, text in alerts.items() if not re.search(r"severity: (critical|warning|info)", text) or
          "summary:" not in text or "description:" not in text], [], "each has a severity and words")
    sections = re.findall(r"^### (Mete\w+)$(.*?)(?=^##)", read("docs/operating.md"), re.M | re.S)
    same(sorted(name for name, _ in sections), sorted(alerts), "docs/operating.md has a section on each, and on no other")
    same([name for name, text in sections if len(text.split()) < 15 or "`" not in text], [], "which says what to do")
    cases = read(UNIT_TESTS).split("alertname: ")[1:]
    fires = sorted({c.split()[0] for c in cases if "exp_labels" in c})
    silent = sorted({c.split()[0] for c in cases if "exp_alerts: []" in c})
    same((fires, silent), (sorted(alerts), sorted(alerts)), "each has a case in which it fires, and one in which it does not")


def test_units():
    if not shutil.which("promtool"):
        skip("promtool test rules", "prometheus is not installed")
        return
    done = subprocess.run(["promtool", "test", "rules", UNIT_TESTS], capture_output=True, text=True)
    ok(done.returncode == 0, "promtool test rules", done.stdout, done.stderr)


class Prometheus:
    """One that scrapes each second, with the shipped rules, but that nothing waits for longer than a second."""

    def __init__(self, folder, target):
        with open(os.path.join(folder, "rules.yml"), "w", encoding="utf-8") as f:
            f.write(re.sub(r"^( *for:) \w+$", r"\1 1s", read(RULES), flags=re.M))
        with open(os.path.join(folder, "p.yml"), "w", encoding="utf-8") as f:
            f.write(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{folder}/rules.yml]\n"
                    f"scrape_configs: [{{job_name: mete, static_configs: [{{targets: ['{target}']}}]}}]\n")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/p.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=10) as f:
                return json.load(f)["data"]
        except OSError:
            return {}

    def value(self, query):
        found = self.ask(f"query?query={urllib.request.quote(query)}").get("result", [])
        return float(found[0]["value"][1]) if found else None

    def firing(self, name):
        return [a["labels"] for a in self.ask("alerts").get("alerts", [])
                if a["labels"]["alertname"] == name and a["state"] == "firing"]

    def close(self):
        self.process.kill()
        self.process.wait()


def fault(m, *words):
    subprocess.run([METE, "soft", "fault", *words], env=m.env, check=True)


def faults(m):
    c = m.control()
    text = c.ask("metrics")["text"]
    c.close()
    return sum(int(n) for n in re.findall(r"^mete_device_faults_total\S* (\d+)$", text, re.M))


def test_fires():
    if not shutil.which("prometheus"):
        skip("a real Prometheus", "prometheus is not installed")
        return
    m = Meted("--http", "127.0.0.1:0", "--soft-only")
    m.make("one", devices=[{"device": "0", "mem_bytes": GIB}])
    c = m.control()
    folder = os.path.join(m.dir, "prometheus")
    os.mkdir(folder)
    p = Prometheus(folder, c.ask("hello")["http"])
    try:
        ok(until(lambda: p.value('mete_device_faults_total{device="0"}') == 0, 60), "Prometheus scrapes meted")
        same(p.firing("MeteDeviceFault"), [], "all is well, and nothing fires")

        def injected():
            """Again while the child that hears of errors has not begun to listen."""
            fault(m, "0", "--xid", "31")
            return until(lambda: faults(m), 2)

        ok(until(injected, 60), "a device reports an error")
        fired = until(lambda: p.firing("MeteDeviceFault"), 60)
        ok(fired and (fired[0]["device"], fired[0]["severity"]) == ("0", "warning"), "and the alert fires, with the device", fired)
        fault(m, "0", "--lost")
        fired = until(lambda: p.firing("MeteDeviceLost"), 60)
        ok(fired and {f["severity"] for f in fired} == {"critical"}, "so it does when a device is lost", fired)
        m.kill()
        ok(until(lambda: p.firing("MeteDown"), 60), "and when meted is gone")
    finally:
        p.close()
        c.close()
    m.start()
    m.close()


test_documents()
test_units()
test_fires()
finish()
