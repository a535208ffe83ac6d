"""
The API side of the DRA driver on a real kube-apiserver, where resource.k8s.io is made of CRDs: dra_api_test.py BUILD_ROOT
METE_TEST_KUBERNETES names the folder with bin/etcd and bin/kube-apiserver.
"""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
from harness import GIB, finish, ok, same, until  # noqa: E402

BIN = os.path.join(os.environ.get("METE_TEST_KUBERNETES", ""), "bin")
if not all(os.access(os.path.join(BIN, name), os.X_OK) for name in ("etcd", "kube-apiserver")) or not shutil.which("openssl"):
    print("1..0 # SKIP no kube-apiserver: METE_TEST_KUBERNETES names no folder with bin/etcd and bin/kube-apiserver")
    sys.exit(0)
from dra_node import DRIVER, Node, wait  # noqa: E402

GROUP = "/apis/resource.k8s.io/v1"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class RealServer:
    """etcd and kube-apiserver; with the few words of the stand-in that Node uses."""

    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="mete-a-", dir="/tmp")
        self.etcd_port, self.port = free_port(), free_port()
        self.log = open(os.path.join(self.work, "log"), "ab")
        url, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{free_port()}"
        self.etcd = subprocess.Popen(
            [os.path.join(BIN, "etcd"), "--data-dir", os.path.join(self.work, "etcd"), "--listen-client-urls", url,
             "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", "default=" + peer, "--unsafe-no-fsync"], stdout=self.log, stderr=self.log)
        key = os.path.join(self.work, "key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        with open(os.path.join(self.work, "tokens"), "w") as file:
            file.write('admin,admin,admin,"system:masters"\n')
        self.command = [
            os.path.join(BIN, "kube-apiserver"), f"--etcd-servers={url}", "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--cert-dir={self.work}/pki", f"--token-auth-file={self.work}/tokens", "--authorization-mode=AlwaysAllow",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://test", "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--advertise-address=127.0.0.1"]
        self.process = None
        self.up()

    def up(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        if not until(self.ready, 120):
            raise SystemExit(f"Bail out! kube-apiserver is not ready: see {self.work}/log")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def down(self):
        for process in (self.process, self.etcd):
            process.kill()
            process.wait()
        self.log.close()
        shutil.rmtree(self.work, ignore_errors=True)

    def ready(self):
        try:
            return self.ask("GET", "/readyz") == "ok"
        except OSError:
            return False

    def ask(self, method, path, body=None, kind="application/json"):
        context = ssl._create_unverified_context()
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method,
                                         data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Authorization": "Bearer admin", "Content-Type": kind})
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def all(self, collection):
        return self.ask("GET", f"{GROUP}/{collection}")["items"]

    def put(self, collection, obj):
        """As the scheduler writes: the object, then its status."""
        made = self.ask("POST", f"{GROUP}/namespaces/{collection}", {**obj, "apiVersion": "resource.k8s.io/v1",
                                                                    "kind": "ResourceClaim", "metadata": {"name": obj["metadata"]["name"]}})
        return self.ask("PATCH", f"{GROUP}/namespaces/{collection}/{made['metadata']['name']}/status",
                        {"status": obj["status"]}, "application/merge-patch+json")


def crd(plural, kind, scope):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.resource.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, test only"}},
            "spec": {"group": "resource.k8s.io", "scope": scope, "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def there(api, plural):
    try:
        return api.ask("GET", f"{GROUP}/{plural}")
    except urllib.error.HTTPError:
        return None


api = RealServer()
for words in (("resourceslices", "ResourceSlice", "Cluster"), ("resourceclaims", "ResourceClaim", "Namespaced")):
    api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(*words))
    ok(until(lambda: there(api, words[0]), 60), f"the API server has {words[0]}")
node_uid = api.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})["metadata"]["uid"]
n = Node(api=api)
with open(n.config, "w") as out:
    json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
               "clusters": [{"name": "k", "cluster": {"server": f"https://127.0.0.1:{api.port}/",
                                                      "certificate-authority": f"{api.work}/pki/apiserver.crt"}}],
               "users": [{"name": "u", "user": {"token": "admin"}}]}, out)
n.start()
n.driver.register()
wait(lambda: len(n.devices()) == 2, "devices are published over TLS, by the server's own certificate")
s = n.slices()[0]
n.names = [d["name"] for d in s["spec"]["devices"]]
same((s["metadata"]["ownerReferences"][0]["uid"], s["spec"]["pool"]["generation"]), (node_uid, 1), "with their owner, once")
claim = n.claim("a", [("gpu", 0, {"memory": "4Gi", "cores": "25"})], namespace="default")
same(n.prepared(claim)[0][3], ["mete.io/grant=dra-" + claim[1]], "a claim is read and prepared")
same(n.grants()["dra-" + claim[1]]["devices"][0]["quota_bytes"], 4 * GIB, "to the byte")
name = s["metadata"]["name"]
api.ask("DELETE", f"{GROUP}/resourceslices/{name}")
wait(lambda: n.memory() == ["16Gi", "16Gi"], "a slice that was deleted is written again")
api.ask("PATCH", f"{GROUP}/resourceslices/{name}", {"spec": {"devices": []}}, "application/merge-patch+json")
wait(lambda: n.memory() == ["16Gi", "16Gi"], "one that was changed too")
n.ask("grant_create", name="other", driver="soft", devices=[{"device": "1", "mem_bytes": GIB}])
wait(lambda: n.memory() == ["16Gi", "15Gi"], "a promise outside is subtracted")
api.kill()
wait(lambda: "API server" in n.said().splitlines()[-1], "a kube-apiserver that is killed is said")
n.ask("grant_delete", name="other")
same(n.prepared(claim)[0][3], ["mete.io/grant=dra-" + claim[1]], "what was prepared is answered without it")
api.up()
wait(lambda: n.memory() == ["16Gi", "16Gi"], "the next one is brought up to date")
same(n.unprepared(claim), {claim[1]: ""}, "the claim is given back")
same((n.grants(), n.files()), ({}, []), "and nothing is left")
gone = n.claim("gone", [("gpu", 1, {"memory": "1Gi"})], namespace="default")
n.prepared(gone)
n.kill()
os.unlink(n.driver.registry)
api.ask("DELETE", f"{GROUP}/namespaces/default/resourceclaims/gone")
n.start()
wait(lambda: not n.grants(), "a claim that went while the agent was down is swept")
same({s["spec"]["driver"] for s in n.slices()}, {DRIVER}, "no slice but ours")
n.close()
finish()
