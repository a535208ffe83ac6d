"""
The chart, rendered and linted by the real helm, and the manifests beside it; the image, made twice; kubectl mete, through
the real kubectl. deploy_test.py SOURCE_ROOT BUILD_ROOT

METE_TEST_HELM and METE_TEST_KUBECTL name the two programs, where they are not in PATH; what needs them is skipped
without. The API server of kubectl mete is a stand-in.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import harness  # noqa: E402
from apiserver import ApiServer  # noqa: E402
from harness import GIB, finish, ok, same, skip  # noqa: E402
from review import pod  # noqa: E402

DEPLOY = os.path.join(ROOT, "deploy")
CHART = os.path.join(DEPLOY, "chart/mete")
BIN = os.path.join(harness.BUILD, "src/cli")
home = tempfile.mkdtemp(prefix="mete-y-", dir="/tmp")


def program(name):
    named = os.environ.get("METE_TEST_" + name.upper())
    return named if named and os.access(named, os.X_OK) else shutil.which(name)


helm, kubectl = program("helm"), program("kubectl")
ENV = {**os.environ, "HOME": home, "HELM_CACHE_HOME": home, "HELM_CONFIG_HOME": home, "HELM_DATA_HOME": home}


def run(*command, **more):
    return subprocess.run(command, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **more)


def documents(text):
    """Kind and name of each document, and its text."""
    found = []
    for part in re.split(r"^---\n", text, flags=re.M):
        kind, name = re.search(r"^kind: (\S+)", part, re.M), re.search(r"^  name: (\S+)", part, re.M)
        if kind and name:
            found.append((kind[1], name[1], part))
    return found


def rendered(*options):
    done = run(helm, "template", "mete", CHART, "--namespace", "mete-system", *options)
    return documents(done.stdout) if done.returncode == 0 else done.stderr


def test_callers_of_the_chart():
    """Who may ask webhook and extender, as values."""
    parts = {(k, n): part for k, n, part in rendered("--set", "webhook.clientCA=callers,extender.enabled=true,extender.tls=pair,extender.clientCA=callers")}
    webhook, extender = (parts["Deployment", name] for name in ("mete-webhook", "mete-extender"))
    for text, words in ((webhook, ("--client-ca=/etc/mete-callers/ca.crt", "mountPath: /etc/mete-callers", "configMap: { name: callers }")),
                        (extender, ("--client-ca=/etc/mete-callers/ca.crt", "--cert=/etc/mete-tls/tls.crt", "--key=/etc/mete-tls/tls.key", "scheme: HTTPS",
                                    "secretName: pair", "configMap: { name: callers }"))):
        for word in words:
            ok(word in text, f"only certain callers: {word}")
    ok("port: 443" in parts["Service", "mete-extender"], "the extender's service is HTTPS's")
    plain = {(k, n): part for k, n, part in rendered("--set", "extender.enabled=true")}
    ok(not any(w in plain["Deployment", n] for n in ("mete-webhook", "mete-extender") for w in ("client-ca", "mete-callers", "mete-tls")), "and none of it by default")
    ok("port: 80" in plain["Service", "mete-extender"] and "scheme: HTTP\n" in plain["Deployment", "mete-extender"].replace(" }", "\n"), "which is HTTP")
    done = rendered("--set", "extender.enabled=true,extender.clientCA=callers")
    ok(isinstance(done, str) and "extender.clientCA: give extender.tls too" in done, "without TLS no caller can be told from another", done)


def test_chart():
    done = run(helm, "lint", "--strict", CHART)
    ok(done.returncode == 0, "helm lint", done.stdout, done.stderr)
    done = subprocess.run([os.path.join(DEPLOY, "manifests.sh"), "--check"], env={**ENV, "METE_TEST_HELM": helm}, capture_output=True, text=True)
    ok(done.returncode == 0, "the manifests are the chart, rendered", done.stdout[-2000:], done.stderr)
    usual = rendered()
    kinds = [(k, n) for k, n, _ in usual]
    ok(("DaemonSet", "mete-agent") in kinds and ("MutatingWebhookConfiguration", "mete-webhook") in kinds, "agent and webhook", kinds)
    ok(not any(k == "Namespace" or n == "mete-extender" for k, n in kinds), "neither namespace nor extender unless asked for", kinds)
    whole = rendered("--set", "namespace.create=true,extender.enabled=true,agent.dra=true,agent.soft=true,webhook.cardMemory=80G")
    text = "".join(part for _, _, part in whole)
    for word in ("pod-security.kubernetes.io/enforce: privileged", "--dra", "--soft", "--card-memory=80G", "plugins_registry", "resourceslices", "kind: DeviceClass",
                 "/usr/bin/mete-extender"):
        ok(word in text, f"with everything: {word}")
    less = rendered("--set", "webhook.enabled=false,agent.publish=false")
    ok({k for k, _, _ in less} == {"PriorityClass", "ServiceAccount", "ConfigMap", "DaemonSet"}, "with the least: no role at all",
       [(k, n) for k, n, _ in less])
    ok("automountServiceAccountToken: false" in "".join(p for _, _, p in less), "and no token in the agent")
    text = "".join(part for _, _, part in rendered("--set", "webhook.claims=true"))
    ok("- --claims" in text and "sideEffects: NoneOnDryRun" in text and "resourceclaimtemplates" in text, "with claims the webhook may make templates")
    ok("resourceclaimtemplates" not in "".join(part for _, _, part in whole), "and without it may not")
    for sweep, verbs in (("1h", "create, list, patch, delete"), ("0", "create")):
        text = "".join(part for _, _, part in rendered("--set", f"webhook.claims=true,webhook.sweep={sweep}"))
        ok(f"- --sweep={sweep}\n" in text and f"resources: [resourceclaimtemplates]\n    verbs: [{verbs}]\n" in text, f"sweep {sweep}: the rights for it")
        same("resources: [pods]\n    verbs: [list]" in text, sweep != "0", f"sweep {sweep}: pods are listed for it alone")
    test_callers_of_the_chart()
    text = "".join(part for _, _, part in rendered("--set", "image.tag=1"))
    ok('image: "localhost/mete:1"' in text, "a tag may be a number")
    roles = [part for kind, _, part in whole if kind.endswith("Role")]
    ok(len(roles) == 4 and not any('"*"' in r or "- '*'" in r or "[*]" in r for r in roles), "no role has a star", *roles)
    verbs = {"get", "list", "watch", "create", "update", "patch", "delete"}
    for part in roles:
        for line in re.findall(r"verbs: \[(.*)\]", part):
            ok(set(line.split(", ")) <= verbs, f"verbs {line}")
    secret = next(part for kind, _, part in whole if kind == "Role")
    ok("resourceNames: [mete-webhook]" in secret and "create" not in secret, "of secrets the webhook's own alone")
    for kind, name, part in whole:
        if kind in ("DaemonSet", "Deployment"):
            for word in ("allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true", "drop: [ALL]", "priorityClassName:"):
                ok(word in part, f"{name}: {word}")
            ok("privileged: true" not in part and "hostPID" not in part and "hostNetwork" not in part, f"{name}: nothing of the node's but folders")
    hook = next(part for kind, _, part in whole if kind == "MutatingWebhookConfiguration")
    for word in ("failurePolicy: Ignore", "sideEffects: None", "- kube-system", "- mete-system", "timeoutSeconds: 5"):
        ok(word in hook, f"the webhook's configuration: {word}")
    shares = next(part for kind, _, part in usual if kind == "ConfigMap")
    value = json.loads("\n".join(line[4:] for line in shares.split("shares.json: |\n")[1].splitlines()))
    same([s["name"] for s in value["shares"]], ["small", "medium", "large"], "the shares are shares.json")
    own = os.path.join(home, "values.json")
    with open(own, "w") as file:
        json.dump({"shares": [{"name": "tiny", "mem": "1G", "cores": 12.5, "class": "low"}]}, file)
    text = "".join(p for _, _, p in rendered("-f", own))
    ok('"cores": 12.5' in text and '"class": "low"' in text, "and can be others")


def test_programs_take_what_the_chart_gives():
    """Options of the manifests are options of the programs."""
    with open(os.path.join(DEPLOY, "manifests/mete.yaml")) as file:
        text = file.read()
    commands = re.findall(r"- /usr/bin/(mete-\w+)\n((?: +- --.*\n)+)", text)
    same(sorted(name for name, _ in commands), ["mete-agent", "mete-webhook"], "the programs of the manifests")
    for name, options in commands:
        path = os.path.join(BIN, name)
        if not os.path.exists(path):
            skip(f"{name}: its options", "it is not built")
            continue
        help_text = run(path, "--help").stdout
        for option in re.findall(r"- (--[\w-]+)", options):
            ok(re.search(rf"^  {option}\b", help_text, re.M), f"{name} has {option}")


def test_image():
    if not shutil.which("dpkg-deb"):
        skip("the image", "dpkg-deb is not there")
        return
    debs = []
    for name, files in (("mete-x", {"usr/bin/mete-x": "a program\n", "lib/x86/libx.so": "x"}), ("mete-y", {"usr/bin/mete-y": "another\n"})):
        tree = os.path.join(home, name)
        for path, content in {**files, "DEBIAN/control": f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@example.org>\nDescription: x\n",
                              f"usr/share/doc/{name}/copyright": "free\n"}.items():
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            with open(os.path.join(tree, path), "w") as file:
                file.write(content)
        os.chmod(os.path.join(tree, "DEBIAN"), 0o755)
        os.chmod(os.path.join(tree, "usr/bin", name), 0o755)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, f"{tree}.deb"], stdout=subprocess.DEVNULL, check=True)
        debs.append(f"{tree}.deb")
    build = os.path.join(DEPLOY, "images/build.py")
    outs = [os.path.join(home, f"{i}.tar") for i in range(3)]
    digests = [run(sys.executable, build, outs[0], *debs), run(sys.executable, build, outs[1], *reversed(debs)),
               run(sys.executable, build, outs[2], "--tag", "localhost/mete:2", *debs)]
    ok(all(d.returncode == 0 for d in digests), "an image of two packages", *(d.stderr for d in digests))
    sums = [hashlib.sha256(open(o, "rb").read()).hexdigest() for o in outs]
    ok(sums[0] == sums[1] and sums[0] != sums[2], "the same packages make the same bytes, in whatever order they are named", sums)
    with tarfile.open(outs[0]) as tar:
        index = json.load(tar.extractfile("index.json"))
        blob = {n[13:]: tar.extractfile(n).read() for n in tar.getnames() if n.startswith("blobs/")}
    ok(all(hashlib.sha256(b).hexdigest() == n for n, b in blob.items()), "every blob is what it is called")
    manifest = json.loads(blob[index["manifests"][0]["digest"][7:]])
    config = json.loads(blob[manifest["config"]["digest"][7:]])
    layer = blob[manifest["layers"][0]["digest"][7:]]
    same(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(layer).hexdigest()], "the layer is the configuration's")
    same(config["config"]["Labels"]["mete.io/packages"], "mete-x=1,mete-y=1", "it says what it was made of")
    path = os.path.join(home, "layer.tar")
    with open(path, "wb") as file:
        file.write(layer)
    with tarfile.open(path) as tar:
        names = {m.name: m for m in tar}
    ok({"usr/bin/mete-x", "usr/bin/mete-y", "usr/lib/x86/libx.so", "lib", "bin", "tmp"} <= set(names), "files, with /lib as /usr/lib", sorted(names))
    ok(not any("share/doc" in n for n in names), "without documents")
    ok(all((m.mtime, m.uid, m.gid, m.uname) == (0, 0, 0, "") for m in names.values()), "nobody's, and of no time")
    ok(names["usr/bin/mete-x"].mode & 0o777 == 0o755, "programs may be executed")
    if shutil.which("podman"):
        done = run("podman", "--root", os.path.join(home, "p"), "--runroot", os.path.join(home, "q"), "--storage-driver=vfs", "load", "-i", outs[0])
        ok(done.returncode == 0 and "mete" in done.stdout, "podman takes it", done.stdout, done.stderr)
    else:
        skip("podman takes it", "podman is not there")


def test_kubectl():
    mete = os.path.join(BIN, "kubectl-mete")
    if not os.path.exists(mete):
        skip("kubectl mete", "it is not built")
        return
    api = ApiServer()
    config = os.path.join(home, "config")
    with open(config, "w") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                   "clusters": [{"name": "k", "cluster": {"server": api.url}}], "users": [{"name": "u", "user": {}}]}, file)
    cards = [{"index": i, "uuid": f"GPU-{i}", "name": "Card 16G", "total": 16 * GIB, "left": left * GIB, "time": 500000, "tenants": 1, "state": "active",
              "native": False} for i, left in enumerate((2, 8))]
    shares = {"half": [{"card": -1, "bytes": 8 * GIB, "time": 0}], "whole": [{"card": -1, "bytes": 16 * GIB, "time": 0}]}
    api.put("nodes", {"metadata": {"name": "n1", "annotations": {"mete.io/devices": json.dumps({"cards": cards, "shares": shares})}}, "spec": {},
                      "status": {"allocatable": {"cpu": "4", "mete.io/half": "1", "mete.io/whole": "0"}}})
    api.put("nodes", {"metadata": {"name": "n2"}, "spec": {}})
    for name, limits, on in (("waits", {"mete.io/whole": "1"}, None), ("could", {"mete.io/half": "1"}, None), ("plain", {}, None),
                             ("runs", {"mete.io/half": "1"}, "n1")):
        thing = pod(limits)
        thing["metadata"]["name"] = name
        thing["status"] = {"phase": "Running" if on else "Pending"}
        if on:
            thing["spec"]["nodeName"] = on
        api.put("default/pods", thing)
    api.put("default/events", {"metadata": {"name": "e"}, "involvedObject": {"name": "waits"}, "reason": "FailedScheduling", "message": "0/2 nodes"})

    def ask(*words):
        return subprocess.run([mete, *words], env={**ENV, "KUBECONFIG": config, "METE_KUBECTL": kubectl}, capture_output=True, text=True, timeout=60)
    done = ask("list")
    ok(done.returncode == 0 and re.search(r"n1 +1 +Card 16G +16 GiB +8 GiB +50 % +1 +active", done.stdout), "list", done.stdout, done.stderr)
    same([x["node"] for x in json.loads(ask("list", "--json").stdout)], ["n1"], "list --json")
    done = ask("why", "waits")
    ok("asks for share whole" in done.stdout, "why: what it asks for", done.stdout, done.stderr)
    ok("n1: share whole: card 1 (Card 16G) has 8 GiB not promised, asked were 16 GiB" in done.stdout, "why: a node with its figure", done.stdout)
    ok("n2: no mete-agent has said" in done.stdout, "why: a node without an agent", done.stdout)
    ok("event: FailedScheduling: 0/2 nodes" in done.stdout, "why: what the cluster says", done.stdout)
    ok("n1: there is room; what is in the way is not a share" in ask("why", "could").stdout, "why: it is not the share")
    ok("asks for no share" in ask("why", "plain").stdout, "why: none is asked for")
    ok("it is on node n1, Running" in ask("why", "runs").stdout, "why: it does not wait")
    done = ask("describe", "n1")
    ok("share half: 1 in all" in done.stdout and "pod default/runs: share half, Running" in done.stdout, "describe", done.stdout, done.stderr)
    done = ask("why", "nobody")
    ok(done.returncode == 1 and "did not answer" in done.stderr, "a pod that is not there", done.stderr)
    done = ask("top")
    ok(done.returncode == 1 and "no agent runs in namespace mete-system" in done.stderr, "top without agents", done.stderr)
    for words, line in [((), "give list, top"), (("fly",), "give list, top"), (("why",), "name one"), (("list", "x"), "takes no name"),
                        (("why", "../nodes"), "a name has letters"), (("why", "a", "b"), "one word too many"), (("--what",), "no such option")]:
        done = ask(*words)
        ok(done.returncode == 2 and line in done.stderr, f"kubectl mete {' '.join(words)}: {line}", done.stderr)
    done = subprocess.run([mete, "list"], env={**ENV, "METE_KUBECTL": "/nowhere/kubectl"}, capture_output=True, text=True)
    ok(done.returncode == 1 and "METE_KUBECTL" in done.stderr, "without kubectl", done.stderr)
    api.down()


if helm:
    test_chart()
else:
    skip("the chart", "helm is not there (METE_TEST_HELM)")
test_programs_take_what_the_chart_gives()
test_image()
if kubectl:
    test_kubectl()
    done = run(kubectl, "kustomize", os.path.join(DEPLOY, "manifests"))
    ok(done.returncode == 0 and done.stdout.count("\nkind:") + done.stdout.startswith("kind:") >= 15, "kubectl kustomize takes the manifests", done.stderr)
    closed = run(kubectl, "kustomize", os.path.join(DEPLOY, "manifests-client-ca"))
    added = set(closed.stdout.splitlines()) - set(done.stdout.splitlines())
    ok(closed.returncode == 0 and any("--client-ca=/etc/mete-callers/ca.crt" in line for line in added) and any("mete-client-ca" in line for line in added),
       "and those that know callers by an authority", closed.stderr, added)
else:
    skip("kubectl mete", "kubectl is not there (METE_TEST_KUBECTL)")
shutil.rmtree(home, ignore_errors=True)
finish()
