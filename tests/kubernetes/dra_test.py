"""The DRA driver of mete-agent: slices for the scheduler, claims for kubelet: dra_test.py BUILD_ROOT [PART... | crowded]"""
import contextlib
import copy
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import kubelet  # noqa: E402
from harness import GIB, finish, ok, same, until  # noqa: E402

from certificates import make_ended  # noqa: E402
from dra_node import AGENT, DRIVER, TRAILER, Node, kubeconfig, wait  # noqa: E402
from tracer import STEP, Tracer, may_trace  # noqa: E402

MIB = 1 << 20
AWAY = 600 if os.environ.get("METE_TEST_LONG") else 12  # seconds that an API server is away
PARAMETERS = {"apiVersion": "gpu.mete.io/v1", "kind": "Share"}


def config(parameters, requests=(), source="FromClaim", driver=DRIVER):
    return {"source": source, "requests": list(requests), "opaque": {"driver": driver, "parameters": parameters}}


def share(**words):
    return {**PARAMETERS, **words}


def registers(n):
    info = n.driver.register()
    same((info[1], info[2]), (["DRAPlugin"], [DRIVER]), "GetInfo: type and name")
    ok({"v1.DRAPlugin", "v1beta1.DRAPlugin"} <= set(info[4]) and os.path.isabs(info[3][0]) and os.path.exists(info[3][0]),
       "both versions, and the socket's absolute path", info)
    wait(lambda: "kubelet takes the driver" in n.said(), "a registration is said")
    n.driver.register(False, "no handler registered for plugin type: DRAPlugin")
    wait(lambda: "no handler registered" in n.said(), "and a refusal, with kubelet's own line")
    n.driver.register()


def publishes(n):
    wait(lambda: len(n.devices()) == 2, "both devices are published")
    s = n.slices()[0]
    same((s["apiVersion"], s["spec"]["driver"], s["spec"]["nodeName"], s["spec"]["pool"]["name"]),
         ("resource.k8s.io/v1", DRIVER, "n1", "n1"), "by driver and node, in a pool of the node's name")
    same((s["spec"]["pool"]["resourceSliceCount"], s["metadata"]["ownerReferences"][0]["uid"]), (1, "node-uid"),
         "in one slice, which goes with the node")
    rows = n.ask("devices", known=True)["devices"]
    n.names = [r["uuid"].lower() for r in rows]
    same(sorted(n.devices()), sorted(n.names), "a device is named by its UUID")
    d = n.devices()[n.names[0]]
    same(d["capacity"]["memory"], {"value": "16Gi", "requestPolicy": {"default": "16Gi", "validRange": {"min": "1Mi", "step": "1Mi"}}},
         "memory, in steps of 1 MiB, and whole where nothing is asked for")
    same(d["capacity"]["cores"], {"value": "100", "requestPolicy": {"default": "0", "validRange": {"min": "0", "step": "1"}}},
         "time, in whole percent, and none where nothing is asked for")
    a = d["attributes"]
    same((d["allowMultipleAllocations"], a["uuid"], a["model"], a["driver"], a["index"], a["memoryEnforced"], a["timeEnforced"]),
         (True, {"string": rows[0]["uuid"]}, {"string": rows[0]["name"][:64]}, {"string": "soft"}, {"int": 0}, {"bool": True}, {"bool": True}),
         "shared by many, with attributes")
    ok(all(set(v) <= {"string", "int", "bool", "version"} and len(v) == 1 for v in a.values()), "of the API's kinds", a)


def prepares(n):
    claim = n.claim("a", [("gpu", 0, {"memory": "4Gi", "cores": "25"})])
    name = "dra-" + claim[1]
    expected = [(["gpu"], "n1", n.names[0], ["mete.io/grant=" + name])]
    same(n.prepared(claim), expected, "a claim is prepared: request, pool, device, CDI device")
    row = n.grants()[name]
    same((row["devices"][0]["quota_bytes"], row["devices"][0]["cores"], row["container"]["keep"], row["expires"]),
         (4 * GIB, 25, True, None), "its grant has what was consumed, and stays until it is given back")
    same((row["labels"]["namespace"], row["labels"]["pod"]), ("ns", "a-pod"), "and names the pod")
    same(n.files(), [f"mete.io-grant-{name}.json"], "its CDI file is there")
    with open(os.path.join(n.cdi, n.files()[0])) as file:
        spec = json.load(file)
    same((spec["kind"], spec["devices"][0]["name"]), ("mete.io/grant", name), "and names it")
    same((n.prepared(claim), n.grants()[name]["id"]), (expected, row["id"]), "a second time nothing is made anew")
    os.unlink(os.path.join(n.cdi, n.files()[0]))
    same((n.prepared(claim), n.files(), n.grants()[name]["devices"][0]["quota_bytes"]),
         (expected, [f"mete.io-grant-{name}.json"], 4 * GIB), "a CDI file that is gone is written again, with the same share")
    n.driver.version = "v1beta1"
    same(n.prepared(claim), expected, "a kubelet of v1beta1 is answered alike")
    odd = n.claim("odd", [("gpu", 1, {"memory": str(123 * 512), "cores": "12500m"})])
    same(n.prepared(odd)[0][2], n.names[1], "an amount that is no round number")
    row = n.grants()["dra-" + odd[1]]["devices"][0]
    same((row["quota_bytes"], row["cores"]), (123 * 512, 12.5), "is held to the byte, and to the thousandth")
    n.driver.version = "v1"
    same(n.memory(), ["16Gi", "16Gi"], "what claims take is not subtracted: the scheduler does that")
    same(n.unprepared(claim, odd), {claim[1]: "", odd[1]: ""}, "both are given back at once")
    same((n.grants(), n.files()), ({}, []), "nothing is left")
    same(n.unprepared(claim), {claim[1]: ""}, "a second time too")
    same(n.unprepared(("ns", "never-was", "x")), {"never-was": ""}, "and one that never was")


