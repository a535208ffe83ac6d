"""mete-webhook: pods in other systems' words, over real HTTPS: webhook_test.py BUILD_ROOT"""
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import harness  # noqa: E402
from certificates import make_ended  # noqa: E402
from harness import finish, ok, same, until  # noqa: E402
from review import SHARES, Program, applied, connect, patch_of, pod, post, review  # noqa: E402

WEBHOOK = os.path.join(harness.BUILD, "src/cli/mete-webhook")
if not os.path.exists(WEBHOOK):
    print("1..0 # SKIP mete-webhook is not built: libcurl or libmicrohttpd is not there")
    sys.exit(0)

folder = None


def start(*options, shares=SHARES):
    global folder
    w = Program.__new__(Program)
    Program.__init__(w, "/bin/true")
    w.process.wait()
    with open(os.path.join(w.folder, "shares.json"), "w") as file:
        json.dump({"shares": shares}, file)
    w.command = [WEBHOOK, "--listen", "127.0.0.1:0", "--shares", os.path.join(w.folder, "shares.json"), *options]
    if not any(o in ("--cert-dir", "--cert", "--secret") for o in options):
        w.command += ["--cert-dir", os.path.join(w.folder, "pki")]
    w.ca = os.path.join(w.folder, "pki", "ca.crt")
    w.start()
    if not until(w.port, 30):
        raise SystemExit(f"Bail out! {w.said()}")
    return w


def end(w):
    w.stop()
    shutil.rmtree(w.folder, ignore_errors=True)


def ask(w, thing, **more):
    c = connect(w.port(), w.ca)
    status, answer = post(c, "/mutate", review(thing, **more))
    c.close()
    if status != 200 or answer["response"]["uid"] != review(thing)["request"]["uid"]:
        raise SystemExit(f"Bail out! {status} {answer}")
    return answer["response"]


# What is asked for, in the words of each: (name, limits, annotations, the share)
MEANT = [
    ("HAMi: memory and cores", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "20"}, None, "small"),
    ("HAMi: memory", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1024}, None, "tiny"),
    ("HAMi: one MiB more", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1025}, None, "small"),
    ("HAMi: 3k is 3000", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3k"}, None, "small"),
    ("HAMi: cores alone", {"nvidia.com/gpu": "1", "nvidia.com/gpucores": "30"}, None, "half"),
    ("HAMi: low priority", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/priority": "1"}, None, "batch"),
    ("HAMi: high priority", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/priority": "0"}, None, "small"),
    ("HAMi: two devices", {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "4096", "nvidia.com/gpucores": "25"}, None, "pair"),
    ("HAMi: a part of the memory", {"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "50"}, None, "half"),
    ("Volcano", {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "3000", "volcano.sh/vgpu-cores": "10"}, None, "small"),
    ("Alibaba", {"aliyun.com/gpu-mem": "6"}, None, "half"),
    ("Tencent", {"tencent.com/vcuda-core": "20", "tencent.com/vcuda-memory": "16"}, None, "small"),
    ("Tencent: units are 256 MiB", {"tencent.com/vcuda-core": "5", "tencent.com/vcuda-memory": "4"}, None, "tiny"),
    ("KAI: a fraction", {}, {"gpu-fraction": "0.5"}, "half"),
    ("KAI: memory", {}, {"gpu-memory": "2000"}, "small"),
    ("KAI: several devices", {}, {"gpu-memory": "2000", "gpu-fraction-num-devices": "2"}, "pair"),
]

# What cannot be meant: (name, limits, annotations, what the line must say)
REFUSED = [
    ("memory without a device", {"nvidia.com/gpumem": "3000"}, None, ["nvidia.com/gpumem=3000", "add nvidia.com/gpu: 1"]),
    ("Volcano's memory without a device", {"volcano.sh/vgpu-memory": "3000"}, None, ["add volcano.sh/vgpu-number: 1"]),
    ("more than any share", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "99000"}, None, ["limits[nvidia.com/gpumem]: 99000", "whole: 16 GiB"]),
    ("more than any device", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "99000000000"}, None, ["more than any device has"]),
    ("too many devices", {"nvidia.com/gpu": "3", "nvidia.com/gpumem": "1000"}, None, ["limits[nvidia.com/gpu]: 3", "no share has 3 devices"]),
    ("a hundred devices", {"nvidia.com/gpu": "100", "nvidia.com/gpumem": "1000"}, None, ["limits[nvidia.com/gpu]: 100"]),
    ("cores beyond all", {"nvidia.com/gpu": "1", "nvidia.com/gpucores": "101"}, None, ["nvidia.com/gpucores]: 101", "100 percent"]),
    ("two sizes", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1", "nvidia.com/gpumem-percentage": "5"}, None, ["give one of them"]),
    ("no number", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "many"}, None, ["nvidia.com/gpumem]: many is not a whole number"]),
    ("no number, cut within a letter", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "x" + "\u00e4" * 30}, None, ["is not a whole number"]),
    ("half a MiB", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1500m"}, None, ["1500m is not a whole number"]),
    ("below zero", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": -1}, None, ["-1 is not a whole number"]),
    ("nothing", {"nvidia.com/gpu": "0", "nvidia.com/gpumem": "10"}, None, ["0 asks for nothing"]),
    ("an object", {"nvidia.com/gpu": {"a": 1}, "nvidia.com/gpumem": "10"}, None, ["is not a whole number"]),
    ("a third priority", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "10", "nvidia.com/priority": "2"}, None, ["neither 0 (high) nor 1 (low)"]),
    ("no share of that class", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "9000", "nvidia.com/priority": "1"}, None, ["of class low"]),
    ("words of two systems", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "10", "volcano.sh/vgpu-memory": "10"}, None,
     ["a word of Volcano beside words of HAMi"]),
    ("a share of ours beside them", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "10", "mete.io/small": "1"}, None, ["mete.io/small", "give one"]),
    ("two shares in one container", {"mete.io/small": "1", "mete.io/half": "1"}, None, ["a container gets one share", "mete.io/small", "mete.io/half"]),
    ("a share twice", {"mete.io/small": "2"}, None, ["limits[mete.io/small]: 2: a container gets one share: ask for 1"]),
    ("half a share", {"mete.io/small": "500m"}, None, ["limits[mete.io/small]: 500m"]),
    ("neither a part nor whole", {"tencent.com/vcuda-core": "150"}, None, ["vcuda-core]: 150"]),
    ("Tencent's memory alone", {"tencent.com/vcuda-memory": "4"}, None, ["without tencent.com/vcuda-core"]),
    ("a fraction above one", {}, {"gpu-fraction": "1.5"}, ["annotations[gpu-fraction]", "at most 1"]),
    ("no fraction", {}, {"gpu-fraction": "nan"}, ["annotations[gpu-fraction]"]),
    ("an endless fraction", {}, {"gpu-fraction": "1e-1"}, ["annotations[gpu-fraction]"]),
    ("a fraction and memory", {}, {"gpu-fraction": "0.5", "gpu-memory": "100"}, ["give one of them"]),
    ("no container of that name", {}, {"gpu-fraction": "0.5", "gpu-fraction-container-name": "x"}, ["no container is called x"]),
    ("annotation beside resources", {"mete.io/small": "1"}, {"gpu-fraction": "0.5"}, ["give one of them"]),
]


