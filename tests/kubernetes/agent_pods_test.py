"""What pods of newer kubelets ask of mete-agent, and what a share may say: agent_pods_test.py BUILD_ROOT [PART...]"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import kubelet  # noqa: E402
from agent_node import HALF, SMALL, TRAILER, Node, grpc, ids, pre_start, shown, wait  # noqa: E402
from harness import GIB, finish, ok, same, until  # noqa: E402
from tracer import STEP, Tracer, may_trace  # noqa: E402

OK = grpc.StatusCode.OK


def begins(n, k, i):
    """A container with this id begins; its first process."""
    share = "mete.io/" + i.split("-")[1]
    answer = until(pre_start(k.plugins[share], i), TRAILER)
    ok(answer and answer[0] == OK, f"{i}: the container may begin", answer)
    return n.join(i)


def quota(n, i):
    row = n.grant(i)
    return row and row["devices"][0]["quota_bytes"]


def sidecars():
    """
    As kubelet 1.28 and later does with init containers that stay: when the pod is admitted it asks for all its containers,
    in their order. A plain init container's ids are used again by what follows, a sidecar's are not: it runs beside them,
    may begin again by itself, and ends last. pod-resources lists it.
    """
    n = Node()
    k = kubelet.Kubelet(n.plugins_dir)
    pods = kubelet.Pods(os.path.join(n.folder, "pods.sock"))
    n.start()
    wait(shown(k, SMALL, 0, 1, 2, 3), "a node with room for four")
    small = k.plugins[SMALL]
    pods.pods = [("lab", "serve", {"proxy": {SMALL: ["k8s-small-0"]}, "main": {SMALL: ["k8s-small-1"]}})]
    for what, i in (("the sidecar", "k8s-small-0"), ("the plain init container", "k8s-small-1"), ("the main container, with its id", "k8s-small-1")):
        ok(small.allocate(i)[4], f"at admission kubelet asks for {what}")
    proxy = begins(n, k, "k8s-small-0")
    setup = begins(n, k, "k8s-small-1")
    same([quota(n, i) for i in ids("small", 0, 1)], [4 * GIB] * 2, "the sidecar and the init container have a share each, at the same time")
    n.end_container(setup)
    main = begins(n, k, "k8s-small-1")
    wait(lambda: [n.grant(i)["labels"].get("container") for i in ids("small", 0, 1)] == ["proxy", "main"], "both grants have their container's name")
    first = n.grant("k8s-small-1")["id"]
    n.end_container(proxy)
    proxy = begins(n, k, "k8s-small-0")
    same((quota(n, "k8s-small-0"), n.grant("k8s-small-1")["id"]), (4 * GIB, first),
         "a sidecar that begins again has its whole share, and the main container's is as it was")
    sidecar = n.grant("k8s-small-0")["id"]
    n.kill()
    n.start()
    wait(lambda: k.plugins[SMALL] is not small and k.plugins[SMALL].healthy() == ids("small", 0, 1, 2, 3), "the next agent finds both")
    n.end_container(main)
    main = begins(n, k, "k8s-small-1")
    same((quota(n, "k8s-small-1"), n.grant("k8s-small-0")["id"]), (4 * GIB, sidecar), "so has the main container, beside a sidecar that runs on")
    n.end_container(main)
    wait(lambda: n.grant("k8s-small-1") is None, "the main container ends first")
    same(n.grant("k8s-small-0")["id"], sidecar, "the sidecar still has its share")
    n.end_container(proxy)
    pods.pods = []
    wait(lambda: n.grant("k8s-small-0") is None, "and ends last")
    wait(shown(k, SMALL, 0, 1, 2, 3), "nothing is left")
    pods.end()
    k.end()
    n.close()


def resizes():
    """`mete set` on a pod's share: what is promised decides at once what kubelet is offered; a container that begins again has its share's size."""
    n = Node()
    k = kubelet.Kubelet(n.plugins_dir)
    n.start()
    wait(shown(k, SMALL, 0, 1, 2, 3), "a node with room for four")
    wait(shown(k, HALF, 0, 1), "or for two halves")
    k.plugins[SMALL].allocate("k8s-small-0")
    box = begins(n, k, "k8s-small-0")
    c = n.meted.control()
    change = lambda gib: c.ask("grant_set", name="k8s-small-0", devices=[{"device": "0", "mem_bytes": gib * GIB}])  # noqa: E731
    ok(change(9)["ok"], "the share is made larger while it runs")
    wait(shown(k, HALF), "no half fits any more")
    wait(shown(k, SMALL, 0, 1), "and one more of its own kind")
    ok(change(1)["ok"], "it is made smaller")
    wait(shown(k, SMALL, 0, 1, 2, 3), "what it gave up is offered, as far as its time allows")
    wait(shown(k, HALF, 0), "to others too")
    line = change(17)
    ok(not line["ok"] and quota(n, "k8s-small-0") == GIB, "more than the device has is refused, and nothing changes", line)
    n.end_container(box)
    box = begins(n, k, "k8s-small-0")
    same(quota(n, "k8s-small-0"), 4 * GIB, "a container that begins again has its share's own size")
    n.end_container(box)
    c.close()
    k.end()
    n.close()


def spills():
    """ "spill" in shares.json: the quota promises nothing of the device, what stays does."""
    n = Node()
    n.write_shares([{"name": "lent", "mem": "12G", "spill": True, "device": "0", "count": 5},
                    {"name": "kept", "mem": "12G", "spill": True, "resident": "6G", "device": "0"},
                    {"name": "half", "mem": "8G", "device": "0"}])
    k = kubelet.Kubelet(n.plugins_dir)
    n.start()
    wait(shown(k, "mete.io/lent", *range(5)), "five times three quarters of a device, as many as its number says")
    wait(shown(k, "mete.io/kept", 0, 1), "of which 6 GiB stay: two")
    wait(shown(k, HALF, 0, 1), "and two that promise all they have")
    for i in ids("lent", 0, 1):
        k.plugins["mete.io/lent"].allocate(i)
        n.join(i)
    k.plugins["mete.io/kept"].allocate("k8s-kept-0")
    same([(r["spill"], r["resident_bytes"]) for r in map(n.grant, ("k8s-lent-0", "k8s-kept-0"))], [(True, 0), (True, 6 * GIB)],
         "the grants are lent, and keep what the share says")
    with open(os.path.join(os.path.dirname(n.grant("k8s-lent-0")["socket"]), "settings")) as file:
        ok("METE_SPILL=1" in file.read().split(), "their programs are told that their memory may leave")
    wait(shown(k, HALF, 0), "beside them what promises its memory fits as far as 6 GiB are not in the way")
    wait(shown(k, "mete.io/lent", *range(5)), "and all that promise none")
    same(quota(n, "k8s-lent-1"), 12 * GIB, "each has its whole quota")
    n.write_shares([{"name": "lent", "mem": "12G", "resident": "1G", "device": "0"}, {"name": "half", "mem": "8G", "device": "0"}])
    wait(lambda: "share lent: " in n.said() and "--resident" in n.said(), "what stays of memory that cannot leave is named")
    k.end()
    n.close()


class FullNode(Node):
    """The folder of CDI files has room for two."""

    def command(self, *more):
        return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=8k none {self.cdi} && exec "$0" "$@"', *super().command(*more)]


def full():
    """No room in the folder of CDI files: the container waits with that line, and begins when there is some."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        print("# no mounts of our own here: no folder is full")
        return
    n = FullNode()
    k = kubelet.Kubelet(n.plugins_dir)
    n.start()
    wait(shown(k, SMALL, 0, 1, 2, 3), "a node with room for four")
    for i in ids("small", 0, 1, 2):
        k.plugins[SMALL].allocate(i)
    folder = f"/proc/{n.agent.pid}/root{n.cdi}"
    same(sorted(os.listdir(folder)), [f"mete.io-grant-k8s-small-{i}.json" for i in (0, 1)], "two files fit, and nothing of a third is left")
    waits = pre_start(k.plugins[SMALL], "k8s-small-2")
    ok(until(waits, TRAILER) and "No space left on device; make room there" in waits()[1], "the container waits, with the reason", waits())
    ok("k8s-small-2 is owed, its container waits: " in n.said() and n.said().count("No space left") < 4, "which the log has, too, and not again and again",
       n.said()[-600:])
    os.unlink(os.path.join(folder, "mete.io-grant-k8s-small-0.json"))
    box = begins(n, k, "k8s-small-2")
    ok("mete.io-grant-k8s-small-2.json" in os.listdir(folder), "with room it begins, with its file", os.listdir(folder))
    n.end_container(box)
    k.end()
    n.close()