def many_requests(n):
    claim = n.claim("m", [("one", 0, {"memory": "1Gi", "cores": "10"}), ("two", 1, {"memory": "2Gi"}),
                          ("more", 0, {"gpu.mete.io/memory": "512Mi", "cores": "5"})])
    answer = n.prepared(claim)
    same([(d[0], d[2]) for d in answer], [(["one"], n.names[0]), (["two"], n.names[1]), (["more"], n.names[0])],
         "three requests on two devices")
    row = n.grants()["dra-" + claim[1]]
    same({d["uuid"].lower(): (d["quota_bytes"], d["cores"]) for d in row["devices"]},
         {n.names[0]: (GIB + 512 * MIB, 15), n.names[1]: (2 * GIB, None)}, "one grant; a device that is there twice holds the sum")
    whole = n.claim("whole", [("gpu", 1, None)])
    n.unprepared(claim)
    n.prepared(whole)
    same(n.grants()["dra-" + whole[1]]["devices"][0]["quota_bytes"], 16 * GIB,
         "without consumedCapacity, in a cluster that counts none: all of the device")
    n.unprepared(whole)
    claims = [n.claim(f"q{i}", [("gpu", 0, {"memory": "64Mi"})]) for i in range(20)]
    answer = n.driver.prepare(*claims)
    ok(sorted(answer) == sorted(c[1] for c in claims) and not any(isinstance(a, str) for a in answer.values()),
       "twenty claims in one call, each with its entry", answer)
    same(set(n.unprepared(*claims).values()), {""}, "and given back in one")
    same(n.driver.prepare(), {}, "a call without claims")


def parameters(n):
    consumed = {"memory": "1Gi", "cores": "10"}
    claim = n.claim("p", [("gpu", 0, consumed), ("other", 1, consumed)], [
        config(share(policy="burst", weight=300, **{"class": "high"}), source="FromClass"),
        config(share(weight=50, coresLimit=60), ["gpu"]),
        config({"kind": "GpuConfig"}, driver="gpu.nvidia.com")])
    answer = n.prepared(claim)
    ok(isinstance(answer, list), "parameters of class and claim; those of another driver are not ours", answer)
    rows = {d["uuid"].lower(): d for d in n.grants()["dra-" + claim[1]]["devices"]}
    same([(rows[n.names[i]]["policy"], rows[n.names[i]]["weight"], rows[n.names[i]]["class"], rows[n.names[i]]["cores_limit"])
          for i in (0, 1)], [("burst", 50, "high", 60), ("burst", 300, "high", 100)],
         "the claim's come over the class's, for the request that they name")
    n.unprepared(claim)
    walled = n.claim("w", [("gpu/first", 0, consumed)], [config(share(wall=True), ["gpu"])])
    ok(isinstance(n.prepared(walled), list) and n.grants()["dra-" + walled[1]]["wall"], "wall, for an alternative of the request")
    n.unprepared(walled)
    mixed = n.claim("mixed", [("gpu", 0, consumed), ("other", 1, consumed)], [config(share(wall=True), ["gpu"])])
    line = n.prepared(mixed)
    ok(isinstance(line, str) and "wall holds for a whole claim" in line, "a wall before one of two devices is refused", line)
    for what, words, said in (
            ("an unknown parameter", share(colour="red"), 'parameter "colour" is unknown; there are coresLimit, policy, class'),
            ("one whose name is cut within a letter", share(**{"x" + "\u00e4" * 40: 1}), "is unknown; there are"),
            ("another kind", {**PARAMETERS, "kind": "GpuConfig"}, "reads kind Share of apiVersion gpu.mete.io/v1"),
            ("another version", {**PARAMETERS, "apiVersion": "gpu.mete.io/v9"}, "gpu.mete.io/v9"),
            ("no kind", {"weight": 3}, "kind Share"),
            ("a text for a number", share(weight="3"), "parameter weight: give a number"),
            ("a number for a flag", share(wall=1), "parameter wall: give true or false"),
            ("class high from a claim", share(**{"class": "high"}), "only a DeviceClass"),
            ("tier T3", share(tier="T3"), "containers have tier T2"),
            ("remote", share(remote="gpuserver"), "one of its own node"),
            ("a policy that is none", share(policy="best"), "best"),
            ("a weight that is none", share(weight=0), "weight"),
            ("a word that the policy does not use", share(policy="fair"), "--cores")):
        bad = n.claim("bad", [("gpu", 0, consumed)], [config(words)])
        line = n.prepared(bad)
        ok(isinstance(line, str) and said in line, f"{what} is refused", line)
    same((n.grants(), n.files()), ({}, []), "and nothing is left of them")


