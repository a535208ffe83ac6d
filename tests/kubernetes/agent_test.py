"""mete-agent: what kubelet is told of the shares, and what it is given: agent_test.py BUILD_ROOT [many_shares]"""
import atexit
import json
import os
import shutil
import signal
import socketserver
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import kubelet  # noqa: E402
from agent_node import AGENT, HALF, METE, SHARES, SMALL, TRAILER, Node, grpc, ids, later, pre_start, shown, wait  # noqa: E402
from harness import GIB, finish, ok, same, until  # noqa: E402
import harness  # noqa: E402

LONG = bool(os.environ.get("METE_TEST_LONG"))


def command_line(n):
    done = subprocess.run([AGENT, "--help"], capture_output=True, text=True)
    ok(done.returncode == 0 and "--kubelet-dir" in done.stdout and not done.stderr, "--help")
    for words, said in ((["--cdi", "x"], "annotation"), (["--kubelet-dir", "x"], "absolute"), (["--expires", "x"], "10m"),
                        (["word"], "options only"), (["--nothing"], "--help"), (["--placement", "x"], "spread")):
        done = subprocess.run([AGENT, *words], capture_output=True, text=True)
        ok(done.returncode == 2 and said in done.stderr, f"{' '.join(words)}: status 2, and the remedy", done)
    done = subprocess.run(n.command("--check"), env=n.meted.env, capture_output=True, text=True)
    ok(done.returncode == 1 and "kubelet.sock" in done.stdout and "mete.io/small: 0 taken, 4 more fit" in done.stdout,
       "--check names what is missing, and the shares", done)


def registers(n, k):
    wait(lambda: {SMALL, HALF} <= set(k.plugins), "both shares are registered")
    same(sorted(k.registered), [("v1beta1", "mete-half.sock", HALF), ("v1beta1", "mete-small.sock", SMALL)],
         "with version, socket and resource, once each")
    same([k.options[SMALL], k.options[HALF]], [{1: [1], 2: [1]}] * 2, "options: PreStart and preferred allocation")
    wait(shown(k, SMALL, 0, 1, 2, 3), "four small ones fit")
    wait(shown(k, HALF, 0, 1), "and two halves")


def make_twin(n):
    """The CDI file that `mete cdi create` writes for such a share; its grant is gone again."""
    folder = os.path.join(n.folder, "twin")
    words = ["--name", "twin", "--mem", "4G", "--cores", "25", "--dir", folder]
    done = subprocess.run([METE, "cdi", "create", *words], env={**n.meted.env, "METE_RUNTIME_DIR": n.meted.dir},
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"Bail out! {done}")
    with open(os.path.join(folder, "mete.io-grant-twin.json")) as file:
        n.twin = json.load(file)
    c = n.meted.control()
    c.ask("grant_delete", name="twin")
    c.close()


def allocates(n, k):
    make_twin(n)
    small, half = k.plugins[SMALL], k.plugins[HALF]
    wait(shown(k, SMALL, 0, 1, 2, 3), "four small ones fit still")
    answer = small.allocate("k8s-small-0")
    entry = kubelet.fields(answer[4][0])
    same((sorted(answer), entry[2]), ([4], [b"mete.io/grant=k8s-small-0"]), "an annotation names the CDI device, and nothing else")
    ok(entry[1][0].startswith(b"cdi.k8s.io/") and len(entry[1][0].split(b"/")[1]) <= 63, "under a key of CDI's")
    path = os.path.join(n.cdi, "mete.io-grant-k8s-small-0.json")
    with open(path) as file:
        spec = json.load(file)
    same((spec["kind"], [d["name"] for d in spec["devices"]]), ("mete.io/grant", ["k8s-small-0"]), "its CDI file is there")
    same(json.loads(json.dumps(spec).replace("k8s-small-0", "twin")), n.twin, "the same that `mete cdi create` writes")
    row = n.grant("k8s-small-0")
    same((row["devices"][0]["quota_bytes"], row["devices"][0]["cores"], row["container"]["spec"]), (4 * GIB, 25, path),
         "the grant has the share's size and time, and goes with its file")
    wait(shown(k, HALF, 0), "one half less fits")
    wait(shown(k, SMALL, 0, 1, 2, 3), "the small ones are four again")
    half.allocate("k8s-half-0")
    wait(shown(k, SMALL, 0, 1), "a half takes two small ones")
    small.allocate("k8s-small-1")
    wait(lambda: (small.healthy(), half.healthy()) == (ids("small", 0, 1), ids("half", 0)), "nothing but what is taken is offered: the device is full")
    for asked, said in ((("k8s-small-0", "k8s-small-1"), "one share"), ((), "one share"), (("k8s-half-0",), "no device"),
                        (("k8s-small-01",), "no device"), (("k8s-small--1",), "no device"), (("../x",), "no device")):
        code, line = small.refused(*asked) or (None, "")
        ok(code == grpc.StatusCode.INVALID_ARGUMENT and said in line, f"{asked} is refused", code, line)


