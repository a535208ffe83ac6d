"""
mete-agent in a cluster: cluster_test.py BUILD_ROOT [PART...]

A real kube-apiserver, kube-scheduler, kubelet, containerd and runc, and the system's meted with software devices.
METE_TEST_KUBERNETES names the folder that make.sh filled; without it this is skipped. METE_TEST_LONG=1 takes as many pods
as docs/kubernetes.md has figures for.
"""
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("METE_TEST_KUBERNETES")
INSIDE = "METE_CLUSTER"


def leave(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


BUILD = os.path.abspath(sys.argv[1])
AGENT, METED, METE = (os.path.join(BUILD, p) for p in ("src/cli/mete-agent", "src/daemon/meted", "src/cli/mete"))
if not FOLDER:
    leave("METE_TEST_KUBERNETES names no folder with a cluster's programs (tests/kubernetes/make.sh FOLDER)")
if os.geteuid():
    leave("needs root")
if os.environ.get("METE_TEST_SANITIZED"):
    leave("the libraries of a sanitizer cannot be preloaded by a file")
if not os.path.exists(AGENT):
    leave("mete-agent is not built: libnghttp2 is not there")
if INSIDE not in os.environ:
    tried = subprocess.run(["unshare", "-m", "-p", "-f", "-n", "--mount-proc", "true"], capture_output=True, text=True)
    if tried.returncode:
        leave("no namespaces of our own here: " + tried.stderr.strip())
    os.execvpe(os.path.join(HERE, "up.sh"), ["up.sh", FOLDER, sys.executable, "-B", *sys.argv],
               {**os.environ, "METE_CLUSTER_BARE": "1"})

PARTS = sys.argv[2:]
for folder in ("", "../daemon", "../containers"):
    sys.path.insert(0, os.path.join(HERE, folder))
import cluster as clusters  # noqa: E402
import harness  # noqa: E402
import rootfs  # noqa: E402
from harness import GIB, finish, ok, same  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None
HELM = os.environ.get("METE_TEST_HELM") or shutil.which("helm")
CHART = os.path.join(HERE, "../../deploy/chart/mete")
MIB = 1 << 20
COUNTED = bool(os.environ.get("METE_TEST_COUNTED"))  # the storm with a number for each share
LONG = bool(os.environ.get("METE_TEST_LONG"))
SMALL, HALF, TINY = "mete.io/small", "mete.io/half", "mete.io/tiny"
SHARES = [{"name": "small", "mem": "64M", "cores": 10}, {"name": "half", "mem": "8G"}, {"name": "tiny", "mem": "16M"}]
PATIENCE = 60  # seconds that the test waits for what must come
STAY = ["/bin/sleep", "100000"]


def wait(what, condition, seconds=PATIENCE):
    try:
        return clusters.until(what, condition, seconds)
    except TimeoutError:
        return None


class Mete:
    """What an operator installs on a node: meted and mete-agent, begun again when they end, as systemd does."""

    def __init__(self, node):
        self.node, self.meted, self.agent = node, None, None
        self.env = {**node.cluster.env, "METE_SOFT_DIR": "/dev/shm/soft", "METE_SOFT_SMS": "4"}
        for name in (os.path.join(node.work, "state"), node.path("/run/mete")):
            os.mkdir(name)
        self.shares = os.path.join(node.work, "shares.json")
        with open(self.shares, "w") as file:
            json.dump({"shares": SHARES}, file)

    def start_meted(self):
        self.meted = self.node.spawn("meted", METED, "--system", "--runtime-dir", "/run/mete", "--state-dir",
                                     os.path.join(self.node.work, "state"), "--soft-only", "--foreground", "--config", "", env=self.env)
        clusters.until("meted serves", lambda: os.path.exists(self.node.path("/run/mete/control.sock")) and self.ask("hello"))

    def start_agent(self):
        self.agent = self.node.spawn("agent", AGENT, "--shares", self.shares, "--soft", env=self.env)

    def kill(self, what, number=signal.SIGKILL):
        process = getattr(self, what)
        process.send_signal(number)
        return process.wait(30)

    def ask(self, op, **fields):
        try:
            c = harness.Control(self.node.path("/run/mete"))
            try:
                return c.ask(op, **fields)
            finally:
                c.close()
        except OSError:
            return None

    def grants(self):
        return {row["name"]: row for row in self.ask("grants")["grants"]}

    def run(self, *words):
        return subprocess.run(self.node.inside(METE, *words), env=self.env, capture_output=True, text=True)

    def agent_kib(self):
        with open(f"/proc/{self.agent.pid}/status") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

    def end(self):
        if clusters.alive(self.agent):
            same(self.kill("agent", signal.SIGTERM), 0, "the agent leaves with status 0")
        if clusters.alive(self.meted):
            same(self.kill("meted", signal.SIGTERM), 0, "meted leaves with status 0")


def wanted(part):
    return part == "installs" or not PARTS or part in PARTS


class Test:
    def __init__(self):
        work = os.environ[INSIDE]
        programs = {name: os.path.join(BUILD, "examples", name) for name in ("hungry", "saxpy")}
        tools = ("sh", "cat", "sleep", "env", "true", "ls")
        app = clusters.archive(work, "app", rootfs.make(os.path.join(work, "app-root"), programs, tools=tools))
        self.nodes = int(os.environ.get("METE_TEST_NODES", "1"))
        images = [clusters.pause_image(work), app]
        if HELM and yaml and wanted("chart"):
            images.append(clusters.archive(work, "mete", rootfs.make(os.path.join(work, "mete-root"), {"mete-agent": AGENT}, tools=())))
        self.c = clusters.Cluster(os.environ["METE_CLUSTER_BIN"], work, self.nodes, images,
                                  status_s=int(os.environ.get("METE_TEST_STATUS_S", "1")))
        began = time.monotonic()
        self.c.start()
        print(f"# the cluster is ready after {time.monotonic() - began:.1f} s; images lie in {self.c.snapshotter}", flush=True)
        self.metes = [Mete(node) for node in self.c.nodes]
        self.m, self.node = self.metes[0], self.c.nodes[0]

    def app(self, name, share=None, command=STAY, **more):
        """A pod of one container."""
        return self.c.pod(name, {"main": self.container(share, command)}, **more)

    def container(self, share=None, command=STAY, **more):
        limits = {"resources": {"limits": {share: "1"}}} if share else {}
        return {"command": list(command), **limits, **more}

    def said(self, pod, container="main"):
        return [text for _, text in self.node.pod_log(pod, container)]

    def nothing_left(self):
        """No grant, no folder and no CDI file of one."""
        folder = self.node.path("/run/mete/containers/0")
        return (not self.m.grants() and not (os.path.isdir(folder) and os.listdir(folder)) and
                not [n for n in os.listdir(self.node.path("/run/cdi")) if "-grant-" in n])

    def gone(self, *names):
        self.c.delete(*names)
        ok(wait("nothing is left", self.nothing_left), f"without {', '.join(names)}: no grant, folder or CDI file is left", self.m.grants())

    def runs(self, *names):
        for name in names:
            phase = wait(name, lambda: self.c.phase(name) in ("Running", "Succeeded") and self.c.phase(name))
            if not phase:
                ok(False, f"pod {name} runs", self.c.phase(name), *self.c.events(name), self.node.log("agent")[-2000:])
        return True

    # Parts, in this order.

    def installs(self):
        """From the start of the agent to what the scheduler knows."""
        for m in self.metes:
            m.start_meted()
        began = time.monotonic()
        for m in self.metes:
            m.start_agent()
        done = all(wait("allocatable", lambda: node.allocatable(SMALL) and node.allocatable(HALF)) for node in self.c.nodes)
        took = time.monotonic() - began
        ok(done and took <= 15, f"shares are allocatable {took:.1f} s after the agent began (at most 15)", self.node.status(),
           self.node.log("agent"))
        status = self.node.status()["allocatable"]
        same((status.get(HALF), status.get(SMALL)), ("4", "20"), "as many as fit on both devices: by memory, and by time")

    def quota(self):
        """A pod has what it asked for, to the byte; its program that takes more is refused."""
        self.c.create(self.app("quota", SMALL, ["/bin/hungry", "--hold", "3"]))
        grant = wait("its grant", lambda: self.m.grants().get("k8s-small-0"))
        same(grant and grant["devices"][0]["quota_bytes"], 64 * MIB, "the grant has the share's size")
        held = wait("all is held", lambda: self.m.grants().get("k8s-small-0", {}).get("devices", [{}])[0].get("held_bytes") == 64 * MIB)
        ok(held, "meted counts all of it as held, and not a byte more", self.said("quota"))
        self.c.wait_phase("quota", "Succeeded", "Failed")
        said = self.said("quota")
        ok(said and said[-1] == "PASS" and any("one byte more: CUDA_ERROR_OUT_OF_MEMORY; 0 bytes are free" in s for s in said),
           "the program took all of it, and one byte more was out of memory", said)
        ok(any(f"of {64 * MIB} bytes are free" in s for s in said), "the device that it sees has the share's size", said)
        same(self.c.phase("quota"), "Succeeded", "the pod ends well")
        ok(wait("nothing is left", self.nothing_left), "its grant ends with its container, though the pod is still there")
        self.gone("quota")

    def known(self):
        """Whose a grant is, by the agent's question to kubelet; also after a restart of the agent."""
        self.c.create(self.app("known", SMALL))
        self.runs("known")
        labels = {"namespace": "default", "pod": "known", "container": "main"}
        ok(wait("labels", lambda: self.m.grants()["k8s-small-0"]["labels"] == labels), "the grant has the labels namespace, pod and container",
           self.m.grants())
        ok("known/main" in self.m.run("ps", "--wide").stdout, "mete ps shows the pod", self.m.run("ps", "--wide"))
        for words in ((), ("--compat", "dcgm")):
            text = self.m.run("metrics", *words).stdout
            ok(all(f'{k}="{v}"' in text for k, v in labels.items()), f"metrics {' '.join(words)} have the labels", text[:500])
        self.m.kill("agent")
        self.m.start_agent()
        same(self.m.grants()["k8s-small-0"]["labels"], labels, "they stay with another agent")
        self.gone("known")

    def nothing(self):
        """A pod that asks for no share sees no device, also beside one that has a share."""
        look = "ls /dev; ls /etc; cat /proc/self/maps; /bin/hungry; echo status $?"
        self.c.create(self.app("with", SMALL))
        self.c.create(self.app("without", None, ["/bin/sh", "-c", look]))
        self.c.wait_phase("without", "Succeeded", "Failed")
        said = self.said("without")
        ok(not any("nvidia" in s or "mete" in s or "ld.so.preload" in s for s in said), "it has no device, no library, no file of mete's", said)
        ok(any("libcuda" in s for s in said) and "status 127" in said, "a CUDA program finds no driver", said)
        self.runs("with")
        self.gone("with", "without")

    def two(self):
        """Two containers of a pod, each with its own share; an init container's is the next one's."""
        init = [{"name": "first", "image": "localhost/app:1", "imagePullPolicy": "Never",
                 **self.container(SMALL, ["/bin/hungry", "1"])}]
        self.c.create(self.c.pod("two", {"a": self.container(SMALL, ["/bin/sh", "-c", "/bin/hungry 1; sleep 100000"]),
                                         "b": self.container(HALF, ["/bin/sh", "-c", "/bin/hungry 1; sleep 100000"])},
                                 initContainers=init))
        self.runs("two")
        ok(wait("both are done", lambda: "PASS" in self.said("two", "a") and "PASS" in self.said("two", "b")),
           "both containers took all of their shares", self.said("two", "a"), self.said("two", "b"))
        same(sorted((g["devices"][0]["quota_bytes"], g["labels"]["container"]) for g in self.m.grants().values()),
             [(64 * MIB, "a"), (8 * GIB, "b")], "each has a grant of its own")
        ok("PASS" in self.said("two", "first"), "and so had the init container before them", self.said("two", "first"))
        self.gone("two")

    def again(self):
        """Containers that end and begin again within their pod, as those of a Job do."""
        # kubelet throws the first one's log away.
        script = "[ -e /mark/1 ] && { cat /mark/1; /bin/hungry 1; exit; }; /bin/hungry 1 > /mark/1; exit 1"
        self.c.create(self.c.pod("again", {"main": self.container(SMALL, ["/bin/sh", "-c", script], volumeMounts=[
            {"name": "mark", "mountPath": "/mark"}])}, restartPolicy="OnFailure", volumes=[{"name": "mark", "emptyDir": {}}]))
        self.c.wait_phase("again", "Succeeded", "Failed", seconds=90)
        same(self.c.get("again")["status"]["containerStatuses"][0]["restartCount"], 1, "the container began twice")
        same(self.said("again").count("PASS"), 2, "and had its whole share both times")
        self.gone("again")

    def counts(self):
        """What is promised outside Kubernetes is not offered; what cannot be given stays pending, and begins when it can."""
        self.m.ask("grant_create", name="outside", driver="soft", devices=[{"device": "0", "mem_bytes": 16 * GIB}])
        self.m.ask("grant_create", name="outside2", driver="soft", devices=[{"device": "1", "mem_bytes": 9 * GIB}])
        ok(wait("none", lambda: self.node.allocatable(HALF) == 0), "a promise outside takes shares away from the node", self.node.status())
        self.c.create(self.app("late", HALF))
        ok(wait("it is said", lambda: any("Insufficient mete.io/half" in e for e in self.c.events("late"))),
           "a pod without room stays pending, and its event says which resource", self.c.events("late"))
        self.m.ask("grant_delete", name="outside2")
        self.runs("late")
        ok(True, "it begins when there is room")
        code = self.m.ask("grant_delete", name="outside")
        ok(code["ok"], "the other promise was not touched")
        self.gone("late")

    def rendered(self, *options):
        """The objects of the chart. Its image has the agent of this build, whose libraries lie in the build's folder."""
        done = subprocess.run([HELM, "template", "mete", CHART, "--namespace", "mete-system", "--set",
                               "image.repository=localhost/mete,image.tag=1,image.pullPolicy=Never,webhook.enabled=false,agent.soft=true,"
                               "agent.publish=false", *options], capture_output=True, text=True, check=True)
        return {o["kind"]: o for o in yaml.safe_load_all(done.stdout) if o}

    def agent_pod(self, daemon_set):
        """What the controller of DaemonSets makes of it; there is none in this cluster."""
        template = daemon_set["spec"]["template"]
        spec = {**template["spec"], "nodeName": "n1", "hostNetwork": True, "automountServiceAccountToken": False,
                "tolerations": [{"operator": "Exists"}]}
        main = spec["containers"][0]
        main["command"] = [AGENT, *main["command"][1:]]
        main["volumeMounts"].append({"name": "build", "mountPath": BUILD, "readOnly": True})
        spec["volumes"].append({"name": "build", "hostPath": {"path": BUILD}})
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mete-agent", "namespace": "mete-system", **{
            k: v for k, v in template["metadata"].items() if k == "labels"}}, "spec": spec}

    def chart(self):
        """The agent as a pod of the chart's DaemonSet, without a capability and with a read-only root."""
        if not HELM or not yaml:
            harness.skip("the agent as a pod of the chart", "helm (METE_TEST_HELM) or python3-yaml is not there")
            return
        self.m.kill("agent", signal.SIGTERM)
        ok(wait("none", lambda: not self.node.allocatable(SMALL)), "without an agent the node has no shares", self.node.status())
        shares = os.path.join(self.c.work, "values.json")
        with open(shares, "w") as file:
            json.dump({"shares": SHARES}, file)
        objects, api = self.rendered("-f", shares), self.c.api
        began = time.monotonic()
        api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "mete-system"}})
        api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", objects["PriorityClass"])
        api.ask("POST", "/api/v1/namespaces/mete-system/serviceaccounts", objects["ServiceAccount"])
        api.ask("POST", "/api/v1/namespaces/mete-system/configmaps", objects["ConfigMap"])
        api.ask("POST", "/apis/apps/v1/namespaces/mete-system/daemonsets", objects["DaemonSet"])
        pods = "/api/v1/namespaces/mete-system/pods"

        def run():
            api.ask("POST", pods, self.agent_pod(self.rendered("-f", shares)["DaemonSet"]))

        def there():
            return api.get(pods + "/mete-agent")
        run()
        done = wait("allocatable", lambda: self.node.allocatable(SMALL) and self.node.allocatable(HALF))
        took = time.monotonic() - began
        ok(done and took <= 15, f"shares are allocatable {took:.1f} s after the chart's objects were made (at most 15)",
           there()["status"].get("containerStatuses"), *self.node.pod_log("mete-agent", "agent", "mete-system"))
        if not done:
            return
        self.c.create(self.app("charted", SMALL, ["/bin/hungry", "1", "--hold", "100000"]))
        self.runs("charted")
        ok(wait("its label", lambda: self.m.grants()["k8s-small-0"]["labels"]["pod"] == "charted"), "a pod gets its share from it", self.m.grants())
        grant = self.m.grants()["k8s-small-0"]["id"]
        api.ask("DELETE", pods + "/mete-agent")
        ok(wait("gone", lambda: not there()), "the agent is taken away")
        run()
        ok(wait("again", lambda: self.node.allocatable(SMALL) > 0), "an upgraded one serves on", there())
        same((self.m.grants()["k8s-small-0"]["id"], self.c.phase("charted")), (grant, "Running"), "and the pod did not notice")
        self.gone("charted")
        api.ask("DELETE", pods + "/mete-agent")
        wait("gone", lambda: not there())
        api.ask("DELETE", "/apis/apps/v1/namespaces/mete-system/daemonsets/mete-agent")
        self.m.start_agent()
        ok(wait("allocatable", lambda: self.node.allocatable(SMALL) > 0), "and one of the node's own takes over", self.node.status())

    def truths(self):
        """What else a node does with pods: static ones, exec, eviction, a Job's several containers one after the other."""
        folder = os.path.join(self.node.work, "manifests")
        static = self.c.pod("static", {"main": self.container(TINY)})
        static["spec"].pop("nodeSelector")
        with open(os.path.join(folder, "static.json"), "w") as file:
            json.dump(static, file)
        ok(wait("it runs", lambda: self.c.phase("static-n1") == "Running"), "a static pod gets its share", self.c.phase("static-n1"),
           self.node.log("agent")[-1000:])
        ok(wait("its label", lambda: any(g["labels"]["pod"] == "static-n1" for g in self.m.grants().values())), "under its name", self.m.grants())
        os.unlink(os.path.join(folder, "static.json"))
        ok(wait("nothing is left", self.nothing_left), "and gives it back when its file is gone", self.m.grants())
        self.c.create(self.app("inside", TINY))
        self.runs("inside")
        done = self.c.kubectl("exec", "inside", "--", "/bin/hungry", "1")
        ok(done.returncode == 0 and "PASS" in done.stdout and f"of {16 * MIB} bytes are free" in done.stdout,
           "kubectl exec: a program that comes later is in the same share", done.stdout, done.stderr)
        self.c.api.ask("POST", "/api/v1/namespaces/default/pods/inside/eviction",
                       {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "inside", "namespace": "default"}})
        ok(wait("nothing is left", self.nothing_left), "an evicted pod's share is free", self.m.grants())
        wait("it is gone", lambda: not self.c.get("inside"))
        for name, value in (("low", 10), ("high", 1000)):
            self.c.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        rivals = [f"rival-{i}" for i in range(4)]
        for name in rivals:
            self.c.create(self.app(name, HALF, priorityClassName="low"))
        self.runs(*rivals)
        self.c.create(self.app("first", HALF, priorityClassName="high"))
        ok(wait("it runs", lambda: self.c.phase("first") == "Running"), "a pod of higher priority takes the share of one of lower",
           self.c.events("first"))
        # The one that gives way may still be there, ended: the scheduler does not count such a pod.
        same(sum("deletionTimestamp" not in (self.c.get(name) or {"metadata": {"deletionTimestamp": ""}})["metadata"] for name in rivals), 3, "of one alone")
        self.gone("first", *rivals)

    def debugs(self):
        """An ephemeral container (kubectl debug) in a pod with a share: it cannot ask for one, and sees none."""
        self.c.create(self.app("held", TINY, ["/bin/hungry", "1", "--hold", "100000"]))
        self.runs("held")
        look = "ls /dev; ls /etc; cat /proc/self/maps; /bin/hungry; echo status $?; sleep 100000"
        path = "/api/v1/namespaces/default/pods/held/ephemeralcontainers"
        self.c.api.ask("PUT", path, {"apiVersion": "v1", "kind": "EphemeralContainers", "metadata": {"name": "held"}, "ephemeralContainers": [
            {"name": "debug", "image": "localhost/app:1", "imagePullPolicy": "Never", "command": ["/bin/sh", "-c", look], "targetContainerName": "main",
             "terminationMessagePolicy": "File"}]})
        ok(wait("it looked", lambda: any(s.startswith("status ") for s in self.said("held", "debug"))), "an ephemeral container begins beside the share",
           self.c.events("held"))
        said = self.said("held", "debug")
        ok(not any("nvidia" in s or "mete" in s or "ld.so.preload" in s for s in said) and "status 127" in said,
           "it sees no device, no library, no file of mete's, and a CUDA program finds no driver", said)
        same([g["labels"]["container"] for g in self.m.grants().values()], ["main"], "there is one grant, the other container's")
        self.gone("held")

    def presses(self):
        """A container that takes too much of the node's memory: the kernel ends it, and it has its share again."""
        eats = "[ -e /mark/1 ] && { /bin/hungry 1; sleep 100000; }; echo x > /mark/1; a=x; while :; do a=$a$a; done"
        pod = self.c.pod("eats", {"main": self.container(TINY, ["/bin/sh", "-c", eats], volumeMounts=[{"name": "mark", "mountPath": "/mark"}])},
                         restartPolicy="Always", volumes=[{"name": "mark", "emptyDir": {}}])
        pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "64Mi"
        self.c.create(pod)
        ok(wait("it ran again", lambda: "PASS" in self.said("eats")), "a container that the kernel ended for its memory begins again, with its whole share",
           self.c.events("eats"), self.said("eats"))
        last = lambda: self.c.get("eats")["status"]["containerStatuses"][0]["lastState"].get("terminated")  # noqa: E731
        ended = wait("told", last) or {}
        same((ended.get("reason"), ended.get("exitCode")), ("OOMKilled", 137), "that was its end")
        same(len(self.m.grants()), 1, "and there is one grant")
        self.gone("eats")

    def evicts(self):
        """The node itself runs short, of process ids here: kubelet ends the pod that matters least, and its share is free."""
        def threads():
            with open("/proc/loadavg") as file:
                return int(file.read().split()[3].split("/")[1])

        def condition(value):
            return any(c["type"] == "PIDPressure" and c["status"] == value for c in self.node.status().get("conditions", []))

        def restart(thresholds):
            registered = lambda: self.node.log("agent").count("registered with kubelet")  # noqa: E731
            before = registered()
            self.node.eviction = thresholds
            self.node.kill("kubelet")
            self.node.start_kubelet()
            return wait("ready", lambda: registered() >= before + len(SHARES) and self.node.ready() and self.node.allocatable(TINY) > 0)
        with open("/proc/sys/kernel/pid_max") as file:
            left = int(file.read()) - threads()
        if left < 6000:
            print(f"# the machine has {left} process ids left: no pressure is made")
            return
        for name, value in (("meek", 1), ("strong", 1000)):
            self.c.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        ok(restart({"pid.available": str(left - 2000)}), "a kubelet that minds how many process ids are left", self.node.status())
        self.c.create(self.app("strong", TINY, ["/bin/hungry", "1", "--hold", "100000"], priorityClassName="strong"))
        self.c.create(self.app("meek", TINY, ["/bin/hungry", "1", "--hold", "100000"], priorityClassName="meek"))
        self.runs("strong", "meek")
        held = lambda: {g["labels"]["pod"]: (g["id"], g["devices"][0]["held_bytes"]) for g in self.m.grants().values()}  # noqa: E731
        both = wait("both hold", lambda: len(held()) == 2 and all(b == 16 * MIB for _, b in held().values()) and held())
        crowd = subprocess.Popen([sys.executable, "-c", "import threading, time\nthreading.stack_size(65536)\nfor _ in range(3000):\n"
                                  "    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\ntime.sleep(1000)"])
        try:
            ok(wait("pressure", lambda: condition("True")), "the node is under pressure", self.node.status().get("conditions"), threads())
            status = wait("evicted", lambda: self.c.phase("meek") == "Failed" and self.c.get("meek")["status"])
            same((status or {}).get("reason"), "Evicted", "kubelet evicts the pod of lower priority")
        finally:
            crowd.kill()
            crowd.wait()
        ok(wait("free", lambda: both and held() == {"strong": both["strong"]}), "its share is free, and the other pod's as it was", held(), both)
        ok(wait("relief", lambda: condition("False")), "the pressure is over")
        self.c.delete("meek")
        self.c.create(self.app("next", TINY, ["/bin/hungry", "1"]))
        self.c.wait_phase("next", "Succeeded", "Failed")
        ok("PASS" in self.said("next"), "the next pod gets its share", self.c.events("next"), self.said("next"))
        self.gone("strong", "next")
        restart({})

    def write_shares(self, shares):
        with open(self.m.shares + ".new", "w") as file:
            json.dump({"shares": shares}, file)
        os.rename(self.m.shares + ".new", self.m.shares)

    def bad(self):
        """Pods that ask for what cannot be: a line in the event, and those that run are not touched."""
        self.write_shares([*SHARES, {"name": "old", "mem": "64M"}, {"name": "huge", "mem": "99G"}])
        ok(wait("old", lambda: self.node.allocatable("mete.io/old") > 0), "another share is offered", self.node.status())
        until_told = "[ -e /mark/2 ] && exec sleep 100000; while [ ! -e /mark/1 ]; do sleep 0.2; done; echo > /mark/2; exit 1"
        self.c.create(self.app("stays", SMALL, ["/bin/hungry", "1", "--hold", "100000"]))
        self.runs("stays")
        grants = lambda: {n: g["id"] for n, g in self.m.grants().items() if g["labels"]["pod"] in ("keeps", "stays")}  # noqa: E731

        def says(name, line, what):
            ok(wait(line, lambda: any(line in e for e in self.c.events(name))), f"{what}: {line}", *self.c.events(name))

        self.c.create(self.app("larger", "mete.io/huge"))
        says("larger", "Insufficient mete.io/huge", "more than a card has")
        ok("share huge: --mem 99G: more than any device has (16 GiB)" in self.node.log("agent"), "with the figures in the agent's log")
        pod = self.app("several", SMALL)
        pod["spec"]["containers"][0]["resources"]["limits"][SMALL] = "2"
        self.c.create(pod)
        self.c.wait_phase("several", "Failed")
        ok("a container gets one share: ask for 1" in self.c.get("several")["status"]["message"], "two of a share for one container", self.c.get("several"))
        pod = self.app("mixed", SMALL)
        pod["spec"]["containers"][0]["resources"]["limits"][TINY] = "1"
        self.c.create(pod)
        says("mixed", "this container has a share of mete already: give it one", "two different shares for one container")
        halves = {f"h{i}": self.container(HALF) for i in range(4)}
        self.c.create(self.c.pod("never", {**halves, "more": self.container(SMALL)}))
        same(len(grants()), 1, "the pod that runs was not touched")
        says("never", "Insufficient mete.io/half", "shares of one pod that the node has not at once")
        self.c.delete("stays")
        wait("empty", lambda: self.node.allocatable(HALF) == 4)
        self.c.delete("mixed", "several", "larger", "never")
        self.c.create(self.c.pod("never", {**halves, "more": self.container(SMALL)}))
        says("never", "no device of this node has room for one more", "shares of one pod that fit each alone, and not together")
        self.c.delete("never")
        ok(wait("nothing is left", self.nothing_left), "nothing of it is left", self.m.grants())
        self.c.create(self.c.pod("keeps", {"main": self.container("mete.io/old", ["/bin/sh", "-c", until_told], volumeMounts=[
            {"name": "mark", "mountPath": "/mark"}])}, restartPolicy="Always", volumes=[{"name": "mark", "emptyDir": {}}]))
        self.c.create(self.app("stays", SMALL, ["/bin/hungry", "1", "--hold", "100000"]))
        self.runs("keeps", "stays")
        before = wait("two", lambda: len(grants()) == 2 and grants())
        self.write_shares([*SHARES, {"name": "new", "mem": "64M"}])
        ok(wait("new", lambda: self.node.allocatable("mete.io/new") > 0 and not self.node.allocatable("mete.io/old")), "a share is renamed", self.node.status())
        same((grants(), self.c.phase("keeps")), (before, "Running"), "the pod that has it runs on")
        self.c.create(self.app("late", "mete.io/old"))
        says("late", "Insufficient mete.io/old", "a share that was renamed")
        done = self.c.kubectl("exec", "keeps", "--", "/bin/sh", "-c", "echo > /mark/1")
        same(done.returncode, 0, "its container ends")
        says("keeps", "has been stopped", "and cannot begin again under the old name")
        self.write_shares([*SHARES, {"name": "old", "mem": "64M"}])
        ok(wait("it runs", lambda: self.c.get("keeps")["status"]["containerStatuses"][0]["state"].get("running"), 120), "until the name is back",
           *self.c.events("keeps"))
        self.runs("late")
        name = next(n for n in before if n.startswith("k8s-small-"))
        same(grants().get(name), before[name], "another pod was never touched")
        self.write_shares(SHARES)
        self.gone("keeps", "late", "stays")

    def kills(self):
        """SIGKILL for each in turn, with pods that run a program all the time."""
        self.c.create(self.app("stays", SMALL, ["/bin/hungry", "1", "--hold", "100000"]))
        self.c.create(self.app("halves", HALF, ["/bin/saxpy", "--seconds", "100000", "1M"]))
        self.runs("stays", "halves")
        held = lambda: self.m.grants()["k8s-small-0"]["devices"][0]["held_bytes"]  # noqa: E731
        ok(wait("it holds", lambda: held() == 64 * MIB), "a program holds its share", self.said("stays"))

        def state():
            pods = {p["metadata"]["name"]: (p["status"]["phase"], [s["restartCount"] for s in p["status"]["containerStatuses"]])
                    for p in self.c.pods()}
            return pods, {name: (g["id"], g["runner_pid"]) for name, g in self.m.grants().items()}

        before = state()
        for what, kill, begin in (("the agent", lambda: self.m.kill("agent"), self.m.start_agent),
                                  ("meted", lambda: self.m.kill("meted"), self.m.start_meted),
                                  ("containerd", lambda: self.node.kill("containerd"), self.node.start_containerd),
                                  ("kubelet", lambda: self.node.kill("kubelet"), self.node.start_kubelet)):
            registered = lambda: self.node.log("agent").count("registered with kubelet")  # noqa: E731
            before_kill = registered()
            kill()
            begin()
            if what in ("the agent", "kubelet"):  # until then the node's status is of before
                ok(wait("registered", lambda: registered() >= before_kill + len(SHARES)), f"{what} is killed: the shares are registered again")
            ok(wait(what, lambda: self.node.ready() and self.node.allocatable(SMALL) > 0 and self.node.allocatable(HALF) > 0),
               f"{what} is killed: the node is ready again, and offers shares", self.node.status())
            same(state(), before, f"{what} is killed: the pods run on, with the same grants")
            same(held(), 64 * MIB, f"{what} is killed: what the program holds is what it held")
            name = "next-" + what.split()[-1]
            self.c.create(self.app(name, SMALL, ["/bin/hungry", "1"]))
            self.c.wait_phase(name, "Succeeded", "Failed")
            ok("PASS" in self.said(name), f"{what} is killed: the next pod gets its share", self.c.events(name), self.said(name))
            self.c.delete(name)
        self.m.kill("agent")
        self.c.delete("stays")
        ok(wait("it ends", lambda: list(self.m.grants()) == ["k8s-half-0"]), "without an agent a deleted pod's grant ends, too", self.m.grants())
        self.c.create(self.app("waits", SMALL))
        self.m.start_agent()
        self.runs("waits")
        ok(True, "a pod that came while the agent was away begins")
        self.gone("halves", "waits")

    def blind(self):
        """A runtime without CDI: the container begins without a device, and the agent says so."""
        def cdi(on):
            self.node.kill("containerd")
            self.node.cdi = on
            self.node.start_containerd()
            ok(wait("ready", self.node.ready), f"containerd with enable_cdi = {on}")
        cdi(False)
        self.c.create(self.app("blind", SMALL, ["/bin/sh", "-c", "/bin/hungry 1; echo status $?; sleep 100000"]))
        self.runs("blind")
        ok(wait("it looked", lambda: "status 127" in self.said("blind")), "it has no driver", self.said("blind"))
        ok(wait("it is said", lambda: "no container has taken it 30 s after kubelet began one; has the container runtime CDI" in self.node.log("agent"), 90),
           "the agent says that its share was not taken, and what to look at", self.node.log("agent")[-500:])
        self.gone("blind")
        cdi(True)
        self.c.create(self.app("sees", SMALL, ["/bin/hungry", "1"]))
        self.runs("sees")
        ok(wait("it has all", lambda: "PASS" in self.said("sees")), "with CDI the next one has its share", self.said("sees"))
        self.gone("sees")

    def switch_off(self):
        """All processes of the node end at once, and what is in memory alone is gone: /run with its CDI files, and the devices'."""
        self.m.kill("agent")
        self.m.kill("meted")
        self.node.kill("kubelet")
        self.node.kill("containerd")
        for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
            try:
                with open(f"/proc/{pid}/cgroup") as groups, open(f"/proc/{pid}/comm") as comm:
                    if "/k8s.io/" in groups.read() or comm.read().startswith("containerd-shim"):
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        with open(f"/proc/{self.node.anchor.pid}/mounts") as file:
            mounts = [line.split()[1] for line in file]
        for path in sorted((m for m in mounts if m.startswith("/run/")), reverse=True):
            subprocess.run(self.node.inside("umount", "-l", path), capture_output=True)  # the machine's own lie below, unseen
        for folder in ("/run", "/dev/shm"):
            for name in os.listdir(self.node.path(folder)):
                path = os.path.join(self.node.path(folder), name)
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        for folder in ("/run/mete", "/run/cdi"):
            os.mkdir(self.node.path(folder))

    def boots(self):
        """The machine is switched off and on while pods run."""
        if self.nodes > 1:
            harness.skip("a machine that is switched off and on", "with one node alone")
            return
        self.c.create(self.app("holds", SMALL, ["/bin/hungry", "1", "--hold", "100000"], restartPolicy="Always"))
        self.c.create(self.app("stays", HALF, restartPolicy="Always"))
        self.c.create(self.app("ends", TINY))
        self.runs("holds", "stays", "ends")
        held = lambda: self.m.grants().get("k8s-small-0", {}).get("devices", [{}])[0].get("held_bytes")  # noqa: E731
        ok(wait("it holds", lambda: held() == 64 * MIB), "a program holds its share", self.said("holds"))
        before = {g["id"] for g in self.m.grants().values()}
        self.switch_off()
        self.m.start_meted()
        self.node.start_containerd()
        self.m.start_agent()
        self.node.start_kubelet()

        def restarts(name):
            return self.c.get(name)["status"]["containerStatuses"][0]["restartCount"]
        for name in ("holds", "stays"):
            ok(wait(name, lambda: restarts(name) > 0 and self.c.phase(name) == "Running", 120),  # noqa: B023
               f"{name} begins again after the machine was switched off and on", self.c.events(name), self.node.log("agent")[-1500:])
        ok(wait("it holds", lambda: held() == 64 * MIB, 120), "its program has its whole share again", self.said("holds"), self.m.grants())
        ok(wait("it ended", lambda: self.c.phase("ends") in ("Failed", "Succeeded"), 120), "one that is not to begin again has ended", self.c.get("ends"))
        ok(wait("two", lambda: sorted(self.m.grants()) == ["k8s-half-0", "k8s-small-0"]), "there are two grants, and nothing of before", self.m.grants())
        ok(not before & {g["id"] for g in self.m.grants().values()}, "each is new", before)
        self.gone("holds", "stays", "ends")

    def seconds(self, name, share=None):
        """From the request for the pod to the first word of its program, by the clock of the runtime's log."""
        asked = time.time()
        self.c.create(self.app(name, share, ["/bin/sh", "-c", "echo here"]))
        clusters.until(name, lambda: self.said(name), PATIENCE)
        took = self.node.pod_log(name, "main")[0][0] - asked
        self.c.wait_phase(name, "Succeeded", "Failed")
        self.c.delete(name)
        return took

    def costs(self):
        """By turns with and without a share."""
        rounds = 20 if LONG else 4
        took = {share: [] for share in (None, SMALL)}
        for i in range(rounds):
            for share in took:
                took[share].append(self.seconds(f"turn-{i}-{'with' if share else 'without'}", share))
        plain, shared = (statistics.median(took[s]) for s in (None, SMALL))
        print(f"# {rounds} pods each by turns: median {plain:.3f} s without a share, {shared:.3f} s with one: "
              f"{(shared - plain) * 1000:+.0f} ms; agent {self.m.agent_kib() / 1024:.1f} MiB", flush=True)
        ok(shared - plain <= (0.15 if LONG else 1), "a share costs little time at the start of a pod", took)
        ok(self.m.agent_kib() <= 30 * 1024, "the agent needs 30 MiB at most", self.m.agent_kib())
        ok(wait("nothing is left", self.nothing_left), "and nothing is left", self.m.grants())

    def cpu(self):
        """Seconds of processor time that each has taken so far."""
        processes = {"agent": self.m.agent, "meted": self.m.meted, "kubelet": self.node.kubelet, "containerd": self.node.containerd}
        used = {}
        for name, process in processes.items():
            with open(f"/proc/{process.pid}/stat") as file:
                words = file.read().rsplit(")", 1)[1].split()
            used[name] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        return used

    def crowd(self, share, count):
        """So many pods at once. Value: seconds until the last one runs."""
        names = [f"crowd-{i}" for i in range(count)]
        began, before = time.monotonic(), self.cpu()
        for name in names:
            self.c.create(self.app(name, share))
        running = wait("all run", lambda: sum(p["status"]["phase"] == "Running" for p in self.c.pods()) == count, 60 + 6 * count)
        took = time.monotonic() - began
        print(f"# {count} pods {'with' if share else 'without'} a share: {took:.1f} s; processor time of",
              ", ".join(f"{name} {now - before[name]:.2f} s" for name, now in self.cpu().items()), flush=True)
        refused = [p["metadata"]["name"] for p in self.c.pods() if p["status"]["phase"] == "Failed"]
        ok(running and not refused, f"{count} pods at once {'with' if share else 'without'} a share all run", refused,
           *(e for name in refused[:3] for e in self.c.events(name)))
        if share:
            grants = self.m.grants()
            ok(len(grants) == count and len({g["labels"]["pod"] for g in grants.values()}) == count, "each has its own grant, with its name",
               len(grants))
        self.c.delete(*names)
        return round(took, 1)

    def at_once(self):
        count = int(os.environ.get("METE_TEST_PODS", "100" if LONG else "10"))
        turns = (None, TINY, TINY, None) if LONG else (None, TINY)
        took = {share: [] for share in turns}
        for share in turns:
            took[share].append(self.crowd(share, count))
        plain, shared = sum(took[None]), sum(took[TINY])
        print(f"# {count} pods at once: {took[None]} s without a share, {took[TINY]} s with one, {shared / plain:.2f} times; "
              f"agent {self.m.agent_kib() / 1024:.1f} MiB", flush=True)
        ok(wait("nothing is left", self.nothing_left), "and nothing is left", self.m.grants())

    def spreads(self):
        """Two nodes: each offers its own; the scheduler uses both."""
        if self.nodes < 2:
            harness.skip("pods of two nodes", "METE_TEST_NODES=2 brings up two")
            return
        names = [f"spread-{i}" for i in range(8)]
        for name in names:
            self.c.create(self.app(name, HALF, nodeSelector={}))
        self.runs(*names)
        homes = [self.c.get(name)["spec"]["nodeName"] for name in names]
        same(sorted(homes), ["n1"] * 4 + ["n2"] * 4, "eight halves fill two nodes")
        same([len(m.grants()) for m in self.metes], [4, 4], "each meted has its own four")
        self.c.create(self.app("ninth", HALF, nodeSelector={}))
        ok(wait("it is said", lambda: any("2 Insufficient mete.io/half" in e for e in self.c.events("ninth"))), "the ninth waits",
           self.c.events("ninth"))
        self.c.delete("ninth", *names)
        ok(wait("nothing", lambda: not any(m.grants() for m in self.metes)), "and nothing is left")


    def compares(self):
        """What kubelet alone refuses: the same kills beside a device plugin that does nothing (plain_plugin.py), with pods that come meanwhile."""
        try:
            import kubelet as stand_in
        except ImportError:
            stand_in = None
        if not stand_in or not stand_in.grpc:
            harness.skip("a plain device plugin beside ours", "the Python package grpcio is not there (METE_TEST_GRPC names a folder with it)")
            return
        plain = "example.com/plain"

        def begin():
            return self.node.spawn("plain", sys.executable, "-B", os.path.join(HERE, "plain_plugin.py"), "/var/lib/kubelet/device-plugins", "20")
        other = begin()
        refused, number, fills = {}, 0, []
        for what in ("plugins", "kubelet", "status") * (5 if LONG else 1):
            ok(wait("both", lambda: self.node.allocatable(TINY) > 10 and self.node.allocatable(plain) > 10), f"{what}: both are offered",
               self.node.status()["allocatable"], self.node.log("plain")[-500:])
            time.sleep(1)  # what the scheduler knows is what kubelet has
            names, taken = {TINY: [], plain: []}, {}
            if what == "plugins":
                self.m.kill("agent")
                other.kill()
                other.wait()
            elif what == "kubelet":  # the pods that had all have just ended
                self.write_shares([{**share, "count": 3} if share["name"] == "tiny" else share for share in SHARES])
                wait("three", lambda: self.node.allocatable(TINY) == 3)
                full = [self.app(f"filled-{number + i}", TINY, ["/bin/true"]) for i in range(3)] + [self.app(f"filled-{number + 3}", plain, ["/bin/true"])]
                full[3]["spec"]["containers"][0]["resources"]["limits"][plain] = "20"
                for pod in full:
                    self.c.create(pod)
                fills = [pod["metadata"]["name"] for pod in full]
                wait("all ended", lambda: all(self.c.phase(n) == "Succeeded" for n in fills))
                self.node.kill("kubelet")
            else:  # the ids go, and the node's status says so later
                other.send_signal(signal.SIGUSR1)
                for device in "01":
                    taken[device] = self.m.ask("grant_create", name="outside" + device, driver="soft", devices=[{"device": device, "mem_bytes": 16 * GIB}])["ok"]
                time.sleep(0.2)
            for share in (TINY, plain, TINY, plain, TINY, plain):
                names[share].append(f"compared-{number}")
                self.c.create(self.app(names[share][-1], share))
                number += 1
            wait("all are bound", lambda: all(self.c.get(n)["spec"].get("nodeName") or "Insufficient" in "".join(self.c.events(n))
                                              for n in sum(names.values(), [])), 10)
            time.sleep(1)
            if what == "plugins":
                self.m.start_agent()
                other = begin()
            elif what == "kubelet":
                self.node.start_kubelet()
            else:
                for device in taken:
                    self.m.ask("grant_delete", name="outside" + device)
                other.kill()
                other.wait()
                other = begin()
            ends = [n for n in sum(names.values(), [])]
            wait("all have begun, or are refused", lambda: all(self.c.phase(n) in ("Running", "Failed") for n in ends), 90)
            for share, key in ((TINY, "ours"), (plain, "plain")):
                lines = [self.c.get(n)["status"].get("message", "") for n in names[share] if self.c.phase(n) == "Failed"]
                refused.setdefault(what, {}).setdefault(key, []).extend(lines)
            self.c.delete(*ends, *fills)
            fills = []
            self.write_shares(SHARES)
        for what, lines in refused.items():
            print(f"# {what}: of {3 * (5 if LONG else 1)} pods each kubelet refused {len(lines['ours'])} with a share and {len(lines['plain'])} with a plain device",
                  flush=True)
            ours = [line for line in lines["ours"] if "requested number of devices unavailable" not in line and "transport is closing" not in line and
                    "can't allocate unregistered device" not in line and "outside Kubernetes meanwhile" not in line]
            same(ours, [], f"{what}: what is refused is refused by kubelet")
        ok(len(refused["plugins"]["plain"]) > 0, "kubelet refuses pods of any device plugin that is away", refused)
        other.kill()
        other.wait()
        os.unlink(self.node.path("/var/lib/kubelet/device-plugins/plain.sock"))
        ok(wait("nothing is left", self.nothing_left), "and nothing is left", self.m.grants())

    def storm(self):
        """Pods that begin and end at random, and SIGKILL for one of the four every few seconds."""
        count = int(os.environ.get("METE_TEST_STORM", "1000" if LONG and "storm" in PARTS else "0"))
        if not count:
            harness.skip("pods and kills at random", "METE_TEST_STORM=N starts N pods; METE_TEST_LONG=1 and the part's name, 1000")
            return
        if COUNTED:  # all of these fit together: none takes room from another
            counts = {"small": 10, "half": 2, "tiny": 20}
            self.write_shares([{**share, "count": counts[share["name"]]} for share in SHARES])
            ok(wait("as many", lambda: [self.node.allocatable(r) for r in (SMALL, HALF, TINY)] == [10, 2, 20]), "the node offers the numbers of the file")
        seed = int(os.environ.get("METE_TEST_SEED", time.time()))
        over_at = time.monotonic() + int(os.environ.get("METE_TEST_STORM_S", "3600"))
        chance, made, killed, failed, twice = random.Random(seed), 0, {}, {}, []
        kills = {"agent": (lambda: self.m.kill("agent"), self.m.start_agent),
                 "meted": (lambda: self.m.kill("meted"), self.m.start_meted),
                 "containerd": (lambda: self.node.kill("containerd"), self.node.start_containerd),
                 "kubelet": (lambda: self.node.kill("kubelet"), self.node.start_kubelet)}
        next_kill = end = time.monotonic()
        ending, kubelet_began, agent_began, last, windows = set(), -1000, -1000, None, {"agent": set(), "kubelet": set()}
        while made < count or ending:
            if time.monotonic() > over_at:
                count = made
            pods = {p["metadata"]["name"]: p["status"] for p in self.c.pods()}
            ending &= set(pods)
            for name, status in pods.items():
                if status["phase"] == "Failed" and name not in failed and name not in ending:
                    ends = [c["state"].get("terminated", {}) for c in status.get("containerStatuses", [])]
                    failed[name] = status.get("message") or " ".join(f'{e.get("exitCode")} {e.get("message", "")}' for e in ends)
                    # A kubelet that begins knows no resource yet, and one whose agent is killed takes all ids for unhealthy: part `compares`.
                    if time.monotonic() - agent_began < 3 * clusters.PATIENCE:
                        windows["agent"].add(name)
                    elif time.monotonic() - kubelet_began < 20:
                        windows["kubelet"].add(name)
                    print(f"# {name} failed, {time.monotonic() - kubelet_began:.1f} s after a kubelet began, {time.monotonic() - agent_began:.1f} s "
                          f"after an agent, the last kill was {last}: "
                          f"{failed[name][:200]}", flush=True)
            over = [n for n, s in pods.items() if n not in ending and s["phase"] in ("Succeeded", "Failed")]
            over += [n for n, s in pods.items() if n not in ending and s["phase"] == "Running" and chance.random() < 0.2]
            if made >= count:
                over = [n for n in pods if n not in ending]
            self.c.delete(*over, wait=False)
            ending |= set(over)
            for _ in range(min(15 - (len(pods) - len(ending)), count - made)):
                command = chance.choice((STAY, ["/bin/hungry", "1"], ["/bin/hungry", "1", "--hold", "2"]))
                self.c.create(self.app(f"storm-{made}", chance.choice((SMALL, TINY, HALF, TINY)), command))
                made += 1
            owners = [tuple(g["labels"].values()) for g in (self.m.ask("grants") or {"grants": []})["grants"] if g["labels"]["pod"]]
            twice += [o for o in set(owners) if owners.count(o) > 1]
            for what, begin in (("containerd", self.node.start_containerd), ("kubelet", self.node.start_kubelet)):
                if not clusters.alive(getattr(self.node, what)):  # a kubelet that begins without a containerd ends
                    begin()
                    kubelet_began = time.monotonic() if what == "kubelet" else kubelet_began
            if made < count and time.monotonic() > next_kill:
                what = chance.choice(list(kills))
                for step in kills[what]:
                    step()
                last = what
                kubelet_began = time.monotonic() if what == "kubelet" else kubelet_began
                agent_began = time.monotonic() if what == "agent" else agent_began
                killed[what] = killed.get(what, 0) + 1
                next_kill = time.monotonic() + chance.uniform(2, 8)
            if made < count:
                end = time.monotonic()
            if time.monotonic() > end + 120 * clusters.PATIENCE:
                break
            time.sleep(0.2)
        print(f"# {made} pods, killed {killed}, seed {seed}; {len(failed)} failed", flush=True)
        for message in sorted(set(failed.values())):
            print(f"#   {list(failed.values()).count(message)} x {message}", flush=True)
        same(ending, set(), "all pods are gone")
        same(twice, [], "no container ever had two grants")
        ok(wait("nothing is left", self.nothing_left), "no grant, folder or CDI file is left", self.m.grants())
        refused = [m for m in failed.values() if any(word in m for word in ("not promised", "has room", "another container"))]
        same(refused, [], "no pod was refused by us what its node had offered")
        # A scheduler knows what a node has by the node's status, which kubelet writes by its clock: kubelet's own count is ahead.
        by_count = {n for n, m in failed.items() if "requested number of devices unavailable" in m}
        for what, names in windows.items():
            print(f"#   {len(by_count & names)} by kubelet's own count while the {what} began again", flush=True)
        raced = by_count - windows["agent"] - windows["kubelet"]
        ok(len(raced) <= (0 if COUNTED else made // 50), f"{len(raced)} were bound to a node whose status was old, and refused by kubelet: "
           + ("none where each share has its number" if COUNTED else "2 % at most"), *raced)


def main():
    t = Test()
    try:
        for part in ("installs", "quota", "known", "nothing", "two", "again", "counts", "truths", "debugs", "bad", "presses", "evicts", "chart", "kills", "blind", "boots", "costs", "at_once", "spreads", "compares", "storm"):
            if wanted(part):
                began = time.monotonic()
                getattr(t, part)()
                print(f"# {part}: {time.monotonic() - began:.1f} s", flush=True)
        for m in t.metes:
            m.end()
        said = "".join(m.node.log("agent") + m.node.log("meted") for m in t.metes)
        ok("ERROR: " not in said and "runtime error" not in said, "no sanitizer speaks", said)
    finally:
        keep = os.environ.get("METE_TEST_KEEP")
        if keep:
            shutil.copytree(t.c.work, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("containerd", "etcd", "*-root", "*.tar"))
        t.c.end()
    finish()


main()