def bad_claims(n):
    good = {"request": "gpu", "driver": DRIVER, "pool": "n1", "device": n.names[0], "consumedCapacity": {"memory": "1Gi"}}
    for what, results, said in (
            ("another driver's claim", [{**good, "driver": "gpu.nvidia.com"}], "nothing of it belongs to driver gpu.mete.io"),
            ("another node's", [{**good, "pool": "n2"}], "of pool n2; this is n1"),
            ("a device that is gone", [{**good, "device": "gpu-x"}], "is not there any more"),
            ("no multiple of 512", [{**good, "consumedCapacity": {"memory": "1000"}}], "not a multiple of 512"),
            ("half a byte", [{**good, "consumedCapacity": {"memory": "512500m"}}], "not a multiple"),
            ("no memory", [{**good, "consumedCapacity": {"memory": "0"}}], "not a multiple"),
            ("no quantity", [{**good, "consumedCapacity": {"memory": "1GB"}}], '"1GB"'),
            ("less than nothing", [{**good, "consumedCapacity": {"memory": "-1Gi"}}], '"-1Gi"'),
            ("more time than there is", [{**good, "consumedCapacity": {"cores": "101"}}], "from 1 to 100"),
            ("half a percent", [{**good, "consumedCapacity": {"cores": "500m"}}], "from 1 to 100"),
            ("another capacity", [{**good, "consumedCapacity": {"slots": "1"}}], '"slots"'),
            ("more than the device has", [{**good, "consumedCapacity": {"memory": "17Gi"}}], "ask for less"),
            ("memory whose sum is no number", [{**good, "consumedCapacity": {"memory": str(2**63 - 512)}}] * 2, "more memory than any device"),
            ("time twice too much", [{**good, "consumedCapacity": {"cores": "60"}}, {**good, "consumedCapacity": {"cores": "60"}}],
             "cores")):
        line = n.prepared(n.claim("bad", results))
        ok(isinstance(line, str) and said in line, f"{what} is refused", line)
    pending = n.claim("pending", [])
    n.api.put("ns/resourceclaims", {"metadata": {"name": "pending", "namespace": "ns", "uid": pending[1]}, "status": {}})
    ok("no device is allocated" in n.prepared(pending), "a claim without an allocation is refused")
    claim = n.claim("again", [("gpu", 0, {"memory": "1Gi"})])
    ok("has UID" in n.prepared(("ns", "11111111-old", "again")), "a claim that was made anew is not the one that kubelet means")
    ok("is not there any more" in n.prepared(("ns", "1", "nowhere")), "a claim that is not there")
    for words in (("../x", "1", "again"), ("ns", "1", "a/../../secrets"), ("ns", "../../x", "again"), ("", "", "")):
        answer = n.driver.prepare(words)
        ok("no such words" in list(answer.values())[0], f"{words} names no claim", answer)
    ok(not n.api.asked("GET", "secrets"), "and nothing was asked for it")
    mixed = n.driver.prepare(claim, ("ns", "1", "nowhere"))
    ok(isinstance(mixed[claim[1]], list) and isinstance(mixed["1"], str), "a bad claim beside a good one: each has its entry", mixed)
    n.unprepared(claim)
    same((n.grants(), n.files()), ({}, []), "and nothing is left")


def admin_access(n):
    result = {"request": "watch", "driver": DRIVER, "pool": "n1", "device": n.names[0], "adminAccess": True}
    claim = n.claim("admin", [result])
    answer = n.prepared(claim)
    same(answer[0][3], ["mete.io/admin=dra-" + claim[1]], "admin access gets a CDI device of its own")
    same(n.grants(), {}, "and takes nothing of the device")
    with open(os.path.join(n.cdi, f"mete.io-admin-dra-{claim[1]}.json")) as file:
        mounts = json.load(file)["devices"][0]["containerEdits"]["mounts"]
    same([(m["hostPath"], m["containerPath"]) for m in mounts], [(n.meted.dir, "/run/mete-admin")], "but meted's folder")
    n.unprepared(claim)
    same(n.files(), [], "which is taken back")
    both = n.claim("both", [result, ("gpu", 0, {"memory": "1Gi"})])
    answer = n.prepared(both)
    same([sorted(i.split("=")[0] for i in d[3]) for d in answer], [["mete.io/admin", "mete.io/grant"]] * 2, "a share beside it")
    n.unprepared(both)
    same((n.grants(), n.files()), ({}, []), "is given back with it")