def owes(n, k):
    """An id that was offered is never refused: what others of Kubernetes have for the moment is waited for."""
    small, half = k.plugins[SMALL], k.plugins[HALF]
    ok(n.grant("k8s-small-0") and n.grant("k8s-small-1") and n.grant("k8s-half-0"), "the device is full")
    same(sorted(small.allocate("k8s-small-2")), [4],
         "an id whose room another share has taken is not refused")
    same(n.grant("k8s-small-2"), None, "nothing is promised twice")
    ok("k8s-small-2 is owed, its container waits: " in n.said() and "not promised" in n.said(), "the log says why", n.said()[-400:])
    waits = pre_start(small, "k8s-small-2")
    time.sleep(0.3)
    same(waits(), None, "its container waits")
    first = n.join("k8s-small-1")
    n.end_container(first)
    ok(until(waits, TRAILER) and waits()[0] == grpc.StatusCode.OK, "it begins when another one has ended", waits())
    same(n.grant("k8s-small-2")["devices"][0]["quota_bytes"], 4 * GIB, "with its grant")
    ok(os.path.exists(os.path.join(n.cdi, "mete.io-grant-k8s-small-2.json")), "and its CDI file")
    waits = pre_start(small, "k8s-small-1")
    ok(until(waits, TRAILER), "after some seconds it is answered, so that kubelet tells why")
    ok(waits()[0] == grpc.StatusCode.RESOURCE_EXHAUSTED and "not promised" in waits()[1], "with meted's line", waits())
    c = n.meted.control()
    c.ask("grant_delete", name="k8s-small-2")
    wait(lambda: n.grant("k8s-small-1"), "what is owed gets its grant before others are offered the room")
    same(until(pre_start(small, "k8s-small-1"), TRAILER)[0], grpc.StatusCode.OK, "and kubelet's next question is answered")
    wait(shown(k, SMALL, 0, 1), "as it was before")
    c.ask("grant_delete", name="k8s-small-1")
    c.ask("grant_create", name="outside", driver="soft", devices=[{"device": "0", "mem_bytes": 4 * GIB}])
    code, line = small.refused("k8s-small-1") or (None, "")
    ok(code == grpc.StatusCode.RESOURCE_EXHAUSTED and "grant outside of uid " in line and "outside Kubernetes" in line,
       "what somebody outside Kubernetes took is refused, and the line names his grant", code, line)
    c.ask("grant_delete", name="outside")
    c.close()
    small.allocate("k8s-small-1")
    wait(shown(k, SMALL, 0, 1), "and given when he has left")
    same(half.healthy(), ids("half", 0), "the half was not touched")


def prefers(n, k):
    """k8s-small-0 waits for its container, k8s-small-1 has one."""
    small = k.plugins[SMALL]
    n.first = n.join("k8s-small-1")

    def prefer(available, must, size):
        request = b"".join(kubelet.field(1, i) for i in available) + b"".join(kubelet.field(2, i) for i in must)
        answer = small.call("GetPreferredAllocation", kubelet.field(1, request + kubelet.field(3, size)))
        return [i.decode() for i in kubelet.fields(kubelet.fields(answer)[1][0]).get(1, [])]
    wait(lambda: prefer(ids("small", 3, 1, 2, 0), [], 4) == ids("small", 0, 2, 3, 1),
         "preferred: what waits already, then the lowest free one, last what a container has")
    same(prefer(ids("small", 3, 2, 0), ids("small", 3), 2), ids("small", 3, 0), "what must be in it is in it")
    same(prefer(ids("small", 3), [], 5), ids("small", 3), "no more than there are")
    grant = n.grant("k8s-small-1")["id"]
    same(sorted(small.allocate("k8s-small-1")), [4], "kubelet gives an id away before its last container has ended: it is not refused")
    n.waits = pre_start(small, "k8s-small-1")
    same((n.waits(), n.grant("k8s-small-1")["id"]), (None, grant), "the container keeps its grant, and the next one waits")
    before = n.grant("k8s-small-0")["id"]
    small.allocate("k8s-small-0")
    ok(n.grant("k8s-small-0")["id"] != before, "an id that nobody took is given anew")


