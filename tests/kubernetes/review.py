"""What tests of mete-webhook share: the program, HTTPS requests, pods, and JSON patches as an API server applies them."""
import atexit
import base64
import copy
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import tempfile

SHARES = [{"name": "tiny", "mem": "1G", "cores": 10}, {"name": "small", "mem": "4G", "cores": 25},
          {"name": "batch", "mem": "4G", "cores": 25, "class": "low"}, {"name": "half", "mem": "8G", "cores": 50},
          {"name": "whole", "mem": "16G", "cores": 100}, {"name": "pair", "mem": "4G", "cores": 25, "device": "0,1"}]


programs = []


@atexit.register
def leave_none():
    """Also when a test stops half-way."""
    for p in programs:
        if p.poll() is None:
            p.kill()
            p.wait()


class Program:
    """A server of ours at a port that the kernel chose."""

    def __init__(self, path, *options, env=None):
        self.folder = tempfile.mkdtemp(prefix="mete-w-", dir="/tmp")
        self.command = [path, "--listen", "127.0.0.1:0", *options]
        self.env = env
        self.start()

    def start(self):
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        programs.append(self.process)

    def said(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def port(self):
        found = re.search(r"serves at port (\d+)", self.said())
        return int(found[1]) if found else None

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(30)


def connect(port, ca, timeout=30):
    context = ssl.create_default_context(cafile=ca) if ca else None
    if context:
        return http.client.HTTPSConnection("localhost", port, context=context, timeout=timeout)
    return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)


def post(connection, path, body):
    """Status and the answer, JSON where it is."""
    connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    data = answer.read()
    return answer.status, json.loads(data) if data[:1] in b"{[" and data else data.decode()


def pod(limits=None, annotations=None, requests=None, **more):
    resources = {}
    if limits is not None:
        resources["limits"] = limits
    if requests is not None:
        resources["requests"] = requests
    metadata = {"name": "p", "namespace": "default"}
    if annotations is not None:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "main", "image": "localhost/x", "resources": resources, **more}]}}


def review(thing, operation="CREATE", kind="Pod", group=""):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": group, "version": "v1", "kind": kind},
                        "operation": operation, "namespace": "default", "object": thing}}


def applied(thing, patch):
    """RFC 6902, as far as the patches go."""
    result = copy.deepcopy(thing)
    for step in patch:
        *way, last = [p.replace("~1", "/").replace("~0", "~") for p in step["path"].split("/")[1:]]
        at = result
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if step["op"] != "add" or not isinstance(at, dict):
            raise ValueError(step)
        at[last] = step["value"]
    return result


def patch_of(response):
    return json.loads(base64.b64decode(response["patch"])) if "patch" in response else []