def outside(n):
    """What others promise, the scheduler must not; kubelet's device plugin above all."""
    claim = n.claim("held", [("gpu", 0, {"memory": "4Gi", "cores": "25"})])
    n.prepared(claim)
    before = n.slices()[0]["spec"]["pool"]["generation"]
    n.ask("grant_create", name="other", driver="soft", devices=[{"device": "0", "mem_bytes": 3 * GIB + 512, "cores": 30.5}])
    wait(lambda: n.devices()[n.names[0]]["capacity"]["memory"]["value"] == "13311Mi", "a promise outside is subtracted, rounded down")
    d = n.devices()[n.names[0]]["capacity"]
    same((d["memory"]["requestPolicy"]["default"], d["cores"]["value"]), ("13311Mi", "69"), "its time too")
    ok(n.slices()[0]["spec"]["pool"]["generation"] > before, "in a pool of the next generation")
    too_much = n.claim("late", [("gpu", 0, {"memory": "10Gi"})])
    line = n.prepared(too_much)
    ok("not promised" in line, "a claim that somebody came before is refused, with meted's line", line)
    n.ask("grant_delete", name="other")
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "what is given back is offered again")
    same(n.prepared(too_much)[0][2], n.names[0], "and the claim is prepared at kubelet's next try")
    n.unprepared(too_much)
    stand_in = kubelet.Kubelet(os.path.join(n.root, "device-plugins"))
    small = lambda: stand_in.plugins["mete.io/small"]  # noqa: E731
    wait(lambda: "mete.io/small" in stand_in.plugins and len(small().healthy()) == 3,
         "the device plugin offers three shares beside the claim")
    small().allocate("k8s-small-0")
    wait(lambda: n.devices()[n.names[0]]["capacity"]["memory"]["value"] == "12Gi", "its grant is subtracted from the capacity")
    big = n.claim("big", [("gpu", 0, {"memory": "8Gi"})])
    n.prepared(big)
    wait(lambda: small().healthy() == ["k8s-small-0"], "a claim takes the other ids away: no byte is counted twice")
    n.unprepared(big, claim)
    wait(lambda: len(small().healthy()) == 4, "and gives them back")
    n.ask("grant_delete", name="k8s-small-0")
    n.ask("grant_create", name="all", driver="soft", devices=[{"device": "1", "mem_bytes": 16 * GIB - MIB}])
    wait(lambda: list(n.devices()) == [n.names[0]], "a device of which next to nothing is left is not offered")
    n.ask("grant_delete", name="all")
    n.ask("device_cordon", device="0")
    wait(lambda: list(n.devices()) == [n.names[1]], "nor is one that is out of service")
    n.ask("device_uncordon", device="0")
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "all is as it was")
    stand_in.end()


def resized(n):
    """`mete set` on a claim's grant: the scheduler goes on counting what it allocated, so what is above that is published as taken."""
    claim = n.claim("grown", [("gpu", 0, {"memory": "4Gi", "cores": "25"})])
    n.prepared(claim)
    capacity = lambda: tuple(n.devices()[n.names[0]]["capacity"][w]["value"] for w in ("memory", "cores"))  # noqa: E731
    change = lambda gib, cores: n.ask("grant_set", name="dra-" + claim[1], devices=[{"device": "0", "mem_bytes": gib * GIB, "cores": cores}])  # noqa: E731
    change(6, 40)
    wait(lambda: capacity() == ("14Gi", "85"), "a claim's share that was made larger: the scheduler is told of what it does not count")
    n.again()
    wait(lambda: capacity() == ("14Gi", "85"), "so it is after the agent was killed")
    time.sleep(2.5)
    same(capacity(), ("14Gi", "85"), "which reads from the claim what the scheduler counts")
    same(n.prepared(claim)[0][2], n.names[0], "kubelet prepares it again")
    same(n.grants()["dra-" + claim[1]]["devices"][0]["quota_bytes"], 6 * GIB, "and it keeps its new size")
    rest = n.claim("rest", [("gpu", 0, {"memory": "10Gi", "cores": "60"})])
    same(n.prepared(rest)[0][2], n.names[0], "all that the scheduler then takes for free can be prepared")
    n.unprepared(rest)
    change(1, 5)
    wait(lambda: capacity() == ("16Gi", "100"), "of one that was made smaller it counts the whole, as before")
    n.unprepared(claim)
    wait(lambda: capacity() == ("16Gi", "100"), "given back")


def health(n):
    n.driver.watch()
    wait(lambda: n.driver.health and set(n.driver.health) == set(n.names), "health is told, of all devices")
    ok(all(h[0] == 1 and abs(h[2] - time.time()) < 60 and h[3] == 30 for h in n.driver.health.values()),
       "good, now, and believed for 30 s", n.driver.health)
    count = n.driver.streams
    n.meted.kill()
    wait(lambda: all(h[0] == 0 for h in n.driver.health.values()), "without meted nobody knows")
    ok("meted does not answer" in list(n.driver.health.values())[0][1], "and the message says why")
    same(n.memory(), ["16Gi", "16Gi"], "the slices stay for a while: a restart is no news for the scheduler")
    n.meted.start()
    wait(lambda: all(h[0] == 1 for h in n.driver.health.values()), "good again, by the same stream")
    ok(n.driver.streams > count, "which was told each time")
    n.driver.health = None
    n.driver.watch("v1alpha1")
    wait(lambda: n.driver.health and set(n.driver.health) == set(n.names), "and to a kubelet of 1.34, which asks by the version of then")


