"""
A node with the DRA driver of mete-agent: a meted, an API server, kubelet's folders, and the agent. A script that imports
it is skipped where the agent, grpcio or the driver is not there.
"""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid

import harness
import kubelet
from apiserver import ApiServer
from harness import Meted, ok, same, until

AGENT = os.path.join(harness.BUILD, "src/cli/mete-agent")
TRAILER = 30  # seconds that the test waits for what must come
DRIVER = "gpu.mete.io"

if not os.path.exists(AGENT):
    print("1..0 # SKIP mete-agent is not built: libnghttp2 is not there")
    sys.exit(0)
if not kubelet.grpc:
    print("1..0 # SKIP the Python package grpcio is not there (METE_TEST_GRPC names a folder with it)")
    sys.exit(0)
if b"without libcurl" in subprocess.run([AGENT, "--dra", "--check"], capture_output=True).stderr:
    print("1..0 # SKIP mete-agent is built without libcurl")
    sys.exit(0)
from dra_kubelet import Driver  # noqa: E402


def kubeconfig(path, url, **user):
    with open(path, "w") as file:
        json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                   "clusters": [{"name": "k", "cluster": {"server": url}}], "users": [{"name": "u", "user": user}]}, file)


class Node:
    def __init__(self, *options, api=None, **server):
        self.meted = Meted()
        self.folder = tempfile.mkdtemp(prefix="mete-d-", dir="/tmp")
        self.root = os.path.join(self.folder, "kubelet")
        for name in ("plugins", "plugins_registry", "device-plugins"):
            os.makedirs(os.path.join(self.root, name))
        self.cdi = os.path.join(self.folder, "cdi")
        self.shares = os.path.join(self.folder, "shares.json")
        with open(self.shares, "w") as file:
            json.dump({"shares": [{"name": "small", "mem": "4G", "cores": 25, "device": "0"}]}, file)
        self.config = os.path.join(self.folder, "kubeconfig")
        self.token = os.path.join(self.folder, "token")
        self.api = api or self.stand_in(**server)
        self.options, self.agent = options, None
        self.driver = Driver(self.root)

    def stand_in(self, **server):
        api = ApiServer(token="first", **server)
        api.put("nodes", {"metadata": {"name": "n1", "uid": "node-uid"}})
        self.write_token("first")
        kubeconfig(self.config, api.url, tokenFile="token")
        return api

    def write_token(self, word):
        with open(self.token + ".new", "w") as file:
            file.write(word + "\n")
        os.rename(self.token + ".new", self.token)

    def command(self, *more):
        return [AGENT, "--dra", "--node", "n1", "--kubeconfig", self.config, "--kubelet-root", self.root, "--kubelet-dir",
                os.path.join(self.root, "device-plugins"), "--shares", self.shares, "--runtime-dir", self.meted.dir,
                "--cdi-dir", self.cdi, *self.options, *more]

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.agent = subprocess.Popen(self.command(), env=self.meted.env, stdin=subprocess.DEVNULL, stderr=log)
        atexit.register(self.agent.kill)  # also when a test stops half-way
        if not until(lambda: os.path.exists(self.driver.registry), TRAILER):
            raise SystemExit(f"Bail out! {self.said()}")

    def kill(self, number=signal.SIGKILL):
        self.agent.send_signal(number)
        return self.agent.wait(30)

    def again(self):
        """The agent is killed, and the next one found by kubelet."""
        self.kill()
        os.unlink(self.driver.registry)
        self.start()
        self.driver.register()

    def said(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            return file.read()

    def grants(self):
        c = self.meted.control()
        rows = c.ask("grants")["grants"]
        c.close()
        return {r["name"]: r for r in rows}

    def ask(self, op, **words):
        c = self.meted.control()
        answer = c.ask(op, **words)
        c.close()
        if not answer["ok"]:
            raise SystemExit(f"Bail out! {answer}")
        return answer

    def files(self):
        return sorted(os.listdir(self.cdi)) if os.path.isdir(self.cdi) else []

    def slices(self):
        return self.api.all("resourceslices")

    def devices(self):
        """uuid-name -> device of all slices of the newest generation."""
        found = {}
        slices = [s for s in self.slices() if s["spec"]["driver"] == DRIVER]
        newest = max((s["spec"]["pool"]["generation"] for s in slices), default=0)
        for s in slices:
            if s["spec"]["pool"]["generation"] == newest:
                for d in s["spec"]["devices"]:
                    found[d["name"]] = d.get("basic", d)
        return found

    def memory(self):
        return [d["capacity"]["memory"]["value"] for d in self.devices().values()]

    def claim(self, name, results, config=(), namespace="ns", **status):
        """As the scheduler leaves it. `results`: (request, number of the device, consumed) or whole objects."""
        rows = []
        for r in results:
            if isinstance(r, tuple):
                r = {"request": r[0], "driver": DRIVER, "pool": "n1", "device": self.names[r[1]],
                     "shareID": str(uuid.uuid4()), **({"consumedCapacity": r[2]} if r[2] else {})}
            rows.append(r)
        obj = self.api.put(f"{namespace}/resourceclaims", {
            "metadata": {"name": name, "namespace": namespace, "uid": str(uuid.uuid4())}, "spec": {},
            "status": {"allocation": {"devices": {"results": rows, "config": list(config)}},
                       "reservedFor": [{"resource": "pods", "name": name + "-pod", "uid": "x"}], **status}})
        return namespace, obj["metadata"]["uid"], name

    def prepared(self, claim):
        return self.driver.prepare(claim)[claim[1]]

    def unprepared(self, *claims):
        return self.driver.unprepare(*claims)

    def close(self):
        self.driver.close()
        if self.agent.poll() is None:
            same(self.kill(signal.SIGTERM), 0, "the agent leaves with status 0")
            ok(not os.path.exists(self.driver.registry), "its sockets are gone")
        ok("ERROR: " not in self.said() and "runtime error" not in self.said(), "no sanitizer speaks", self.said())
        self.api.down()
        self.meted.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(what, name):
    return ok(until(what, TRAILER), name)
