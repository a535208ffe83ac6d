"""
mete-webhook and mete-extender with a real kube-apiserver and kube-scheduler: servers_test.py BUILD_ROOT

Nodes are objects with an annotation and no kubelet, so pods are bound and do not run. METE_TEST_KUBERNETES names the folder
that make.sh filled; without it this is skipped.
"""
import base64
import concurrent.futures
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("METE_TEST_KUBERNETES")
BUILD = os.path.abspath(sys.argv[1])
BIN = os.path.join(BUILD, "src/cli")


def leave(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


if not FOLDER:
    leave("METE_TEST_KUBERNETES names no folder with a cluster's programs (tests/kubernetes/make.sh FOLDER)")
if os.geteuid():
    leave("needs root")
if not os.path.exists(os.path.join(BIN, "mete-extender")):
    leave("mete-extender is not built: libcurl or libmicrohttpd is not there")
if "METE_CLUSTER" not in os.environ:
    tried = subprocess.run(["unshare", "-m", "-p", "-f", "-n", "--mount-proc", "true"], capture_output=True, text=True)
    if tried.returncode:
        leave("no namespaces of our own here: " + tried.stderr.strip())
    os.execvpe(os.path.join(HERE, "up.sh"), ["up.sh", FOLDER, sys.executable, "-B", *sys.argv], {**os.environ, "METE_CLUSTER_BARE": "1"})

for folder in ("", "../daemon"):
    sys.path.insert(0, os.path.join(HERE, folder))
import cluster as clusters  # noqa: E402
import harness  # noqa: E402
from harness import GIB, finish, ok, same, until  # noqa: E402
from review import SHARES, Program, pod  # noqa: E402

WORK = os.environ["METE_CLUSTER"]
PATIENCE = 60
FOUR = [{"card": -1, "bytes": 4 * GIB, "time": 250000}]


def node(name, *left):
    cards = [{"index": i, "uuid": f"GPU-{name}-{i}", "name": "Card", "total": 16 * GIB, "left": n * GIB, "time": n * 62500, "tenants": 0, "state": "active",
              "native": False} for i, n in enumerate(left)]
    room = {"cpu": "16", "memory": "64Gi", "pods": "110", "mete.io/small": "16", "mete.io/tiny": "16"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"mete.io/devices": json.dumps({"cards": cards, "shares": {"small": FOUR}})}},
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "x",
                                                                              "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                                                                              "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