def frees(n, k):
    n.end_container(n.first)
    ok(until(n.waits, TRAILER)[0] == grpc.StatusCode.OK and n.grant("k8s-small-1")["runner_pid"] is None,
       "an ended container's id has a new grant for the next one", n.waits())
    n.end_container(n.join("k8s-small-1"))
    wait(shown(k, SMALL, 0, 1), "an ended container's id is free again")
    wait(lambda: n.grant("k8s-small-1") is None, "its grant is gone")
    wait(lambda: not os.path.exists(os.path.join(n.cdi, "mete.io-grant-k8s-small-1.json")), "and its CDI file")
    small = k.plugins[SMALL]
    same(small.call("PreStartContainer", kubelet.field(1, "k8s-small-1")), b"", "the container begins again")
    ok(n.grant("k8s-small-1") is not None and os.path.exists(os.path.join(n.cdi, "mete.io-grant-k8s-small-1.json")),
       "and has a grant and a CDI file again")
    before = n.grant("k8s-small-1")["id"]
    small.call("PreStartContainer", kubelet.field(1, "k8s-small-1"))
    same(n.grant("k8s-small-1")["id"], before, "one that waits is not made anew by PreStart")


def outside(n, k):
    c = n.meted.control()
    c.ask("grant_delete", name="k8s-small-1")
    wait(shown(k, SMALL, 0, 1), "a deleted grant's room is offered")
    c.ask("grant_create", name="other", driver="soft", devices=[{"device": "0", "mem_bytes": 4 * GIB}])
    wait(shown(k, SMALL, 0), "a promise made outside takes an id away")
    c.ask("grant_delete", name="other")
    wait(shown(k, SMALL, 0, 1), "and gives it back")
    c.ask("grant_create", name="k8s-small-1", driver="soft", devices=[{"device": "1", "mem_bytes": GIB}])
    wait(shown(k, SMALL, 0, 2), "a number whose name somebody else has is left out")
    code, line = k.plugins[SMALL].refused("k8s-small-1") or (None, "")
    ok(code == grpc.StatusCode.FAILED_PRECONDITION and "somebody else" in line and c.grant("k8s-small-1"),
       "that grant is not taken away", code, line)
    c.ask("grant_delete", name="k8s-small-1")
    wait(shown(k, SMALL, 0, 1), "until the name is free")
    c.ask("device_cordon", device="0")
    wait(shown(k, SMALL, 0), "a cordoned device offers nothing more")
    c.ask("device_uncordon", device="0")
    wait(shown(k, SMALL, 0, 1), "until it is in service again")
    c.close()


def agent_again(n, k):
    count = len(k.registered)
    box = n.join("k8s-half-0")
    grant = n.grant("k8s-half-0")["id"]
    n.kill()
    wait(lambda: not k.plugins[SMALL].devices, "kubelet sees that the agent is killed")
    n.start()
    wait(lambda: len(k.registered) == count + 2, "the next agent registers both")
    wait(shown(k, SMALL, 0, 1), "it adopts what it finds")
    wait(shown(k, HALF, 0), "and the container's grant")
    same(n.grant("k8s-half-0")["id"], grant, "which is untouched")
    n.box = box


def meted_again(n, k):
    count, lists = len(k.registered), k.plugins[SMALL].lists
    grant = n.grant("k8s-half-0")["id"]
    n.meted.kill()
    n.meted.start()
    same(k.plugins[SMALL].allocate("k8s-small-1")[4] != [], True, "Allocate reaches the next meted")
    same((n.grant("k8s-half-0")["id"], len(k.registered)), (grant, count), "nobody noticed that it was another")
    n.meted.kill()
    wait(lambda: k.plugins[SMALL].healthy() == [], "without a meted for some seconds nothing is healthy")
    ok(set(k.plugins[SMALL].devices) == set(ids("small", 0, 1)), "but the ids are still there")
    ok("no meted" in n.said() or "meted" in n.said().splitlines()[-1], "and the log says why", n.said())
    n.meted.start()
    wait(shown(k, SMALL, 0, 1), "with a meted they are healthy again")
    ok(k.plugins[SMALL].lists > lists, "kubelet was told by the same stream")


