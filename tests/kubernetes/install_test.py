"""
Installation as docs/kubernetes.md says: install_test.py BUILD_ROOT [PART...]

A real kube-apiserver with RBAC, kube-scheduler, kubelet and containerd, the real helm and kubectl, an image that
deploy/images/build.py makes, and the system's meted with software devices. controllers.py stands in for the controller
manager. METE_TEST_KUBERNETES names the folder that make.sh filled, METE_TEST_HELM and METE_TEST_KUBECTL the clients.
Parts: helm, words, manifests.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("METE_TEST_KUBERNETES")
BUILD = os.path.abspath(sys.argv[1])
BIN = os.path.join(BUILD, "src/cli")
DEPLOY = os.path.abspath(os.path.join(HERE, "../../deploy"))


def leave(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def client(name):
    named = os.environ.get("METE_TEST_" + name.upper())
    return named if named and os.access(named, os.X_OK) else shutil.which(name)


if not FOLDER:
    leave("METE_TEST_KUBERNETES names no folder with a cluster's programs (tests/kubernetes/make.sh FOLDER)")
if os.geteuid():
    leave("needs root")
if os.environ.get("METE_TEST_SANITIZED"):
    leave("the libraries of a sanitizer cannot be preloaded by a file")
if not os.path.exists(os.path.join(BIN, "mete-extender")):
    leave("mete-extender is not built: libcurl or libmicrohttpd is not there")
if not client("helm") or not client("kubectl") or not shutil.which("dpkg-deb"):
    leave("helm (METE_TEST_HELM), kubectl (METE_TEST_KUBECTL) or dpkg-deb is not there")
try:
    import yaml
except ImportError:
    leave("python3-yaml is not there")
if "METE_CLUSTER" not in os.environ:
    tried = subprocess.run(["unshare", "-m", "-p", "-f", "-n", "--mount-proc", "true"], capture_output=True, text=True)
    if tried.returncode:
        leave("no namespaces of our own here: " + tried.stderr.strip())
    os.execvpe(os.path.join(HERE, "up.sh"), ["up.sh", FOLDER, sys.executable, "-B", *sys.argv], {**os.environ, "METE_CLUSTER_BARE": "1"})

for folder in ("", "../daemon", "../containers"):
    sys.path.insert(0, os.path.join(HERE, folder))
import cluster as clusters  # noqa: E402
import controllers  # noqa: E402
import harness  # noqa: E402
import rootfs  # noqa: E402
from harness import GIB, finish, ok, same  # noqa: E402

PARTS = sys.argv[2:]
WORK = os.environ["METE_CLUSTER"]
SPACE = "mete-system"
AGENT_USER = f"system:serviceaccount:{SPACE}:mete-agent"
SHARES = [{"name": "small", "mem": "4G", "cores": 25}, {"name": "half", "mem": "8G", "cores": 50}, {"name": "low", "mem": "4G", "cores": 10, "class": "low"},
          {"name": "whole", "mem": "100%", "cores": 100}, {"name": "pair", "mem": "4G", "cores": 30, "device": "0,1"},
          {"name": "pair-half", "mem": "8G", "cores": 50, "device": "0,1"}, {"name": "pair-whole", "mem": "100%", "cores": 100, "device": "0,1"}]
SIZES = {"small": [4], "half": [8], "low": [4], "whole": [16], "pair": [4, 4], "pair-half": [8, 8], "pair-whole": [16, 16]}
VALUES = {"image": {"tag": "0.1.0"}, "shares": SHARES, "agent": {"soft": True},
          "webhook": {"replicas": 1, "cardMemory": "16G", "whole": "share", "scheduler": "default-scheduler"}}
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
         "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]}
# What an installation may leave, and none of it may be left.
CLUSTERS = ["clusterroles", "clusterrolebindings", "priorityclasses", "mutatingwebhookconfigurations"]
SPACES = ["daemonsets", "deployments", "services", "endpoints", "secrets", "configmaps", "serviceaccounts", "roles", "rolebindings", "pods"]


def wait(what, condition, seconds=60):
    try:
        return clusters.until(what, condition, seconds)
    except TimeoutError:
        return None


def put_build(tree):
    """The programs at their place in the build's folder, with its libraries: a node finds the latter at the same path, as with packages."""
    os.makedirs(os.path.join(tree, "usr/bin"))
    for name in ("mete-agent", "mete-webhook", "mete-extender"):
        rootfs.put_program(tree, os.path.join(BIN, name), os.path.join(BIN, name))
        os.symlink(os.path.join(BIN, name), os.path.join(tree, "usr/bin", name))
    for folder, _, files in os.walk(os.path.join(BUILD, "src")):
        for name in files:
            if ".so" in name and not folder.endswith(".p") and not name.endswith((".p", ".symbols")):
                os.makedirs(tree + folder, exist_ok=True)
                if not os.path.lexists(os.path.join(tree + folder, name)):
                    shutil.copy(os.path.join(folder, name), tree + folder, follow_symlinks=False)