def whole(n, k, what):
    """All is as if the agent had never been killed: four ids, and no file but those of grants that there are."""
    wait(lambda: n.grant("k8s-small-0") is None and not os.listdir(n.cdi), f"{what}: nothing is left")
    wait(lambda: SMALL in k.plugins and k.plugins[SMALL].healthy() == ids("small", 0, 1, 2, 3), f"{what}: all ids are there")


def points():
    """The agent, and then meted, is killed at every call that it makes while a container is allocated and begins."""
    if not may_trace():
        return
    state = tempfile.mkdtemp(prefix="mete-k-", dir="/tmp")
    for whose, step in (("the agent", STEP), ("meted", STEP)):
        n = Node(meted=("--state-dir", state))
        k = kubelet.Kubelet(n.plugins_dir)
        n.start()
        wait(shown(k, SMALL, 0, 1, 2, 3), f"{whose}: a node with room for four")
        at, killed = 1, True
        while killed and at < 1000:
            killed = killed_at(n, k, whose, at)
            at += step
        ok(at > step + 1 and not killed, f"{whose} was killed at each {step}. of its calls, {at - step} of them")
        k.end()
        n.close()
    shutil.rmtree(state, ignore_errors=True)


def killed_at(n, k, whose, at):
    """Value: whether it was killed."""
    what = f"{whose} killed at call {at}"
    agent = whose == "the agent"
    tracer = Tracer(n.agent.pid if agent else n.meted.process.pid, at)
    refused = k.plugins[SMALL].refused("k8s-small-0")
    process = n.agent if agent else n.meted.process
    killed = tracer.killed(process)
    if killed and agent:
        process.wait()
        count = len(k.registered)
        n.start()
        wait(lambda: len(k.registered) > count + 1, f"{what}: the next one registers")
    elif killed:
        n.meted.kill()
        n.meted.start()
        wait(lambda: k.plugins[SMALL].healthy(), f"{what}: the next one is found")
    if refused:
        ok(killed, f"{what}: kubelet is told so, and nothing else is refused", refused)
        wait(lambda: k.plugins[SMALL].refused("k8s-small-0") is None, f"{what}: kubelet has its share at its next try")
    box = begins(n, k, "k8s-small-0")
    same((quota(n, "k8s-small-0"), os.listdir(n.cdi)), (4 * GIB, ["mete.io-grant-k8s-small-0.json"]), f"{what}: a whole grant, with its file")
    n.end_container(box)
    whole(n, k, what)
    return killed


PARTS = (sidecars, resizes, spills, full, points)
for part in PARTS:
    if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
        part()
finish()