def slices_of_others(n):
    """Somebody changes, deletes, adds."""
    path = "resourceslices"
    name = n.slices()[0]["metadata"]["name"]
    n.api.delete(path, name)
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "a slice that was deleted is written again")
    s = n.slices()[0]
    s["spec"]["devices"] = []
    n.api.put(path, s)
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "one that was changed too")
    s = n.slices()[0]
    s["metadata"] = {"name": "n1-old-7"}
    n.api.put(path, s)
    wait(lambda: [s["metadata"]["name"] for s in n.slices()] == [name], "one of a time before is taken away")
    foreign = copy.deepcopy(s)
    foreign["metadata"] = {"name": "n1-gpu.nvidia.com"}
    foreign["spec"]["driver"] = "gpu.nvidia.com"
    n.api.put(path, foreign)
    other = copy.deepcopy(s)
    other["metadata"] = {"name": "n2-gpu.mete.io-0"}
    other["spec"]["nodeName"] = "n2"
    n.api.put(path, other)
    n.api.fail["PUT", "/resourceslices/"] = (409, 2)
    n.ask("grant_create", name="other", driver="soft", devices=[{"device": "0", "mem_bytes": GIB}])
    wait(lambda: "15Gi" in n.memory(), "a conflict is tried again")
    n.ask("grant_delete", name="other")
    wait(lambda: n.api.fail["PUT", "/resourceslices/"][1] == 0, "twice")
    wait(lambda: sorted(n.memory())[0] == "16Gi", "and what comes after it is written")
    same({s["metadata"]["name"] for s in n.slices()}, {name, "n1-gpu.nvidia.com", "n2-gpu.mete.io-0"}, "others' slices are theirs")
    for name in ("n1-gpu.nvidia.com", "n2-gpu.mete.io-0"):
        n.api.delete(path, name)
    lists = len(n.api.asked("GET", "limit="))
    n.api.compact()
    wait(lambda: len(n.api.asked("GET", "limit=")) > lists, "410: listed again")
    n.api.delete(path, n.slices()[0]["metadata"]["name"])
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "and watched again")


def kills(n):
    claim = n.claim("k", [("gpu", 0, {"memory": "2Gi", "cores": "20"})])
    expected = n.prepared(claim)
    grant = n.grants()["dra-" + claim[1]]["id"]
    n.again()
    same((n.prepared(claim), n.grants()["dra-" + claim[1]]["id"]), (expected, grant), "the next agent finds what was prepared")
    n.meted.kill()
    ok("no meted" in n.prepared(n.claim("no", [("gpu", 0, {"memory": "1Gi"})])), "without meted a claim is refused, with the remedy")
    n.meted.start()
    same((n.prepared(claim), n.grants()["dra-" + claim[1]]["id"]), (expected, grant), "and the next meted has it")
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "the slices are the same")
    gone = n.claim("gone", [("gpu", 1, {"memory": "2Gi"})])
    taken = n.claim("taken", [("gpu", 1, {"memory": "1Gi"})])
    elsewhere = n.claim("elsewhere", [("gpu", 1, {"memory": "1Gi"})], namespace="other")
    for c in (gone, taken, elsewhere):
        n.prepared(c)
    program = n.meted.client()
    same(program.hello(n.grants()["dra-" + claim[1]]["socket"]), harness.OK, "a program of the first one runs")
    n.kill()
    os.unlink(n.driver.registry)
    for c in (gone, elsewhere, claim):
        n.api.delete(f"{c[0]}/resourceclaims", c[2])
    obj = n.api.all("ns/resourceclaims")
    obj = next(o for o in obj if o["metadata"]["uid"] == taken[1])
    n.api.put("ns/resourceclaims", {**obj, "status": {}})
    n.start()
    n.driver.register()
    wait(lambda: set(n.grants()) == {"dra-" + claim[1]}, "claims that were gone or free when the agent came back are swept")
    same(n.files(), [f"mete.io-grant-dra-{claim[1]}.json"], "with their files; the one of which a program runs is not touched")
    line = n.unprepared(claim)[claim[1]]
    ok("are being ended" in line, "what kubelet gives back is ended with its programs", line)
    wait(lambda: n.unprepared(claim) == {claim[1]: ""}, "and gone at kubelet's next try")
    same((n.grants(), n.files()), ({}, []), "and nothing is left")