def image():
    """Of a package with the programs of this build and what they need, by the script that the documents name."""
    tree = os.path.join(WORK, "deb")
    put_build(tree)
    os.makedirs(os.path.join(tree, "DEBIAN"))
    with open(os.path.join(tree, "DEBIAN/control"), "w") as file:
        file.write("Package: mete-kubernetes\nVersion: 0.1.0\nArchitecture: amd64\nMaintainer: a <a@example.org>\nDescription: x\n")
    out = os.path.join(WORK, "mete.tar")
    for command in (["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, tree + ".deb"],
                    [sys.executable, os.path.join(DEPLOY, "images/build.py"), out, "--tag", "localhost/mete:0.1.0", tree + ".deb"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"Bail out! {command}: {done.stderr}")
    return out


class Test:
    def __init__(self):
        app = rootfs.make(os.path.join(WORK, "app-root"), {"hungry": os.path.join(BUILD, "examples/hungry")}, tools=("sh", "bash", "sleep"))
        images = [clusters.pause_image(WORK), clusters.archive(WORK, "app", app), image()]
        with open(os.path.join(WORK, "audit.json"), "w") as file:
            json.dump(AUDIT, file)
        self.audit = os.path.join(WORK, "audit.log")
        self.c = clusters.Cluster(os.environ["METE_CLUSTER_BIN"], WORK, 1, images, status_s=int(os.environ.get("METE_TEST_STATUS_S", "10")),
                                  api_options=["--audit-policy-file", os.path.join(WORK, "audit.json"), "--audit-log-path", self.audit])
        self.c.start()
        self.api, self.node = self.c.api, self.c.nodes[0]
        self.controllers = controllers.Controllers(self.c)
        self.env = {**self.c.env, "KUBECONFIG": self.c.kubeconfig, "HOME": WORK, "METE_SOFT_DIR": "/dev/shm/soft", "METE_SOFT_SMS": "4",
                    **{f"HELM_{k}_HOME": os.path.join(WORK, "helm") for k in ("CACHE", "CONFIG", "DATA")}}
        for name in (os.path.join(self.node.work, "state"), self.node.path("/run/mete")):
            os.mkdir(name)
        self.meted = self.node.spawn("meted", os.path.join(BUILD, "src/daemon/meted"), "--system", "--runtime-dir", "/run/mete", "--state-dir",
                                     os.path.join(self.node.work, "state"), "--soft-only", "--foreground", "--config", "", env=self.env)
        clusters.until("meted serves", lambda: os.path.exists(self.node.path("/run/mete/control.sock")))
        self.values = os.path.join(WORK, "values.json")
        with open(self.values, "w") as file:
            json.dump(VALUES, file)
        clusters.until("namespaces have the authority's certificate", lambda: self.api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt"))

    def end(self):
        self.controllers.end()
        self.meted.terminate()
        self.meted.wait(30)
        self.c.end()

    def run(self, name, *words, **more):
        return subprocess.run([client(name), *words], env=self.env, capture_output=True, text=True, timeout=300, **more)

    def grants(self):
        c = harness.Control(self.node.path("/run/mete"))
        try:
            return {row["name"]: row for row in c.ask("grants")["grants"]}
        finally:
            c.close()

    def sizes(self):
        return sorted([d["quota_bytes"] // GIB for d in g["devices"]] for g in self.grants().values())

    def there(self):
        """What the cluster has, that an installation could have made."""
        groups = {"clusterroles": "rbac.authorization.k8s.io/v1", "clusterrolebindings": "rbac.authorization.k8s.io/v1", "roles": "rbac.authorization.k8s.io/v1",
                  "rolebindings": "rbac.authorization.k8s.io/v1", "priorityclasses": "scheduling.k8s.io/v1", "daemonsets": "apps/v1",
                  "deployments": "apps/v1", "mutatingwebhookconfigurations": "admissionregistration.k8s.io/v1"}
        found = set()
        for kind in CLUSTERS + SPACES + ["namespaces"]:
            for item in self.api.ask("GET", f"/apis/{groups[kind]}/{kind}" if kind in groups else f"/api/v1/{kind}")["items"]:
                found.add((kind, item["metadata"].get("namespace"), item["metadata"]["name"]))
        return found

    def agent_pods(self):
        return [p for p in self.api.ask("GET", f"/api/v1/namespaces/{SPACE}/pods")["items"] if p["metadata"]["name"].startswith("mete-agent")]

    def allocatable(self, began, command):
        done = wait("allocatable", lambda: self.node.allocatable("mete.io/small"))
        took = time.monotonic() - began
        ok(done and took <= 15, f"from {command} to the first share allocatable: {took:.1f} s (at most 15)", self.node.status().get("allocatable"),
           *self.node.pod_log("mete-agent-n1", "agent", SPACE), *self.controllers.faults[-5:])
        return done

    def believed(self):
        """The webhook serves, and the API server believes it."""
        tries = iter(range(10000))

        def one():
            name = f"probe-{next(tries)}"
            self.c.create(self.c.pod(name, {"main": {"command": ["sleep", "1"], "resources": {"limits": {"aliyun.com/gpu-mem": "4"}}}}))
            limits = self.c.get(name)["spec"]["containers"][0]["resources"]["limits"]
            self.c.delete(name, wait=False)
            return "mete.io/small" in limits
        began = time.monotonic()
        done = wait("believed", one)
        print(f"# the webhook is believed {time.monotonic() - began:.1f} s after the first share was allocatable", flush=True)
        return done and wait("gone", lambda: not self.c.pods() and not self.grants(), 120)

    def runs_on(self):
        """A pod that must notice nothing."""
        self.c.create(self.c.pod("stays", {"main": {"command": ["/bin/hungry", "--hold", "100000"], "resources": {"limits": {"mete.io/small": "1"}}}}))
        held = wait("it holds", lambda: [d["held_bytes"] for g in self.grants().values() for d in g["devices"]] == [4 * GIB])
        ok(held, "a pod gets its share, and its program takes all of it", self.c.events("stays"), self.grants())
        self.c.wait_phase("stays", "Running")
        return self.state()

    def state(self):
        pod = self.c.get("stays")["status"]
        return pod["phase"], pod["containerStatuses"][0]["restartCount"], [(g["id"], g["devices"][0]["held_bytes"]) for g in self.grants().values()]

    # Parts.

    def helm(self):
        before = self.there()
        began = time.monotonic()
        done = self.run("helm", "install", "mete", os.path.join(DEPLOY, "chart/mete"), "-n", SPACE, "--create-namespace", "-f", self.values)
        ok(done.returncode == 0, "helm install", done.stdout, done.stderr)
        if not self.allocatable(began, "helm install"):
            return
        ok(self.believed(), "the webhook is asked through its Service, and believed", *self.controllers.faults[-5:],
           self.api.get(f"/api/v1/namespaces/{SPACE}/endpoints/mete-webhook"), *self.node.pod_log("mete-webhook-0", "webhook", SPACE))
        state = self.runs_on()
        ok(wait("annotation", lambda: "mete.io/devices" in self.api.get("/api/v1/nodes/n1")["metadata"].get("annotations", {})),
           "the agent publishes with the rights of its role")
        self.rests()
        self.away(state)
        uid = self.agent_pods()[0]["metadata"]["uid"]
        done = self.run("helm", "upgrade", "mete", os.path.join(DEPLOY, "chart/mete"), "-n", SPACE, "-f", self.values, "--set",
                        "agent.resources.limits.memory=65Mi")
        ok(done.returncode == 0, "helm upgrade", done.stderr)
        ok(wait("another", lambda: [p["metadata"]["uid"] for p in self.agent_pods() if clusters_ready(p)] not in ([], [uid])), "another agent is there")
        ok(wait("allocatable", lambda: self.node.allocatable("mete.io/small") > 0), "and offers shares")
        same(self.state(), state, "the pod that runs did not notice")
        if wanted("words"):
            self.c.delete("stays")
            ok(wait("nothing", lambda: not self.grants()), "its share is free when it is gone")
            self.words()
            state = self.runs_on()
        done = self.run("helm", "uninstall", "mete", "-n", SPACE, "--wait")
        ok(done.returncode == 0, "helm uninstall", done.stderr)
        ok(wait("gone", lambda: not self.agent_pods()), "the agent is gone")
        same(self.state(), state, "the pod that runs did not notice that either")
        self.c.delete("stays")
        # The namespace and what every namespace has were made by --create-namespace.
        ok(wait("nothing", lambda: {x for x in self.there() - before if x[1] != "default"} <= {("namespaces", None, SPACE), ("configmaps", SPACE, "kube-root-ca.crt")}),
           "nothing of the installation is left", self.there() - before)
        ok(wait("no grant", lambda: not self.grants()), "no grant is left, without an agent", self.grants())
        ok(wait("no resource", lambda: not self.node.allocatable("mete.io/small")), "the node offers nothing more", self.node.status()["allocatable"])

    def rests(self):
        """How often the agent asks the API server, and its memory, when nothing happens."""
        time.sleep(5)  # what begins has settled
        before, seconds = self.asked(), int(os.environ.get("METE_TEST_REST_S", "20"))
        time.sleep(seconds)
        count = self.asked() - before
        ok(count * 60 <= 2 * seconds, f"{count} requests of the agent's to the API server in {seconds} s at rest (at most 2 a minute)")
        kib = max(memory_kib(pid) for pid in pids("mete-agent"))
        ok(kib <= 30 * 1024, f"the agent has {kib / 1024:.1f} MiB (at most 30)")

    def away(self, state):
        """The API server is killed, and comes back later."""
        seconds = int(os.environ.get("METE_TEST_AWAY_S", "600" if os.environ.get("METE_TEST_LONG") else "5"))

        def lines():
            return len(self.node.pod_log("mete-agent-n1", "agent", SPACE)), len(self.node.pod_log("mete-webhook-0", "webhook", SPACE))
        before, left = lines(), self.annotation()
        process = self.c.processes["kube-apiserver"]
        process.kill()
        process.wait()
        c = harness.Control(self.node.path("/run/mete"))
        c.ask("grant_create", name="meanwhile", driver="soft", devices=[{"device": "1", "mem_bytes": GIB}])
        c.close()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(5, seconds))
            held = [d["held_bytes"] for g in self.grants().values() for d in g["devices"]]
            if sorted(held) != [0, 4 * GIB]:
                ok(False, "the pod holds its memory while the API server is away", held)
                break
        self.c.start_api()
        same([len(self.agent_pods()), pids("mete-agent") != []], [1, True], f"after {seconds} s without an API server the agent is there")
        ok(wait("published", lambda: self.annotation() != left, 90), "what changed meanwhile is published", self.annotation())
        grown = [now - then for now, then in zip(lines(), before)]
        ok(max(grown) <= 6, "each says a few lines about it, however long it takes", grown, self.node.pod_log("mete-agent-n1", "agent", SPACE)[-8:])
        c = harness.Control(self.node.path("/run/mete"))
        c.ask("grant_delete", name="meanwhile")
        c.close()
        ok(wait("the same", lambda: self.state() == state), "the pod that runs was not touched", self.state(), state)
        ok(wait("allocatable", lambda: self.node.ready() and self.node.allocatable("mete.io/small") > 0), "and the node offers shares")

    def annotation(self):
        return self.api.get("/api/v1/nodes/n1")["metadata"]["annotations"]["mete.io/devices"]

    def asked(self):
        with open(self.audit) as file:
            return sum(json.loads(line)["user"]["username"] == AGENT_USER for line in file)

    def words(self):
        """Pods that ask as the documents of others show: only the image is ours, and the network."""
        names = sorted(os.listdir(os.path.join(HERE, "peers")))
        for name in [n for n in names if n.removesuffix(".yaml") in PARTS] or names:  # `words kai`: KAI's alone
            with open(os.path.join(HERE, "peers", name)) as file:
                for thing in yaml.safe_load_all(file):
                    self.one(name.removesuffix(".yaml"), thing)

    def one(self, family, thing):
        kind, name = thing["kind"], thing["metadata"]["name"]
        what, expect = f"{family}: {name}", thing["metadata"]["annotations"].pop("mete.test/expect")
        spec = thing["spec"]["template"]["spec"] if kind == "Deployment" else thing["spec"]
        for container in spec["containers"] + spec.get("initContainers", []):
            container.update(image="localhost/app:1", imagePullPolicy="Never")
        spec.update(hostNetwork=True, automountServiceAccountToken=False, terminationGracePeriodSeconds=1)
        done = self.run("kubectl", "apply", "-f", "-", input=json.dumps(thing))
        word, _, rest = expect.partition(" ")
        if word == "refused":
            ok(done.returncode and rest in done.stderr, f"{what} is refused: {rest}", done.stdout, done.stderr)
            return
        if not ok(done.returncode == 0, f"{what} is taken", done.stderr):
            return
        if word == "waits":
            ok(wait("its event", lambda: any(f"Insufficient {rest}" in e for e in self.c.events(name))), f"{what} waits for {rest}: it is not ours", self.c.events(name))
        else:
            shares = rest.split() if word == "init" else expect.split()
            sizes = sorted(SIZES[s] for s in shares)
            ok(wait("grants", lambda: self.sizes() == sizes), f"{what} has {' and '.join(shares)}: {sizes} GiB", self.sizes(), done.stderr,
               *(e for p in self.c.pods() for e in self.c.events(p["metadata"]["name"])))
            ok(wait("runs", lambda: self.c.pods() and all(p["status"]["phase"] == "Running" for p in self.c.pods())), f"{what} runs")
        done = self.run("kubectl", "delete", kind, name, "--wait=false")
        ok(wait("gone", lambda: not self.c.pods() and not self.grants(), 120), f"{what} is gone, and its share is free", done.stderr, self.grants(),
           [p["metadata"]["name"] for p in self.c.pods()])

    def manifests(self):
        """The plain manifests, with a kustomization of one's own: software devices, one webhook, other shares."""
        own = os.path.join(WORK, "own")
        os.makedirs(own)
        shutil.copytree(os.path.join(DEPLOY, "manifests"), os.path.join(WORK, "manifests"))
        with open(os.path.join(own, "kustomization.yaml"), "w") as file:
            yaml.safe_dump({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["../manifests"], "patches": [
                {"target": {"kind": "DaemonSet", "name": "mete-agent"},
                 "patch": json.dumps([{"op": "add", "path": "/spec/template/spec/containers/0/command/-", "value": "--soft"}])},
                {"target": {"kind": "Deployment", "name": "mete-webhook"}, "patch": json.dumps([{"op": "replace", "path": "/spec/replicas", "value": 1}])}]}, file)
        if self.api.get(f"/api/v1/namespaces/{SPACE}"):
            self.api.ask("DELETE", f"/api/v1/namespaces/{SPACE}")
            ok(wait("gone", lambda: not self.api.get(f"/api/v1/namespaces/{SPACE}")), "the namespace of helm's is deleted")
        before = self.there()
        began = time.monotonic()
        done = self.run("kubectl", "apply", "-k", own)
        ok(done.returncode == 0, "kubectl apply -k", done.stdout, done.stderr)
        if not self.allocatable(began, "kubectl apply -k"):
            return
        done = self.run("kubectl", "apply", "-k", own)
        ok(done.returncode == 0 and len(re.findall("configured", done.stdout)) <= 1, "a second time changes nothing but the webhook's certificate", done.stdout,
           done.stderr)
        state = self.runs_on()
        done = self.run("kubectl", "delete", "--ignore-not-found", "-k", own, "--wait=false")
        ok(done.returncode == 0, "kubectl delete -k", done.stderr)
        ok(wait("nothing", lambda: {x for x in self.there() - before if x[1] != "default"} == set()), "nothing is left, nor the namespace", self.there() - before)
        same(self.state(), state, "the pod that runs did not notice")
        self.c.delete("stays")
        ok(wait("no grant", lambda: not self.grants()), "no grant is left", self.grants())


def clusters_ready(pod):
    return controllers.is_ready(pod) and "deletionTimestamp" not in pod["metadata"]


def pids(program):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == program:
                    found.append(int(pid))
        except OSError:
            continue
    return found


def memory_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def wanted(part):
    return not PARTS or part in PARTS


def main():
    t = Test()
    try:
        for part in ("helm", "manifests"):
            if wanted(part) or (part == "helm" and "words" in PARTS):
                began = time.monotonic()
                getattr(t, part)()
                print(f"# {part}: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        keep = os.environ.get("METE_TEST_KEEP")
        if keep:
            shutil.copytree(t.c.work, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("containerd", "etcd", "*-root", "*.tar", "deb"))
        t.end()
    finish()


main()
