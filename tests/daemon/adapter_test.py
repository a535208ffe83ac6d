"""
The rules for prometheus-adapter (packaging/prometheus/mete.adapter.yml): a real Prometheus scrapes two nodes' meted, whose
grants have the same names, and is asked what the adapter would ask. The adapter itself is not there: its template is filled
here, as its documents say.
"""
import re
import urllib.parse
import urllib.request

from harness import *

try:
    import yaml
except ImportError:
    yaml = None
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
METE = os.path.join(BUILD, "src/cli/mete")
SAXPY = os.path.join(BUILD, "examples/saxpy")


def read(name):
    with open(os.path.join(SOURCE, "packaging/prometheus", name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    def __init__(self, folder, targets):
        os.mkdir(folder)
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [{"job_name": "mete", "static_configs": [{"targets": targets}]}]}
        with open(os.path.join(folder, "p.yml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        self.port = free_port()
        self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/p.yml", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, query):
        """Labels and value of each series; None: not answered."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query}), timeout=10) as file:
                return [(r["metric"], float(r["value"][1])) for r in json.load(file)["data"]["result"]]
        except OSError as why:
            return None if not hasattr(why, "read") else why.read().decode()

    def end(self):
        self.process.kill()
        self.process.wait()


def rules():
    """Name of the metric to what the adapter asks for these pods."""
    found = {}
    for rule in read("mete.adapter.yml")["rules"]["custom"]:
        series = re.match(r"(\w+)\{", rule["seriesQuery"])[1]
        assert set(rule["resources"]["overrides"]) == {"namespace", "pod"}
        if re.match(rule["name"]["matches"], series):
            found[rule["name"]["as"]] = rule["seriesQuery"], rule["metricsQuery"].replace("<<.Series>>", series)
    return found


def asked(query, namespace, *pods):
    return query.replace("<<.LabelMatchers>>", f'namespace="{namespace}",pod=~"{"|".join(pods)}"').replace("<<.GroupBy>>", "pod")


def make(m, name, pod, namespace="lab", container="main"):
    return m.make(name, devices=[{"device": "0", "mem_bytes": 64 << 20, "cores": 25}], labels={"namespace": namespace, "pod": pod, "container": container})


def main():
    queries = rules()
    same(sorted(queries), ["mete_gpu_memory_ratio", "mete_gpu_time_ratio", "mete_gpu_wait_ratio"], "three metrics of pods")
    hpa = read("mete.hpa.yml")
    ok((hpa["apiVersion"], hpa["kind"]) == ("autoscaling/v2", "HorizontalPodAutoscaler") and
       {m["pods"]["metric"]["name"] for m in hpa["spec"]["metrics"]} <= set(queries), "the autoscaler's example asks for one of them", hpa)
    nodes = [Meted("--http", "127.0.0.1:0") for _ in range(2)]
    for m in nodes:
        make(m, "k8s-small-0", "busy" if m is nodes[0] else "idle")
        make(m, "k8s-small-1", "busy" if m is nodes[0] else "elsewhere", "lab" if m is nodes[0] else "other", "side")
        m.make("nobody", devices=[{"device": "0", "mem_bytes": 64 << 20}])
    p = Prometheus(os.path.join(nodes[0].dir, "prometheus"), [m.control().ask("hello")["http"] for m in nodes])
    # Kernels of declared length: the time is used, and the processors have others to serve.
    program = subprocess.Popen([METE, "run", "--grant", "k8s-small-0", "--", SAXPY, "--seconds", "600", "1M"],
                               env={**nodes[0].env, "METE_RUNTIME_DIR": nodes[0].dir, "METE_SOFT_DURATION": "saxpy=100ms"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        value = lambda name, *pods: {m["pod"]: v for m, v in p.ask(asked(queries[name][1], "lab", *pods)) or []}  # noqa: E731
        ok(until(lambda: isinstance(p.ask("up"), list) and value("mete_gpu_time_ratio", "busy", "idle").get("busy", 0) > 0.05, 60),
           "the pod whose program runs uses time", p.ask(asked(queries["mete_gpu_time_ratio"][1], "lab", "busy")), program.poll())
        time_ratio = value("mete_gpu_time_ratio", "busy", "idle")
        ok(set(time_ratio) == {"busy", "idle"} and time_ratio["busy"] <= 1.5 and time_ratio["idle"] == 0,
           "one value a pod; the other, whose grant on another node has the same name, uses none", time_ratio)
        memory = value("mete_gpu_memory_ratio", "busy", "idle")
        ok(0 < memory["busy"] < 1 and memory["idle"] == 0, "memory, as a part of the quota of all its containers", memory)
        held = sum(v for _, v in p.ask('mete_tenant_memory_held_bytes{tenant="k8s-small-0"}'))
        ok(abs(memory["busy"] - held / (128 << 20)) < 0.05, "of which it has two", memory, held)
        same(set(value("mete_gpu_wait_ratio", "busy", "idle")), {"busy", "idle"}, "and time without a turn")
        same(value("mete_gpu_time_ratio", "elsewhere"), {}, "a pod of another namespace is not found")
        same(sorted(m["pod"] for m, _ in p.ask(queries["mete_gpu_time_ratio"][0])), ["busy", "busy", "elsewhere", "idle"],
             "the adapter's search finds the pods, and no grant of nobody's")
    finally:
        program.kill()
        program.wait()
        program.stderr.close()
        p.end()
        for m in nodes:
            m.close()


if not shutil.which("prometheus") or not yaml:
    print("1..0 # SKIP prometheus or python3-yaml is not installed")
    sys.exit(0)
main()
finish()