def points(n):
    """The agent is killed at each call that it makes while a claim is prepared, and while it is given back."""
    if not may_trace():
        return
    for what, step in (("prepare", STEP), ("unprepare", STEP)):
        at, killed = 1, True
        while killed and at < 1000:
            claim = n.claim(f"{what}-{at}", [("gpu", 0, {"memory": "4Gi", "cores": "25"})])
            expected = [(["gpu"], "n1", n.names[0], [f"mete.io/grant=dra-{claim[1]}"])]
            if what == "unprepare":
                n.prepared(claim)
            tracer = Tracer(n.agent.pid, at)
            try:
                n.prepared(claim) if what == "prepare" else n.unprepared(claim)
            except kubelet.grpc.RpcError:
                pass
            killed = tracer.killed(n.agent)
            if killed:
                os.unlink(n.driver.registry)
                n.start()
                n.driver.register()
            name = f"{what}, killed at call {at}"
            if what == "prepare":
                same(n.prepared(claim), expected, f"{name}: kubelet has it at its next try")
                same((n.grants()["dra-" + claim[1]]["devices"][0]["quota_bytes"], n.files()), (4 * GIB, [f"mete.io-grant-dra-{claim[1]}.json"]),
                     f"{name}: a whole grant, with its file")
            same(n.unprepared(claim), {claim[1]: ""}, f"{name}: it can be given back")
            same((n.grants(), n.files()), ({}, []), f"{name}: nothing is left")
            at += step
        ok(at > step + 1 and not killed, f"{what}: the agent was killed at each {step}. of its calls, {at - step} of them")


def away(n):
    """The API server is away, then another token is needed."""
    claim = n.claim("stays", [("gpu", 0, {"memory": "2Gi"})])
    expected = n.prepared(claim)
    n.api.down()
    wait(lambda: "API server" in n.said().splitlines()[-1], "an API server that is away is said, once")
    answer = n.prepared(claim)
    same([(d[1], d[2], d[3]) for d in answer], [(d[1], d[2], d[3]) for d in expected], "a claim that was prepared is answered from the ledger")
    line = n.prepared(("ns", "22222222", "new"))
    ok("API server" in line, "a new one is refused, with the reason", line)
    n.ask("grant_create", name="meanwhile", driver="soft", devices=[{"device": "1", "mem_bytes": GIB}])
    lines = n.said().count("\n")
    time.sleep(AWAY)
    ok(n.said().count("\n") - lines <= 1, f"for {AWAY} s: the log is not filled, though it is tried again and again", n.said()[-1000:])
    same([(d[1], d[2], d[3]) for d in n.prepared(claim)], [(d[1], d[2], d[3]) for d in expected], "and what was prepared still is")
    same(n.unprepared(claim), {claim[1]: ""}, "giving back needs no API server")
    n.kill()
    os.unlink(n.driver.registry)
    n.start()
    n.driver.register()
    line = n.prepared(("ns", "22222222", "new"))
    ok("API server" in line, "an agent that begins without one says the same", line)
    n.api.token = "second"
    n.write_token("second")
    n.api.up()
    ok(until(lambda: "15Gi" in n.memory(), 90), "when it is back the pool is brought up to date, with the token of now")
    n.ask("grant_delete", name="meanwhile")
    wait(lambda: n.memory() == ["16Gi", "16Gi"], "and goes on")


def hostile(n):
    """A tenant writes into its own claims what JSON allows and a reader may not like."""
    big = n.claim("big", [("gpu", 0, {"memory": "1Gi"})], [config(share(weight=10 ** 30), ["gpu"])], namespace="aaa")
    line = n.prepared(big)
    ok(isinstance(line, str) and line, "a number that nothing holds: its claim is refused with a line, not prepared empty", line)
    zero = n.claim("zero", [("gpu", 0, {"memory": "1Gi"})], namespace="aaa", note="a\0b")
    # On both sides of theirs in the agent's list.
    first, plain, last = (n.claim("c", [("gpu", 1, {"memory": "1Gi"})], namespace=where) for where in ("zzz", "aaa", "mmm"))
    for c in (first, plain, last):
        n.prepared(c)
    ok(isinstance(n.prepared(zero), list), "a zero byte in a text harms nobody")
    n.kill()
    os.unlink(n.driver.registry)
    for where in ("zzz", "mmm"):
        n.api.delete(where + "/resourceclaims", "c")
    n.start()
    n.driver.register()
    wait(lambda: not {"dra-" + first[1], "dra-" + last[1]} & set(n.grants()), "a namespace whose list cannot be read keeps no other from being swept")
    ok("dra-" + plain[1] in n.grants(), "and nothing of its own is ended by mistake")
    for name in ("big", "zero", "c"):
        n.api.delete("aaa/resourceclaims", name)
    wait(lambda: not n.grants(), "it is swept when it can be read")
    bound = n.claim("bound", [("gpu", 0, {"memory": "1Gi"})],
                    [config(share(wall=True, coresLimit=30), source="FromClass"), config(share(wall=False))])
    line = n.prepared(bound)
    ok(isinstance(line, str) and "parameter wall" in line and "DeviceClass" in line, "a claim does not take down the wall of its class", line)
    same((n.grants(), n.files()), ({}, []), "and gets nothing")
    bound = n.claim("bound", [("gpu", 0, {"memory": "1Gi"})],
                    [config(share(wall=False), source="FromClass"), config(share(wall=True))])
    ok(isinstance(n.prepared(bound), list) and n.grants()["dra-" + bound[1]]["wall"], "but may put one up")
    n.unprepared(bound)