def test_words(w):
    for name, limits, annotations, share in MEANT:
        thing = pod({**limits, "cpu": "2"}, annotations)
        r = ask(w, thing)
        if not ok(r["allowed"] and "patch" in r, name, r):
            continue
        after = applied(thing, patch_of(r))
        same(after["spec"]["containers"][0]["resources"]["limits"], {"cpu": "2", f"mete.io/{share}": "1"}, f"{name}: share {share}")
        ok(share in r["warnings"][0], f"{name}: what it became is told", r.get("warnings"))
        ok("main" in json.loads(after["metadata"]["annotations"]["mete.io/asked"]), f"{name}: and kept", after["metadata"])
        again = ask(w, after)
        ok(again["allowed"] and "patch" not in again, f"{name}: a second time changes nothing", again)


def test_refused(w):
    for name, limits, annotations, words in REFUSED:
        r = ask(w, pod(limits, annotations))
        line = r.get("status", {}).get("message", "")
        ok(not r["allowed"] and all(word in line for word in words), f"refused: {name}", line, r)
    thing = pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}, requests={"nvidia.com/gpumem": "500"})
    ok("another than the limit" in ask(w, thing)["status"]["message"], "refused: request and limit differ")
    thing = pod({"nvidia.com/gpu": "1"}, requests={"nvidia.com/gpumem": "500"})
    ok("requests alone" in ask(w, thing)["status"]["message"], "refused: a request without a limit")


def test_untouched(w):
    for name, thing in [("no resources", pod()), ("processors", pod({"cpu": "1"})), ("a share of ours", pod({"mete.io/small": "1"})), ("none of one", pod({"mete.io/small": "1", "mete.io/half": "0"})),
                        ("whole GPUs, for their own plugin", pod({"nvidia.com/gpu": "2"})),
                        ("another's device", pod({"amd.com/gpu": "1"})), ("no spec", {"metadata": {}}), ("no pod", 7)]:
        r = ask(w, thing)
        ok(r["allowed"] and "patch" not in r and "warnings" not in r, f"untouched: {name}", r)
    asking = pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"})
    ok("patch" not in ask(w, asking, operation="UPDATE"), "untouched: not made now")
    ok("patch" not in ask(w, asking, kind="Deployment", group="apps"), "untouched: not a pod")


def test_hip():
    """Words for AMD's and Hygon's cards become shares of such cards, where there are any; no share of others."""
    w = start(shares=[{"name": "small", "mem": "4G"}, {"name": "amd-small", "hip": True, "mem": "4G", "cores": 25},
                      {"name": "amd-large", "hip": True, "mem": "16G", "cores": 60}])
    for name, limits, share in (("AMD", {"amd.com/gpu": "1", "amd.com/gpumem": "3000", "amd.com/gpucores": "20"}, "amd-small"),
                                ("AMD, more", {"amd.com/gpu": "1", "amd.com/gpumem": "9000"}, "amd-large"),
                                ("Hygon", {"hygon.com/dcunum": "1", "hygon.com/dcumem": "2000", "hygon.com/dcucores": "60"}, "amd-large"),
                                ("NVIDIA", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}, "small")):
        thing = pod(limits)
        r = ask(w, thing)
        if ok(r["allowed"] and "patch" in r, f"{name}: it becomes a share", r):
            same(applied(thing, patch_of(r))["spec"]["containers"][0]["resources"]["limits"], {f"mete.io/{share}": "1"}, f"{name}: {share}")
    for name, limits, words in (("memory alone", {"amd.com/gpumem": "3000"}, ["add amd.com/gpu: 1"]),
                                ("NVIDIA's time of none", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "9000"}, ["more than every share has"]),
                                ("words of two vendors", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "10", "amd.com/gpu": "1"}, ["a word of HAMi for AMD"])):
        r = ask(w, pod(limits))
        ok(not r["allowed"] and all(word in r["status"]["message"] for word in words), f"refused: {name}", r)
    ok("patch" not in ask(w, pod({"amd.com/gpu": "1"})), "a whole card is left for its own plugin")
    ok("patch" not in ask(w, pod({"cambricon.com/mlunum": "1", "huawei.com/Ascend910B-memory": "1"})), "names of other vendors' are left as they are")
    end(w)