def extender_s(extender):
    """Seconds of processor time."""
    with open(f"/proc/{extender.process.pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


# Its one node is not started; it gives the network an address.
cluster = clusters.Cluster(os.environ["METE_CLUSTER_BIN"], WORK, 1)
subprocess.run(["openssl", "genrsa", "-out", os.path.join(WORK, "key.pem"), "2048"], check=True, capture_output=True)
programs = []
try:
    cluster.spawn("etcd", "--data-dir", os.path.join(WORK, "etcd"), "--unsafe-no-fsync", "--listen-client-urls", "http://127.0.0.1:12379",
                  "--advertise-client-urls", "http://127.0.0.1:12379", "--listen-peer-urls", "http://127.0.0.1:12380", "--log-level", "error")
    cluster.start_api()
    api = cluster.api
    config = cluster.kubeconfig
    until(lambda: api.get("/api/v1/namespaces/default"), PATIENCE)

    # The webhook, believed through the certificate that it wrote itself.
    with open(os.path.join(WORK, "shares.json"), "w") as file:
        json.dump({"shares": SHARES}, file)
    api.ask("POST", "/api/v1/namespaces/default/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mete-webhook"}})
    CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    api.ask("POST", CONFIGURATION, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "mete-webhook"},
        "webhooks": [{"name": "pods.mete.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
                      "reinvocationPolicy": "IfNeeded", "timeoutSeconds": 5, "clientConfig": {"url": "https://localhost:18443/mutate"},
                      "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]})
    webhook = Program(os.path.join(BIN, "mete-webhook"), "--shares", os.path.join(WORK, "shares.json"), "--secret", "mete-webhook", "--namespace",
                      "default", "--configuration", "mete-webhook", "--kubeconfig", config, "--card-memory", "16G")
    programs.append(webhook)
    webhook.command[2] = "127.0.0.1:18443"
    webhook.stop()
    webhook.start()
    ok(until(webhook.port, PATIENCE), "the webhook serves", webhook.said())
    ok(until(lambda: "caBundle" in api.get(CONFIGURATION + "/mete-webhook")["webhooks"][0]["clientConfig"], PATIENCE), "and has told whom to believe")
    ok("ca.key" in api.get("/api/v1/namespaces/default/secrets/mete-webhook")["data"], "the authority is in the secret that was empty")

    def create(name, limits, annotations=None, **spec):
        thing = pod(limits, annotations)
        thing["metadata"]["name"] = name
        thing["spec"].update({"automountServiceAccountToken": False, **spec})
        return api.ask("POST", "/api/v1/namespaces/default/pods", thing)

    def limits(name):
        return api.get(f"/api/v1/namespaces/default/pods/{name}")["spec"]["containers"][0]["resources"].get("limits")
    # Believing takes the API server a moment after the change.
    probe = 0

    def believed():
        global probe
        probe += 1
        create(f"probe-{probe}", {"aliyun.com/gpu-mem": "1"})
        return "mete.io/tiny" in limits(f"probe-{probe}")
    ok(until(believed, PATIENCE), "the API server believes it", webhook.said())
    create("hami", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "20"})
    same(limits("hami"), {"mete.io/small": "1"}, "HAMi's words became a share")
    create("kai", {}, {"gpu-fraction": "0.25"})
    same(limits("kai"), {"mete.io/small": "1"}, "KAI's, too")
    try:
        create("much", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "99000"})
        ok(False, "what cannot be meant is refused")
    except clusters.Refused as why:
        ok("limits[nvidia.com/gpumem]: 99k" in str(why), "what cannot be meant is refused, with the field", why)

    def took(name):
        before = time.monotonic()
        create(name, {"cpu": "1"})
        return (time.monotonic() - before) * 1000
    with_it = [took(f"with-{i}") for i in range(20)]
    webhook.stop()
    create("unseen", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"})
    # The API server writes quantities in its own way before it asks.
    same(limits("unseen"), {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3k"}, "without a webhook pods are made as they are")
    api.ask("DELETE", CONFIGURATION + "/mete-webhook")
    time.sleep(2)  # until the API server has noticed; only the figure depends on it
    without = [took(f"without-{i}") for i in range(20)]
    print(f"# a pod that asks nothing: {statistics.median(with_it):.1f} ms with the webhook, {statistics.median(without):.1f} ms without")

    # The extender, asked by the real scheduler.
    for name, left in (("full", (2, 1)), ("tight", (4, 3)), ("empty", (16, 16))):
        api.ask("POST", "/api/v1/nodes", node(name, *left))
    extender = Program(os.path.join(BIN, "mete-extender"), "--kubeconfig", config)
    programs.append(extender)
    ok(until(lambda: "3 nodes" in extender.said(), PATIENCE), "the extender knows the nodes", extender.said())
    scheduler = json.load(open(os.path.join(WORK, "scheduler.json")))
    scheduler["extenders"] = [{"urlPrefix": f"http://127.0.0.1:{extender.port()}", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 100,
                               "nodeCacheCapable": True, "managedResources": [{"name": "mete.io/small"}]}]
    cluster.write("scheduler.json", scheduler)
    cluster.start_scheduler()

    def placed(name):
        return api.get(f"/api/v1/namespaces/default/pods/{name}")["spec"].get("nodeName")
    anywhere = {"tolerations": [{"operator": "Exists"}]}
    create("first", {"mete.io/small": "1"}, **anywhere)
    ok(until(lambda: placed("first"), PATIENCE) == "tight", "the pod goes where least is broken", placed("first"), extender.said())
    api.ask("PATCH", "/api/v1/nodes/empty", {"spec": {"unschedulable": True}}, kind="application/merge-patch+json")
    note = node("tight", 0, 3)["metadata"]
    api.ask("PATCH", "/api/v1/nodes/tight", {"metadata": {"annotations": note["annotations"]}}, kind="application/merge-patch+json")
    time.sleep(1)
    create("second", {"mete.io/small": "1"}, nodeSelector={}, tolerations=[])

    def why():
        answer = api.ask("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dsecond")
        return " ".join(e["message"] for e in answer["items"])
    ok(until(lambda: "2 GiB not promised, asked were 4 GiB" in why(), PATIENCE), "where there is no room the pod's event has the figure", why())
    ok("3 GiB not promised" in why(), "of every node", why())
    note = node("tight", 4, 3)["metadata"]
    api.ask("PATCH", "/api/v1/nodes/tight", {"metadata": {"annotations": note["annotations"]}}, kind="application/merge-patch+json")
    time.sleep(0.5)
    # Kubelet's count changes with it, and that is what has the scheduler look again.
    api.ask("PATCH", "/api/v1/nodes/tight/status", {"status": {"allocatable": {"mete.io/small": "15"}}}, kind="application/merge-patch+json")
    ok(until(lambda: placed("second"), 120) == "tight", "when there is room it is placed")
    kubectl = subprocess.run([os.path.join(BIN, "kubectl-mete"), "list"], env={**cluster.env, "KUBECONFIG": config}, capture_output=True, text=True)
    ok(kubectl.returncode == 0 and "tight" in kubectl.stdout and "16 GiB" in kubectl.stdout, "kubectl mete list", kubectl.stdout, kubectl.stderr)

    if os.environ.get("METE_TEST_LONG"):  # 5 000 nodes of 8 cards: pods with a share beside pods with a resource that nobody but the scheduler counts
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            hands = threading.local()

            def add(i):
                hands.api = getattr(hands, "api", None) or clusters.Api()
                hands.api.ask("POST", "/api/v1/nodes", node(f"many-{i:04}", *((i * 7 + c) % 17 for c in range(8))))
            list(pool.map(add, range(5000)))

        def rate(turn, resource, count=200):
            names = [f"{turn}-{i}" for i in range(count)]
            began = time.monotonic()
            for name in names:
                create(name, {resource: "1"}, **anywhere)
            path = "/api/v1/namespaces/default/pods?limit=5000"
            bound = lambda: sum(p["metadata"]["name"] in names and "nodeName" in p["spec"] for p in api.ask("GET", path)["items"])  # noqa: E731
            ok(until(lambda: bound() == count, 5 * PATIENCE), f"{count} pods with {resource} are placed among 5000 nodes", bound(), extender.said()[-500:])
            return count / (time.monotonic() - began)
        rate("early", "mete.io/tiny", 20)  # until the scheduler knows the nodes
        before = extender_s(extender)
        shared = rate("shared", "mete.io/small")
        spent = (extender_s(extender) - before) / 200 * 1000
        plain = rate("plain", "mete.io/tiny")
        print(f"# among 5000 nodes: {shared:.1f} pods a second with a share, {plain:.1f} without the extender; "
              f"{spent:.1f} ms of the extender's processor time a pod", flush=True)

    # The manifests, as a whole.
    manifests = os.path.join(HERE, "..", "..", "deploy", "manifests", "mete.yaml")
    done = cluster.kubectl("apply", "-f", manifests)
    ok(done.returncode == 0, "kubectl apply takes the manifests", done.stdout, done.stderr)
    done = cluster.kubectl("apply", "-f", manifests)
    ok(done.returncode == 0, "a second time, too", done.stdout, done.stderr)
    done = cluster.kubectl("delete", "-f", manifests, "--wait=false")
    ok(done.returncode == 0, "and delete", done.stdout, done.stderr)
    left = [kind for kind in ("clusterrole/mete-agent", "clusterrole/mete-webhook", "clusterrolebinding/mete-agent", "clusterrolebinding/mete-webhook",
                              "priorityclass/mete-agent", "mutatingwebhookconfiguration/mete-webhook") if cluster.kubectl("get", kind).returncode == 0]
    same(left, [], "nothing of the cluster's is left")
finally:
    for p in programs:
        if p.process.poll() is None:
            p.process.kill()
            p.process.wait()
        shutil.rmtree(p.folder, ignore_errors=True)
    cluster.end()
finish()