def rests(n):
    """Nothing changes: nothing is asked."""
    count = len(n.api.requests)
    time.sleep(6)
    same([r[1:3] for r in n.api.requests[count:]], [], "at rest nothing is asked of the API server for 6 s")
    fds = len(os.listdir(f"/proc/{n.agent.pid}/fd"))
    ok(fds < 24, "no descriptor is left over", fds)


def older():
    """A cluster of v1beta1, which drops what it does not know; no field selectors; lists in pages; a sharing gate that is off."""
    n = Node(versions=("v1beta1",), selectors=False, drop=("allowMultipleAllocations",))
    n.api.page = 1
    for i in range(3):
        n.api.put("resourceslices", {"metadata": {"name": f"other-{i}"}, "spec": {"driver": "x", "nodeName": "n1", "devices": []}})
    n.start()
    n.driver.register()
    wait(lambda: len(n.devices()) == 2, "v1beta1 is spoken where the API server has nothing newer")
    s = [s for s in n.slices() if s["spec"]["driver"] == DRIVER][0]
    ok(s["apiVersion"].endswith("v1beta1") and "basic" in s["spec"]["devices"][0], "in its form", s)
    n.names = [d["name"] for d in s["spec"]["devices"]]
    generation = s["spec"]["pool"]["generation"]
    claim = n.claim("a", [("gpu", 0, None)])
    ok(isinstance(n.prepared(claim), list) and n.api.asked("GET", "/v1beta1/namespaces/ns/resourceclaims/a"),
       "claims are read by the same version")
    n.unprepared(claim)
    time.sleep(3)
    same([s for s in n.slices() if s["spec"]["driver"] == DRIVER][0]["spec"]["pool"]["generation"], generation,
         "fields that the server drops are not written again and again")
    n.close()
    n = Node(versions=())
    n.start()
    n.driver.register()
    wait(lambda: "has no resource.k8s.io" in n.said(), "a cluster without DRA is named")
    done = subprocess.run(n.command("--check"), env=n.meted.env, capture_output=True, text=True)
    ok(done.returncode == 1 and "missing  the API server has no resource" in done.stdout + done.stderr or "404" in done.stdout,
       "also by --check", done)
    n.api.versions = ["v1"]
    wait(lambda: len(n.devices()) == 2, "until it has it")
    done = subprocess.run(n.command("--check"), env=n.meted.env, capture_output=True, text=True)
    ok("has resource.k8s.io v1; this node is n1" in done.stdout, "--check says what there is", done)
    n.close()


def identities(n):
    """Who we are for the API server, and what of a kubeconfig is refused."""
    for what, text, said in (
            ("a file that is not there", None, "No such file"), ("no YAML", "{", "kubeconfig"),
            ("no context", "{}", "no context is the current one"),
            ("no cluster", '{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k"}}]}', "which is not there")):
        path = os.path.join(n.folder, "bad-kubeconfig")
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        done = subprocess.run([*n.command(), "--kubeconfig", path], env=n.meted.env, capture_output=True, text=True)
        ok(done.returncode == 1 and said in done.stderr, f"{what}: refused", done)
    for url, user, said in (("ftp://x", {}, "https://HOST:PORT"), (n.api.url, {"exec": {"command": "x"}}, "not run here"),
                            (n.api.url, {"client-key-data": "§"}, "not base64")):
        kubeconfig(path, url, **user)
        done = subprocess.run([*n.command(), "--kubeconfig", path], env=n.meted.env, capture_output=True, text=True)
        ok(done.returncode == 1 and said in done.stderr, f"{said}: refused", done)
    plain = [AGENT, "--dra", "--node", "n1", "--runtime-dir", n.meted.dir]
    done = subprocess.run(plain, env=n.meted.env, capture_output=True, text=True)
    ok(done.returncode == 1 and "--kubeconfig" in done.stderr, "outside of a pod a kubeconfig is needed", done)
    done = subprocess.run([*plain, "--node", "a/b"], env=n.meted.env, capture_output=True, text=True)
    ok(done.returncode == 1 and "no name of a node" in done.stderr, "a node's name that is none", done)


def refuses(n):
    """A kubelet that does not know drivers, or this version of their API: it asks again and again, in its own words."""
    for line in ("no handler registered for plugin type: DRAPlugin", "unsupported version(s): v1.DRAPlugin, v1beta1.DRAPlugin"):
        before = n.said().count("kubelet does not take the driver gpu.mete.io: " + line)
        for _ in range(3):
            n.driver.register(good=False, error=line)
        same(n.said().count("kubelet does not take the driver gpu.mete.io: " + line) - before, 1, f"{line}: it is said, once")
    n.driver.register()
    wait(lambda: n.said().rstrip().endswith("kubelet takes the driver gpu.mete.io"), "and that another kubelet takes it")


