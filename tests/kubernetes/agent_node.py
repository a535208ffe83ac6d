"""
A node with mete-agent and a stand-in for its kubelet: a meted, kubelet's folder, and the agent. A script that imports it
is skipped where the agent or grpcio is not there.
"""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import harness
import kubelet
from harness import Meted, ok, same, until

AGENT = os.path.join(harness.BUILD, "src/cli/mete-agent")
METE = os.path.join(harness.BUILD, "src/cli/mete")
SMALL, HALF = "mete.io/small", "mete.io/half"
SHARES = [{"name": "small", "mem": "4G", "cores": 25, "device": "0"}, {"name": "half", "mem": "8G", "device": "0"}]
TRAILER = 30  # seconds that the test waits for what must come

if not os.path.exists(AGENT):
    print("1..0 # SKIP mete-agent is not built: libnghttp2 is not there")
    sys.exit(0)
if not kubelet.grpc:
    print("1..0 # SKIP the Python package grpcio is not there (METE_TEST_GRPC names a folder with it)")
    sys.exit(0)
grpc = kubelet.grpc


class Node:
    """A meted, a kubelet's folder, and the agent."""

    def __init__(self, *options, meted=(), **env):
        self.meted = Meted(*meted, env=env)
        self.folder = tempfile.mkdtemp(prefix="mete-k-", dir="/tmp")
        self.plugins_dir = os.path.join(self.folder, "k")
        self.cdi = tempfile.mkdtemp(prefix="mete-k-", dir="/dev/shm")  # as /run/cdi, it is in memory
        os.mkdir(self.plugins_dir)
        self.shares = os.path.join(self.folder, "shares.json")
        self.write_shares(SHARES)
        self.options = options
        self.agent = None
        self.containers = []

    def write_shares(self, shares):
        with open(self.shares + ".new", "w") as file:
            file.write(shares if isinstance(shares, str) else json.dumps({"shares": shares}))
        os.rename(self.shares + ".new", self.shares)

    def command(self, *more):
        return [AGENT, "--kubelet-dir", self.plugins_dir, "--pods-socket", os.path.join(self.folder, "pods.sock"), "--shares", self.shares, "--runtime-dir", self.meted.dir,
                "--cdi-dir", self.cdi, *self.options, *more]

    def start(self):
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.agent = subprocess.Popen(self.command(), env=self.meted.env, stdin=subprocess.DEVNULL, stderr=self.log)
        self.log.close()
        atexit.register(self.agent.kill)  # also when a test stops half-way

    def kill(self, number=signal.SIGKILL):
        self.agent.send_signal(number)
        return self.agent.wait(30)

    def said(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            return file.read()

    def join(self, name):
        """A container of the grant begins: what mete's hook asks for."""
        process = subprocess.Popen(["sleep", "600"])
        self.containers.append(process)
        c = self.meted.control()
        answer = c.ask("grant_bind", name=name, runner_pid=process.pid)
        c.close()
        if not answer["ok"]:
            raise SystemExit(f"Bail out! {answer}")
        return process

    def end_container(self, process):
        process.kill()
        process.wait()
        self.containers.remove(process)

    def grant(self, name):
        c = self.meted.control()
        row = c.grant(name)
        c.close()
        return row

    def close(self):
        for process in self.containers[:]:
            self.end_container(process)
        if self.agent and self.agent.poll() is None:
            same(self.kill(signal.SIGTERM), 0, "the agent leaves with status 0")
            same([n for n in os.listdir(self.plugins_dir) if n.startswith("mete-")], [], "its sockets are gone")
        ok("ERROR: " not in self.said() and "runtime error" not in self.said(), "no sanitizer speaks", self.said())
        self.meted.close()
        for folder in (self.folder, self.cdi):
            shutil.rmtree(folder, ignore_errors=True)


def wait(what, name):
    return ok(until(what, TRAILER), name)


def ids(share, *numbers):
    return [f"k8s-{share}-{n}" for n in numbers]


def shown(k, resource, *numbers):
    share = resource.split("/")[1]
    return lambda: resource in k.plugins and k.plugins[resource].healthy() == ids(share, *numbers)


def later(plugin, method, *ids):
    """A call that may wait for its answer: a function that says (status, line) when it is there, else None."""
    call = plugin.channel.unary_unary(kubelet.PLUGIN + method).future(b"".join(kubelet.field(1, i) for i in ids), timeout=20)

    def answer():
        if not call.done():
            return None
        return (call.code(), call.details()) if call.exception() else (grpc.StatusCode.OK, "")
    return answer


def pre_start(plugin, i):
    return later(plugin, "PreStartContainer", i)