def other_meted(n, k):
    """A meted of another version, which speaks another protocol: nothing is offered, and it is said once."""
    grant = n.grant("k8s-half-0")["id"]
    n.meted.kill()
    path = os.path.join(n.meted.dir, "control.sock")
    if os.path.exists(path):
        os.unlink(path)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            for _ in self.rfile:
                self.wfile.write(json.dumps({"ok": True, "protocol": 2, "version": "9.9.9", "pid": os.getpid()}).encode() + b"\n")
    server = socketserver.ThreadingUnixStreamServer(path, Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    line = "this meted (9.9.9) speaks another protocol"
    wait(lambda: line in n.said(), "a meted of another version is named in the log, with its version")
    wait(lambda: k.plugins[SMALL].healthy() == [], "and nothing is healthy")
    code, said = k.plugins[SMALL].refused("k8s-small-0") or (None, "")
    ok(line in said, "Allocate is refused with the same line", code, said)
    ok(n.said().count(line) <= 3, "which does not fill the log", n.said())
    server.shutdown()
    server.server_close()
    os.unlink(path)
    n.meted.start()
    wait(shown(k, SMALL, 0, 1), "with ours they are healthy again")
    same(n.grant("k8s-half-0")["id"], grant, "and what was promised still is")


def kubelet_again(n, k):
    count = len(k.registered)
    k.end()
    for name in os.listdir(n.plugins_dir):
        os.unlink(os.path.join(n.plugins_dir, name))
    k.begin()
    wait(lambda: len(k.registered) == count + 2, "a new kubelet that emptied the folder gets both registered")
    wait(shown(k, SMALL, 0, 1), "with what is taken")
    k.end()
    shutil.rmtree(n.plugins_dir)
    time.sleep(0.3)  # the agent looks at a folder that is not there
    os.mkdir(n.plugins_dir)
    k.refuse = "not today"
    k.begin()
    wait(lambda: "not today" in n.said(), "a kubelet that refuses is named in the log, with its line")
    wait(lambda: k.refusals > 5 and n.said().count("not today") > 1, "it is asked again and again")
    same(n.said().count("not today"), 2, "which is said once for each share")
    k.refuse = None
    wait(lambda: {SMALL, HALF} <= set(k.plugins), "until it takes them")


def shares_change(n, k):
    c = n.meted.control()
    c.ask("grant_delete", name="k8s-small-0")
    c.close()
    n.write_shares("{")
    wait(lambda: "shares.json: line 1" in n.said(), "a broken shares.json is named, with the line")
    wait(shown(k, SMALL, 0, 1), "and changes nothing")
    n.write_shares([SHARES[1], {"name": "tiny", "mem": "2G", "device": "0,1"}])
    wait(lambda: "mete.io/tiny" in k.plugins, "a new share is registered")
    wait(shown(k, "mete.io/tiny", 0, 1), "two of two devices each fit, beside what is taken")
    wait(lambda: k.plugins[SMALL].devices == {}, "a share that is gone ends its stream")
    n.write_shares(SHARES)
    wait(shown(k, SMALL, 0, 1), "and comes back with what was taken")


def names(n, k):
    """Whose a grant is: kubelet says it from PreStartContainer on."""
    small = k.plugins[SMALL]
    said = "kubelet does not say whose"
    same(n.said().count(said), 2, "a kubelet without pod-resources is named once in the log of each of two agents")
    pods = kubelet.Pods(os.path.join(n.folder, "pods.sock"))
    c = n.meted.control()
    labels = lambda name: c.grant(name)["labels"]  # noqa: E731
    pods.pods = [("lab", "other", {"main": {}}), ("lab", "train-7", {"init": {"example.com/k8s-small-0": ["k8s-small-0"]},
                                                                     "main": {SMALL: ["k8s-small-0"]}})]
    small.allocate("k8s-small-0")
    small.call("PreStartContainer", kubelet.field(1, "k8s-small-0"))
    wait(lambda: labels("k8s-small-0") == {"container": "main", "pod": "train-7", "namespace": "lab"},
         "the grant has the labels namespace, pod and container")
    done = subprocess.run([METE, "ps", "--wide"], env={**n.meted.env, "METE_RUNTIME_DIR": n.meted.dir}, capture_output=True, text=True)
    ok("train-7/main" in done.stdout, "mete ps names them", done.stdout)
    ok('pod="train-7"' in c.ask("metrics")["text"], "and the metrics do")
    c.ask("grant_delete", name="k8s-small-0")
    pods.pods = [("lab", "train-8", {"main": {SMALL: ["k8s-small-0"]}})]
    small.allocate("k8s-small-0")
    wait(lambda: labels("k8s-small-0")["pod"] == "train-8", "the id's next pod is named anew, also without PreStartContainer")
    n.kill()
    c.ask("grant_delete", name="k8s-small-0")
    c.ask("grant_create", name="k8s-small-0", driver="soft", devices=[{"device": "0", "mem_bytes": 4 * GIB}], container={})
    n.start()
    wait(lambda: labels("k8s-small-0")["pod"] == "train-8", "an agent that begins names what has no name")
    pods.pods = []
    began = time.monotonic()
    wait(lambda: c.grant("k8s-small-0") is None, "a grant whose container never came, and whose pod is gone, ends")
    ok(10 < time.monotonic() - began, "but not at once: a kubelet that begins lists nothing yet", time.monotonic() - began)
    ok(c.grant("k8s-half-0"), "one that has a container stays")
    pods.pods = [("lab", "train-8", {"main": {SMALL: ["k8s-small-0"]}})]
    k.plugins[SMALL].allocate("k8s-small-0")
    box = n.join("k8s-small-0")
    wait(lambda: labels("k8s-small-0")["pod"] == "train-8", "the next one is named")
    n.end_container(n.box)
    wait(lambda: c.grant("k8s-half-0") is None, "now all have a name and a container")
    time.sleep(1)
    asked = pods.asked
    time.sleep(3)
    ok(pods.asked - asked <= 1, "then kubelet is not asked", pods.asked - asked)
    n.end_container(box)
    wait(lambda: c.grant("k8s-small-0") is None, "the container ends")
    k.plugins[SMALL].allocate("k8s-small-0")
    wait(lambda: labels("k8s-small-0")["pod"] == "train-8", "and the next is named")
    for what, pods.broken in (("nothing", b""), ("a message that ends too early", b"\x0a\x7f\x0a"), ("a number", b"\x08\x01"),
                              ("a name that is no label", kubelet.field(1, kubelet.field(1, "a b") + kubelet.field(
                                  2, "lab") + kubelet.field(3, kubelet.field(1, "c") + kubelet.field(
                                      2, kubelet.field(1, SMALL) + kubelet.field(2, "k8s-small-0")))))):
        before = pods.asked
        small = k.plugins[SMALL]
        wait(lambda: k.plugins[SMALL].devices, "the plugin is there")
        k.plugins[SMALL].call("PreStartContainer", kubelet.field(1, "k8s-small-0"))
        wait(lambda: pods.asked > before, f"{what}: kubelet is asked")
        ok(n.agent.poll() is None and labels("k8s-small-0")["pod"] == "train-8", f"{what}: changes nothing")
    wait(lambda: "has no labels" in n.said(), "what meted refuses stands in the log")
    pods.end()
    c.ask("grant_delete", name="k8s-small-0")
    c.close()


def raw(n, data, name="mete-small.sock"):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(os.path.join(n.plugins_dir, name))
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass
    except ConnectionError:
        pass
    finally:
        s.close()


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def malformed(n, k):
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
    for what, data in (("nothing", b""), ("HTTP/1.1", b"GET / HTTP/1.1\r\n\r\n"), ("half a preface", preface[:9]),
                       ("a frame of 16 MiB", preface + b"\xff\xff\xff\0\0\0\0\0\1"),
                       ("headers that are none", preface + frame(1, 5, 1, b"\xff" * 40)),
                       ("data of no stream", preface + frame(0, 1, 7, b"x" * 9)),
                       ("a stream of the server's number", preface + frame(1, 5, 2, b"\x82"))):
        raw(n, data)
        ok(n.agent.poll() is None, f"{what}: the agent lives")
    small = k.plugins[SMALL]
    for what, method, body, code in (
            ("an unknown method", "Nothing", b"", grpc.StatusCode.UNIMPLEMENTED),
            ("a message that ends too early", "Allocate", b"\x0a\x05\x0a\x01", grpc.StatusCode.INTERNAL),
            ("a group", "Allocate", b"\x0b", grpc.StatusCode.INTERNAL),
            ("a number without an end", "Allocate", b"\xff" * 11, grpc.StatusCode.INTERNAL),
            ("field 0", "Allocate", b"\x00\x00", grpc.StatusCode.INTERNAL),
            ("a text that is not UTF-8", "Allocate", kubelet.field(1, kubelet.field(1, b"\xff\xfe")), grpc.StatusCode.INTERNAL),
            ("a text with a zero", "Allocate", kubelet.field(1, kubelet.field(1, b"k8s-small-0\0x")), grpc.StatusCode.INTERNAL),
            ("a number where a message is due", "Allocate", b"\x08\x01", grpc.StatusCode.INTERNAL),
            ("five million bytes", "PreStartContainer", kubelet.field(9, b"x" * 5000000), grpc.StatusCode.RESOURCE_EXHAUSTED)):
        try:
            small.call(method, body)
            got = None
        except grpc.RpcError as e:
            got = e.code()
        same(got, code, f"{what} is refused")
    answer = small.call("GetDevicePluginOptions", kubelet.field(99, "later") + b"\x9d\x06\0\0\0\0" + b"\x99\x06" + b"\0" * 8)
    same(kubelet.fields(answer), {1: [1], 2: [1]}, "fields of a later protocol are skipped")
    compressed = grpc.insecure_channel("unix:" + small.path, compression=grpc.Compression.Gzip)
    try:
        compressed.unary_unary(kubelet.PLUGIN + "PreStartContainer")(kubelet.field(9, b"x" * 4096), timeout=20)
        got = None
    except grpc.RpcError as e:
        got = e.code()
    compressed.close()
    same(got, grpc.StatusCode.UNIMPLEMENTED, "a compressed request is refused")
    calls = [small.channel.unary_unary(kubelet.PLUGIN + "GetDevicePluginOptions").future(b"", timeout=60) for _ in range(200)]
    same({c.result() for c in calls}, {b"\x08\x01\x10\x01"}, "two hundred calls at once on one connection")


def twins(n, k):
    """A second agent for the same kubelet, as where the package and the chart are both installed."""
    count, first, log = len(k.registered), n.agent, n.said()
    with open(n.shares) as file:
        shares = len(json.load(file)["shares"])
    n.start()
    wait(lambda: n.said().count("another mete-agent serves there; end one of the two: this one waits") == shares, "a second agent says so, and waits")
    time.sleep(2.5)
    same((len(k.registered), n.said().count("registered with kubelet")), (count, log.count("registered with kubelet")), "nothing was registered again")
    ok(k.plugins[SMALL].healthy() and n.said().count("serves there") == shares, "kubelet has the ids of the first")
    n.kill(signal.SIGTERM)
    ok(k.plugins[SMALL].healthy() and os.path.exists(k.plugins[SMALL].path), "when the second ends, the first is not touched")
    n.start()
    wait(lambda: n.said().count("serves there") == 2 * shares, "another one")
    first.kill()
    first.wait()
    wait(lambda: len(k.registered) == count + shares, "when the first is killed, it takes over")
    wait(lambda: k.plugins[SMALL].healthy(), "and its ids are healthy")


def descriptors(n, k):
    """After all that no descriptor is left over but those of the two plugins."""
    count = lambda: len(os.listdir(f"/proc/{n.agent.pid}/fd"))  # noqa: E731
    ok(until(lambda: count() < 20, TRAILER), "no descriptor is left over", count())


def other_ways():
    """The field instead of the annotation; expiry; an old kubelet's :authority."""
    n = Node("--cdi", "field", "--expires", "1s")
    k = kubelet.Kubelet(n.plugins_dir, authority="/var/lib/kubelet/device-plugins/mete-small.sock")
    n.start()
    wait(shown(k, SMALL, 0, 1, 2, 3), "a kubelet before 1.26, which names a path as authority, is understood")
    answer = k.plugins[SMALL].allocate("k8s-small-2")
    same({f: [kubelet.text(v, 1) for v in values] for f, values in answer.items()}, {5: ["mete.io/grant=k8s-small-2"]},
         "--cdi field: the field, and no annotation")
    wait(lambda: n.grant("k8s-small-2") is None, "--expires: a grant whose container never came is gone")
    wait(shown(k, SMALL, 0, 1, 2, 3), "and its room is offered again")
    k.end()
    n.close()


def any_device():
    """A share that names no device is on whichever has room."""
    for word, homes in (("pack", [0, 0, 0]), ("spread", [0, 1, 0])):
        n = Node("--placement", word)
        n.write_shares([{"name": "small", "mem": "4G"}, {"name": "half", "mem": "8G"}])
        k = kubelet.Kubelet(n.plugins_dir)
        n.start()
        wait(shown(k, SMALL, *range(8)), f"{word}: both devices' room is offered")
        wait(shown(k, HALF, *range(4)), f"{word}: halves, too")
        for number in range(3):
            k.plugins[SMALL].allocate(f"k8s-small-{number}")
        same([n.grant(i)["devices"][0]["index"] for i in ids("small", 0, 1, 2)], homes, f"{word}: where three are")
        wait(shown(k, HALF, 0, 1), f"{word}: two halves fit still")
        for number in range(2):
            k.plugins[HALF].allocate(f"k8s-half-{number}")
        k.plugins[HALF].allocate("k8s-half-3")
        waits = pre_start(k.plugins[HALF], "k8s-half-3")
        ok(until(waits, TRAILER) and "no device of this node" in waits()[1], f"{word}: one more waits", waits())
        c = n.meted.control()
        c.ask("device_cordon", device="0")
        c.ask("device_cordon", device="1")
        c.close()
        code, line = k.plugins[HALF].refused("k8s-half-2") or (None, "")
        ok(code == grpc.StatusCode.RESOURCE_EXHAUSTED and "no device of this node" in line, f"{word}: without a device in service it is refused",
           code, line)
        k.end()
        n.close()


def checked(n):
    return subprocess.run(n.command("--check"), env=n.meted.env, capture_output=True, text=True)


def bad_input():
    """What an operator gets wrong before the agent begins: each has its line, and nothing is offered that cannot be given."""
    n = Node()
    n.meted.kill()
    n.write_shares("{ broken")
    k = kubelet.Kubelet(n.plugins_dir)
    k.refuse = "requested API version v1beta1 is not supported by kubelet. Supported version is [v2]"
    n.start()
    wait(lambda: "shares.json: line 1" in n.said(), "a shares.json that is broken when the agent begins is named, with the line")
    done = checked(n)
    ok(done.returncode == 1 and "missing  shares: " in done.stdout and "line 1" in done.stdout and "missing  meted: " in done.stdout and
       "systemctl start" in done.stdout, "--check says both: the file, and that there is no meted", done)
    n.write_shares("[" * 2000000)
    wait(lambda: "shares.json: it has more than 1 MiB" in n.said(), "one that no ConfigMap could hold is not even read: an agent that reads gives no shares")
    n.write_shares([{"name": f"s{i}", "mem": "1M"} for i in range(257)])
    wait(lambda: "shares.json: 257 shares; at most 256" in n.said(), "nor are more shares taken than a kubelet could be offered")
    n.write_shares([SHARES[0], {"name": "huge", "mem": "99G"}, {"name": "here", "mem": "99G", "device": "1"}])
    wait(lambda: n.said().count("no meted serves in") == 1, "an agent without a meted says so, with the remedy")
    wait(lambda: k.refusals > 8, "it is registered all the same, so that a kubelet that has the shares' ids learns that none can be given")
    wait(lambda: n.said().count("v1beta1 is not supported by kubelet") == 3, "a kubelet that speaks another version is named with its line, once a share")
    same(k.plugins, {}, "and knows no share")
    n.meted.start()
    k.refuse = None
    wait(shown(k, SMALL, 0, 1, 2, 3), "what was right is offered when all three are")
    for name, whose in (("huge", "any device"), ("here", "device 1")):
        line = f"share {name}: --mem 99G: more than {whose} has (16 GiB)"
        wait(lambda line=line: line in n.said(), f"a share that is larger than {whose} is named with both figures")
        same(k.plugins["mete.io/" + name].healthy(), [], "and none of it is offered")
        ok(any(text.startswith(f"missing  mete.io/{name}: ") and line in text for text in checked(n).stdout.splitlines()), "--check says it, too",
           checked(n).stdout)
    k.end()
    n.close()
    n = Node(METE_SOFT_MEMORY="8G,16G")
    n.write_shares([{"name": "big", "mem": "12G"}, {"name": "small", "mem": "4G"}])
    k = kubelet.Kubelet(n.plugins_dir)
    n.start()
    wait(shown(k, "mete.io/big", 0), "a share that is larger than the first card is offered on the one that has it")
    wait(shown(k, SMALL, *range(6)), "smaller ones on both")
    k.plugins["mete.io/big"].allocate("k8s-big-0")
    same(n.grant("k8s-big-0")["devices"][0]["index"], 1, "where it then is")
    wait(shown(k, SMALL, 0, 1, 2), "as what is left says")
    k.end()
    n.close()


def counted():
    """Shares with a number: where all fit together, none takes an id from another."""
    n = Node()
    n.write_shares([{"name": "small", "mem": "4G", "device": "0", "count": 0}])
    k = kubelet.Kubelet(n.plugins_dir)
    n.start()
    wait(lambda: 'share small: "count": give it a number from 1 to 256' in n.said(), "a number that is none is named")
    n.write_shares([{"name": "small", "mem": "4G", "device": "0", "count": 2}, {"name": "half", "mem": "8G", "device": "0", "count": 1}])
    wait(lambda: {SMALL, HALF} <= set(k.plugins), "with others they are registered")
    wait(shown(k, SMALL, 0, 1), "two of four are offered")
    wait(shown(k, HALF, 0), "and one of two halves")
    time.sleep(0.5)
    lists = {r: p.lists for r, p in k.plugins.items()}
    k.plugins[HALF].allocate("k8s-half-0")
    k.plugins[SMALL].allocate("k8s-small-0")
    k.plugins[SMALL].allocate("k8s-small-1")
    time.sleep(1)
    same(({r: p.lists for r, p in k.plugins.items()}, k.plugins[SMALL].healthy(), k.plugins[HALF].healthy()), (lists, ids("small", 0, 1), ids("half", 0)),
         "when all are taken kubelet has been told of no other list")
    n.write_shares([{"name": "small", "mem": "4G", "device": "0", "count": 1}, {"name": "half", "mem": "8G", "device": "0"}])
    time.sleep(1)
    same((k.plugins[SMALL].healthy(), k.plugins[HALF].healthy()), (ids("small", 0, 1), ids("half", 0)), "a lower number takes nothing from those who have it")
    c = n.meted.control()
    for name in ("k8s-small-0", "k8s-small-1"):
        c.ask("grant_delete", name=name)
    c.close()
    wait(shown(k, SMALL, 0), "then it holds")
    k.end()
    n.close()


def boots():
    """The machine is switched off and on: /run and its CDI files are gone, the state is there, and kubelet asks for none anew."""
    state = tempfile.mkdtemp(prefix="mete-k-", dir="/tmp")
    n = Node(meted=("--state-dir", state))
    k = kubelet.Kubelet(n.plugins_dir)
    n.start()
    wait(shown(k, SMALL, 0, 1, 2, 3), "a node before it is switched off")
    for i in range(2):
        k.plugins[SMALL].allocate(f"k8s-small-{i}")
    box = n.join("k8s-small-0")
    n.kill()
    n.meted.kill()
    k.end()
    n.end_container(box)
    for folder in (n.meted.dir, n.cdi):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    n.meted.start()
    n.start()
    k.begin()
    wait(lambda: SMALL in k.plugins and k.plugins[SMALL].healthy(), "and after it is on again")
    for i, what in enumerate(("one that had its container", "one whose container had not come")):
        answered = until(pre_start(k.plugins[SMALL], f"k8s-small-{i}"), TRAILER)
        same(answered and answered[0], grpc.StatusCode.OK, f"{what} may begin")
        row = n.grant(f"k8s-small-{i}")
        same(row and row["devices"][0]["quota_bytes"], 4 * GIB, "with its grant")
        ok(os.path.exists(os.path.join(n.cdi, f"mete.io-grant-k8s-small-{i}.json")), "its CDI file", os.listdir(n.cdi), n.said())
        ok(row and os.path.isdir(os.path.dirname(row["socket"])), "and its folder", row)
    ok(until(lambda: "no container has taken it 30 s after kubelet began one; has the container runtime CDI" in n.said(), 30 + TRAILER),
       "a container that does not take its share, as with a runtime without CDI, is said", n.said()[-500:])
    for i in range(2):
        n.join(f"k8s-small-{i}")
    wait(lambda: "containers take their shares" in n.said(), "and that it is over")
    k.end()
    n.close()
    shutil.rmtree(state, ignore_errors=True)


def many_shares(mem, what):
    """Two hundred shares, each a resource with as many ids as fit; how soon Allocate is answered while their lists are computed and sent."""
    n = Node()
    n.write_shares([{"name": f"s{i}", "mem": f"{mem + i % 2}M"} for i in range(200)])
    n.start()
    caller, took = kubelet.Caller(), []
    if LONG:
        os.nice(15)  # this process, the stand-in, has four hundred threads that read lists; they are not what is measured
    k = kubelet.Kubelet(n.plugins_dir)
    wait(lambda: len(k.plugins) == 200 and all(p.lists for p in k.plugins.values()), f"{what}: two hundred shares are registered")
    for i in range(0, 200, 5):
        caller.meet(k.plugins[f"mete.io/s{i}"])
    for i in range(0, 200, 5):
        took.append(caller.allocate(k.plugins[f"mete.io/s{i}"], f"k8s-s{i}-0") or float("inf"))
        time.sleep(0.1)  # the lists of all of them are computed meanwhile; kubelet reads them
    caller.end()
    took.sort()
    median, late = took[len(took) // 2], took[-len(took) // 20]
    with open(f"/proc/{n.agent.pid}/status") as file:
        kib = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
    print(f"# 200 shares, {what}, {len(took)} Allocates: median {median:.1f} ms, 95 % {late:.1f} ms; agent {kib / 1024:.1f} MiB", flush=True)
    ok(median <= (20 if LONG else 500) * harness.PATIENCE, f"{what}: Allocate is answered soon", took)
    ok(late <= (20 if LONG else 2000) * harness.PATIENCE, f"{what}: 95 of a hundred times", took)
    ok(harness.SANITIZED or kib <= 30 * 1024, f"{what}: the agent needs 30 MiB at most", kib)
    newest = [p for i, p in ((i, k.plugins[f"mete.io/s{i}"]) for i in range(200)) if i % 5]
    left = 2 * (16 * 1024 // mem) - len(took)
    wait(lambda: all(abs(len(p.healthy()) - min(256, left)) <= 4 for p in newest[:20]), f"{what}: the lists are those of what is left")
    k.end()
    n.close()
    if LONG:
        os.nice(-15)


for part in (bad_input, counted, boots):
    if part.__name__ in sys.argv[2:]:
        part()
        finish()
if "many_shares" in sys.argv[2:]:
    many_shares(32, "room for all")
    many_shares(200, "each takes room of all")
    finish()
beside = harness.Beside(other_ways, bad_input, counted, any_device, boots)
node = Node()
command_line(node)
node.start()
stand_in = kubelet.Kubelet(node.plugins_dir)
for part in (registers, allocates, owes, prefers, frees, outside, agent_again, meted_again, other_meted, kubelet_again, shares_change, names, malformed,
             twins, descriptors):
    part(node, stand_in)
stand_in.end()
node.close()
beside.end()
many_shares(32, "room for all")
many_shares(200, "each takes room of all")
finish()