def test_lent():
    """Memory that may be away, or is promised to others too, is given where nothing else is large enough."""
    for word in ("spill", "overcommit"):
        w = start(shares=[{"name": "lent", "mem": "4G", word: True}, {"name": "own", "mem": "8G"}, {"name": "wide", "mem": "16G", word: True}])
        for asked, share in ((3000, "own"), (9000, "wide")):
            thing = pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": asked})
            r = ask(w, thing)
            same(applied(thing, patch_of(r))["spec"]["containers"][0]["resources"]["limits"], {f"mete.io/{share}": "1"}, f"{word}: {asked} MiB: {share}")
        end(w)


def test_npu():
    """The same of Ascend's and Cambricon's cards."""
    w = start(shares=[{"name": "small", "mem": "8G"}, {"name": "amd", "hip": True, "mem": "8G"},
                      {"name": "npu", "ascend": True, "mem": "8G", "cores": 25},
                      {"name": "npu-large", "ascend": True, "mem": "32G", "cores": 50},
                      {"name": "mlu", "cambricon": True, "mem": "8G", "cores": 25}])
    for limits, share in (({"huawei.com/Ascend910B": "1", "huawei.com/Ascend910B-memory": "8192"}, "npu"),
                          ({"huawei.com/Ascend910B4-1": "1", "huawei.com/Ascend910B4-1-memory": "8193"}, "npu-large"),
                          ({"huawei.com/Ascend310P": "1", "huawei.com/Ascend310P-core": "40"}, "npu-large"),
                          ({"cambricon.com/vmlu": "1", "cambricon.com/mlu.smlu.vmemory": "32",
                            "cambricon.com/mlu.smlu.vcore": "25"}, "mlu")):
        thing = pod(limits)
        r = ask(w, thing)
        if ok(r["allowed"] and "patch" in r, f"{limits}: it becomes a share", r):
            same(applied(thing, patch_of(r))["spec"]["containers"][0]["resources"]["limits"], {f"mete.io/{share}": "1"}, f"{limits}: {share}")
    for limits, words in (({"huawei.com/Ascend910B-memory": "8192"}, ["add huawei.com/Ascend910B: 1"]),
                          ({"cambricon.com/vmlu": "1", "cambricon.com/mlu.smlu.vmemory": "33"}, ["more than every share has"]),
                          ({"huawei.com/Ascend910B": "1", "huawei.com/Ascend910C-memory": "10"}, ["a word of HAMi for Ascend 910C"])):
        r = ask(w, pod(limits))
        ok(not r["allowed"] and all(word in r["status"]["message"] for word in words), f"refused: {limits}", r)
    for limits in ({"huawei.com/Ascend910B": "1"}, {"cambricon.com/vmlu": "2"}, {"cambricon.com/mlunum": "1"}):
        ok("patch" not in ask(w, pod(limits)), f"{limits}: left for the vendor's plugin")
    end(w)