def expired(n):
    """The time of the API server's certificate is over."""
    claim = n.claim("before", [("gpu", 0, {"memory": "2Gi"})])
    expected = n.prepared(claim)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    make_ended(n.folder)
    context.load_cert_chain(os.path.join(n.folder, "ca.crt"), os.path.join(n.folder, "ca.key"))
    plain = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                peer = plain.accept()[0]
            except OSError:
                return
            with contextlib.suppress(OSError), peer, context.wrap_socket(peer, server_side=True) as s:
                s.recv(1)
    threading.Thread(target=serve, daemon=True).start()
    with open(n.config) as file:
        before = file.read()
    config_now = json.loads(before)
    config_now["clusters"][0]["cluster"] = {"server": f"https://localhost:{plain.getsockname()[1]}", "certificate-authority": os.path.join(n.folder, "ca.crt")}
    with open(n.config, "w") as file:
        json.dump(config_now, file)
    done = subprocess.run(n.command("--check"), env=n.meted.env, capture_output=True, text=True)
    ok(done.returncode == 1 and "expired" in done.stdout, "an API server whose certificate's time is over: --check says it", done)
    n.again()
    wait(lambda: "expired" in n.said(), "so does the log")
    same([(d[1], d[2], d[3]) for d in n.prepared(claim)], [(d[1], d[2], d[3]) for d in expected], "a claim that was prepared still is")
    line = n.prepared(("ns", "33333333", "later"))
    ok("expired" in line, "a new one is refused, with the reason", line)
    said = n.said().count("expired")
    time.sleep(5)
    ok(n.said().count("expired") <= said + 1, "which does not fill the log", n.said()[-600:])
    plain.close()
    with open(n.config, "w") as file:
        file.write(before)
    n.again()
    same(n.unprepared(claim), {claim[1]: ""}, "with a good one all goes on")


def crowded():
    """5 000 nodes of 8 cards, and an API server that cannot select slices by their node: all 40 000 devices are listed."""
    n = Node(selectors=False)
    n.start()
    wait(lambda: len(n.devices()) == 2, "in an empty cluster the devices are published")
    own = n.slices()[0]
    n.kill()
    n.api.delete("resourceslices", own["metadata"]["name"])
    device = own["spec"]["devices"][0]
    for i in range(5000):
        n.api.put("resourceslices", {
            "metadata": {"name": f"other-{i}-{DRIVER}-0"}, "apiVersion": own["apiVersion"], "kind": "ResourceSlice",
            "spec": {**own["spec"], "nodeName": f"other-{i}", "pool": {**own["spec"]["pool"], "name": f"other-{i}"},
                     "devices": [{**device, "name": f"gpu-{i}-{k}"} for k in range(8)]}})
    began = time.monotonic()
    n.start()
    mine = lambda: (lambda o: o and [d["name"] for d in o["spec"]["devices"]])(n.api.objects.get(("resourceslices", own["metadata"]["name"])))  # noqa: E731
    ok(until(mine, 4 * TRAILER), "beside 40 000 devices of others, too")
    took = time.monotonic() - began
    asked = len(n.api.requests)
    n.api.put("resourceslices", {**n.api.objects["resourceslices", f"other-7-{DRIVER}-0"], "spec": {**own["spec"], "nodeName": "other-7", "devices": []}})
    began = time.monotonic()
    n.ask("grant_create", name="more", driver="soft", devices=[{"device": "0", "mem_bytes": GIB}])
    ok(until(lambda: any(d["capacity"]["memory"]["value"] == "15Gi" for d in n.api.objects["resourceslices", own["metadata"]["name"]]
                         ["spec"]["devices"]), TRAILER), "what changes is written as soon as before")
    again = time.monotonic() - began
    same(len(n.api.requests) - asked, 1, "by one request; what others write costs none")
    with open(f"/proc/{n.agent.pid}/status") as file:
        kib = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
    print(f"# 40 000 devices of 5 000 nodes: published {took:.1f} s after the agent began, a change after {again:.1f} s; agent {kib / 1024:.1f} MiB",
          flush=True)
    ok(harness.SANITIZED or kib <= 30 * 1024, "the agent needs 30 MiB at most", kib)
    n.close()


if "crowded" in sys.argv:
    crowded()
    finish()


def on_a_node(*parts):
    node = Node()
    node.start()
    for part in (registers, publishes, *parts):
        part(node)
    node.close()


def lasting():
    on_a_node(kills, points, away, hostile)


def resting():
    on_a_node(rests, identities, refuses, expired)


if sys.argv[2:]:
    on_a_node(*[globals()[name] for name in sys.argv[2:]])
    finish()
beside = harness.Beside(lasting, resting, older)
on_a_node(prepares, many_requests, parameters, bad_claims, admin_access, outside, resized, health, slices_of_others)
beside.end()
crowded()
finish()