def test_shaped():
    """The same of Moore Threads', MetaX' and Iluvatar's cards, in their units."""
    w = start(shares=[{"name": "small", "mem": "8G"}, {"name": "mtt", "musa": True, "mem": "8G", "cores": 50},
                      {"name": "mtt-large", "musa": True, "mem": "32G", "cores": 100},
                      {"name": "mx", "maca": True, "mem": "4G", "cores": 60}, {"name": "mx-two", "maca": True, "mem": "4G", "cores": 60, "device": "0,1"},
                      {"name": "bi", "corex": True, "mem": "8G", "cores": 25}])
    for limits, share in (({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "16", "mthreads.com/sgpu-core": "8"}, "mtt"),
                          ({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "32"}, "mtt-large"),
                          ({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "2", "mthreads.com/sgpu-core": "9"}, "mtt-large"),
                          ({"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "4", "metax-tech.com/vcore": "60"}, "mx"),
                          ({"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "4096Mi"}, "mx"),
                          ({"metax-tech.com/sgpu": "2", "metax-tech.com/vmemory": "4"}, "mx-two"),
                          ({"iluvatar.ai/vgpu": "1", "iluvatar.ai/vcuda-memory": "32", "iluvatar.ai/vcuda-core": "25"}, "bi"),
                          ({"iluvatar.ai/BI-V150-vgpu": "1", "iluvatar.ai/BI-V150.vMem": "32", "iluvatar.ai/BI-V150.vCore": "25"}, "bi"),
                          ({"iluvatar.ai/MR-V50-vgpu": "1", "iluvatar.ai/MR-V50.vMem": "1"}, "bi")):
        thing = pod(limits)
        r = ask(w, thing)
        if ok(r["allowed"] and "patch" in r, f"{limits}: it becomes a share", r):
            same(applied(thing, patch_of(r))["spec"]["containers"][0]["resources"]["limits"], {f"mete.io/{share}": "1"}, f"{limits}: {share}")
    for limits, words in (({"mthreads.com/sgpu-memory": "2"}, ["add mthreads.com/vgpu: 1"]),
                          ({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "65"}, ["more than every share has"]),
                          ({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-core": "17"}, ["more than a device has (16)"]),
                          ({"mthreads.com/vgpu": "2", "mthreads.com/sgpu-memory": "32"}, ["whole ones", "mthreads.com/vgpu"]),
                          ({"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "4097Mi"}, ["more than every share has"]),
                          ({"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "100m"}, ["is not a whole number"]),
                          ({"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "101"}, ["more than 100 percent"]),
                          ({"iluvatar.ai/vgpu": "1", "iluvatar.ai/vcuda-memory": "33"}, ["more than every share has"]),
                          ({"iluvatar.ai/BI-V150-vgpu": "2", "iluvatar.ai/BI-V150.vMem": "1"}, ["whole ones"]),
                          ({"iluvatar.ai/vgpu": "1", "iluvatar.ai/BI-V100.vMem": "1"}, ["a word of HAMi for Iluvatar BI-V100"])):
        r = ask(w, pod(limits))
        ok(not r["allowed"] and all(word in r["status"]["message"] for word in words), f"refused: {limits}", r)
    for limits in ({"mthreads.com/vgpu": "2"}, {"metax-tech.com/sgpu": "1"}, {"iluvatar.ai/vgpu": "1"}, {"metax-tech.com/gpu": "1"}):
        ok("patch" not in ask(w, pod(limits)), f"{limits}: left for the vendor's plugin")
    end(w)
    w = start(shares=[{"name": "small", "mem": "8G"}, {"name": "mx", "maca": True, "mem": "4G"}])
    ok("patch" not in ask(w, pod({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "2"})), "without a share of such cards their words are another plugin's")
    end(w)


def test_containers(w):
    """Each container by itself, init containers too, and nothing else of the pod changes."""
    thing = pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}, {"keep": "this"}, {"nvidia.com/gpumem": "1000", "memory": "1Gi"})
    thing["spec"]["containers"].append({"name": "side", "image": "y"})
    thing["spec"]["containers"].append({"name": "third", "image": "z", "resources": {"limits": {"volcano.sh/vgpu-number": 1,
                                                                                             "volcano.sh/vgpu-memory": 8192}}})
    thing["spec"]["initContainers"] = [{"name": "first", "image": "z", "resources": {"limits": {"aliyun.com/gpu-mem": 4}}}]
    after = applied(thing, patch_of(ask(w, thing)))
    c = after["spec"]["containers"]
    same(c[0]["resources"], {"limits": {"mete.io/tiny": "1"}, "requests": {"memory": "1Gi", "mete.io/tiny": "1"}}, "the first, with its requests")
    same(c[1], thing["spec"]["containers"][1], "the second as it was")
    same(c[2]["resources"], {"limits": {"mete.io/half": "1"}}, "the third")
    same(after["spec"]["initContainers"][0]["resources"], {"limits": {"mete.io/small": "1"}}, "an init container")
    same(after["metadata"]["annotations"]["keep"], "this", "other annotations stay")
    same(sorted(json.loads(after["metadata"]["annotations"]["mete.io/asked"])), ["first", "main", "third"], "all that was asked")
    bad = json.loads(json.dumps(thing))
    bad["spec"]["containers"][2]["resources"]["limits"]["volcano.sh/vgpu-memory"] = 99999
    ok("spec.containers[2]" in ask(w, bad)["status"]["message"], "a line names the container")
    named = pod({}, {"gpu-memory": "2000", "gpu-fraction-container-name": "side"})
    named["spec"]["containers"].append({"name": "side", "image": "y"})
    after = applied(named, patch_of(ask(w, named)))
    same([c.get("resources") for c in after["spec"]["containers"]], [{"limits": {}}, {"limits": {"mete.io/small": "1"}}], "the container that is named")


def test_places(w):
    """Annotations that say where a pod goes: ours, or a warning."""
    few = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}
    for theirs, ours in (("nvidia.com/use-gputype", "mete.io/use-model"), ("nvidia.com/use-gpuuuid", "mete.io/use-model"),
                         ("nvidia.com/nouse-gputype", "mete.io/avoid-model"), ("nvidia.com/nouse-gpuuuid", "mete.io/avoid-model")):
        thing = pod(few, {theirs: "A100,V100"})
        r = ask(w, thing)
        same(applied(thing, patch_of(r))["metadata"]["annotations"].get(ours), "A100,V100", f"{theirs} is {ours}")
        ok(any(theirs in line and "mete-extender" in line for line in r["warnings"]), f"{theirs}: it is said who heeds it", r["warnings"])
    both = {"nvidia.com/use-gputype": "A100", "nvidia.com/nouse-gputype": "V100"}
    got = applied(pod(few, both), patch_of(ask(w, pod(few, both))))["metadata"]["annotations"]
    same((got["mete.io/use-model"], got["mete.io/avoid-model"]), ("A100", "V100"), "one of each")
    r = ask(w, pod(few, {"nvidia.com/use-gputype": "A100", "nvidia.com/use-gpuuuid": "GPU-1"}))
    ok(not r["allowed"] and "annotations[nvidia.com/use-gpuuuid]: beside nvidia.com/use-gputype" in r["status"]["message"], "not two of one", r)
    own = {"nvidia.com/use-gputype": "A100", "mete.io/use-model": "H100"}
    same(applied(pod(few, own), patch_of(ask(w, pod(few, own))))["metadata"]["annotations"]["mete.io/use-model"], "H100", "the pod's own stays")
    r = ask(w, pod(few, {"hami.io/gpu-scheduler-policy": "binpack", "nvidia.com/use-gpuindexes": "0"}))
    same(len([line for line in r["warnings"] if "is not heeded here" in line]), 2, "what is not heeded is said")
    r = ask(w, pod({"cpu": "1"}, {"nvidia.com/use-gputype": "A100"}))
    ok("patch" not in r and "warnings" not in r, "a pod that asks for nothing is left alone", r)
    kai = pod({}, {"gpu-fraction": "0.5", "gpu-fraction-container-name": "first"})
    kai["spec"].update({"initContainers": [{"name": "first", "image": "y"}], "schedulerName": "kai-scheduler"})
    r = ask(w, kai)
    got = applied(kai, patch_of(r))["spec"]
    same(got["initContainers"][0]["resources"], {"limits": {"mete.io/half": "1"}}, "KAI: an init container that is named")
    same(got["schedulerName"], "kai-scheduler", "the scheduler is the pod's own")
    s = start("--card-memory", "16G", "--scheduler", "default-scheduler")
    r = ask(s, kai)
    same(applied(kai, patch_of(r))["spec"]["schedulerName"], "default-scheduler", "--scheduler: of pods that are changed")
    ok("schedulerName kai-scheduler is default-scheduler" in r["warnings"], "it is said", r["warnings"])
    other = pod({"cpu": "1"})
    other["spec"]["schedulerName"] = "kai-scheduler"
    ok("patch" not in ask(s, other), "and of no others")
    end(s)


def test_class():
    """A share of class low is for who asks for low priority, and for others where nothing else is large enough."""
    w = start("--card-memory", "16G", shares=[{"name": "batch", "mem": "2G", "class": "low"}, {"name": "small", "mem": "4G", "cores": 25},
                                              {"name": "huge", "mem": "16G", "class": "low"}])
    for words, share in (({}, "small"), ({"nvidia.com/priority": "1"}, "batch"), ({"nvidia.com/priority": "0"}, "small"), ({"nvidia.com/gpumem": "9000"}, "huge")):
        thing = pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "2000", **words})
        same(applied(thing, patch_of(ask(w, thing)))["spec"]["containers"][0]["resources"]["limits"], {f"mete.io/{share}": "1"}, f"{words or 'no priority'}: {share}")
    end(w)


def test_options():
    parts = [{"name": "quarter", "mem": "25%", "cores": 25}, {"name": "all", "mem": "100%", "cores": 100}]
    w = start(shares=parts)
    line = ask(w, pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}))["status"]["message"]
    ok("nvidia.com/gpumem]: 3000" in line and "--card-memory" in line, "bytes and parts are not compared without a card's memory", line)
    r = ask(w, pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "20"}))
    ok("mete.io/quarter" in json.dumps(patch_of(r)), "parts with parts are", r)
    end(w)
    w = start("--card-memory", "16G", "--whole", "share", "--memory-alone", "one", shares=parts)
    for limits, share in [({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4096"}, "quarter"), ({"nvidia.com/gpumem": "4097"}, "all"),
                          ({"nvidia.com/gpu": "1"}, "all")]:
        ok(f"mete.io/{share}" in json.dumps(patch_of(ask(w, pod(limits)))), f"{limits}: {share}")
    ok("no share has 2 devices" in ask(w, pod({"nvidia.com/gpu": "2"}))["status"]["message"], "two whole devices, and no such share")
    end(w)
    w = start("--whole", "refuse")
    ok("whole devices" in ask(w, pod({"nvidia.com/gpu": "1"}))["status"]["message"], "whole devices can be refused")
    with open(os.path.join(w.folder, "shares.json"), "w") as file:
        json.dump({"shares": [{"name": "renamed", "mem": "2G"}]}, file)
    ok(until(lambda: "mete.io/renamed" in json.dumps(patch_of(ask(w, pod({"aliyun.com/gpu-mem": "2"})))), 20), "shares are read again")
    with open(os.path.join(w.folder, "shares.json"), "w") as file:
        file.write("{")
    ok(until(lambda: "shares.json" in w.said(), 20), "a broken file is named", w.said())
    ok("mete.io/renamed" in json.dumps(patch_of(ask(w, pod({"aliyun.com/gpu-mem": "2"})))), "and changes nothing")
    end(w)


def raw(w, data, patience=2):
    """Bytes in TLS, and what comes back within some seconds, if anything does."""
    with socket.create_connection(("localhost", w.port()), timeout=30) as plain, \
            ssl.create_default_context(cafile=w.ca).wrap_socket(plain, server_hostname="localhost") as s:
        try:  # who is sent away may be so before all is sent
            s.sendall(data)
            s.settimeout(patience)
            return s.recv(65536)
        except (OSError, ssl.SSLError):
            return b""


def test_bad_input(w):
    c = connect(w.port(), w.ca)
    for name, body in [("no JSON", b"{"), ("nothing", b""), ("another thing", b"[]"), ("no uid", {"kind": "AdmissionReview"}),
                       ("an older version", {**review(pod()), "apiVersion": "admission.k8s.io/v1beta1"}),
                       ("deep", b"[" * 100000), ("bytes", bytes(range(256)) * 10)]:
        status, text = post(c, "/mutate", body)
        ok(status == 400 and "AdmissionReview" in text, f"{name}: 400 with a line", status, text)
    status, text = post(c, "/mutate", b"x" * (5 << 20))
    same(status, 413, "too large")
    c.close()
    c = connect(w.port(), w.ca)
    same(post(c, "/nowhere", b"")[0], 404, "another path")
    c.request("GET", "/mutate")
    r = c.getresponse()
    r.read()
    same(r.status, 405, "another method")
    c.close()
    for name, data in [("no HTTP", b"\x00\x01\x02" * 50 + b"\r\n\r\n"), ("a length below zero", b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
                       ("headers without end", b"POST /mutate HTTP/1.1\r\n" + b"A: " + b"b" * 40000)]:
        raw(w, data)
        ok(ask(w, pod())["allowed"], f"{name}: it serves on")
    with socket.create_connection(("localhost", w.port())) as s:
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")  # no TLS
    ok(ask(w, pod())["allowed"], "without TLS: it serves on")


def memory_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def test_flood(w):
    """Requests from many, silent connections and large bodies that never end: it stays small, and answers."""
    calm = memory_kib(w.process.pid)
    silent = [socket.create_connection(("localhost", w.port()), timeout=10) for _ in range(200)]
    context = ssl.create_default_context(cafile=w.ca)
    begun = []
    for _ in range(20):  # bodies that are announced, begun and not ended
        s = context.wrap_socket(socket.create_connection(("localhost", w.port()), timeout=30), server_hostname="localhost")
        s.sendall(b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 1000000)
        begun.append(s)
    asking = review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}))
    stop = threading.Event()
    counted = []

    def flood():
        n = 0
        c = connect(w.port(), w.ca)
        while not stop.is_set() and n < 150:
            status, answer = post(c, "/mutate", asking)
            if status != 200 or not answer["response"]["allowed"]:
                break
            n += 1
        c.close()
        counted.append(n)
    threads = [threading.Thread(target=flood) for _ in range(8)]
    begin = time.monotonic()
    for t in threads:
        t.start()
    slowest = 0
    for _ in range(20):
        before = time.monotonic()
        ok_now = ask(w, pod())["allowed"]
        slowest = max(slowest, time.monotonic() - before)
        if not ok_now:
            break
    stop_late = threading.Timer(60, stop.set)
    stop_late.start()
    for t in threads:
        t.join()
    stop_late.cancel()
    took = time.monotonic() - begin
    same(counted, [150] * 8, "every request of the flood is answered")
    ok(slowest < 5 * harness.PATIENCE, f"a pod that asks nothing passes meanwhile: at most {slowest * 1000:.0f} ms, a new connection each")
    print(f"# {8 * 150 / took:.0f} reviews a second from 8 clients on a shared machine")
    grown = memory_kib(w.process.pid) - calm
    ok(harness.SANITIZED or grown < 120 * 1024, f"memory grows by {grown // 1024} MiB at most, with 20 bodies begun and 200 silent connections")
    for s in silent + begun:
        s.close()
    ok(ask(w, pod())["allowed"], "it serves on")


def from_source(w, source, patience):
    """A review from that address of this machine: its status, or why there is none."""
    context = ssl.create_default_context(cafile=w.ca)
    c = http.client.HTTPSConnection("localhost", w.port(), context=context, timeout=patience, source_address=(source, 0))
    try:
        return post(c, "/mutate", review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"})))[0]
    except OSError as why:
        return str(why)
    finally:
        c.close()


def unfinished(w):
    """A connection with a body of which more than half of the most has come: the server keeps room for all of it."""
    context = ssl.create_default_context(cafile=w.ca)
    s = context.wrap_socket(socket.create_connection(("127.0.0.1", w.port()), timeout=30), server_hostname="localhost")
    s.sendall(b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: 4100000\r\n\r\n" + b"x" * 2200000)
    return s


def test_occupied(w):
    """One source fills what all requests may have in memory, and as many connections as it gets: others are served."""
    held = []

    def hold():
        held.append(unfinished(w))
    large = review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000"}, {"note": "x" * 300000}))
    c = connect(w.port(), w.ca)

    def full():
        # Of bodies that grow side by side, as on a slow machine, some are refused and leave room again; and each is given up
        # after 15 s. So more are begun, one by one.
        if len(held) < 200:
            hold()
        return len(held) >= 12 and post(c, "/mutate", large)[0] == 503
    ok(until(full, 20), "large bodies that do not end fill their part")
    c.close()
    same(from_source(w, "127.0.0.2", 30), 200, "a review of usual size is answered meanwhile")
    # A byte now and then keeps no body for ever.
    begin, open_still = time.monotonic(), list(held)
    while open_still and time.monotonic() - begin < 60 * harness.PATIENCE:
        for s in list(open_still):
            try:
                s.sendall(b"x")
            except OSError:
                open_still.remove(s)
                continue
            s.setblocking(False)
            try:
                s.recv(1)
                open_still.remove(s)
            except (BlockingIOError, ssl.SSLWantReadError):
                s.setblocking(True)
            except OSError:
                open_still.remove(s)
        time.sleep(0.5)
    ok(not open_still, f"a body that comes by the byte is given up after {time.monotonic() - begin:.0f} s", len(open_still))
    for s in held:
        s.close()
    silent = []
    for _ in range(700):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", w.port()))
        silent.append(s)
    before = time.monotonic()
    same(from_source(w, "127.0.0.2", 10), 200, "700 silent connections of one source: another is served")
    print(f"# after {time.monotonic() - before:.1f} s")
    for s in silent:
        s.close()
    ok(until(lambda: from_source(w, "127.0.0.1", 10) == 200, 30), "and that source itself afterwards")


def serial(w):
    with socket.create_connection(("localhost", w.port()), timeout=10) as plain, \
            ssl.create_default_context(cafile=w.ca).wrap_socket(plain, server_hostname="localhost") as s:
        return ssl.DER_cert_to_PEM_cert(s.getpeercert(True))


def renewed(life):
    """A webhook whose certificates last so many seconds, asked until it has shown four: itself, they, and what failed."""
    w = start("--cert-life", f"{life}s")
    seen, failed, end_at = {serial(w)}, [], time.monotonic() + 10 * life * harness.PATIENCE
    while len(seen) < 4 and not failed and time.monotonic() < end_at:
        try:
            ask(w, pod())
            seen.add(serial(w))
        except Exception as why:  # noqa: BLE001 - whatever it is, it is a request that was lost
            failed.append(repr(why))
        time.sleep(0.05)
    return w, seen, failed


def renewal(ok, same):
    """Certificates of some seconds, of an authority of ten times as many: they change, and no request is lost; the authority
    is kept, and renewed."""
    life = 4 if harness.PATIENCE == 1 else 6
    w, seen, failed = renewed(life)
    # A certificate that ends while the machine has no time for the webhook is no fault of it: again, with longer ones.
    while failed and life < 16:
        print(f"# certificates of {life} s: {failed[0]}")
        end(w)
        life *= 2
        w, seen, failed = renewed(life)
    authority = open(w.ca).read()
    same(os.stat(os.path.join(w.folder, "pki", "ca.key")).st_mode & 0o777, 0o600, "the authority's key is its owner's alone")
    ok(len(seen) >= 4, f"{len(seen)} certificates one after the other")
    same(failed, [], "and no request failed in between")
    same(w.stop(signal.SIGKILL), -signal.SIGKILL, "killed")
    os.unlink(w.log)
    w.start()
    until(w.port, 30)
    ok(ask(w, pod())["allowed"], "started again: clients that know the authority believe it")
    ok(until(lambda: open(w.ca).read() != authority, 15 * life), "the authority is renewed before its end")
    ok(open(w.ca).read().endswith(authority) and open(w.ca).read().count("BEGIN") == 2, "the old one stays behind the new one")
    old = os.path.join(w.folder, "old.crt")
    with open(old, "w") as file:
        file.write(authority)
    w.ca, new = old, w.ca
    try:
        good = ask(w, pod())["allowed"]
    except ssl.SSLError:
        good = "issued by the new one"
    ok(good, "who has the old one only is served as long as certificates are of it")
    w.ca = new
    ok(ask(w, pod())["allowed"], "who has both is served")
    end(w)


class Beside:
    """A part that mostly waits, in a thread of its own; what it has found is told at the end."""

    def __init__(self, part):
        self.told, self.why = [], None
        self.thread = threading.Thread(target=self.run, args=(part,))
        self.thread.start()

    def run(self, part):
        try:
            part(*(lambda *words, tell=tell: self.told.append((tell, words)) for tell in (ok, same)))
        except (Exception, SystemExit) as why:
            self.why = why

    def end(self):
        self.thread.join()
        for tell, words in self.told:
            tell(*words)
        if self.why:
            raise self.why


def peer(port):
    """The certificate that a server shows, whatever it is worth."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("localhost", port), timeout=10) as plain, context.wrap_socket(plain) as s:
        return ssl.DER_cert_to_PEM_cert(s.getpeercert(True))


def text_of(path):
    with open(path) as file:
        return file.read()


def test_extender_files(a, b, ended, pair):
    """The extender reads its certificate again, too, and says that its time is over."""
    extender = os.path.join(harness.BUILD, "src/cli/mete-extender")
    config = os.path.join(pair, "kubeconfig")
    with open(config, "w") as file:
        json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                   "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}]}, file)

    def put(folder):
        for name in ("ca.key", "ca.crt"):
            shutil.copy(os.path.join(folder, name), os.path.join(pair, name))
    put(a)
    e = Program(extender, "--kubeconfig", config, "--cert", os.path.join(pair, "ca.crt"), "--key", os.path.join(pair, "ca.key"))
    ok(until(e.port, 30), "the extender serves HTTPS", e.said())
    same(peer(e.port()), text_of(os.path.join(a, "ca.crt")), "with the certificate that it was given")
    put(b)
    ok(until(lambda: peer(e.port()) == text_of(os.path.join(b, "ca.crt")), 20), "another one is taken while it serves", e.said())
    shutil.copy(os.path.join(a, "ca.key"), os.path.join(pair, "ca.key"))
    ok(until(lambda: "belong together" in e.said(), 20), "one whose key is another's is named", e.said())
    same(peer(e.port()), text_of(os.path.join(b, "ca.crt")), "and changes nothing")
    put(ended)
    ok(until(lambda: "the time of the certificate is over" in e.said(), 20), "one whose time is over is named", e.said())
    put(a)
    ok(until(lambda: "well again" in e.said(), 20), "and that it was renewed", e.said())
    end(e)


def test_files():
    """Certificates of somebody else's: read again when they change; broken ones change nothing."""
    home = tempfile.mkdtemp(prefix="mete-w-", dir="/tmp")
    a, b, pair = (os.path.join(home, x) for x in ("a", "b", "own"))
    for one in (a, b, pair):
        os.mkdir(one)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-keyout", os.path.join(one, "ca.key"), "-out", os.path.join(one, "ca.crt")],
                       stderr=subprocess.DEVNULL, check=True)

    def put(folder):
        for name in ("ca.crt", "ca.key"):
            shutil.copy(os.path.join(folder, name), os.path.join(pair, name))
    put(a)
    w = start("--cert", os.path.join(pair, "ca.crt"), "--key", os.path.join(pair, "ca.key"))
    same(peer(w.port()), text_of(os.path.join(a, "ca.crt")), "the certificate that was given")
    put(b)
    ok(until(lambda: peer(w.port()) == text_of(os.path.join(b, "ca.crt")), 20), "another one is taken while it serves")
    shutil.copy(os.path.join(a, "ca.key"), os.path.join(pair, "ca.key"))
    ok(until(lambda: "belong together" in w.said(), 20), "one whose key is another's is named", w.said())
    same(peer(w.port()), text_of(os.path.join(b, "ca.crt")), "and changes nothing")
    ended = os.path.join(home, "ended")
    os.mkdir(ended)
    make_ended(ended)
    put(ended)
    ok(until(lambda: "the time of the certificate is over: callers refuse it" in w.said(), 20), "one whose time is over is named", w.said())
    put(a)
    ok(until(lambda: w.said().rstrip().endswith("well again"), 20), "and that it was renewed", w.said())
    same(peer(w.port()), text_of(os.path.join(a, "ca.crt")), "with the new one")
    end(w)
    test_extender_files(a, b, ended, pair)
    shutil.rmtree(home)


def authority(at, name, use="clientAuth"):
    """An authority, and a certificate that it gives: files."""
    paths = {k: os.path.join(at, f"{name}-{k}.pem") for k in ("ca", "ca-key", "key", "request", "cert", "use")}
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    with open(paths["use"], "w") as file:
        file.write(f"extendedKeyUsage={use}\n")
    made = os.path.exists(paths["ca"])
    for command in (["req", "-x509", *curve, "-days", "2", "-subj", "/CN=" + name, "-keyout", paths["ca-key"], "-out", paths["ca"]],
                    ["req", *curve, "-subj", "/CN=" + use, "-keyout", paths["key"], "-out", paths["request"]],
                    ["x509", "-req", "-in", paths["request"], "-CA", paths["ca"], "-CAkey", paths["ca-key"], "-CAcreateserial",
                     "-days", "2", "-extfile", paths["use"], "-out", paths["cert"]]):
        if "-x509" in command and made:
            continue
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return paths


def status_as(port, ca, path, caller=None, body=None):
    context = ssl.create_default_context(cafile=ca)
    if caller:
        context.load_cert_chain(caller["cert"], caller["key"])
    c = http.client.HTTPSConnection("localhost", port, context=context, timeout=30)
    try:
        c.request("POST" if body else "GET", path, body and json.dumps(body))
        return c.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0  # closed in the handshake, or before the answer
    finally:
        c.close()


def test_callers():
    """With --client-ca only who has a certificate of that authority is answered."""
    at = tempfile.mkdtemp(prefix="mete-w-", dir="/tmp")
    other = authority(at, "other")
    server = authority(at, "ours", "serverAuth")
    for kind in ("cert", "key"):
        shutil.copy(server[kind], os.path.join(at, "server-" + kind))
        server[kind] = os.path.join(at, "server-" + kind)
    ours = authority(at, "ours")
    trusted = os.path.join(at, "trusted.pem")
    shutil.copy(ours["ca"], trusted)
    w = start("--client-ca", trusted)
    asked = review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1024"}))
    large = dict(asked, more="x" * 3_000_000)
    same(status_as(w.port(), w.ca, "/mutate", ours, asked), 200, "the API server, with its certificate")
    for caller, what in ((None, "without a certificate"), (other, "with another authority's"), (server, "with a server's")):
        ok(status_as(w.port(), w.ca, "/mutate", caller, asked) in (0, 403), f"a caller {what} is refused")
        ok(status_as(w.port(), w.ca, "/mutate", caller, large) in (0, 403), f"a caller {what} is refused with a large body")
        ok(status_as(w.port(), w.ca, "/metrics", caller) in (0, 403), f"a caller {what} gets no metrics")
    held = [unfinished(w) for _ in range(16)]
    same(status_as(w.port(), w.ca, "/mutate", ours, dict(asked, more="x" * 300_000)), 200, "bodies of those who are refused take no memory from others'")
    for one in held:
        one.close()
    same(status_as(w.port(), w.ca, "/healthz"), 200, "kubelet's probe has no certificate")
    same(status_as(w.port(), w.ca, "/metrics", ours), 200, "metrics with it")
    shutil.copy(other["ca"], trusted)
    ok(until(lambda: status_as(w.port(), w.ca, "/mutate", other, asked) == 200, 20), "the file is read again: the other authority is trusted")
    ok(until(lambda: status_as(w.port(), w.ca, "/mutate", ours, asked) in (0, 403), 20), "and the first one no more")
    with open(trusted, "w") as file:
        file.write("nothing\n")
    ok(until(lambda: "there is no certificate in PEM" in w.said(), 20), "a file that holds none is said")
    same(status_as(w.port(), w.ca, "/mutate", other, asked), 200, "and callers are judged as before")
    ok(status_as(w.port(), w.ca, "/mutate", None, asked) in (0, 403), "those without a certificate too")
    end(w)
    p = subprocess.run([WEBHOOK, "--listen", "127.0.0.1:0", "--cert-dir", at, "--client-ca", os.path.join(at, "none.pem")],
                       capture_output=True, text=True, timeout=60)
    ok(p.returncode == 1 and "none.pem" in p.stderr, "a file that is not there", p.returncode, p.stderr)
    extender = os.path.join(harness.BUILD, "src/cli/mete-extender")
    p = subprocess.run([extender, "--client-ca", ours["ca"]], capture_output=True, text=True, timeout=60)
    ok(p.returncode == 2 and "--cert" in p.stderr, "the extender wants TLS with it", p.returncode, p.stderr)
    shutil.rmtree(at)


def test_start():
    for options, words in [((), "say where the certificate comes from"), (("--cert-dir", "/tmp/x", "--secret", "y"), "give one of"),
                           (("--cert", "/x"), "say where"), (("--cert-dir", "/tmp/x", "--whole", "some"), "give pass, share or refuse"),
                           (("--cert-dir", "/tmp/x", "--card-memory", "25%"), "give a size"), (("--nonsense",), "lists the options")]:
        done = subprocess.run([WEBHOOK, *options], stderr=subprocess.PIPE, text=True, timeout=30)
        ok(done.returncode == 2 and words in done.stderr, f"{' '.join(options) or 'no options'}: {words}", done.stderr)
    done = subprocess.run([WEBHOOK, "--cert-dir", "/proc/nowhere", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True, timeout=30)
    ok(done.returncode == 1 and "/proc/nowhere" in done.stderr, "a folder that cannot be made", done.stderr)
    for at in ("nowhere", "127.0.0.1:99999", "127.0.0.1:65536", "127.0.0.1:4294967376", "127.0.0.1:-1"):
        done = subprocess.run([WEBHOOK, "--cert-dir", "/tmp", "--listen", at], stderr=subprocess.PIPE, text=True, timeout=30)
        ok(done.returncode == 1 and f"--listen {at}: give ADDRESS:PORT" in done.stderr, f"no address: {at}", done.stderr)
    done = subprocess.run([WEBHOOK, "--cert-dir", "/tmp", "--shares", "/nowhere"], stderr=subprocess.PIPE, text=True, timeout=30)
    ok(done.returncode == 1 and "/nowhere" in done.stderr and "correct the path" in done.stderr, "no shares there", done.stderr)
    for name in ("ca.crt", "ca.key"):
        if os.path.exists(f"/tmp/{name}"):
            os.unlink(f"/tmp/{name}")


beside = Beside(renewal)
w = start("--card-memory", "16G")
test_words(w)
test_refused(w)
test_untouched(w)
test_containers(w)
test_places(w)
test_bad_input(w)
test_flood(w)
test_occupied(w)
c = connect(w.port(), w.ca)
c.request("GET", "/metrics")
text = c.getresponse().read().decode()
ok('mete_webhook_reviews_total{outcome="changed"}' in text, "reviews are counted", text)
c.close()
end(w)
test_class()
test_options()
if shutil.which("openssl"):
    test_hip()
    test_lent()
    test_npu()
    test_shaped()
    test_files()
    test_callers()
test_start()
beside.end()
finish()
